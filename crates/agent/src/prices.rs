//! Prices of models, for agents that report tokens and no cost.
//!
//! Input tokens include cached ones in every dialect, so the price of cached input replaces that of input for them.

use ralph_core::event::Usage;

/// Prices by prefix of a model's name, or by the id of an adapter for its other models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(Vec<(String, ModelPrice)>);

/// A price in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    /// The price of cached input; `None` for that of `input`.
    pub cached_input: Option<f64>,
}

impl Prices {
    pub fn new(prices: Vec<(String, ModelPrice)>) -> Self {
        Self(prices)
    }

    /// Returns the price of the first of `models` that has one, else the price of the adapter.
    pub fn find<'m>(&self, adapter: &str, models: impl IntoIterator<Item = &'m str>) -> Option<ModelPrice> {
        let of_model = models.into_iter().find_map(|model| self.of_model(model));
        of_model.or_else(|| {
            let (_, price) = self.0.iter().find(|(name, _)| name == adapter)?;
            Some(*price)
        })
    }

    /// The price with the longest name that is a prefix of the model's, with or without its provider.
    fn of_model(&self, model: &str) -> Option<ModelPrice> {
        let bare = model.rsplit('/').next().unwrap_or(model);
        let known = self
            .0
            .iter()
            .filter(|(name, _)| model.starts_with(name.as_str()) || bare.starts_with(name.as_str()));
        let (_, price) = known.max_by_key(|(name, _)| name.len())?;
        Some(*price)
    }
}

impl ModelPrice {
    /// The cost of a usage in dollars; `None` if its tokens are unknown.
    #[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        usage.tokens()?;
        let input = usage.input_tokens.unwrap_or(0);
        let cached = usage.cached_tokens.unwrap_or(0).min(input);
        let dollars = (input - cached) as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + usage.output_tokens.unwrap_or(0) as f64 * self.output;
        Some(dollars / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(named: &[(&str, f64)]) -> Prices {
        let price = |input| ModelPrice {
            input,
            output: 2.0 * input,
            cached_input: None,
        };
        Prices::new(
            named
                .iter()
                .map(|(name, input)| ((*name).to_owned(), price(*input)))
                .collect(),
        )
    }

    #[test]
    fn the_longest_prefix_of_the_first_known_model_has_the_price() {
        let prices = prices(&[
            ("gpt-5", 1.0),
            ("gpt-5-mini", 0.25),
            ("qwen/qwen3", 3.0),
            ("codex", 9.0),
        ]);
        let input = |adapter, models: &[&str]| prices.find(adapter, models.iter().copied()).map(|price| price.input);
        assert_eq!(input("codex", &["gpt-5.4"]), Some(1.0));
        assert_eq!(input("codex", &["gpt-5-mini-2"]), Some(0.25));
        assert_eq!(input("codex", &["unknown", "gpt-5"]), Some(1.0));
        assert_eq!(input("codex", &["openai/gpt-5"]), Some(1.0));
        assert_eq!(input("codex", &["qwen/qwen3-coder"]), Some(3.0));
        assert_eq!(input("codex", &["qwen3-coder"]), Some(9.0));
        assert_eq!(input("codex", &[]), Some(9.0));
        assert_eq!(input("gemini", &["gemini-2.5-pro"]), None);
    }

    #[test]
    fn cached_input_is_part_of_the_input_and_has_its_own_price() {
        let price = ModelPrice {
            input: 1.0,
            output: 10.0,
            cached_input: Some(0.1),
        };
        let usage = Usage {
            input_tokens: Some(1_000_000),
            cached_tokens: Some(900_000),
            output_tokens: Some(100_000),
            ..Usage::default()
        };
        let cents = |price: ModelPrice| price.cost(&usage).map(|dollars| (dollars * 100.0).round());
        assert_eq!(cents(price), Some(119.0));
        assert_eq!(
            cents(ModelPrice {
                cached_input: None,
                ..price
            }),
            Some(200.0)
        );
        assert_eq!(price.cost(&Usage::default()), None);
    }
}
