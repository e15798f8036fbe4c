//! What a run may use: in all, for one task, and in a day together with the other runs of the project.

use serde::{Deserialize, Serialize};

use super::{LimitKind, Usage};

/// What a run may use; `None` is unlimited.
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
    /// Uses of tools in one iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// How long ralph's own work before and after an iteration may take. Never unlimited: none is the default.
    #[serde(default)]
    pub phase_timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "TaskLimits::is_none")]
    pub per_task: TaskLimits,
    #[serde(default, skip_serializing_if = "DayLimits::is_none")]
    pub per_day: DayLimits,
}

/// New limits of a running run, as its user sets them. A limit that is none here stays as it is.
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

/// What a run may use for one task; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskLimits {
    pub max_iterations: Option<u32>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

/// What the runs of a project may use together in a day of their user; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayLimits {
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub on_limit: OnDayLimit,
}

/// What a run does when the limit of the day is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnDayLimit {
    /// It goes on when the next day begins.
    #[default]
    Wait,
    Stop,
}

impl Limits {
    /// Whether each new limit takes the place of one. Limits on money and tokens are changed and never added: agents are chosen
    /// and started so that they report what is limited.
    pub fn has_all_of(&self, new: &NewLimits) -> bool {
        let adds_cost = new.max_cost_usd.is_some() && self.max_cost_usd.is_none();
        let adds_tokens = new.max_tokens.is_some() && self.max_tokens.is_none();
        !adds_cost && !adds_tokens
    }

    /// These limits with what the user has changed.
    #[must_use]
    pub fn with(&self, new: &NewLimits) -> Self {
        let mut limits = self.clone();
        limits.max_iterations = new.max_iterations.or(limits.max_iterations);
        limits.max_time_ms = new.max_time_ms.or(limits.max_time_ms);
        limits.max_cost_usd = limits.max_cost_usd.map(|most| new.max_cost_usd.unwrap_or(most));
        limits.max_tokens = limits.max_tokens.map(|most| new.max_tokens.unwrap_or(most));
        limits
    }

    /// The limit that forbids another iteration after so much; none if there may be one.
    pub fn reached(&self, iterations: u32, elapsed_ms: u64, usage: &Usage) -> Option<LimitKind> {
        if self.max_iterations.is_some_and(|max| iterations >= max) {
            return Some(LimitKind::MaxIterations);
        }
        if self.max_time_ms.is_some_and(|max_ms| elapsed_ms >= max_ms) {
            return Some(LimitKind::MaxTime);
        }
        self.spent(usage)
    }

    /// The limit on money or tokens that is used up.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::MaxCost),
            Spendable::Tokens => Some(LimitKind::MaxTokens),
        }
    }

    /// Whether one of them is of money.
    pub fn bound_cost(&self) -> bool {
        self.max_cost_usd.is_some() || self.per_task.max_cost_usd.is_some() || self.per_day.max_cost_usd.is_some()
    }

    /// Whether one of them is of tokens.
    pub fn bound_tokens(&self) -> bool {
        self.max_tokens.is_some() || self.per_task.max_tokens.is_some() || self.per_day.max_tokens.is_some()
    }
}

impl TaskLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The limit that forbids another iteration on a task that has had so much.
    pub fn reached(&self, iterations: u32, usage: &Usage) -> Option<LimitKind> {
        if self.max_iterations.is_some_and(|max| iterations >= max) {
            return Some(LimitKind::TaskIterations);
        }
        self.spent(usage)
    }

    /// The limit on money or tokens that is used up.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::TaskCost),
            Spendable::Tokens => Some(LimitKind::TaskTokens),
        }
    }
}

impl DayLimits {
    /// Whether there is no limit, whatever is done at one.
    pub fn is_none(&self) -> bool {
        self.max_cost_usd.is_none() && self.max_tokens.is_none()
    }

    /// The same limits if they may be used up so many times.
    #[must_use]
    pub fn times(&self, times: u32) -> Self {
        Self {
            max_cost_usd: self.max_cost_usd.map(|max| max * f64::from(times)),
            max_tokens: self.max_tokens.map(|max| max.saturating_mul(u64::from(times))),
            ..*self
        }
    }

    /// How often the limit that is nearest to it was used up.
    pub fn times_used_up(&self, usage: &Usage) -> u32 {
        let tokens = self
            .max_tokens
            .map_or(0, |max| usage.tokens().unwrap_or(0) / max.max(1));
        let cost = self.max_cost_usd.map_or(0.0, |max| usage.cost_usd.unwrap_or(0.0) / max);
        // A cast to a whole number rounds down, and stays within its bounds.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let cost = cost as u32;
        cost.max(u32::try_from(tokens).unwrap_or(u32::MAX))
    }

    /// The limit that is used up.
    pub fn spent(&self, usage: &Usage) -> Option<LimitKind> {
        match exceeded(self.max_cost_usd, self.max_tokens, usage)? {
            Spendable::Cost => Some(LimitKind::DayCost),
            Spendable::Tokens => Some(LimitKind::DayTokens),
        }
    }
}

/// What there are limits on that agents report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spendable {
    Cost,
    Tokens,
}

/// Which of two limits is used up; money that nobody reports is none.
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
