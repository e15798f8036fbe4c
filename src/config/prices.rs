//! Prices of models, for agents that report tokens and no cost.

use ralph_agent::{ModelPrice, Prices};
use ralph_policy::{
    settings,
    settings::{Amount, Grammar, Maybe, Mistake, Node, accept, group_schema, read_item},
};
use serde_json::{Value, json};

settings! {
    /// Prices in dollars per million tokens.
    pub struct TokenPrices {
        /// The price of input tokens.
        input("input"): NotNegative,
        /// The price of output tokens.
        output("output"): NotNegative,
        /// The price of input tokens read from a cache; by default the price of `input`.
        cached_input("cachedInput"): Maybe<NotNegative>,
    }
}

/// A number of at least 0: a model on the user's own machine costs nothing.
struct NotNegative;

impl Grammar for NotNegative {
    type Value = f64;

    fn read(node: &Node, key: &str) -> Result<f64, Vec<Mistake>> {
        accept::<Self>(node, key, node.number().filter(|number| *number >= 0.0))
    }

    fn expected() -> String {
        "a number from 0 on, such as 2.5".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "number", "minimum": 0 })
    }

    fn from_variable(word: &str) -> Value {
        Amount::from_variable(word)
    }
}

/// Prices by names of models and adapters.
pub struct PriceTable;

impl Grammar for PriceTable {
    type Value = Prices;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let Some(fields) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let (mut held, mut mistakes) = (Vec::new(), Vec::new());
        for (name, price) in fields {
            match read_item(price, &format!("{key}.{name}"), "a price", EXAMPLE) {
                Ok(TokenPrices {
                    input,
                    output,
                    cached_input,
                }) => {
                    let price = ModelPrice {
                        input,
                        output,
                        cached_input,
                    };
                    held.push((name.clone(), price));
                }
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(Prices::new(held)),
            false => Err(mistakes),
        }
    }

    fn expected() -> String {
        r#"an object of prices, such as {"gpt-5": {"input": 1.25, "output": 10}}"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": group_schema::<TokenPrices>() })
    }

    fn from_variable(word: &str) -> Value {
        let prices = serde_json::from_str(word).ok().filter(Value::is_object);
        prices.unwrap_or_else(|| Value::from(word))
    }
}

const EXAMPLE: &str = r#"a price, such as {"input": 1.25, "output": 10}"#;
