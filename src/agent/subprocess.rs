//! An agent that is a program: started anew for every session, under a guard, with a terminal.
//!
//! The bytes go one way only: child → reader thread → [`Reporter`] → signals and display. The reporter may block there
//! as long as it likes (a full channel slows the agent); stopping does not pass through it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

use tokio::sync::mpsc;

use crate::{
    event::{AgentSignal, Exit, Problem, ProblemKind},
    proc::{self, Child, End, Output, Size, SpawnError, Stop, screen::Screen},
    text::{Keep, PlainText},
};

use super::{
    Activity, AgentAdapter, AgentError, Capabilities, Display, NotLive, Session, SessionRequest, check,
    dialect::{Dialect, Finish, Tail},
    invocation,
    manifest::Manifest,
    transcript::Transcript,
};

/// Runs sessions of the agent that a manifest describes.
#[derive(Debug)]
pub struct SubprocessAdapter {
    manifest: Manifest,
    guard: Option<PathBuf>,
}

impl SubprocessAdapter {
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest, guard: None }
    }

    /// Has sessions guarded by another executable than the one that is running: for whoever is not ralph itself.
    #[must_use]
    pub fn guarded_by(mut self, guard: PathBuf) -> Self {
        self.guard = Some(guard);
        self
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

impl AgentAdapter for SubprocessAdapter {
    fn id(&self) -> &str {
        &self.manifest.id
    }

    fn capabilities(&self) -> Capabilities {
        self.manifest.capabilities
    }

    fn check(&self, cwd: &Path) -> Result<(), AgentError> {
        check::find(&self.manifest, cwd).map(|_| ())
    }

    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let launch = match invocation::launch(&self.manifest, &request) {
            Ok(launch) => proc::Launch {
                guard: self.guard.clone(),
                ..launch
            },
            Err(problem) => return NeverRan::report(problem, out),
        };
        let link = Arc::new(Link {
            child: OnceLock::new(),
            size: AtomicU32::new(packed(request.size)),
            started: AtomicBool::new(false),
        });
        let reporter = Reporter::new(&self.manifest, request, out.clone(), Arc::clone(&link));
        match proc::spawn(launch, Box::new(reporter)) {
            Ok(child) => {
                let child = Arc::new(child);
                // Set once and only here.
                _ = link.child.set(Arc::downgrade(&child));
                link.started.store(true, Ordering::Release);
                Box::new(Running { child, link })
            }
            Err(error) => NeverRan::report(problem_of(error), out),
        }
    }
}

fn problem_of(error: SpawnError) -> Problem {
    let source = std::error::Error::source(&error)
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    let kind = match error {
        SpawnError::Program { .. } => ProblemKind::NotInstalled,
        SpawnError::WorkingDirectory { .. }
        | SpawnError::Stdin { .. }
        | SpawnError::Scratch { .. }
        | SpawnError::Terminal { .. }
        | SpawnError::Guard { .. }
        | SpawnError::Thread { .. } => ProblemKind::Other,
    };
    Problem {
        kind,
        text: format!("{error}{source}"),
    }
}

/// What the session and its reporter know of each other.
struct Link {
    /// Weak: what the reporter holds must not keep a dropped session's child alive.
    child: OnceLock<Weak<Child>>,
    /// The terminal's size, both numbers in one.
    size: AtomicU32,
    /// From here on the reporter answers for the session's end, even if it panics.
    started: AtomicBool,
}

fn packed(size: Size) -> u32 {
    u32::from(size.cols) << 16 | u32::from(size.rows)
}

fn unpacked(size: u32) -> Size {
    let [cols_high, cols_low, rows_high, rows_low] = size.to_be_bytes();
    Size {
        cols: u16::from_be_bytes([cols_high, cols_low]),
        rows: u16::from_be_bytes([rows_high, rows_low]),
    }
}

struct Running {
    child: Arc<Child>,
    link: Arc<Link>,
}

impl Session for Running {
    fn stop(&self, stop: Stop) {
        self.child.stop(stop);
    }

    fn resize(&self, size: Size) {
        self.link.size.store(packed(size), Ordering::Relaxed);
        self.child.resize(size);
    }

    fn type_bytes(&self, bytes: &[u8]) {
        self.child.type_bytes(bytes);
    }

    fn steer(&self, _text: &str) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        self.child.activity()
    }
}

/// A session that could not be started. It has ended when it begins.
struct NeverRan;

impl NeverRan {
    fn report(problem: Problem, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let signals = [
            AgentSignal::Problem { problem },
            AgentSignal::Ended {
                exit: None,
                output_bytes: 0,
            },
        ];
        send_apart(signals, out);
        Box::new(NeverRan)
    }
}

impl Session for NeverRan {
    fn stop(&self, _stop: Stop) {}

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn steer(&self, _text: &str) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// Sends from a thread of its own: whoever asks may be the one who has to make room in the channel first.
fn send_apart(signals: [AgentSignal; 2], out: mpsc::Sender<AgentSignal>) {
    thread::spawn(move || {
        for signal in signals {
            _ = out.blocking_send(signal); // nobody listens any more
        }
    });
}

/// Takes what one child writes, on its reader thread.
struct Reporter {
    out: mpsc::Sender<AgentSignal>,
    display: Box<dyn Display>,
    dialect: Box<dyn Dialect>,
    form: Form,
    link: Arc<Link>,
    output_bytes: u64,
    ended: bool,
}

/// What the terminal is to a dialect.
enum Form {
    /// All there is. Queries of the program are answered as a terminal would.
    Terminal { screen: Box<Screen>, size: u32 },
    /// What the program writes beside its signals, which are shown as a transcript.
    Structured {
        transcript: Transcript,
        plain: PlainText,
        tail: Tail,
    },
}

impl Reporter {
    fn new(manifest: &Manifest, request: SessionRequest, out: mpsc::Sender<AgentSignal>, link: Arc<Link>) -> Self {
        let form = if manifest.dialect.is_structured() {
            Form::Structured {
                transcript: Transcript::default(),
                plain: PlainText::new(Keep::Nothing),
                tail: Tail::default(),
            }
        } else {
            Form::Terminal {
                screen: Box::new(Screen::new(request.size, 0)),
                size: packed(request.size),
            }
        };
        Self {
            out,
            display: request.display,
            dialect: manifest.dialect.parser(),
            form,
            link,
            output_bytes: 0,
            ended: false,
        }
    }

    /// Shows and sends signals, in this order: what is seen must not wait for a slow listener.
    fn report(&mut self, signals: Vec<AgentSignal>) {
        if let Form::Structured { transcript, .. } = &mut self.form {
            let mut shown = Vec::new();
            signals.iter().for_each(|signal| transcript.render(signal, &mut shown));
            if !shown.is_empty() {
                self.display.show(&shown);
            }
        }
        for signal in signals {
            // Fails when nobody listens any more; the child is being stopped then.
            _ = self.out.blocking_send(signal);
        }
    }

    fn answer_queries(&mut self, bytes: &[u8]) {
        let Form::Terminal { screen, size } = &mut self.form else {
            return;
        };
        let now = self.link.size.load(Ordering::Relaxed);
        if std::mem::replace(size, now) != now {
            screen.resize(unpacked(now));
        }
        screen.process(bytes);
        let replies = screen.take_replies();
        if !replies.is_empty()
            && let Some(child) = self.link.child.get().and_then(Weak::upgrade)
        {
            child.type_bytes(&replies);
        }
    }
}

impl Output for Reporter {
    fn terminal(&mut self, bytes: &[u8]) {
        self.output_bytes += bytes.len() as u64;
        self.display.show(bytes);
        match &mut self.form {
            Form::Structured { plain, tail, .. } => plain.feed(bytes, |line| tail.push(line)),
            Form::Terminal { .. } => {
                self.answer_queries(bytes);
                let mut signals = Vec::new();
                self.dialect.feed(bytes, &mut signals);
                self.report(signals);
            }
        }
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.output_bytes += bytes.len() as u64;
        let mut signals = Vec::new();
        self.dialect.feed(bytes, &mut signals);
        self.report(signals);
    }

    fn ended(&mut self, end: End) {
        let mut signals = Vec::new();
        let exit = match end {
            End::NotStarted(text) => {
                signals.push(AgentSignal::Problem {
                    problem: Problem {
                        kind: ProblemKind::NotInstalled,
                        text,
                    },
                });
                None
            }
            End::Exited(exit) => {
                self.finish(Some(exit), &mut signals);
                Some(exit)
            }
            End::GuardLost => {
                self.finish(None, &mut signals);
                None
            }
        };
        signals.push(AgentSignal::Ended {
            exit,
            output_bytes: self.output_bytes,
        });
        self.ended = true;
        self.report(signals);
    }
}

impl Reporter {
    fn finish(&mut self, exit: Option<Exit>, signals: &mut Vec<AgentSignal>) {
        let stderr = match &mut self.form {
            Form::Structured { plain, tail, .. } => {
                plain.finish(|line| tail.push(line));
                tail.text()
            }
            Form::Terminal { .. } => String::new(),
        };
        self.dialect.finish(Finish { exit, stderr: &stderr }, signals);
    }
}

impl Drop for Reporter {
    /// A reporter that is gone without its end panicked, or its thread did: the session still has to end for who waits.
    fn drop(&mut self) {
        if self.ended || !self.link.started.load(Ordering::Acquire) {
            return;
        }
        let text = "ralph's reader of this agent broke down".to_owned();
        let problem = AgentSignal::Problem {
            problem: Problem {
                kind: ProblemKind::Crashed,
                text,
            },
        };
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: self.output_bytes,
        };
        send_apart([problem, ended], self.out.clone());
    }
}
