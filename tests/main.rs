//! The integration tests, in one binary: everything that needs real processes.

mod agents_loop;
mod codex;
mod codex_loop;
mod harness;
mod processes;
mod protocols;
mod sessions;
mod stand_in;
