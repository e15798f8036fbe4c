//! Handles the reports of the running session.

use crate::{
    event::{
        AgentEvent, AgentSignal, COMMENTS, CancelReason, Claim, Delivery, Event, IterationEvent, SteeringEvent,
        TEXT_CAP_BYTES, clip,
    },
    run::Phase,
};

use super::{
    Statement,
    budget::Admission,
    decision::{StepDecision, is_running},
    outcome::outcome,
    permission, policy,
    settle::stop_if_at_once,
    signals::has_read_prompt,
    user::{self, SteeringAcceptance},
};

/// Handles a signal of the session of `iteration`. Signals of other sessions are ignored.
pub(super) fn reported(decision: &mut StepDecision, now_ms: u64, iteration: u32, signal: &AgentSignal) {
    let session = decision.state.view.phase.session();
    let Some(session) = session.filter(|session| session.iteration == iteration) else {
        return;
    };
    if let AgentSignal::MessageAnswered { id, taken, .. } = signal {
        let taken = if *taken {
            SteeringAcceptance::Yes
        } else {
            SteeringAcceptance::No
        };
        return user::steered(decision, iteration, *id, taken);
    }
    if let AgentSignal::PermissionWithdrawn { id } = signal {
        return permission::withdrawn(decision, now_ms, id);
    }
    if let AgentSignal::Subagent { subagent } = signal
        && !subagent.running
    {
        let latest = decision.state.view.iterations.latest();
        // A subagent that was refused ends without having started.
        if latest.is_none_or(|latest| latest.subagents.find(&subagent.id).is_none()) {
            return;
        }
    }
    if has_read_prompt(signal) {
        deliver_prompted(decision, iteration);
    }
    let AgentSignal::Ended { exit, output_bytes } = signal else {
        record(decision, iteration, signal.bounded());
        if is_running(&decision.state, iteration)
            && let Some(reason) = policy::reason_to_cancel(&decision.state, now_ms)
        {
            decision.push(Event::Iteration(IterationEvent::CancelRequested { iteration, reason }));
        }
        return;
    };
    decision.push(Event::Iteration(IterationEvent::Ended {
        iteration,
        outcome: outcome(&decision.state, session.cancelled, *exit),
        exit: *exit,
        duration_ms: now_ms.saturating_sub(session.started_ms),
        output_bytes: *output_bytes,
    }));
    stop_if_at_once(decision);
}

/// Records a signal if the journal has room for it.
fn record(decision: &mut StepDecision, iteration: u32, signal: AgentSignal) {
    match decision.state.internal.admission(&decision.state.view, &signal) {
        Admission::Record => decision.push(Event::Agent(AgentEvent::Reported { iteration, signal })),
        Admission::ShowOnly => {
            if !decision.state.internal.budget.has_omitted() {
                decision.push(Event::Agent(AgentEvent::DetailsOmitted { iteration }));
            }
        }
        Admission::Reject => {
            if is_running(&decision.state, iteration) {
                let reason = CancelReason::Flooded;
                decision.push(Event::Iteration(IterationEvent::CancelRequested { iteration, reason }));
            }
        }
    }
}

/// Records the agent's statement at the end of its turn.
pub(super) fn stated(decision: &mut StepDecision, iteration: u32, statement: &Statement) {
    let session = decision.state.view.phase.session();
    if session.is_some_and(|session| session.iteration == iteration) && decision.state.internal.stated != *statement {
        let cut = |text: &Option<String>| text.as_deref().map(|text| clip(text, TEXT_CAP_BYTES));
        decision.push(Event::Agent(AgentEvent::Stated {
            iteration,
            claims: statement.claims.clone(),
            blocked: cut(&statement.blocked),
            denies_done: cut(&statement.denies_done),
            question: cut(&statement.question),
            status: statement.status.clone(),
            review: statement.review.clone(),
            tests_changed: cut(&statement.tests_changed),
            comments: statement.comments.iter().take(COMMENTS).cloned().collect(),
        }));
    }
}

/// Records that the agent left the file that claims completion.
pub(super) fn done_file_found(decision: &mut StepDecision, iteration: u32) {
    let settles =
        matches!(decision.state.view.phase, Phase::Settling { iteration: current, .. } if current == iteration);
    let Statement {
        mut claims,
        blocked,
        denies_done,
        question,
        status,
        review,
        tests_changed,
        comments,
    } = decision.state.internal.stated.clone();
    if settles && !claims.contains(&Claim::DoneFile) {
        claims.push(Claim::DoneFile);
        decision.push(Event::Agent(AgentEvent::Stated {
            iteration,
            claims,
            blocked,
            denies_done,
            question,
            status,
            review,
            tests_changed,
            comments,
        }));
    }
}

/// Records the messages in the prompt as delivered, as the session has shown that it read the prompt.
pub(super) fn deliver_prompted(decision: &mut StepDecision, iteration: u32) {
    for id in decision.state.internal.prompted.clone() {
        if decision
            .state
            .view
            .messages
            .iter()
            .any(|steering| steering.id == id && steering.is_due())
        {
            decision.push(Event::Steering(SteeringEvent::Delivered {
                id,
                iteration,
                how: Delivery::Prompt,
            }));
        }
    }
}
