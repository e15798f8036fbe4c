//! What a run goes by.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The settings a run goes by, fixed when it starts: an agent that edits the configuration changes nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub adapter: String,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The plan file, absolute.
    pub plan: PathBuf,
    pub session: SessionMode,
    pub limits: Limits,
    pub backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Every iteration begins without memory of the one before.
    #[default]
    Fresh,
    /// Iterations continue one session where the agent can.
    Resume,
}

/// What a run may use; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub max_iterations: Option<u32>,
    pub max_time_ms: Option<u64>,
    pub iteration_timeout_ms: Option<u64>,
    pub idle_timeout_ms: Option<u64>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub calls_per_hour: Option<u32>,
}

/// Delays after a failure: `base · 2ⁿ⁻¹`, at most `max`, plus up to `jitter` of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub base_ms: u64,
    pub max_ms: u64,
    /// A share of the delay, 0 to 1.
    pub jitter: f64,
}
