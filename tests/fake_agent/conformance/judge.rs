//! Judges what was seen of a program by the obligations. Pure.

use std::time::Duration;

use ralph_core::event::{AgentSignal, Exit, ProblemKind, Usage};
use ralph_words::{exit_in_words, problem_kind_in_words, short_duration};

use super::{
    Results,
    observed_turn::{ObservedEnd, ObservedTurn},
    task::{LAST_LINE, WRITTEN},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fulfilment {
    Met,
    Unmet,
    /// The adapter does not promise it, or it could not be tried.
    NotShown,
}

impl Fulfilment {
    pub(super) fn word(self) -> &'static str {
        match self {
            Fulfilment::Met => "met",
            Fulfilment::Unmet => "unmet",
            Fulfilment::NotShown => "open",
        }
    }
}

/// The adapter file's statements about the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdapterPromises {
    /// Whether the output consists of events.
    pub(super) is_structured: bool,
    /// Whether a process is for one turn, so that its exit code is about that turn.
    pub(super) exits_by_turn: bool,
    pub(super) tells_usage: bool,
    pub(super) tells_cost: bool,
    /// Whether usage is the sum over a session.
    pub(super) sums_usage: bool,
    pub(super) grace: Duration,
}

/// Whether an obligation is met, with what was seen.
pub(super) type Judgement = (Fulfilment, String);

fn met(seen: impl Into<String>) -> Judgement {
    (Fulfilment::Met, seen.into())
}

fn unmet(seen: impl Into<String>) -> Judgement {
    (Fulfilment::Unmet, seen.into())
}

pub(super) fn not_shown(why: impl Into<String>) -> Judgement {
    (Fulfilment::NotShown, why.into())
}

/// The results of the first turn, which writes a file. `written` is the text of that file.
pub(super) fn first_turn(
    trial: &ObservedTurn,
    word: &str,
    written: Option<&str>,
    promises: AdapterPromises,
) -> Results {
    vec![
        (4, gets_prompt(trial, word, written)),
        (5, writes(written, word)),
        (6, stream(trial, promises)),
        (7, tools(trial, promises)),
        (8, usage(trial, promises)),
        (9, end(trial)),
        (10, exit(trial)),
        (11, leaves_nothing(trial)),
    ]
}

/// The result of a turn whose output was not read for a while. Lines that are no events count if the turn `first` had none.
pub(super) fn slow_reader(first: &ObservedTurn, trial: &ObservedTurn) -> Judgement {
    let torn = trial.unknown().next().filter(|_| first.unknown().next().is_none());
    match torn {
        Some(line) => unmet(format!("a line that is no event: {line}")),
        None => answers(trial, LAST_LINE),
    }
}

/// The results of a turn whose key is refused.
pub(super) fn refusal(trial: &ObservedTurn, promises: AdapterPromises) -> Results {
    let told = match (trial.verdict(), trial.problem()) {
        (Some(true), _) => unmet("the turn was reported as a success"),
        (_, Some(problem)) if problem.kind == ProblemKind::Auth => met(problem.text.as_str()),
        (_, Some(problem)) => unmet(format!(
            "{}: {}",
            problem_kind_in_words(problem.kind),
            problem.text.as_str()
        )),
        (_, None) => unmet("no problem was reported"),
    };
    let code = match trial.exit {
        _ if !promises.exits_by_turn => not_shown("its process outlives a turn"),
        Some(Exit::Code { code: 0 }) => unmet("exit code 0"),
        Some(exit) => met(exit_in_words(exit)),
        None => not_shown("it did not start"),
    };
    vec![(15, told), (16, code)]
}

/// The results of turns that were stopped: by an interrupt, if the adapter file asks for one, and by terminate.
pub(super) fn stops(
    interrupted: Option<&ObservedTurn>,
    terminated: &ObservedTurn,
    promises: AdapterPromises,
) -> Results {
    let interrupt = match interrupted {
        Some(trial) => ends(trial, promises),
        None => not_shown("`stop.first` is `terminate`"),
    };
    let both = || interrupted.into_iter().chain([terminated]);
    let was_stopped = |trial: &&ObservedTurn| matches!(trial.end, ObservedEnd::Stopped { .. });
    let stopped = match (
        both().find(was_stopped),
        both().filter(was_stopped).any(|trial| trial.verdict() == Some(true)),
    ) {
        (None, _) => not_shown("no turn was stopped"),
        (Some(_), true) => unmet("the stopped turn was reported as a success"),
        (Some(_), false) => met("no stopped turn succeeded"),
    };
    // A program that needed more than one signal is left out: ralph has ended everything at once.
    let ended = || both().filter(|trial| ends(trial, promises).0 == Fulfilment::Met);
    let tools = match (ended().next(), ended().find(|trial| !trial.left_running.is_empty())) {
        (None, _) => not_shown("no turn ended on the first signal"),
        (Some(_), Some(trial)) => unmet(format!("left running: {}", trial.left_running.join(", "))),
        (Some(_), None) => met("no process was left"),
    };
    vec![
        (17, interrupt),
        (18, ends(terminated, promises)),
        (19, stopped),
        (20, tools),
    ]
}

/// The results of continued sessions: that of the turn `first`, and one that does not exist.
pub(super) fn sessions(
    first: &ObservedTurn,
    continued: Option<&ObservedTurn>,
    lost: Option<&ObservedTurn>,
    word: &str,
    promises: AdapterPromises,
) -> Results {
    let (Some(continued), Some(lost)) = (continued, lost) else {
        let why = match first.session() {
            Some(_) => "the adapter file has no `command.resume`",
            None => "the adapter file has no `command.resume`, or no session was reported",
        };
        return [21, 22, 23].map(|number| (number, not_shown(why))).into();
    };
    let same = match (first.session(), continued.session()) {
        _ if continued.verdict() != Some(true) => unmet(failure(continued)),
        (Some(first), Some(continued)) if first == continued => met(format!("the same id, {first}", first = first.0)),
        (Some(first), Some(continued)) => unmet(format!("another id: {} instead of {}", continued.0, first.0)),
        (_, None) => unmet("no id was reported in the continued session"),
        (None, Some(_)) => unmet("no id was reported in the first session"),
    };
    let is_lost = match (lost.verdict(), lost.problem()) {
        (Some(true), _) => unmet("another session was begun in its place"),
        (_, Some(problem)) if problem.kind == ProblemKind::SessionLost => met(problem.text.as_str()),
        (_, Some(problem)) => unmet(format!(
            "{}: {}",
            problem_kind_in_words(problem.kind),
            problem.text.as_str()
        )),
        (_, None) => unmet("no problem was reported"),
    };
    let mut results = vec![(21, same), (22, answers(continued, word)), (23, is_lost)];
    results.extend(falls(first, continued, promises).map(|why| (8, unmet(why))));
    results
}

/// Whether the turn succeeded with an answer that contains `word`.
pub(super) fn answers(trial: &ObservedTurn, word: &str) -> Judgement {
    match trial.verdict() {
        _ if trial.says(word) => met(format!("the answer has `{word}`")),
        Some(true) => unmet(format!("the answer has no `{word}`")),
        Some(false) | None => unmet(failure(trial)),
    }
}

/// Whether anything of the turn shows that the task was read.
fn gets_prompt(trial: &ObservedTurn, word: &str, written: Option<&str>) -> Judgement {
    match written {
        Some(text) if text.contains(word) && !trial.says(word) => met(format!("{WRITTEN} has `{word}`")),
        Some(_) | None => answers(trial, word),
    }
}

fn writes(written: Option<&str>, word: &str) -> Judgement {
    match written {
        Some(text) if text.contains(word) => met(format!("{WRITTEN} was written")),
        Some(_) => unmet(format!("{WRITTEN} has another text")),
        None => unmet(format!("{WRITTEN} was not written")),
    }
}

fn stream(trial: &ObservedTurn, promises: AdapterPromises) -> Judgement {
    if !promises.is_structured {
        return not_shown("the output is for people");
    }
    let mut others = trial.unknown().filter(|line| !is_usage(line) && !is_second_end(line));
    match others.next() {
        Some(line) => unmet(line),
        None => met(format!("{} events", trial.signals.len())),
    }
}

/// Whether a line that is no event was meant to be a report of usage.
fn is_usage(line: &str) -> bool {
    line.contains(r#""type":"usage""#)
}

fn is_second_end(line: &str) -> bool {
    line.contains("a second turn-ended")
}

fn tools(trial: &ObservedTurn, promises: AdapterPromises) -> Judgement {
    if !promises.is_structured {
        return not_shown("the output is for people");
    }
    let mut running: Vec<&str> = Vec::new();
    let mut ended = 0;
    for signal in &trial.signals {
        match signal {
            AgentSignal::ToolStarted { call, .. } => running.push(call),
            AgentSignal::ToolEnded { call, tool, .. } => match running.iter().position(|known| known == call) {
                Some(at) => {
                    running.remove(at);
                    ended += 1;
                }
                None => return unmet(format!("the end of call {call} ({tool}) has no start")),
            },
            _ => {}
        }
    }
    match (running.first(), ended) {
        (Some(call), _) => unmet(format!("the start of call {call} has no end")),
        (None, 0) => not_shown("no use of a tool was reported"),
        (None, 1) => met("one start with its end"),
        (None, count) => met(format!("{count} starts with their ends")),
    }
}

fn usage(trial: &ObservedTurn, promises: AdapterPromises) -> Judgement {
    if let Some(line) = trial.unknown().find(|line| is_usage(line)) {
        return unmet(line);
    }
    let mut reports = 0;
    for usage in trial.usage() {
        reports += 1;
        if usage.cached_tokens > usage.input_tokens {
            return unmet("more cached tokens than input tokens");
        }
        if usage.cost_usd.is_some_and(|cost| cost < 0.0 || !cost.is_finite()) {
            return unmet("a cost below 0");
        }
    }
    let has = |part: fn(&Usage) -> bool| trial.usage().any(part);
    match reports {
        _ if promises.tells_usage && !has(|usage| usage.output_tokens.is_some()) => {
            unmet("no tokens, although `capabilities.usage` is true")
        }
        _ if promises.tells_cost && !has(|usage| usage.cost_usd.is_some()) => {
            unmet("no cost, although `capabilities.cost` is true")
        }
        0 => not_shown("`capabilities.usage` is false"),
        1 => met("one report"),
        count => met(format!("{count} reports")),
    }
}

/// Says where the sum over a session falls from the first turn to the continued one.
fn falls(first: &ObservedTurn, continued: &ObservedTurn, promises: AdapterPromises) -> Option<String> {
    let last = |trial: &ObservedTurn| trial.usage().filter_map(|usage| usage.output_tokens).max();
    let (before, after) = (last(first)?, last(continued)?);
    (promises.sums_usage && after < before).then(|| {
        format!("the output tokens of the session fall from {before} to {after}, and `usage.counts` is `session`")
    })
}

fn end(trial: &ObservedTurn) -> Judgement {
    if trial.unknown().any(is_second_end) {
        return unmet("the end was reported twice");
    }
    let after = trial
        .signals
        .iter()
        .skip_while(|signal| !matches!(signal, AgentSignal::TurnEnded { .. }))
        .nth(1);
    match (trial.verdict(), after) {
        (Some(true), None) => met("reported as a success"),
        (Some(true), Some(_)) => unmet("another event followed the end"),
        (Some(false) | None, _) => unmet(failure(trial)),
    }
}

fn exit(trial: &ObservedTurn) -> Judgement {
    match (trial.end, trial.exit) {
        (ObservedEnd::Lingered, _) => unmet("it did not exit within 10 seconds after its turn"),
        (ObservedEnd::TimedOut, _) => unmet("it did not end its turn"),
        (ObservedEnd::Itself | ObservedEnd::Stopped { .. }, Some(Exit::Code { code: 0 })) => met("exit code 0"),
        (ObservedEnd::Itself | ObservedEnd::Stopped { .. }, Some(exit)) => unmet(exit_in_words(exit)),
        (ObservedEnd::Itself | ObservedEnd::Stopped { .. }, None) => unmet("it did not start"),
    }
}

fn leaves_nothing(trial: &ObservedTurn) -> Judgement {
    match trial.left_running.as_slice() {
        [] => met("no process was left"),
        names => unmet(format!("left running: {}", names.join(", "))),
    }
}

/// Whether a waiting agent ended by the first signal.
fn ends(trial: &ObservedTurn, promises: AdapterPromises) -> Judgement {
    match trial.end {
        ObservedEnd::Stopped { took } if took < promises.grace => met(format!("ended after {}", in_words(took))),
        ObservedEnd::Stopped { took } => unmet(format!("ended only after {}, by the next signal", in_words(took))),
        ObservedEnd::TimedOut => unmet("it did not end at all"),
        ObservedEnd::Itself | ObservedEnd::Lingered => match trial.verdict() {
            Some(true) => not_shown("it ended its turn before it was stopped: it did not wait for the command"),
            Some(false) | None => not_shown(failure(trial)),
        },
    }
}

/// Why a turn has not succeeded.
fn failure(trial: &ObservedTurn) -> String {
    match (trial.end, trial.problem()) {
        (ObservedEnd::TimedOut, _) => "it did not end its turn within two minutes".to_owned(),
        (_, Some(problem)) => format!("{}: {}", problem_kind_in_words(problem.kind), problem.text.as_str()),
        (_, None) => match (trial.verdict(), trial.exit) {
            (Some(true), _) => "the turn succeeded".to_owned(),
            (Some(false), _) => "the turn was reported as failed".to_owned(),
            (None, Some(exit)) => format!("no end of the turn was reported ({})", exit_in_words(exit)),
            (None, None) => "it did not start".to_owned(),
        },
    }
}

fn in_words(time: Duration) -> String {
    match u64::try_from(time.as_millis()).unwrap_or(u64::MAX) {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms => short_duration(ms),
    }
}
