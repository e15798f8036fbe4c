//! Tokens and cost that an agent has used.

use serde::{Deserialize, Serialize};

/// Tokens and cost; `None` where they are unknown. Tokens are never estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All input tokens, including cached ones.
    pub input_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    /// All output tokens, including those of thinking.
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    /// Whether the cost, or a part of it, is computed, for example from prices in the settings, and not reported by the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// Most tokens and dollars of one report: what an agent invents must not overflow a sum.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;
const MOST_USD: f64 = 1e9;

impl Usage {
    /// Cuts the figures to a size that can be added up.
    #[must_use]
    pub(crate) fn bounded(self) -> Usage {
        let tokens = |tokens: Option<u64>| tokens.map(|tokens| tokens.min(MOST_TOKENS));
        // A value that is no number is not above 0.
        let cost = |cost: f64| if cost > 0.0 { cost.min(MOST_USD) } else { 0.0 };
        Usage {
            input_tokens: tokens(self.input_tokens),
            cached_tokens: tokens(self.cached_tokens),
            output_tokens: tokens(self.output_tokens),
            cost_usd: self.cost_usd.map(cost),
            estimated: self.estimated,
        }
    }

    /// The sum of input and output; `None` if neither is known.
    pub fn tokens(&self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }

    /// Adds two usages; a figure that is unknown in both stays unknown.
    #[must_use]
    pub fn plus(self, more: Usage) -> Usage {
        fn tokens(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
            match (sum, more) {
                (None, None) => None,
                (sum, more) => Some(sum.unwrap_or(0).saturating_add(more.unwrap_or(0))),
            }
        }
        Usage {
            input_tokens: tokens(self.input_tokens, more.input_tokens),
            cached_tokens: tokens(self.cached_tokens, more.cached_tokens),
            output_tokens: tokens(self.output_tokens, more.output_tokens),
            cost_usd: match (self.cost_usd, more.cost_usd) {
                (None, None) => None,
                (sum, more) => Some(billionths(sum.unwrap_or(0.0) + more.unwrap_or(0.0))),
            },
            estimated: self.estimated || more.estimated,
        }
    }

    /// The increase since `before`. A decrease counts as zero.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        let tokens = |sum: Option<u64>, before: Option<u64>| Some(sum?.saturating_sub(before.unwrap_or_default()));
        Usage {
            input_tokens: tokens(self.input_tokens, before.input_tokens),
            cached_tokens: tokens(self.cached_tokens, before.cached_tokens),
            output_tokens: tokens(self.output_tokens, before.output_tokens),
            cost_usd: self
                .cost_usd
                .map(|cost| billionths((cost - before.cost_usd.unwrap_or_default()).max(0.0))),
            estimated: self.estimated,
        }
    }
}

/// Rounds to a billionth of a dollar, so that 0.1 + 0.2 is 0.3 and not 0.30000000000000004.
fn billionths(dollars: f64) -> f64 {
    (dollars * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, cost_usd: f64) -> Usage {
        Usage {
            input_tokens: Some(input_tokens),
            cost_usd: Some(cost_usd),
            ..Usage::default()
        }
    }

    #[test]
    fn invented_figures_can_be_added_up() {
        for (cost, bounded) in [
            (1e308, MOST_USD),
            (f64::INFINITY, MOST_USD),
            (-1.0, 0.0),
            (f64::NAN, 0.0),
            (0.5, 0.5),
        ] {
            assert_eq!(usage(u64::MAX, cost).bounded(), usage(MOST_TOKENS, bounded));
        }
        let most = usage(u64::MAX, f64::MAX).bounded();
        let sum = (0..1_000).fold(Usage::default(), |sum, _| sum.plus(most));
        assert_eq!(sum, usage(1_000 * MOST_TOKENS, 1e12));
    }

    #[test]
    fn a_sum_is_estimated_if_a_part_of_it_is() {
        for (one, other, sum) in [
            (false, false, false),
            (true, false, true),
            (false, true, true),
            (true, true, true),
        ] {
            let part = |estimated| Usage {
                estimated,
                ..usage(1, 0.1)
            };
            assert_eq!(part(one).plus(part(other)).estimated, sum, "{one} and {other}");
        }
    }

    #[test]
    fn an_increase_is_the_difference_and_a_decrease_counts_as_zero() {
        for (before, after, increase) in [
            (usage(30, 0.1), usage(100, 0.3), usage(70, 0.2)),
            (usage(100, 0.3), usage(30, 0.1), usage(0, 0.0)),
            (Usage::default(), usage(30, 0.1), usage(30, 0.1)),
            (usage(30, 0.1), Usage::default(), Usage::default()),
        ] {
            assert_eq!(after.since(before), increase, "from {before:?} to {after:?}");
        }
    }
}
