//! Questions to the user: requests of agents, their questions in words, and changed tests to accept.

use serde::{Deserialize, Serialize};

use super::{
    AskId, Decider, GuardedChange, List, Offer, PermissionMode, PermissionRequest, Question, RuleScope, ToolKind,
};
use crate::json::ReadJson;

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Number of the question within the run, from 1.
    pub number: u32,
    pub iteration: u32,
    pub kind: AskKind,
    pub request: PermissionRequest,
    /// The changed tests that it asks to accept.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub changes: List<GuardedChange>,
    /// When it was asked; missing in an event, whose record has the time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_ms: u64,
    /// When the wait ends; `None` for no timeout.
    pub until_ms: Option<u64>,
    pub offer: Offer,
    /// Whether the request was shortened.
    pub cut: bool,
}

/// The kind of a question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskKind {
    /// The agent waits before it uses a tool.
    Permission,
    /// The agent waits for an answer in words.
    Question,
    /// The agent asked with ralph's own tool and continues meanwhile.
    Ticket,
    /// Whether changed tests are accepted. Replaces an open question of this kind.
    Tests,
    /// Whether changes outside of the scope of a task are accepted. Replaces an open question of this kind.
    Scope,
}

/// How a question ended, or what the rules decided about a request without a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    pub iteration: u32,
    /// The number of the question; `None` if no question was asked.
    pub ask: Option<u32>,
    /// The agent's id of the request.
    pub id: AskId,
    pub tool: String,
    pub title: String,
    pub verdict: AskVerdict,
    pub by: Decider,
    /// The user's message to the agent.
    pub message: Option<String>,
    pub waited_ms: u64,
    /// How often the same request was denied in this iteration, including this time.
    pub denials: u32,
    /// When it was answered; missing in an event, whose record has the time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_ms: u64,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum AskVerdict {
    Allowed,
    Denied,
    Words {
        questions: Vec<String>,
        /// The choices or text for each question; empty if unanswered or declined.
        answers: Vec<Vec<String>>,
    },
    /// The agent no longer waits for an answer.
    Withdrawn,
}

impl Answered {
    /// Whether the use of a tool was allowed; `None` for questions in words and withdrawn ones.
    pub fn allowed(&self) -> Option<bool> {
        match self.verdict {
            AskVerdict::Allowed => Some(true),
            AskVerdict::Denied => Some(false),
            AskVerdict::Words { .. } | AskVerdict::Withdrawn => None,
        }
    }

    /// Whether it was denied, or stays without an answer.
    pub fn is_refused(&self) -> bool {
        match &self.verdict {
            AskVerdict::Allowed | AskVerdict::Withdrawn => false,
            AskVerdict::Denied => true,
            AskVerdict::Words { answers, .. } => answers.is_empty(),
        }
    }
}

impl AskKind {
    /// Whether the agent waits for the answer.
    pub fn waits(self) -> bool {
        match self {
            AskKind::Permission | AskKind::Question => true,
            AskKind::Ticket | AskKind::Tests | AskKind::Scope => false,
        }
    }
}

impl Ask {
    /// Creates the question whether a request is allowed, or the one that is the request.
    pub fn requested(number: u32, iteration: u32, request: PermissionRequest) -> Self {
        let kind = match request.questions.is_empty() {
            true => AskKind::Permission,
            false => AskKind::Question,
        };
        Self {
            number,
            iteration,
            kind,
            request,
            changes: List::default(),
            asked_ms: 0,
            until_ms: None,
            offer: Offer::default(),
            cut: false,
        }
    }

    /// Creates a question that the agent asked with ralph's own tool.
    pub fn by_tool(number: u32, iteration: u32, question: &Question) -> Self {
        let request = PermissionRequest {
            questions: vec![question.clone()],
            ..PermissionRequest::new(AskId(String::new()), "question", ToolKind::Mcp, question.text.clone())
        };
        Self {
            kind: AskKind::Ticket,
            ..Self::requested(number, iteration, request)
        }
    }

    /// Whether it asks to accept changed tests.
    pub fn is_about_tests(&self) -> bool {
        self.kind == AskKind::Tests
    }

    /// Whether it asks to accept what the agent did: no agent waits for the answer, and a yes is no message to one.
    pub fn is_decision(&self) -> bool {
        matches!(self.kind, AskKind::Tests | AskKind::Scope)
    }
}

// The signature is required by serde.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

/// Questions to the user, their answers, and what follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AskEvent {
    /// The user was asked. If the question waits already, its timeout has changed.
    Asked { ask: Box<Ask> },
    /// A question was answered, withdrawn or will stay unanswered, or rules decided about a request.
    Answered { answered: Box<Answered> },
    /// From now on, requests that match these rules are allowed without asking, unless another rule asks or denies.
    RulesAdded {
        iteration: u32,
        /// The question whose answer added the rules.
        ask: u32,
        scope: RuleScope,
        rules: Vec<String>,
        /// The rules that caused question `ask`; the added rules take precedence over them.
        over: Vec<String>,
    },
    /// A rule that answers had added was removed.
    RuleForgotten { rule: String },
    /// The mode that decides requests without a matching rule was changed.
    PermissionModeChanged { mode: PermissionMode },
}
