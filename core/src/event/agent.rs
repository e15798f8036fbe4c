//! The signals that an agent session reports.

use serde::{Deserialize, Serialize};

use super::{AskId, CancelReason, PermissionRequest, SessionId, SteeringId, Text, Usage, UsageWindow};
use crate::{
    json::{ReadJson, WriteJson},
    subagents::SubagentReport,
};

/// A signal of an agent session, in order of occurrence. `Ended` comes exactly once, as the last one.
#[derive(Debug, Clone, PartialEq, WriteJson, ReadJson, crate::JsonSchema)]
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
        /// Short form of the arguments, for example the command or the path.
        input: String,
    },
    ToolEnded {
        call: String,
        tool: String,
        ok: bool,
        /// The beginning of the result.
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
    /// A window of the account's usage.
    WindowUsed {
        window: UsageWindow,
    },
    /// The agent itself retries a request.
    Retrying {
        attempt: Option<u32>,
        of: Option<u32>,
        why: String,
        /// The problem that the agent would fail with if it gave up; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ProblemKind>,
    },
    /// A limit was announced, but not necessarily reached.
    LimitHit {
        kind: ProblemKind,
        until_ms: Option<u64>,
        text: String,
    },
    PermissionAsked {
        id: String,
        /// The purpose of the request, and the answer if there was one.
        text: String,
        /// The request was allowed at once: the agent lost nothing and no user is needed.
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
    /// The agent's answer to a message for the running turn. Not journalled; its consequences are.
    MessageAnswered {
        id: SteeringId,
        taken: bool,
        /// The message, if the agent accepted it. It is part of the conversation from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A tool use waits for an answer.
    PermissionRequested {
        request: Box<PermissionRequest>,
    },
    /// The agent withdrew its request.
    PermissionWithdrawn {
        id: AskId,
    },
    /// A subagent has started, works or has ended.
    Subagent {
        subagent: Box<SubagentReport>,
    },
    /// A piece of a message that is being written; the whole follows as `Said`. Shown live and never kept.
    TextDelta {
        text: String,
    },
    /// A piece of a thought that is being written; the whole follows as `Thought`. Shown live and never kept.
    ThoughtDelta {
        text: String,
    },
    /// A piece of a running tool's output. Shown live and never kept.
    ToolOutput {
        call: String,
        text: String,
    },
    /// The dialect's verdict on the turn. `message` is the final assistant message, which is searched for claims.
    TurnEnded {
        ok: bool,
        message: Option<String>,
    },
    /// A warning of the agent, or a remark of ralph on it.
    Noted {
        text: String,
    },
    /// An event that this version does not know. Its name is logged, and it is not shown: it is not meant for people.
    Unknown {
        #[serde(default)]
        event: String,
        text: String,
    },
    Ended {
        exit: Option<Exit>,
        output_bytes: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileChange {
    Added,
    Updated,
    Deleted,
}

/// A problem of a session, as reported by the agent, found by ralph, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The agent's message, in one line; empty if it reported none.
    pub text: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

/// A problem that ralph itself found in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Finding {
    /// The session ended without a verdict on its turn.
    NoResult { exit: Option<Exit> },
    /// The session neither wrote nor used CPU time until the idle limit.
    Idle,
    /// The session reported an unbounded amount of data that the loop would have to keep.
    Flooded,
    /// The session ended before it wrote anything on its live channel, and the agent has another channel.
    NoLiveChannel,
    /// ralph ended the session for this reason; `text` is the agent's reaction.
    EndedByRalph { reason: CancelReason },
}

impl Problem {
    /// Creates a problem with the agent's message.
    pub fn said(kind: ProblemKind, text: impl Into<Text>) -> Self {
        Self {
            kind,
            text: text.into(),
            finding: None,
        }
    }

    /// Creates a problem that the agent did not report.
    pub fn found(kind: ProblemKind, finding: Finding) -> Self {
        Self {
            kind,
            text: Text::default(),
            finding: Some(finding),
        }
    }
}

/// Why a session failed; the kind decides what the loop does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProblemKind {
    /// The program does not exist or cannot be started.
    NotInstalled,
    Auth,
    ModelUnknown,
    /// The agent rejected its command line.
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
    /// The session to resume does not exist.
    SessionLost,
    /// The agent was killed by a signal, or ended without the verdict that its dialect promises.
    Crashed,
    Hung,
    /// The agent reported more than can be kept.
    Flood,
    /// The processes of the session used more than they may.
    TooLarge,
    Other,
}

/// The class of a problem, which decides most reactions to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemClass {
    /// A retry fails in the same way until the user has changed something.
    Setup,
    /// A limit of the model's provider, which ends by itself, at `until_ms` if that is known.
    Limit { until_ms: Option<u64> },
    /// An outage of the provider or the network, which may pass by waiting.
    Outage,
    /// The agent kept to its own permissions or limit of turns.
    Restriction,
    /// The session to resume does not exist.
    SessionLost,
    /// The session failed by itself.
    Failure,
}

impl ProblemKind {
    pub fn class(self) -> ProblemClass {
        match self {
            ProblemKind::NotInstalled | ProblemKind::Auth | ProblemKind::ModelUnknown | ProblemKind::Usage => {
                ProblemClass::Setup
            }
            ProblemKind::RateLimited { until_ms } | ProblemKind::QuotaExhausted { until_ms } => {
                ProblemClass::Limit { until_ms }
            }
            ProblemKind::Overloaded | ProblemKind::Network => ProblemClass::Outage,
            ProblemKind::PermissionDenied | ProblemKind::TurnLimit => ProblemClass::Restriction,
            ProblemKind::SessionLost => ProblemClass::SessionLost,
            ProblemKind::ContextOverflow
            | ProblemKind::Crashed
            | ProblemKind::Hung
            | ProblemKind::Flood
            | ProblemKind::TooLarge
            | ProblemKind::Other => ProblemClass::Failure,
        }
    }

    pub fn is_limit(self) -> bool {
        matches!(self.class(), ProblemClass::Limit { .. })
    }

    /// When the limit ends, in milliseconds since 1970; `None` if unknown or if the problem is not a limit.
    pub fn limit_ends_ms(self) -> Option<u64> {
        let ProblemClass::Limit { until_ms } = self.class() else {
            return None;
        };
        until_ms
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_limits_of_the_provider_are_limits() {
        let until_ms = Some(7);
        for limit in [
            ProblemKind::RateLimited { until_ms },
            ProblemKind::QuotaExhausted { until_ms },
        ] {
            assert!(limit.is_limit(), "{limit:?}");
            assert_eq!(limit.limit_ends_ms(), until_ms);
        }
        for other in [ProblemKind::Overloaded, ProblemKind::TurnLimit, ProblemKind::Other] {
            assert!(!other.is_limit(), "{other:?}");
            assert_eq!(other.limit_ends_ms(), None);
        }
    }
}
