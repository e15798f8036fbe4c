//! The initial states and the inputs of the enumeration.

use super::super::{
    Input, LoopState, Preparation, Refusal, Settlement, Start, Statement, Timer, TimerKind, Verification, step, testing,
};
use super::STEP_MS;
use crate::{
    event::{
        AgentCall, AgentSignal, Backoff, BreakerLimits, Claim, Day, DayLimits, Escalation, Findings, Goal, GoalFailure,
        GoalResult, Headroom, Limits, LowDisk, PlanSnapshot, Problem, ProblemKind, RequestedBy, ReviewAnswer,
        ReviewSettings, ReviewWhen, Settings, SteeringKind, StopRequest, TaskLimits, UsageWindow, UserCommand, Wait,
        WindowKind, WindowSample, Worker,
    },
    run::Phase,
};

pub(in crate::machine) fn plan(open: bool) -> PlanSnapshot {
    PlanSnapshot {
        tasks: vec![testing::task("first", true), testing::task("second", !open)],
    }
}

pub(super) fn settings() -> Settings {
    Settings {
        adapter: "fake".to_owned(),
        limits: Limits {
            max_iterations: Some(3),
            max_time_ms: Some(1_000_000),
            iteration_timeout_ms: Some(60_000),
            idle_timeout_ms: Some(10_000),
            calls_per_hour: Some(2),
            max_steps: None,
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

/// The worker that takes over.
pub(super) fn stronger() -> Worker {
    Worker {
        adapter: "fake".to_owned(),
        model: Some("strong".to_owned()),
    }
}

/// As `settings`, with everything that concerns completion and other agents.
pub(super) fn demanding_settings() -> Settings {
    let goal = Goal {
        name: "tests".to_owned(),
        command: "true".to_owned(),
        target: None,
        timeout_ms: 1_000,
        on_edit: true,
        ..Goal::default()
    };
    Settings {
        goals: vec![goal],
        fallback: vec!["other".to_owned()],
        escalation: Escalation {
            steps: vec![stronger()],
            after: 1,
        },
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

/// The day on which every run begins.
pub(super) const DAY: Day = Day {
    from_ms: 0,
    until_ms: 86_400_000,
};

/// As `settings`, with low limits on the spending per task and day.
pub(super) fn frugal_settings() -> Settings {
    Settings {
        headroom: Headroom {
            five_hour: 15,
            ..Headroom::default()
        },
        limits: Limits {
            max_iterations: Some(2),
            max_tokens: None,
            max_time_ms: None,
            calls_per_hour: None,
            per_task: TaskLimits {
                max_tokens: Some(170),
                ..TaskLimits::default()
            },
            per_day: DayLimits {
                max_tokens: Some(100),
                ..DayLimits::default()
            },
            ..settings().limits
        },
        ..settings()
    }
}

/// Settings with a reviewer and as little else as possible.
pub(super) fn reviewed_settings() -> Settings {
    let by = Worker {
        adapter: "other".to_owned(),
        model: None,
    };
    Settings {
        review: Some(ReviewSettings {
            by,
            when: ReviewWhen::Task,
            rounds: 1,
        }),
        goals: demanding_settings().goals,
        limits: Limits {
            max_iterations: Some(2),
            idle_timeout_ms: Some(10_000),
            iteration_timeout_ms: Some(60_000),
            ..Limits::default()
        },
        ..settings()
    }
}

fn is_frugal(state: &LoopState) -> bool {
    !state.view.settings.limits.per_day.is_none()
}

/// Whether an input can affect a review.
fn concerns_reviews(input: &Input) -> bool {
    match input {
        Input::Prepared { iteration, result } => *iteration < 7 && !matches!(result, Err(Refusal::Plan { .. })),
        Input::Agent { signal, .. } => match signal {
            AgentSignal::TurnEnded { ok, .. } => *ok,
            AgentSignal::Problem { problem } => problem.kind == ProblemKind::Network,
            signal => matches!(signal, AgentSignal::Ended { .. }),
        },
        Input::Settled { settlement, .. } => settlement.claims.is_empty() && settlement.vanished.is_empty(),
        Input::Verified { verification, .. } => verification.plan.is_ok() && verification.vanished.is_empty(),
        Input::TimerFired { timer } => matches!(timer.kind, TimerKind::IterationTimeout | TimerKind::WaitOver),
        _ => false,
    }
}

/// Inputs that occur only during a review: answers of a reviewer, and actions of the user.
fn review_inputs(state: &LoopState, iteration: u32) -> Vec<Input> {
    let findings = Findings {
        found: vec!["a stub".into()].into(),
        more: 0,
    };
    let stated = |review| Input::AgentStated {
        iteration,
        statement: Statement {
            review: Some(review),
            ..Statement::default()
        },
    };
    let user = |command| Input::Command {
        command,
        by: RequestedBy::User,
    };
    let mut inputs = vec![user(UserCommand::Skip)];
    if !state.view.role.is_work() {
        inputs.extend([
            stated(ReviewAnswer::Approved),
            stated(ReviewAnswer::Findings { findings }),
        ]);
    }
    inputs
}

pub(in crate::machine) fn started() -> LoopState {
    started_with(settings())
}

pub(in crate::machine) fn started_with(settings: Settings) -> LoopState {
    let is_limited = !settings.limits.per_day.is_none();
    let start = Start {
        day: is_limited.then_some(DAY),
        ..testing::start(settings)
    };
    step(LoopState::default(), STEP_MS, &Input::Start(Box::new(start))).state
}

pub(super) fn settled(iteration: u32, plan: Result<PlanSnapshot, String>, claims: Vec<Claim>) -> Input {
    let settlement = Settlement {
        claims,
        ..Settlement::from_plan(plan, 0.5)
    };
    Input::Settled {
        iteration,
        settlement: Box::new(settlement),
    }
}

/// The settlement of an iteration that removed tasks from the plan, or reports that it is blocked.
pub(super) fn troubled(iteration: u32, open: bool, vanished: &[&str], blocked: Option<&str>) -> Input {
    let Input::Settled { mut settlement, .. } = settled(iteration, Ok(plan(open)), vec![Claim::Promise]) else {
        unreachable!("a settlement was made")
    };
    settlement.vanished = vanished.iter().map(|task| (*task).to_owned()).collect();
    settlement.blocked = blocked.map(str::to_owned);
    Input::Settled { iteration, settlement }
}

fn checked(passed: bool) -> GoalResult {
    GoalResult {
        duration_ms: 5,
        why: (!passed).then_some(GoalFailure::NoNumber),
        ..testing::goal_result("tests", passed)
    }
}

pub(super) fn verified(iteration: u32, passed: bool) -> Input {
    let verification = Verification {
        notices: Vec::new(),
        results: vec![checked(passed)],
        trial: None,
        broken: None,
        mutants: Vec::new(),
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

/// Passing goals that change the plan while they run.
pub(super) fn verified_with_another_plan(
    iteration: u32,
    found: Result<PlanSnapshot, String>,
    vanished: &[&str],
) -> Input {
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

pub(super) fn problem(kind: ProblemKind) -> AgentSignal {
    AgentSignal::Problem {
        problem: Problem::said(kind, "went wrong"),
    }
}

/// All inputs that may reach the machine in `state`: those that its phase waits for, late and early ones, and the
/// user's commands.
pub(super) fn alphabet(state: &LoopState, now_ms: u64) -> Vec<Input> {
    let iteration = match state.view.phase {
        Phase::Preparing { iteration } | Phase::Running { iteration, .. } | Phase::Cancelling { iteration, .. } => {
            iteration
        }
        Phase::Settling { iteration, .. } | Phase::Verifying { iteration, .. } => iteration,
        Phase::Idle | Phase::Waiting { .. } | Phase::Paused | Phase::Stopped { .. } => state.view.iterations.number,
    };
    let prepared = |open, live_steering| Input::Prepared {
        iteration,
        result: Ok(Preparation {
            unread: None,
            plan: plan(open),
            checkpoint: None,
            prompt_bytes: 10,
            overhead_bytes: 5,
            delivered: state
                .view
                .messages
                .iter()
                .filter(|steering| steering.is_due())
                .map(|steering| steering.id)
                .collect(),
            live_steering,
            windows: Vec::new(),
            leftovers: Vec::new(),
            notices: Vec::new(),
        }),
    };
    let held = || {
        let window = UsageWindow {
            kind: WindowKind::FiveHour,
            used_percent: 90,
            resets_ms: now_ms + 3_600_000,
            length_ms: 18_000_000,
        };
        match prepared(true, false) {
            Input::Prepared {
                iteration,
                result: Ok(preparation),
            } => Input::Prepared {
                iteration,
                result: Ok(Preparation {
                    windows: vec![WindowSample { at_ms: now_ms, window }],
                    ..preparation
                }),
            },
            other => other,
        }
    };
    let full = Input::Prepared {
        iteration,
        result: Err(Refusal::Disk {
            low: LowDisk {
                path: "/tmp".into(),
                free_bytes: 1,
                least_bytes: 2,
            },
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
            iteration,
            result: Err(Refusal::Internal),
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
        Input::AgentStated {
            iteration,
            statement: Statement {
                claims: vec![Claim::Promise],
                ..Statement::default()
            },
        },
        Input::AgentCalled {
            iteration,
            call: AgentCall::Claimed {
                reasons: Vec::new().into(),
            },
        },
        Input::EditsChecked {
            iteration,
            results: vec![checked(false)],
        },
        Input::IterationChecked {
            iteration,
            results: vec![checked(false)],
        },
        Input::BoxesToggled {
            iteration,
            toggled: vec![1],
        },
        Input::OutputSeen { iteration },
        Input::DoneFileFound { iteration },
        settled(iteration, Ok(plan(true)), Vec::new()),
        settled(iteration, Ok(plan(true)), vec![Claim::DoneFile, Claim::Promise]),
        settled(iteration, Ok(plan(false)), Vec::new()),
        settled(iteration, Err("plan is gone".to_owned()), vec![Claim::DoneFile]),
        Input::ActivityProbed { iteration, quiet_ms: 0 },
        Input::ActivityProbed {
            iteration,
            quiet_ms: 10_000,
        },
        Input::ClockMoved { gap_ms: 7_200_000 },
        Input::ClockMoved { gap_ms: -7_200_000 },
        timer(TimerKind::IterationTimeout, Some(state.view.epoch)),
        timer(TimerKind::Idle, Some(state.view.epoch)),
        timer(TimerKind::Lingering, Some(state.view.epoch)),
        timer(TimerKind::Deadline, Some(state.view.epoch)),
        timer(TimerKind::WaitOver, Some(state.view.epoch)),
        timer(TimerKind::WaitOver, Some(state.view.epoch.saturating_sub(1))),
        timer(TimerKind::MaxTime, None),
        timer(TimerKind::TimeWarning, None),
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
        user(UserCommand::WithdrawStop),
        stop(StopRequest::Graceful, RequestedBy::Interrupt),
        stop(StopRequest::Immediate, RequestedBy::Terminate),
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
            .view
            .messages
            .iter()
            .map(|steering| user(UserCommand::Withdraw { id: steering.id })),
    );
    inputs.extend(state.view.messages.iter().map(|steering| {
        signal(AgentSignal::MessageAnswered {
            id: steering.id,
            taken: true,
            text: None,
        })
    }));
    inputs.extend(state.view.messages.iter().map(|steering| Input::NotSteered {
        iteration,
        id: steering.id,
    }));
    if !state.view.settings.goals.is_empty() {
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
        // Pauses and messages are enumerated without goals: they are independent, and the combination would have too
        // many states.
        inputs.retain(|input| match input {
            Input::PauseFile { .. } | Input::NotSteered { .. } | Input::ActivityProbed { .. } => false,
            Input::DisksProbed { .. } => false,
            Input::PermissionRequested { .. } | Input::PermissionRuled { .. } => false,
            Input::Command { command, .. } => match command {
                UserCommand::Steer { .. } | UserCommand::Withdraw { .. } | UserCommand::Pause => false,
                UserCommand::Resume | UserCommand::Skip | UserCommand::Answer { .. } | UserCommand::Forget { .. } => {
                    false
                }
                UserCommand::WaitForAnswer { .. } => false,
                UserCommand::WithdrawStop | UserCommand::SetPermissionMode { .. } | UserCommand::SetLimits { .. } => {
                    false
                }
                UserCommand::SetTaskAside { .. } | UserCommand::TakeTaskBack { .. } | UserCommand::SetWorker { .. } => {
                    false
                }
                UserCommand::WriteComment { .. }
                | UserCommand::EditComment { .. }
                | UserCommand::WithdrawComment { .. } => false,
                UserCommand::SendComments { .. } | UserCommand::ResolveComment { .. } => false,
                UserCommand::RetryNow | UserCommand::ResetCircuit => true,
                UserCommand::Stop { stop } => *stop == StopRequest::Graceful,
            },
            // One failure that leads to a wait, one that does not, and one that leads to a fallback.
            Input::Agent {
                signal: AgentSignal::Problem { problem },
                ..
            } => matches!(
                problem.kind,
                ProblemKind::Network | ProblemKind::RateLimited { .. } | ProblemKind::TurnLimit
            ),
            Input::Agent { signal, .. } => {
                !matches!(signal, AgentSignal::Usage { .. } | AgentSignal::MessageAnswered { .. })
            }
            // These inputs are only recorded.
            Input::AgentCalled { .. }
            | Input::AgentAsked { .. }
            | Input::EditsChecked { .. }
            | Input::IterationChecked { .. }
            | Input::AnswerFetched { .. }
            | Input::BoxesToggled { .. } => false,
            // Background tasks have their own tests: they only interact with the end of the run.
            Input::Background { .. } | Input::BackgroundProgressed { .. } | Input::BackgroundEnded { .. } => false,
            Input::HookEnded { .. } => false,
            Input::Start(_)
            | Input::AgentStated { .. }
            | Input::OutputSeen { .. }
            | Input::DoneFileFound { .. }
            | Input::Recover { .. }
            | Input::Prepared { .. }
            | Input::Verified { .. }
            | Input::Settled { .. }
            | Input::ClockMoved { .. }
            | Input::DayBegan { .. }
            | Input::TimerFired { .. } => true,
        });
    }
    if is_frugal(state) {
        inputs.extend([held(), full, Input::DisksProbed { low: None }]);
        let until_ms = state.view.spending.day.map_or(0, |day| day.until_ms);
        let tomorrow = Day {
            from_ms: until_ms,
            until_ms: until_ms + DAY.until_ms,
        };
        inputs.extend([
            Input::DayBegan { day: tomorrow },
            Input::DayBegan { day: DAY },
            Input::TimerFired {
                timer: Timer {
                    kind: TimerKind::WaitOver,
                    epoch: Some(state.view.epoch),
                    at_ms: now_ms,
                },
            },
        ]);
        // Inputs that do not concern spending are enumerated with other settings.
        inputs.retain(|input| match input {
            Input::Agent { signal, .. } => {
                matches!(signal, AgentSignal::Usage { .. } | AgentSignal::Ended { .. })
            }
            Input::Command { command, .. } => match command {
                UserCommand::RetryNow => true,
                UserCommand::Stop { stop } => *stop == StopRequest::Graceful,
                _ => false,
            },
            Input::Prepared { result, .. } => matches!(result, Ok(_) | Err(Refusal::Disk { .. })),
            Input::DisksProbed { .. } => true,
            Input::Settled { .. } | Input::DayBegan { .. } | Input::ClockMoved { .. } => true,
            Input::TimerFired { timer } => matches!(timer.kind, TimerKind::WaitOver | TimerKind::Deadline),
            _ => false,
        });
    }
    if state.view.settings.review.is_some() {
        // Inputs that do not concern reviews are enumerated with other settings.
        inputs.retain(concerns_reviews);
        inputs.extend(review_inputs(state, iteration));
    }
    inputs
}

/// The inputs that answer the effects of entering the phase. Each of them alone has to lead out of it.
pub(super) fn answers(state: &LoopState, now_ms: u64) -> Vec<Input> {
    let ended = |iteration| Input::Agent {
        iteration,
        signal: AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        },
    };
    let timer = |kind, at_ms| Input::TimerFired {
        timer: Timer {
            kind,
            epoch: Some(state.view.epoch),
            at_ms,
        },
    };
    match state.view.phase {
        Phase::Idle | Phase::Stopped { .. } => Vec::new(),
        Phase::Preparing { iteration } => vec![
            Input::Prepared {
                iteration,
                result: Err(Refusal::Plan { why: "gone".to_owned() }),
            },
            timer(TimerKind::Deadline, now_ms),
        ],
        Phase::Running { iteration, .. } => vec![
            ended(iteration),
            timer(TimerKind::IterationTimeout, now_ms),
            Input::ActivityProbed {
                iteration,
                quiet_ms: 10_000,
            },
        ],
        Phase::Cancelling { iteration, .. } => vec![ended(iteration), timer(TimerKind::Deadline, now_ms)],
        Phase::Settling { iteration, .. } => vec![
            settled(iteration, Ok(plan(true)), Vec::new()),
            settled(iteration, Ok(plan(false)), vec![Claim::Promise]),
            settled(iteration, Err("gone".to_owned()), Vec::new()),
            timer(TimerKind::Deadline, now_ms),
        ],
        Phase::Verifying { iteration, .. } => vec![
            verified(iteration, true),
            verified(iteration, false),
            verified_with_another_plan(iteration, Err("gone".to_owned()), &[]),
            timer(TimerKind::Deadline, now_ms),
        ],
        Phase::Waiting { wait: Wait::Disk, .. } => vec![Input::DisksProbed { low: None }],
        Phase::Waiting { until_ms, .. } => vec![timer(TimerKind::WaitOver, until_ms)],
        Phase::Paused => vec![Input::Command {
            command: UserCommand::Resume,
            by: RequestedBy::User,
        }],
    }
}
