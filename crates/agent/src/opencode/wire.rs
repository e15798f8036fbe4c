//! The part of the server's protocol that ralph uses. Pure, and tolerant of missing and unknown fields.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::asking_rules::OpencodeRule;

/// One event of the server's stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerEvent {
    /// Identifies an event that arrives twice.
    pub(super) id: String,
    pub(super) kind: EventKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum EventKind {
    Connected,
    Heartbeat,
    SessionCreated(SessionInfo),
    MessageUpdated(MessageInfo),
    PartUpdated(Box<MessagePart>),
    PartDelta(PartDelta),
    Status {
        session: String,
        status: SessionStatus,
    },
    /// `session.idle`; an equivalent `session.status` precedes it.
    Idle {
        session: String,
    },
    /// An error; without a session if the server did not know it.
    Failed {
        session: Option<String>,
        error: Value,
    },
    PermissionAsked(WirePermission),
    /// A permission request was answered, by any client.
    PermissionAnswered {
        session: String,
        id: String,
        allowed: bool,
    },
    QuestionAsked(WireQuestion),
    /// A question was answered or rejected, by any client.
    QuestionAnswered {
        session: String,
        id: String,
    },
    Todos {
        session: String,
        todos: Vec<Todo>,
    },
    /// Any other event, with its session.
    Other {
        name: String,
        session: Option<String>,
    },
    /// An event with a known name and an unexpected structure.
    Garbled {
        name: String,
        session: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SessionInfo {
    pub(super) id: String,
    #[serde(rename = "parentID")]
    pub(super) parent: Option<String>,
    /// The session's own rules.
    #[serde(default)]
    pub(super) permission: Vec<OpencodeRule>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MessageInfo {
    /// Grows with time.
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    pub(super) role: MessageRole,
    /// The reason why the model stopped; `None` before that.
    pub(super) finish: Option<String>,
    pub(super) error: Option<Value>,
    /// `true` in an assistant's message that summarises the session for the model; user messages have another value.
    #[serde(default)]
    summary: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageRole {
    User,
    Assistant,
    #[serde(other)]
    Other,
}

impl MessageInfo {
    /// Whether the assistant addresses the user, as opposed to summarising the session for itself.
    pub(super) fn is_said(&self) -> bool {
        self.role == MessageRole::Assistant && self.summary != Value::Bool(true)
    }
}

/// A part of a message: a text, a thought, a tool use, the end of a step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MessagePart {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(rename = "messageID")]
    pub(super) message: String,
    #[serde(rename = "type")]
    pub(super) kind: PartKind,
    #[serde(default)]
    pub(super) text: String,
    /// Whether opencode added the text in the user's name.
    #[serde(default)]
    pub(super) synthetic: bool,
    #[serde(default)]
    pub(super) time: PartTimes,
    /// The complete part.
    #[serde(skip)]
    pub(super) raw: Value,
}

impl MessagePart {
    fn read(raw: Value) -> Option<Self> {
        let part = MessagePart::deserialize(&raw).ok()?;
        Some(Self { raw, ..part })
    }

    /// The state of a tool use.
    pub(super) fn tool_status(&self) -> ToolStatus {
        match self.raw.pointer("/state/status").and_then(Value::as_str) {
            Some("running") => ToolStatus::Running,
            Some("completed") => ToolStatus::Completed,
            Some("error") => ToolStatus::Failed,
            Some(_) | None => ToolStatus::Pending,
        }
    }
}

/// The state of a tool use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolStatus {
    /// The model is still writing the arguments.
    Pending,
    Running,
    Completed,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PartKind {
    Text,
    Reasoning,
    Tool,
    StepFinish,
    #[serde(other)]
    Other,
}

/// The times at which a part began and ended, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartTimes {
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
}

/// A piece of a part's text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PartDelta {
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(rename = "partID")]
    pub(super) part: String,
    #[serde(default)]
    pub(super) field: String,
    #[serde(default)]
    pub(super) delta: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum SessionStatus {
    Idle,
    Busy,
    /// The server retries a request at `next`, in milliseconds since 1970.
    Retry {
        attempt: Option<u32>,
        #[serde(default)]
        message: String,
        next: Option<u64>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub(super) struct WirePermission {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(default)]
    pub(super) permission: String,
    #[serde(default)]
    pub(super) patterns: Vec<String>,
    #[serde(default)]
    pub(super) metadata: Value,
    /// The tool use that waits for the permission.
    pub(super) tool: Option<ToolUse>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ToolUse {
    #[serde(rename = "callID")]
    pub(super) call: String,
}

/// The directories in which the server works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ServerPaths {
    pub(super) worktree: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct WireQuestion {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    /// Questions, each with its choices.
    #[serde(default)]
    pub(super) questions: Vec<Value>,
    pub(super) tool: Option<ToolUse>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Todo {
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) status: String,
}

/// A message with its parts, as the server lists them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ListedMessage {
    pub(super) info: MessageInfo,
    #[serde(default)]
    pub(super) parts: Vec<Value>,
}

impl ListedMessage {
    /// The parts that can be parsed.
    pub(super) fn parts(&self) -> impl Iterator<Item = MessagePart> {
        self.parts.iter().cloned().filter_map(MessagePart::read)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Health {
    #[serde(default)]
    pub(super) healthy: bool,
    pub(super) version: Option<String>,
}

impl Health {
    /// The major version.
    pub(super) fn major(&self) -> Option<u32> {
        self.version.as_ref()?.split('.').next()?.parse().ok()
    }
}

/// Parses the data of one event; `None` if it is not a JSON object with a type.
pub(super) fn event(data: &str) -> Option<ServerEvent> {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        id: String,
        #[serde(rename = "type")]
        name: String,
        #[serde(default)]
        properties: Value,
    }
    let Envelope { id, name, properties } = serde_json::from_str(data).ok()?;
    let session = properties.get("sessionID").and_then(Value::as_str).map(str::to_owned);
    let kind = known(&name, &session, properties).unwrap_or(EventKind::Garbled { name, session });
    Some(ServerEvent { id, kind })
}

fn known(name: &str, session: &Option<String>, mut properties: Value) -> Option<EventKind> {
    let mut field = |name: &str| properties.get_mut(name).map(Value::take);
    Some(match name {
        "server.connected" => EventKind::Connected,
        "server.heartbeat" => EventKind::Heartbeat,
        "session.created" => EventKind::SessionCreated(read(field("info")?)?),
        "message.updated" => EventKind::MessageUpdated(read(field("info")?)?),
        "message.part.updated" => EventKind::PartUpdated(Box::new(MessagePart::read(field("part")?)?)),
        "message.part.delta" => EventKind::PartDelta(read(properties)?),
        "session.status" => EventKind::Status {
            session: session.clone()?,
            status: read(field("status")?)?,
        },
        "session.idle" => EventKind::Idle {
            session: session.clone()?,
        },
        "session.error" => EventKind::Failed {
            session: session.clone(),
            error: field("error").unwrap_or_default(),
        },
        "permission.asked" => EventKind::PermissionAsked(read(properties)?),
        "permission.replied" => EventKind::PermissionAnswered {
            session: session.clone()?,
            id: read(field("requestID").or_else(|| field("permissionID"))?)?,
            allowed: field("reply")
                .or_else(|| field("response"))
                .is_some_and(|reply| reply != "reject"),
        },
        "question.asked" => EventKind::QuestionAsked(read(properties)?),
        "question.replied" | "question.rejected" => EventKind::QuestionAnswered {
            session: session.clone()?,
            id: read(field("requestID")?)?,
        },
        "todo.updated" => EventKind::Todos {
            session: session.clone()?,
            todos: read(field("todos")?)?,
        },
        other => EventKind::Other {
            name: other.to_owned(),
            session: session.clone(),
        },
    })
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

impl EventKind {
    /// The session that the event concerns.
    pub(super) fn session(&self) -> Option<&str> {
        match self {
            EventKind::Connected | EventKind::Heartbeat => None,
            EventKind::SessionCreated(info) => Some(&info.id),
            EventKind::MessageUpdated(info) => Some(&info.session),
            EventKind::PartUpdated(part) => Some(&part.session),
            EventKind::PartDelta(delta) => Some(&delta.session),
            EventKind::Status { session, .. }
            | EventKind::Idle { session }
            | EventKind::PermissionAnswered { session, .. }
            | EventKind::QuestionAnswered { session, .. }
            | EventKind::Todos { session, .. } => Some(session),
            EventKind::PermissionAsked(permission) => Some(&permission.session),
            EventKind::QuestionAsked(question) => Some(&question.session),
            EventKind::Failed { session, .. }
            | EventKind::Other { session, .. }
            | EventKind::Garbled { session, .. } => session.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_missing_in_an_event_does_not_matter() {
        let text = r#"{"id":"e1","type":"message.part.updated","properties":{"new":1,"part":
            {"id":"p","sessionID":"s","messageID":"m","type":"hologram","depth":3}}}"#;
        let Some(EventKind::PartUpdated(part)) = event(text).map(|event| event.kind) else {
            panic!("a part")
        };
        assert_eq!((part.kind, part.text.as_str()), (PartKind::Other, ""));
        let status = r#"{"type":"session.status","properties":{"sessionID":"s","status":{"type":"dreaming","of":1}}}"#;
        assert_eq!(
            event(status).map(|event| event.kind),
            Some(EventKind::Status {
                session: "s".to_owned(),
                status: SessionStatus::Other
            })
        );
    }

    #[test]
    fn a_known_event_of_another_shape_is_told_from_an_unknown_one() {
        let garbled = event(r#"{"type":"message.updated","properties":{"sessionID":"s","info":7}}"#);
        assert_eq!(
            garbled.map(|event| event.kind),
            Some(EventKind::Garbled {
                name: "message.updated".to_owned(),
                session: Some("s".to_owned())
            })
        );
        let unknown = event(r#"{"type":"lunch.served"}"#);
        assert_eq!(
            unknown.map(|event| event.kind),
            Some(EventKind::Other {
                name: "lunch.served".to_owned(),
                session: None
            })
        );
        assert_eq!(event("[]"), None);
        assert_eq!(event("{\"type\""), None);
    }
}
