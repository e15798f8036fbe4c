//! Permission requests of agents and their decisions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Block, Recent};
use crate::event::{
    AgentCall, AskId, CancelReason, Decider, Event, Offer, Outcome, PermissionMode, PermissionRequest, Question,
    RememberedRule, RuleScope, RunId, TestsChange, ToolKind,
};

const DECISIONS: usize = 1_000;
/// Maximum number of different denied requests that are stored per iteration.
const DENIED: usize = 64;

/// Maximum number of unanswered questions that are stored per iteration.
const UNANSWERED: usize = 64;

/// Prefix of the ids of questions that the agent asked with ralph's own tool.
const TICKET: &str = "ticket/";
/// The tool name of the question whether changed tests are accepted.
pub const TESTS: &str = "tests";
/// Prefix of the id of the question whether changed tests are accepted.
const OF_TESTS: &str = "ticket/tests/";

/// The permissions of a run.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Number of questions so far, which is the number of the latest one.
    pub asked: u32,
    /// The waiting requests, oldest first.
    pub pending: Vec<Ask>,
    pub allowed: u64,
    pub denied: u64,
    pub decisions: Recent<Decided, DECISIONS>,
    /// The agent's questions that were answered or declined.
    pub answers: Recent<AnsweredQuestions, DECISIONS>,
    /// Numbers of questions that the agent withdrew.
    pub withdrawn: Recent<u32, DECISIONS>,
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

/// A request that waits for an answer.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Number of the request within the run, from 1.
    pub number: u32,
    pub iteration: u32,
    pub request: PermissionRequest,
    pub asked_ms: u64,
    /// `None` if there is no deadline.
    pub until_ms: Option<u64>,
    pub offer: Offer,
    /// Whether the request was shortened.
    pub cut: bool,
}

/// A rule that an answer added.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum OpenAsk<'v> {
    /// The agent waits for the answer.
    Waits(&'v Ask),
    /// The agent no longer waits: the answer goes into its next prompt.
    Missed(&'v Ask),
    /// The answer is needed before the agent continues a task.
    Blocks(&'v Block),
}

impl Ask {
    /// Creates a question that the agent does not wait for.
    fn ticket(number: u32, iteration: u32, asked_ms: u64, request: PermissionRequest) -> Self {
        Self {
            number,
            iteration,
            request,
            asked_ms,
            until_ms: None,
            offer: Offer::default(),
            cut: false,
        }
    }

    /// Creates a question that the agent asked with ralph's own tool.
    fn by_tool(number: u32, iteration: u32, question: &Question, asked_ms: u64) -> Self {
        let request = PermissionRequest {
            id: AskId(format!("{TICKET}{number}")),
            call: None,
            tool: "question".to_owned(),
            kind: ToolKind::Mcp,
            title: question.text.clone(),
            reason: None,
            command: None,
            paths: Vec::new(),
            url: None,
            diff: None,
            questions: vec![question.clone()],
        };
        Self::ticket(number, iteration, asked_ms, request)
    }

    /// Creates the question whether to accept changed tests.
    fn about_tests(number: u32, iteration: u32, change: &TestsChange, asked_ms: u64) -> Self {
        let paths: BTreeSet<&str> = change.changes.iter().map(|change| &*change.path).collect();
        let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
        let request = PermissionRequest {
            id: AskId(format!("{OF_TESTS}{number}")),
            call: None,
            tool: TESTS.to_owned(),
            kind: ToolKind::Other,
            title: format!("accept the changed tests? {}", paths.join(", ")),
            reason: (!change.why.is_empty()).then(|| change.why.to_string()),
            command: None,
            paths,
            url: None,
            diff: Some(change.diff.to_string()),
            questions: Vec::new(),
        };
        Self {
            cut: change.cut,
            ..Self::ticket(number, iteration, asked_ms, request)
        }
    }

    /// Whether it asks to accept changed tests.
    pub fn is_about_tests(&self) -> bool {
        is_about_tests(&self.request)
    }

    fn outlives_its_iteration(&self) -> bool {
        self.request.id.0.starts_with(TICKET)
    }
}

/// Whether a request asks to accept changed tests.
pub fn is_about_tests(request: &PermissionRequest) -> bool {
    request.id.0.starts_with(OF_TESTS)
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

    /// The questions in words, with choices.
    pub fn questions(self) -> &'v [Question] {
        self.ask().map_or(&[], |ask| &ask.request.questions)
    }

    /// The request or the questions as a text.
    pub fn text(self) -> String {
        match self {
            OpenAsk::Blocks(block) => block.question.clone(),
            OpenAsk::Waits(ask) | OpenAsk::Missed(ask) => match &ask.request.questions[..] {
                [] if ask.is_about_tests() => ask.request.title.clone(),
                [] => format!("{}: {}", ask.request.tool, ask.request.title),
                questions => {
                    let texts = questions.iter().map(|question| question.text.as_str());
                    texts.collect::<Vec<_>>().join(" ")
                }
            },
        }
    }
}

/// A decided request.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    pub iteration: u32,
    /// The number of the question; `None` if no question was asked.
    pub ask: Option<u32>,
    pub tool: String,
    pub title: String,
    pub allowed: bool,
    pub by: Decider,
    /// The message to the agent.
    pub message: Option<String>,
    pub waited_ms: u64,
    #[serde(default)]
    pub at_ms: u64,
}

/// Questions of the agent that no longer wait.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredQuestions {
    pub iteration: u32,
    pub ask: u32,
    pub questions: Vec<String>,
    /// The choices or text for each question; empty without an answer.
    pub answers: Vec<Vec<String>>,
    pub by: Decider,
    /// The user's reason for declining.
    pub message: Option<String>,
    pub waited_ms: u64,
    #[serde(default)]
    pub at_ms: u64,
}

/// A denied request.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeniedThing {
    pub tool: String,
    pub title: String,
    pub times: u32,
}

impl Permissions {
    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::RunStarted { settings, .. } | Event::RunResumed { settings, .. } => {
                self.recall(&settings.remembered);
                self.mode = None;
            }
            Event::PermissionModeChanged { mode } => self.mode = Some(*mode),
            Event::RuleForgotten { rule } => self.rules.retain(|known| known.rule != *rule),
            Event::IterationStarted { .. } => {
                self.pending.clear();
                // Questions in words are still useful to the agent of a later iteration.
                self.unanswered.retain(Ask::outlives_its_iteration);
                self.denied_now.clear();
                self.requests_now = 0;
                self.waited_ms = 0;
                self.waiting_since_ms = None;
            }
            // No agent is left to get an answer.
            Event::IterationEnded { outcome, .. } => {
                self.unanswered.append(&mut self.pending);
                self.end_wait(at_ms);
                let reason = CancelReason::Denied;
                if *outcome == (Outcome::Cancelled { reason }) {
                    self.denied_in_a_row = 0;
                }
            }
            Event::PermissionAsked {
                iteration,
                ask,
                request,
                until_ms,
                offer,
                cut,
            } => {
                self.asked = self.asked.max(*ask);
                self.waiting_since_ms.get_or_insert(at_ms);
                // The question was recorded again because it now waits without a deadline.
                if let Some(ask) = self.pending.iter_mut().find(|known| known.number == *ask) {
                    ask.until_ms = *until_ms;
                    return;
                }
                self.requests_now += 1;
                self.pending.push(Ask {
                    number: *ask,
                    iteration: *iteration,
                    request: (**request).clone(),
                    asked_ms: at_ms,
                    until_ms: *until_ms,
                    offer: offer.clone(),
                    cut: *cut,
                });
            }
            Event::AgentCalled {
                iteration,
                call: AgentCall::Asked { ask, question },
            } => {
                self.asked = self.asked.max(*ask);
                if self.unanswered.len() < UNANSWERED {
                    self.unanswered.push(Ask::by_tool(*ask, *iteration, question, at_ms));
                }
            }
            Event::TestsQuestioned { iteration, ask, change } => {
                self.asked = self.asked.max(*ask);
                self.unanswered.retain(|ask| !ask.is_about_tests());
                self.unanswered.push(Ask::about_tests(*ask, *iteration, change, at_ms));
            }
            Event::TestsConfirmed { .. } => self.unanswered.retain(|ask| !ask.is_about_tests()),
            Event::RulesAdded {
                ask,
                scope,
                rules,
                over,
                ..
            } => self.rules.extend(rules.iter().map(|rule| AddedRule {
                rule: rule.clone(),
                over: over.clone(),
                scope: *scope,
                run: None,
                ask: *ask,
                at_ms,
            })),
            Event::PermissionWithdrawn { ask, .. } => {
                self.take(at_ms, *ask);
                self.withdrawn.push(*ask);
            }
            Event::QuestionAnswered {
                iteration,
                ask,
                questions,
                answers,
                by,
                message,
                waited_ms,
                ..
            } => {
                if answers.is_empty() && *by == Decider::Deadline {
                    self.miss(*ask);
                }
                self.take(at_ms, *ask);
                self.answers.push(AnsweredQuestions {
                    iteration: *iteration,
                    ask: *ask,
                    questions: questions.clone(),
                    answers: answers.clone(),
                    by: by.clone(),
                    message: message.clone(),
                    waited_ms: *waited_ms,
                    at_ms,
                });
            }
            Event::PermissionDecided {
                iteration,
                ask,
                tool,
                title,
                allowed,
                by,
                message,
                waited_ms,
                ..
            } => {
                match ask {
                    Some(ask) => {
                        if !allowed && *by == Decider::Deadline {
                            self.miss(*ask);
                        }
                        self.take(at_ms, *ask);
                    }
                    None => self.requests_now += 1,
                }
                match allowed {
                    true => {
                        self.allowed += 1;
                        self.denied_in_a_row = 0;
                    }
                    false => {
                        self.denied += 1;
                        self.denied_in_a_row += 1;
                        self.remember_denial(tool, title);
                    }
                }
                self.decisions.push(Decided {
                    iteration: *iteration,
                    ask: *ask,
                    tool: tool.clone(),
                    title: title.clone(),
                    allowed: *allowed,
                    by: by.clone(),
                    message: message.clone(),
                    waited_ms: *waited_ms,
                    at_ms,
                });
            }
            _ => {}
        }
    }

    /// The source of the decision on a question.
    pub fn decider(&self, number: u32) -> Option<&Decider> {
        let in_words = self.answers.iter().rev().find(|answered| answered.ask == number);
        let decided = || {
            let mut decisions = self.decisions.iter().rev();
            decisions.find(|decided| decided.ask == Some(number))
        };
        in_words
            .map(|answered| &answered.by)
            .or_else(|| decided().map(|decided| &decided.by))
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
