//! What an agent's session tells.

use serde::{Deserialize, Serialize};

use super::{AskId, CancelReason, PermissionRequest, SessionId, SteeringId, clip::cut};

/// What an agent's session tells, in the order it happened. `Ended` comes exactly once and last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentSignal {
    Opened {
        session: Option<SessionId>,
        model: Option<String>,
    },
    /// A whole assistant message.
    Said {
        text: String,
    },
    Thought {
        text: String,
    },
    ToolStarted {
        call: String,
        tool: String,
        /// Short form of the arguments: the command, the path.
        input: String,
    },
    ToolEnded {
        call: String,
        tool: String,
        ok: bool,
        /// Head of the result.
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    FileChanged {
        path: String,
        change: FileChange,
    },
    Usage {
        usage: Usage,
    },
    /// The agent repeats a request by itself.
    Retrying {
        attempt: Option<u32>,
        of: Option<u32>,
        why: String,
        /// What it would fail with if it gave up; none if that cannot be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ProblemKind>,
    },
    /// A limit is announced, not necessarily reached.
    LimitHit {
        kind: ProblemKind,
        until_ms: Option<u64>,
        text: String,
    },
    PermissionAsked {
        id: String,
        /// What for, and the answer if there was one.
        text: String,
        /// It was given at once: the agent lost nothing, and nobody is needed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        allowed: bool,
    },
    QuestionAsked {
        id: String,
        text: String,
    },
    Problem {
        problem: Problem,
    },
    /// The agent's answer to a message for the running turn. Not journalled: what follows from it is.
    MessageAnswered {
        id: SteeringId,
        taken: bool,
        /// The message, once it was taken: a part of the conversation from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A use of a tool waits for an answer.
    PermissionRequested {
        request: Box<PermissionRequest>,
    },
    /// It waits no more: the agent has thought better of it.
    PermissionWithdrawn {
        id: AskId,
    },
    /// A piece of a message that is being written; the whole of it follows as `Said`. Shown at once and never kept.
    TextDelta {
        text: String,
    },
    /// The same of what follows as `Thought`.
    ThoughtDelta {
        text: String,
    },
    /// A piece of what a running tool writes, shown at once and never kept.
    ToolOutput {
        call: String,
        text: String,
    },
    /// The dialect's verdict on the turn; `message` is the final assistant message, where claims are looked for.
    TurnEnded {
        ok: bool,
        message: Option<String>,
    },
    /// Something this version does not know, kept as readable text.
    Unknown {
        text: String,
    },
    Ended {
        exit: Option<Exit>,
        output_bytes: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileChange {
    Added,
    Updated,
    Deleted,
}

/// Tokens and money; `None` where the agent does not tell. Never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All of them, those that came from a cache included.
    pub input_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    /// Those of the thinking included.
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Input and output together; none where neither is known.
    pub fn tokens(&self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }

    /// Adds what is known; a sum of nothing known stays unknown.
    #[must_use]
    pub fn plus(self, more: Usage) -> Usage {
        fn tokens(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
            match (sum, more) {
                (None, None) => None,
                (sum, more) => Some(sum.unwrap_or(0).saturating_add(more.unwrap_or(0))),
            }
        }
        Usage {
            input_tokens: tokens(self.input_tokens, more.input_tokens),
            cached_tokens: tokens(self.cached_tokens, more.cached_tokens),
            output_tokens: tokens(self.output_tokens, more.output_tokens),
            cost_usd: match (self.cost_usd, more.cost_usd) {
                (None, None) => None,
                (sum, more) => Some(billionths(sum.unwrap_or(0.0) + more.unwrap_or(0.0))),
            },
        }
    }

    /// What came on top of `before`. A sum that shrank counts as nothing.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        let tokens = |sum: Option<u64>, before: Option<u64>| Some(sum?.saturating_sub(before.unwrap_or_default()));
        Usage {
            input_tokens: tokens(self.input_tokens, before.input_tokens),
            cached_tokens: tokens(self.cached_tokens, before.cached_tokens),
            output_tokens: tokens(self.output_tokens, before.output_tokens),
            cost_usd: self
                .cost_usd
                .map(|cost| billionths((cost - before.cost_usd.unwrap_or_default()).max(0.0))),
        }
    }
}

/// Dollars to a billionth: 0.1 and 0.2 are 0.3, and not 0.30000000000000004.
fn billionths(dollars: f64) -> f64 {
    (dollars * 1e9).round() / 1e9
}

/// What went wrong in a session: what the agent says of it, what ralph found, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Problem {
    pub kind: ProblemKind,
    /// One line, as the agent put it; empty where it said nothing.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

/// What ralph found of a session that did not go well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Finding {
    /// It ended without a verdict on its turn.
    NoResult { exit: Option<Exit> },
    /// It neither wrote nor computed until the idle limit.
    Idle,
    /// It reported without end what the loop would have to keep.
    Flooded,
    /// It ended before it said a word on its live channel, and has another.
    NoLiveChannel,
    /// ralph ended it for this reason; the text is what the agent made of that.
    EndedByRalph { reason: CancelReason },
}

impl Problem {
    /// A problem as the agent put it.
    pub fn said(kind: ProblemKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            finding: None,
        }
    }

    /// A problem that the agent said nothing about.
    pub fn found(kind: ProblemKind, finding: Finding) -> Self {
        Self {
            kind,
            text: String::new(),
            finding: Some(finding),
        }
    }

    /// With its text cut to what a record may carry.
    pub(super) fn bounded(self) -> Self {
        Problem {
            text: cut(&self.text),
            ..self
        }
    }
}

/// Why a session failed; the kind decides what the loop does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProblemKind {
    /// The program is not there or cannot be started.
    NotInstalled,
    Auth,
    ModelUnknown,
    /// The agent refused its command line.
    Usage,
    RateLimited {
        until_ms: Option<u64>,
    },
    QuotaExhausted {
        until_ms: Option<u64>,
    },
    Overloaded,
    Network,
    ContextOverflow,
    PermissionDenied,
    TurnLimit,
    /// The session to resume is not there.
    SessionLost,
    /// It died from a signal, or without the verdict its dialect promises.
    Crashed,
    Hung,
    /// It reported more than can be kept.
    Flood,
    Other,
}

impl ProblemKind {
    /// Whether it is a limit of the model's provider, which ends by itself.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            ProblemKind::RateLimited { .. } | ProblemKind::QuotaExhausted { .. }
        )
    }

    /// When the limit ends, in milliseconds since 1970, if it is one and that is known.
    pub fn limit_ends_ms(self) -> Option<u64> {
        match self {
            ProblemKind::RateLimited { until_ms } | ProblemKind::QuotaExhausted { until_ms } => until_ms,
            _ => None,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Exit {
    Code { code: i32 },
    Signal { signal: i32 },
}

impl Exit {
    pub fn success(self) -> bool {
        self == Exit::Code { code: 0 }
    }
}
