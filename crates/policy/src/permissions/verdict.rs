//! What is asked of a policy, and what it says.

use ralph_core::event::{self, Decision, PermissionMode, PermissionRequest};
use serde::Serialize;

use super::{
    rule::{Granted, List, Rule},
    shell::Unclear,
    tools::{ToolKind, kind_of},
};

/// Something that an agent wants to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// As the agent names it.
    pub tool: String,
    pub kind: ToolKind,
    /// Of a shell, what it would run.
    pub command: Option<String>,
    pub paths: Vec<String>,
    pub url: Option<String>,
}

impl From<&PermissionRequest> for Request {
    fn from(asked: &PermissionRequest) -> Self {
        let kind = match (&asked.command, kind_of(&asked.tool), asked.kind) {
            (Some(_), ..) | (None, ToolKind::Other, event::ToolKind::Shell) => ToolKind::Shell,
            (None, ToolKind::Other, event::ToolKind::Edit) => ToolKind::Edit,
            (None, ToolKind::Other, event::ToolKind::Read) => ToolKind::Read,
            (None, ToolKind::Other, event::ToolKind::Fetch) => ToolKind::Fetch,
            (None, ToolKind::Other, event::ToolKind::Mcp) => {
                // Without its server where the agent joins the two by `_`.
                let joined = asked.tool.strip_prefix("mcp_").unwrap_or(&asked.tool);
                let (server, tool) = asked.tool.split_once("__").unwrap_or(("", joined));
                let (server, tool) = (server.to_owned(), tool.to_owned());
                ToolKind::Mcp { server, tool }
            }
            (None, by_name, _) => by_name,
        };
        Request {
            tool: asked.tool.clone(),
            kind,
            command: asked.command.clone(),
            paths: asked.paths.clone(),
            url: asked.url.clone(),
        }
    }
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub decision: Decision,
    pub because: Because,
    /// Each part of a command, each file of others.
    pub parts: Vec<PartVerdict>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartVerdict {
    /// As it is written.
    pub part: String,
    pub decision: Decision,
    pub because: Because,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Because {
    Rule {
        rule: String,
        list: List,
        origin: String,
    },
    /// The rule matches for some values of what is computed.
    PossibleRule {
        rule: String,
        list: List,
        origin: String,
    },
    Mode {
        mode: PermissionMode,
    },
    Unclear {
        why: Unclear,
    },
    /// It only reads what is at hand, or is looked through.
    Harmless,
}

impl Because {
    pub(super) fn rule(rule: &Rule, list: List) -> Self {
        Because::Rule {
            rule: rule.text.clone(),
            list,
            origin: rule.origin.to_string(),
        }
    }

    /// The list of the rule that decided, if one did.
    pub(super) fn list(&self) -> Option<List> {
        match self {
            Because::Rule { list, .. } | Because::PossibleRule { list, .. } => Some(*list),
            Because::Mode { .. } | Because::Unclear { .. } | Because::Harmless => None,
        }
    }

    pub(super) fn granted(granted: &Granted) -> Self {
        Because::Rule {
            rule: granted.rule.text.clone(),
            list: List::Allow,
            origin: granted.origin.clone(),
        }
    }

    pub(super) fn possible_rule(rule: &Rule, list: List) -> Self {
        Because::PossibleRule {
            rule: rule.text.clone(),
            list,
            origin: rule.origin.to_string(),
        }
    }
}

impl Verdict {
    /// Puts the verdicts on parts together: the strictest decides.
    pub(super) fn of(parts: Vec<PartVerdict>) -> Self {
        // Of equals the first, which is the one that is read first.
        let first = parts.iter().rev().max_by_key(|part| part.decision);
        let (decision, because) = match first {
            Some(part) => (part.decision, part.because.clone()),
            None => (Decision::Allow, Because::Harmless),
        };
        Verdict {
            decision,
            because,
            parts,
        }
    }
}
