//! The integration tests, in one binary: everything that needs real processes.

mod codex;
mod codex_loop;
mod crash;
mod goals;
mod harness;
mod layering;
mod leftovers;
mod loop_behaviour;
mod processes;
mod report;
mod sessions;
mod stand_in;
