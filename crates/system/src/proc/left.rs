//! Processes that a program left running when it ended by itself.
//!
//! A helper of the program is told from what its work started by its place: a program talks to its own helpers (MCP
//! servers, language servers) over a pipe or a socket that is their standard input, and keeps them in its own process group.
//! A shell gives a background command `/dev/null` as its input, and a tool that outlives its caller has a group of its own.

use std::{collections::HashSet, fmt, path::PathBuf, sync::Arc};

use nix::unistd::Pid;
use parking_lot::Mutex;
use ralph_core::event::clip;
use serde::{Deserialize, Serialize};

use super::{process::Process, system};

/// Most bytes of a command line that are kept.
const COMMAND_BYTES: usize = 200;
/// Most processes that are reported.
const MOST_REPORTED: usize = 50;

/// A process that was left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftProcess {
    /// The short name.
    pub name: String,
    /// The beginning of its command line.
    pub command: String,
    /// Whether it is a helper of the program itself, or was started by one.
    pub is_helper: bool,
    /// Whether it was started by another process of the list.
    pub is_below: bool,
}

/// Receives the processes that a program left running when it ended by itself or was stopped.
#[derive(Clone)]
pub struct OnLeftRunning(pub Arc<dyn Fn(Vec<LeftProcess>) + Send + Sync>);

impl fmt::Debug for OnLeftRunning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnLeftRunning")
    }
}

/// Keeps the processes that programs left running until they are asked for.
#[derive(Debug, Clone, Default)]
pub struct LeftProcesses(Arc<Mutex<Vec<LeftProcess>>>);

impl LeftProcesses {
    pub fn receiver(&self) -> OnLeftRunning {
        let kept = self.clone();
        OnLeftRunning(Arc::new(move |left| kept.0.lock().extend(left)))
    }

    /// Returns what was left since the last call.
    pub fn take(&self) -> Vec<LeftProcess> {
        std::mem::take(&mut self.0.lock())
    }
}

/// The place of the program whose processes are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramPlace {
    pub(super) group: Pid,
    /// Device and inode of the pipe that is the program's standard input, which its children may have inherited.
    pub(super) input: Option<(u64, u64)>,
}

/// Describes processes that were left running, parents before their children. Those that have ended meanwhile are left out.
pub(super) fn describe(left: &[Process], place: ProgramPlace) -> Vec<LeftProcess> {
    let mut helpers: HashSet<Pid> = HashSet::new();
    let mut known: HashSet<Pid> = HashSet::new();
    let described = left.iter().take(MOST_REPORTED).filter_map(|process| {
        let words = system::command_line(process.pid);
        if words.is_empty() && system::process(process.pid).is_none_or(|process| process.ended) {
            return None;
        }
        let piped = || system::piped_input(process.pid).is_some_and(|input| Some(input) != place.input);
        let is_helper = helpers.contains(&process.parent) || (process.group == place.group && piped());
        if is_helper {
            helpers.insert(process.pid);
        }
        let is_below = known.contains(&process.parent);
        known.insert(process.pid);
        Some(LeftProcess {
            name: process.name.clone(),
            command: shown(&words, &process.name),
            is_helper,
            is_below,
        })
    });
    described.collect()
}

/// Whether a program of this name, or one of its subcommands, runs in one of `directories` or below; true if that cannot be
/// told of one that runs.
pub fn runs_below(program: &str, directories: &[PathBuf]) -> bool {
    let is_it = |name: &str| {
        name.strip_prefix(program)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let mut running = system::processes()
        .into_iter()
        .filter(|process| !process.ended && is_it(&process.name));
    running.any(|process| {
        match system::working_directory(process.pid) {
            Some(place) => directories.iter().any(|directory| place.starts_with(directory)),
            // Another user's, or one that has just ended.
            None => system::process(process.pid).is_some_and(|process| !process.ended),
        }
    })
}

/// Joins the words of a command line, as `ps` shows them.
fn shown(words: &[u8], name: &str) -> String {
    let words = words.strip_suffix(b"\0").unwrap_or(words);
    let line: Vec<u8> = words.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect();
    match String::from_utf8_lossy(&line).trim() {
        "" => name.to_owned(),
        line => clip(line, COMMAND_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_meanwhile_was_not_left() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let alive = system::process(Pid::from_raw(child.id().try_into().unwrap())).unwrap();
        let place = ProgramPlace {
            group: alive.pid,
            input: None,
        };
        // Its words are not there in the moment in which it begins.
        let left = || describe(std::slice::from_ref(&alive), place);
        assert_eq!(left().len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(left().len(), 0);
    }

    #[test]
    fn a_command_line_is_shown_as_ps_does_and_cut() {
        assert_eq!(shown(b"sh\0-c\0sleep 3; touch x\0", "sh"), "sh -c sleep 3; touch x");
        assert_eq!(shown(b"", "kworker"), "kworker");
        let long = shown("é".repeat(150).as_bytes(), "x");
        assert!(long.len() <= COMMAND_BYTES, "{long}");
    }
}
