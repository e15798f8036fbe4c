//! Every short run of the machine, and every state it can reach, checked against what must always hold.

use std::{
    collections::{HashSet, VecDeque},
    sync::LazyLock,
};

use crate::{
    command::UserCommand,
    event::{
        AgentSignal, Backoff, BreakerLimits, Claim, Event, Goal, GoalResult, Limits, Outcome, PlanSnapshot, PlanTask,
        Problem, ProblemKind, Record, RequestedBy, Settings, SteeringKind, StopReason, StopRequest,
    },
};

use super::{
    Effect, Input, LoopState, Phase, Preparation, Refusal, Settlement, Start, Step, Timer, TimerKind, Verification,
    step,
};

const STEP_MS: u64 = 1_000;

fn plan(open: bool) -> PlanSnapshot {
    let task = |text: &str, done| PlanTask {
        text: text.to_owned(),
        done,
        line: 1,
        depth: 0,
    };
    PlanSnapshot {
        tasks: vec![task("first", true), task("second", !open)],
    }
}

fn settings() -> Settings {
    Settings {
        adapter: "fake".to_owned(),
        limits: Limits {
            max_iterations: Some(3),
            max_time_ms: Some(1_000_000),
            iteration_timeout_ms: Some(60_000),
            idle_timeout_ms: Some(10_000),
            calls_per_hour: Some(2),
            max_tokens: Some(100),
            ..Limits::default()
        },
        backoff: Backoff {
            base_ms: 5_000,
            max_ms: 300_000,
            jitter: 0.1,
        },
        breaker: BreakerLimits {
            no_progress: None,
            same_error: None,
            cooldown_ms: 9_000,
        },
        ..Settings::default()
    }
}

/// As `settings`, and with all that has to do with being done and with other agents.
fn demanding_settings() -> Settings {
    let goal = Goal {
        name: "tests".to_owned(),
        command: "true".to_owned(),
        target: None,
        timeout_ms: 1_000,
    };
    Settings {
        goals: vec![goal],
        fallback: vec!["other".to_owned()],
        breaker: BreakerLimits {
            no_progress: Some(1),
            same_error: Some(1),
            cooldown_ms: 9_000,
        },
        limits: Limits {
            max_iterations: Some(2),
            idle_timeout_ms: Some(10_000),
            iteration_timeout_ms: Some(60_000),
            ..Limits::default()
        },
        ..settings()
    }
}

fn started() -> LoopState {
    started_with(settings())
}

fn started_with(settings: Settings) -> LoopState {
    let start = Start {
        project: "/project".into(),
        pid: 1,
        settings,
        promise: "nonce".to_owned(),
        pause_file: false,
    };
    step(LoopState::default(), STEP_MS, &Input::Start(Box::new(start))).state
}

fn settled(iteration: u32, plan: Result<PlanSnapshot, String>, claims: Vec<Claim>) -> Input {
    let settlement = Settlement {
        plan,
        checkpoint: None,
        changes: None,
        totals: None,
        claims,
        vanished: Vec::new(),
        added: Vec::new(),
        blocked: None,
        question: None,
        notices: Vec::new(),
        random: 0.5,
    };
    Input::Settled {
        iteration,
        settlement: Box::new(settlement),
    }
}

/// The settlement of an agent that takes a task out of the plan, or says that it is blocked.
fn troubled(iteration: u32, open: bool, vanished: &[&str], blocked: Option<&str>) -> Input {
    let Input::Settled { mut settlement, .. } = settled(iteration, Ok(plan(open)), vec![Claim::Promise]) else {
        unreachable!("a settlement was made")
    };
    settlement.vanished = vanished.iter().map(|task| (*task).to_owned()).collect();
    settlement.blocked = blocked.map(str::to_owned);
    Input::Settled { iteration, settlement }
}

fn verified(iteration: u32, passed: bool) -> Input {
    let result = GoalResult {
        name: "tests".to_owned(),
        passed,
        exit: None,
        score: None,
        target: None,
        duration_ms: 5,
        why: String::new(),
        tail: "output".to_owned(),
    };
    let verification = Verification {
        results: vec![result],
        plan: Ok(plan(false)),
        vanished: Vec::new(),
        added: Vec::new(),
        random: 0.5,
    };
    Input::Verified {
        iteration,
        verification: Box::new(verification),
    }
}

/// Goals that pass and, while they run, do something to the plan.
fn verified_with_another_plan(iteration: u32, found: Result<PlanSnapshot, String>, vanished: &[&str]) -> Input {
    let Input::Verified { mut verification, .. } = verified(iteration, true) else {
        unreachable!("a verification was made")
    };
    verification.plan = found;
    verification.vanished = vanished.iter().map(|task| (*task).to_owned()).collect();
    Input::Verified {
        iteration,
        verification,
    }
}

fn problem(kind: ProblemKind) -> AgentSignal {
    AgentSignal::Problem {
        problem: Problem {
            kind,
            text: "went wrong".to_owned(),
        },
    }
}

/// All inputs that may reach the machine in `state`: the ones its phase waits for, late and early ones, the user's.
fn alphabet(state: &LoopState, now_ms: u64) -> Vec<Input> {
    let iteration = match state.phase {
        Phase::Preparing { iteration } | Phase::Running { iteration, .. } | Phase::Cancelling { iteration, .. } => {
            iteration
        }
        Phase::Settling { iteration, .. } | Phase::Verifying { iteration, .. } => iteration,
        Phase::Idle | Phase::Waiting { .. } | Phase::Paused | Phase::Stopped(_) => state.iteration,
    };
    let prepared = |open, live_steering| Input::Prepared {
        iteration,
        result: Ok(Preparation {
            plan: plan(open),
            checkpoint: None,
            prompt_bytes: 10,
            overhead_bytes: 5,
            delivered: state
                .steering
                .iter()
                .filter(|steering| steering.is_due())
                .map(|steering| steering.id)
                .collect(),
            live_steering,
            notices: Vec::new(),
        }),
    };
    let signal = |signal| Input::Agent { iteration, signal };
    let user = |command| Input::Command {
        command,
        by: RequestedBy::User,
    };
    let stop = |stop, by| Input::Command {
        command: UserCommand::Stop { stop },
        by,
    };
    let steer = |kind| {
        user(UserCommand::Steer {
            kind,
            text: "listen".to_owned(),
        })
    };
    let timer = |kind, epoch| Input::TimerFired {
        timer: Timer {
            kind,
            epoch,
            at_ms: now_ms,
        },
    };
    let usage = crate::event::Usage {
        input_tokens: Some(60),
        ..Default::default()
    };
    let mut inputs = vec![
        prepared(true, false),
        prepared(true, true),
        prepared(false, false),
        Input::Prepared {
            iteration,
            result: Err(Refusal::Plan { why: "gone".to_owned() }),
        },
        Input::Prepared {
            iteration: iteration + 7,
            result: Err(Refusal::State { why: "full".to_owned() }),
        },
        signal(AgentSignal::Usage { usage }),
        signal(AgentSignal::Said { text: "hm".to_owned() }),
        signal(AgentSignal::Retrying {
            attempt: Some(1),
            of: Some(5),
            why: "slow down".to_owned(),
            kind: Some(ProblemKind::RateLimited { until_ms: None }),
        }),
        signal(AgentSignal::TurnEnded {
            ok: true,
            message: None,
        }),
        signal(AgentSignal::TurnEnded {
            ok: false,
            message: None,
        }),
        signal(AgentSignal::Ended {
            exit: None,
            output_bytes: 1,
        }),
        Input::Agent {
            iteration: iteration + 1,
            signal: AgentSignal::Ended {
                exit: None,
                output_bytes: 0,
            },
        },
        settled(iteration, Ok(plan(true)), Vec::new()),
        settled(iteration, Ok(plan(true)), vec![Claim::DoneFile, Claim::Promise]),
        settled(iteration, Ok(plan(false)), Vec::new()),
        settled(iteration, Err("plan is gone".to_owned()), vec![Claim::DoneFile]),
        Input::ActivityProbed {
            iteration,
            quiet_since_ms: now_ms,
        },
        Input::ActivityProbed {
            iteration,
            quiet_since_ms: now_ms.saturating_sub(10_000),
        },
        timer(TimerKind::IterationTimeout, Some(state.epoch)),
        timer(TimerKind::Idle, Some(state.epoch)),
        timer(TimerKind::Lingering, Some(state.epoch)),
        timer(TimerKind::WaitOver, Some(state.epoch)),
        timer(TimerKind::WaitOver, Some(state.epoch.saturating_sub(1))),
        timer(TimerKind::MaxTime, None),
        Input::PauseFile { present: true },
        Input::PauseFile { present: false },
        user(UserCommand::Pause),
        user(UserCommand::Resume),
        user(UserCommand::Skip),
        user(UserCommand::RetryNow),
        steer(SteeringKind::Now),
        steer(SteeringKind::Next),
        steer(SteeringKind::Standing),
        stop(StopRequest::AfterIteration, RequestedBy::User),
        stop(StopRequest::InOrder, RequestedBy::Interrupt),
        stop(StopRequest::AtOnce, RequestedBy::Terminate),
    ];
    for kind in [
        ProblemKind::Auth,
        ProblemKind::Network,
        ProblemKind::RateLimited {
            until_ms: Some(now_ms + 50_000),
        },
        ProblemKind::PermissionDenied,
        ProblemKind::ContextOverflow,
    ] {
        inputs.push(signal(problem(kind)));
    }
    inputs.extend(
        state
            .steering
            .iter()
            .map(|steering| user(UserCommand::Withdraw { id: steering.id })),
    );
    inputs.extend(state.steering.iter().map(|steering| Input::Steered {
        iteration,
        id: steering.id,
        taken: true,
    }));
    inputs.extend(state.steering.iter().map(|steering| Input::Steered {
        iteration,
        id: steering.id,
        taken: false,
    }));
    if !state.settings.goals.is_empty() {
        inputs.extend([
            troubled(iteration, false, &["third"], None),
            troubled(iteration, true, &[], Some("which one?")),
            verified(iteration, true),
            verified(iteration, false),
            verified_with_another_plan(iteration, Ok(plan(true)), &[]),
            verified_with_another_plan(iteration, Ok(plan(false)), &["third"]),
            verified_with_another_plan(iteration, Err("plan is gone".to_owned()), &[]),
            user(UserCommand::ResetCircuit),
        ]);
        // Pauses and messages are enumerated without goals: together they would be too many states, and neither knows
        // of the other.
        inputs.retain(|input| match input {
            Input::PauseFile { .. } | Input::Steered { .. } | Input::ActivityProbed { .. } => false,
            Input::Command { command, .. } => match command {
                UserCommand::Steer { .. } | UserCommand::Withdraw { .. } | UserCommand::Pause => false,
                UserCommand::Resume | UserCommand::Skip => false,
                UserCommand::RetryNow | UserCommand::ResetCircuit => true,
                UserCommand::Stop { stop } => *stop == StopRequest::InOrder,
            },
            // One failure that is waited for, one that is not, and one that is worked around.
            Input::Agent {
                signal: AgentSignal::Problem { problem },
                ..
            } => matches!(
                problem.kind,
                ProblemKind::Network | ProblemKind::RateLimited { .. } | ProblemKind::TurnLimit
            ),
            Input::Agent { signal, .. } => !matches!(signal, AgentSignal::Usage { .. }),
            Input::Start(_)
            | Input::Recover { .. }
            | Input::Prepared { .. }
            | Input::Verified { .. }
            | Input::Settled { .. }
            | Input::TimerFired { .. } => true,
        });
    }
    inputs
}

fn fold(mut state: LoopState, now_ms: u64, events: &[Event]) -> LoopState {
    for event in events {
        state.apply(&Record {
            seq: 0,
            at_ms: now_ms,
            event: event.clone(),
        });
    }
    state
}

fn starts_anything(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Prepare { .. } | Effect::StartSession { .. } | Effect::SteerLive { .. } | Effect::Settle { .. } => true,
        Effect::Verify { .. } => true,
        Effect::Arm { .. } | Effect::ProbeActivity { .. } => true,
        Effect::StopSession { .. } | Effect::EndGoals | Effect::RemovePauseFile | Effect::Finish => false,
    })
}

/// Something that is under way and will bring the machine out of this phase.
fn has_a_way_out(state: &LoopState, effects: &[Effect]) -> bool {
    match &state.phase {
        Phase::Idle => false,
        Phase::Preparing { iteration } => effects.contains(&Effect::Prepare { iteration: *iteration }),
        Phase::Running { iteration, .. } => {
            effects.contains(&Effect::StartSession { iteration: *iteration })
                && [TimerKind::IterationTimeout, TimerKind::Idle]
                    .iter()
                    .all(|kind| armed(state, effects, *kind))
        }
        Phase::Cancelling { .. } => effects
            .iter()
            .any(|effect| matches!(effect, Effect::StopSession { .. })),
        Phase::Settling { iteration, .. } => effects.contains(&Effect::Settle { iteration: *iteration }),
        Phase::Verifying { iteration, .. } => effects.contains(&Effect::Verify { iteration: *iteration }),
        Phase::Waiting { .. } => armed(state, effects, TimerKind::WaitOver),
        Phase::Paused => state.is_paused(),
        Phase::Stopped(_) => effects.contains(&Effect::Finish),
    }
}

fn armed(state: &LoopState, effects: &[Effect], kind: TimerKind) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Arm { timer } => timer.kind == kind && timer.epoch == Some(state.epoch),
        _ => false,
    })
}

fn check(before: &LoopState, now_ms: u64, input: &Input, step: &Step) {
    let context = || {
        format!(
            "in {:?} after {input:?}: {:?} {:?}",
            before.phase, step.events, step.effects
        )
    };
    // A fold of nothing is the state before; most inputs mean nothing, and a copy of it costs more than all else here.
    let is_fold = match &step.events[..] {
        [] => step.state == *before,
        events => step.state == fold(before.clone(), now_ms, events),
    };
    assert!(is_fold, "the state is not the fold {}: {:?}", context(), step.state);
    if before.is_stopped() {
        assert!(
            step.events.is_empty() && step.effects.is_empty(),
            "a stopped run moved {}",
            context()
        );
    }
    if step.state.is_stopped() {
        assert!(
            !starts_anything(&step.effects),
            "a stopping run started something {}",
            context()
        );
    }
    if before.epoch != step.state.epoch {
        assert!(has_a_way_out(&step.state, &step.effects), "no way out {}", context());
    }
    let had_session = matches!(before.phase, Phase::Running { .. } | Phase::Cancelling { .. });
    let ended = step
        .events
        .iter()
        .any(|event| matches!(event, Event::IterationEnded { .. }));
    if step
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::StartSession { .. } | Effect::Prepare { .. }))
    {
        assert!(!had_session || ended, "a second session beside the first {}", context());
    }
    if had_session && step.state.is_stopped() && !ended {
        assert!(
            step.effects.contains(&Effect::StopSession { at_once: true }),
            "an agent left running {}",
            context()
        );
    }
    if let Phase::Stopped(StopReason::Done { .. }) = step.state.phase
        && !before.is_stopped()
    {
        assert_eq!(step.state.plan.open(), 0, "done with open tasks {}", context());
        assert!(step.state.missing.is_empty(), "done with vanished tasks {}", context());
        let goals = &step.state.settings.goals;
        let passed = step.state.goals.iter().filter(|result| result.passed).count();
        assert_eq!(passed, goals.len(), "done without all goals {}", context());
    }
    if matches!(before.phase, Phase::Verifying { .. }) && step.state.is_stopped() {
        assert!(
            step.effects.contains(&Effect::EndGoals),
            "goals left running {}",
            context()
        );
    }
    assert!(
        step.events
            .iter()
            .all(|event| !matches!(event, Event::PreparationStarted { .. }))
            || !step.state.is_paused(),
        "an iteration starts in a pause {}",
        context()
    );
}

/// What distinguishes states for the decisions that follow; times and counters beyond their limits do not.
fn essence(state: &LoopState) -> String {
    let phase = match &state.phase {
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
        Phase::Verifying { iteration, outcome } => format!("verifying {} {outcome:?}", *iteration == 0),
        Phase::Stopped(_) => "stopped".to_owned(),
        phase @ (Phase::Idle | Phase::Paused) => format!("{phase:?}"),
    };
    let due = state
        .steering
        .iter()
        .find(|steering| steering.is_due())
        .map(|steering| steering.kind);
    let session = matches!(state.phase, Phase::Running { .. } | Phase::Cancelling { .. }).then(|| {
        let problem = state
            .problem
            .as_ref()
            .map(|problem| std::mem::discriminant(&problem.kind));
        // What it waits for is asked only of an agent that hangs, whatever else it reported before.
        let holdup = state.holdup.is_some() && state.problem.is_none() && state.verdict.is_none();
        (state.verdict, problem, holdup)
    });
    format!(
        "{} {phase} {session:?} {} {} {:?} {} {} {} {due:?} {:?} {} {} {} {}",
        state.settings.goals.len(),
        state.paused_by_file,
        state.paused_by_user,
        state.stop.map(|(stop, _)| stop),
        state.complete_streak.min(2),
        state.counted.min(3),
        state.plan.open(),
        (state.breaker.state, state.breaker.cooled),
        state.missing.is_empty(),
        state.blocks.is_empty(),
        state.looked,
        state.limited.len(),
    )
}

/// Every state that can be reached, each step on the way checked, with the time it was reached at.
///
/// Walked through once for all tests that ask something of every state: it is most of what they cost.
static REACHED: LazyLock<Vec<(LoopState, u64)>> = LazyLock::new(|| {
    // States with goals and without have none in common.
    let demanding = std::thread::spawn(|| reached_from(demanding_settings()));
    let mut reached = reached_from(settings());
    reached.extend(demanding.join().expect("every step keeps the promises"));
    reached
});

fn reached_from(settings: Settings) -> Vec<(LoopState, u64)> {
    let mut seen = HashSet::new();
    let mut reached = Vec::new();
    let mut queue = VecDeque::from([(started_with(settings), STEP_MS)]);
    while let Some((state, at_ms)) = queue.pop_front() {
        let now_ms = at_ms + STEP_MS;
        for input in alphabet(&state, now_ms) {
            let step = step(state.clone(), now_ms, &input);
            check(&state, now_ms, &input, &step);
            // What changed nothing leads nowhere new, and one message at a time distinguishes everything the queue can do.
            let moved = !step.events.is_empty();
            if moved && step.state.steering.len() <= 1 && seen.insert(essence(&step.state)) {
                queue.push_back((step.state, now_ms));
            }
        }
        reached.push((state, at_ms));
    }
    reached
}

#[test]
fn every_reachable_state_keeps_the_promises_of_the_machine() {
    let phases: HashSet<_> = REACHED
        .iter()
        .map(|(state, _)| std::mem::discriminant(&state.phase))
        .collect();
    assert_eq!(phases.len(), 8, "every phase but the idle one is reached");
}

#[test]
fn every_short_run_keeps_the_promises_of_the_machine() {
    fn extend(state: &LoopState, at_ms: u64, left: u32) {
        let now_ms = at_ms + STEP_MS;
        for input in alphabet(state, now_ms) {
            let step = step(state.clone(), now_ms, &input);
            check(state, now_ms, &input, &step);
            // Inputs that mean nothing lead nowhere new.
            if left > 1 && (!step.events.is_empty() || !step.effects.is_empty()) {
                extend(&step.state, now_ms, left - 1);
            }
        }
    }
    extend(&started(), STEP_MS, 3);
}

#[test]
fn a_killed_run_recovers_from_every_reachable_state() {
    for (state, now_ms) in REACHED.iter().filter(|(state, _)| !state.is_stopped()) {
        let recover = Input::Recover {
            pid: 2,
            settings: Box::new(settings()),
            pause_file: state.paused_by_file,
        };
        let recovered = step(state.clone(), *now_ms, &recover);
        check(state, *now_ms, &recover, &recovered);
        assert!(
            has_a_way_out(&recovered.state, &recovered.effects),
            "{:?} became {:?} with {:?}",
            state.phase,
            recovered.state.phase,
            recovered.effects
        );
        assert!(
            !matches!(recovered.state.phase, Phase::Running { .. } | Phase::Cancelling { .. }),
            "the session did not survive, so neither does its phase"
        );
    }
}

#[test]
fn whatever_happened_two_interrupts_end_the_run() {
    let interrupt = Input::Command {
        command: UserCommand::Stop {
            stop: StopRequest::InOrder,
        },
        by: RequestedBy::Interrupt,
    };
    for (state, now_ms) in REACHED.iter() {
        let once = step(state.clone(), *now_ms, &interrupt).state;
        let mut twice = step(once, *now_ms, &interrupt).state;
        if let Phase::Cancelling { iteration, .. } = twice.phase {
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
            twice.is_stopped(),
            "{:?} survived two interrupts as {:?}",
            state.phase,
            twice.phase
        );
    }
}

#[test]
fn an_agent_that_stays_after_its_turn_is_ended_and_its_turn_counts() {
    let ready = Input::Prepared {
        iteration: 1,
        result: Ok(Preparation {
            plan: plan(true),
            checkpoint: None,
            prompt_bytes: 1,
            overhead_bytes: 1,
            delivered: Vec::new(),
            live_steering: false,
            notices: Vec::new(),
        }),
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
            &settling.phase,
            Phase::Settling {
                outcome: Outcome::Completed,
                ..
            }
        ),
        "{:?}",
        settling.phase
    );
}
