//! Prices of models, for agents that report tokens and no cost.

use ralph_agent::{ModelPrice, Prices};
use ralph_policy::{
    grammars, settings,
    settings::{Grammar, Maybe, Mistake, Node, accept, all, group_schema, json_if, read_item},
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

grammars! {
    /// A number of at least 0: a model on the user's own machine costs nothing.
    NotNegative: f64, "a number from 0 on, such as 2.5", json!({ "type": "number", "minimum": 0 }),
        by Value::is_number, |node| node.number().filter(|number| *number >= 0.0);
}

/// Prices by names of models and adapters.
pub struct PriceTable;

impl Grammar for PriceTable {
    type Value = Prices;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let Some(fields) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let prices = fields.iter().map(|(name, price)| {
            let TokenPrices {
                input,
                output,
                cached_input,
            } = read_item(price, &format!("{key}.{name}"), "a price", EXAMPLE)?;
            let price = ModelPrice {
                input,
                output,
                cached_input,
            };
            Ok((name.clone(), price))
        });
        all(prices).map(Prices::new)
    }

    fn expected() -> String {
        r#"an object of prices, such as {"gpt-5": {"input": 1.25, "output": 10}}"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": group_schema::<TokenPrices>() })
    }

    fn from_variable(word: &str) -> Value {
        json_if(word, Value::is_object)
    }
}

const EXAMPLE: &str = r#"a price, such as {"input": 1.25, "output": 10}"#;
