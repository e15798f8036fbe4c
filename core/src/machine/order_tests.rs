//! Tests of runs with optional tasks, and with tasks that the user sets aside.

use crate::{
    event::{Event, Hint, IterationEvent, PlanSnapshot, RequestedBy, Settings, StopReason, UserCommand},
    run::{Phase, TaskState},
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

    fn take(&mut self, input: &Input) -> Vec<Event> {
        let step = step(std::mem::take(&mut self.0), 1_000, input);
        self.0 = step.state;
        step.events
    }

    fn command(&mut self, command: UserCommand) -> Vec<Event> {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    fn set_aside(&mut self, task: &str) -> Vec<Event> {
        let task = task.to_owned();
        self.command(UserCommand::SetTaskAside { task })
    }

    fn take_back(&mut self, task: &str) -> Vec<Event> {
        let task = task.to_owned();
        self.command(UserCommand::TakeTaskBack { task })
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

/// A plan of these tasks; a `+` before one means that it is done.
fn plan_of(tasks: &[&str]) -> PlanSnapshot {
    let task = |text: &&str| match text.strip_prefix('+') {
        Some(text) => testing::task(text, true),
        None => testing::task(text, false),
    };
    PlanSnapshot {
        tasks: tasks.iter().map(task).collect(),
    }
}

#[test]
fn a_run_is_done_without_a_task_that_the_user_sets_aside_and_says_so() {
    let mut run = Run::begun();
    run.iterate(
        plan_of(&["one", "two", "three"]),
        plan_of(&["+one", "two", "three"]),
        None,
    );
    run.iterate(
        plan_of(&["+one", "two", "three"]),
        plan_of(&["+one", "two", "three"]),
        None,
    );
    assert_eq!(run.set_aside("two").len(), 1);
    assert_eq!(run.set_aside("two"), [], "it is set aside already");
    assert_eq!(run.set_aside("one"), [], "it is done");
    assert_eq!(run.set_aside("none"), [], "there is no such task");
    let states: Vec<TaskState> = run.0.view.tasks().iter().map(|task| task.state).collect();
    assert_eq!(states, [TaskState::Done, TaskState::SetAside, TaskState::Open]);
    // The prompt that is being written names the task, so it is written again.
    let iteration = 3;
    let plan = plan_of(&["+one", "two", "three"]);
    let result = Ok(testing::preparation(plan.clone()));
    let events = run.take(&Input::Prepared { iteration, result });
    assert!(
        matches!(
            events[..],
            [Event::Iteration(IterationEvent::PreparationStarted {
                iteration: 3,
                ..
            })]
        ),
        "{events:?}"
    );
    let third = run.iterate(plan, plan_of(&["+one", "two", "+three"]), None);
    assert_eq!((third.as_deref(), run.is_done()), (Some("three"), true));
    let hints = &run.0.view.end().unwrap().hints;
    let task = "two".into();
    assert!(hints.contains(&Hint::TaskSetAside { task }), "{hints:?}");
}

#[test]
fn a_task_that_is_taken_back_is_needed_again() {
    let mut run = Run::begun();
    assert_eq!(run.take_back("one"), [], "it is not set aside");
    run.iterate(plan_of(&["one", "two"]), plan_of(&["one", "two"]), None);
    run.set_aside("one");
    run.take_back("one");
    let result = Ok(testing::preparation(plan_of(&["one", "two"])));
    run.take(&Input::Prepared { iteration: 2, result });
    let second = run.iterate(plan_of(&["one", "two"]), plan_of(&["one", "+two"]), None);
    assert_eq!((second.as_deref(), run.is_done()), (Some("one"), false));
}

#[test]
fn a_blocked_task_that_is_set_aside_blocks_the_run_no_longer() {
    let mut run = Run::begun();
    let tasks = plan_of(&["one", "two"]);
    run.iterate(tasks.clone(), tasks.clone(), Some("which colour?"));
    run.set_aside("one");
    let result = Ok(testing::preparation(tasks.clone()));
    run.take(&Input::Prepared { iteration: 2, result });
    run.iterate(tasks, plan_of(&["one", "+two"]), None);
    assert!(run.is_done(), "{:?}", run.0.view.phase);
}

#[test]
fn what_is_in_a_task_and_what_waits_for_it_is_set_aside_with_it() {
    let mut tasks = plan_of(&["a", "in a", "b", "waits for b", "waits for that", "+done in a"]).tasks;
    tasks[1].depth = 1;
    tasks[3].settings.after = vec!["in a".to_owned()];
    tasks[4].settings.after = vec!["waits for b".to_owned()];
    let plan = PlanSnapshot { tasks };
    let with = |text: &str| plan.with_dependents(&[text.to_owned()]);
    assert_eq!(with("a"), ["a", "in a", "waits for b", "waits for that"]);
    assert_eq!(with("b"), ["b"]);
    assert_eq!(with("waits for that"), ["waits for that"]);
    assert_eq!(with("done in a"), [""; 0]);
    assert_eq!(with("unknown"), [""; 0]);
}
