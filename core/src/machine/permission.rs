//! Permissions: the decisions of rules and users on requests, and the default when no answer comes.
//!
//! Waiting for an answer counts neither as idle time nor as time of the iteration.

use crate::{
    event::{
        AgentEvent, AgentSignal, Answer, AnswerPlace, Answered, Ask, AskEvent, AskId, AskVerdict, CancelReason,
        Decider, Decision, Event, IterationEvent, PausedBy, PermissionMode, PermissionRequest, Ruling, SubagentReport,
        TEXT_CAP_BYTES, TimeEvent, Unanswered, clip,
    },
    run::{Permissions, Phase},
};

use super::question::{AnswerReading, read, rules_added};
use super::{
    decision::{StepDecision, is_running},
    policy,
};

/// Maximum number of requests in one iteration. Each takes a record; an agent that makes more does nothing else.
pub(super) const REQUESTS: u32 = 2_000;

/// Handles a request of the session of `iteration`, with the decision of the rules.
pub(super) fn requested(
    decision: &mut StepDecision,
    now_ms: u64,
    iteration: u32,
    request: &PermissionRequest,
    ruling: &Ruling,
) {
    // A session that is being ended gets no answers.
    if !is_running(&decision.state, iteration) {
        return;
    }
    if decision.state.view.permissions.requests_now >= REQUESTS {
        let reason = CancelReason::Flooded;
        return decision.push(Event::Iteration(IterationEvent::CancelRequested { iteration, reason }));
    }
    let cut = request.is_cut();
    let request = request.bounded();
    if let Some(limit) = policy::subagent_limit(&decision.state, now_ms, &request) {
        let by = Decider::Limit { limit };
        return decide(decision, &Case::new(iteration, &request), false, &by, None);
    }
    let most = usize::try_from(decision.state.view.settings.denials.pending).unwrap_or(usize::MAX);
    match ruling.decision {
        Decision::Ask if decision.state.view.permissions.pending.len() >= most => {
            let by = Decider::TooManyPending;
            decide(decision, &Case::new(iteration, &request), false, &by, None);
        }
        Decision::Allow => decide(decision, &Case::new(iteration, &request), true, &ruling.by, None),
        Decision::Deny => decide(decision, &Case::new(iteration, &request), false, &ruling.by, None),
        Decision::Ask => {
            let waiting = decision.state.view.settings.waiting;
            let number = decision.state.view.permissions.asked + 1;
            let ask = Ask {
                until_ms: Some(now_ms.saturating_add(waiting.timeout_ms)),
                offer: ruling.offer.clone(),
                cut,
                ..Ask::requested(number, iteration, request)
            };
            decision.push(Event::Ask(AskEvent::Asked { ask: Box::new(ask) }));
        }
    }
}

/// Handles the withdrawal of a request by the agent.
pub(super) fn withdrawn(decision: &mut StepDecision, now_ms: u64, id: &AskId) {
    let mut pending = decision.state.view.permissions.pending.iter();
    if let Some(ask) = pending.find(|ask| ask.request.id == *id).cloned() {
        let case = Case::asked(&ask, now_ms);
        push_answer(decision, &case, AskVerdict::Withdrawn, &Decider::Agent, None, 0);
    }
}

/// Handles an answer of the user. Returns a text for the next prompt if the agent cannot be told before.
pub(super) fn answered(
    decision: &mut StepDecision,
    now_ms: u64,
    number: u32,
    answer: &Answer,
    at: AnswerPlace,
) -> Option<String> {
    let pending = &decision.state.view.permissions.pending;
    let ask = pending.iter().find(|ask| ask.number == number).cloned()?;
    let case = Case::asked(&ask, now_ms);
    let by = Decider::User { at };
    if !ask.request.questions.is_empty() {
        // An invalid answer is ignored here; the driver has already reported it to the user.
        match read(&ask.request.questions, answer) {
            Ok(AnswerReading::Answered(answers)) => answer_questions(decision, &case, answers, &by, None),
            Ok(AnswerReading::Declined(why)) => {
                let why = why.map(|why| clip(&why, TEXT_CAP_BYTES));
                answer_questions(decision, &case, Vec::new(), &by, why);
            }
            Err(_) => {}
        }
        return None;
    }
    let message = match answer {
        Answer::Words { .. } => return None,
        Answer::Allow { remember } => {
            if let Some(remember) = remember {
                // The rules were validated earlier, and known to allow the request.
                if let Some(added) = rules_added(&ask, remember) {
                    decision.push(added);
                }
            }
            decide(decision, &case, true, &by, None);
            return None;
        }
        Answer::Deny { message } => message.as_deref().map(|message| clip(message, TEXT_CAP_BYTES)),
    };
    let takes_messages = matches!(
        decision.state.view.phase,
        Phase::Running {
            live_steering: true,
            ..
        }
    );
    let unsent = message.as_ref().filter(|_| !takes_messages);
    let unsent = unsent.map(|message| ["denied", &ask.request.title, message].join(": "));
    decide(decision, &case, false, &by, message);
    unsent
}

/// Removes a rule that answers have added.
pub(super) fn forget(decision: &mut StepDecision, rule: &str) {
    let added = &decision.state.view.permissions.rules;
    if added.iter().any(|known| known.rule == rule) {
        let rule = rule.to_owned();
        decision.push(Event::Ask(AskEvent::RuleForgotten { rule }));
    }
}

/// Sets the mode that decides requests without a matching rule. The sessions of a run that started under `auto` ask before
/// everything only if they start after that.
pub(super) fn set_mode(decision: &mut StepDecision, mode: PermissionMode) {
    let view = &decision.state.view;
    if view.permission_mode() != mode {
        decision.push(Event::Ask(AskEvent::PermissionModeChanged { mode }));
    }
}

/// Applies a new decision on a pending question, after rules were added or the mode changed.
pub(super) fn ruled(decision: &mut StepDecision, now_ms: u64, number: u32, ruling: &Ruling) {
    let pending = &decision.state.view.permissions.pending;
    let Some(ask) = pending.iter().find(|ask| ask.number == number).cloned() else {
        return;
    };
    let case = Case::asked(&ask, now_ms);
    match ruling.decision {
        Decision::Allow => decide(decision, &case, true, &ruling.by, None),
        Decision::Deny => decide(decision, &case, false, &ruling.by, None),
        Decision::Ask => {}
    }
}

/// Decides the questions that were not answered in time.
pub(super) fn overdue(decision: &mut StepDecision, now_ms: u64) {
    let is_due = |ask: &&Ask| ask.until_ms.is_some_and(|until_ms| until_ms <= now_ms);
    let due: Vec<Ask> = decision
        .state
        .view
        .permissions
        .pending
        .iter()
        .filter(is_due)
        .cloned()
        .collect();
    for ask in due {
        let case = Case::asked(&ask, now_ms);
        match decision.state.view.settings.waiting.unanswered {
            Unanswered::Deny | Unanswered::Allow if !ask.request.questions.is_empty() => {
                answer_questions(decision, &case, Vec::new(), &Decider::Deadline, None);
            }
            Unanswered::Block if !ask.request.questions.is_empty() => {
                answer_questions(decision, &case, Vec::new(), &Decider::Deadline, None);
                end_iteration(decision, ask.iteration);
            }
            Unanswered::Deny => decide(decision, &case, false, &Decider::Deadline, None),
            Unanswered::Allow => decide(decision, &case, true, &Decider::Deadline, None),
            // The question waits without a deadline, and the run stays paused after the iteration.
            Unanswered::Pause => {
                wait_for_answer(decision, ask.number);
                if !decision.state.view.is_paused() {
                    decision.push(Event::Time(TimeEvent::Paused { by: PausedBy::User }));
                }
            }
            Unanswered::Block => {
                decide(decision, &case, false, &Decider::Deadline, None);
                end_iteration(decision, ask.iteration);
            }
        }
    }
}

/// Lets a pending question wait without a deadline.
pub(super) fn wait_for_answer(decision: &mut StepDecision, number: u32) {
    let mut pending = decision.state.view.permissions.pending.iter();
    if let Some(ask) = pending.find(|ask| ask.number == number && ask.until_ms.is_some()) {
        let ask = Box::new(Ask {
            until_ms: None,
            ..ask.clone()
        });
        decision.push(Event::Ask(AskEvent::Asked { ask }));
    }
}

/// The earliest deadline of the pending questions.
pub(super) fn next_deadline(pending: &[Ask]) -> Option<u64> {
    pending.iter().filter_map(|ask| ask.until_ms).min()
}

/// The request that is being decided.
struct Case<'a> {
    iteration: u32,
    ask: Option<u32>,
    request: &'a PermissionRequest,
    waited_ms: u64,
}

impl<'a> Case<'a> {
    fn new(iteration: u32, request: &'a PermissionRequest) -> Self {
        Self {
            iteration,
            ask: None,
            request,
            waited_ms: 0,
        }
    }

    fn asked(ask: &'a Ask, now_ms: u64) -> Self {
        Self {
            iteration: ask.iteration,
            ask: Some(ask.number),
            request: &ask.request,
            waited_ms: now_ms.saturating_sub(ask.asked_ms),
        }
    }
}

fn decide(decision: &mut StepDecision, case: &Case<'_>, allowed: bool, by: &Decider, message: Option<String>) {
    let PermissionRequest { tool, title, .. } = case.request;
    let denials = decision.state.view.permissions.times_denied(tool, title) + u32::from(!allowed);
    let verdict = if allowed {
        AskVerdict::Allowed
    } else {
        AskVerdict::Denied
    };
    push_answer(decision, case, verdict, by, message, denials);
    if let (true, true, Some(call)) = (allowed, !case.request.subagent.is_no(), &case.request.call) {
        // Counted here, since the agent may ask for the next one before it reports this one.
        let subagent = SubagentReport {
            id: call.clone(),
            title: title.clone(),
            running: true,
            ..SubagentReport::default()
        };
        decision.push(Event::Agent(AgentEvent::Reported {
            iteration: case.iteration,
            signal: AgentSignal::Subagent {
                subagent: Box::new(subagent),
            },
        }));
    }
    let limits = decision.state.view.settings.denials;
    let in_a_row = decision.state.view.permissions.denied_in_a_row;
    // Without the subagent the agent can continue.
    let can_continue = allowed || matches!(by, Decider::Limit { .. });
    if !can_continue && (denials >= limits.same || in_a_row >= limits.in_a_row) {
        end_iteration(decision, case.iteration);
    }
}

fn answer_questions(
    decision: &mut StepDecision,
    case: &Case<'_>,
    answers: Vec<Vec<String>>,
    by: &Decider,
    message: Option<String>,
) {
    let questions = case.request.questions.iter();
    let verdict = AskVerdict::Words {
        questions: questions.map(|question| question.text.clone()).collect(),
        answers,
    };
    push_answer(decision, case, verdict, by, message, 0);
}

fn push_answer(
    decision: &mut StepDecision,
    case: &Case<'_>,
    verdict: AskVerdict,
    by: &Decider,
    message: Option<String>,
    denials: u32,
) {
    let PermissionRequest { id, tool, title, .. } = case.request;
    decision.push(Event::Ask(AskEvent::Answered {
        answered: Box::new(Answered {
            iteration: case.iteration,
            ask: case.ask,
            id: id.clone(),
            tool: tool.clone(),
            title: title.clone(),
            verdict,
            by: by.clone(),
            message,
            waited_ms: case.waited_ms,
            denials,
            at_ms: 0,
        }),
    }));
}

/// The question to the user after an agent was ended because of denials or unanswered questions: the latest of these
/// requests.
pub(super) fn question(permissions: &Permissions) -> Option<String> {
    let refused = permissions
        .answered
        .iter()
        .rev()
        .find(|answered| answered.is_refused())?;
    Some(match &refused.verdict {
        AskVerdict::Allowed | AskVerdict::Denied | AskVerdict::Withdrawn => {
            format!("{}: {}?", refused.tool, refused.title)
        }
        AskVerdict::Words { questions, .. } => questions.join(" "),
    })
}

fn end_iteration(decision: &mut StepDecision, iteration: u32) {
    if matches!(decision.state.view.phase, Phase::Running { iteration: current, .. } if current == iteration) {
        decision.push(Event::Iteration(IterationEvent::CancelRequested {
            iteration,
            reason: CancelReason::Denied,
        }));
    }
}
