//! The budget of an iteration, as the run tells its agent.

use serde::{Deserialize, Serialize};

/// The variable that tells an agent what is left of the limits on tokens and cost, as JSON.
pub const BUDGET_VARIABLE: &str = "RALPH_BUDGET";

/// The rest of the limits on tokens and cost. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IterationBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The price of the model, which turns tokens into cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
}

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenPrice {
    pub input: f64,
    pub output: f64,
    /// `None` for that of `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_run_writes_is_read_and_what_is_missing_is_unlimited() {
        let budget = IterationBudget {
            tokens: Some(7),
            cost_usd: None,
            price: None,
        };
        let written = serde_json::to_string(&budget).unwrap();
        assert_eq!(written, r#"{"tokens":7}"#);
        assert_eq!(serde_json::from_str::<IterationBudget>(&written).unwrap(), budget);
    }
}
