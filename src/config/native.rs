//! Settings of the native agent.

use ralph_policy::{
    settings,
    settings::{Grammar, Mistake, NamedChoice, Node, OneOf, PositiveCount, SingleLine, WholeNumber, accept},
};
use serde_json::Value;

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

impl Native {
    /// The environment variables that pass these settings to the agent.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let named = |wanted: NativeWire| NativeWire::CHOICES.iter().find(|(_, wire)| *wire == wanted);
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
