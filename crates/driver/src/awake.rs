//! Keeps the machine awake while a run works: a program of the system holds a lock for as long as it runs.
//!
//! It runs below a guard, as an agent does, so the lock is gone with the run even if ralph is killed.

use std::{
    ffi::OsString,
    mem,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

use ralph_core::{
    event::Notice,
    run::{Phase, RunView},
};
use ralph_system::proc::{Child, ChildEnd, Launch, OutputSink, Supervisor};
use ralph_text::{one_line, with_causes};
use ralph_words::exit_in_words;

/// Seconds for which the lock is held at most: as long as a process can sleep everywhere.
const LONGEST: &str = "2147483647";
/// Most bytes kept of what the program says.
const SAID_BYTES: usize = 1024;
/// How long the end of a killed program and of its guard is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The programs that hold such a lock, with their arguments.
const HOLDERS: [(&str, &[&str]); 2] = [
    (
        "systemd-inhibit",
        &[
            "--what=idle:sleep",
            "--who=ralph",
            "--why=a run works",
            "--mode=block",
            "sleep",
            LONGEST,
        ],
    ),
    ("caffeinate", &["-i", "-t", LONGEST]),
];

/// The lock of a run that keeps the machine awake.
pub(super) struct WakeLock {
    /// Starts programs outside of the sandbox.
    supervisor: Supervisor,
    project: PathBuf,
    scratch: PathBuf,
    run_id: String,
    state: LockState,
}

enum LockState {
    /// The user does not want a lock, or it cannot be held.
    Off,
    Free,
    Held {
        /// Ends the program when it is dropped.
        holder: Child,
        /// Receives why the program ended.
        end: Receiver<String>,
    },
}

impl WakeLock {
    pub(super) fn new(
        is_wanted: bool,
        supervisor: Supervisor,
        project: PathBuf,
        scratch: PathBuf,
        run_id: String,
    ) -> Self {
        Self {
            supervisor,
            project,
            scratch,
            run_id,
            state: match is_wanted {
                true => LockState::Free,
                false => LockState::Off,
            },
        }
    }

    /// Holds the lock while the run is neither over nor paused. Returns a notice, once, if it cannot be held.
    pub(super) fn follow(&mut self, view: &RunView) -> Option<Notice> {
        let works = !view.is_over() && view.phase != Phase::Paused;
        let failed = match &self.state {
            LockState::Free if works => match self.hold() {
                Ok(held) => {
                    self.state = held;
                    None
                }
                Err(why) => Some(why),
            },
            LockState::Held { .. } if !works => {
                self.state = LockState::Free;
                None
            }
            LockState::Held { end, .. } => end.try_recv().ok(),
            LockState::Off | LockState::Free => None,
        };
        failed.map(|why| {
            self.state = LockState::Off;
            let text = format!("the machine may fall asleep in spite of `keepAwake`: {why}");
            Notice::warning("not-kept-awake", text)
        })
    }

    fn hold(&self) -> Result<LockState, String> {
        let mut known = HOLDERS.iter();
        let found = known.find_map(|(name, args)| Some((self.supervisor.trusted_program(name, &self.project)?, args)));
        let (program, args) =
            found.ok_or_else(|| "neither `systemd-inhibit` nor `caffeinate` is installed".to_owned())?;
        let (tell, end) = mpsc::channel();
        let output = HolderOutput {
            said: Vec::new(),
            end: tell,
        };
        let launch = Launch {
            args: args.iter().map(OsString::from).collect(),
            ..Launch::new(
                program,
                Path::new("/"),
                Duration::from_secs(1),
                &self.run_id,
                &self.scratch,
            )
        };
        let holder = self
            .supervisor
            .spawn(launch, Box::new(output))
            .map_err(|error| with_causes(&error))?;
        Ok(LockState::Held { holder, end })
    }
}

impl Drop for WakeLock {
    /// Waits for the end of the program and its guard, so that neither survives the run.
    fn drop(&mut self) {
        if let LockState::Held { holder, end } = mem::replace(&mut self.state, LockState::Off) {
            drop(holder);
            _ = end.recv_timeout(PATIENCE); // the guard goes on by itself
        }
    }
}

struct HolderOutput {
    said: Vec<u8>,
    end: Sender<String>,
}

impl OutputSink for HolderOutput {
    fn terminal(&mut self, bytes: &[u8]) {
        let room = SAID_BYTES.saturating_sub(self.said.len());
        self.said.extend(&bytes[..bytes.len().min(room)]);
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.terminal(bytes);
    }

    fn ended(&mut self, end: ChildEnd) {
        let how = match end {
            ChildEnd::Exited(exit) => exit_in_words(exit),
            ChildEnd::NotStarted { why, .. } => why,
            ChildEnd::Exceeded(_) | ChildEnd::GuardLost => "it was killed".to_owned(),
        };
        let said = one_line(&String::from_utf8_lossy(&self.said));
        let why = match said.trim() {
            "" => how,
            said => format!("{how}: {said}"),
        };
        _ = self.end.send(why); // the lock may be free already
    }
}
