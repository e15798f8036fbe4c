//! What the agent is doing.

use serde::{Deserialize, Serialize};

/// What the agent does, as far as the records say: of many tools at once, the one that began last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub call: String,
    pub name: String,
    /// The beginning of its arguments.
    pub input: String,
    pub started_ms: u64,
}
