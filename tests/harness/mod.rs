//! Harness of the integration tests: a sandboxed project, running programs, real agents.

pub mod agent;
pub mod agents;
pub mod batches;
pub mod connect;
pub mod file_system;
pub mod http;
pub mod in_process;
pub mod languages;
pub mod processes;
pub mod running;
pub mod sandbox;
pub mod scripted;
pub mod wait;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

pub use agents::skipped;
pub use running::Program;
pub use sandbox::Sandbox;
pub use scripted::{Script, events, notices, warnings};
pub use wait::{SOON, wait_until};

/// Writes an executable and creates its directory.
pub fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a program has a directory")).expect("the program's directory");
    fs::write(path, text).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("an executable program");
}
