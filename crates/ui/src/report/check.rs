//! Open points of a run: unverified results, and matters that wait for the user.

use std::collections::BTreeMap;

use ralph_core::{
    event::{Breakdown, Decider, GoalResult, Proof, ReviewResult, StopReason},
    run::TaskState,
};
use ralph_text::one_line;
use ralph_words::{
    asked_in_words, broken_in_words, counted, goal_failure_in_words, head_in_words, lost_repository_in_words,
    review_in_words, stash_left_in_words, stop_in_words, task_at_limit_in_words, way_back_in_words,
};

use super::RunReport;

/// The request to the user if a run merely claims to be done.
pub(super) const UNVERIFIED: &str = "review the result: nothing has verified it";

/// The last result of each goal with the number of its iteration; 0 for the check before the first one.
fn last_results(report: &RunReport) -> BTreeMap<&str, (u32, &GoalResult)> {
    let at_start = report.view.iterations.at_start.goals.iter().map(|result| (0, result));
    let later = report.iterations().flat_map(|iteration| {
        let results = iteration.look.goals.iter();
        results.map(move |result| (iteration.number, result))
    });
    at_start
        .chain(later)
        .map(|(number, result)| (result.name.as_str(), (number, result)))
        .collect()
}

pub(super) fn unverified(report: &RunReport) -> Vec<String> {
    if report.view.goals.is_empty() {
        return vec![if report.iterations().len() == 0 {
            "no goals are configured: nothing was checked".to_owned()
        } else {
            "everything: no goals are configured, so nothing was checked".to_owned()
        }];
    }
    let results = last_results(report);
    let last = report
        .view
        .iterations
        .latest_work()
        .map_or(0, |iteration| iteration.number);
    let mut found = Vec::new();
    for goal in report.view.goals.iter() {
        let name = goal.name.as_str();
        match results.get(name) {
            None => found.push(format!("goal {name}: not run")),
            Some((_, result)) if !result.passed => {
                let why = result.why.as_ref().map_or_else(String::new, goal_failure_in_words);
                found.push(format!("goal {name} failed in its last run: {why}"));
            }
            // The files of later iterations may have been checked while the run went on, which proves nothing.
            Some((number, _)) if *number < last => found.push(match (goal.suspects(), goal.passed_with) {
                (Some(by), _) => format!("goal {name} is {}", broken_in_words(by)),
                (None, Some(later)) if later > *number => {
                    format!("goal {name} passed with the files of iteration {later}, and was not run for a claim since")
                }
                (None, _) => format!("goal {name} passed after iteration {number} and was not run since"),
            }),
            Some(_) => {}
        }
    }
    found
}

pub(super) fn needs_person(report: &RunReport) -> Vec<String> {
    let view = &report.view;
    let mut needs = Vec::new();
    if let Some(StopReason::Broken {
        why: Breakdown::RepositoryLost { lost },
    }) = view.stop_reason()
    {
        needs.push(format!(
            "{}: {}",
            one_line(&lost_repository_in_words(lost)),
            one_line(&way_back_in_words(lost))
        ));
    }
    needs.extend(view.head.as_ref().map(|place| one_line(&head_in_words(place))));
    needs.extend(view.stashes.iter().map(stash_left_in_words));
    let in_state = |state| report.tasks.iter().filter(move |task| task.state == state);
    let finished = matches!(view.stop_reason(), Some(StopReason::Done { .. }));
    for task in in_state(TaskState::Blocked) {
        let question = task.question.as_ref();
        needs.extend(
            question.map(|question| format!("an answer for the task \"{}\": {}", task.text, one_line(question))),
        );
        let limit = task.limit.map(task_at_limit_in_words);
        needs.extend(limit.map(|limit| format!("the task \"{}\": {limit}", task.text)));
    }
    if !finished {
        let elsewhere = view.blocks.iter().rfind(|block| block.task.is_none());
        needs.extend(elsewhere.map(|block| format!("an answer: {}", one_line(&block.question))));
        let unanswered = view.permissions.answered.iter();
        let unanswered =
            unanswered.filter(|decided| decided.by == Decider::Deadline && decided.allowed() == Some(false));
        needs.extend(unanswered.map(|decided| {
            let text = one_line(&asked_in_words(&decided.tool, &decided.title));
            format!(
                "not answered in time in iteration {}, so it was denied: {text}",
                decided.iteration
            )
        }));
        let missed = view.permissions.unanswered.iter();
        let missed = missed.filter(|asked| !asked.request.questions.is_empty());
        needs.extend(missed.map(|asked| {
            let text = one_line(&asked.request.title);
            format!("an answer (`ralph answer {} …`): {text}", asked.number)
        }));
        needs.extend(view.permissions.about_tests().map(|asked| {
            format!(
                "a decision on changed tests (`ralph confirm`): {}",
                one_line(&asked.request.paths.join(", "))
            )
        }));
        needs.extend(
            view.permissions
                .about_scope()
                .map(|asked| format!("a decision (`ralph confirm`): {}", one_line(&asked.request.title))),
        );
        let asked = view.incidents.asked.iter();
        needs.extend(asked.map(|asked| {
            let text = one_line(&asked.text);
            format!("the agent asked in iteration {}: {text}", asked.iteration)
        }));
    }
    for task in in_state(TaskState::Vanished) {
        needs.push(format!(
            "check the plan: the task \"{}\" was removed from it",
            task.text
        ));
    }
    let undelivered = view.messages.iter();
    let undelivered = undelivered.filter(|message| !report.is_running && message.is_queued());
    needs.extend(undelivered.map(|message| {
        let text = one_line(&message.text);
        format!("message {} was not delivered: {text}", message.id.0)
    }));
    needs.extend(disagreements(report));
    needs.extend(end_needs(report));
    needs
}

/// Reviews whose findings were not sent back to the agent, or that were the last iteration.
fn disagreements(report: &RunReport) -> impl Iterator<Item = String> {
    let last = report.iterations().len().saturating_sub(1);
    report.iterations().enumerate().filter_map(move |(at, iteration)| {
        let result = iteration.review.as_ref()?;
        let ReviewResult::Findings { sent_back, .. } = result else {
            return None;
        };
        let is_open = !sent_back || at == last;
        is_open.then(|| {
            format!(
                "the review in iteration {}: {}",
                iteration.number,
                review_in_words(result).1
            )
        })
    })
}

/// The request to the user that follows from the end of the run.
fn end_needs(report: &RunReport) -> Option<String> {
    let open = counted(u64::from(report.totals.tasks_open), "task");
    match report.view.stop_reason()? {
        StopReason::Done { proof, .. } => match proof {
            Proof::Tests | Proof::ExitCodes => None,
            Proof::Nothing => Some(UNVERIFIED.to_owned()),
            Proof::Unconfirmed => {
                Some("confirm the changed tests, or send the agent back (`ralph confirm`)".to_owned())
            }
        },
        StopReason::LimitReached { .. }
        | StopReason::Requested
        | StopReason::Interrupted
        | StopReason::Terminated
        | StopReason::HungUp
            if report.totals.tasks_open > 0 =>
        {
            Some(format!("decide whether to continue ({open} open)"))
        }
        // Comes first.
        StopReason::Broken {
            why: Breakdown::RepositoryLost { .. },
        } => None,
        // The blocked task already has an entry with this question.
        StopReason::Blocked { .. } | StopReason::TaskLimitReached { .. }
            if report.tasks.iter().any(|task| task.state == TaskState::Blocked) =>
        {
            None
        }
        reason @ (StopReason::AgentFailed { .. }
        | StopReason::Broken { .. }
        | StopReason::PlanInvalid { .. }
        | StopReason::BreakerOpen { .. }
        | StopReason::Blocked { .. }
        | StopReason::TaskLimitReached { .. }) => Some(one_line(&stop_in_words(reason))),
        _ => None,
    }
}
