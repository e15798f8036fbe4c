//! Everything that needs real processes, in one binary.

mod processes;
mod sessions;
