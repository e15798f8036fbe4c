//! Checks the invariants of the machine in all short runs and in all reachable states.

pub(super) mod inputs;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::LazyLock,
};

use crate::{
    event::{
        AgentSignal, BreakerCause, Event, IterationEvent, Outcome, RequestedBy, Settings, StopReason, StopRequest,
        Usage, UserCommand, Wait,
    },
    limits::day_limit_reached,
    run::{Phase, RunView},
    testing::rounds,
};

use super::{Effect, Input, LoopState, Step, TimerKind, policy::requested_worker, step, testing};
use inputs::{
    DAY, alphabet, answers, demanding_settings, frugal_settings, plan, reviewed_settings, settings, started,
    started_with, stronger,
};

const STEP_MS: u64 = 1_000;

fn fold(mut state: LoopState, now_ms: u64, events: &[Event]) -> LoopState {
    for event in events {
        state.apply_event(now_ms, event);
    }
    state
}

fn starts_anything(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Prepare { .. } | Effect::StartSession { .. } | Effect::SteerLive { .. } | Effect::Settle { .. } => true,
        Effect::Verify { .. } | Effect::TellGoals { .. } => true,
        Effect::Arm { .. }
        | Effect::ProbeActivity { .. }
        | Effect::ProbeDisks
        | Effect::AnswerPermission { .. }
        | Effect::AnswerQuestions { .. } => true,
        Effect::StartBackground { .. } => true,
        Effect::CancelBackground { .. } | Effect::EndBackground { .. } => false,
        // A hook may follow the end.
        Effect::RunHook { .. } => false,
        Effect::RememberRules { .. } | Effect::ForgetRule { .. } => false,
        Effect::StopSession { .. } | Effect::EndGoals | Effect::RemovePauseFile | Effect::Finish => false,
    })
}

/// Whether something is under way that will bring the machine out of this phase.
fn has_a_way_out(state: &LoopState, effects: &[Effect]) -> bool {
    match &state.view.phase {
        Phase::Idle => false,
        Phase::Preparing { iteration } => {
            effects.contains(&Effect::Prepare { iteration: *iteration }) && armed(state, effects, TimerKind::Deadline)
        }
        Phase::Running { iteration, .. } => {
            effects.contains(&Effect::StartSession { iteration: *iteration })
                && [TimerKind::IterationTimeout, TimerKind::Idle]
                    .iter()
                    .all(|kind| armed(state, effects, *kind))
        }
        Phase::Cancelling { .. } => {
            let stops = |effect: &Effect| matches!(effect, Effect::StopSession { .. });
            effects.iter().any(stops) && armed(state, effects, TimerKind::Deadline)
        }
        Phase::Settling { iteration, .. } => {
            effects.contains(&Effect::Settle { iteration: *iteration }) && armed(state, effects, TimerKind::Deadline)
        }
        Phase::Verifying { iteration, .. } => {
            let verifies = |effect: &Effect| matches!(effect, Effect::Verify { iteration: of, .. } if of == iteration);
            effects.iter().any(verifies) && armed(state, effects, TimerKind::Deadline)
        }
        Phase::Waiting { .. } => armed(state, effects, TimerKind::WaitOver),
        Phase::Paused => state.view.is_paused(),
        Phase::Stopped { .. } => effects.contains(&Effect::Finish),
    }
}

fn armed(state: &LoopState, effects: &[Effect], kind: TimerKind) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Arm { timer } => timer.kind == kind && timer.epoch == Some(state.view.epoch),
        _ => false,
    })
}

fn check(before: &LoopState, now_ms: u64, input: &Input, step: &Step) {
    let context = || {
        format!(
            "in {:?} after {input:?}: {:?} {:?}",
            before.view.phase, step.events, step.effects
        )
    };
    // Without events, the fold is the state before. Most inputs have no events, and cloning the state would dominate
    // the cost of this test.
    let is_fold = match &step.events[..] {
        [] => step.state == *before,
        events => step.state == fold(before.clone(), now_ms, events),
    };
    assert!(is_fold, "the state is not the fold {}: {:?}", context(), step.state);
    // Only a message of the user reopens an ended run.
    let answers = matches!(
        input,
        Input::Command {
            command: UserCommand::Steer { .. },
            ..
        }
    );
    if before.view.is_over() && !answers {
        assert!(
            step.events.is_empty() && step.effects.is_empty(),
            "a stopped run moved {}",
            context()
        );
    }
    if step.state.view.is_over() {
        assert!(
            !starts_anything(&step.effects),
            "a stopping run started something {}",
            context()
        );
    }
    if before.view.epoch != step.state.view.epoch {
        assert!(has_a_way_out(&step.state, &step.effects), "no way out {}", context());
    }
    let had_session = matches!(before.view.phase, Phase::Running { .. } | Phase::Cancelling { .. });
    let ended = step
        .events
        .iter()
        .any(|event| matches!(event, Event::Iteration(IterationEvent::Ended { .. })));
    if step
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::StartSession { .. } | Effect::Prepare { .. }))
    {
        assert!(!had_session || ended, "a second session beside the first {}", context());
    }
    if had_session && step.state.view.is_over() && !ended {
        assert!(
            step.effects.contains(&Effect::StopSession { at_once: true }),
            "an agent left running {}",
            context()
        );
    }
    if let Some(StopReason::Done { .. }) = step.state.view.stop_reason()
        && !before.view.is_over()
    {
        assert_eq!(step.state.view.plan.open(), 0, "done with open tasks {}", context());
        let lost = step.state.view.messages.iter().any(|steering| steering.is_queued());
        assert!(!lost, "done with a message that nobody saw {}", context());
        assert!(
            step.state.view.missing.is_empty(),
            "done with vanished tasks {}",
            context()
        );
        let goals = &step.state.view.settings.goals;
        let passed = step
            .state
            .view
            .iterations
            .latest_assessment()
            .goals
            .iter()
            .filter(|result| result.passed)
            .count();
        assert_eq!(passed, goals.len(), "done without all goals {}", context());
    }
    if matches!(before.view.phase, Phase::Verifying { .. }) && step.state.view.is_over() {
        assert!(
            step.effects.contains(&Effect::EndGoals),
            "goals left running {}",
            context()
        );
    }
    for event in &step.events {
        if let Event::Iteration(IterationEvent::Started {
            adapter, model, task, ..
        }) = event
        {
            let latest = before.view.iterations.latest();
            let is_tried = latest.is_some_and(|latest| latest.task == *task && latest.closed == 0);
            let is_strong = *model == stronger().model && *adapter == stronger().adapter;
            assert!(!is_strong || is_tried, "handed on without an attempt {}", context());
            let work = task.as_ref().and_then(|task| before.view.iterations.work.get(task));
            let used_up = work.and_then(|work| work.limit_reached(&before.view.settings.limits));
            assert_eq!(used_up, None, "a task goes on beyond its limit {}", context());
        }
        if let Event::Iteration(IterationEvent::PreparationStarted { .. }) = event {
            let used_up = day_limit_reached(&step.state.view, now_ms);
            assert_eq!(used_up, None, "an iteration beyond the limit of the day {}", context());
        }
    }
    assert!(
        step.events
            .iter()
            .all(|event| !matches!(event, Event::Iteration(IterationEvent::PreparationStarted { .. })))
            || !step.state.view.is_paused(),
        "an iteration starts in a pause {}",
        context()
    );
}

/// The parts of a state that determine further decisions. Times, and counters beyond their limits, are left out.
fn essence(state: &LoopState) -> String {
    let phase = match &state.view.phase {
        Phase::Waiting { wait, .. } => format!("{wait:?}"),
        Phase::Running { live_steering, .. } => format!("running {live_steering}"),
        Phase::Cancelling { reason, .. } => format!("cancelling {reason:?}"),
        Phase::Settling {
            outcome: Outcome::Failed { problem },
            ..
        } => {
            format!("settling {:?}", std::mem::discriminant(&problem.kind))
        }
        Phase::Settling { outcome, .. } => format!("settling {outcome:?}"),
        Phase::Preparing { .. } => "preparing".to_owned(),
        Phase::Verifying {
            iteration,
            outcome,
            ticks,
        } => format!("verifying {} {ticks} {outcome:?}", *iteration == 0),
        Phase::Stopped { .. } => "stopped".to_owned(),
        phase @ (Phase::Idle | Phase::Paused) => format!("{phase:?}"),
    };
    let due = state
        .view
        .messages
        .iter()
        .find(|steering| steering.is_due())
        .map(|steering| steering.kind);
    let session = matches!(state.view.phase, Phase::Running { .. } | Phase::Cancelling { .. }).then(|| {
        let problem = state
            .internal
            .problem
            .as_ref()
            .map(|problem| std::mem::discriminant(&problem.kind));
        let prompted = !state.internal.prompted.is_empty();
        // The pending error only matters if the agent hangs without another failure.
        let pending_error = state.internal.pending_error.is_some()
            && state.internal.problem.is_none()
            && state.internal.verdict.is_none();
        (state.internal.verdict, problem, pending_error, prompted)
    });
    format!(
        "{} {phase} {session:?} {} {} {:?} {} {} {} {due:?} {} {} {} {} {}",
        state.view.settings.goals.len(),
        state.view.paused_by_file,
        state.view.paused_by_user,
        state.view.stop.map(|stop| stop.request),
        state.internal.complete_streak.min(2),
        state.view.iterations.counted.min(3),
        state.view.plan.open(),
        breaker(state),
        state.view.missing.is_empty(),
        state.view.blocks.is_empty(),
        state.internal.looked,
        state.view.limited.len(),
    ) + match requested_worker(state) == stronger() {
        true => " handed on",
        false => "",
    } + &spending(state)
        + &reviews(state)
}

/// The state of the breaker, and the count of equal goal failures up to the value that opens the breaker.
fn breaker(state: &LoopState) -> String {
    let breaker = &state.view.breaker;
    let most = state.view.settings.breaker.same_error.map_or(0, |half| half * 2);
    let refused = breaker.same_goal_failure.min(most);
    format!("{:?} {} {refused}", breaker.state, breaker.cooled)
}

/// The spending that the limits of task and day refer to, in units of one usage report.
fn spending(state: &LoopState) -> String {
    let limits = &state.view.settings.limits;
    if limits.per_day.is_none() {
        return String::new();
    }
    let spending = &state.view.spending;
    let reports = |usage: &Usage, most: u64| (usage.tokens().unwrap_or(0) / 60).min(most);
    let on_task = state
        .view
        .iterations
        .work
        .get("second")
        .map(|work| reports(&work.usage, 3));
    let today = reports(&spending.today(), 2);
    let is_first_day = spending.day == Some(DAY);
    format!(" {is_first_day} {today} {} {on_task:?}", spending.extra > 0)
}

/// The parts of a state that concern reviews.
fn reviews(state: &LoopState) -> String {
    if state.view.settings.review.is_none() {
        return String::new();
    }
    let answer = state.internal.stated.review.as_ref().map(std::mem::discriminant);
    let work = state.view.iterations.latest_work();
    let work = work.map(|work| (work.closed > 0, work.outcome == Some(Outcome::Completed)));
    let reviews = &state.internal.reviews;
    let turn = (reviews.is_due, reviews.is_over, reviews.failures, reviews.cut_off);
    format!(
        "{:?} {answer:?} {work:?} {:?} {turn:?}",
        state.view.role, reviews.subject
    )
}

/// The walk through all reachable states.
struct StateWalk {
    /// Every reached state, with the time at which it was reached.
    reached: Vec<(LoopState, u64)>,
    /// Number of checked steps.
    steps: usize,
}

/// A start of the walk. Starts with and without goals, or with a reviewer, have no states in common.
struct WalkStart {
    settings: fn() -> Settings,
    /// The minimum number of states and steps. Fewer would prove less.
    states: usize,
    steps: usize,
}

/// The first starts have few states. The others are only used if `RALPH_TEST_ROUNDS` says so, as in `.ci/nightly`.
const STARTS: [WalkStart; 4] = [
    WalkStart {
        settings: frugal_settings,
        states: 714,
        steps: 14_280,
    },
    WalkStart {
        settings: reviewed_settings,
        states: 6_437,
        steps: 120_977,
    },
    WalkStart {
        settings: demanding_settings,
        states: 32_253,
        steps: 1_290_120,
    },
    WalkStart {
        settings,
        states: 162_761,
        steps: 8_730_474,
    },
];

fn starts() -> &'static [WalkStart] {
    &STARTS[..rounds(2).min(STARTS.len())]
}

/// Shared by all tests that examine every state, since the walk is most of their cost.
static WALK: LazyLock<StateWalk> = LazyLock::new(|| {
    let walk = |start: &'static WalkStart| {
        std::thread::spawn(|| {
            let walk = walk_from((start.settings)());
            let (states, steps) = (walk.reached.len(), walk.steps);
            assert!(states >= start.states, "{states} states instead of {}", start.states);
            assert!(steps >= start.steps, "{steps} steps instead of {}", start.steps);
            walk
        })
    };
    let walks: Vec<_> = starts().iter().map(walk).collect();
    let walks = walks
        .into_iter()
        .map(|walk| walk.join().expect("every step keeps the promises"));
    walks
        .reduce(|mut all, walk| {
            all.reached.extend(walk.reached);
            all.steps += walk.steps;
            all
        })
        .expect("a start")
});

fn walk_from(settings: Settings) -> StateWalk {
    let mut seen = HashSet::new();
    let mut walk = StateWalk {
        reached: Vec::new(),
        steps: 0,
    };
    let mut queue = VecDeque::from([(started_with(settings), STEP_MS)]);
    while let Some((state, at_ms)) = queue.pop_front() {
        let now_ms = at_ms + STEP_MS;
        // Most inputs have no effect and return the state unchanged, as `check` asserts, so it is reused instead of
        // cloned.
        let mut copy = None;
        for input in alphabet(&state, now_ms) {
            let step = step(copy.take().unwrap_or_else(|| state.clone()), now_ms, &input);
            check(&state, now_ms, &input, &step);
            walk.steps += 1;
            // A step without events reaches no new state. More than one queued message adds no new behaviour.
            if step.events.is_empty() {
                copy = Some(step.state);
            } else if step.state.view.messages.len() <= 1 && seen.insert(essence(&step.state)) {
                queue.push_back((step.state, now_ms));
            }
        }
        walk.reached.push((state, at_ms));
    }
    walk
}

#[test]
fn the_view_of_every_reachable_state_survives_being_serialised() {
    fn survive(states: &[(LoopState, u64)]) {
        // Many states share a view. Equal JSON must mean equal views, and only new JSON is parsed.
        let mut known: HashMap<String, &RunView> = HashMap::new();
        for (state, _) in states {
            let json = serde_json::to_string(&state.view).unwrap();
            if let Some(known) = known.get(&json) {
                assert_eq!(**known, state.view);
                continue;
            }
            assert_eq!(serde_json::from_str::<RunView>(&json).unwrap(), state.view);
            assert!(!json.contains("nonce"), "the promise is in {json}");
            known.insert(json, &state.view);
        }
    }
    let (half, rest) = WALK.reached.split_at(WALK.reached.len() / 2);
    // Two threads share the work, as this is the slowest test.
    std::thread::scope(|scope| {
        scope.spawn(|| survive(half));
        survive(rest);
    });
}

#[test]
fn every_reachable_state_keeps_the_promises_of_the_machine() {
    let phases: HashSet<_> = WALK
        .reached
        .iter()
        .map(|(state, _)| std::mem::discriminant(&state.view.phase))
        .collect();
    if starts().len() == STARTS.len() {
        assert_eq!(phases.len(), 8, "every phase but the idle one is reached");
        let mut ends = WALK.reached.iter().filter_map(|(state, _)| state.view.stop_reason());
        assert!(ends.any(|reason| matches!(
            reason,
            StopReason::BreakerOpen {
                why: BreakerCause::SameGoalFailure { .. }
            }
        )));
    }
    let mut ends = WALK.reached.iter().filter_map(|(state, _)| state.view.stop_reason());
    assert!(ends.any(|reason| matches!(reason, StopReason::TaskLimitReached { .. })));
    for wanted in [Wait::DayBudget, Wait::Headroom, Wait::Disk] {
        let mut waits = WALK.reached.iter().map(|(state, _)| &state.view.phase);
        assert!(waits.any(|phase| matches!(phase, Phase::Waiting { wait, .. } if *wait == wanted)));
    }
}

#[test]
fn every_short_run_keeps_the_promises_of_the_machine() {
    fn extend(state: &LoopState, at_ms: u64, left: u32) {
        let now_ms = at_ms + STEP_MS;
        for input in alphabet(state, now_ms) {
            let step = step(state.clone(), now_ms, &input);
            check(state, now_ms, &input, &step);
            // Inputs without effect reach no new state.
            if left > 1 && (!step.events.is_empty() || !step.effects.is_empty()) {
                extend(&step.state, now_ms, left - 1);
            }
        }
    }
    extend(&started(), STEP_MS, 3);
}

#[test]
fn whatever_answers_a_phase_leads_out_of_it() {
    for (state, now_ms) in WALK.reached.iter() {
        // After the longest wait has ended.
        let now_ms = match state.view.phase {
            Phase::Waiting { until_ms, .. } => until_ms.max(*now_ms),
            _ => *now_ms + 20_000,
        };
        for input in answers(state, now_ms) {
            let next = step(state.clone(), now_ms, &input);
            check(state, now_ms, &input, &next);
            assert_ne!(
                next.state.view.epoch, state.view.epoch,
                "{:?} stays after {input:?}",
                state.view.phase
            );
        }
    }
}

#[test]
fn a_killed_run_recovers_from_every_reachable_state() {
    for (state, now_ms) in WALK.reached.iter().filter(|(state, _)| !state.view.is_over()) {
        let recover = Input::Recover {
            pid: 2,
            settings: Box::new(settings()),
            pause_file: state.view.paused_by_file,
            day: None,
        };
        let recovered = step(state.clone(), *now_ms, &recover);
        check(state, *now_ms, &recover, &recovered);
        assert!(
            has_a_way_out(&recovered.state, &recovered.effects),
            "{:?} became {:?} with {:?}",
            state.view.phase,
            recovered.state.view.phase,
            recovered.effects
        );
        assert!(
            !matches!(
                recovered.state.view.phase,
                Phase::Running { .. } | Phase::Cancelling { .. }
            ),
            "the session did not survive, so neither does its phase"
        );
    }
}

#[test]
fn whatever_happened_two_interrupts_end_the_run() {
    let interrupt = Input::Command {
        command: UserCommand::Stop {
            stop: StopRequest::Graceful,
        },
        by: RequestedBy::Interrupt,
    };
    for (state, now_ms) in WALK.reached.iter() {
        let once = step(state.clone(), *now_ms, &interrupt).state;
        let mut twice = step(once, *now_ms, &interrupt).state;
        if let Phase::Cancelling { iteration, .. } = twice.view.phase {
            let ended = Input::Agent {
                iteration,
                signal: AgentSignal::Ended {
                    exit: None,
                    output_bytes: 0,
                },
            };
            twice = step(twice, *now_ms, &ended).state;
        }
        assert!(
            twice.view.is_over(),
            "{:?} survived two interrupts as {:?}",
            state.view.phase,
            twice.view.phase
        );
    }
}

#[test]
fn an_agent_that_stays_after_its_turn_is_ended_and_its_turn_counts() {
    let ready = Input::Prepared {
        iteration: 1,
        result: Ok(testing::preparation(plan(true))),
    };
    let signal = |signal| Input::Agent { iteration: 1, signal };
    let running = step(started(), 2 * STEP_MS, &ready).state;
    let turn_ended = AgentSignal::TurnEnded {
        ok: true,
        message: None,
    };
    let lingering = step(running, 3 * STEP_MS, &signal(turn_ended));
    let timer = lingering
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Arm { timer } if timer.kind == TimerKind::Lingering => Some(*timer),
            _ => None,
        })
        .expect("a timer");
    let ended = step(lingering.state, timer.at_ms, &Input::TimerFired { timer });
    assert!(ended.effects.contains(&Effect::StopSession { at_once: false }));
    let exit = Some(crate::event::Exit::Signal { signal: 15 });
    let gone = AgentSignal::Ended { exit, output_bytes: 0 };
    let settling = step(ended.state, timer.at_ms + 1, &signal(gone)).state;
    assert!(
        matches!(
            &settling.view.phase,
            Phase::Settling {
                outcome: Outcome::Completed,
                ..
            }
        ),
        "{:?}",
        settling.view.phase
    );
}
