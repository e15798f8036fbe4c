//! Reports of an agent about a subagent.

use serde::{Deserialize, Serialize};

use crate::event::{TEXT_CAP_BYTES, Usage, clip};

/// Maximum size of a title, in bytes.
const TITLE_BYTES: usize = 200;

/// A subagent as it is now. It is reported when it starts, now and then while it works, and when it ends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentReport {
    /// Unique within a session. If a tool use starts the subagent, the id of that call.
    pub id: String,
    /// The subagent that started it; `None` for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its task, in a few words.
    pub title: String,
    pub running: bool,
    /// Its usage so far, without that of subagents which it started. The usage of the iteration contains it.
    #[serde(default)]
    pub usage: Usage,
}

/// Whether the use of a tool starts a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentStart {
    #[default]
    No,
    Yes,
    /// It does, and the agent asks only because ralph counts its subagents: no rule concerns the use.
    Counted,
}

impl SubagentStart {
    pub fn is_no(&self) -> bool {
        *self == SubagentStart::No
    }
}

impl SubagentReport {
    /// Cuts the texts to the sizes allowed in a record.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let cut = |text: &str| clip(text, TEXT_CAP_BYTES);
        Self {
            id: cut(&self.id),
            parent: self.parent.as_deref().map(cut),
            title: clip(&self.title, TITLE_BYTES),
            usage: self.usage.bounded(),
            ..self.clone()
        }
    }
}
