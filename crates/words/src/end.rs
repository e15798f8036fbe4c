//! The end of a run in words.

use ralph_core::{
    event::{Breakdown, BreakerCause, GoalSince, LIST_CAP, Missing, OwnWork, ProblemKind, Proof, StopReason},
    notices::{hook_failed_in_words, own_work_in_words, whole_duration},
    run::RunView,
};

use super::{
    breaker_cause_in_words, broken_in_words, counted, goal_failure_in_words, limit_word, listed, missing_in_words,
    problem_kind_in_words, repository::lost_repository_in_words, tests_run::fewer_in_words,
};

/// The messages that were left for a run after its end, as a clause after the end; empty without messages.
pub fn left_in_words(view: &RunView) -> String {
    let left = view.messages.iter();
    match left.filter(|message| message.waits_after_end()).count() {
        0 => String::new(),
        1 => " · 1 message waits for `ralph continue`".to_owned(),
        count => format!(" · {count} messages wait for `ralph continue`"),
    }
}

/// Why a run is over, as a clause after "ralph: ".
pub fn stop_in_words(reason: &StopReason) -> String {
    match reason {
        StopReason::Done { proof, unread, .. } => {
            let how = match proof {
                Proof::Tests => "verified",
                Proof::ExitCodes => "passed",
                Proof::Nothing => "not verified",
                Proof::Unconfirmed => "changed tests are not confirmed",
            };
            match unread_in_words(unread) {
                None => format!("done ({how})"),
                Some(unread) => format!("done ({how}), {unread}"),
            }
        }
        StopReason::AgentFailed { adapter, problem } => format!("failed: {}", failure_in_words(adapter, problem.kind)),
        StopReason::Broken { why } => format!("failed: ralph cannot continue ({})", breakdown_in_words(why)),
        StopReason::PlanInvalid { why } => format!("failed: the plan cannot be read ({why})"),
        StopReason::LimitReached { limit } => format!("stopped: {} limit reached", limit_word(*limit)),
        StopReason::TaskLimitReached { limit, task } => {
            format!("blocked: {} limit reached (\"{task}\")", limit_word(*limit))
        }
        StopReason::BreakerOpen { why } => match why {
            BreakerCause::NoProgress { iterations } => {
                format!(
                    "stopped: no progress in {}",
                    counted(u64::from(*iterations), "iteration")
                )
            }
            BreakerCause::SameGoalFailure {
                goal,
                why,
                iterations,
                since,
            } => {
                let why = why.as_ref().map(|why| format!(" ({})", goal_failure_in_words(why)));
                let times = counted(u64::from(*iterations), "time");
                let since = match since {
                    GoalSince::Unknown => String::new(),
                    GoalSince::Always => ": it has never passed".to_owned(),
                    GoalSince::Broken { by } => format!(", {}", broken_in_words(*by)),
                };
                let why = why.unwrap_or_default();
                format!("stopped: goal `{goal}` still fails{why}, {times}{since}")
            }
            BreakerCause::ClaimRefused {
                reason,
                files,
                iteration,
                ..
            } => format!("stopped: {}", refusal_in_words(reason, files, *iteration)),
            why => format!("stopped: no progress ({})", breaker_cause_in_words(why)),
        },
        StopReason::Blocked { question } => format!("blocked: needs your answer ({question})"),
        StopReason::Requested => "stopped by user".to_owned(),
        StopReason::Interrupted => "interrupted".to_owned(),
        StopReason::Terminated => "terminated".to_owned(),
        StopReason::HungUp => "stopped: the terminal is gone".to_owned(),
        StopReason::Superseded => "interrupted, and followed by another run".to_owned(),
    }
}

/// Why claims do not count, for the end of a run: `your tests were weakened: 2 of 3 run (test_greet.py, iteration 3)`.
pub fn refusal_in_words<T: ToString>(reason: &Missing, files: &[T], iteration: Option<u32>) -> String {
    let files: Vec<String> = files.iter().map(ToString::to_string).collect();
    let files = (!files.is_empty()).then(|| listed(&files));
    let iteration = iteration
        .filter(|_| files.is_some())
        .map(|number| format!("iteration {number}"));
    let place: Vec<String> = files.into_iter().chain(iteration).collect();
    let place = match &place[..] {
        [] => String::new(),
        place => format!(" ({})", place.join(", ")),
    };
    match reason {
        Missing::FewerTests {
            before, now: Some(now), ..
        } if now.ran() < before.ran() => {
            format!("your tests were weakened: {} of {} run{place}", now.ran(), before.ran())
        }
        Missing::FewerTests { before, now, .. } => {
            let counts = fewer_in_words(before, now.as_ref());
            format!("your tests were weakened: {counts}{place}")
        }
        Missing::OriginalTestsFail { .. } => {
            format!("your tests or their configuration were changed, and the work fails with the originals{place}")
        }
        Missing::NoTrial { why, .. } => {
            format!(
                "your tests or their configuration were changed, and the originals could not be tried: {why}{place}"
            )
        }
        reason => format!("not done: {}", missing_in_words(reason)),
    }
}

/// Why a run is over, short enough for a headline: the question and the details of a failure are shown elsewhere.
pub(super) fn end_headline(reason: &StopReason) -> String {
    match reason {
        StopReason::Broken { .. } => "failed: ralph cannot continue".to_owned(),
        StopReason::PlanInvalid { .. } => "failed: the plan cannot be read".to_owned(),
        StopReason::Blocked { .. } => "blocked: needs your answer".to_owned(),
        StopReason::TaskLimitReached { limit, .. } => format!("blocked: {} limit reached", limit_word(*limit)),
        StopReason::BreakerOpen {
            why:
                BreakerCause::NoProgress { .. } | BreakerCause::SameGoalFailure { .. } | BreakerCause::ClaimRefused { .. },
        }
        | StopReason::Done { .. }
        | StopReason::AgentFailed { .. }
        | StopReason::LimitReached { .. }
        | StopReason::Requested
        | StopReason::Interrupted
        | StopReason::Terminated
        | StopReason::HungUp
        | StopReason::Superseded => stop_in_words(reason),
        StopReason::BreakerOpen { .. } => "stopped: no progress".to_owned(),
    }
}

/// How many lines of the plan were not read, and the first of them; `None` if all were.
pub(super) fn unread_in_words(lines: &[u32]) -> Option<String> {
    const NAMED: usize = 5;
    let named: Vec<String> = lines.iter().take(NAMED).map(u32::to_string).collect();
    let more = if lines.len() > NAMED { " …" } else { "" };
    let count = match lines.len() {
        0 => return None,
        1 => "1 line of the plan was not read as a task".to_owned(),
        LIST_CAP => format!("{LIST_CAP} or more lines of the plan were not read as tasks"),
        count => format!("{count} lines of the plan were not read as tasks"),
    };
    Some(format!("{count}: {}{more}", named.join(", ")))
}

fn breakdown_in_words(why: &Breakdown) -> String {
    match why {
        Breakdown::TimedOut { work, after_ms } => {
            let setting = match work {
                OwnWork::Preparing { .. } | OwnWork::Settling { .. } => " (`limits.phaseTimeout`)",
                OwnWork::Verifying => "",
            };
            format!(
                "{} took longer than {}{setting}",
                own_work_in_words(*work),
                whole_duration(*after_ms)
            )
        }
        Breakdown::Internal { work } => match work {
            OwnWork::Preparing { .. } => "an internal error while the iteration was prepared".to_owned(),
            OwnWork::Settling { .. } | OwnWork::Verifying => {
                "an internal error while the result of the iteration was examined".to_owned()
            }
        },
        Breakdown::StateUnwritable { why } => why.to_string(),
        Breakdown::NoOriginals { why } => {
            format!("the work cannot be tried with the tests as they were when the run began: {why}")
        }
        Breakdown::NoRoom { why } => {
            format!("`room` is \"required\", and goals cannot run in a copy of the project: {why}")
        }
        Breakdown::HookFailed { hook, result } => hook_failed_in_words(*hook, None, result),
        Breakdown::RepositoryLost { lost } => lost_repository_in_words(lost),
    }
}

/// The failure of an agent, short enough for a headline: its own words are in the log.
fn failure_in_words(adapter: &str, kind: ProblemKind) -> String {
    match kind {
        ProblemKind::NotInstalled => format!("{adapter} is not installed"),
        ProblemKind::Auth => format!("{adapter} is not logged in"),
        ProblemKind::ModelUnknown => format!("{adapter} does not know the model"),
        ProblemKind::Usage => format!("{adapter} refused its command line"),
        kind => format!("{adapter} failed ({})", problem_kind_in_words(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Exit, GoalFailure, Role};

    #[test]
    fn a_goal_that_fails_the_same_way_each_time_is_named_where_the_run_ends() {
        let stopped = |why| {
            let (goal, iterations) = ("tests".to_owned(), 13);
            let why = BreakerCause::SameGoalFailure {
                goal: goal.into(),
                why,
                iterations,
                since: GoalSince::default(),
            };
            let reason = StopReason::BreakerOpen { why };
            assert_eq!(end_headline(&reason), stop_in_words(&reason));
            stop_in_words(&reason)
        };
        let exit = Exit::Code { code: 101 };
        assert_eq!(
            stopped(Some(GoalFailure::Exited { exit })),
            "stopped: goal `tests` still fails (exit code 101), 13 times"
        );
        assert_eq!(stopped(None), "stopped: goal `tests` still fails, 13 times");
    }

    #[test]
    fn work_that_took_too_long_is_named_with_the_setting_that_bounds_it() {
        let after_ms = 600_000;
        let of = |work| {
            let why = Breakdown::TimedOut { work, after_ms };
            stop_in_words(&StopReason::Broken { why })
        };
        let (iteration, role) = (3, Role::Work);
        assert_eq!(
            of(OwnWork::Settling { iteration, role }),
            "failed: ralph cannot continue (examining the result of iteration 3, its checkpoint or plan, took longer \
             than 10 min (`limits.phaseTimeout`))"
        );
        let role = Role::Review { round: 1 };
        assert_eq!(
            of(OwnWork::Preparing { iteration, role }),
            "failed: ralph cannot continue (preparing iteration 3 (review), its checkpoint, patch or prompt, took longer \
             than 10 min (`limits.phaseTimeout`))"
        );
    }
}
