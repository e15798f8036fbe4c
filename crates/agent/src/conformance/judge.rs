//! Judges what was seen of a program by the obligations. Pure.

use std::time::Duration;

use ralph_core::event::{AgentSignal, Exit, ProblemKind, Usage};
use ralph_words::{exit_in_words, problem_kind_in_words, short_duration};

use super::{
    obligation::{
        CONTINUES, DIRECTORY, END, EXIT, INTERRUPT, LEAVES_NOTHING, LONG_PROMPT, LOST_SESSION, Obligation, PROMPT,
        REFUSAL, REFUSAL_EXIT, REMEMBERS, RequirementLevel, SLOW_READER, STOPPED, STOPS_TOOLS, STREAM, TERMINATE,
        TOOLS, USAGE, VARIABLES,
    },
    observed_turn::{ObservedEnd, ObservedTurn},
    task::{LAST_LINE, WRITTEN},
};

/// How a program stands to one obligation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObligationResult {
    pub obligation: Obligation,
    /// The level for this program: an agent with a dialect of its own is bound by less.
    pub level: RequirementLevel,
    pub fulfilment: Fulfilment,
    /// The observation, in a few words.
    pub seen: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fulfilment {
    Met,
    Unmet,
    /// The adapter does not promise it, or it could not be tried.
    NotShown,
}

/// The adapter file's statements about the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdapterPromises {
    /// Whether the output consists of events.
    pub(super) is_structured: bool,
    /// Whether a process is for one turn, so that its exit code is about that turn.
    pub(super) exits_by_turn: bool,
    /// Whether the exit code or ralph's own dialect decides about success.
    pub(super) is_own_dialect: bool,
    pub(super) tells_usage: bool,
    pub(super) tells_cost: bool,
    /// Whether usage is the sum over a session.
    pub(super) sums_usage: bool,
    pub(super) grace: Duration,
}

impl AdapterPromises {
    /// The level of what ralph can do without if the dialect is another agent's own.
    fn level(self) -> RequirementLevel {
        if self.is_own_dialect {
            RequirementLevel::Must
        } else {
            RequirementLevel::Should
        }
    }
}

/// Whether an obligation is met, with what was seen.
pub(super) type Judgement = (Fulfilment, String);

pub(super) fn result(obligation: Obligation, (fulfilment, seen): Judgement) -> ObligationResult {
    ObligationResult {
        obligation,
        level: obligation.level,
        fulfilment,
        seen,
    }
}

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
) -> Vec<ObligationResult> {
    vec![
        result(PROMPT, gets_prompt(trial, word, written)),
        result(DIRECTORY, writes(written, word)),
        ObligationResult {
            level: promises.level(),
            ..result(STREAM, stream(trial, promises))
        },
        result(TOOLS, tools(trial, promises)),
        result(USAGE, usage(trial, promises)),
        result(END, end(trial)),
        result(EXIT, exit(trial)),
        result(LEAVES_NOTHING, leaves_nothing(trial)),
    ]
}

pub(super) fn long_prompt(trial: &ObservedTurn, word: &str) -> ObligationResult {
    result(LONG_PROMPT, answers(trial, word))
}

pub(super) fn variables(trial: &ObservedTurn, word: &str) -> ObligationResult {
    result(VARIABLES, answers(trial, word))
}

/// The result of a turn whose output was not read for a while. Lines that are no events count if the turn `first` had none.
pub(super) fn slow_reader(first: &ObservedTurn, trial: &ObservedTurn) -> ObligationResult {
    let torn = trial.unknown().next().filter(|_| first.unknown().next().is_none());
    let judgement = match torn {
        Some(line) => unmet(format!("a line that is no event: {line}")),
        None => answers(trial, LAST_LINE),
    };
    result(SLOW_READER, judgement)
}

/// The results of a turn whose key is refused.
pub(super) fn refusal(trial: &ObservedTurn, promises: AdapterPromises) -> Vec<ObligationResult> {
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
    vec![
        result(REFUSAL, told),
        ObligationResult {
            level: promises.level(),
            ..result(REFUSAL_EXIT, code)
        },
    ]
}

/// The results of turns that were stopped: by an interrupt, if the adapter file asks for one, and by terminate.
pub(super) fn stops(
    interrupted: Option<&ObservedTurn>,
    terminated: &ObservedTurn,
    promises: AdapterPromises,
) -> Vec<ObligationResult> {
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
        result(INTERRUPT, interrupt),
        result(TERMINATE, ends(terminated, promises)),
        result(STOPPED, stopped),
        result(STOPS_TOOLS, tools),
    ]
}

/// The results of continued sessions: that of the turn `first`, and one that does not exist.
pub(super) fn sessions(
    first: &ObservedTurn,
    continued: Option<&ObservedTurn>,
    lost: Option<&ObservedTurn>,
    word: &str,
    promises: AdapterPromises,
) -> Vec<ObligationResult> {
    let (Some(continued), Some(lost)) = (continued, lost) else {
        let why = match first.session() {
            Some(_) => "the adapter file has no `command.resume`",
            None => "the adapter file has no `command.resume`, or no session was reported",
        };
        return [CONTINUES, REMEMBERS, LOST_SESSION]
            .map(|obligation| result(obligation, not_shown(why)))
            .into();
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
    let mut results = vec![
        result(CONTINUES, same),
        result(REMEMBERS, answers(continued, word)),
        result(LOST_SESSION, is_lost),
    ];
    if let Some(why) = falls(first, continued, promises) {
        results.push(result(USAGE, unmet(why)));
    }
    results
}

/// Whether the turn succeeded with an answer that contains `word`.
fn answers(trial: &ObservedTurn, word: &str) -> Judgement {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISES: AdapterPromises = AdapterPromises {
        is_structured: true,
        exits_by_turn: true,
        is_own_dialect: true,
        tells_usage: false,
        tells_cost: false,
        sums_usage: false,
        grace: Duration::from_secs(1),
    };

    fn trial(lines: &[&str]) -> ObservedTurn {
        let signals = lines.iter().map(|line| serde_json::from_str(line).expect("a signal"));
        ObservedTurn {
            signals: signals.collect(),
            exit: Some(Exit::Code { code: 0 }),
            ..ObservedTurn::default()
        }
    }

    #[test]
    fn tools_that_overlap_are_pairs_and_a_second_end_is_not() {
        let start = |call: &str| format!(r#"{{"type":"tool-started","call":"{call}","tool":"t","input":""}}"#);
        let stop = |call: &str| format!(r#"{{"type":"tool-ended","call":"{call}","tool":"t","ok":true,"output":""}}"#);
        let judged = |lines: &[String]| {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            tools(&trial(&lines), PROMISES)
        };
        assert_eq!(
            judged(&[start("a"), start("b"), stop("a"), stop("b")]).0,
            Fulfilment::Met
        );
        assert_eq!(judged(&[start("a"), stop("a"), stop("a")]).0, Fulfilment::Unmet);
        assert_eq!(judged(&[start("a"), start("a"), stop("a")]).0, Fulfilment::Unmet);
        assert_eq!(judged(&[]).0, Fulfilment::NotShown);
    }

    #[test]
    fn usage_of_which_more_is_cached_than_was_read_is_refused() {
        let of = |usage: &str| usage_of(&format!(r#"{{"type":"usage","usage":{usage}}}"#));
        fn usage_of(line: &str) -> Fulfilment {
            usage(&trial(&[line]), PROMISES).0
        }
        assert_eq!(
            of(r#"{"inputTokens":10,"cachedTokens":10,"outputTokens":1,"costUsd":0.0}"#),
            Fulfilment::Met
        );
        assert_eq!(
            of(r#"{"inputTokens":10,"cachedTokens":11,"outputTokens":1,"costUsd":0.0}"#),
            Fulfilment::Unmet
        );
        assert_eq!(
            of(r#"{"inputTokens":10,"cachedTokens":0,"outputTokens":1,"costUsd":-0.1}"#),
            Fulfilment::Unmet
        );
    }

    #[test]
    fn an_agent_that_answers_and_goes_on_has_not_told_its_end_last() {
        let ended = r#"{"type":"turn-ended","ok":true,"message":"word"}"#;
        assert_eq!(end(&trial(&[ended])).0, Fulfilment::Met);
        let after = r#"{"type":"said","text":"more"}"#;
        assert_eq!(end(&trial(&[ended, after])).0, Fulfilment::Unmet);
        let problem = r#"{"type":"problem","problem":{"kind":{"kind":"network"},"text":"no route"}}"#;
        let failed = r#"{"type":"turn-ended","ok":false,"message":null}"#;
        let (fulfilment, seen) = end(&trial(&[problem, failed]));
        assert_eq!(
            (fulfilment, seen.contains("no route")),
            (Fulfilment::Unmet, true),
            "{seen}"
        );
    }

    #[test]
    fn a_program_that_needs_a_second_signal_has_not_ended_on_the_first() {
        let stopped = |took| {
            let end = ObservedEnd::Stopped {
                took: Duration::from_millis(took),
            };
            ends(&ObservedTurn { end, ..trial(&[]) }, PROMISES).0
        };
        assert_eq!(stopped(900), Fulfilment::Met);
        assert_eq!(stopped(1_000), Fulfilment::Unmet);
    }
}
