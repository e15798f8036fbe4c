//! The counts of the circuit breaker: how long a loop has made no progress.
//!
//! The counts are based on what ralph observes (tree, HEAD, ticked boxes, failures) and never on the agent's word.

use serde::{Deserialize, Serialize};

use crate::{
    event::{
        BreakerCause, BreakerState, CancelReason, GoalFailure, GoalResult, Missing, Outcome, Problem, ProblemClass,
    },
    limits::LimitScope,
};

/// The counts of the circuit breaker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    pub state: BreakerState,
    /// Why the breaker is not closed; `None` if it is.
    pub why: Option<BreakerCause>,
    /// Consecutive iterations without progress.
    pub no_progress: u32,
    /// Consecutive iterations that failed in the same way.
    pub same_error: u32,
    /// Consecutive claims that were refused because goals failed in the same way.
    pub same_goal_failure: u32,
    /// Kind and text of the last failure, without parts that vary.
    fingerprint: Option<String>,
    /// Whether the breaker has already been open and waited.
    pub cooled: bool,
}

/// The meaning of an iteration for the breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Progress,
    NoProgress,
    Failed {
        fingerprint: String,
    },
    /// The iteration was ended by the user or a limit, or its progress is unknown.
    Nothing,
}

impl Observation {
    /// Derives the observation from the outcome of an iteration and its progress.
    pub fn from_outcome(outcome: &Outcome, progress: Option<bool>) -> Self {
        match (outcome, progress) {
            (_, Some(true)) => Observation::Progress,
            (outcome, _) if outcome.found_no_live_channel() => Observation::Nothing,
            (Outcome::Failed { problem }, Some(false) | None) => Observation::from_problem(problem),
            (Outcome::Cancelled { reason }, Some(false) | None) if *reason == CancelReason::IdleTimeout => {
                let fingerprint = "idle".to_owned();
                Observation::Failed { fingerprint }
            }
            (Outcome::Completed, Some(false)) => Observation::NoProgress,
            (Outcome::Cancelled { reason }, Some(false)) if shows_weakness(*reason) => Observation::NoProgress,
            (Outcome::Completed | Outcome::Cancelled { .. }, None)
            | (Outcome::Cancelled { .. } | Outcome::Interrupted, Some(false))
            | (Outcome::Interrupted, None) => Observation::Nothing,
        }
    }

    /// Whether an iteration with this outcome says anything about the loop. One that was cut short by the user, a limit
    /// of the run or the end of ralph does not.
    pub fn is_telling(outcome: &Outcome) -> bool {
        Observation::from_outcome(outcome, Some(false)) != Observation::Nothing
    }

    fn from_problem(problem: &Problem) -> Self {
        match problem.kind.class() {
            // The loop waits until the limit resets, and no work is possible before.
            ProblemClass::Limit { .. } => Observation::Nothing,
            ProblemClass::Restriction | ProblemClass::SessionLost => Observation::NoProgress,
            ProblemClass::Setup | ProblemClass::Outage | ProblemClass::Failure => Observation::Failed {
                fingerprint: fingerprint(problem),
            },
        }
    }
}

/// Whether another agent might have ended its turn by itself.
pub(crate) fn shows_weakness(reason: CancelReason) -> bool {
    use CancelReason::{Flooded, IdleTimeout, IterationTimeout, Limit, MaxSteps};
    match reason {
        Limit(limit) => limit.row().scope == LimitScope::Iteration,
        other => matches!(other, IterationTimeout | IdleTimeout | Flooded | MaxSteps),
    }
}

/// The kind and text of a failure, without numbers, ids and times, which vary.
fn fingerprint(problem: &Problem) -> String {
    let mut text = format!("{:?}", problem.kind);
    for word in without_numbers(&problem.text).take(24) {
        text.push(' ');
        text.push_str(word);
    }
    text
}

/// The words of a text that contain no digits.
pub(crate) fn without_numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
}

/// Whether the failed goals of two claims failed in the same way.
///
/// Plain numbers count, since fewer failures than before are progress. Durations, ids and positions do not, as they
/// vary.
pub(super) fn fail_alike(before: &[GoalResult], now: &[GoalResult]) -> bool {
    fn failures(results: &[GoalResult]) -> impl Iterator<Item = (&str, Option<&GoalFailure>, Vec<&str>)> {
        let failed = results.iter().filter(|result| !result.passed);
        failed.map(|result| (&result.name[..], result.why.as_ref(), lasting_words(&result.tail)))
    }
    failures(before).eq(failures(now))
}

/// The words of a goal's output without parts that vary between runs. Counts are kept.
fn lasting_words(output: &str) -> Vec<&str> {
    const UNITS: [&str; 8] = ["ms", "s", "sec", "secs", "second", "seconds", "min", "minutes"];
    let words: Vec<&str> = output.split_whitespace().collect();
    let is_time = |at: usize| {
        let unit = words
            .get(at + 1)
            .map(|unit| unit.trim_end_matches(|c: char| !c.is_alphabetic()));
        unit.is_some_and(|unit| UNITS.contains(&unit))
    };
    // A line number moves with every edit above it.
    let is_line = |at: usize| at > 0 && words[at - 1].ends_with("line");
    let lasts = |at: usize| {
        let word = words[at];
        !word.contains(|c: char| c.is_ascii_digit()) || is_count(word) && !is_time(at) && !is_line(at)
    };
    (0..words.len()).filter(|at| lasts(*at)).map(|at| words[at]).collect()
}

/// Whether a word is a count: `3`, `2,`, `7/12`, `81.5%`, but not `0.03s`, `lib.rs:12:5` or the thread id `(1234)`.
fn is_count(word: &str) -> bool {
    let is_id = word.starts_with('(') && word.ends_with(')');
    let number = word
        .trim_start_matches('(')
        .trim_end_matches([',', '.', ';', ':', ')', ']']);
    let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    !is_id && (is_whole || number.ends_with('%'))
}

impl Breaker {
    /// Counts a refused claim. `is_same` tells whether the goals failed as at the previous claim.
    pub(super) fn refuse(&mut self, reasons: &[Missing], is_same: bool) {
        let is_of_goals = reasons.iter().all(|reason| match reason {
            Missing::GoalFailed { .. }
            | Missing::FewerTests { .. }
            | Missing::DoubtfulTests { .. }
            | Missing::OriginalTestsFail { .. }
            | Missing::NoTrial { .. }
            | Missing::TestsNoticeNothing { .. }
            | Missing::CommentNoticed { .. }
            | Missing::More { .. } => true,
            Missing::SaidNotDone { .. }
            | Missing::SaidBlocked { .. }
            | Missing::TasksOpen { .. }
            | Missing::CommentOpen { .. }
            | Missing::TaskVanished { .. }
            | Missing::PlanUnreadable
            | Missing::OutOfScope { .. }
            | Missing::GoalsNotRun
            | Missing::NeedsSecondClaim
            | Missing::NotSaid
            | Missing::Confidence { .. } => false,
        });
        self.same_goal_failure = match (is_of_goals, is_same) {
            (true, true) => self.same_goal_failure + 1,
            (true, false) => 1,
            (false, _) => 0,
        };
    }

    /// Counts an iteration. Called when its settlement is recorded.
    pub(super) fn count(&mut self, observation: &Observation) {
        match observation {
            Observation::Progress => {
                *self = Breaker {
                    state: self.state,
                    why: self.why.take(),
                    // Changed files are not progress for goals that still fail in the same way.
                    same_goal_failure: self.same_goal_failure,
                    ..Breaker::default()
                }
            }
            Observation::NoProgress => {
                self.no_progress += 1;
                self.same_error = 0;
                self.fingerprint = None;
            }
            Observation::Failed { fingerprint } => {
                let same = self.fingerprint.as_deref() == Some(fingerprint);
                self.same_error = if same { self.same_error + 1 } else { 1 };
                self.fingerprint = Some(fingerprint.clone());
            }
            Observation::Nothing => {}
        }
    }

    pub(super) fn enter(&mut self, to: BreakerState, why: &BreakerCause) {
        match to {
            BreakerState::Closed => *self = Breaker::default(),
            BreakerState::HalfOpen => {
                self.cooled |= self.state == BreakerState::Open;
                self.state = to;
                self.why = Some(why.clone());
            }
            BreakerState::Open => {
                self.state = to;
                self.why = Some(why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Finding, ProblemKind};

    fn failed(kind: ProblemKind, text: &str) -> Outcome {
        Outcome::Failed {
            problem: Problem::said(kind, text.to_owned()),
        }
    }

    fn counted(outcomes: &[(Outcome, Option<bool>)]) -> Breaker {
        let mut breaker = Breaker::default();
        for (outcome, progress) in outcomes {
            breaker.count(&Observation::from_outcome(outcome, *progress));
        }
        breaker
    }

    #[test]
    fn failures_that_differ_only_in_numbers_are_the_same() {
        let one = (failed(ProblemKind::Other, "request 17 failed at 12:01:02"), Some(false));
        let other = (failed(ProblemKind::Other, "request 18 failed at 12:03:44"), Some(false));
        assert_eq!(counted(&[one.clone(), other]).same_error, 2);
        let different = (failed(ProblemKind::Other, "the disk is full"), Some(false));
        assert_eq!(counted(&[one, different]).same_error, 1);
    }

    fn failing(output: &str) -> Vec<GoalResult> {
        let why = Some(GoalFailure::NoNumber);
        vec![GoalResult {
            name: "tests".to_owned(),
            passed: false,
            exit: None,
            score: None,
            target: None,
            duration_ms: 5,
            why,
            tail: output.into(),
            tests: None,
            doubt: None,
            failed_tests: Vec::new().into(),
            flaky: None,
            newly_skipped: Default::default(),
            sealed_output: None,
        }]
    }

    #[test]
    fn a_goal_fails_alike_where_only_times_ids_and_positions_differ() {
        let one = "thread 'two' (4711) panicked at src/lib.rs:12:5\n  File \"a.py\", line 12, in two\n2 failed in 0.03s, 12 ms";
        let other = "thread 'two' (4712) panicked at src/lib.rs:14:5\n  File \"a.py\", line 14, in two\n2 failed in 0.04s, 9 ms";
        assert!(fail_alike(&failing(one), &failing(other)));
        for (before, now) in [
            ("3 failed, 7 passed", "2 failed, 8 passed"),
            ("7/12 passed", "8/12 passed"),
            ("coverage 81.5%", "coverage 82%"),
            ("FAILED (3 tests", "FAILED (2 tests"),
            ("tests that failed: 3)", "tests that failed: 2)"),
            ("FAILED two", "FAILED three"),
        ] {
            assert!(!fail_alike(&failing(before), &failing(now)), "{before} and {now}");
        }
        assert!(!fail_alike(&failing("FAILED"), &[]));
    }

    #[test]
    fn only_claims_that_goals_alone_refuse_are_counted_and_progress_forgets_none() {
        let failed = Missing::GoalFailed {
            goal: "tests".into(),
            why: None,
            output_tail: "".into(),
        };
        let mut breaker = Breaker::default();
        breaker.refuse(std::slice::from_ref(&failed), true);
        breaker.count(&Observation::Progress);
        breaker.refuse(std::slice::from_ref(&failed), true);
        assert_eq!(breaker.same_goal_failure, 2);
        breaker.refuse(std::slice::from_ref(&failed), false);
        assert_eq!(breaker.same_goal_failure, 1);
        breaker.refuse(&[failed, Missing::GoalsNotRun], true);
        assert_eq!(breaker.same_goal_failure, 0);
    }

    #[test]
    fn progress_forgets_everything_but_goals_that_fail() {
        let stuck = (Outcome::Completed, Some(false));
        let breaker = counted(&[stuck.clone(), stuck.clone(), (Outcome::Completed, Some(true)), stuck]);
        assert_eq!(breaker.no_progress, 1);
    }

    #[test]
    fn waiting_for_a_limit_is_not_held_against_the_loop() {
        let limited = (failed(ProblemKind::RateLimited { until_ms: None }, "429"), Some(false));
        let breaker = counted(&[limited.clone(), limited.clone(), limited]);
        assert_eq!((breaker.no_progress, breaker.same_error), (0, 0));
    }

    #[test]
    fn an_agent_without_its_live_channel_tells_nothing_about_the_loop() {
        let outcome = Outcome::Failed {
            problem: Problem::found(ProblemKind::Crashed, Finding::NoLiveChannel),
        };
        assert_eq!(Observation::from_outcome(&outcome, Some(false)), Observation::Nothing);
        assert_eq!(Observation::from_outcome(&outcome, Some(true)), Observation::Progress);
    }

    #[test]
    fn an_iteration_that_was_cut_short_tells_nothing_and_one_that_ended_by_itself_does() {
        let cancelled = |reason| Outcome::Cancelled { reason };
        for outcome in [
            Outcome::Interrupted,
            cancelled(CancelReason::Skipped),
            cancelled(CancelReason::Stopped),
        ] {
            assert!(!Observation::is_telling(&outcome), "{outcome:?}");
        }
        for outcome in [
            Outcome::Completed,
            cancelled(CancelReason::IdleTimeout),
            failed(ProblemKind::Other, ""),
        ] {
            assert!(Observation::is_telling(&outcome), "{outcome:?}");
        }
    }

    #[test]
    fn progress_resets_the_counts_and_leaves_the_state_to_its_own_event() {
        let why = BreakerCause::NoProgress { iterations: 3 };
        let mut breaker = counted(&[(Outcome::Completed, Some(false))]);
        breaker.enter(BreakerState::HalfOpen, &why);
        breaker.count(&Observation::Progress);
        assert_eq!((breaker.no_progress, breaker.state), (0, BreakerState::HalfOpen));
        assert_eq!(breaker.why, Some(why));
        breaker.enter(BreakerState::Closed, &BreakerCause::Progress);
        assert_eq!(breaker, Breaker::default());
    }

    #[test]
    fn a_breaker_has_cooled_once_it_has_been_open() {
        let why = BreakerCause::OneMoreTry;
        let mut breaker = Breaker::default();
        for (to, cooled) in [
            (BreakerState::HalfOpen, false),
            (BreakerState::Open, false),
            (BreakerState::HalfOpen, true),
            (BreakerState::HalfOpen, true),
            (BreakerState::Closed, false),
        ] {
            breaker.enter(to, &why);
            assert_eq!((breaker.state, breaker.cooled), (to, cooled));
        }
    }
}
