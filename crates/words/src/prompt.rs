//! Feedback on the previous session in an agent's next prompt: what happened, and what the agent can do about it.

use ralph_core::{
    event::{BreakerCause, Findings, Goal, Missing},
    machine::Feedback,
    notices::first_named,
};

use super::{
    broken_in_words,
    comment::how_to_answer,
    counted, findings_in_words, goal_failure_in_words, guarded_changes_in_words, limit_word, missing_in_words,
    sealed_goal_failed,
    tests_run::{fewer_in_words, is_whole, loss_in_words, mutants_listed},
};

/// The plan's name for the agent. In a divided plan, only its section: the others belong to other agents.
pub fn plan_in_prompt(plan: &str, section: Option<&str>) -> String {
    match section {
        Some(section) => format!("{plan} (its section \"{section}\" only)"),
        None => plan.to_owned(),
    }
}

/// Feedback for the agent, in sentences. Further lines are output of a goal; `goals` are the run's goals.
pub fn feedback(feedback: &Feedback, goals: &[Goal]) -> String {
    match feedback {
        Feedback::CutOff => {
            "The last session was cut off before it could finish. Check what it left before you continue.".to_owned()
        }
        Feedback::PermissionDenied { what } => {
            format!("The last session was denied a permission ({what}). Find a way without it.")
        }
        Feedback::Flooded => "The last session was stopped because it reported the same kind of thing endlessly. Find \
                              out why, and report it once."
            .to_owned(),
        Feedback::TooLarge { what } => format!(
            "All processes of the last session were killed: {what}. Find out what needs so much, and do without it."
        ),
        Feedback::TurnLimit => "The last session ran out of turns. Continue where it stopped.".to_owned(),
        Feedback::Limited { limit } => format!(
            "The last session was stopped at the {} limit of an iteration. Do more of the work yourself.",
            limit_word(*limit)
        ),
        Feedback::ContextOverflow => {
            "The last session ran out of context. Work in smaller steps and read less at once.".to_owned()
        }
        Feedback::IdleTimeout => "The last session was stopped because it was idle for too long: no output, no CPU. \
                                  Avoid commands that wait for input or never return."
            .to_owned(),
        Feedback::IterationTimeout => {
            "The last session was stopped at its time limit. Work in smaller steps.".to_owned()
        }
        Feedback::TaskAtLimit { task } => {
            format!("\"{task}\" is set aside: it reached the limits of a task. Leave it as it is.")
        }
        Feedback::TaskLeftOut { task } => {
            format!("The user has set \"{task}\" aside. Leave it as it is; the work is done without it.")
        }
        Feedback::TaskSetAside { task, question } => {
            format!("The task \"{task}\" is set aside until the user answers: {question}")
        }
        Feedback::TasksMissing { tasks } => format!(
            "These tasks were open and are no longer in the plan as tasks. They are still open; put them back, with the same text: {}",
            tasks.join("; ")
        ),
        Feedback::PlanUnreadable { why } => {
            format!(
                "The plan could not be read after the last session ({why}). Put it right first; its tasks are as they were."
            )
        }
        Feedback::ClaimRefused { reasons: refused } => {
            let reasons: Vec<String> = refused.iter().map(|reason| missing(reason, goals)).collect();
            let is_check = |name: &str| goals.iter().any(|goal| goal.name == name && goal.task.is_some());
            let is_tick = |reason: &Missing| match reason {
                Missing::GoalFailed { goal, .. } => is_check(goal),
                reason => matches!(reason, Missing::OutOfScope { .. }),
            };
            let what = match refused.iter().all(is_tick) {
                true => "A tick in the plan",
                false => "Your claim to be done",
            };
            format!("{what} was refused: {}", reasons.join("; "))
        }
        Feedback::OutOfScope { found } => format!("About the task: {}", missing(found, goals)),
        Feedback::FailedAfterEdits { failed } => {
            let failed: Vec<String> = failed.iter().map(|reason| missing(reason, goals)).collect();
            format!("After the last edits of that session: {}", failed.join("; "))
        }
        Feedback::Broken { by, failed } => format!(
            "A goal that passed before is {}: {}. Mend it before anything else, or say why it has to fail for now",
            broken_in_words(*by),
            missing(failed, goals)
        ),
        Feedback::CommentsOpen { open } => {
            let open: Vec<String> = open.iter().map(|reason| missing(reason, goals)).collect();
            format!("The user's comments on lines are missing work: {}", open.join("; "))
        }
        Feedback::Noted { notes } => format!("Its notes on its progress: {}", notes.join("; ")),
        Feedback::Reviewed { task, findings } => reviewed(task.as_deref(), findings),
        Feedback::Found { text } => found(text),
        Feedback::Stuck { why } => format!(
            "{}. Do not repeat what was tried: find out why it made no progress, take another approach, or say what \
             blocks the task.",
            stuck(why)
        ),
    }
}

/// Tells the agent of a state that it works in, in sentences.
pub fn found(notice: &str) -> String {
    let mut text = notice.to_owned();
    if let Some(first) = text.get(..1).map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    text + "."
}

/// Names the first tests that failed before the run and may still fail.
pub fn known_failures(goal: &str, tests: &[String]) -> String {
    const NAMED: usize = 20;
    format!(
        "These tests of goal `{goal}` failed before the first session and may fail as before: {}. All others have to pass.",
        first_named(tests.iter(), NAMED, ", ")
    )
}

fn reviewed(task: Option<&str>, findings: &Findings) -> String {
    let what = match task {
        Some(task) => format!("the task \"{task}\""),
        None => "the work".to_owned(),
    };
    format!(
        "Another agent has reviewed {what} and found this; it may be wrong:\n{}",
        findings_in_words(findings).join("\n")
    )
}

/// The advice to an agent whose task requires changed tests.
const MAY_BE_CONFIRMED: &str = "If the task itself demands that the tests change, end your last message with the line \
                                `RALPH TESTS CHANGED: why`: the user will be asked.";

/// Tells the agent what its claim lacks.
pub(super) fn missing(missing: &Missing, goals: &[Goal]) -> String {
    match missing {
        Missing::SaidNotDone { why } => format!("the last message said that the work is not done ({why})"),
        Missing::SaidBlocked { question } => format!("the last message said that you are blocked ({question})"),
        Missing::CommentOpen {
            comment,
            place,
            text,
            answered,
        } => {
            let then = match answered {
                true => "the user has not resolved it, so change the lines if you can".to_owned(),
                false => how_to_answer(*comment),
            };
            format!("comment {comment} on {place} is open ({text}): {then}")
        }
        Missing::TaskVanished { task } => {
            format!("a task was removed from the plan; restore it: {task}")
        }
        Missing::TasksOpen { .. }
        | Missing::PlanUnreadable
        | Missing::DoubtfulTests { .. }
        | Missing::GoalsNotRun
        | Missing::More { .. } => missing_in_words(missing),
        Missing::OutOfScope { files, .. } if files.is_empty() => missing_in_words(missing),
        Missing::OutOfScope { .. } => format!(
            "{}. The task counts as open, whatever its box says. Put these files back as they were before the task, also with \
             another commit, and delete new ones. If the task cannot be done without them, end as blocked and say why",
            missing_in_words(missing)
        ),
        Missing::GoalFailed { goal, why, output_tail } => {
            let why = why.as_ref().map_or_else(String::new, goal_failure_in_words);
            let known = goals.iter().find(|known| *goal == known.name);
            let about = known.and_then(|goal| goal.description.as_ref());
            let about = about.map_or_else(String::new, |about| format!(" ({about})"));
            if known.is_some_and(|goal| goal.sealed.is_some()) {
                return sealed_goal_failed(goal, &about, output_tail);
            }
            if let Some((task, command)) = known.and_then(|goal| Some((goal.task.as_ref()?, &goal.command))) {
                return check_failed(task, command, &why, output_tail);
            }
            match &output_tail[..] {
                "" => format!("goal `{goal}`{about} did not pass: {why}"),
                tail => format!("goal `{goal}`{about} did not pass: {why}. It ended with:\n{tail}"),
            }
        }
        Missing::FewerTests { goal, before, now } => format!(
            "goal `{goal}` {} than before: {}. Restore the tests. {MAY_BE_CONFIRMED}",
            loss_in_words(before, now.as_ref()),
            fewer_in_words(before, now.as_ref())
        ),
        Missing::OriginalTestsFail {
            goal,
            why,
            output_tail,
            changes,
        } => {
            let why = why
                .as_ref()
                .map_or_else(|| "it ran fewer tests".to_owned(), goal_failure_in_words);
            let ended = match &output_tail[..] {
                "" => String::new(),
                tail => format!(" It ended with:\n{tail}\n"),
            };
            format!(
                "goal `{goal}` passes only with the tests as they are now. With the tests and their configuration as they were \
                 when the run began, it does not pass: {why}. Changed: {}. The originals count: make the work pass them. \
                 {MAY_BE_CONFIRMED}{ended}",
                guarded_changes_in_words(changes)
            )
        }
        Missing::NoTrial { why, changes } => format!(
            "the tests or their configuration changed ({}), and could not be tried as they were: {why}. Put them back. \
             {MAY_BE_CONFIRMED}",
            guarded_changes_in_words(changes)
        ),
        Missing::TestsNoticeNothing { mutants } if is_whole(mutants) => format!(
            "the goals pass without your work, too, so they do not show that it is done: no test fails with these files as they were \
             when the run began: {}. Add tests that fail without the work",
            mutants[0].before
        ),
        Missing::TestsNoticeNothing { mutants } => format!(
            "the goals pass although the code or the tests were altered, so they prove nothing. Each of these alone was not \
             noticed:\n{}",
            mutants_listed(mutants)
        ),
        Missing::CommentNoticed { path } => format!(
            "the goals fail once a comment is added at the end of files with tests ({path}), so the work depends on what is in \
             them. It must not read its own tests"
        ),
        Missing::NeedsSecondClaim => {
            "there is no proof: if it is true, claim it once more at the end of the next session".to_owned()
        }
        Missing::NotSaid => {
            "nothing in your last message says that all is done: if it is true, end it with the promise \
                             line"
                .to_owned()
        }
        Missing::Confidence { points, wanted } => format!("the confidence is {points}; the minimum is {wanted}"),
    }
}

/// Tells the agent that the tick of a task does not count.
fn check_failed(task: &str, command: &str, why: &str, output_tail: &str) -> String {
    let ended = match output_tail {
        "" => String::new(),
        tail => format!(" It ended with:\n{tail}"),
    };
    format!(
        "the check of the task \"{task}\" did not pass: {why}. The task counts as open, whatever its box says, until this \
         command passes: `{command}`.{ended}"
    )
}

fn stuck(why: &BreakerCause) -> String {
    match why {
        BreakerCause::NoProgress { iterations } => {
            format!(
                "The last {} changed nothing",
                counted(u64::from(*iterations), "session")
            )
        }
        BreakerCause::SameError { iterations } => {
            format!(
                "The last {} failed in the same way",
                counted(u64::from(*iterations), "session")
            )
        }
        BreakerCause::SameGoalFailure { goal, iterations, .. } => {
            let sessions = counted(u64::from(*iterations), "session");
            format!("Goal `{goal}` has failed in the same way after each of the last {sessions}")
        }
        BreakerCause::OneMoreTry => "The last sessions made no progress; this is one more try after a pause".to_owned(),
        BreakerCause::ClaimRefused { .. } | BreakerCause::Progress | BreakerCause::ResetByUser => {
            "The last sessions made no progress".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Exit, GoalFailure};

    fn refused(reasons: Vec<Missing>) -> String {
        feedback(&Feedback::ClaimRefused { reasons }, &[])
    }

    #[test]
    fn a_goal_that_failed_is_told_with_the_end_of_its_output() {
        let failed = Missing::GoalFailed {
            goal: "tests".into(),
            why: Some(GoalFailure::Exited {
                exit: Exit::Code { code: 101 },
            }),
            output_tail: "FAILED two\nFAILED three".into(),
        };
        assert_eq!(
            refused(vec![failed]),
            "Your claim to be done was refused: goal `tests` did not pass: exit code 101. It ended with:\nFAILED \
             two\nFAILED three"
        );
    }

    #[test]
    fn a_goal_that_failed_is_told_with_what_it_is_for() {
        let goal = Goal {
            name: "tests".to_owned(),
            description: Some("all tests, also the slow ones".to_owned()),
            ..Goal::default()
        };
        let failed = vec![Missing::GoalFailed {
            goal: "tests".into(),
            why: Some(GoalFailure::Killed),
            output_tail: "".into(),
        }];
        assert_eq!(
            feedback(&Feedback::FailedAfterEdits { failed }, &[goal]),
            "After the last edits of that session: goal `tests` (all tests, also the slow ones) did not pass: it was killed"
        );
    }

    #[test]
    fn a_vanished_task_is_asked_back_of_the_agent() {
        let task = "Write the tests".to_owned();
        assert!(refused(vec![Missing::TaskVanished { task: task.into() }]).contains("restore it: Write the tests"));
    }

    #[test]
    fn the_diagnosis_of_the_breaker_says_how_long_nothing_changed() {
        let why = BreakerCause::NoProgress { iterations: 3 };
        let said = feedback(&Feedback::Stuck { why }, &[]);
        assert!(
            said.starts_with("The last 3 sessions changed nothing. Do not repeat"),
            "{said}"
        );
    }
}
