//! Tests of when hooks are run.

use crate::{
    event::{
        BackgroundEnd, BackgroundResult, Breakdown, Event, Exit, Goal, Hook, HookEvent, Hooks, PlanSnapshot,
        RequestedBy, Settings, StopReason, StopRequest, UserCommand,
    },
    run::Phase,
};

use super::{Effect, Input, LoopState, Settlement, Step, Verification, gate_tests, step, testing};

fn plan(done: &[bool]) -> PlanSnapshot {
    let tasks = done.iter().enumerate();
    PlanSnapshot {
        tasks: tasks
            .map(|(at, done)| testing::task(&format!("task {at}"), *done))
            .collect(),
    }
}

struct Run {
    state: LoopState,
    /// Each started hook with its iteration and task.
    started: Vec<String>,
    effects: Vec<Effect>,
    settings: Settings,
}

impl Run {
    fn begun() -> Self {
        Self::with(Settings::default())
    }

    /// A run with every hook and these settings.
    fn with(settings: Settings) -> Self {
        let command = Some("x".to_owned());
        let settings = Settings {
            hooks: Hooks {
                before_iteration: command.clone(),
                after_iteration: command.clone(),
                on_task_done: command.clone(),
                on_blocked: command.clone(),
                on_end: command,
                timeout_ms: 1_000,
            },
            ..settings
        };
        let mut run = Self {
            state: LoopState::default(),
            started: Vec::new(),
            effects: Vec::new(),
            settings: settings.clone(),
        };
        run.take(&Input::Start(Box::new(testing::start(settings))));
        run
    }

    fn take(&mut self, input: &Input) {
        let Step { state, events, effects } = step(std::mem::take(&mut self.state), 1_000, input);
        (self.state, self.effects) = (state, effects);
        self.started.extend(events.iter().filter_map(|event| match event {
            Event::Hook(HookEvent::Started {
                hook, iteration, task, ..
            }) => {
                let task = task.as_ref().map(|task| format!(" {task}")).unwrap_or_default();
                Some(format!("{} {iteration}{task}", hook.name()))
            }
            _ => None,
        }));
    }

    fn take_started(&mut self) -> Vec<String> {
        std::mem::take(&mut self.started)
    }

    /// Ends every running hook with `code`.
    fn end_hooks(&mut self, code: i32) {
        for number in 1..=self.state.view.hooks.started {
            let result = Box::new(BackgroundResult {
                end: BackgroundEnd::Exited {
                    exit: Exit::Code { code },
                },
                duration_ms: 1,
                output_bytes: 5,
                tail: "words".into(),
            });
            self.take(&Input::HookEnded { number, result });
        }
    }

    /// Runs an iteration that leaves `after` of a plan that was `before`.
    fn iterate(&mut self, before: &[bool], after: &[bool], blocked: Option<&str>) {
        self.end_hooks(0);
        let iteration = self.state.view.iterations.number + 1;
        let result = Ok(testing::preparation(plan(before)));
        self.take(&Input::Prepared { iteration, result });
        self.end_agent(iteration);
        let settlement = Box::new(Settlement {
            blocked: blocked.map(str::to_owned),
            ..Settlement::from_plan(Ok(plan(after)), 0.5)
        });
        self.take(&Input::Settled { iteration, settlement });
    }

    fn end_agent(&mut self, iteration: u32) {
        for signal in testing::agent_end() {
            self.take(&Input::Agent { iteration, signal });
        }
    }

    fn recover(&mut self) {
        let settings = Box::new(self.settings.clone());
        self.take(&Input::Recover {
            pid: 2,
            settings,
            pause_file: false,
            day: None,
        });
    }
}

#[test]
fn hooks_are_run_in_the_order_of_a_run() {
    let mut run = Run::begun();
    assert_eq!(run.take_started(), ["beforeIteration 1"]);
    run.iterate(&[true, false, false], &[true, true, false], None);
    assert_eq!(
        run.take_started(),
        [
            "afterIteration 1 task 1",
            "onTaskDone 1 task 1",
            "beforeIteration 2 task 2"
        ]
    );
    run.iterate(&[true, true, false], &[true, true, false], Some("which one?"));
    assert_eq!(
        run.take_started(),
        ["onBlocked 2 task 2", "afterIteration 2 task 2", "onEnd 2"]
    );
}

#[test]
fn a_task_that_had_its_hook_has_no_other() {
    let mut run = Run::begun();
    run.iterate(&[false, false], &[true, false], None);
    assert!(run.take_started().contains(&"onTaskDone 1 task 0".to_owned()));
    run.iterate(&[true, false], &[false, false], None);
    run.recover();
    run.iterate(&[false, false], &[true, false], None);
    assert!(!run.take_started().iter().any(|hook| hook.starts_with("onTaskDone")));
}

#[test]
fn a_failed_hook_before_an_iteration_stops_the_run_and_any_other_is_told() {
    let mut run = Run::begun();
    run.iterate(&[false, false], &[true, false], None);
    run.take(&Input::HookEnded {
        number: 2,
        result: Box::new(BackgroundResult {
            end: BackgroundEnd::TimedOut { after_ms: 1_000 },
            duration_ms: 1_000,
            output_bytes: 0,
            tail: "".into(),
        }),
    });
    assert!(!run.state.view.is_over());
    assert_eq!(run.state.view.incidents.notices.len(), 1);
    run.take_started();
    run.end_hooks(1);
    let reason = run.state.view.stop_reason();
    let Some(StopReason::Broken {
        why: Breakdown::HookFailed { hook, result },
    }) = reason
    else {
        panic!("{reason:?}");
    };
    assert_eq!((*hook, &*result.tail), (Hook::BeforeIteration, "words"));
    assert_eq!(run.take_started(), ["onEnd 1"]);
}

#[test]
fn a_killed_ralph_repeats_the_hook_of_an_iteration_that_had_not_begun_alone() {
    let mut run = Run::begun();
    run.iterate(&[false, false], &[true, false], None);
    run.take_started();
    run.recover();
    assert_eq!(run.take_started(), ["beforeIteration 2 task 1"]);
    assert_eq!(run.state.view.hooks.running.len(), 1);
    // The hooks that ralph's death ended are notices.
    assert_eq!(run.state.view.incidents.notices.len(), 3);
}

#[test]
fn an_iteration_that_is_prepared_anew_has_its_hook_once() {
    let mut run = Run::begun();
    run.end_hooks(0);
    run.take(&Input::Command {
        command: UserCommand::Steer {
            kind: crate::event::SteeringKind::Now,
            text: "listen".to_owned(),
        },
        by: RequestedBy::User,
    });
    let result = Ok(testing::preparation(plan(&[false])));
    run.take(&Input::Prepared { iteration: 1, result });
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 1 });
    assert_eq!(run.take_started(), ["beforeIteration 1"]);
}

#[test]
fn an_end_at_once_has_no_hook() {
    let mut run = Run::begun();
    run.take(&Input::Command {
        command: UserCommand::Stop {
            stop: StopRequest::Immediate,
        },
        by: RequestedBy::Interrupt,
    });
    assert!(run.state.view.is_over());
    assert_eq!(run.take_started(), ["beforeIteration 1"]);
}

#[test]
fn the_driver_is_asked_to_run_a_hook_with_its_iteration_task_and_question() {
    let mut run = Run::begun();
    let first = Effect::RunHook {
        number: 1,
        hook: Hook::BeforeIteration,
        iteration: 1,
        task: None,
        question: None,
    };
    assert!(run.effects.contains(&first), "{:?}", run.effects);
    run.iterate(&[false], &[false], Some("which one?"));
    let blocked = Effect::RunHook {
        number: 2,
        hook: Hook::OnBlocked,
        iteration: 1,
        task: Some("task 0".into()),
        question: Some("which one?".into()),
    };
    assert!(run.effects.contains(&blocked), "{:?}", run.effects);
}

#[test]
fn goals_that_are_run_before_the_first_iteration_are_a_part_of_its_preparation() {
    let goal = Goal {
        name: "tests".to_owned(),
        ..Goal::default()
    };
    let mut settings = Settings {
        goals: vec![goal],
        ..Settings::default()
    };
    settings.gate.baseline = true;
    let mut run = Run::with(settings);
    let result = Ok(testing::preparation(plan(&[false])));
    run.take(&Input::Prepared { iteration: 1, result });
    assert!(matches!(run.state.view.phase, Phase::Verifying { iteration: 0, .. }));
    assert_eq!(run.take_started(), ["beforeIteration 1"]);
    // The iteration had not begun when ralph was killed.
    run.recover();
    assert_eq!(run.take_started(), ["beforeIteration 1 task 0"]);
    let verification = Box::new(Verification {
        plan: Ok(plan(&[false])),
        ..gate_tests::found(gate_tests::goal(false, None), false)
    });
    run.take(&Input::Verified {
        iteration: 0,
        verification,
    });
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 1 });
    assert!(run.take_started().is_empty());
}

#[test]
fn a_hook_that_fails_after_its_preparation_was_left_is_told_and_stops_nothing() {
    let mut run = Run::begun();
    let result = Ok(testing::preparation(plan(&[false])));
    run.take(&Input::Prepared { iteration: 1, result });
    run.end_hooks(1);
    assert!(!run.state.view.is_over());
    assert_eq!(run.state.view.incidents.notices.len(), 1);
}
