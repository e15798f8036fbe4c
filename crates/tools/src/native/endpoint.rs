//! The configuration of the model, its endpoint and key.
//!
//! All values come from environment variables: ralph passes its settings to the agent this way, and keys are stored
//! nowhere else. A key of OpenAI or Anthropic is not sent to another machine without encryption.

use std::fmt;

use ralph_state::{
    control::{BUDGET_VARIABLE, IterationBudget},
    http_client::HAS_TLS,
};
use reqwest::Url;
use serde_json::Value;
use thiserror::Error;

use super::{
    message::ModelRequest,
    models::{Effort, ModelFacts},
    wire::Wire,
};

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";

pub(super) const OWN_KEY: &str = "RALPH_NATIVE_API_KEY";

/// The options of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AgentOptions {
    pub(super) endpoint: Endpoint,
    /// The model; `None` to ask the endpoint.
    pub(super) model: Option<String>,
    /// Most tokens of a conversation; `None` for the window of the model.
    pub(super) context_tokens: Option<u64>,
    /// The effort of the model's reasoning; `None` for its default.
    pub(super) effort: Option<Effort>,
    /// Most tokens of one answer; `None` for the default of the API.
    pub(super) answer_tokens: Option<u32>,
    /// Most requests in one turn.
    pub(super) max_requests: u32,
    /// Most retries of a failed request.
    pub(super) retries: u32,
    /// The rest of the limits on tokens and cost.
    pub(super) budget: IterationBudget,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) wire: Wire,
    /// The base URL without a slash at the end.
    pub(super) base: String,
    pub(super) key: Option<Key>,
}

/// An API key. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The variable from which it was read.
    pub(super) variable: &'static str,
    pub(super) secret: String,
}

impl Endpoint {
    /// The body of a request. OpenAI itself uses another name for the limit of an answer than compatible servers.
    pub(super) fn body(&self, request: ModelRequest<'_>) -> Value {
        let mut body = self.wire.body(request);
        if self.base == OPENAI
            && let Some(most) = body.as_object_mut().and_then(|body| body.remove("max_tokens"))
        {
            body["max_completion_tokens"] = most;
        }
        body
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|key| key.variable);
        write!(formatter, "{:?} {} {key:?}", self.wire, self.base)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum OptionsError {
    #[error(
        "not logged in: neither a key nor the address of a model is set; set OPENAI_API_KEY or ANTHROPIC_API_KEY, or for a model \
         of your own `native.baseUrl`, such as RALPH_NATIVE_BASE_URL=http://127.0.0.1:11434/v1"
    )]
    EndpointMissing,
    #[error("not logged in: {base} takes a key; set {variable} or RALPH_NATIVE_API_KEY")]
    KeyMissing { base: &'static str, variable: &'static str },
    #[error("{variable}: `{value}` is not a server address; expected something like http://127.0.0.1:11434/v1")]
    AddressInvalid { variable: &'static str, value: String },
    #[error(
        "{base}: this ralph was built without TLS and reaches only addresses with http://; install it with the feature `tls`"
    )]
    TlsMissing { base: String },
    #[error("{variable}: `{value}` is not {expected}")]
    ValueInvalid {
        variable: &'static str,
        value: String,
        expected: &'static str,
    },
}

impl AgentOptions {
    /// Reads the options with `variable`, which treats empty variables as unset. `model` is the model named for this
    /// run.
    ///
    /// # Errors
    /// An [`OptionsError`], with advice on what to set.
    pub(crate) fn read(
        variable: impl Fn(&str) -> Option<String>,
        model: Option<String>,
        has_tls: bool,
    ) -> Result<Self, OptionsError> {
        let model = model
            .or_else(|| variable("RALPH_NATIVE_MODEL"))
            .or_else(|| variable("OPENAI_MODEL"));
        let number = |name| read_as(&variable, name, "a whole number", |value| value.parse::<u64>().ok());
        let small = |name| Ok(number(name)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX)));
        let budget = read_as(
            &variable,
            BUDGET_VARIABLE,
            r#"an object such as {"tokens":50000}"#,
            |value| serde_json::from_str(value).ok(),
        )?;
        Ok(Self {
            budget: budget.unwrap_or_default(),
            endpoint: Endpoint::read(&variable, model.as_deref(), has_tls)?,
            context_tokens: number("RALPH_NATIVE_CONTEXT_TOKENS")?,
            effort: read_as(&variable, "RALPH_NATIVE_EFFORT", "low, medium or high", Effort::named)?,
            answer_tokens: small("RALPH_NATIVE_ANSWER_TOKENS")?,
            max_requests: small("RALPH_NATIVE_MAX_REQUESTS")?.unwrap_or(200),
            retries: small("RALPH_NATIVE_RETRIES")?.unwrap_or(4),
            model,
        })
    }

    /// The facts of `model`, as far as no setting says otherwise.
    pub(super) fn facts(&self, model: &str) -> ModelFacts {
        let mut facts = ModelFacts::of(model);
        facts.window = self.context_tokens.unwrap_or(facts.window);
        facts
    }
}

/// Reads the value of a variable; `None` if it is not set.
fn read_as<T>(
    variable: &impl Fn(&str) -> Option<String>,
    name: &'static str,
    expected: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, OptionsError> {
    let Some(value) = variable(name) else { return Ok(None) };
    match read(&value) {
        Some(read) => Ok(Some(read)),
        None => Err(OptionsError::ValueInvalid {
            variable: name,
            value,
            expected,
        }),
    }
}

/// The error message if the endpoint selected by `variable` and `model` needs TLS and this build has none.
pub fn lacks_tls(variable: impl Fn(&str) -> Option<String>, model: Option<&str>) -> Option<String> {
    why_unreachable(variable, model, HAS_TLS)
}

fn why_unreachable(variable: impl Fn(&str) -> Option<String>, model: Option<&str>, has_tls: bool) -> Option<String> {
    match AgentOptions::read(variable, model.map(str::to_owned), has_tls) {
        Err(error @ OptionsError::TlsMissing { .. }) => Some(error.to_string()),
        Err(_) | Ok(_) => None,
    }
}

impl Endpoint {
    /// Whether the endpoint is reached over TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.base.starts_with("https:")
    }

    fn read(
        variable: &impl Fn(&str) -> Option<String>,
        model: Option<&str>,
        has_tls: bool,
    ) -> Result<Self, OptionsError> {
        let wire = match variable("RALPH_NATIVE_WIRE").as_deref() {
            None | Some("auto") => None,
            Some("openai") => Some(Wire::Chat),
            Some("responses") => Some(Wire::Responses),
            Some("anthropic") => Some(Wire::Anthropic),
            Some(other) => {
                return Err(OptionsError::ValueInvalid {
                    variable: "RALPH_NATIVE_WIRE",
                    value: other.to_owned(),
                    expected: "auto, openai, responses or anthropic",
                });
            }
        };
        let own = variable("RALPH_NATIVE_BASE_URL").map(|value| ("RALPH_NATIVE_BASE_URL", value));
        let vendor = match (wire, &own) {
            (Some(wire), _) => wire,
            (None, Some((_, base))) => guessed(base),
            (None, None) => api_from_variables(variable, model)?,
        };
        let (base_variable, key_variable, usual) = match vendor {
            Wire::Chat | Wire::Responses => ("OPENAI_BASE_URL", "OPENAI_API_KEY", OPENAI),
            Wire::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ANTHROPIC),
        };
        let set = own.or_else(|| variable(base_variable).map(|value| (base_variable, value)));
        let wire = match (wire, vendor) {
            (None, Wire::Chat) => guessed(set.as_ref().map_or(usual, |(_, base)| base)),
            (_, vendor) => vendor,
        };
        let (is_usual, base) = match set {
            None => (true, usual.to_owned()),
            Some((variable, value)) => (
                false,
                base(wire, &value).ok_or(OptionsError::AddressInvalid { variable, value })?,
            ),
        };
        if base.starts_with("https:") && !has_tls {
            return Err(OptionsError::TlsMissing { base });
        }
        let is_private = base.starts_with("https:") || is_local(&base);
        let keys = [(OWN_KEY, true), (key_variable, is_private)];
        let key = keys.into_iter().filter(|(_, may_go)| *may_go).find_map(|(name, _)| {
            let secret = variable(name)?;
            Some(Key { variable: name, secret })
        });
        if key.is_none() && is_usual {
            return Err(OptionsError::KeyMissing {
                base: usual,
                variable: key_variable,
            });
        }
        Ok(Self { wire, base, key })
    }
}

/// The API that most servers with such an address have.
fn guessed(base: &str) -> Wire {
    let base = base.trim().trim_end_matches('/');
    let all = [Wire::Chat, Wire::Responses, Wire::Anthropic];
    match all.into_iter().find(|wire| base.ends_with(wire.path())) {
        Some(wire) => wire,
        None if base.contains("anthropic") => Wire::Anthropic,
        None if base.starts_with("https://api.openai.com") => Wire::Responses,
        None => Wire::Chat,
    }
}

/// The API with an address or a key in the environment. If both have one, Anthropic's for its own models.
fn api_from_variables(variable: &impl Fn(&str) -> Option<String>, model: Option<&str>) -> Result<Wire, OptionsError> {
    let has = |names: [&str; 2]| names.into_iter().any(|name| variable(name).is_some());
    let openai = has(["OPENAI_BASE_URL", "OPENAI_API_KEY"]);
    let anthropic = has(["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"]);
    let is_claude = model.is_some_and(|model| model.starts_with("claude"));
    match (openai, anthropic) {
        (true, true) if is_claude => Ok(Wire::Anthropic),
        (true, _) => Ok(Wire::Chat),
        (false, true) => Ok(Wire::Anthropic),
        // ralph's own key variable does not tell the API, so the model decides.
        (false, false) if variable(OWN_KEY).is_some() && is_claude => Ok(Wire::Anthropic),
        (false, false) if variable(OWN_KEY).is_some() => Ok(Wire::Chat),
        (false, false) => Err(OptionsError::EndpointMissing),
    }
}

/// The base URL of the API. The vendors' own programs expect it with `/v1` (OpenAI) or without (Anthropic).
fn base(wire: Wire, value: &str) -> Option<String> {
    let url = Url::parse(value.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return None;
    }
    let text = value.trim().trim_end_matches('/');
    let text = text.strip_suffix(wire.path()).unwrap_or(text);
    let has_path = !url.path().trim_matches('/').is_empty();
    Some(match wire {
        Wire::Chat | Wire::Responses if has_path => text.to_owned(),
        Wire::Anthropic if text.ends_with("/v1") => text.to_owned(),
        Wire::Chat | Wire::Responses | Wire::Anthropic => format!("{text}/v1"),
    })
}

/// Whether `base` is on this machine.
fn is_local(base: &str) -> bool {
    let Ok(url) = Url::parse(base) else { return false };
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<core::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)], model: Option<&str>) -> Result<AgentOptions, OptionsError> {
        let variable = |asked: &str| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        };
        AgentOptions::read(variable, model.map(str::to_owned), true)
    }

    fn endpoint(variables: &[(&str, &str)], model: Option<&str>) -> (Wire, String, Option<&'static str>) {
        let endpoint = options(variables, model).unwrap().endpoint;
        (endpoint.wire, endpoint.base, endpoint.key.map(|key| key.variable))
    }

    #[test]
    fn the_endpoint_follows_from_what_is_set() {
        let (openai, claude) = (("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"));
        let own = |url| ("RALPH_NATIVE_BASE_URL", url);
        for (variables, model, wire, base, key) in [
            (vec![openai], None, Wire::Responses, OPENAI, Some("OPENAI_API_KEY")),
            (
                vec![claude],
                None,
                Wire::Anthropic,
                ANTHROPIC,
                Some("ANTHROPIC_API_KEY"),
            ),
            (
                vec![openai, claude],
                Some("claude-x"),
                Wire::Anthropic,
                ANTHROPIC,
                Some("ANTHROPIC_API_KEY"),
            ),
            (
                vec![openai, claude],
                Some("gpt-x"),
                Wire::Responses,
                OPENAI,
                Some("OPENAI_API_KEY"),
            ),
            (
                vec![openai, ("RALPH_NATIVE_WIRE", "openai")],
                None,
                Wire::Chat,
                OPENAI,
                Some("OPENAI_API_KEY"),
            ),
            (
                vec![openai, ("OPENAI_BASE_URL", "https://proxy.example/v1")],
                None,
                Wire::Chat,
                "https://proxy.example/v1",
                Some("OPENAI_API_KEY"),
            ),
            (
                vec![own("http://127.0.0.1:1/v1/responses")],
                None,
                Wire::Responses,
                "http://127.0.0.1:1/v1",
                None,
            ),
            (
                vec![own("http://127.0.0.1:11434")],
                None,
                Wire::Chat,
                "http://127.0.0.1:11434/v1",
                None,
            ),
            (
                vec![own("http://localhost:1/v1/"), openai],
                None,
                Wire::Chat,
                "http://localhost:1/v1",
                Some("OPENAI_API_KEY"),
            ),
            (
                vec![own("http://10.0.0.7:8000/v1"), openai],
                None,
                Wire::Chat,
                "http://10.0.0.7:8000/v1",
                None,
            ),
            (
                vec![own("http://10.0.0.7/v1"), (OWN_KEY, "k")],
                None,
                Wire::Chat,
                "http://10.0.0.7/v1",
                Some(OWN_KEY),
            ),
            (
                vec![own("https://openrouter.ai/api/v1/chat/completions"), openai],
                None,
                Wire::Chat,
                "https://openrouter.ai/api/v1",
                Some("OPENAI_API_KEY"),
            ),
            (
                vec![own("https://api.anthropic.com"), claude],
                None,
                Wire::Anthropic,
                ANTHROPIC,
                Some("ANTHROPIC_API_KEY"),
            ),
            (
                vec![("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"), claude],
                None,
                Wire::Anthropic,
                "http://127.0.0.1:1/v1",
                Some("ANTHROPIC_API_KEY"),
            ),
            (
                vec![own("http://[::1]:1/x"), ("RALPH_NATIVE_WIRE", "anthropic"), claude],
                None,
                Wire::Anthropic,
                "http://[::1]:1/x/v1",
                Some("ANTHROPIC_API_KEY"),
            ),
        ] {
            assert_eq!(
                endpoint(&variables, model),
                (wire, base.to_owned(), key),
                "{variables:?}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_set() {
        for (variables, word) in [
            (vec![], "OPENAI_API_KEY or ANTHROPIC_API_KEY"),
            (
                vec![("RALPH_NATIVE_WIRE", "anthropic")],
                "set ANTHROPIC_API_KEY or RALPH_NATIVE_API_KEY",
            ),
            (vec![("RALPH_NATIVE_BASE_URL", "localhost:1")], "something like http://"),
            (vec![("RALPH_NATIVE_WIRE", "x")], "auto, openai, responses or anthropic"),
            (
                vec![("OPENAI_API_KEY", "k"), ("RALPH_NATIVE_RETRIES", "often")],
                "a whole number",
            ),
            (
                vec![("OPENAI_API_KEY", "k"), ("RALPH_NATIVE_EFFORT", "much")],
                "low, medium or high",
            ),
        ] {
            let error = options(&variables, None).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let without_tls = AgentOptions::read(|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned()), None, false);
        assert!(matches!(without_tls, Err(OptionsError::TlsMissing { .. })));
        let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        let why = why_unreachable(key, None, false).expect("a reason");
        assert!(
            why.contains("https://api.openai.com") && why.contains("built without TLS"),
            "{why}"
        );
        assert_eq!(why_unreachable(key, None, true), None);
        let local = |name: &str| (name == "RALPH_NATIVE_BASE_URL").then(|| "http://127.0.0.1:1/v1".to_owned());
        assert_eq!(why_unreachable(local, None, false), None);
    }

    #[test]
    fn settings_override_what_is_known_of_a_model() {
        let key = ("OPENAI_API_KEY", "k");
        let facts = options(&[key], None).unwrap().facts("gpt-5");
        assert_eq!(facts.window, 272_000);
        let set = [key, ("RALPH_NATIVE_CONTEXT_TOKENS", "16000")];
        let facts = options(&set, None).unwrap().facts("gpt-5");
        assert_eq!((facts.window, facts.answer), (16_000, Some(128_000)));
    }

    #[test]
    fn a_key_is_never_shown() {
        let options = options(&[("OPENAI_API_KEY", "sk-secret")], None).unwrap();
        assert!(!format!("{options:?}").contains("sk-secret"));
    }
}
