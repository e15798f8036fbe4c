//! Requests to a policy, and its verdicts.

use ralph_core::event::{self, Decision, PermissionMode, PermissionRequest};
use serde::Serialize;

use super::{
    rule::{Granted, List, Rule},
    shell::Unclear,
    tools::{ToolKind, kind_of},
};

/// A tool use that an agent requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The tool as the agent names it.
    pub tool: String,
    pub kind: ToolKind,
    /// The command of a shell.
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
                // The server is unknown if the agent joins both names by `_`.
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

/// The decision of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub decision: Decision,
    pub because: Because,
    /// The verdicts on each part of a command, or on each file.
    pub parts: Vec<PartVerdict>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartVerdict {
    /// The part as written.
    pub part: String,
    pub decision: Decision,
    pub because: Because,
}

/// The reason of a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Because {
    Rule {
        rule: String,
        list: List,
        origin: String,
    },
    /// The rule matches for some values of the computed parts.
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
    /// The command has no effects, or only runs others that are decided separately.
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

    /// The list of the rule that decided, if a rule did.
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
    /// Combines the verdicts on parts: the strictest one decides.
    pub(super) fn of(parts: Vec<PartVerdict>) -> Self {
        // Among equally strict parts, the first one in the text decides.
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
