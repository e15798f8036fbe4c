//! The integration tests, in one binary: everything that needs real processes.

mod agents_loop;
mod bad_input;
mod chaos;
mod checkpoints;
mod codex;
mod crash;
mod demo;
mod diagnostics;
mod doctor;
mod documents;
mod goals;
mod harness;
mod helpers;
mod journals;
mod layering;
mod leftovers;
mod live_channel;
mod loop_behaviour;
mod opencode_server;
mod processes;
mod protocols;
mod report;
mod sessions;
mod stand_in;
mod tui;
mod vandals;
