//! The integration tests, in one binary: everything that needs real processes.

mod bad_input;
mod codex;
mod codex_loop;
mod crash;
mod harness;
mod layering;
mod leftovers;
mod loop_behaviour;
mod processes;
mod sessions;
mod stand_in;
