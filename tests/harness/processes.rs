//! Finds all processes of a sandbox by their mark and directory, never by name.

use std::{fs, path::Path};

use nix::{sys::signal::Signal, unistd::Pid};

use super::wait::{SOON, wait_until};

/// The variable that marks every process of a sandbox.
pub const MARK: &str = "RALPH_TEST_SANDBOX";

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// Its arguments, separated by spaces.
    pub command: String,
}

impl Process {
    /// The pid of the parent; `None` if the process has ended.
    pub fn parent(&self) -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        parent.trim().parse().ok()
    }
}

/// Finds every process whose environment has `mark` or whose working directory is below `root`.
///
/// Zombies are left out: they no longer run.
pub fn in_sandbox(mark: &str, root: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let variable = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let path = entry.path();
        // Neither file exists for a process that ended meanwhile.
        let marked = fs::read(path.join("environ")).is_ok_and(|environ| {
            environ
                .split(|&byte| byte == 0)
                .any(|entry| entry == variable.as_bytes())
        });
        let below = fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        if (marked || below) && is_running(pid) {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command)
                .replace('\0', " ")
                .trim_end()
                .to_owned();
            found.push(Process { pid, command });
        }
    }
    found
}

/// Kills every process of the sandbox until none is left.
pub fn end_sandbox(mark: &str, root: &Path) {
    wait_until(SOON, "end of the sandbox's processes", || {
        let left = in_sandbox(mark, root);
        for process in &left {
            _ = nix::sys::signal::kill(Pid::from_raw(process.pid), Signal::SIGKILL); // it may have ended meanwhile
        }
        left.is_empty().then_some(())
    });
}

/// Whether a process is stopped, as by Ctrl-Z.
pub fn is_stopped(pid: i32) -> bool {
    state_of(pid) == Some('T')
}

/// Whether a process exists and is not a zombie, which only waits for its parent.
pub fn is_running(pid: i32) -> bool {
    state_of(pid).is_some_and(|state| !['Z', 'X'].contains(&state))
}

/// The letter of a process's state; `None` if the process does not exist.
fn state_of(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; the state is the first letter after it.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}
