//! Permission requests of agents and their decisions.

use serde::{Deserialize, Serialize};

use super::{Block, Recent};
use crate::event::{
    AnswerPlace, Answered, Ask, AskEvent, AskKind, AskVerdict, CancelReason, Decider, Event, GateEvent, IterationEvent,
    Outcome, PermissionMode, PermissionRequest, Question, RememberedRule, RuleScope, RunEvent, RunId, TaskEvent,
};

const ANSWERED: usize = 2_000;
/// Maximum number of different denied requests that are stored per iteration.
const DENIED: usize = 64;

/// Maximum number of unanswered questions that are stored per iteration.
const UNANSWERED: usize = 64;

/// The permissions of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Number of questions so far, which is the number of the latest one.
    pub asked: u32,
    /// The waiting requests, oldest first.
    pub pending: Vec<Ask>,
    pub allowed: u64,
    pub denied: u64,
    /// Decided requests, and questions that were answered, declined or withdrawn, oldest first.
    pub answered: Recent<Answered, ANSWERED>,
    /// Questions without an answer that the agent no longer waits for.
    pub unanswered: Vec<Ask>,
    /// The denied requests of the running iteration, with counts.
    pub denied_now: Vec<DeniedThing>,
    /// Number of requests in the running iteration.
    pub requests_now: u32,
    /// Consecutive denials, reset when a request is allowed or an agent is ended because of denials.
    pub denied_in_a_row: u32,
    /// Rules added by answers, oldest first.
    pub rules: Vec<AddedRule>,
    /// The mode that the user set since the start or resumption of the run; `None` for that of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
    /// How long the running iteration has waited for answers, without the current wait.
    pub waited_ms: u64,
    /// Start of the current wait.
    pub waiting_since_ms: Option<u64>,
}

/// A rule that an answer added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddedRule {
    pub rule: String,
    /// The rules of `ask` that it takes precedence over.
    pub over: Vec<String>,
    pub scope: RuleScope,
    /// The run and the question whose answer added the rule; `None` for this run.
    pub run: Option<RunId>,
    pub ask: u32,
    pub at_ms: u64,
}

/// A question or request without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum OpenAsk<'v> {
    /// The agent waits for the answer.
    Waits(&'v Ask),
    /// The agent no longer waits: the answer goes into its next prompt.
    Missed(&'v Ask),
    /// The answer is needed before the agent continues a task.
    Blocks(&'v Block),
}

impl<'v> OpenAsk<'v> {
    pub fn number(self) -> u32 {
        match self {
            OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => ask.number,
            OpenAsk::Blocks(block) => block.number,
        }
    }

    /// The request; `None` for a question that blocks a task.
    pub fn ask(self) -> Option<&'v Ask> {
        match self {
            OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => Some(ask),
            OpenAsk::Blocks(_) => None,
        }
    }

    pub fn request(self) -> Option<&'v PermissionRequest> {
        self.ask().map(|ask| &ask.request)
    }

    /// Whether it asks for permission to use a tool.
    pub fn is_permission(self) -> bool {
        self.ask().is_some_and(|ask| ask.kind == AskKind::Permission)
    }

    /// Whether the answer is a decision that no agent waits for and no prompt delivers.
    pub fn is_decision(self) -> bool {
        self.ask().is_some_and(Ask::is_decision)
    }

    /// Whether no agent waits for the answer.
    pub fn is_late(self) -> bool {
        match self {
            OpenAsk::Waits(_) => false,
            OpenAsk::Missed(_) | OpenAsk::Blocks(_) => true,
        }
    }

    /// Whether the request was shortened.
    pub fn is_cut(self) -> bool {
        self.ask().is_some_and(|ask| ask.cut)
    }

    /// The rules that a remembered answer would add.
    pub fn offered_rules(self) -> &'v [String] {
        self.ask().map_or(&[], |ask| &ask.offer.rules)
    }

    /// The questions in words, with choices.
    pub fn questions(self) -> &'v [Question] {
        self.ask().map_or(&[], |ask| &ask.request.questions)
    }

    /// The request or the questions as a text.
    pub fn text(self) -> String {
        match self {
            OpenAsk::Blocks(block) => block.question.clone(),
            OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => match &ask.request.questions[..] {
                [] if ask.is_decision() => ask.request.title.clone(),
                [] => format!("{}: {}", ask.request.tool, ask.request.title),
                questions => {
                    let texts = questions.iter().map(|question| question.text.as_str());
                    texts.collect::<Vec<_>>().join(" ")
                }
            },
        }
    }
}

/// A denied request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeniedThing {
    pub tool: String,
    pub title: String,
    pub times: u32,
}

impl Permissions {
    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::Run(RunEvent::Started { settings, .. }) | Event::Run(RunEvent::Resumed { settings, .. }) => {
                self.recall(&settings.remembered);
                self.mode = None;
            }
            Event::Ask(AskEvent::PermissionModeChanged { mode }) => self.mode = Some(*mode),
            Event::Ask(AskEvent::RuleForgotten { rule }) => self.rules.retain(|known| known.rule != *rule),
            Event::Iteration(IterationEvent::Started { .. }) => {
                self.pending.clear();
                // Questions in words are still useful to the agent of a later iteration.
                self.unanswered.retain(|ask| !ask.kind.waits());
                self.denied_now.clear();
                self.requests_now = 0;
                self.waited_ms = 0;
                self.waiting_since_ms = None;
            }
            // No agent is left to get an answer.
            Event::Iteration(IterationEvent::Ended { outcome, .. }) => {
                self.unanswered.append(&mut self.pending);
                self.end_wait(at_ms);
                let reason = CancelReason::Denied;
                if *outcome == (Outcome::Cancelled { reason }) {
                    self.denied_in_a_row = 0;
                }
            }
            Event::Ask(AskEvent::Asked { ask }) => self.ask(at_ms, ask),
            Event::Gate(GateEvent::TestsConfirmed { .. }) => self.unanswered.retain(|ask| !ask.is_about_tests()),
            Event::Task(TaskEvent::ScopeConfirmed { at, ask, .. }) => self.accept_scope(at_ms, *ask, *at),
            // The agent has put the files back.
            Event::Task(TaskEvent::ScopeChecked { outside, more: 0, .. }) if outside.is_empty() => {
                self.unanswered.retain(|ask| ask.kind != AskKind::Scope);
            }
            Event::Ask(AskEvent::RulesAdded {
                ask,
                scope,
                rules,
                over,
                ..
            }) => self.rules.extend(rules.iter().map(|rule| AddedRule {
                rule: rule.clone(),
                over: over.clone(),
                scope: *scope,
                run: None,
                ask: *ask,
                at_ms,
            })),
            Event::Ask(AskEvent::Answered { answered }) => self.answer(at_ms, answered),
            _ => {}
        }
    }

    fn ask(&mut self, at_ms: u64, ask: &Ask) {
        self.asked = self.asked.max(ask.number);
        let asked = Ask {
            asked_ms: at_ms,
            ..ask.clone()
        };
        match ask.kind {
            AskKind::Permission | AskKind::Question => {
                self.waiting_since_ms.get_or_insert(at_ms);
                if let Some(known) = self.pending.iter_mut().find(|known| known.number == ask.number) {
                    known.until_ms = ask.until_ms;
                    return;
                }
                self.requests_now += 1;
                self.pending.push(asked);
            }
            AskKind::Ticket if self.unanswered.len() < UNANSWERED => self.unanswered.push(asked),
            AskKind::Ticket => {}
            AskKind::Tests | AskKind::Scope => {
                self.unanswered.retain(|known| known.kind != ask.kind);
                self.unanswered.push(asked);
            }
        }
    }

    fn accept_scope(&mut self, at_ms: u64, ask: u32, at: AnswerPlace) {
        let asked = self.unanswered.iter().find(|known| known.number == ask);
        let answered = asked.map(|asked| Answered {
            iteration: asked.iteration,
            ask: Some(ask),
            id: asked.request.id.clone(),
            tool: asked.request.tool.clone(),
            title: asked.request.title.clone(),
            verdict: AskVerdict::Allowed,
            by: Decider::User { at },
            message: None,
            waited_ms: 0,
            denials: 0,
            at_ms,
        });
        answered.into_iter().for_each(|answered| self.answered.push(answered));
        self.unanswered.retain(|ask| ask.kind != AskKind::Scope);
    }

    fn answer(&mut self, at_ms: u64, answered: &Answered) {
        match answered.ask {
            Some(ask) => {
                if answered.is_refused() && answered.by == Decider::Deadline {
                    self.miss(ask);
                }
                self.take(at_ms, ask);
            }
            None => self.requests_now += 1,
        }
        match answered.verdict {
            AskVerdict::Allowed => {
                self.allowed += 1;
                self.denied_in_a_row = 0;
            }
            // The agent can continue without a subagent.
            AskVerdict::Denied if matches!(answered.by, Decider::Limit { .. }) => self.denied += 1,
            AskVerdict::Denied => {
                self.denied += 1;
                self.denied_in_a_row += 1;
                self.remember_denial(&answered.tool, &answered.title);
            }
            AskVerdict::Words { .. } | AskVerdict::Withdrawn => {}
        }
        self.answered.push(Answered {
            at_ms,
            ..answered.clone()
        });
    }

    /// The answer to a question.
    pub fn answer_to(&self, number: u32) -> Option<&Answered> {
        self.answered.iter().rev().find(|answered| answered.ask == Some(number))
    }

    /// The source of the decision on a question.
    pub fn decider(&self, number: u32) -> Option<&Decider> {
        self.answer_to(number).map(|answered| &answered.by)
    }

    /// The open questions whether to accept what the agent did.
    pub fn decisions(&self) -> impl Iterator<Item = &Ask> {
        self.unanswered.iter().filter(|ask| ask.is_decision())
    }

    /// The open question whether to accept changes outside of scopes.
    pub fn about_scope(&self) -> Option<&Ask> {
        self.unanswered.iter().find(|ask| ask.kind == AskKind::Scope)
    }

    /// The open question whether to accept changed tests.
    pub fn about_tests(&self) -> Option<&Ask> {
        self.unanswered.iter().find(|ask| ask.is_about_tests())
    }

    /// How often the request was denied in the running iteration.
    pub fn times_denied(&self, tool: &str, title: &str) -> u32 {
        let same = |thing: &&DeniedThing| thing.tool == tool && thing.title == title;
        self.denied_now.iter().find(same).map_or(0, |thing| thing.times)
    }

    /// How long the running iteration has waited for answers until `now_ms`.
    pub fn waited_by(&self, now_ms: u64) -> u64 {
        let lasts = self.waiting_since_ms.map_or(0, |since| now_ms.saturating_sub(since));
        self.waited_ms.saturating_add(lasts)
    }

    /// Moves the times of waiting requests by a gap that did not pass for the loop.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        for ask in &mut self.pending {
            ask.asked_ms = ask.asked_ms.saturating_add_signed(gap_ms);
            ask.until_ms = ask.until_ms.map(|until| until.saturating_add_signed(gap_ms));
        }
        self.waiting_since_ms = self.waiting_since_ms.map(|since| since.saturating_add_signed(gap_ms));
    }

    /// Reserves the number of the next question.
    pub(super) fn next_number(&mut self) -> u32 {
        self.asked += 1;
        self.asked
    }

    /// Stores a question that was not answered in time.
    fn miss(&mut self, number: u32) {
        let missed = self.pending.iter().find(|ask| ask.number == number);
        if let Some(missed) = missed.filter(|_| self.unanswered.len() < UNANSWERED) {
            self.unanswered.push(missed.clone());
        }
    }

    /// Removes a question that was answered.
    pub(super) fn close(&mut self, number: u32) {
        self.pending.retain(|ask| ask.number != number);
        self.unanswered.retain(|ask| ask.number != number);
    }

    /// Loads the rules of the project, some of which may have been removed since the run last knew them.
    fn recall(&mut self, remembered: &[RememberedRule]) {
        self.rules.retain(|known| known.scope == RuleScope::Run);
        self.rules.extend(remembered.iter().map(|rule| AddedRule {
            rule: rule.rule.clone(),
            over: rule.over.clone(),
            scope: RuleScope::Project,
            run: Some(rule.run.clone()),
            ask: rule.ask,
            at_ms: rule.at_ms,
        }));
    }

    fn take(&mut self, at_ms: u64, number: u32) {
        self.pending.retain(|ask| ask.number != number);
        if self.pending.is_empty() {
            self.end_wait(at_ms);
        }
    }

    fn end_wait(&mut self, at_ms: u64) {
        if let Some(since) = self.waiting_since_ms.take() {
            self.waited_ms = self.waited_ms.saturating_add(at_ms.saturating_sub(since));
        }
    }

    fn remember_denial(&mut self, tool: &str, title: &str) {
        let same = |thing: &&mut DeniedThing| thing.tool == tool && thing.title == title;
        if let Some(thing) = self.denied_now.iter_mut().find(same) {
            thing.times += 1;
        } else if self.denied_now.len() < DENIED {
            self.denied_now.push(DeniedThing {
                tool: tool.to_owned(),
                title: title.to_owned(),
                times: 1,
            });
        }
    }
}
