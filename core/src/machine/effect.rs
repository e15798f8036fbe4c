//! Effects: the actions that follow from a change of the state.

use crate::{
    event::{
        AgentSignal, AskEvent, AskId, AskVerdict, BackgroundEvent, Decider, Event, GateEvent, GoalResult, Hook,
        HookEvent, RuleScope, SteeringId, SteeringKind, StopRequest, Text, UserCommand,
    },
    run::{Phase, StopAsked},
};

use super::{
    Input,
    deadline::deadline_of,
    disk, gate,
    permission::next_deadline,
    policy::{max_time_at, quiet_limit},
    state::LoopState,
    warning::time_warning_at,
};

/// An action for the driver. Its result, including a failure, comes back as an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Read the plan, make a checkpoint and write the prompt.
    Prepare {
        iteration: u32,
    },
    StartSession {
        iteration: u32,
    },
    StopSession {
        at_once: bool,
    },
    SteerLive {
        iteration: u32,
        id: SteeringId,
        text: String,
    },
    /// Tell the running turn the results of goals.
    TellGoals {
        results: Vec<GoalResult>,
    },
    /// Tell the agent whether it may use a tool.
    AnswerPermission {
        iteration: u32,
        id: AskId,
        allowed: bool,
        by: Decider,
        message: Option<String>,
        /// How often the same request was denied in this iteration.
        denials: u32,
    },
    /// Give the agent the answers to its questions.
    AnswerQuestions {
        iteration: u32,
        id: AskId,
        /// Empty if there are no answers.
        answers: Vec<Vec<String>>,
        by: Decider,
        message: Option<String>,
    },
    /// Save the rules of an answer for every run of the project.
    RememberRules {
        ask: u32,
        rules: Vec<String>,
        over: Vec<String>,
    },
    /// Delete a saved rule.
    ForgetRule {
        rule: String,
    },
    /// Make a checkpoint, count the changes, re-read the plan and look for claims.
    Settle {
        iteration: u32,
    },
    /// Run the goals.
    Verify {
        iteration: u32,
        /// The results decide a claim, so the tests are checked as well.
        is_claim: bool,
    },
    /// End the running goals.
    EndGoals,
    Arm {
        timer: Timer,
    },
    /// Find out when the running session last wrote or used CPU time.
    ProbeActivity {
        iteration: u32,
    },
    /// Find out whether the run's disks have space again.
    ProbeDisks,
    /// Start the command of a background task.
    StartBackground {
        number: u32,
        command: String,
    },
    /// End a background task.
    CancelBackground {
        number: u32,
    },
    /// Run a hook after those that were started before it.
    RunHook {
        number: u32,
        hook: Hook,
        iteration: u32,
        task: Option<Text>,
        question: Option<Text>,
    },
    /// End all background tasks.
    EndBackground {
        at_once: bool,
    },
    RemovePauseFile,
    /// The run is over: publish the last records and exit.
    Finish,
}

/// Fires once, at or after `at_ms`. Arming a kind again replaces the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub kind: TimerKind,
    /// The phase in which it was armed; `None` if it outlives phases.
    pub epoch: Option<u32>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    MaxTime,
    /// Most of the run's time is used.
    TimeWarning,
    IterationTimeout,
    Idle,
    /// A question of the agent has waited long enough.
    Permission,
    /// The agent ended its turn, but its process is still running.
    Lingering,
    WaitOver,
    /// A phase of ralph's own work has lasted too long.
    Deadline,
}

/// How long an agent may take to exit after its turn: long enough for an upload, short compared with a limit.
const LINGER_MS: u64 = 30_000;

/// Shortest pause between two probes of a quiet agent.
const PROBE_MIN_MS: u64 = 200;
const PROBE_MAX_MS: u64 = 30_000;

/// The parts of the earlier state that the effects of a step depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateBefore {
    epoch: u32,
    had_session: bool,
    stopped: bool,
    verified: bool,
    paused_by_file: bool,
    steering_count: usize,
    stop: Option<StopAsked>,
}

impl StateBefore {
    pub(super) fn from_state(state: &LoopState) -> Self {
        StateBefore {
            epoch: state.view.epoch,
            stopped: state.view.is_over(),
            had_session: state.view.phase.session().is_some(),
            verified: matches!(state.view.phase, Phase::Verifying { .. }),
            paused_by_file: state.view.paused_by_file,
            steering_count: state.view.messages.len(),
            stop: state.view.stop,
        }
    }
}

/// Derives the effects of one step; `now_ms` is when its input was received.
pub(super) fn effects(before: &StateBefore, after: &LoopState, input: &Input, now_ms: u64) -> Vec<Effect> {
    let mut effects = Vec::new();
    match input {
        Input::Start(_) | Input::Recover { .. } | Input::ClockMoved { .. } if !after.view.is_over() => {
            watch_time(&mut effects, after, now_ms);
        }
        // The timer may have fired after the end of the run, or was armed for another limit.
        Input::Command { command, .. }
            if !after.view.is_over() && (before.stopped || matches!(command, UserCommand::SetLimits { .. })) =>
        {
            watch_time(&mut effects, after, now_ms);
        }
        _ => {}
    }
    if before.epoch != after.view.epoch || matches!(input, Input::Recover { .. }) {
        enter(&mut effects, before, after, now_ms);
    } else {
        stay(&mut effects, before, after, input, now_ms);
    }
    // The user ended the pause, so the file that requested it is removed.
    if matches!(input, Input::Command { .. }) && before.paused_by_file && !after.view.paused_by_file {
        effects.push(Effect::RemovePauseFile);
    }
    effects
}

/// Arms the timers of the run's time limit.
fn watch_time(effects: &mut Vec<Effect>, state: &LoopState, now_ms: u64) {
    effects.extend(max_time_at(state).map(|at_ms| arm(TimerKind::MaxTime, None, at_ms)));
    let warning_at = time_warning_at(state).filter(|at_ms| *at_ms > now_ms);
    effects.extend(warning_at.map(|at_ms| arm(TimerKind::TimeWarning, None, at_ms)));
}

fn enter(effects: &mut Vec<Effect>, before: &StateBefore, after: &LoopState, now_ms: u64) {
    watch_phase(effects, after);
    match &after.view.phase {
        Phase::Idle | Phase::Paused => {}
        Phase::Preparing { iteration } => effects.push(Effect::Prepare { iteration: *iteration }),
        Phase::Running {
            iteration, started_ms, ..
        } => {
            effects.push(Effect::StartSession { iteration: *iteration });
            watch_session(effects, after, *started_ms, now_ms);
        }
        Phase::Cancelling { .. } => effects.push(Effect::StopSession {
            at_once: wants_at_once(after.view.stop),
        }),
        Phase::Settling { iteration, .. } => effects.push(Effect::Settle { iteration: *iteration }),
        Phase::Verifying {
            iteration,
            outcome,
            ticks,
        } => effects.push(Effect::Verify {
            iteration: *iteration,
            is_claim: *iteration > 0 && !ticks && gate::wants_goals(after, outcome),
        }),
        Phase::Waiting { until_ms, .. } => effects.push(arm(TimerKind::WaitOver, Some(after.view.epoch), *until_ms)),
        Phase::Stopped { .. } => {
            if before.had_session {
                effects.push(Effect::StopSession { at_once: true });
            }
            if before.verified {
                effects.push(Effect::EndGoals);
            }
            if after.view.background.alive().next().is_some() {
                effects.push(Effect::EndBackground {
                    at_once: wants_at_once(after.view.stop),
                });
            }
            effects.push(Effect::Finish);
        }
    }
}

/// Returns the effect of a single event, independent of the phase: answers to the agent, saved rules, and starts and
/// ends of background tasks.
pub(super) fn answer(event: &Event) -> Option<Effect> {
    match event {
        Event::Ask(AskEvent::Answered { answered }) => {
            let iteration = answered.iteration;
            let (id, by, message) = (answered.id.clone(), answered.by.clone(), answered.message.clone());
            match &answered.verdict {
                AskVerdict::Allowed | AskVerdict::Denied => Some(Effect::AnswerPermission {
                    iteration,
                    id,
                    allowed: answered.verdict == AskVerdict::Allowed,
                    by,
                    message,
                    denials: answered.denials,
                }),
                AskVerdict::Words { answers, .. } => Some(Effect::AnswerQuestions {
                    iteration,
                    id,
                    answers: answers.clone(),
                    by,
                    message,
                }),
                AskVerdict::Withdrawn => None,
            }
        }
        Event::Ask(AskEvent::RulesAdded {
            ask,
            scope: RuleScope::Project,
            rules,
            over,
            ..
        }) => Some(Effect::RememberRules {
            ask: *ask,
            rules: rules.clone(),
            over: over.clone(),
        }),
        Event::Background(BackgroundEvent::Started { number, command, .. }) => Some(Effect::StartBackground {
            number: *number,
            command: command.clone(),
        }),
        Event::Hook(HookEvent::Started {
            number,
            hook,
            iteration,
            task,
            question,
        }) => Some(Effect::RunHook {
            number: *number,
            hook: *hook,
            iteration: *iteration,
            task: task.clone(),
            question: question.clone(),
        }),
        Event::Background(BackgroundEvent::Cancelled { number, .. }) => {
            Some(Effect::CancelBackground { number: *number })
        }
        Event::Gate(
            GateEvent::EditsChecked {
                results,
                news,
                live: true,
                ..
            }
            | GateEvent::IterationChecked {
                results,
                news,
                live: true,
                ..
            },
        ) => Some(Effect::TellGoals {
            results: results
                .iter()
                .filter(|result| news.contains(&result.name))
                .cloned()
                .collect(),
        }),
        Event::Ask(AskEvent::RuleForgotten { rule }) => Some(Effect::ForgetRule { rule: rule.clone() }),
        _ => None,
    }
}

/// Whether the session would have timed out if it had not waited for answers.
pub(super) fn is_put_off(state: &LoopState, now_ms: u64) -> bool {
    state.view.permissions.waited_by(now_ms) > 0 && timeout_at(state, now_ms).is_some_and(|at_ms| at_ms > now_ms)
}

/// When the running session times out. Time spent waiting for answers does not count.
fn timeout_at(state: &LoopState, now_ms: u64) -> Option<u64> {
    let timeout_ms = state.view.settings.limits.iteration_timeout_ms?;
    let started_ms = state.view.phase.running_since_ms()?;
    let waited_ms = state.view.permissions.waited_by(now_ms);
    Some(started_ms.saturating_add(timeout_ms).saturating_add(waited_ms))
}

/// Arms the timer that ends a phase without a result.
fn watch_phase(effects: &mut Vec<Effect>, state: &LoopState) {
    let deadline = deadline_of(state).map(|at_ms| arm(TimerKind::Deadline, Some(state.view.epoch), at_ms));
    effects.extend(deadline);
}

/// Arms the timers that end a session that runs or is idle for too long.
fn watch_session(effects: &mut Vec<Effect>, state: &LoopState, started_ms: u64, now_ms: u64) {
    let epoch = Some(state.view.epoch);
    let limits = &state.view.settings.limits;
    if let Some(timeout_ms) = limits.iteration_timeout_ms {
        let at_ms = started_ms.saturating_add(timeout_ms);
        effects.push(arm(TimerKind::IterationTimeout, epoch, at_ms));
    }
    if let Some((longest_ms, _)) = quiet_limit(state, now_ms) {
        let at_ms = now_ms.saturating_add(probe_pause_ms(longest_ms));
        effects.push(arm(TimerKind::Idle, epoch, at_ms));
    }
}

/// Arms the timers of the phase again after the clock, and the times they depend on, have moved.
fn arm_anew(effects: &mut Vec<Effect>, state: &LoopState, now_ms: u64) {
    let epoch = Some(state.view.epoch);
    watch_phase(effects, state);
    match &state.view.phase {
        Phase::Running { started_ms, .. } => {
            watch_session(effects, state, *started_ms, now_ms);
            let deadline = next_deadline(&state.view.permissions.pending);
            effects.extend(deadline.map(|at_ms| arm(TimerKind::Permission, epoch, at_ms)));
            if state.internal.verdict.is_some() {
                effects.push(arm(TimerKind::Lingering, epoch, now_ms.saturating_add(LINGER_MS)));
            }
        }
        Phase::Waiting { until_ms, .. } => effects.push(arm(TimerKind::WaitOver, epoch, *until_ms)),
        Phase::Idle
        | Phase::Preparing { .. }
        | Phase::Cancelling { .. }
        | Phase::Settling { .. }
        | Phase::Verifying { .. }
        | Phase::Paused
        | Phase::Stopped { .. } => {}
    }
}

fn stay(effects: &mut Vec<Effect>, before: &StateBefore, after: &LoopState, input: &Input, now_ms: u64) {
    if matches!(input, Input::ClockMoved { .. }) {
        return arm_anew(effects, after, now_ms);
    }
    match &after.view.phase {
        Phase::Running {
            iteration,
            live_steering,
            ..
        } => {
            if let Some(steering) = after.view.messages.get(before.steering_count..).and_then(<[_]>::first)
                && *live_steering
                && steering.kind == SteeringKind::Now
                && steering.is_queued()
            {
                effects.push(Effect::SteerLive {
                    iteration: *iteration,
                    id: steering.id,
                    text: steering.text.clone(),
                });
            }
            watch_idleness(effects, after, *iteration, input, now_ms);
            watch_permissions(effects, after, input, now_ms);
            watch_lingering(effects, after, input, now_ms);
        }
        Phase::Cancelling { .. } => {
            if wants_at_once(after.view.stop) && !wants_at_once(before.stop) {
                effects.push(Effect::StopSession { at_once: true });
            }
        }
        Phase::Waiting { .. } => watch_disks(effects, after, input, now_ms),
        // The settlement waited for the record of the file.
        Phase::Settling { iteration, .. } => {
            if *input == (Input::DoneFileFound { iteration: *iteration }) {
                effects.push(Effect::Settle { iteration: *iteration });
            }
        }
        Phase::Idle | Phase::Preparing { .. } | Phase::Verifying { .. } | Phase::Paused | Phase::Stopped { .. } => {}
    }
}

/// Looks at the disks again and again while the loop waits for space.
fn watch_disks(effects: &mut Vec<Effect>, state: &LoopState, input: &Input, now_ms: u64) {
    match input {
        _ if !disk::is_awaited(state) => {}
        Input::TimerFired { timer } if timer.kind == TimerKind::WaitOver && timer.epoch == Some(state.view.epoch) => {
            effects.push(Effect::ProbeDisks);
        }
        Input::DisksProbed { .. } => {
            let at_ms = disk::next_look_ms(now_ms);
            effects.push(arm(TimerKind::WaitOver, Some(state.view.epoch), at_ms));
        }
        _ => {}
    }
}

fn watch_idleness(effects: &mut Vec<Effect>, state: &LoopState, iteration: u32, input: &Input, now_ms: u64) {
    let Some((longest_ms, _)) = quiet_limit(state, now_ms) else {
        return;
    };
    let next_probe_ms = match input {
        Input::TimerFired { timer } if timer.kind == TimerKind::Idle && timer.epoch == Some(state.view.epoch) => {
            return effects.push(Effect::ProbeActivity { iteration });
        }
        Input::ActivityProbed { quiet_ms, .. } if state.view.permissions.pending.is_empty() => {
            let left_ms = longest_ms.saturating_sub(*quiet_ms);
            left_ms.min(probe_pause_ms(longest_ms)).max(1)
        }
        Input::ActivityProbed { .. } => probe_pause_ms(longest_ms),
        // The permitted silence may be shorter from now on.
        Input::Agent {
            signal: AgentSignal::Retrying { .. },
            ..
        } => probe_pause_ms(longest_ms),
        _ => return,
    };
    let at_ms = now_ms.saturating_add(next_probe_ms);
    effects.push(arm(TimerKind::Idle, Some(state.view.epoch), at_ms));
}

/// Arms the timer that decides an unanswered question, and extends the timeout of a session that waited for answers.
fn watch_permissions(effects: &mut Vec<Effect>, state: &LoopState, input: &Input, now_ms: u64) {
    let epoch = Some(state.view.epoch);
    let moves = match input {
        Input::PermissionRequested { .. } | Input::PermissionRuled { .. } | Input::Command { .. } => true,
        Input::Agent { signal, .. } => matches!(signal, AgentSignal::PermissionWithdrawn { .. }),
        Input::TimerFired { timer } => timer.kind == TimerKind::Permission,
        _ => false,
    };
    if moves && let Some(at_ms) = next_deadline(&state.view.permissions.pending) {
        effects.push(arm(TimerKind::Permission, epoch, at_ms));
    }
    if let Input::TimerFired { timer } = input
        && timer.kind == TimerKind::IterationTimeout
        && timer.epoch == epoch
        && let Some(at_ms) = timeout_at(state, now_ms)
    {
        // The remaining time does not decrease while the agent waits.
        effects.push(arm(
            TimerKind::IterationTimeout,
            epoch,
            at_ms.max(now_ms.saturating_add(PROBE_MIN_MS)),
        ));
    }
}

/// Arms the timer for agents that do not exit after their turn, and stops such an agent.
fn watch_lingering(effects: &mut Vec<Effect>, state: &LoopState, input: &Input, now_ms: u64) {
    match input {
        Input::Agent {
            signal: AgentSignal::TurnEnded { .. },
            ..
        } => {
            let at_ms = now_ms.saturating_add(LINGER_MS);
            effects.push(arm(TimerKind::Lingering, Some(state.view.epoch), at_ms));
        }
        Input::TimerFired { timer } if lingers(state, timer) => effects.push(Effect::StopSession { at_once: false }),
        _ => {}
    }
}

/// Whether `timer` fired because the running agent lingers after its turn.
pub(super) fn lingers(state: &LoopState, timer: &Timer) -> bool {
    timer.kind == TimerKind::Lingering
        && timer.epoch == Some(state.view.epoch)
        && matches!(state.view.phase, Phase::Running { .. })
        && state.internal.verdict.is_some()
}

fn probe_pause_ms(idle_ms: u64) -> u64 {
    (idle_ms / 8).clamp(PROBE_MIN_MS, PROBE_MAX_MS).min(idle_ms.max(1))
}

fn wants_at_once(stop: Option<StopAsked>) -> bool {
    stop.is_some_and(|stop| stop.request == StopRequest::Immediate)
}

fn arm(kind: TimerKind, epoch: Option<u32>, at_ms: u64) -> Effect {
    Effect::Arm {
        timer: Timer { kind, epoch, at_ms },
    }
}
