//! Waits for one guard, and does the guard's work if it was killed.
//!
//! It has a thread of its own, because a slow user interface may block the reader in its output for any time: the
//! processes that a killed guard leaves behind must end all the same.

use std::sync::Arc;

use ralph_core::event::Exit;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::{
    ChildEnd,
    child::{ChildState, EndReport},
    leftovers::StartedChildren,
    signals::SIGNALS,
    spec::{ChildFiles, GuardReport, ProgramEnd},
    system,
};

pub(super) struct GuardWaiter {
    pub(super) children: Arc<StartedChildren>,
    pub(super) shared: Arc<ChildState>,
    pub(super) process: Box<dyn portable_pty::Child + Send + Sync>,
    pub(super) files: ChildFiles,
    pub(super) child_id: String,
}

/// How the guard itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardEnd {
    Code(i32),
    Signal(i32),
}

impl GuardWaiter {
    /// Returns once the guard and everything below it has ended, and the reader was told.
    pub(super) fn wait(mut self) {
        let guard_end = wait_without_reaping(self.shared.guard.as_raw());
        if !system::SUBREAPERS {
            // The guard may have lost sight of processes that have left their parents and their session.
            self.children.end_orphans_of(self.shared.guard, &self.child_id);
        }
        let alone = |end| EndReport {
            end,
            survivors: Vec::new(),
            left_running: Vec::new(),
        };
        let finding = match (self.files.read_report(), guard_end) {
            (Some(report), _) => found(report),
            (None, GuardEnd::Code(code)) => alone(ChildEnd::Exited(Exit::Code { code })),
            (None, GuardEnd::Signal(signal)) => {
                // Before the guard is reaped: until then its pid, which is the lost session's id, cannot be reused.
                self.children.end_orphans_of(self.shared.guard, &self.child_id);
                alone(end_by(signal))
            }
        };
        let (process, children) = (&mut self.process, &self.children);
        let guard = self.shared.guard.as_raw();
        self.shared.reap(|| {
            // Locked over both: once it is reaped, its pid may be that of the next child.
            let mut started = children.started.lock();
            // It has ended, so this returns at once; an error would mean that it was reaped elsewhere.
            _ = process.wait();
            started.remove(&guard);
        });
        self.children.reap_adopted();
        *self.shared.end.lock() = Some(finding);
        self.shared.wake_reader();
        self.children.guard_ended();
    }
}

/// Interprets a signal that killed the guard.
///
/// A signal that the guard reads can kill it only in its first moments, before it has blocked its signals and started
/// anything: such a signal was a stop, or was typed.
fn end_by(signal: i32) -> ChildEnd {
    if SIGNALS.iter().any(|&read| read as i32 == signal) {
        ChildEnd::Exited(Exit::Signal { signal })
    } else {
        ChildEnd::GuardLost
    }
}

fn found(report: GuardReport) -> EndReport {
    EndReport {
        end: match (report.exceeded, report.verdict) {
            (Some(exceeded), _) => ChildEnd::Exceeded(exceeded),
            (None, ProgramEnd::Exited { exit }) => ChildEnd::Exited(exit),
            (None, ProgramEnd::NotStarted { why, missing }) => ChildEnd::NotStarted { why, missing },
        },
        survivors: report.survivors,
        left_running: report.left_running,
    }
}

/// Waits until the guard has ended and leaves it unreaped, so that its pid cannot be reused yet.
fn wait_without_reaping(guard: i32) -> GuardEnd {
    let pid = Pid::from_raw(guard).expect("a started process has a pid above zero");
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => GuardEnd::Code(code),
                    (None, signal) => GuardEnd::Signal(signal.unwrap_or(0)),
                };
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // It was reaped elsewhere: its end is unknown, so the processes that it guarded are looked for.
            Err(_) => return GuardEnd::Signal(0),
        }
    }
}
