//! Settings of the native agent.

use ralph_policy::{
    settings,
    settings::{
        Amount, Grammar, Maybe, Mistake, NamedChoice, Node, OneOf, PositiveCount, SingleLine, WholeNumber, accept,
        group_schema, read_item,
    },
};
use serde_json::{Map, Value, json};

settings! {
    /// ralph's own agent, the adapter `native`: its model and API. The key comes from RALPH_NATIVE_API_KEY, else from
    /// OPENAI_API_KEY or ANTHROPIC_API_KEY, and is never stored in a file.
    pub struct Native {
        /// The address of the API of the model, such as `http://127.0.0.1:11434/v1` (Ollama) or
        /// `https://openrouter.ai/api/v1`. null uses OPENAI_BASE_URL and ANTHROPIC_BASE_URL, then the default of the
        /// key that is set.
        base_url("baseUrl"): Option<ApiAddress> = null,
        /// The API at that address: "openai" is chat completions, which most servers have, "anthropic" is messages.
        /// "auto" derives it from the address.
        wire("wire"): OneOf<NativeWire> = "auto",
        /// The model if `model` is not set. null asks the server, which must have exactly one then.
        model("model"): Option<SingleLine> = null,
        /// Maximum tokens of a conversation, at most the context window of the model. Old results of tools are dropped
        /// before it is full.
        context_tokens("contextTokens"): WholeNumber<2000, 10_000_000> = 128000,
        /// Maximum tokens of one answer of the model, thoughts included; a longer answer is cut off and continued,
        /// three times at most. null leaves it to the server, and asks Anthropic's API for 16,384, or the maximum of an
        /// older model.
        answer_tokens("answerTokens"): Option<WholeNumber<16, 10_000_000>> = null,
        /// Maximum requests to the model in one iteration.
        max_requests("maxRequests"): PositiveCount = 200,
        /// Maximum retries of a failed request, if a retry may help.
        retries("retries"): WholeNumber<0, 20> = 4,
        /// Prices in dollars per million tokens, by prefix of the model's name: {"gpt-5": {"input": 1.25, "output": 10,
        /// "cachedInput": 0.125}}. Without a price, no cost is reported.
        prices("prices"): Prices = {},
    }
}

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

/// The APIs of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeWire {
    Auto,
    OpenAi,
    Anthropic,
}

impl NamedChoice for NativeWire {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", NativeWire::Auto),
        ("openai", NativeWire::OpenAi),
        ("anthropic", NativeWire::Anthropic),
    ];
}

/// The address of an API.
pub struct ApiAddress;

impl Grammar for ApiAddress {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let is_address = |text: &&str| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
                // A user name and password in the address would be shown.
                && !text.contains(|character: char| "@?#{}".contains(character) || character.is_whitespace())
        };
        accept::<Self>(node, key, node.text().filter(is_address).map(str::to_owned))
    }

    fn expected() -> String {
        r#"the address of an API, such as "http://127.0.0.1:11434/v1""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// A number of at least 0: a model on the user's own machine costs nothing.
pub struct NotNegative;

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

/// Prices by prefixes of model names.
pub struct Prices;

impl Grammar for Prices {
    type Value = Vec<(String, TokenPrices)>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let Some(fields) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let (mut held, mut mistakes) = (Vec::new(), Vec::new());
        for (name, price) in fields {
            match read_item(price, &format!("{key}.{name}"), "a price", EXAMPLE) {
                Ok(price) => held.push((name.clone(), price)),
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(held),
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

impl Native {
    /// The environment variables that pass these settings to the agent.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let named = |wanted: NativeWire| NativeWire::CHOICES.iter().find(|(_, wire)| *wire == wanted);
        let price = |price: &TokenPrices| {
            let mut written = json!({"input": price.input, "output": price.output});
            if let Some(cached) = price.cached_input {
                written["cachedInput"] = cached.into();
            }
            written
        };
        let prices: Map<String, Value> = self.prices.iter().map(|(name, of)| (name.clone(), price(of))).collect();
        let variables = [
            ("RALPH_NATIVE_BASE_URL", self.base_url.clone()),
            (
                "RALPH_NATIVE_WIRE",
                named(self.wire).map(|(name, _)| (*name).to_owned()),
            ),
            ("RALPH_NATIVE_MODEL", self.model.clone()),
            ("RALPH_NATIVE_CONTEXT_TOKENS", Some(self.context_tokens.to_string())),
            (
                "RALPH_NATIVE_ANSWER_TOKENS",
                self.answer_tokens.map(|tokens| tokens.to_string()),
            ),
            ("RALPH_NATIVE_MAX_REQUESTS", Some(self.max_requests.to_string())),
            ("RALPH_NATIVE_RETRIES", Some(self.retries.to_string())),
            (
                "RALPH_NATIVE_PRICES",
                (!prices.is_empty()).then(|| Value::Object(prices).to_string()),
            ),
        ];
        variables
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// The host of the API, with its port, in the syntax of the sandbox.
    pub(crate) fn host(&self) -> Option<&str> {
        let (_, rest) = self.base_url.as_deref()?.split_once("://")?;
        rest.split('/').next()
    }
}
