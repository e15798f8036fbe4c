//! Tests of runs with optional tasks.

use crate::{
    event::{PlanSnapshot, Settings, StopReason},
    run::Phase,
};

use super::{Input, LoopState, Settlement, step, testing};

/// A plan of a required and an optional task.
fn plan(required: bool, optional: bool) -> PlanSnapshot {
    let mut tasks = vec![testing::task("extra", optional), testing::task("needed", required)];
    tasks[0].settings.optional = true;
    PlanSnapshot { tasks }
}

struct Run(LoopState);

impl Run {
    fn begun() -> Self {
        let mut run = Self(LoopState::default());
        run.take(&Input::Start(Box::new(testing::start(Settings::default()))));
        run
    }

    fn take(&mut self, input: &Input) {
        self.0 = step(std::mem::take(&mut self.0), 1_000, input).state;
    }

    /// The task of an iteration that leaves the plan as `after`.
    fn iterate(&mut self, before: PlanSnapshot, after: PlanSnapshot, blocked: Option<&str>) -> Option<String> {
        let iteration = self.0.view.iterations.number + 1;
        let result = Ok(testing::preparation(before));
        self.take(&Input::Prepared { iteration, result });
        let task = self.0.view.iterations.latest().and_then(|row| row.task.clone());
        for signal in testing::agent_end() {
            self.take(&Input::Agent { iteration, signal });
        }
        let settlement = Box::new(Settlement {
            blocked: blocked.map(str::to_owned),
            ..Settlement::from_plan(Ok(after), 0.5)
        });
        self.take(&Input::Settled { iteration, settlement });
        task
    }

    fn is_done(&self) -> bool {
        matches!(self.0.view.stop_reason(), Some(StopReason::Done { .. }))
    }
}

#[test]
fn optional_tasks_are_tried_last_and_done_ones_complete_the_plan() {
    let mut run = Run::begun();
    let first = run.iterate(plan(false, false), plan(true, false), None);
    assert_eq!(first.as_deref(), Some("needed"));
    assert!(matches!(run.0.view.phase, Phase::Preparing { iteration: 2 }));
    let second = run.iterate(plan(true, false), plan(true, true), None);
    assert_eq!((second.as_deref(), run.is_done()), (Some("extra"), true));
}

#[test]
fn a_run_is_done_without_an_optional_task_that_is_blocked() {
    let mut run = Run::begun();
    run.iterate(plan(false, false), plan(true, false), None);
    run.iterate(plan(true, false), plan(true, false), Some("which colour?"));
    assert!(run.is_done(), "{:?}", run.0.view.phase);
}

#[test]
fn a_run_is_not_done_without_a_task_that_is_needed() {
    let mut run = Run::begun();
    run.iterate(plan(false, true), plan(false, true), Some("which colour?"));
    assert!(matches!(run.0.view.stop_reason(), Some(StopReason::Blocked { .. })));
}

#[test]
fn a_plan_with_an_optional_task_left_is_worked_on() {
    let mut run = Run::begun();
    let first = run.iterate(plan(true, false), plan(true, true), None);
    assert_eq!((first.as_deref(), run.is_done()), (Some("extra"), true));
}
