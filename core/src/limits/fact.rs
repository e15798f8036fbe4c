//! The values of the limits.

use serde::{Deserialize, Serialize};

use crate::event::Usage;

/// The used share of a limit at which the user is told.
pub const WARN_AT: f64 = 0.8;

/// Limits of a run; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub max_iterations: Option<u32>,
    pub max_time_ms: Option<u64>,
    pub iteration_timeout_ms: Option<u64>,
    pub idle_timeout_ms: Option<u64>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub calls_per_hour: Option<u32>,
    /// Tool uses in one iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Maximum duration of ralph's own work before and after an iteration. Never unlimited: `None` means the default.
    pub phase_timeout_ms: Option<u64>,
    /// Memory that the processes of a session, a goal or a task may use together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<SizeLimit>,
    /// Number of processes of a session, a goal or a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Free space below which nothing starts; below half of it, running sessions, goals and tasks are ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_free: Option<SizeLimit>,
    /// The used share of a limit at which the user is told; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at: Option<f64>,
    #[serde(default, skip_serializing_if = "TaskLimits::is_none")]
    pub per_task: TaskLimits,
    #[serde(default, skip_serializing_if = "DayLimits::is_none")]
    pub per_day: DayLimits,
    #[serde(default, skip_serializing_if = "SubagentLimits::is_none")]
    pub subagents: SubagentLimits,
}

/// A limit on memory or space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeLimit {
    Bytes(u64),
    /// A share of the machine's memory, or of a disk.
    Percent(u8),
}

/// New limits for a running run, set by the user. `None` keeps the present limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// Limits for one task; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskLimits {
    pub max_iterations: Option<u32>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

/// Limits for all runs of a project in one day of the user's time zone; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayLimits {
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

/// Limits for the subagents of an iteration; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentLimits {
    /// Subagents that run at the same time.
    pub at_once: Option<u32>,
    pub per_iteration: Option<u32>,
    /// Levels of subagents below the agent: 1 if a subagent may start no other.
    pub depth: Option<u32>,
}

impl Limits {
    /// Returns these limits with the user's changes applied.
    #[must_use]
    pub fn with(&self, new: &NewLimits) -> Self {
        let NewLimits {
            max_iterations,
            max_time_ms,
            max_cost_usd,
            max_tokens,
        } = *new;
        Self {
            max_iterations: max_iterations.or(self.max_iterations),
            max_time_ms: max_time_ms.or(self.max_time_ms),
            max_cost_usd: max_cost_usd.or(self.max_cost_usd),
            max_tokens: max_tokens.or(self.max_tokens),
            ..self.clone()
        }
    }
}

impl TaskLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl SubagentLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl DayLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The limits multiplied by `times`.
    #[must_use]
    pub fn times(&self, times: u32) -> Self {
        Self {
            max_cost_usd: self.max_cost_usd.map(|max| max * f64::from(times)),
            max_tokens: self.max_tokens.map(|max| max.saturating_mul(u64::from(times))),
        }
    }

    /// How many times over the usage reaches a limit, rounded down; the larger count of both limits.
    pub fn times_used_up(&self, usage: &Usage) -> u32 {
        let tokens = self
            .max_tokens
            .map_or(0, |max| usage.tokens().unwrap_or(0) / max.max(1));
        let cost = self.max_cost_usd.map_or(0.0, |max| usage.cost_usd.unwrap_or(0.0) / max);
        // The cast rounds down and saturates.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let cost = cost as u32;
        cost.max(u32::try_from(tokens).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::USED, *};

    #[test]
    fn a_daily_limit_is_used_up_as_often_as_the_usage_holds_it() {
        let used_up = |max_cost_usd, max_tokens| {
            let limits = DayLimits {
                max_cost_usd,
                max_tokens,
            };
            limits.times_used_up(&USED)
        };
        for (max_cost_usd, max_tokens, times) in [
            (None, Some(101), 0),
            (None, Some(100), 1),
            (None, Some(30), 3),
            (Some(0.3), None, 3),
            (Some(0.3), Some(10), 10),
            (Some(0.1), Some(60), 10),
            (None, None, 0),
        ] {
            assert_eq!(
                used_up(max_cost_usd, max_tokens),
                times,
                "{max_cost_usd:?} {max_tokens:?}"
            );
        }
    }
}
