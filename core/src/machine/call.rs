//! What the agent says with ralph's own tools. Its word, as in its last message: nothing of it counts before it is judged.

use crate::event::{AgentCall, Delivery, Event, Missing, PlanSnapshot};

use super::{
    decision::{Decision, is_running},
    gate,
    state::LoopState,
};

/// Calls of one iteration and of a run that are recorded; beyond them they are refused.
const CALLS: u32 = 64;
const CALLS_OF_RUN: u32 = 4_096;

/// Records a call of the agent of `iteration`, unless it is a reviewer; without a record of it, the call is refused.
pub(super) fn called(decision: &mut Decision, iteration: u32, call: &AgentCall) {
    let calls = &decision.state.view.calls;
    let is_author = decision.state.view.role.is_work();
    if !is_author || !is_running(&decision.state, iteration) || calls.count_now >= CALLS || calls.count >= CALLS_OF_RUN
    {
        return;
    }
    let call = match call.clone() {
        AgentCall::Asked { question, .. } => AgentCall::Asked {
            ask: decision.state.view.permissions.asked + 1,
            question,
        },
        AgentCall::Claimed { reasons } => AgentCall::Claimed {
            reasons: reasons.into_iter().map(without_output).collect(),
        },
        call => call,
    };
    decision.push(Event::AgentCalled { iteration, call });
}

/// The agent of `iteration` has fetched the answer to the question `ask`: no prompt has to have it.
pub(super) fn answer_fetched(decision: &mut Decision, iteration: u32, ask: u32) {
    let mut messages = decision.state.view.messages.iter();
    let due = messages.find(|message| message.answers == Some(ask) && message.is_queued());
    if let Some(id) = due.map(|message| message.id)
        && is_running(&decision.state, iteration)
    {
        decision.push(Event::SteeringDelivered {
            id,
            iteration,
            how: Delivery::Live,
        });
    }
}

/// What the plan has against a claim that is made now: `plan` is as it is on disk, and `vanished` what an agent has taken out of it since
/// it was last read.
pub fn claim_reasons(state: &LoopState, plan: &PlanSnapshot, vanished: &[String]) -> Vec<Missing> {
    let mut missing = state.view.missing.clone();
    plan.take_back(&state.view.plan, &mut missing);
    missing.extend(vanished.iter().cloned());
    gate::plan_reasons(plan, &missing).collect()
}

/// A record of the refusal: the agent has read what the goals printed.
fn without_output(missing: Missing) -> Missing {
    match missing {
        Missing::GoalFailed { goal, why, .. } => Missing::GoalFailed {
            goal,
            why,
            output_tail: String::new(),
        },
        missing => missing,
    }
}
