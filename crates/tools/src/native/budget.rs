//! The budget of an iteration, as the run tells its agent.
//!
//! The agent checks it before each request to the model: no request is sent once it is used up, and an answer may be as
//! long as the rest allows.

use ralph_state::control::{IterationBudget, TokenPrice};

use super::message::TokenUsage;

/// Fewest tokens of an answer. With fewer, no model does anything useful.
const SHORTEST_ANSWER: u32 = 256;

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpentLimit {
    Tokens,
    Cost,
}

impl SpentLimit {
    /// The words of the loop for the same limit.
    pub(super) fn words(self) -> &'static str {
        match self {
            SpentLimit::Tokens => "the token limit is reached",
            SpentLimit::Cost => "the cost limit is reached",
        }
    }
}

/// The longest answer to a request of about `input` tokens after `spent`; `None` if it is unlimited.
///
/// # Errors
/// The limit that `spent` reaches.
pub(super) fn longest_answer(
    budget: &IterationBudget,
    spent: TokenUsage,
    input: u64,
) -> Result<Option<u32>, SpentLimit> {
    let by_tokens = match budget.tokens {
        None => None,
        Some(most) => {
            let left = most.saturating_sub(spent.input.saturating_add(spent.output));
            if left == 0 {
                return Err(SpentLimit::Tokens);
            }
            Some(left.saturating_sub(input))
        }
    };
    let by_cost = match (budget.cost_usd, budget.price) {
        (Some(most), Some(price)) => {
            let left = most - cost(price, spent);
            if left <= 0.0 {
                return Err(SpentLimit::Cost);
            }
            Some(output_for(price, left, input))
        }
        (_, _) => None,
    };
    let most = by_tokens.into_iter().chain(by_cost.flatten()).min();
    Ok(most.map(|most| u32::try_from(most).unwrap_or(u32::MAX).max(SHORTEST_ANSWER)))
}

#[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
fn cost(price: TokenPrice, spent: TokenUsage) -> f64 {
    let cached = spent.cache_read.min(spent.input);
    let dollars = (spent.input - cached) as f64 * price.input
        + cached as f64 * price.cached_input.unwrap_or(price.input)
        + spent.output as f64 * price.output;
    dollars / 1e6
}

/// How many tokens of output `dollars` pay for besides `input` tokens; `None` if output costs nothing.
#[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
fn output_for(price: TokenPrice, dollars: f64, input: u64) -> Option<u64> {
    let tokens = (dollars * 1e6 - input as f64 * price.input) / price.output;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The cast rounds down and saturates.
    (price.output > 0.0).then_some(tokens.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(input: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }
    }

    #[test]
    fn nothing_more_is_sent_once_a_limit_is_reached_and_before_that_the_rest_bounds_the_answer() {
        let budget = IterationBudget {
            tokens: Some(10_000),
            ..IterationBudget::default()
        };
        assert_eq!(longest_answer(&budget, spent(0, 0), 4_000), Ok(Some(6_000)));
        assert_eq!(longest_answer(&budget, spent(5_000, 500), 4_000), Ok(Some(500)));
        assert_eq!(
            longest_answer(&budget, spent(9_999, 0), 4_000),
            Ok(Some(SHORTEST_ANSWER))
        );
        assert_eq!(longest_answer(&budget, spent(9_999, 1), 0), Err(SpentLimit::Tokens));
        assert_eq!(
            longest_answer(&IterationBudget::default(), spent(1 << 40, 0), 1),
            Ok(None)
        );
    }

    #[test]
    fn cost_counts_by_the_price_and_cached_input_by_its_own() {
        let price = TokenPrice {
            input: 1.0,
            output: 10.0,
            cached_input: Some(0.1),
        };
        let budget = IterationBudget {
            cost_usd: Some(0.01),
            price: Some(price),
            ..IterationBudget::default()
        };
        assert_eq!(longest_answer(&budget, spent(0, 0), 2_000), Ok(Some(800)));
        assert_eq!(longest_answer(&budget, spent(10_000, 0), 0), Err(SpentLimit::Cost));
        let cached = TokenUsage {
            cache_read: 10_000,
            ..spent(10_000, 0)
        };
        assert_eq!(longest_answer(&budget, cached, 0), Ok(Some(900)));
        let free = TokenPrice { output: 0.0, ..price };
        let budget = IterationBudget {
            price: Some(free),
            ..budget
        };
        assert_eq!(longest_answer(&budget, spent(0, 0), 2_000), Ok(None));
    }
}
