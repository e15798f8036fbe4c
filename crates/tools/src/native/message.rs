//! Conversations in a form that is independent of the model's API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::models::{Effort, ReasoningControl};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum ChatMessage {
    User {
        text: String,
    },
    Assistant(ModelAnswer),
    /// The results of the preceding answer's calls, one for each.
    Results {
        results: Vec<ToolResult>,
    },
}

impl ChatMessage {
    pub(super) fn user(text: impl Into<String>) -> Self {
        ChatMessage::User { text: text.into() }
    }
}

/// A model's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ModelAnswer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<Reasoning>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<ModelCall>,
}

/// Reasoning, which some APIs require to be sent back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reasoning {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) proof: ReasoningProof,
}

/// The proof that an API wants back with a thought. Each API understands only its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReasoningProof {
    /// A thought that is not sent back.
    #[default]
    Unsigned,
    /// Anthropic's signature of the text.
    Signature(String),
    /// Anthropic's encrypted reasoning in place of a text.
    Redacted(String),
    /// The field of a chat message that has the text.
    Field(String),
    /// OpenAI's encrypted reasoning, which came after so many calls of the answer.
    Encrypted { content: String, after: usize },
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ModelCall {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON as the model wrote it; it may be invalid.
    pub(super) arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ToolResult {
    pub(super) call: String,
    pub(super) text: String,
    pub(super) ok: bool,
}

/// Token counts of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TokenUsage {
    /// All tokens of the request, including cache reads and writes.
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
}

impl TokenUsage {
    pub(super) fn plus(self, other: TokenUsage) -> TokenUsage {
        TokenUsage {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// The description of a tool for a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolDescription {
    pub(super) name: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    /// The JSON Schema of its arguments.
    pub(super) schema: serde_json::Value,
}

impl ToolDescription {
    /// Its approximate size in a request, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// The content of one request to a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelRequest<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [ChatMessage],
    pub(super) offers: &'a [ToolDescription],
    /// Most tokens of the answer; `None` for the default of the API.
    pub(super) answer_tokens: Option<u32>,
    pub(super) reasoning: ReasoningControl,
    /// The effort of the model's reasoning; `None` for its default.
    pub(super) effort: Option<Effort>,
}
