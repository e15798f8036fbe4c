//! The sandbox of a run's agents.

use serde::{Deserialize, Serialize};

/// The sandbox of a run's agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxState {
    On,
    Strict,
    /// At least one agent may do what its user may.
    Unconfined,
}
