//! Limits of a run: in total, per task, and per day together with the other runs of the project.

use serde::{Deserialize, Serialize};

use super::{LimitKind, Usage};

/// Limits of a run; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
}

/// A limit on memory or space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SizeLimit {
    Bytes(u64),
    /// A share of the machine's memory, or of a disk.
    Percent(u8),
}

/// New limits for a running run, set by the user. `None` keeps the present limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskLimits {
    pub max_iterations: Option<u32>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

/// Limits for all runs of a project in one day of the user's time zone; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayLimits {
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub on_limit: OnDayLimit,
}

/// The action of a run that reaches a daily limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnDayLimit {
    /// The run continues when the next day begins.
    #[default]
    Wait,
    Stop,
}

impl Limits {
    /// Returns these limits with the user's changes applied.
    #[must_use]
    pub fn with(&self, new: &NewLimits) -> Self {
        let mut limits = self.clone();
        limits.max_iterations = new.max_iterations.or(limits.max_iterations);
        limits.max_time_ms = new.max_time_ms.or(limits.max_time_ms);
        limits.max_cost_usd = new.max_cost_usd.or(limits.max_cost_usd);
        limits.max_tokens = new.max_tokens.or(limits.max_tokens);
        limits
    }

    /// The limit that forbids another iteration; `None` if another may start.
    pub fn reached(&self, iterations: u32, elapsed_ms: u64, usage: &Usage) -> Option<LimitKind> {
        if self.max_iterations.is_some_and(|max| iterations >= max) {
            return Some(LimitKind::MaxIterations);
        }
        if self.max_time_ms.is_some_and(|max_ms| elapsed_ms >= max_ms) {
            return Some(LimitKind::MaxTime);
        }
        self.spent(usage)
    }

    /// The limit on cost or tokens that is reached.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::MaxCost),
            Spendable::Tokens => Some(LimitKind::MaxTokens),
        }
    }

    /// Whether any limit is on cost.
    pub fn bound_cost(&self) -> bool {
        self.max_cost_usd.is_some() || self.per_task.max_cost_usd.is_some() || self.per_day.max_cost_usd.is_some()
    }

    /// Whether any limit is on tokens.
    pub fn bound_tokens(&self) -> bool {
        self.max_tokens.is_some() || self.per_task.max_tokens.is_some() || self.per_day.max_tokens.is_some()
    }
}

impl TaskLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The limit that forbids another iteration on a task.
    pub fn reached(&self, iterations: u32, usage: &Usage) -> Option<LimitKind> {
        if self.max_iterations.is_some_and(|max| iterations >= max) {
            return Some(LimitKind::TaskIterations);
        }
        self.spent(usage)
    }

    /// The limit on cost or tokens that is reached.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::TaskCost),
            Spendable::Tokens => Some(LimitKind::TaskTokens),
        }
    }
}

impl DayLimits {
    /// Whether no limit is set; `on_limit` is ignored.
    pub fn is_none(&self) -> bool {
        self.max_cost_usd.is_none() && self.max_tokens.is_none()
    }

    /// The limits multiplied by `times`.
    #[must_use]
    pub fn times(&self, times: u32) -> Self {
        Self {
            max_cost_usd: self.max_cost_usd.map(|max| max * f64::from(times)),
            max_tokens: self.max_tokens.map(|max| max.saturating_mul(u64::from(times))),
            ..*self
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

    /// The limit that is reached.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::DayCost),
            Spendable::Tokens => Some(LimitKind::DayTokens),
        }
    }
}

/// The spendings that agents report and limits apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spendable {
    Cost,
    Tokens,
}

/// The limit that the usage reaches, cost first. Unreported cost reaches no limit.
fn exceeded(max_cost_usd: Option<f64>, max_tokens: Option<u64>, usage: &Usage) -> Option<Spendable> {
    if let (Some(max), Some(cost)) = (max_cost_usd, usage.cost_usd)
        && cost >= max
    {
        return Some(Spendable::Cost);
    }
    max_tokens
        .is_some_and(|max| usage.tokens().unwrap_or(0) >= max)
        .then_some(Spendable::Tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A usage of 100 tokens and one dollar.
    const USED: Usage = Usage {
        input_tokens: Some(60),
        cached_tokens: None,
        output_tokens: Some(40),
        cost_usd: Some(1.0),
        estimated: false,
    };

    #[test]
    fn a_run_may_start_another_iteration_until_a_limit_is_reached() {
        let limits = Limits {
            max_iterations: Some(5),
            max_time_ms: Some(1_000),
            ..Limits::default()
        };
        let cheap = Limits {
            max_cost_usd: Some(1.0),
            ..limits.clone()
        };
        let terse = Limits {
            max_tokens: Some(100),
            ..limits.clone()
        };
        for (limits, iterations, elapsed_ms, reached) in [
            (&limits, 4, 999, None),
            (&limits, 5, 999, Some(LimitKind::MaxIterations)),
            (&limits, 4, 1_000, Some(LimitKind::MaxTime)),
            (&cheap, 4, 999, Some(LimitKind::MaxCost)),
            (&terse, 4, 999, Some(LimitKind::MaxTokens)),
            (&Limits::default(), u32::MAX, u64::MAX, None),
        ] {
            assert_eq!(limits.reached(iterations, elapsed_ms, &USED), reached, "{limits:?}");
        }
    }

    #[test]
    fn limits_of_the_run_a_task_or_a_day_bound_cost_and_tokens() {
        let of_task = |per_task| Limits {
            per_task,
            ..Limits::default()
        };
        let of_day = |per_day| Limits {
            per_day,
            ..Limits::default()
        };
        let (max_cost_usd, max_tokens) = (Some(1.0), Some(1));
        let unlimited = (Limits::default(), false, false);
        let on_cost = [
            Limits {
                max_cost_usd,
                ..Limits::default()
            },
            of_task(TaskLimits {
                max_cost_usd,
                ..TaskLimits::default()
            }),
            of_day(DayLimits {
                max_cost_usd,
                ..DayLimits::default()
            }),
        ];
        let on_tokens = [
            Limits {
                max_tokens,
                ..Limits::default()
            },
            of_task(TaskLimits {
                max_tokens,
                ..TaskLimits::default()
            }),
            of_day(DayLimits {
                max_tokens,
                ..DayLimits::default()
            }),
        ];
        let on_cost = on_cost.map(|limits| (limits, true, false));
        let on_tokens = on_tokens.map(|limits| (limits, false, true));
        for (limits, cost, tokens) in on_cost.into_iter().chain(on_tokens).chain([unlimited]) {
            assert_eq!(
                (limits.bound_cost(), limits.bound_tokens()),
                (cost, tokens),
                "{limits:?}"
            );
        }
    }

    #[test]
    fn a_daily_limit_is_used_up_as_often_as_the_usage_holds_it() {
        let used_up = |max_cost_usd, max_tokens| {
            let limits = DayLimits {
                max_cost_usd,
                max_tokens,
                ..DayLimits::default()
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
