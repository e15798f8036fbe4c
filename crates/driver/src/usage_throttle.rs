//! Merges usage reports that come too often.

use std::time::Duration;

use ralph_core::event::Usage;
use tokio::time::{Instant, sleep_until};

/// Shortest time between two reports; earlier ones are added to the next. An agent may report each token.
const INTERVAL: Duration = Duration::from_millis(250);
/// Number of tokens from which usage is reported without delay: an agent in a loop of quick tools may exceed several
/// limits in one interval.
const TOKENS_AT_ONCE: u64 = 500;

/// Sums up usage that comes too soon.
#[derive(Debug, Default)]
pub(super) struct UsageThrottle {
    held: Option<Usage>,
    /// When the next report may pass.
    due: Option<Instant>,
}

impl UsageThrottle {
    /// Adds a usage and returns the sum if it may pass `now`.
    pub(super) fn take(&mut self, usage: Usage, now: Instant) -> Option<Usage> {
        let held = self.held.map_or(usage, |held| held.plus(usage));
        self.held = Some(held);
        let is_little = held.tokens().is_none_or(|tokens| tokens < TOKENS_AT_ONCE);
        match self.due {
            Some(due) if now < due && is_little => None,
            Some(_) | None => self.pass(now),
        }
    }

    /// Returns the held usage at once, for example before a signal that has to come after it.
    pub(super) fn pass(&mut self, now: Instant) -> Option<Usage> {
        let held = self.held.take()?;
        self.due = Some(now + INTERVAL);
        Some(held)
    }

    /// Waits until the held usage may pass; for ever if none is held.
    pub(super) async fn passes(&self) {
        match (self.held, self.due) {
            (Some(_), Some(due)) => sleep_until(due).await,
            (Some(_), None) => {}
            (None, _) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(output_tokens: u64) -> Usage {
        Usage {
            output_tokens: Some(output_tokens),
            ..Usage::default()
        }
    }

    #[test]
    fn usage_of_every_token_passes_four_times_a_second_and_none_is_lost() {
        let mut spending = UsageThrottle::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut passed: Vec<Usage> = (0..2_000).filter_map(|ms| spending.take(tokens(1), at(ms))).collect();
        assert_eq!(passed.first(), Some(&tokens(1)), "the first passes at once");
        passed.extend(spending.pass(at(2_000)));
        assert_eq!(passed.len(), 9);
        let sum: u64 = passed.iter().filter_map(|usage| usage.output_tokens).sum();
        assert_eq!(sum, 2_000);
    }

    #[test]
    fn the_usage_of_a_request_passes_at_once() {
        let mut spending = UsageThrottle::default();
        let start = Instant::now();
        assert_eq!(spending.take(tokens(1_000), start), Some(tokens(1_000)));
        assert_eq!(spending.take(tokens(400), start), None);
        assert_eq!(spending.take(tokens(200), start), Some(tokens(600)));
    }
}
