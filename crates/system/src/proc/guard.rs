//! The guard: `ralph __guard --spec FILE`, the parent of one program and of everything that program starts.
//!
//! It is a sub-reaper: every descendant that loses its parent becomes the guard's own child, even in another session or
//! with another environment. "No child left" therefore means "no descendant left", and the guard exits only on that. It
//! watches ralph as well: when ralph dies, the guard ends the tree.
//!
//! It shares the program's process group, which is the terminal's foreground group, so that a typed Ctrl-C reaches the
//! program; the guard blocks those signals and reads them instead.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    time::Instant,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    sys::{
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpgrp, getpid, getsid},
};
use parking_lot::Mutex;
use ralph_core::event::{ExceededCeiling, Exit};
use ralph_text::console;

use super::{
    LeftProcess, OnRefused, StopSpeed, TreeLimits,
    ceiling::CeilingWatch,
    ending::{LadderEvent, LadderProgress, LadderStep},
    left::{self, ProgramPlace},
    process::Process,
    program::{self, NotStarted},
    signals::GuardEvent,
    spec::{ChildFiles, GuardReport, GuardSpec, ProgramEnd, take_spec},
    system::{self, GuardEvents},
    tree,
};

/// The guard's exit code if it could not start the program. ralph reads the report and ignores this code.
const NOT_STARTED: u8 = 125;
/// The niceness of a session that yields to others.
const LOWEST: &str = "19";
/// Most refused calls that are reported.
const MOST_REFUSED: usize = 50;

/// Runs the program that the file at `spec` names, until neither it nor any descendant is left.
///
/// Returns the exit code: the program's own, 128 + n after signal n, 125 if it could not be started. Blocks signals
/// in the calling thread, which must be the only one.
#[must_use]
pub fn run(spec: &Path) -> u8 {
    let Some(dir) = spec.parent() else {
        return complain("the specification has no directory");
    };
    let files = ChildFiles { dir: dir.to_path_buf() };
    let (report, ralph_gone) = match prepare(spec) {
        Ok((spec, watch)) => guarded(&spec, &files, watch),
        Err(why) => (not_started(why, false), false),
    };
    if ralph_gone {
        // ralph is dead and will neither read the report nor remove the directory.
        _ = fs::remove_dir_all(&files.dir);
    } else if let Err(error) = files.write_report(&report) {
        complain(&format!("{}: {error}", files.dir.display()));
    }
    match report.verdict {
        // A process has no exit code above 255.
        ProgramEnd::Exited {
            exit: Exit::Code { code },
        } => u8::try_from(code).unwrap_or(u8::MAX),
        ProgramEnd::Exited {
            exit: Exit::Signal { signal },
        } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        ProgramEnd::NotStarted { .. } => NOT_STARTED,
    }
}

fn complain(text: &str) -> u8 {
    // Standard error is the terminal; if that is gone, so is every reader of it.
    console::complain(&format!("ralph guard: {text}"));
    NOT_STARTED
}

fn not_started(why: String, missing: bool) -> GuardReport {
    GuardReport::new(ProgramEnd::NotStarted { why, missing })
}

fn prepare(path: &Path) -> Result<(GuardSpec, GuardEvents), String> {
    // First of all: a stop signal that arrives this early must be read below, not kill the guard.
    let signals = GuardEvents::block_signals().map_err(|errno| format!("the guard's signals: {}", errno.desc()))?;
    system::become_subreaper().map_err(|errno| format!("the guard's descendants: {}", errno.desc()))?;
    system::name_guard();
    let spec = take_spec(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let watch = GuardEvents::new(signals, Pid::from_raw(spec.ralph));
    Ok((spec, watch))
}

/// Returns the report, and whether ralph has died in the meantime.
fn guarded(spec: &GuardSpec, files: &ChildFiles, mut watch: GuardEvents) -> (GuardReport, bool) {
    let stopped_by = match watch.next(Some(Instant::now())) {
        GuardEvent::Asked(StopSpeed::Graceful) => Some((Signal::SIGTERM, false)),
        GuardEvent::Asked(StopSpeed::Immediate) => Some((Signal::SIGKILL, false)),
        GuardEvent::RalphGone => Some((Signal::SIGTERM, true)),
        _ if files.stopped().exists() => Some((Signal::SIGTERM, false)),
        GuardEvent::ChildEnded | GuardEvent::InputEnded | GuardEvent::Due => None,
    };
    if let Some((signal, ralph_gone)) = stopped_by {
        let exit = Exit::Signal { signal: signal as i32 };
        return (GuardReport::new(ProgramEnd::Exited { exit }), ralph_gone);
    }
    if let Err(error) = system::mount(&spec.mounts) {
        return (
            not_started(format!("its directories cannot be mounted: {error}"), false),
            false,
        );
    }
    // Linux weighs whole sessions against each other, whatever the priority of their processes.
    if spec.is_low && getsid(None) == Ok(getpid()) {
        _ = fs::write("/proc/self/autogroup", LOWEST);
    }
    let input = held_input(spec, files);
    match program::start(spec, reporting(spec)) {
        Ok(program) => {
            if spec.tree_limits != TreeLimits::default() {
                system::prefer_as_victim(program);
            }
            ChildGuard {
                ceilings: CeilingWatch::new(spec.tree_limits.clone()),
                exceeded: None,
                program,
                input,
                input_pipe: spec.input.as_ref().and_then(|path| identity(path)),
                here: getpid(),
                exit: None,
                ending: LadderProgress::new(spec.ladder),
                watch,
                ralph_gone: false,
            }
            .oversee(&spec.program)
        }
        Err(NotStarted { why, missing }) => (not_started(why, missing), false),
    }
}

/// Opens the write end of the program's standard input, unless ralph has already said that it will write nothing more.
///
/// Holding it open keeps ralph's death from looking like the end of input: agents take that as permission to do what
/// they have asked for, or to finish their turn.
fn held_input(spec: &GuardSpec, files: &ChildFiles) -> Option<File> {
    // Fails if ralph is dead, which the guard notices soon.
    let input = write_end(spec.input.as_ref()?).ok()?;
    (!files.input_ended().exists()).then_some(input)
}

/// Opens the write end of a FIFO. Without a reader, it fails instead of waiting for one.
fn write_end(fifo: &Path) -> io::Result<File> {
    let mut open = OpenOptions::new();
    open.write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(fifo)
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Whether the guard has children left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemainingChildren {
    None,
    Some,
}

struct ChildGuard {
    ceilings: CeilingWatch,
    exceeded: Option<ExceededCeiling>,
    here: Pid,
    program: Pid,
    input: Option<File>,
    /// Device and inode of the pipe that is the program's standard input.
    input_pipe: Option<(u64, u64)>,
    exit: Option<Exit>,
    ending: LadderProgress,
    watch: GuardEvents,
    ralph_gone: bool,
}

/// Writes each refused call to ralph's FIFO, once.
fn reporting(spec: &GuardSpec) -> OnRefused {
    // Opening fails if ralph is dead: then nobody is to be told.
    let opened = spec
        .refusals
        .as_ref()
        .and_then(|path| Some((path, write_end(path).ok()?)));
    let Some((path, fifo)) = opened else {
        return OnRefused::ignored();
    };
    // The program could read what is meant for ralph. If the file cannot be removed, ralph removes it with its directory.
    _ = fs::remove_file(path);
    let told = Mutex::new(Vec::new());
    OnRefused(Arc::new(move |call| {
        let mut told = told.lock();
        if told.len() < MOST_REFUSED && !told.contains(&call) {
            let line = serde_json::to_string(&call).unwrap_or_default() + "\n";
            _ = (&fifo).write_all(line.as_bytes()); // a call that does not fit goes untold rather than unanswered
            told.push(call);
        }
    }))
}

impl ChildGuard {
    fn oversee(mut self, program: &Path) -> (GuardReport, bool) {
        let mut survivors = Vec::new();
        let mut left_running = Vec::new();
        let (mut program_was_there, mut is_stopped) = (true, false);
        while self.reap() == RemainingChildren::Some {
            let event = if self.exit.is_some() && program_was_there {
                program_was_there = false;
                if !is_stopped {
                    left_running = self.left_alive();
                }
                Some(LadderEvent::ProgramEnded)
            } else if self.exceeds_a_ceiling() {
                Some(LadderEvent::Asked(StopSpeed::Immediate))
            } else {
                self.wait()
            };
            is_stopped |= matches!(event, Some(LadderEvent::Asked(_) | LadderEvent::RalphGone));
            if let Some(action) = event.and_then(|event| self.ending.take(event, Instant::now())) {
                // Before, they may be about to end by the signal that the program got as well. A second kill finds what the first
                // one has killed.
                if is_stopped && self.exit.is_some() && action == LadderStep::Kill && left_running.is_empty() {
                    left_running = self.left_alive();
                }
                self.act(action);
            }
            if self.ending.has_given_up() {
                survivors = self
                    .alive()
                    .iter()
                    .map(|process| format!("{} ({})", process.pid, process.name))
                    .collect();
                break;
            }
        }
        // Without an exit status the program itself is among the survivors: it was sent SIGKILL but has not ended yet.
        let exit = self.exit.unwrap_or(Exit::Signal {
            signal: Signal::SIGKILL as i32,
        });
        let has_failed = !is_stopped && exit != Exit::Code { code: 0 };
        let exceeded = self.exceeded.take();
        let report = GuardReport {
            verdict: ProgramEnd::Exited { exit },
            survivors,
            left_running,
            exceeded: exceeded.or_else(|| self.ceilings.look_at_end(self.here, program).filter(|_| has_failed)),
        };
        (report, self.ralph_gone)
    }

    /// Whether the tree has just exceeded a limit.
    fn exceeds_a_ceiling(&mut self) -> bool {
        if self.exceeded.is_none() {
            self.exceeded = self.ceilings.look(self.here);
            return self.exceeded.is_some();
        }
        false
    }

    fn wait(&mut self) -> Option<LadderEvent> {
        let look = self.ceilings.due().filter(|_| self.exceeded.is_none());
        let due = self.ending.due().into_iter().chain(look).min();
        match self.watch.next(due) {
            GuardEvent::ChildEnded => None,
            GuardEvent::Asked(stop) => Some(LadderEvent::Asked(stop)),
            GuardEvent::InputEnded => {
                self.input = None;
                None
            }
            GuardEvent::RalphGone => {
                self.ralph_gone = true;
                Some(LadderEvent::RalphGone)
            }
            GuardEvent::Due => self
                .ending
                .due()
                .is_some_and(|due| due <= Instant::now())
                .then_some(LadderEvent::Due),
        }
    }

    /// Reaps every child that has ended.
    fn reap(&mut self) -> RemainingChildren {
        loop {
            let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Exit::Code { code }),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Exit::Signal { signal: signal as i32 }),
                Ok(WaitStatus::StillAlive) => return RemainingChildren::Some,
                Ok(_) | Err(Errno::EINTR) => continue,
                // No child: proof on Linux; on other systems init may have adopted a process.
                Err(_) if system::SUBREAPERS || self.alive().is_empty() => return RemainingChildren::None,
                Err(_) => return RemainingChildren::Some,
            };
            if pid == self.program {
                self.exit = Some(exit);
            }
        }
    }

    fn alive(&self) -> Vec<Process> {
        let mut alive = tree::descendants(self.here);
        alive.retain(|process| !process.ended);
        alive
    }

    fn left_alive(&self) -> Vec<LeftProcess> {
        let place = ProgramPlace {
            group: getpgrp(),
            input: self.input_pipe,
        };
        left::describe(&self.alive(), place)
    }

    fn act(&self, action: LadderStep) {
        match action {
            LadderStep::Interrupt => {
                // The processes that a typed Ctrl-C would reach, and the program if it has left that group.
                let group = getpgrp();
                for process in self.alive() {
                    if process.group == group || process.pid == self.program {
                        tree::signal_awake(process.pid, Signal::SIGINT);
                    }
                }
            }
            LadderStep::Terminate => {
                for process in self.alive() {
                    tree::signal_awake(process.pid, Signal::SIGTERM);
                }
            }
            LadderStep::Kill => drop(tree::kill_all(|| tree::descendants(self.here))),
        }
    }
}
