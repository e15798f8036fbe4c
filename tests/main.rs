//! The integration tests, in one binary: all tests that need real processes.

// Without a leaf, what only its tests use.
#![cfg_attr(not(feature = "full"), allow(dead_code, unused_imports))]

#[cfg(feature = "acp-server")]
mod acp;
mod adapters_check;
mod agent_tools;
mod agents_loop;
mod api;
#[cfg(feature = "page")]
mod api_examples;
mod approvals;
mod attach;
mod background;
mod bad_input;
mod chaos;
#[cfg(feature = "page")]
mod chats;
mod checkpoints;
mod codex;
mod command_lines;
mod comments;
mod commits;
mod confinement;
mod conformance;
mod control_by_role;
mod crash;
mod demo;
mod diagnostics;
mod doctor;
mod documents;
mod ends;
#[cfg(feature = "batch")]
mod engines;
mod first_hour;
#[cfg(feature = "batch")]
mod forge;
mod goals;
mod harness;
mod helpers;
mod hooks;
mod import_with_agent;
mod init;
mod journals;
mod language_tools;
mod late_answers;
mod layering;
mod leavings;
mod leftovers;
mod live_channel;
mod loop_behaviour;
#[cfg(feature = "batch")]
mod many;
mod mcp;
#[cfg(feature = "native")]
mod native;
mod opencode_server;
mod other_loops;
mod packaging;
#[cfg(feature = "page")]
mod page;
mod permissions;
#[cfg(feature = "page")]
mod pictures;
mod plan;
mod processes;
mod protocols;
mod registry;
mod report;
#[cfg(feature = "page")]
mod rooms;
mod runs_over_http;
mod sealed;
mod sessions;
mod set_aside;
mod stand_in;
mod starts;
mod static_binary;
mod status_schema;
mod subagents;
mod task_checks;
mod task_order;
mod task_scopes;
#[cfg(feature = "telemetry")]
mod telemetry;
mod test_gate;
mod trust;
mod tui;
mod vandals;
mod watching;
mod web;
mod yardstick;
