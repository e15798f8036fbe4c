//! Handles the user's commands.

use crate::{
    event::{
        AnsweredAsk, BreakerCause, BreakerState, CancelReason, Delivery, Event, IterationEvent, PausedBy, RequestedBy,
        RunEvent, SteeringEvent, SteeringId, SteeringKind, StopRequest, TaskEvent, TimeEvent, UserCommand, Wait,
        WaitEnd, WorkerEvent,
    },
    notices,
    run::{Breaker, Message, Phase, RunView},
};

use super::{
    comments::{self, comment_events},
    decision::{StepDecision, is_running},
    permission,
    question::{confirmed, late_answer},
    settle,
};

pub(super) fn apply_command(decision: &mut StepDecision, now_ms: u64, command: &UserCommand, by: RequestedBy) {
    match command {
        UserCommand::Steer { kind, text } => queue_steering(decision, *kind, text, None),
        UserCommand::Withdraw { id } => {
            let known = decision.state.view.messages.iter().find(|steering| steering.id == *id);
            if known.is_some_and(Message::is_due) {
                decision.push(Event::Steering(SteeringEvent::Withdrawn { id: *id }));
            }
        }
        UserCommand::Pause => {
            if !decision.state.view.is_paused() {
                decision.push(Event::Time(TimeEvent::Paused { by: PausedBy::User }));
            }
        }
        UserCommand::Resume => resume(decision, now_ms),
        UserCommand::Skip => {
            if let Phase::Running { iteration, .. } = decision.state.view.phase {
                decision.push(Event::Iteration(IterationEvent::CancelRequested {
                    iteration,
                    reason: CancelReason::Skipped,
                }));
            }
        }
        UserCommand::RetryNow => {
            if matches!(decision.state.view.phase, Phase::Waiting { .. }) {
                retry(decision, now_ms);
            }
        }
        UserCommand::ResetCircuit => reset_circuit(decision, now_ms),
        UserCommand::Stop { stop } => request_stop(decision, *stop, by),
        UserCommand::WithdrawStop => withdraw_stop(decision),
        UserCommand::Answer { ask, answer, at } => {
            let pending = &decision.state.view.permissions.pending;
            match pending.iter().any(|known| known.number == *ask) {
                true => {
                    if let Some(unsent) = permission::answered(decision, now_ms, *ask, answer, *at) {
                        queue_steering(decision, SteeringKind::Next, &unsent, None);
                    }
                }
                false => {
                    if let Some(confirmed) = confirmed(&decision.state, *ask, answer, *at) {
                        decision.push(confirmed);
                    } else if let Ok(late) = late_answer(&decision.state.view, *ask, answer, *at) {
                        if let Some(added) = late.added {
                            decision.push(added);
                        }
                        let kind = answer_delivery(&decision.state.view, *ask);
                        queue_steering(decision, kind, &late.text, Some(late.answers));
                    }
                }
            }
        }
        UserCommand::WaitForAnswer { ask } => permission::wait_for_answer(decision, *ask),
        UserCommand::Forget { rule } => permission::forget(decision, rule),
        UserCommand::SetLimits { limits } => {
            let known = &decision.state.view.settings.limits;
            if known.with(limits) != *known {
                decision.push(Event::Run(RunEvent::LimitsChanged { limits: *limits }));
            }
        }
        UserCommand::SetWorker { worker } => {
            let settings = &decision.state.view.settings;
            let worker = settings.worker_with(worker);
            if worker != settings.worker() {
                decision.push(Event::Worker(WorkerEvent::Changed { worker }));
                // The limit was one of the worker before.
                if let Phase::Waiting {
                    wait: Wait::LimitReset, ..
                } = decision.state.view.phase
                {
                    retry(decision, now_ms);
                }
            }
        }
        UserCommand::SetPermissionMode { mode } => permission::set_mode(decision, *mode),
        UserCommand::WriteComment { .. }
        | UserCommand::EditComment { .. }
        | UserCommand::WithdrawComment { .. }
        | UserCommand::ResolveComment { .. } => comments::change(decision, command),
        UserCommand::SendComments { kind } => send_comments(decision, *kind),
        UserCommand::SetTaskAside { task } => {
            let view = &decision.state.view;
            let mut open = view.plan.tasks.iter().filter(|known| !known.done);
            if !view.set_aside_by_user.contains(task) && open.any(|known| known.text == *task) {
                decision.push(Event::Task(TaskEvent::SetAsideByUser { task: task.clone() }));
            }
        }
        UserCommand::TakeTaskBack { task } => {
            if decision.state.view.set_aside_by_user.contains(task) {
                decision.push(Event::Task(TaskEvent::TakenBack { task: task.clone() }));
            }
        }
    }
}

/// How an answer reaches the agent: live if the agent that asked is still working and accepts messages, otherwise in
/// the next prompt.
fn answer_delivery(view: &RunView, ask: u32) -> SteeringKind {
    let asked = view.permissions.unanswered.iter().find(|known| known.number == ask);
    match (&view.phase, asked) {
        (
            Phase::Running {
                iteration,
                live_steering: true,
                ..
            },
            Some(asked),
        ) if asked.iteration == *iteration => SteeringKind::Now,
        _ => SteeringKind::Next,
    }
}

/// Reopens an ended run for a message or an answer, unless it is closed for good. No other command does.
pub(super) fn reopen(decision: &mut StepDecision, now_ms: u64, command: &UserCommand, by: RequestedBy) {
    // Confirmed changes need no other iteration.
    if let UserCommand::Answer { ask, answer, at } = command
        && let Some(confirmed) = confirmed(&decision.state, *ask, answer, *at)
    {
        return decision.push(confirmed);
    }
    let (kind, text, answers, added) = match command {
        UserCommand::Steer { kind, text } => (*kind, text.clone(), None, None),
        UserCommand::Answer { ask, answer, at } => match late_answer(&decision.state.view, *ask, answer, *at) {
            Ok(late) => (SteeringKind::Next, late.text, Some(late.answers), late.added),
            Err(_) => return,
        },
        UserCommand::SendComments { kind } => {
            if decision.state.closed_for_good().is_none() && decision.state.view.comments.drafts().next().is_some() {
                decision.push(Event::Run(RunEvent::Reopened { by, continued: false }));
                send_comments(decision, *kind);
                settle::next(decision, now_ms);
            }
            return;
        }
        UserCommand::WriteComment { .. }
        | UserCommand::EditComment { .. }
        | UserCommand::WithdrawComment { .. }
        | UserCommand::ResolveComment { .. } => return comments::change(decision, command),
        // The run may still be reopened, and then without the rule.
        UserCommand::Forget { rule } => return permission::forget(decision, rule),
        _ => return,
    };
    if decision.state.closed_for_good().is_some() {
        return;
    }
    decision.push(Event::Run(RunEvent::Reopened { by, continued: false }));
    if let Some(added) = added {
        decision.push(added);
    }
    queue_steering(decision, kind, &text, answers);
    settle::next(decision, now_ms);
}

/// Puts the drafts into one message.
fn send_comments(decision: &mut StepDecision, kind: SteeringKind) {
    for event in comment_events(&decision.state, &UserCommand::SendComments { kind }) {
        decision.push(event);
    }
    cancel_for(decision, kind);
}

fn queue_steering(decision: &mut StepDecision, kind: SteeringKind, text: &str, answers: Option<Box<AnsweredAsk>>) {
    decision.push(Event::Steering(SteeringEvent::Queued {
        id: decision.state.next_message(),
        kind,
        text: text.to_owned(),
        answers,
    }));
    cancel_for(decision, kind);
}

/// Ends the running iteration for an urgent message that its agent does not accept.
fn cancel_for(decision: &mut StepDecision, kind: SteeringKind) {
    if let Phase::Running {
        iteration,
        live_steering: false,
        ..
    } = decision.state.view.phase
        && kind == SteeringKind::Now
    {
        decision.push(Event::Iteration(IterationEvent::CancelRequested {
            iteration,
            reason: CancelReason::Steered,
        }));
    }
}

/// Whether the agent accepted a message for the running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SteeringAcceptance {
    Yes,
    No,
}

/// Records the fate of a message to the running turn. A rejected message goes into the next prompt, so the iteration is
/// cancelled. A message that a session accepted while it is being ended may never have been read, so it stays due.
pub(super) fn steered(decision: &mut StepDecision, iteration: u32, id: SteeringId, taken: SteeringAcceptance) {
    let due = decision
        .state
        .view
        .messages
        .iter()
        .any(|steering| steering.id == id && steering.is_queued());
    if !due || !is_running(&decision.state, iteration) {
        return;
    }
    decision.push(match taken {
        SteeringAcceptance::Yes => Event::Steering(SteeringEvent::Delivered {
            id,
            iteration,
            how: Delivery::Live,
        }),
        SteeringAcceptance::No => Event::Iteration(IterationEvent::CancelRequested {
            iteration,
            reason: CancelReason::Steered,
        }),
    });
}

pub(super) fn pause_file(decision: &mut StepDecision, now_ms: u64, present: bool) {
    if present == decision.state.view.paused_by_file {
        return;
    }
    if present {
        decision.push(Event::Time(TimeEvent::Paused { by: PausedBy::File }));
        if decision.state.view.phase.session().is_some() {
            decision.notice(notices::pause_during_session());
        }
        return;
    }
    decision.push(Event::Time(TimeEvent::Unpaused { by: PausedBy::File }));
    leave_pause(decision, now_ms);
}

fn resume(decision: &mut StepDecision, now_ms: u64) {
    if decision.state.view.paused_by_user {
        decision.push(Event::Time(TimeEvent::Unpaused { by: PausedBy::User }));
    }
    if decision.state.view.paused_by_file {
        decision.push(Event::Time(TimeEvent::Unpaused { by: PausedBy::File }));
    }
    withdraw_stop(decision);
    leave_pause(decision, now_ms);
}

/// Withdraws a stop after the running iteration. Stronger requests take effect at once and cannot be withdrawn.
fn withdraw_stop(decision: &mut StepDecision) {
    let asked = decision.state.view.stop.map(|stop| stop.request);
    if asked == Some(StopRequest::AfterIteration) && !decision.state.view.is_over() {
        decision.push(Event::Run(RunEvent::StopWithdrawn));
    }
}

fn leave_pause(decision: &mut StepDecision, now_ms: u64) {
    if decision.state.view.phase == Phase::Paused && !decision.state.view.is_paused() {
        settle::next(decision, now_ms);
    }
}

fn reset_circuit(decision: &mut StepDecision, now_ms: u64) {
    if decision.state.view.breaker == Breaker::default() {
        return;
    }
    decision.push(Event::BreakerMoved {
        to: BreakerState::Closed,
        why: BreakerCause::ResetByUser,
    });
    if let Phase::Waiting {
        wait: Wait::Cooldown, ..
    } = decision.state.view.phase
    {
        retry(decision, now_ms);
    }
}

fn retry(decision: &mut StepDecision, now_ms: u64) {
    decision.push(Event::Time(TimeEvent::WaitEnded {
        cause: WaitEnd::RetriedNow,
    }));
    settle::next(decision, now_ms);
}

fn request_stop(decision: &mut StepDecision, stop: StopRequest, by: RequestedBy) {
    // A repeated request for a graceful stop is treated as an immediate one.
    let earlier = decision.state.view.stop.map(|earlier| earlier.request);
    let stop = match earlier {
        Some(StopRequest::Graceful | StopRequest::Immediate) if stop >= StopRequest::Graceful => StopRequest::Immediate,
        Some(StopRequest::Immediate) => StopRequest::Immediate,
        Some(_) | None => stop,
    };
    if earlier.is_some_and(|earlier| earlier >= stop) {
        return;
    }
    decision.push(Event::Run(RunEvent::StopRequested { stop, by }));
    let Some(reason) = settle::requested(&decision.state) else {
        return;
    };
    match decision.state.view.phase.clone() {
        Phase::Waiting { .. } => {
            decision.push(Event::Time(TimeEvent::WaitEnded {
                cause: WaitEnd::Stopped,
            }));
            decision.stop(reason);
        }
        Phase::Idle | Phase::Paused | Phase::Preparing { .. } => decision.stop(reason),
        // Goals may take long, and can be run again at any time.
        Phase::Verifying { .. } if stop > StopRequest::AfterIteration => decision.stop(reason),
        Phase::Running { iteration, .. } if stop > StopRequest::AfterIteration => {
            decision.push(Event::Iteration(IterationEvent::CancelRequested {
                iteration,
                reason: CancelReason::Stopped,
            }));
        }
        // The result of the last iteration is kept, unless the user demands an immediate stop.
        Phase::Settling { .. } if stop == StopRequest::Immediate => decision.stop(reason),
        _ => {}
    }
}
