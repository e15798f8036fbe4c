//! Tests of ticks that count only once the check of their task has passed.

use crate::{
    event::{
        BreakerLimits, Claim, ClaimEvent, Event, Exit, Goal, GoalFailure, GoalResult, Missing, PlanSnapshot, Settings,
        StopReason,
    },
    run::Phase,
};

use super::{Effect, Input, LoopState, Settlement, Statement, Step, Verification, gate_tests::goal, step, testing};

/// A plan of a task with a check, and of one without.
fn settings() -> Settings {
    let check = Goal {
        name: CHECK.to_owned(),
        timeout_ms: 1_000,
        task: Some("add".to_owned()),
        ..Goal::default()
    };
    let goals = vec![
        Goal {
            name: "tests".to_owned(),
            timeout_ms: 1_000,
            ..Goal::default()
        },
        check,
    ];
    Settings {
        goals,
        ..Settings::default()
    }
}

fn plan(add: bool, other: bool) -> PlanSnapshot {
    PlanSnapshot {
        tasks: vec![testing::task("add", add), testing::task("other", other)],
    }
}

fn result(name: &str, passed: bool) -> GoalResult {
    let exit = Exit::Code { code: 1 };
    GoalResult {
        name: name.to_owned(),
        why: (!passed).then_some(GoalFailure::Exited { exit }),
        ..goal(passed, None)
    }
}

struct Run {
    state: LoopState,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

impl Run {
    fn with(settings: Settings) -> Self {
        let mut run = Self {
            state: LoopState::default(),
            events: Vec::new(),
            effects: Vec::new(),
        };
        run.take(&Input::Start(Box::new(testing::start(settings))));
        run
    }

    fn take(&mut self, input: &Input) {
        let Step { state, events, effects } = step(std::mem::take(&mut self.state), 1_000, input);
        (self.state, self.events, self.effects) = (state, events, effects);
    }

    /// Runs an iteration that leaves the plan as `found`, with ticks that are not checked yet.
    fn iterate(&mut self, claims: &[Claim], found: PlanSnapshot, unchecked: &[&str]) {
        let iteration = self.state.view.iterations.number + 1;
        let result = Ok(testing::preparation((*self.state.view.plan).clone()));
        let result = match self.state.view.plan.tasks.is_empty() {
            true => Ok(testing::preparation(plan(false, false))),
            false => result,
        };
        self.take(&Input::Prepared { iteration, result });
        let statement = Statement {
            claims: claims.to_vec(),
            ..Statement::default()
        };
        self.take(&Input::AgentStated { iteration, statement });
        for signal in testing::agent_end() {
            self.take(&Input::Agent { iteration, signal });
        }
        let settlement = Box::new(Settlement {
            claims: claims.to_vec(),
            unchecked: unchecked.iter().map(ToString::to_string).collect(),
            ..Settlement::from_plan(Ok(found), 0.5)
        });
        self.take(&Input::Settled { iteration, settlement });
    }

    fn verify(&mut self, results: Vec<GoalResult>, found: PlanSnapshot) {
        let verification = Box::new(Verification {
            notices: Vec::new(),
            results,
            trial: None,
            broken: None,
            mutants: Vec::new(),
            plan: Ok(found),
            vanished: Vec::new(),
            added: Vec::new(),
            random: 0.5,
        });
        let iteration = self.state.view.iterations.number;
        self.take(&Input::Verified {
            iteration,
            verification,
        });
    }

    /// The goals that are being run, and whether they are checks of ticks only.
    fn running(&self) -> (Vec<&str>, bool) {
        let ticks = matches!(self.state.view.phase, Phase::Verifying { ticks: true, .. });
        let goals = self.state.view.running_goals();
        (goals.map(|goal| goal.name.as_str()).collect(), ticks)
    }

    fn refused(&self) -> Vec<Missing> {
        let mut refused = self.events.iter().filter_map(|event| match event {
            Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
            _ => None,
        });
        refused.next().unwrap_or_default()
    }
}

const CHECK: &str = "check of add";

fn is_failed_check(reason: &Missing) -> bool {
    matches!(reason, Missing::GoalFailed { goal, .. } if *goal == CHECK)
}

#[test]
fn a_tick_whose_check_fails_is_refused_and_its_task_is_still_the_current_one() {
    let mut run = Run::with(settings());
    run.iterate(&[], plan(false, false), &[CHECK]);
    assert_eq!(run.running(), (vec![CHECK], true));
    let verify = |effect: &&Effect| matches!(effect, Effect::Verify { is_claim: false, .. });
    assert_eq!(run.effects.iter().filter(verify).count(), 1);
    run.verify(vec![result(CHECK, false)], plan(false, false));
    let refused = run.refused();
    assert!(refused.len() == 1 && is_failed_check(&refused[0]), "{refused:?}");
    assert_eq!(run.state.task_next().map(|task| task.text.as_str()), Some("add"));
    assert_eq!(run.state.view.iterations.latest().map(|row| row.closed), Some(0));
    assert!(matches!(run.state.view.phase, Phase::Preparing { iteration: 2 }));
}

#[test]
fn a_tick_whose_check_passes_counts_for_its_iteration() {
    let mut run = Run::with(settings());
    run.iterate(&[], plan(false, false), &[CHECK]);
    run.verify(vec![result(CHECK, true)], plan(true, false));
    assert_eq!(run.refused(), []);
    assert_eq!(run.state.view.iterations.latest().map(|row| row.closed), Some(1));
    assert_eq!(run.state.task_next().map(|task| task.text.as_str()), Some("other"));
}

#[test]
fn the_last_tick_is_followed_by_all_goals_and_checks() {
    let mut run = Run::with(settings());
    run.iterate(&[], plan(false, true), &[CHECK]);
    run.verify(vec![result(CHECK, true)], plan(true, true));
    assert_eq!(run.running(), (vec!["tests", CHECK], false));
    let claims: Vec<Claim> = run.state.view.iterations.latest_assessment().claims.clone();
    assert_eq!(claims, [Claim::PlanComplete]);
    run.verify(vec![result("tests", true), result(CHECK, true)], plan(true, true));
    assert!(matches!(run.state.view.stop_reason(), Some(StopReason::Done { .. })));
}

#[test]
fn a_check_that_fails_at_the_end_keeps_the_run_from_being_done() {
    let mut run = Run::with(settings());
    run.iterate(&[Claim::Promise], plan(true, true), &[]);
    assert_eq!(run.running(), (vec!["tests", CHECK], false));
    run.verify(vec![result("tests", true), result(CHECK, false)], plan(false, true));
    let refused = run.refused();
    // The open task follows from the check and is no reason of its own.
    assert!(refused.len() == 1 && is_failed_check(&refused[0]), "{refused:?}");
    assert!(!run.state.view.is_over());
}

#[test]
fn a_claim_with_a_failed_check_and_another_open_task_lacks_both() {
    let mut run = Run::with(settings());
    run.iterate(&[Claim::Promise], plan(false, false), &[CHECK]);
    run.verify(vec![result(CHECK, false)], plan(false, false));
    let refused = run.refused();
    assert!(matches!(refused[0], Missing::TasksOpen { open: 2, .. }), "{refused:?}");
    assert!(is_failed_check(&refused[1]), "{refused:?}");
}

#[test]
fn checks_of_open_tasks_are_not_run_with_the_goals() {
    let mut settings = settings();
    settings.goals_when = crate::event::GoalsWhen::Iteration;
    let mut run = Run::with(settings);
    run.iterate(&[], plan(false, true), &[]);
    assert_eq!(run.running(), (vec!["tests"], false));
    run.verify(vec![result("tests", true)], plan(false, true));
    assert!(matches!(run.state.view.phase, Phase::Preparing { iteration: 2 }));
}

#[test]
fn a_killed_ralph_checks_the_same_ticks_again() {
    let mut run = Run::with(settings());
    run.iterate(&[], plan(false, true), &[CHECK]);
    let settings = Box::new(settings());
    run.take(&Input::Recover {
        pid: 2,
        settings,
        pause_file: false,
        day: None,
    });
    assert_eq!(run.running(), (vec![CHECK], true));
}

#[test]
fn an_agent_that_ticks_for_ever_is_stopped() {
    let mut settings = settings();
    settings.breaker = BreakerLimits {
        same_error: Some(2),
        ..BreakerLimits::default()
    };
    let mut run = Run::with(settings);
    for _ in 0..10 {
        if run.state.view.is_over() {
            break;
        }
        run.iterate(&[], plan(false, true), &[CHECK]);
        run.verify(vec![result(CHECK, false)], plan(false, true));
    }
    assert!(
        matches!(run.state.view.stop_reason(), Some(StopReason::BreakerOpen { .. })),
        "{:?}",
        run.state.view.phase
    );
}
