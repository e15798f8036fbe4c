//! Runs one turn of the program and keeps what was seen of it.

use std::{
    fs, io,
    path::Path,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use ralph_agent::{AgentAdapter, Display, SessionRequest};
use ralph_core::event::{AgentSignal, Exit, Problem, RunId, SessionId, ToolKinds, Usage};
use ralph_system::proc::{LeftProcesses, Size, StopSpeed, Supervisor};

use super::task::{BEGUN, ConformanceTask, TASK_VAR, UNKNOWN_VAR};

/// How long a turn may take.
const TURN_DEADLINE: Duration = Duration::from_secs(120);
/// A waiting agent has this long to begin. It is stopped then, whatever it is doing.
const BEGIN_DEADLINE: Duration = Duration::from_secs(60);
/// Time for the agent to note that its command runs.
const SETTLED: Duration = Duration::from_millis(300);
/// How long its command may take to begin once it was reported.
const COMMAND_DEADLINE: Duration = Duration::from_secs(5);
/// How long the program may run after it has reported the end of its turn.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);
/// How long a slow reader does not read.
const UNREAD_FOR: Duration = Duration::from_secs(1);
/// The pause between two looks at the clock and at the file of a waiting agent.
const PAUSE: Duration = Duration::from_millis(20);
/// Most signals that are kept, in addition to verdicts.
const SIGNALS_CAP: usize = 20_000;

/// One turn to run.
pub(super) struct TurnRequest<'a> {
    pub(super) task: ConformanceTask,
    pub(super) word: &'a str,
    pub(super) resume: Option<SessionId>,
}

/// The processes that a program has left running.
#[derive(Default)]
pub(super) struct LeftBehind(LeftProcesses);

impl LeftBehind {
    /// The supervisor that tells of them.
    pub(super) fn told_by(&self, supervisor: &Supervisor) -> Supervisor {
        supervisor.reporting_left_running(self.0.receiver())
    }
}

/// Everything that was seen of one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ObservedTurn {
    pub(super) signals: Vec<AgentSignal>,
    /// `None` if the program did not start.
    pub(super) exit: Option<Exit>,
    /// The names of the processes that the program left running.
    pub(super) left_running: Vec<String>,
    pub(super) end: ObservedEnd,
}

/// The cause of the program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ObservedEnd {
    /// It exited by itself.
    #[default]
    Itself,
    /// It was stopped on purpose and took so long to end.
    Stopped { took: Duration },
    /// It did not end its turn in time.
    TimedOut,
    /// It ended its turn and did not exit.
    Lingered,
}

impl ObservedTurn {
    /// The agent's verdict on its turn.
    pub(super) fn verdict(&self) -> Option<bool> {
        self.signals.iter().find_map(|signal| match signal {
            AgentSignal::TurnEnded { ok, .. } => Some(*ok),
            _ => None,
        })
    }

    pub(super) fn problem(&self) -> Option<&Problem> {
        self.signals.iter().rev().find_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem),
            _ => None,
        })
    }

    /// The id of the session that the agent reported.
    pub(super) fn session(&self) -> Option<&SessionId> {
        self.signals.iter().find_map(|signal| match signal {
            AgentSignal::Opened { session, .. } => session.as_ref(),
            _ => None,
        })
    }

    /// Whether the agent said `word`.
    pub(super) fn says(&self, word: &str) -> bool {
        self.signals.iter().any(|signal| match signal {
            AgentSignal::Said { text } => text.contains(word),
            AgentSignal::TurnEnded { message, .. } => message.as_ref().is_some_and(|text| text.contains(word)),
            _ => false,
        })
    }

    /// The lines of the output that are no events.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Noted { text } | AgentSignal::Unknown { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// All reports of usage.
    pub(super) fn usage(&self) -> impl Iterator<Item = &Usage> {
        self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Usage { usage } => Some(usage),
            _ => None,
        })
    }
}

/// Runs one turn to its end. A waiting agent is stopped once it has begun.
pub(super) fn observe(
    adapter: &dyn AgentAdapter,
    project: &Path,
    request: &TurnRequest<'_>,
    left_behind: &LeftBehind,
) -> io::Result<ObservedTurn> {
    let task = request.task;
    let scratch = tempfile::tempdir()?;
    let prompt = scratch.path().join("prompt.md");
    fs::write(&prompt, task.prompt(request.word))?;
    let begun = project.join(BEGUN);
    if task == ConformanceTask::Wait {
        _ = fs::remove_file(&begun); // usually missing
    }
    let (sender, mut receiver) = tokio::sync::mpsc::channel(64);
    let (tell, told) = mpsc::channel();
    let session = adapter.start(
        SessionRequest {
            run: RunId(format!("conformance-{}", std::process::id())),
            iteration: 1,
            prompt,
            cwd: project.to_owned(),
            model: None,
            agent: None,
            resume: request.resume.clone(),
            size: Size { cols: 80, rows: 24 },
            asks: ToolKinds::NONE,
            subagents: ralph_core::event::SubagentLimits::default(),
            one_way: false,
            env: environment(request),
            scratch: scratch.path().to_owned(),
            display: Box::new(SlowDisplay {
                is_slow: task == ConformanceTask::LongOutput,
            }),
        },
        sender,
    );
    // The session's channel cannot be waited for with a deadline outside of a runtime.
    thread::Builder::new().name("ralph-turn".to_owned()).spawn(move || {
        while let Some(signal) = receiver.blocking_recv() {
            _ = tell.send(signal); // the turn was given up
        }
    })?;
    let started = Instant::now();
    let mut trial = ObservedTurn::default();
    let (mut begun_at, mut tool_at, mut verdict_at) = (None, None, None);
    let mut stopped_at = None;
    let mut ended_at = None;
    loop {
        match told.recv_timeout(PAUSE) {
            Ok(AgentSignal::Ended { exit, .. }) => {
                trial.exit = exit;
                ended_at = Some(Instant::now());
                break;
            }
            Ok(signal) => {
                let is_verdict = matches!(signal, AgentSignal::TurnEnded { .. });
                if is_verdict {
                    verdict_at = Some(Instant::now());
                }
                if matches!(signal, AgentSignal::ToolStarted { .. }) {
                    tool_at.get_or_insert_with(Instant::now);
                }
                if is_verdict || trial.signals.len() < SIGNALS_CAP {
                    trial.signals.push(signal);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stopped_at.is_some() || trial.end != ObservedEnd::Itself {
            continue;
        }
        if begun_at.is_none() && begun.exists() {
            begun_at = Some(Instant::now());
        }
        let has_begun = || {
            begun_at.is_some_and(|at: Instant| at.elapsed() > SETTLED)
                || started.elapsed() > BEGIN_DEADLINE
                || tool_at.is_some_and(|at: Instant| at.elapsed() > COMMAND_DEADLINE)
        };
        if task == ConformanceTask::Wait && verdict_at.is_none() && has_begun() {
            stopped_at = Some(Instant::now());
            session.stop(StopSpeed::Graceful);
        } else if verdict_at.is_some_and(|at| at.elapsed() > EXIT_DEADLINE) {
            trial.end = ObservedEnd::Lingered;
            session.stop(StopSpeed::Immediate);
        } else if started.elapsed() > TURN_DEADLINE {
            trial.end = ObservedEnd::TimedOut;
            session.stop(StopSpeed::Immediate);
        }
    }
    if let (Some(stopped_at), Some(ended_at)) = (stopped_at, ended_at) {
        trial.end = ObservedEnd::Stopped {
            took: ended_at - stopped_at,
        };
    }
    let left = left_behind.0.take().into_iter();
    trial.left_running = left.map(|left| left.name).collect();
    Ok(trial)
}

fn environment(request: &TurnRequest<'_>) -> Vec<(String, String)> {
    let task = (TASK_VAR, request.task.name());
    let unknown = (request.task == ConformanceTask::Reply).then_some(UNKNOWN_VAR);
    let variables = [task].into_iter().chain(unknown);
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Takes its time for the first piece, if it is slow: the output of the program is not read meanwhile.
struct SlowDisplay {
    is_slow: bool,
}

impl Display for SlowDisplay {
    fn show(&mut self, _: &[u8]) {
        if std::mem::take(&mut self.is_slow) {
            thread::sleep(UNREAD_FOR);
        }
    }
}
