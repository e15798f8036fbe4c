//! Requests to a policy, and its verdicts.

use ralph_core::event::{self, Decision, PermissionMode, PermissionRequest};
use serde::Serialize;

use super::{
    rule::{GrantedRule, Rule, RuleList},
    shell::Unclear,
    tools::{ToolClass, tool_class},
};

/// A tool use that an agent requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRequest {
    /// The tool as the agent names it.
    pub tool: String,
    pub kind: ToolClass,
    /// The command of a shell.
    pub command: Option<String>,
    pub paths: Vec<String>,
    pub url: Option<String>,
}

impl From<&PermissionRequest> for PolicyRequest {
    fn from(asked: &PermissionRequest) -> Self {
        let kind = match (&asked.command, tool_class(&asked.tool), asked.kind) {
            (Some(_), ..) | (None, ToolClass::Other, event::ToolKind::Shell) => ToolClass::Shell,
            (None, ToolClass::Other, event::ToolKind::Edit) => ToolClass::Edit,
            (None, ToolClass::Other, event::ToolKind::Read) => ToolClass::Read,
            (None, ToolClass::Other, event::ToolKind::Fetch) => ToolClass::Fetch,
            (None, ToolClass::Other, event::ToolKind::Mcp) => {
                // The server is unknown if the agent joins both names by `_`.
                let joined = asked.tool.strip_prefix("mcp_").unwrap_or(&asked.tool);
                let (server, tool) = asked.tool.split_once("__").unwrap_or(("", joined));
                let (server, tool) = (server.to_owned(), tool.to_owned());
                ToolClass::Mcp { server, tool }
            }
            (None, by_name, _) => by_name,
        };
        PolicyRequest {
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
pub struct PermissionVerdict {
    pub decision: Decision,
    pub because: VerdictReason,
    /// The verdicts on each part of a command, or on each file.
    pub parts: Vec<PartVerdict>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartVerdict {
    /// The part as written.
    pub part: String,
    pub decision: Decision,
    pub because: VerdictReason,
}

/// The reason of a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum VerdictReason {
    Rule {
        rule: String,
        list: RuleList,
        origin: String,
    },
    /// The rule matches for some values of the computed parts.
    PossibleRule {
        rule: String,
        list: RuleList,
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
    /// The tool is one of ralph's own, and no rule names it.
    OwnTool,
}

impl VerdictReason {
    pub(super) fn rule(rule: &Rule, list: RuleList) -> Self {
        VerdictReason::Rule {
            rule: rule.text.clone(),
            list,
            origin: rule.origin.to_string(),
        }
    }

    /// The list of the rule that decided, if a rule did.
    pub(super) fn list(&self) -> Option<RuleList> {
        match self {
            VerdictReason::Rule { list, .. } | VerdictReason::PossibleRule { list, .. } => Some(*list),
            VerdictReason::Mode { .. }
            | VerdictReason::Unclear { .. }
            | VerdictReason::Harmless
            | VerdictReason::OwnTool => None,
        }
    }

    pub(super) fn granted(granted: &GrantedRule) -> Self {
        VerdictReason::Rule {
            rule: granted.rule.text.clone(),
            list: RuleList::Allow,
            origin: granted.origin.clone(),
        }
    }

    pub(super) fn possible_rule(rule: &Rule, list: RuleList) -> Self {
        VerdictReason::PossibleRule {
            rule: rule.text.clone(),
            list,
            origin: rule.origin.to_string(),
        }
    }
}

impl PermissionVerdict {
    /// Combines the verdicts on parts: the strictest one decides.
    pub(super) fn from_parts(parts: Vec<PartVerdict>) -> Self {
        // Among equally strict parts, the first one in the text decides.
        let first = parts.iter().rev().max_by_key(|part| part.decision);
        let (decision, because) = match first {
            Some(part) => (part.decision, part.because.clone()),
            None => (Decision::Allow, VerdictReason::Harmless),
        };
        PermissionVerdict {
            decision,
            because,
            parts,
        }
    }
}
