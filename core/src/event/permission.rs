//! Permission requests of agents, their answers, and the modes that decide them.

use serde::{Deserialize, Serialize};

use super::{AnswerPlace, LimitKind, Question, RunId, SubagentStart, TEXT_CAP_BYTES, clip, clip::cut, question};
use crate::json::ReadJson;

/// Maximum number of paths of a request in a record.
const PATHS_CAP: usize = 32;
/// Maximum size of the title of a request, in bytes. Every decision repeats it; the full command is stored separately.
const TITLE_CAP_BYTES: usize = 1024;
/// Space for the note on how many lines of a diff were left out, in bytes.
const MORE_BYTES: usize = 64;

/// The agent's own id of a request, unique within a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct AskId(pub String);

/// The kind of a tool, independent of the name that the agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    Shell,
    Edit,
    Read,
    Fetch,
    Mcp,
    Other,
}

impl ToolKind {
    /// The names in rules and messages.
    pub const NAMES: [(&'static str, ToolKind); 6] = [
        ("shell", ToolKind::Shell),
        ("edit", ToolKind::Edit),
        ("read", ToolKind::Read),
        ("fetch", ToolKind::Fetch),
        ("mcp", ToolKind::Mcp),
        ("other", ToolKind::Other),
    ];
}

/// A set of kinds of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolKinds(u8);

impl ToolKinds {
    pub const NONE: ToolKinds = ToolKinds(0);
    pub const ALL: ToolKinds = ToolKinds::from_kinds(&[
        ToolKind::Shell,
        ToolKind::Edit,
        ToolKind::Read,
        ToolKind::Fetch,
        ToolKind::Mcp,
        ToolKind::Other,
    ]);

    #[must_use]
    pub const fn from_kinds(kinds: &[ToolKind]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    pub fn has(self, kind: ToolKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The names of the kinds.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = ToolKind::NAMES.into_iter().filter(move |(_, kind)| self.has(*kind));
        named.map(|(name, _)| name)
    }
}

/// A tool use that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    pub id: AskId,
    /// The waiting call, as in [`AgentSignal::ToolStarted`](super::AgentSignal).
    pub call: Option<String>,
    /// The tool's name, as the agent calls it.
    pub tool: String,
    pub kind: ToolKind,
    /// The purpose, in one line.
    pub title: String,
    /// The agent's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The complete shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Questions to the user. If there are any, the answer is to them and nothing is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Whether the use starts a subagent.
    #[serde(default, skip_serializing_if = "SubagentStart::is_no")]
    pub subagent: SubagentStart,
}

impl AskId {
    /// Cuts the id to the size allowed in a record. Real ids are far shorter.
    #[must_use]
    pub fn bounded(&self) -> Self {
        Self(cut(&self.0))
    }
}

impl PermissionRequest {
    /// Creates a request with nothing but what every use of a tool has.
    pub fn new(id: AskId, tool: &str, kind: ToolKind, title: String) -> Self {
        Self {
            id,
            call: None,
            tool: tool.to_owned(),
            kind,
            title,
            reason: None,
            command: None,
            paths: Vec::new(),
            url: None,
            diff: None,
            questions: Vec::new(),
            subagent: SubagentStart::No,
        }
    }

    /// Creates a request for a shell command that no agent waits for.
    pub fn for_shell(id: AskId, command: &str) -> Self {
        Self {
            command: Some(command.to_owned()),
            ..Self::new(id, "Bash", ToolKind::Shell, command.to_owned())
        }
    }

    /// Cuts the texts to the sizes allowed in a record.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let cut = |text: &str| clip(text, TEXT_CAP_BYTES);
        let cut_some = |text: &Option<String>| text.as_deref().map(cut);
        Self {
            id: self.id.bounded(),
            call: cut_some(&self.call),
            tool: cut(&self.tool),
            kind: self.kind,
            title: clip(&self.title, TITLE_CAP_BYTES),
            reason: cut_some(&self.reason),
            command: cut_some(&self.command),
            paths: self.paths.iter().take(PATHS_CAP).map(|path| cut(path)).collect(),
            url: cut_some(&self.url),
            diff: self.diff.as_deref().map(shortened),
            questions: question::bounded(&self.questions),
            subagent: self.subagent,
        }
    }

    /// Whether a record cannot hold everything that rules examine. The diff is not examined, only its paths; a cut diff
    /// ends with the number of lines left out.
    pub fn is_cut(&self) -> bool {
        let asked = Self {
            diff: None,
            ..self.clone()
        };
        asked != asked.bounded()
    }

    /// All texts of the request that come from outside.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let may_be = [&self.call, &self.reason, &self.command, &self.url, &self.diff];
        [&self.id.0, &self.tool, &self.title]
            .into_iter()
            .chain(may_be.into_iter().flatten())
            .chain(&self.paths)
            .chain(self.questions.iter().flat_map(Question::texts))
            .map(String::as_str)
    }
}

/// Cuts a diff at the end of a line and appends the number of lines left out: `[… 2950]`.
fn shortened(diff: &str) -> String {
    if diff.len() <= TEXT_CAP_BYTES {
        return diff.to_owned();
    }
    let (mut kept, mut bytes) = (0, 0);
    for line in diff.lines() {
        bytes += line.len() + 1;
        if bytes > TEXT_CAP_BYTES - MORE_BYTES {
            break;
        }
        kept += 1;
    }
    if kept == 0 {
        return clip(diff, TEXT_CAP_BYTES);
    }
    let more = format!("[… {}]", diff.lines().count() - kept);
    let lines: Vec<&str> = diff.lines().take(kept).chain([more.as_str()]).collect();
    lines.join("\n")
}

/// The answer for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PermissionAnswer {
    Allow,
    /// The agent continues without the tool use.
    Deny {
        message: String,
    },
    /// For each question the choices or text of the user.
    Words {
        answers: Vec<Vec<String>>,
    },
}

/// The decision on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    // Ordered from the mildest to the strictest: the strictest decision on any part applies to the whole.
    Allow,
    Ask,
    Deny,
}

/// The decision on requests that match no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Requests without a rule are allowed.
    #[default]
    Auto,
    /// The user is asked.
    Ask,
    /// Requests without a rule are denied.
    Restricted,
    /// Only tools that read are allowed.
    Readonly,
}

impl PermissionMode {
    pub fn is_auto(&self) -> bool {
        *self == PermissionMode::Auto
    }
}

/// The consequence of a question that is not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unanswered {
    #[default]
    Deny,
    Allow,
    /// The run is paused.
    Pause,
    /// The task is set aside.
    Block,
}

/// The source of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Decider {
    /// A rule, as written, and its origin.
    Rule { rule: String, origin: String },
    /// The mode, as no rule matched.
    Mode { mode: PermissionMode },
    /// The command could not be understood well enough to tell what it runs.
    Unclear,
    User {
        /// The interface of the answer.
        at: AnswerPlace,
    },
    /// The question was not answered in time.
    Deadline,
    /// Too many requests are already waiting for an answer.
    TooManyPending,
    /// The agent, which withdrew its request.
    Agent,
    /// The limit that the use would exceed.
    Limit { limit: LimitKind },
}

impl Decider {
    pub fn is_user(&self) -> bool {
        matches!(self, Decider::User { .. })
    }
}

/// The decision of the rules on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub decision: Decision,
    pub by: Decider,
    pub offer: Offer,
}

/// The rules that a remembered answer would add.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The rules that would allow the request from then on; empty if no rule can express it.
    pub rules: Vec<String>,
    /// The rules of `ask` that match the request, which the answer overrides.
    pub asked_by: Vec<String>,
}

/// How long a remembered answer applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleScope {
    /// Until the run ends, including when it is resumed.
    Run,
    /// For every run of this project.
    Project,
}

/// A rule that an answer added for every run of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RememberedRule {
    pub rule: String,
    /// The rules of `ask` that it takes precedence over.
    pub over: Vec<String>,
    /// The run and the question whose answer added the rule.
    pub run: RunId,
    pub ask: u32,
    pub at_ms: u64,
}

/// The part of an answer that is to be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remember {
    pub scope: RuleScope,
    /// The rules to add; if empty, those that the question offers.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// How long to wait for an answer, and what happens without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    pub timeout_ms: u64,
    pub unanswered: Unanswered,
}

/// Limits on denials before the agent is ended, and on its waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DenialLimits {
    /// Denials of the same request in one iteration after which it ends and its task is set aside.
    pub same: u32,
    /// Consecutive denials of any requests after which the iteration ends as well.
    pub in_a_row: u32,
    /// Requests that may wait for an answer at the same time; further ones are denied.
    pub pending: u32,
}

impl Default for DenialLimits {
    fn default() -> Self {
        Self {
            same: 5,
            in_a_row: 20,
            pending: 16,
        }
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            timeout_ms: 300_000,
            unanswered: Unanswered::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{AskEvent, Event},
        testing::permission_asked,
    };

    #[test]
    fn a_long_change_is_cut_behind_a_line_and_still_gets_a_rule_and_a_long_command_gets_none() {
        let Event::Ask(AskEvent::Asked { ask }) = permission_asked(1) else {
            unreachable!("it asks")
        };
        let change: String = (0..3_000).map(|line| format!("+line {line} ü\n")).collect();
        let edit = PermissionRequest {
            diff: Some(change),
            ..ask.request.clone()
        };
        let bounded = edit.bounded();
        let shown = bounded.diff.clone().unwrap();
        assert!(shown.len() <= TEXT_CAP_BYTES && !edit.is_cut());
        let last: Vec<&str> = shown.lines().rev().take(2).collect();
        let kept = shown.lines().count() - 1;
        assert_eq!(last, [format!("[… {}]", 3_000 - kept), format!("+line {} ü", kept - 1)]);
        assert_eq!(bounded.bounded(), bounded);
        let command = PermissionRequest {
            command: Some("x".repeat(5_000)),
            ..ask.request.clone()
        };
        assert!(command.is_cut());
        let one_line = PermissionRequest {
            diff: Some("x".repeat(5_000)),
            ..ask.request
        };
        assert!(one_line.bounded().diff.unwrap().len() <= TEXT_CAP_BYTES);
    }

    #[test]
    fn a_cut_diff_has_as_many_lines_as_fit_beside_the_note_on_the_rest() {
        let line_of_64_bytes = format!("+{}\n", "x".repeat(62));
        let kept = (TEXT_CAP_BYTES - MORE_BYTES) / line_of_64_bytes.len();
        let shown = shortened(&line_of_64_bytes.repeat(100));
        assert_eq!(shown.lines().count(), kept + 1);
        assert_eq!(shown.lines().last(), Some("[… 37]"));
        let whole = line_of_64_bytes.repeat(TEXT_CAP_BYTES / line_of_64_bytes.len());
        assert_eq!(shortened(&whole), whole);
    }

    #[test]
    fn a_set_of_kinds_has_the_kinds_that_it_was_made_of() {
        let kinds = ToolKinds::from_kinds(&[ToolKind::Edit, ToolKind::Mcp]);
        for (name, kind) in ToolKind::NAMES {
            let is_in = matches!(kind, ToolKind::Edit | ToolKind::Mcp);
            assert_eq!(kinds.has(kind), is_in, "{name}");
            assert!(ToolKinds::ALL.has(kind), "{name}");
            assert!(!ToolKinds::NONE.has(kind), "{name}");
        }
        assert_eq!(kinds.names().collect::<Vec<_>>(), ["edit", "mcp"]);
        assert!(ToolKinds::NONE.is_empty() && !kinds.is_empty());
    }

    #[test]
    fn sets_of_kinds_are_joined_and_subtracted() {
        let set = ToolKinds::from_kinds;
        let one = set(&[ToolKind::Shell, ToolKind::Edit]);
        let other = set(&[ToolKind::Edit, ToolKind::Read]);
        assert_eq!(one.plus(other), set(&[ToolKind::Shell, ToolKind::Edit, ToolKind::Read]));
        assert_eq!(one.without(other), set(&[ToolKind::Shell]));
        assert_eq!(one.without(ToolKinds::NONE), one);
        assert_eq!(one.without(ToolKinds::ALL), ToolKinds::NONE);
    }

    #[test]
    fn only_an_answer_of_the_user_is_a_decision_of_the_user() {
        let at = AnswerPlace::default();
        assert!(Decider::User { at }.is_user());
        for other in [
            Decider::Unclear,
            Decider::Deadline,
            Decider::TooManyPending,
            Decider::Agent,
            Decider::Limit {
                limit: LimitKind::Subagents,
            },
        ] {
            assert!(!other.is_user(), "{other:?}");
        }
    }
}
