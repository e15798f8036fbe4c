//! Claims and goals in words.

use ralph_core::event::{
    AgentStatus, Claim, ConfidencePart, Evidence, Flaky, GoalFailure, GoalResult, Missing, Suspects, Text,
};

use super::{
    counted, exceeded_in_words, exit_in_words, guarded_changes_in_words, mutant_in_words, short_duration,
    tests_in_words,
    tests_run::{fewer_in_words, is_whole, loss_in_words},
};

/// A claim, as a clause.
pub fn claim_in_words(claim: Claim) -> &'static str {
    match claim {
        Claim::DoneFile => "agent reports completion (`.ralph-done`)",
        Claim::Promise => "agent reports completion (token)",
        Claim::StatusBlock => "agent reports completion (status block)",
        Claim::Tool => "agent reports completion (`claim_done`)",
        Claim::PlanComplete => "the plan has no open task",
    }
}

/// `confidence 60: agent's claim +10, all tasks ticked +50`.
pub fn confidence_in_words(confidence: u8, parts: &[ConfidencePart]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| format!("{} +{}", evidence_in_words(&part.evidence), part.points))
        .collect();
    match &parts[..] {
        [] => format!("confidence {confidence}"),
        parts => format!("confidence {confidence}: {}", parts.join(", ")),
    }
}

fn evidence_in_words(evidence: &Evidence) -> &'static str {
    match evidence {
        Evidence::AgentsWord => "agent's claim",
        Evidence::AgentsWordAgain => "agent's claim in the session before",
        Evidence::TasksTicked => "all tasks ticked",
        Evidence::GoalsPassed => "all goals passed",
    }
}

/// `the agent's status: IN_PROGRESS · tests PASSING · recommends: look at the lexer`: the agent's status block on one
/// line.
pub fn status_in_words(status: &AgentStatus) -> String {
    let known = AgentStatus::KEYS.iter().filter_map(|key| {
        let value = status.get(key)?;
        Some(match *key {
            "STATUS" => value.to_owned(),
            "TASKS_COMPLETED_THIS_LOOP" => format!("tasks completed: {value}"),
            "FILES_MODIFIED" => format!("files modified: {value}"),
            "TESTS_STATUS" => format!("tests {value}"),
            "EXIT_SIGNAL" => format!("exit signal {value}"),
            "RECOMMENDATION" => format!("recommends: {value}"),
            _ => value.to_owned(),
        })
    });
    let others = status.iter().filter(|(key, _)| !AgentStatus::KEYS.contains(key));
    let others = others.map(|(key, value)| format!("{key}: {value}"));
    let said: Vec<String> = known.chain(others).collect();
    match &said[..] {
        [] => "the agent's status: empty".to_owned(),
        said => format!("the agent's status: {}", said.join(" · ")),
    }
}

/// Why a claim does not count, as a clause on one line. The output of a goal is shown with the goal.
pub fn missing_in_words(missing: &Missing) -> String {
    match missing {
        Missing::SaidNotDone { why } => format!("the agent says that the work is not done ({why})"),
        Missing::SaidBlocked { question } => format!("the agent says that it is blocked ({question})"),
        Missing::TasksOpen { open: 1, next } => format!("one task is still open: {next}"),
        Missing::TasksOpen { open, next } => format!("{open} tasks are still open, the next is: {next}"),
        Missing::CommentOpen {
            comment,
            place,
            text,
            answered,
        } => {
            let answered = if *answered { ", answered and not resolved" } else { "" };
            format!("comment {comment} on {place} is open{answered}: {text}")
        }
        Missing::TaskVanished { task } => format!("a task was removed from the plan: {task}"),
        Missing::PlanUnreadable => "the plan cannot be read".to_owned(),
        Missing::OutOfScope { task, files, more } => match files.is_empty() {
            true => format!("what the task \"{task}\" changed outside of its scope could not be determined"),
            false => format!(
                "the task \"{task}\" changed files outside of its scope: {}",
                files_in_words(files, *more)
            ),
        },
        Missing::GoalFailed { goal, why, .. } => match why {
            Some(why) => format!("goal `{goal}` did not pass: {}", goal_failure_in_words(why)),
            None => format!("goal `{goal}` did not pass"),
        },
        Missing::FewerTests { goal, before, now } => {
            format!(
                "goal `{goal}` {}: {}",
                loss_in_words(before, now.as_ref()),
                fewer_in_words(before, now.as_ref())
            )
        }
        Missing::DoubtfulTests { goal, why } => format!("the result of goal `{goal}` does not count: {why}"),
        Missing::OriginalTestsFail { goal, why, changes, .. } => {
            let why = why.as_ref().map(|why| format!(": {}", goal_failure_in_words(why)));
            format!(
                "goal `{goal}` did not pass with the tests as they were{}; changed: {}",
                why.unwrap_or_default(),
                guarded_changes_in_words(changes)
            )
        }
        Missing::NoTrial { why, changes } => format!(
            "the tests could not be tried as they were ({why}); changed: {}",
            guarded_changes_in_words(changes)
        ),
        Missing::TestsNoticeNothing { mutants } if is_whole(mutants) => format!(
            "the goals pass even without the new code ({} as when the run began)",
            mutants[0].before
        ),
        Missing::TestsNoticeNothing { mutants } => {
            let first = mutants
                .first()
                .map(|mutant| format!(", such as {}", mutant_in_words(mutant)));
            format!(
                "the goals pass with each of {} that tests should notice{}",
                counted(mutants.len() as u64, "change"),
                first.unwrap_or_default()
            )
        }
        Missing::CommentNoticed { path } => {
            format!("the goals fail once a comment is added to tests of the work ({path})")
        }
        Missing::GoalsNotRun => "the goals were not run".to_owned(),
        Missing::NeedsSecondClaim => {
            "nothing but the agent's word: it has to claim completion twice in a row".to_owned()
        }
        Missing::NotSaid => "the agent has not claimed completion".to_owned(),
        Missing::Confidence { points, wanted } => format!("confidence {points} is below the required {wanted}"),
        Missing::More { count } => format!("… and {count} more"),
    }
}

/// The files outside of a scope, and the number of further ones.
pub(super) fn files_in_words(files: &[Text], more: u64) -> String {
    let named: Vec<&str> = files.iter().map(Text::as_str).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Since when a goal fails that passed before.
pub fn broken_in_words(by: Suspects) -> String {
    match by.alone() {
        Some(iteration) => format!("broken since iteration {iteration}"),
        None => format!("broken by one of the iterations {}–{}", by.first, by.last),
    }
}

/// The result of a goal: `tests passed in 26s`, `coverage failed in 3.0s: 71 is below 80`.
pub fn goal_in_words(result: &GoalResult) -> String {
    let GoalResult { name, score, why, .. } = result;
    let took = short_duration(result.duration_ms);
    let took = took + &result.flaky.as_ref().map(flaky_in_words).unwrap_or_default();
    if result.passed {
        let score = score.map(|score| format!(" (score {score})")).unwrap_or_default();
        let tests = result
            .tests
            .as_ref()
            .map(|tests| format!(" ({})", tests_in_words(tests)));
        let known = if result.is_forgiven() {
            " but for failures from before the run"
        } else {
            ""
        };
        return format!("{name} passed{score}{}{known} in {took}", tests.unwrap_or_default());
    }
    match why {
        Some(why) => format!("{name} failed in {took}: {}", goal_failure_in_words(why)),
        None => format!("{name} failed in {took}"),
    }
}

/// `, FLAKY: 1 of 3 runs on the same files failed (test_a)`.
fn flaky_in_words(flaky: &Flaky) -> String {
    const NAMED: usize = 3;
    let Flaky { runs, failures, tests } = flaky;
    let named: Vec<&str> = tests.iter().take(NAMED).map(Text::as_str).collect();
    let names = match (named.is_empty(), tests.len().saturating_sub(NAMED)) {
        (true, _) => String::new(),
        (false, 0) => format!(" ({})", named.join(", ")),
        (false, more) => format!(" ({} and {more} more)", named.join(", ")),
    };
    format!(", FLAKY: {failures} of {runs} runs on the same files failed{names}")
}

/// Why a goal did not pass, as a clause.
pub fn goal_failure_in_words(failure: &GoalFailure) -> String {
    match failure {
        GoalFailure::Exited { exit } => exit_in_words(*exit),
        GoalFailure::TimedOut { after_ms } => format!("timed out after {}", short_duration(*after_ms)),
        GoalFailure::Exceeded { exceeded } => format!("killed: {}", exceeded_in_words(exceeded)),
        GoalFailure::Killed => "it was killed".to_owned(),
        GoalFailure::NoNumber => "it printed no number".to_owned(),
        GoalFailure::BelowTarget { score, target } => format!("{score} is below {target}"),
        GoalFailure::NotStarted { why } => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_failed_is_told_without_its_output() {
        let failed = Missing::GoalFailed {
            goal: "coverage".into(),
            why: Some(GoalFailure::BelowTarget {
                score: 71.0,
                target: 80.0,
            }),
            output_tail: "TOTAL 71%".into(),
        };
        assert_eq!(
            missing_in_words(&failed),
            "goal `coverage` did not pass: 71 is below 80"
        );
    }

    #[test]
    fn evidence_is_listed_with_its_points() {
        let parts = [(Evidence::AgentsWord, 10), (Evidence::TasksTicked, 50)];
        let parts = parts.map(|(evidence, points)| ConfidencePart { evidence, points });
        assert_eq!(
            confidence_in_words(60, &parts),
            "confidence 60: agent's claim +10, all tasks ticked +50"
        );
        assert_eq!(confidence_in_words(0, &[]), "confidence 0");
    }
}
