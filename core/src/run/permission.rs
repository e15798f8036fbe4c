//! What agents asked to be allowed, and what became of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Recent;
use crate::event::{
    AgentCall, AskId, CancelReason, Decider, Event, Offer, Outcome, PermissionMode, PermissionRequest, Question,
    RememberedRule, RuleScope, RunId, TestsChange, ToolKind,
};

const DECISIONS: usize = 1_000;
/// Most different things that are remembered as denied in an iteration.
const DENIED: usize = 64;

/// Most asks of an iteration that are remembered as unanswered.
const UNANSWERED: usize = 64;

/// What the ids of questions begin with that the agent asked with ralph's own tool.
const TICKET: &str = "ticket/";
/// The tool of the question whether changed tests count.
pub const TESTS: &str = "tests";
/// Prefix of the id of the question whether changed tests count.
const OF_TESTS: &str = "ticket/tests/";

/// Permissions of a run.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// How often somebody was asked: the number of the latest.
    pub asked: u32,
    /// Those that wait for an answer, oldest first.
    pub pending: Vec<Ask>,
    pub allowed: u64,
    pub denied: u64,
    pub decisions: Recent<Decided, DECISIONS>,
    /// The agent's questions that were answered, or will not be.
    #[serde(default)]
    pub answers: Recent<AnsweredQuestions, DECISIONS>,
    /// Numbers of questions that the agent withdrew.
    #[serde(default)]
    pub withdrawn: Recent<u32, DECISIONS>,
    /// What was asked in the last iteration, and will have no answer in it.
    #[serde(default)]
    pub unanswered: Vec<Ask>,
    /// What was denied in the running iteration, and how often.
    pub denied_now: Vec<DeniedThing>,
    /// Requests of the running iteration.
    #[serde(default)]
    pub requests_now: u32,
    /// Denials of the run since something was allowed, or since an agent was ended for them.
    #[serde(default)]
    pub denied_in_a_row: u32,
    /// What answers have added, oldest first.
    pub rules: Vec<AddedRule>,
    /// The mode that the user has set since the run started or was resumed; without one it is that of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
    /// For how long the running iteration has waited for answers, but for the wait that lasts.
    pub waited_ms: u64,
    /// Since when it waits.
    pub waiting_since_ms: Option<u64>,
}

/// A request that waits for an answer.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Counts the requests of a run, from 1.
    pub number: u32,
    pub iteration: u32,
    pub request: PermissionRequest,
    pub asked_ms: u64,
    /// None if it is waited for without end.
    pub until_ms: Option<u64>,
    pub offer: Offer,
    /// Not all of the request is known.
    pub cut: bool,
}

/// A rule that an answer added.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedRule {
    pub rule: String,
    /// The rules of `ask` that it goes before.
    pub over: Vec<String>,
    pub scope: RuleScope,
    /// The run and the question with whose answer it was added; none is this run.
    pub run: Option<RunId>,
    pub ask: u32,
    pub at_ms: u64,
}

/// Something that an agent asks, or asked, and nobody has answered.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAsk {
    pub number: u32,
    /// None for what keeps a task from being done.
    pub iteration: Option<u32>,
    pub text: String,
    /// What it asks in words, with choices.
    pub questions: Vec<Question>,
    /// What `always` allows with it from then on.
    pub rules: Vec<String>,
    /// Set while the agent waits.
    pub waits: Option<Ask>,
    /// Whether it is the question whether changed tests count.
    pub about_tests: bool,
}

impl Ask {
    /// A question that nobody waits for.
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

    /// A question that the agent asked with ralph's own tool, and whose answer it does not wait for.
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

    /// The question whether tests count as the agent changed them.
    fn about_tests(number: u32, iteration: u32, change: &TestsChange, asked_ms: u64) -> Self {
        let paths: BTreeSet<&String> = change.changes.iter().map(|change| &change.path).collect();
        let paths: Vec<String> = paths.into_iter().cloned().collect();
        let request = PermissionRequest {
            id: AskId(format!("{OF_TESTS}{number}")),
            call: None,
            tool: TESTS.to_owned(),
            kind: ToolKind::Other,
            title: format!("do they count as changed? {}", paths.join(", ")),
            reason: (!change.why.is_empty()).then(|| change.why.clone()),
            command: None,
            paths,
            url: None,
            diff: Some(change.diff.clone()),
            questions: Vec::new(),
        };
        Self::ticket(number, iteration, asked_ms, request)
    }

    /// Whether it is the question whether changed tests count.
    pub fn is_about_tests(&self) -> bool {
        self.request.id.0.starts_with(OF_TESTS)
    }

    fn outlives_its_iteration(&self) -> bool {
        self.request.id.0.starts_with(TICKET)
    }
}

impl OpenAsk {
    pub(super) fn of(ask: &Ask, waits: bool) -> Self {
        let text = match ask.request.questions.is_empty() {
            true if ask.is_about_tests() => ask.request.title.clone(),
            true => format!("{}: {}", ask.request.tool, ask.request.title),
            false => {
                let texts = ask.request.questions.iter().map(|question| question.text.as_str());
                texts.collect::<Vec<_>>().join(" ")
            }
        };
        Self {
            number: ask.number,
            iteration: Some(ask.iteration),
            text,
            questions: ask.request.questions.clone(),
            rules: match ask.cut {
                true => Vec::new(),
                false => ask.offer.rules.clone(),
            },
            waits: waits.then(|| ask.clone()),
            about_tests: ask.is_about_tests(),
        }
    }
}

/// A request that was decided.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    pub iteration: u32,
    /// The number of the question, if it was one.
    pub ask: Option<u32>,
    pub tool: String,
    pub title: String,
    pub allowed: bool,
    pub by: Decider,
    /// What the agent was told.
    pub message: Option<String>,
    pub waited_ms: u64,
}

/// Questions of the agent's that do not wait any more.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredQuestions {
    pub iteration: u32,
    pub ask: u32,
    pub questions: Vec<String>,
    /// To each what was chosen, or said; none if there is no answer.
    pub answers: Vec<Vec<String>>,
    pub by: Decider,
    /// Why the user did not answer.
    pub message: Option<String>,
    pub waited_ms: u64,
}

/// Something that was denied.
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
                // The agent of another iteration can do with an answer to what was asked in words.
                self.unanswered.retain(Ask::outlives_its_iteration);
                self.denied_now.clear();
                self.requests_now = 0;
                self.waited_ms = 0;
                self.waiting_since_ms = None;
            }
            // Nobody is left to tell.
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
                // Asked anew once it is waited for without end.
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
                });
            }
            _ => {}
        }
    }

    /// Who or what decided on a question that was put to somebody.
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

    /// The open question whether changed tests count.
    pub fn about_tests(&self) -> Option<&Ask> {
        self.unanswered.iter().find(|ask| ask.is_about_tests())
    }

    /// How often it was denied in the running iteration.
    pub fn times_denied(&self, tool: &str, title: &str) -> u32 {
        let same = |thing: &&DeniedThing| thing.tool == tool && thing.title == title;
        self.denied_now.iter().find(same).map_or(0, |thing| thing.times)
    }

    /// For how long the running iteration has waited for answers by `now_ms`.
    pub fn waited_by(&self, now_ms: u64) -> u64 {
        let lasts = self.waiting_since_ms.map_or(0, |since| now_ms.saturating_sub(since));
        self.waited_ms.saturating_add(lasts)
    }

    /// Moves what waits over a time that did not pass for the loop.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        for ask in &mut self.pending {
            ask.asked_ms = ask.asked_ms.saturating_add_signed(gap_ms);
            ask.until_ms = ask.until_ms.map(|until| until.saturating_add_signed(gap_ms));
        }
        self.waiting_since_ms = self.waiting_since_ms.map(|since| since.saturating_add_signed(gap_ms));
    }

    /// The number of what is asked next.
    pub(super) fn next_number(&mut self) -> u32 {
        self.asked += 1;
        self.asked
    }

    /// Remembers what nobody answered in time.
    fn miss(&mut self, number: u32) {
        let missed = self.pending.iter().find(|ask| ask.number == number);
        if let Some(missed) = missed.filter(|_| self.unanswered.len() < UNANSWERED) {
            self.unanswered.push(missed.clone());
        }
    }

    /// What was asked under this number has an answer.
    pub(super) fn close(&mut self, number: u32) {
        self.pending.retain(|ask| ask.number != number);
        self.unanswered.retain(|ask| ask.number != number);
    }

    /// Takes the rules of the project, which may have been taken back since this run knew them.
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
