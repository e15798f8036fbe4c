//! `ralph::proc` with the real guard and a fake agent that misbehaves.

mod endings;
mod losses;
mod streams;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use ralph_system::proc::{Child, ChildEnd, Ladder, Launch, OutputSink, StopSignal, Supervisor};
use tempfile::TempDir;

use crate::harness::write_program;

/// Long enough for a machine with ten other jobs; no test waits for it to pass.
const DEADLINE: Duration = Duration::from_secs(60);

const GUARD: &str = env!("CARGO_BIN_EXE_ralph");
const AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A grace period that no test waits out.
const LONG: Duration = Duration::from_secs(600);
/// A grace period for children that use all of it.
const SHORT: Duration = Duration::from_millis(100);

/// Every kind of child that refuses to end.
const STUBBORN: [&str; 9] = [
    "spawn plain",
    "spawn nohup",
    "spawn own-group",
    "spawn setsid",
    "spawn double-fork",
    "spawn env-clear-setsid",
    "spawn daemon",
    "spawn stopped",
    "spawn respawn",
];

/// A working directory whose name is in the command line of every process that these tests start.
struct ProcessSandbox {
    dir: TempDir,
}

impl ProcessSandbox {
    fn new() -> ProcessSandbox {
        let dir = tempfile::Builder::new().prefix("ralph-proc-").tempdir().unwrap();
        fs::create_dir(dir.path().join("scratch")).unwrap();
        ProcessSandbox { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Writes an executable.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        write_program(&path, text);
        path
    }

    fn scratch_files(&self) -> usize {
        fs::read_dir(self.path("scratch")).unwrap().count()
    }

    fn launch(&self, steps: &[&str]) -> Launch {
        let run = format!("run-{}", self.dir.path().display());
        Launch {
            args: steps.iter().map(Into::into).collect(),
            ladder: Ladder {
                first: StopSignal::Interrupt,
                grace: LONG,
            },
            guard: Some(GUARD.into()),
            ..Launch::new(AGENT, &self.path(""), LONG, &run, &self.path("scratch"))
        }
    }

    fn start(&self, launch: Launch) -> ChildSession {
        let (sender, events) = mpsc::channel();
        let output = Recorder {
            sender,
            sandbox: self.path(""),
        };
        ChildSession {
            child: Some(Supervisor::default().spawn(launch, Box::new(output)).unwrap()),
            events,
            terminal: String::new(),
            stdout: Vec::new(),
        }
    }

    fn run(&self, steps: &[&str]) -> EndedChild {
        self.start(self.launch(steps)).end()
    }

    /// Waits until a process of the agent has written a line to the file `name`.
    fn wait_for(&self, name: &str) {
        wait_until(&format!("{name} is written"), || self.read(name).ends_with('\n'));
    }
}

/// Polls for a change that no event announces.
fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !there() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::yield_now();
    }
}

enum ChildEvent {
    Terminal(Vec<u8>),
    Stdout(Vec<u8>),
    /// The end, and everything that still ran at that moment.
    Ended(ChildEnd, Vec<String>),
}

struct Recorder {
    sender: Sender<ChildEvent>,
    sandbox: PathBuf,
}

impl OutputSink for Recorder {
    fn terminal(&mut self, bytes: &[u8]) {
        _ = self.sender.send(ChildEvent::Terminal(bytes.to_vec()));
    }

    fn stdout(&mut self, bytes: &[u8]) {
        _ = self.sender.send(ChildEvent::Stdout(bytes.to_vec()));
    }

    fn ended(&mut self, end: ChildEnd) {
        _ = self.sender.send(ChildEvent::Ended(end, alive_in(&self.sandbox)));
    }
}

/// A running child of a test.
struct ChildSession {
    child: Option<Child>,
    events: Receiver<ChildEvent>,
    terminal: String,
    stdout: Vec<u8>,
}

/// An ended child and its output.
#[derive(Debug)]
struct EndedChild {
    end: ChildEnd,
    terminal: String,
    stdout: Vec<u8>,
}

impl ChildSession {
    fn child(&self) -> &Child {
        self.child.as_ref().expect("the test has not dropped it")
    }

    fn next(&mut self) -> Option<(ChildEnd, Vec<String>)> {
        match self.events.recv_timeout(DEADLINE) {
            Ok(ChildEvent::Terminal(bytes)) => self.terminal.push_str(&String::from_utf8_lossy(&bytes)),
            Ok(ChildEvent::Stdout(bytes)) => self.stdout.extend(bytes),
            Ok(ChildEvent::Ended(end, alive)) => return Some((end, alive)),
            Err(RecvTimeoutError::Timeout) => panic!("nothing happens any more after {:?}", self.terminal),
            Err(RecvTimeoutError::Disconnected) => panic!("no end after {:?}", self.terminal),
        }
        None
    }

    fn until(&mut self, text: &str) {
        while !self.terminal.contains(text) {
            if let Some((end, _)) = self.next() {
                panic!("{end:?} before {text:?} in {:?}", self.terminal);
            }
        }
    }

    /// Waits for the end. Checks that nothing runs at that moment and nothing arrives after it.
    fn end(mut self) -> EndedChild {
        let (end, alive) = loop {
            if let Some(ended) = self.next() {
                break ended;
            }
        };
        assert!(alive.is_empty(), "still there after {end:?}: {alive:?}");
        assert!(
            self.events
                .recv_timeout(DEADLINE)
                .is_err_and(|error| error == RecvTimeoutError::Disconnected)
        );
        EndedChild {
            end,
            terminal: self.terminal,
            stdout: self.stdout,
        }
    }
}

/// Returns every process that was started from `sandbox`, including zombies.
fn alive_in(sandbox: &Path) -> Vec<String> {
    let sandbox = sandbox.to_string_lossy().trim_end_matches('/').to_owned();
    let mut known: Vec<u32> = Vec::new();
    for entry in fs::read_dir(&sandbox).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "pid") {
            known.extend(
                fs::read_to_string(entry.path())
                    .ok()
                    .and_then(|pid| pid.trim().parse::<u32>().ok()),
            );
        }
    }
    let mut alive = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if line.contains(&sandbox) || (known.contains(&pid) && name.trim() == "fake-agent") {
            alive.push(format!("{pid} {line}{name}"));
        }
    }
    alive
}
