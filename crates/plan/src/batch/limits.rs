//! Shared limits of a batch's plans, and holds on the start of runs.

use ralph_core::{
    event::{LimitKind, Usage},
    json::ReadJson,
    limits::WARN_AT,
};
use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;

/// Shared limits of the plans; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BatchLimits {
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub calls_per_hour: Option<u32>,
}

/// A shared limit that ends the runs of a batch. The third one, on calls per hour, is only waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BatchLimit {
    MaxCost,
    MaxTokens,
}

impl BatchLimit {
    /// The limit of a run that counts the same, and has the same option.
    pub fn kind(self) -> LimitKind {
        match self {
            BatchLimit::MaxCost => LimitKind::MaxCost,
            BatchLimit::MaxTokens => LimitKind::MaxTokens,
        }
    }
}

/// The iterations that an ended run began within the hour before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecentCalls {
    pub ended_ms: u64,
    pub count: u32,
}

/// The reason why no run starts, and the end of the hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartHold {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
    pub why: HoldReason,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum HoldReason {
    /// The account's rate limit is exhausted for this adapter and all its fallbacks.
    AdapterLimited { adapter: String },
    /// The calls of the hour are used up.
    CallsUsedUp,
}

impl BatchLimits {
    pub fn is_none(&self) -> bool {
        *self == BatchLimits::default()
    }

    /// Returns the limit that is reached.
    pub fn spent(&self, usage: &Usage) -> Option<BatchLimit> {
        let reached = self.shares(usage).find(|(_, share)| *share >= 1.0);
        reached.map(|(limit, _)| limit)
    }

    /// Returns the limits of which at least the share `WARN_AT` is used and which are not reached, each with the used
    /// share in percent.
    pub(super) fn near(&self, usage: &Usage) -> Vec<(BatchLimit, u8)> {
        let near = self.shares(usage).filter(|(_, share)| (WARN_AT..1.0).contains(share));
        // The share is below 1.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        near.map(|(limit, share)| (limit, (share * 100.0) as u8)).collect()
    }

    /// The used share of each limit that ends runs.
    fn shares(&self, usage: &Usage) -> impl Iterator<Item = (BatchLimit, f64)> {
        let cost = self.max_cost_usd.map(|max| usage.cost_usd.unwrap_or(0.0) / max);
        #[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
        let tokens = self
            .max_tokens
            .map(|max| usage.tokens().unwrap_or(0) as f64 / max as f64);
        let shares = [(BatchLimit::MaxCost, cost), (BatchLimit::MaxTokens, tokens)];
        shares.into_iter().filter_map(|(limit, share)| Some((limit, share?)))
    }

    /// Returns how many of `jobs` may run at a time: each needs at least one call an hour.
    pub(super) fn runs_at_a_time(&self, jobs: u32) -> u32 {
        self.calls_per_hour.map_or(jobs, |calls| jobs.min(calls)).max(1)
    }

    /// Returns how many iterations each of `jobs` may begin in an hour, so that their sum stays within the
    /// limit.
    pub(super) fn calls_per_run(&self, jobs: u32) -> Option<u32> {
        let calls = self.calls_per_hour?;
        Some((calls / self.runs_at_a_time(jobs)).max(1))
    }

    /// Returns when the next run may start, given running and ended ones; `None` if it may at `at_ms`.
    ///
    /// A running one counts with its whole share, which it may use at any time; an ended one counts with its
    /// actual calls.
    pub(super) fn calls_free_at(
        &self,
        jobs: u32,
        running: u32,
        mut ended: Vec<RecentCalls>,
        at_ms: u64,
    ) -> Option<u64> {
        let (most, share) = (self.calls_per_hour?, self.calls_per_run(jobs)?);
        ended.retain(|calls| calls.ended_ms + HOUR_MS > at_ms);
        ended.sort_by_key(|calls| std::cmp::Reverse(calls.ended_ms));
        let used_by_ended: u64 = ended.iter().map(|calls| u64::from(calls.count)).sum();
        let mut used = u64::from(share) * u64::from(running) + used_by_ended;
        let mut free_at = None;
        while used + u64::from(share) > u64::from(most) {
            let Some(oldest) = ended.pop() else { break };
            used -= u64::from(oldest.count);
            free_at = Some(oldest.ended_ms + HOUR_MS);
        }
        free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(calls_per_hour: u32) -> BatchLimits {
        BatchLimits {
            calls_per_hour: Some(calls_per_hour),
            ..BatchLimits::default()
        }
    }

    #[test]
    fn the_calls_of_an_hour_are_shared_by_the_runs_of_that_time() {
        assert_eq!(
            (limits(10).runs_at_a_time(4), limits(10).calls_per_run(4)),
            (4, Some(2))
        );
        assert_eq!((limits(3).runs_at_a_time(4), limits(3).calls_per_run(4)), (3, Some(1)));
        assert_eq!(BatchLimits::default().calls_per_run(4), None);
        assert_eq!(BatchLimits::default().runs_at_a_time(4), 4);
    }

    #[test]
    fn a_run_starts_once_calls_of_runs_that_ended_are_an_hour_old() {
        let ended = |all: &[(u64, u32)]| {
            all.iter()
                .map(|(ended_ms, count)| RecentCalls {
                    ended_ms: *ended_ms,
                    count: *count,
                })
                .collect()
        };
        let at = 1_000_000;
        let free_at = |running, all: &[(u64, u32)]| limits(10).calls_free_at(2, running, ended(all), at);
        assert_eq!(free_at(1, &[]), None);
        assert_eq!(free_at(0, &[(at - 1, 5)]), None, "five of ten are left");
        assert_eq!(free_at(1, &[(at - 1, 1)]), Some(at - 1 + HOUR_MS));
        assert_eq!(
            free_at(0, &[(at - 5, 3), (at - 9, 4)]),
            Some(at - 9 + HOUR_MS),
            "the oldest are free first"
        );
        assert_eq!(limits(10).calls_free_at(2, 1, ended(&[(at, 5)]), at + HOUR_MS), None);
    }
}
