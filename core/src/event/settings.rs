//! The settings of a run.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    BackgroundLimits, Bite, DenialLimits, Goal, GoalsWhen, Headroom, Hooks, KnownFailures, Limits, PermissionMode,
    Proof, RememberedRule, SandboxState, ScopedTask, Waiting,
};

/// The settings of a run, fixed at its start: an agent that edits the configuration does not change them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub adapter: String,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The plan file, absolute.
    pub plan: PathBuf,
    /// The section of the plan to work on; `None` for the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    pub session: SessionMode,
    pub limits: Limits,
    pub backoff: Backoff,
    pub goals: Vec<Goal>,
    /// Texts of the tasks that were optional when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_tasks: Vec<String>,
    /// The scopes of tasks when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ScopedTask>,
    pub goals_when: GoalsWhen,
    pub completion: Completion,
    /// The checks of the goals' tests.
    pub gate: GateSettings,
    pub breaker: BreakerLimits,
    /// Adapters that take over, in this order, while the first one is limited.
    pub fallback: Vec<String>,
    /// How much of the windows of accounts stays free for the user.
    #[serde(default, skip_serializing_if = "Headroom::is_none")]
    pub headroom: Headroom,
    /// The workers that take over a task after iterations without progress.
    #[serde(default, skip_serializing_if = "Escalation::is_none")]
    pub escalation: Escalation,
    /// The reviewer and when it is asked; `None` for no reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewSettings>,
    /// How long to wait for answers to questions of agents.
    pub waiting: Waiting,
    pub denials: DenialLimits,
    /// Decides requests that match no rule, until the user changes it. With a mode other than `auto`, agents are
    /// started so that they ask about everything they can.
    #[serde(default, skip_serializing_if = "PermissionMode::is_auto")]
    pub permission_mode: PermissionMode,
    pub background: BackgroundLimits,
    #[serde(default, skip_serializing_if = "Hooks::is_none")]
    pub hooks: Hooks,
    /// Rules that answers in earlier runs added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<RememberedRule>,
    /// The channel of each adapter that has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, ChannelKind>,
    /// Whether only the live channel may be used, because the user or the rules require it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live_only: bool,
    /// The login command of each adapter that declares one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub logins: BTreeMap<String, String>,
    /// The sandbox of the run's agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxState>,
    /// The settings from the command line, which a resume repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<GivenSetting>,
}

/// Another agent or model for the next iterations, chosen by the user. `None` keeps the present adapter; the model of
/// another adapter is then its own choice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewWorker {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Settings {
    /// The worker of tasks that ask for none.
    pub fn worker(&self) -> Worker {
        Worker {
            adapter: self.adapter.clone(),
            model: self.model.clone(),
        }
    }

    /// Returns the settings with another worker.
    #[must_use]
    pub fn with_worker(&self, worker: &Worker) -> Settings {
        Settings {
            adapter: worker.adapter.clone(),
            model: worker.model.clone(),
            ..self.clone()
        }
    }

    /// Returns that worker with the user's changes.
    pub fn worker_with(&self, new: &NewWorker) -> Worker {
        let adapter = new.adapter.clone().unwrap_or_else(|| self.adapter.clone());
        let own = || self.model.clone().filter(|_| adapter == self.adapter);
        Worker {
            model: new.model.clone().or_else(own),
            adapter,
        }
    }

    /// The workers that the settings name, each once, the present one first.
    pub fn workers(&self) -> Vec<Worker> {
        let fallback = self.fallback.iter().map(|adapter| Worker {
            adapter: adapter.clone(),
            model: None,
        });
        let reviewer = self.review.iter().map(|review| review.by.clone());
        let named = fallback.chain(self.escalation.steps.iter().cloned()).chain(reviewer);
        named.fold(vec![self.worker()], |mut workers, worker| {
            if !workers.contains(&worker) {
                workers.push(worker);
            }
            workers
        })
    }
}

/// A setting given on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenSetting {
    /// The flag as typed, with its dashes.
    pub flag: String,
    /// The dotted key of the setting; empty for `--config`, which names a file.
    pub key: String,
    pub value: String,
}

/// An agent with the model to request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct Worker {
    pub adapter: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The workers that take over a task after iterations without progress.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct Escalation {
    /// The workers in order; the last one keeps the task.
    pub steps: Vec<Worker>,
    /// Number of iterations without progress on a task after which the next worker takes over.
    pub after: u32,
}

impl Escalation {
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The reviewer and when it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSettings {
    pub by: Worker,
    pub when: ReviewWhen,
    /// How many times findings may send the author back to the same work.
    pub rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewWhen {
    /// After each iteration that finished a task, and before the run completes.
    #[default]
    Task,
    /// Only before the run completes.
    End,
}

/// How ralph communicates with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// The agent gets its prompt, and ralph reads its output.
    OneWay,
    /// The agent also accepts messages while it works.
    Live,
}

/// The conditions for accepting a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// Minimum confidence, from 0 to 100.
    pub min_confidence: u8,
}

/// Maximum number of mutants per verification. At most half of them alter expectations of tests.
pub const MUTANTS: u8 = 6;

/// The checks of the goals' tests that can be switched off, which they are by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateSettings {
    /// Whether the goals are run before the first iteration.
    pub baseline: bool,
    pub bite: Bite,
    /// The minimum proof that counts as success.
    pub require: Proof,
    pub known_failures: KnownFailures,
}

impl Default for Completion {
    fn default() -> Self {
        Self { min_confidence: 50 }
    }
}

/// Thresholds of the breaker. It opens at twice the counts that make it half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerLimits {
    /// Consecutive iterations without progress.
    pub no_progress: Option<u32>,
    /// Consecutive iterations that failed in the same way.
    pub same_error: Option<u32>,
    /// How long an open breaker waits before the last try.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Every iteration begins without memory of earlier ones.
    #[default]
    Fresh,
    /// Iterations continue one session if the agent supports it.
    Resume,
}

/// Delays after failures: `base · 2ⁿ⁻¹`, at most `max`, plus up to `jitter` of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub base_ms: u64,
    pub max_ms: u64,
    /// Fraction of the delay, from 0 to 1.
    pub jitter: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(adapter: &str, model: Option<&str>) -> Worker {
        Worker {
            adapter: adapter.to_owned(),
            model: model.map(str::to_owned),
        }
    }

    /// The settings of a run of Claude Code with other workers besides.
    fn settings() -> Settings {
        Settings {
            adapter: "claude".to_owned(),
            model: Some("opus".to_owned()),
            fallback: vec!["codex".to_owned()],
            escalation: Escalation {
                steps: vec![worker("claude", Some("opus")), worker("gemini", Some("pro"))],
                after: 2,
            },
            review: Some(ReviewSettings {
                by: worker("codex", None),
                when: ReviewWhen::End,
                rounds: 1,
            }),
            headroom: Headroom {
                week: 25,
                ..Headroom::default()
            },
            ..Settings::default()
        }
    }

    #[test]
    fn another_worker_changes_the_agent_and_its_model_and_nothing_else() {
        let changed = settings().with_worker(&worker("codex", None));
        assert_eq!(changed.worker(), worker("codex", None));
        assert_eq!(changed.with_worker(&worker("claude", Some("opus"))), settings());
    }

    #[test]
    fn a_model_is_kept_only_with_its_agent() {
        for (adapter, model, result) in [
            (None, None, worker("claude", Some("opus"))),
            (Some("claude"), None, worker("claude", Some("opus"))),
            (Some("codex"), None, worker("codex", None)),
            (Some("codex"), Some("small"), worker("codex", Some("small"))),
            (None, Some("haiku"), worker("claude", Some("haiku"))),
        ] {
            let new = NewWorker {
                adapter: adapter.map(str::to_owned),
                model: model.map(str::to_owned),
            };
            assert_eq!(settings().worker_with(&new), result, "{new:?}");
        }
    }

    #[test]
    fn the_workers_of_a_run_are_named_once_and_the_present_one_first() {
        let workers = [
            worker("claude", Some("opus")),
            worker("codex", None),
            worker("gemini", Some("pro")),
        ];
        assert_eq!(settings().workers(), workers);
    }

    #[test]
    fn workers_and_headroom_survive_in_a_journal() {
        let line = serde_json::to_string(&settings()).expect("JSON");
        let read: Settings = serde_json::from_str(&line).expect("settings");
        assert_eq!(read, settings());
    }
}
