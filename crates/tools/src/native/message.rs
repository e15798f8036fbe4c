//! Conversations in a form that is independent of the model's API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Message {
    User {
        text: String,
    },
    Assistant(Answer),
    /// The results of the preceding answer's calls, one for each.
    Results {
        results: Vec<ToolResult>,
    },
}

/// A model's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<Thought>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Call>,
}

/// Reasoning, which some APIs require to be sent back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Thought {
    #[serde(default)]
    pub(super) text: String,
    /// A signature that proves its origin; empty if the API has none.
    #[serde(default)]
    pub(super) signature: String,
    /// Encrypted reasoning in place of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redacted: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON as the model wrote it; it may be invalid.
    pub(super) arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolResult {
    pub(super) call: String,
    pub(super) text: String,
    pub(super) ok: bool,
}

/// Token counts of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// All tokens of the request, including cache reads and writes.
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
}

impl Tokens {
    pub(super) fn plus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// The description of a tool for a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer {
    pub(super) name: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    /// The JSON Schema of its arguments.
    pub(super) schema: serde_json::Value,
}

impl Offer {
    /// Its approximate size in a request, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// The content of one request to a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) offers: &'a [Offer],
    /// Most tokens of the answer; `None` for the default of the API.
    pub(super) answer_tokens: Option<u32>,
}
