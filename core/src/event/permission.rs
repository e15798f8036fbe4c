//! What an agent asks to be allowed, what it is answered, and by which mode.

use serde::{Deserialize, Serialize};

use super::{AnswerPlace, Question, RunId, TEXT_CAP_BYTES, clip, clip::cut, question};

/// Most paths of one request that a record names.
const PATHS_CAP: usize = 32;
/// Most bytes of what a request is for, which every decision repeats; the whole command is beside it.
const TITLE_CAP_BYTES: usize = 1024;
/// Room for how many lines of a change are left out.
const MORE_BYTES: usize = 64;

/// The agent's own name for something it asks, unique within a session.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub String);

/// What a tool does, whatever the agent calls it.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The names that people read and write.
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
    pub const ALL: ToolKinds = ToolKinds::of(&[
        ToolKind::Shell,
        ToolKind::Edit,
        ToolKind::Read,
        ToolKind::Fetch,
        ToolKind::Mcp,
        ToolKind::Other,
    ]);

    #[must_use]
    pub const fn of(kinds: &[ToolKind]) -> Self {
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

    /// Those of its kinds that `other` has not.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The names of its kinds.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = ToolKind::NAMES.into_iter().filter(move |(_, kind)| self.has(*kind));
        named.map(|(name, _)| name)
    }
}

/// A use of a tool that waits for an answer.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    pub id: AskId,
    /// The call that waits, as [`AgentSignal::ToolStarted`](super::AgentSignal) names it.
    pub call: Option<String>,
    /// The tool's name, as the agent has it.
    pub tool: String,
    pub kind: ToolKind,
    /// What for, in one line.
    pub title: String,
    /// Why, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The whole command of a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the user is asked in words: it is these that are answered, and nothing is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
}

impl AskId {
    /// The name cut to what a record may carry; a name that long is nobody's.
    #[must_use]
    pub fn bounded(&self) -> Self {
        Self(cut(&self.0))
    }
}

impl PermissionRequest {
    /// A command of a shell that no agent waits for.
    pub fn of_shell(id: AskId, command: &str) -> Self {
        Self {
            id,
            call: None,
            tool: "Bash".to_owned(),
            kind: ToolKind::Shell,
            title: command.to_owned(),
            reason: None,
            command: Some(command.to_owned()),
            paths: Vec::new(),
            url: None,
            diff: None,
            questions: Vec::new(),
        }
    }

    /// The request with its texts cut to what a record may carry.
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
        }
    }

    /// Whether a record would not hold all of what rules look at. Of a change they look at the paths; how much of the rest is
    /// left out is said at its end.
    pub fn is_cut(&self) -> bool {
        let asked = Self {
            diff: None,
            ..self.clone()
        };
        asked != asked.bounded()
    }

    /// Everything in it that somebody else wrote.
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

/// A change cut behind a line, with how many follow: `[… 2950]`.
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

/// What the agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PermissionAnswer {
    Allow,
    /// It goes on without.
    Deny {
        message: String,
    },
    /// To each of its questions what was chosen, or said.
    Words {
        answers: Vec<Vec<String>>,
    },
}

/// What becomes of something that an agent wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    // From the mildest to the strictest: of several parts, the strictest decides.
    Allow,
    Ask,
    Deny,
}

/// What decides where no rule does.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// What no rule names is allowed.
    #[default]
    Auto,
    /// It is asked.
    Ask,
    /// It is denied.
    Restricted,
    /// Only tools that read are allowed.
    Readonly,
}

impl PermissionMode {
    pub fn is_auto(&self) -> bool {
        *self == PermissionMode::Auto
    }
}

/// What becomes of a question that nobody answers in time.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unanswered {
    #[default]
    Deny,
    Allow,
    /// The run is held.
    Pause,
    /// The task is set aside.
    Block,
}

/// Who or what decided.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Decider {
    /// A rule, as it is written, and where it is.
    Rule { rule: String, origin: String },
    /// No rule names it.
    Mode { mode: PermissionMode },
    /// What would run cannot be told from the command.
    Unclear,
    User {
        /// Where the answer was given; none in journals of versions that did not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<AnswerPlace>,
    },
    /// Nobody answered in time.
    Deadline,
    /// More requests wait for an answer than may.
    TooManyPending,
}

impl Decider {
    pub fn is_user(&self) -> bool {
        matches!(self, Decider::User { .. })
    }
}

/// What the rules say to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub decision: Decision,
    pub by: Decider,
    pub offer: Offer,
}

/// What an answer would add that is to be remembered.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The rules that would allow the request from then on; none if no rule could say it.
    pub rules: Vec<String>,
    /// The rules of `ask` that ask the request, which the answer settles.
    pub asked_by: Vec<String>,
}

/// For how long an answer counts that is remembered.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleScope {
    /// As long as the run, however often it is resumed.
    Run,
    /// Every run of this project.
    Project,
}

/// A rule that an answer has added for every run of the project.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RememberedRule {
    pub rule: String,
    /// The rules of `ask` that it goes before.
    #[serde(default)]
    pub over: Vec<String>,
    /// The run and the question with whose answer it was added.
    pub run: RunId,
    pub ask: u32,
    pub at_ms: u64,
}

/// What is to be remembered of an answer.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remember {
    pub scope: RuleScope,
    /// What is allowed from now on; without any, what the question offers.
    #[serde(default)]
    pub rules: Vec<String>,
}

/// How long an answer is waited for, and what counts as one after that.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    pub timeout_ms: u64,
    pub unanswered: Unanswered,
}

/// How often an agent may be denied something before it is ended, and how many of its requests may wait.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DenialLimits {
    /// Denials of the same thing in one iteration after which the agent is told to stop trying.
    pub warn_after: Option<u32>,
    /// After which the iteration ends, and its task is set aside.
    pub same: Option<u32>,
    /// Denials of anything, with nothing allowed in between, after which it ends as well.
    pub in_a_row: Option<u32>,
    /// Requests that wait for an answer at once; what comes on top is denied.
    pub pending: u32,
}

impl Default for DenialLimits {
    fn default() -> Self {
        Self {
            warn_after: Some(3),
            same: Some(5),
            in_a_row: Some(20),
            pending: 16,
        }
    }
}

impl DenialLimits {
    /// Whether an agent that was denied the same thing so often is told to stop trying.
    pub fn warns_at(&self, denials: u32) -> bool {
        self.warn_after.is_some_and(|most| denials >= most)
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
    use crate::{event::Event, testing::permission_asked};

    #[test]
    fn a_long_change_is_cut_behind_a_line_and_still_gets_a_rule_and_a_long_command_gets_none() {
        let Event::PermissionAsked { request, .. } = permission_asked(1) else {
            unreachable!("it asks")
        };
        let change: String = (0..3_000).map(|line| format!("+line {line} ü\n")).collect();
        let edit = PermissionRequest {
            diff: Some(change),
            ..(*request).clone()
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
            ..(*request).clone()
        };
        assert!(command.is_cut());
        let one_line = PermissionRequest {
            diff: Some("x".repeat(5_000)),
            ..*request
        };
        assert!(one_line.bounded().diff.unwrap().len() <= TEXT_CAP_BYTES);
    }
}
