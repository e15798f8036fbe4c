//! What a run goes by.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    BackgroundLimits, Bite, DenialLimits, Goal, GoalsWhen, Limits, PermissionMode, Proof, RememberedRule, Waiting,
};

/// The settings a run goes by, fixed when it starts: an agent that edits the configuration changes nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub adapter: String,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The plan file, absolute.
    pub plan: PathBuf,
    /// The section of the plan that is worked through; none for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    pub session: SessionMode,
    pub limits: Limits,
    pub backoff: Backoff,
    #[serde(default)]
    pub goals: Vec<Goal>,
    #[serde(default)]
    pub goals_when: GoalsWhen,
    #[serde(default)]
    pub completion: Completion,
    /// The checks of the tests that goals run.
    #[serde(default)]
    pub gate: GateSettings,
    #[serde(default)]
    pub breaker: BreakerLimits,
    /// Adapters that take over while the first is limited, in this order.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// Who takes over a task that iterations get nowhere with.
    #[serde(default, skip_serializing_if = "Escalation::is_none")]
    pub escalation: Escalation,
    /// Who looks at the work, and when; none where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewSettings>,
    /// How long answers to questions of agents are waited for.
    #[serde(default)]
    pub waiting: Waiting,
    #[serde(default)]
    pub denials: DenialLimits,
    /// The mode decides where no rule does, until the user changes it. With another one than `auto`, agents are started so that
    /// they ask before all that they can ask about.
    #[serde(default, skip_serializing_if = "PermissionMode::is_auto")]
    pub permission_mode: PermissionMode,
    #[serde(default)]
    pub background: BackgroundLimits,
    /// What answers in earlier runs have added to what is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<RememberedRule>,
    /// The channel of each adapter that has a choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, ChannelKind>,
    /// Only the live channel will do: it was asked for, or rules need it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live_only: bool,
    /// What to type to log in, for each adapter that says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub logins: BTreeMap<String, String>,
    /// What the command line gave, by which the run is continued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<GivenSetting>,
}

/// A setting as the command line of a run gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GivenSetting {
    /// As it was typed, with its dashes.
    pub flag: String,
    /// The dotted key that it sets; empty for `--config`, which names a file of them.
    pub key: String,
    pub value: String,
}

/// Who works: an agent, and the model that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Worker {
    pub adapter: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Who takes over a task that iterations get nowhere with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Escalation {
    /// One after the other; the last one stays.
    pub steps: Vec<Worker>,
    /// So many iterations on a task that got nowhere take a step.
    pub after: u32,
}

impl Escalation {
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Who reviews, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReviewSettings {
    pub by: Worker,
    pub when: ReviewWhen,
    /// How often findings send the author back to the same work.
    pub rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReviewWhen {
    /// After an iteration that finished a task, and before the run is done.
    #[default]
    Task,
    /// Only before the run is done.
    End,
}

/// How an agent is talked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// It gets its prompt and is listened to.
    OneWay,
    /// It can be told something while it works.
    Live,
}

/// What it takes to believe a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// Confidence, 0 to 100, below which a claim is refused.
    pub min_confidence: u8,
}

/// The checks of the tests that goals run. The default checks nothing, as it was before journals had these settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GateSettings {
    /// The goals are run before the first iteration.
    pub baseline: bool,
    /// Goals whose tests failed run once more.
    #[serde(default)]
    pub rerun: bool,
    /// Tests that changed are tried as they were.
    pub trial: bool,
    pub bite: Bite,
    /// The most mutants of one look.
    pub mutants: u32,
    /// The least proof that counts as success.
    pub require: Proof,
}

impl Default for Completion {
    fn default() -> Self {
        Self { min_confidence: 50 }
    }
}

/// When a loop that gets nowhere is stopped. The breaker opens at twice the counts that make it half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakerLimits {
    /// Iterations running without progress.
    pub no_progress: Option<u32>,
    /// Iterations running that failed in the same way.
    pub same_error: Option<u32>,
    /// How long an open breaker waits before one last try.
    pub cooldown_ms: u64,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self {
            no_progress: Some(3),
            same_error: Some(5),
            cooldown_ms: 1_800_000,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Every iteration begins without memory of the one before.
    #[default]
    Fresh,
    /// Iterations continue one session where the agent can.
    Resume,
}

/// Delays after a failure: `base · 2ⁿ⁻¹`, at most `max`, plus up to `jitter` of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub base_ms: u64,
    pub max_ms: u64,
    /// A share of the delay, 0 to 1.
    pub jitter: f64,
}
