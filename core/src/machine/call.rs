//! The agent's calls of ralph's own tools. Like its last message, they are only its word and are judged later.

use crate::event::{AgentCall, Delivery, Event, Missing, PlanSnapshot, Tail};

use super::{
    decision::{StepDecision, is_running},
    gate, posts,
    state::LoopState,
};

/// Maximum number of recorded calls per iteration. Further ones are refused.
const CALLS: u32 = 64;
const CALLS_OF_RUN: u32 = 4_096;

/// Records a call by the author of `iteration`. A call that is not recorded is refused.
pub(super) fn called(decision: &mut StepDecision, iteration: u32, call: &AgentCall) {
    let calls = &decision.state.view.calls;
    let is_author = decision.state.view.role.is_work();
    if !is_author || !is_running(&decision.state, iteration) || calls.count_now >= CALLS || calls.count >= CALLS_OF_RUN
    {
        return;
    }
    if let AgentCall::PostProposed { post, .. } = call {
        if let Some(decided) = posts::proposed(decision, post) {
            let (ask, post) = (decision.state.view.permissions.asked + 1, post.clone());
            let call = AgentCall::PostProposed { ask, post };
            decision.push(Event::AgentCalled { iteration, call });
            decided.into_iter().for_each(|decided| decision.push(decided));
        }
        return;
    }
    let call = match call.clone() {
        AgentCall::Asked { question, .. } => AgentCall::Asked {
            ask: decision.state.view.permissions.asked + 1,
            question: Box::new(question.bounded()),
        },
        AgentCall::Claimed { reasons } => AgentCall::Claimed {
            reasons: reasons.into_iter().map(without_output).collect(),
        },
        call => call,
    };
    decision.push(Event::AgentCalled { iteration, call });
}

/// Records that the agent of `iteration` fetched the answer to question `ask`, so that no prompt repeats it.
pub(super) fn answer_fetched(decision: &mut StepDecision, iteration: u32, ask: u32) {
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

/// Why the plan contradicts a claim made now. `plan` is the plan on disk, and `vanished` are tasks that an agent
/// removed since the last reading.
pub fn claim_reasons(state: &LoopState, plan: &PlanSnapshot, vanished: &[String]) -> Vec<Missing> {
    let mut missing = state.view.missing.clone();
    plan.take_back(&state.view.plan, &mut missing);
    missing.extend(vanished.iter().cloned());
    let left_out = plan.with_dependents(&state.view.set_aside_by_user);
    gate::plan_reasons(plan, &missing, &left_out).collect()
}

/// Drops the output of the goals, which the agent has already read.
fn without_output(missing: Missing) -> Missing {
    match missing {
        Missing::GoalFailed { goal, why, .. } => Missing::GoalFailed {
            goal,
            why,
            output_tail: Tail::default(),
        },
        missing => missing,
    }
}
