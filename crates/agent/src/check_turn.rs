//! Runs one turn of an agent that asks for nothing but an answer, to see whether it works as it is installed.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use parking_lot::Mutex;
use ralph_core::event::{AgentSignal, Exit, Problem, RunId, SubagentLimits, ToolKinds};
use ralph_system::proc::{Size, StopSpeed};
use ralph_text::{KeptEscapes, PlainText, one_line};
use ralph_words::{exit_in_words, problem_in_words, short_duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{AgentAdapter, Display, SessionRequest, dialect::Tail};

/// How long the turn may take. An agent with servers of its user starts slowly.
const DEADLINE: Duration = Duration::from_secs(120);
/// How long the agent may run after it has reported the end of its turn.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);
/// The text that the agent is asked for.
const ANSWER: &str = "the-check-works";

/// Whether an agent works as it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnCheckResult {
    Works { after: Duration },
    Fails { why: String },
}

/// Runs the turn in `project`, an empty directory, with the agent's own settings and login, and with `model` if there is one.
/// `scratch` is a directory only the user can read. Takes at most some two minutes.
///
/// # Errors
/// The system's error if the prompt cannot be written.
pub async fn check_turn(
    adapter: &dyn AgentAdapter,
    model: Option<String>,
    project: &Path,
    scratch: &Path,
) -> io::Result<TurnCheckResult> {
    let prompt = scratch.join("prompt.md");
    fs::write(
        &prompt,
        format!("`ralph adapters check` asks whether you can be reached. Use no tool. Reply with `{ANSWER}`.\n"),
    )?;
    let tail = Arc::new(Mutex::new(Tail::default()));
    let begun = Instant::now();
    let (sender, mut signals) = mpsc::channel(64);
    let session = adapter.start(
        SessionRequest {
            run: RunId(format!("check-{}", std::process::id())),
            iteration: 1,
            prompt,
            cwd: project.to_owned(),
            model,
            agent: None,
            resume: None,
            size: Size { cols: 80, rows: 24 },
            asks: ToolKinds::NONE,
            subagents: SubagentLimits::default(),
            one_way: false,
            env: Vec::new(),
            scratch: scratch.to_owned(),
            display: Box::new(TailDisplay {
                plain: PlainText::new(KeptEscapes::Nothing),
                tail: Arc::clone(&tail),
            }),
        },
        sender,
    );
    let mut turn = CheckedTurn::default();
    let mut deadline = begun + DEADLINE;
    loop {
        tokio::select! {
            signal = signals.recv() => match signal {
                Some(AgentSignal::Ended { exit, .. }) => {
                    turn.exit = exit;
                    break;
                }
                Some(signal) => {
                    if turn.note(signal) {
                        deadline = Instant::now() + EXIT_DEADLINE;
                    }
                }
                None => break,
            },
            () = sleep_until(deadline), if !turn.was_stopped => {
                turn.was_stopped = true;
                session.stop(StopSpeed::Immediate);
            }
        }
    }
    let shown = tail.lock().text();
    Ok(turn.judged(begun.elapsed(), &shown))
}

/// The turn as far as it was seen.
#[derive(Debug, Default)]
struct CheckedTurn {
    has_answered: bool,
    ok: Option<bool>,
    problem: Option<Problem>,
    exit: Option<Exit>,
    was_stopped: bool,
}

impl CheckedTurn {
    /// Returns whether this was the end of the turn.
    fn note(&mut self, signal: AgentSignal) -> bool {
        match signal {
            AgentSignal::Said { text } => self.has_answered |= text.contains(ANSWER),
            AgentSignal::Problem { problem } => self.problem = Some(problem),
            AgentSignal::TurnEnded { ok, message } => {
                self.has_answered |= message.is_some_and(|text| text.contains(ANSWER));
                return self.ok.replace(ok).is_none();
            }
            _ => {}
        }
        false
    }

    fn judged(&self, after: Duration, shown: &str) -> TurnCheckResult {
        let why = match (self.ok, &self.problem) {
            (Some(true), _) if self.has_answered => return TurnCheckResult::Works { after },
            (Some(true), _) => "it succeeded without the answer that it was asked for".to_owned(),
            (None, _) if self.was_stopped => {
                let ms = u64::try_from(DEADLINE.as_millis()).unwrap_or(u64::MAX);
                format!("no answer within {}", short_duration(ms))
            }
            (Some(false) | None, Some(problem)) => problem_in_words(problem),
            (Some(false) | None, None) => match self.exit {
                Some(exit) => exit_in_words(exit),
                None => "it did not start".to_owned(),
            },
        };
        let is_told = |line: &str| why.contains(line) || line.contains(&why);
        let mut last = shown.lines().rev().map(str::trim);
        match last.find(|line| !line.is_empty() && !is_told(line)) {
            Some(words) => TurnCheckResult::Fails {
                why: format!("{why}, last words: {}", one_line(words)),
            },
            None => TurnCheckResult::Fails { why },
        }
    }
}

/// Keeps the last lines of what is shown.
struct TailDisplay {
    plain: PlainText,
    tail: Arc<Mutex<Tail>>,
}

impl Display for TailDisplay {
    fn show(&mut self, bytes: &[u8]) {
        let mut tail = self.tail.lock();
        self.plain.feed(bytes, |line| tail.push(line));
    }
}
