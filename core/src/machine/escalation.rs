//! Hands a task to another worker after iterations without progress.
//!
//! The result of an iteration is judged by the records alone: a refused claim, a failure of the agent, no changes. The
//! agent's own opinion does not count, and neither do causes outside its control: limits, outages, questions.

use crate::{
    event::{Outcome, ProblemClass, ProblemKind, Worker},
    run::{Iteration, shows_weakness},
};

use super::state::LoopState;

/// The result of an iteration with regard to its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The iteration closed a task.
    Good,
    /// The iteration made no progress on its task.
    Bad,
    /// The iteration says nothing about the worker.
    Neither,
}

/// Returns the worker for `task`: `base`, or a later step after failed attempts.
pub(super) fn escalated(state: &LoopState, task: Option<&str>, base: Worker) -> Worker {
    let escalation = &state.view.settings.escalation;
    // A worker that is a step itself is only replaced by later steps.
    let begin = escalation
        .steps
        .iter()
        .position(|step| *step == base)
        .map_or(0, |at| at + 1);
    let steps = escalation.steps.get(begin..).unwrap_or_default();
    match level(state, task).min(steps.len()).checked_sub(1) {
        Some(step) => steps[step].clone(),
        None => base,
    }
}

/// How many times the task has been handed on.
fn level(state: &LoopState, task: Option<&str>) -> usize {
    let escalation = &state.view.settings.escalation;
    if escalation.steps.is_empty() {
        return 0;
    }
    usize::try_from(attempts(state, task) / escalation.after.max(1)).unwrap_or(usize::MAX)
}

/// The number of failed attempts at `task` among the latest iterations on it.
fn attempts(state: &LoopState, task: Option<&str>) -> u32 {
    let rows = state.view.iterations.rows.iter().rev();
    let chosen_after = state.internal.worker_chosen_after;
    let rows = rows.filter(|row| row.role.is_work() && chosen_after.is_none_or(|after| row.number > after));
    let of_task = rows.take_while(|row| row.task.as_deref() == task);
    let attempts = of_task.map(attempt).take_while(|attempt| *attempt != Attempt::Good);
    let bad = attempts.filter(|attempt| *attempt == Attempt::Bad).count();
    u32::try_from(bad).unwrap_or(u32::MAX)
}

/// The number of failed attempts at `task`, if the latest of them causes a hand-over now.
pub(super) fn escalation_due(state: &LoopState, task: Option<&str>) -> Option<u32> {
    let latest = state.view.iterations.latest_work()?;
    let attempts = attempts(state, task);
    let is_new = attempt(latest) == Attempt::Bad && latest.task.as_deref() == task;
    let after = state.view.settings.escalation.after.max(1);
    (is_new && attempts > 0 && attempts.is_multiple_of(after)).then_some(attempts)
}

fn attempt(row: &Iteration) -> Attempt {
    match &row.outcome {
        _ if row.closed > 0 => Attempt::Good,
        // A pending question would not be answered by a better model.
        _ if row.question.is_some() => Attempt::Neither,
        Some(Outcome::Completed) if !row.look.refused.is_empty() || row.progress == Some(false) => Attempt::Bad,
        Some(Outcome::Failed { problem }) if is_own_failure(problem.kind) => Attempt::Bad,
        Some(Outcome::Cancelled { reason }) if shows_weakness(*reason) => Attempt::Bad,
        Some(Outcome::Completed | Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Interrupted) | None => {
            Attempt::Neither
        }
    }
}

/// Whether another model might have avoided the failure.
fn is_own_failure(kind: ProblemKind) -> bool {
    kind == ProblemKind::TurnLimit || kind.class() == ProblemClass::Failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CancelReason, Escalation, LimitKind, Problem};

    fn worker(model: &str) -> Worker {
        Worker {
            adapter: "a".to_owned(),
            model: Some(model.to_owned()),
        }
    }

    fn row(task: &str, outcome: Outcome) -> Iteration {
        Iteration {
            task: Some(task.to_owned()),
            outcome: Some(outcome),
            ..Iteration::default()
        }
    }

    fn failed(task: &str, kind: ProblemKind) -> Iteration {
        let problem = Problem::said(kind, "");
        row(task, Outcome::Failed { problem })
    }

    fn idle(task: &str) -> Iteration {
        Iteration {
            progress: Some(false),
            ..row(task, Outcome::Completed)
        }
    }

    fn after(rows: Vec<Iteration>) -> LoopState {
        let mut state = LoopState::default();
        state.view.settings.escalation = Escalation {
            steps: ["sonnet", "opus"].map(worker).to_vec(),
            after: 2,
        };
        rows.into_iter().for_each(|row| state.view.iterations.rows.push(row));
        state
    }

    fn model(state: &LoopState, task: &str, base: &str) -> String {
        escalated(state, Some(task), worker(base)).model.expect("a model")
    }

    #[test]
    fn every_second_bad_attempt_takes_a_step_and_the_last_step_stays() {
        let models: Vec<String> = (0..8)
            .map(|bad| model(&after((0..bad).map(|_| idle("t")).collect()), "t", "haiku"))
            .collect();
        assert_eq!(
            models,
            ["haiku", "haiku", "sonnet", "sonnet", "opus", "opus", "opus", "opus"]
        );
        let escalated: Vec<Option<u32>> = (0..5)
            .map(|bad| escalation_due(&after((0..bad).map(|_| idle("t")).collect()), Some("t")))
            .collect();
        assert_eq!(escalated, [None, None, Some(2), None, Some(4)]);
    }

    #[test]
    fn a_worker_that_the_user_chose_is_not_judged_by_the_attempts_of_others() {
        let numbered = |number| Iteration { number, ..idle("t") };
        let mut state = after((1..=2).map(numbered).collect());
        assert_eq!(model(&state, "t", "haiku"), "sonnet");
        state.internal.worker_chosen_after = Some(2);
        assert_eq!(model(&state, "t", "chosen"), "chosen");
        (3..=4).for_each(|number| state.view.iterations.rows.push(numbered(number)));
        assert_eq!(model(&state, "t", "chosen"), "sonnet", "after attempts of its own");
    }

    #[test]
    fn the_next_task_begins_where_every_task_begins() {
        let state = after(vec![idle("t"), idle("t"), idle("t")]);
        assert_eq!(model(&state, "u", "haiku"), "haiku");
        assert_eq!(escalation_due(&state, Some("u")), None);
        // The first of two tasks with the same name was closed.
        let closed = Iteration {
            closed: 1,
            ..row("t", Outcome::Completed)
        };
        assert_eq!(model(&after(vec![idle("t"), idle("t"), closed]), "t", "haiku"), "haiku");
    }

    #[test]
    fn limits_outages_questions_and_what_the_user_ended_are_no_attempts() {
        let asked = Iteration {
            question: Some("which?".to_owned()),
            ..idle("t")
        };
        let reason = CancelReason::Skipped;
        let neither = [
            failed("t", ProblemKind::RateLimited { until_ms: None }),
            failed("t", ProblemKind::Network),
            asked,
            row("t", Outcome::Cancelled { reason }),
            row("t", Outcome::Interrupted),
            row("t", Outcome::Completed),
        ];
        for between in neither {
            let rows = vec![idle("t"), between.clone(), between.clone()];
            assert_eq!(model(&after(rows), "t", "haiku"), "haiku", "{between:?}");
            let rows = vec![failed("t", ProblemKind::Crashed), between.clone(), idle("t")];
            assert_eq!(model(&after(rows), "t", "haiku"), "sonnet", "{between:?}");
        }
    }

    #[test]
    fn whoever_begins_on_a_step_goes_up_from_there() {
        let state = after(vec![idle("t"), idle("t")]);
        assert_eq!(model(&state, "t", "sonnet"), "opus");
        assert_eq!(model(&state, "t", "opus"), "opus");
    }

    #[test]
    fn a_worker_that_the_user_chose_is_not_replaced_for_the_iteration_before() {
        let numbered = |number| Iteration { number, ..idle("t") };
        let mut state = after((1..=3).map(numbered).collect());
        state.internal.worker_chosen_after = Some(3);
        assert_eq!(escalation_due(&state, Some("t")), None);
        // Two attempts before the choice, and one after it.
        state.internal.worker_chosen_after = Some(2);
        assert_eq!(model(&state, "t", "chosen"), "chosen");
    }

    #[test]
    fn only_a_bad_attempt_hands_the_task_on() {
        let skipped = row(
            "t",
            Outcome::Cancelled {
                reason: CancelReason::Skipped,
            },
        );
        let state = after(vec![idle("t"), idle("t"), skipped]);
        assert_eq!(escalation_due(&state, Some("t")), None, "it was handed on before");
        assert_eq!(model(&state, "t", "haiku"), "sonnet");
    }

    #[test]
    fn an_agent_that_had_to_be_ended_made_a_bad_attempt() {
        for reason in [
            CancelReason::IterationTimeout,
            CancelReason::IdleTimeout,
            CancelReason::Flooded,
            CancelReason::MaxSteps,
            CancelReason::Limit(LimitKind::Subagents),
        ] {
            let ended = || row("t", Outcome::Cancelled { reason });
            let state = after(vec![ended(), ended()]);
            assert_eq!(model(&state, "t", "haiku"), "sonnet", "{reason:?}");
        }
    }
}
