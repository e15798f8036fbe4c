//! A conversation in one form, whichever API the model has.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Message {
    User {
        text: String,
    },
    Assistant(Answer),
    /// What the calls of the answer before came to, one for each of them.
    Results {
        results: Vec<ToolResult>,
    },
}

/// What a model answers to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<Thought>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Call>,
}

/// Reasoning, which some APIs want back as it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Thought {
    #[serde(default)]
    pub(super) text: String,
    /// The proof that it is the model's own; empty where the API has none.
    #[serde(default)]
    pub(super) signature: String,
    /// Encrypted reasoning, in place of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redacted: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON as the model wrote it, which may be none.
    pub(super) arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolResult {
    pub(super) call: String,
    pub(super) text: String,
    pub(super) ok: bool,
}

/// Tokens, as the API counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// All of the request, what came from a cache or went into one included.
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

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer {
    pub(super) name: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    /// The JSON Schema of its arguments.
    pub(super) schema: serde_json::Value,
}

impl Offer {
    /// Bytes that it takes in a request, about.
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// Everything that one request to a model consists of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) offers: &'a [Offer],
    /// Most tokens of the answer; none leaves it to the API.
    pub(super) answer_tokens: Option<u32>,
}
