//! Settings of the native agent.

use ralph_policy::{
    choices, grammars, settings,
    settings::{OneOf, PositiveCount, SingleLine, WholeNumber},
};

settings! {
    /// ralph's own agent, the adapter `native`: its model and API. The key comes from RALPH_NATIVE_API_KEY, else from
    /// OPENAI_API_KEY or ANTHROPIC_API_KEY, and is never stored in a file.
    pub struct Native {
        /// The address of the API of the model, such as `http://127.0.0.1:11434/v1` (Ollama) or
        /// `https://openrouter.ai/api/v1`. null uses OPENAI_BASE_URL and ANTHROPIC_BASE_URL, then the default of the
        /// key that is set.
        base_url("baseUrl"): Option<ApiAddress> = null,
        /// The API at that address: "openai" is chat completions, which most servers have, "responses" is OpenAI's newer
        /// one, which keeps the model's reasoning from call to call, "anthropic" is messages. "auto" derives it from the
        /// address: "responses" for OpenAI itself.
        wire("wire"): OneOf<NativeWire> = "auto",
        /// The model if `model` is not set. null asks the server, which must have exactly one then.
        model("model"): Option<SingleLine> = null,
        /// Maximum tokens of a conversation, at most the context window of the model. Before it is full, the model sums
        /// up what came before. null uses the window of a model that ralph knows, and 32,000 for others.
        context_tokens("contextTokens"): Option<WholeNumber<2000, 10_000_000>> = null,
        /// How much the model reasons before it acts: "low", "medium" or "high". null leaves it to the model.
        effort("effort"): Option<OneOf<NativeEffort>> = null,
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
    Responses,
    Anthropic,
}

choices! {
    NativeWire: "auto" = Auto, "openai" = OpenAi, "responses" = Responses, "anthropic" = Anthropic;
    NativeEffort: "low" = Low, "medium" = Medium, "high" = High;
}

/// How much a model reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeEffort {
    Low,
    Medium,
    High,
}

grammars! {
    /// The address of an API.
    pub ApiAddress: String, r#"the address of an API, such as "http://127.0.0.1:11434/v1""#, SingleLine::schema(),
        |node| node.text().filter(|text| is_api(text)).map(str::to_owned);
}

fn is_api(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    // A user name and password in the address would be shown.
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !text.contains(|character: char| "@?#{}".contains(character) || character.is_whitespace())
}
