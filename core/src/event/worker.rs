//! Events of the choice of an agent.

use serde::Serialize;

use super::{Text, Worker};
use crate::json::ReadJson;

/// The agents of the run: which one works, and which one cannot.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WorkerEvent {
    /// The user chose another agent or model for the next iterations.
    #[serde(rename = "worker-changed")]
    Changed { worker: Worker },
    /// An adapter cannot be used until `until_ms`.
    AdapterLimited { adapter: String, until_ms: u64 },
    /// The agent's live channel did not open, for example in an older version. The one-way channel is used from here
    /// on.
    LiveChannelGivenUp {
        adapter: String,
        /// The error message of the agent.
        why: Text,
    },
}
