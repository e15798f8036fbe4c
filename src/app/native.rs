//! ralph's own agent: what its settings make of its adapter, and whether it can reach its model.

use std::env;

use ralph_policy::settings::{NamedChoice, Node, SettingOrigin};
use ralph_tools::native;
use serde_json::{Map, Value, json};

use crate::config::{Config, Native};

/// The reason why the native agent cannot reach its model, if this build lacks TLS for it.
pub(crate) fn native_lacks_tls(config: &Config) -> Option<String> {
    let set = variables(&config.native);
    let variable = |name: &str| {
        let of_settings = set.iter().find(|(known, _)| *known == name);
        let value = of_settings.map_or_else(|| env::var(name).ok(), |(_, value)| Some(value.clone()));
        value.filter(|value| !value.is_empty())
    };
    native::lacks_tls(variable, config.model.as_deref())
}

/// The adapter settings that follow from the settings of the native agent.
pub(super) fn adapter_settings(native: &Native) -> Node {
    let env: Map<String, Value> = variables(native)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let mut adapter = json!({ "command": { "env": env } });
    if let Some(host) = host(native) {
        adapter["sandbox"] = json!({ "hosts": [host] });
    }
    Node::from_value(json!({ "native": adapter }), &SettingOrigin::BuiltIn)
}

/// The environment variables that pass these settings to the agent.
fn variables(native: &Native) -> Vec<(&'static str, String)> {
    let variables = [
        ("RALPH_NATIVE_BASE_URL", native.base_url.clone()),
        ("RALPH_NATIVE_WIRE", name_of(native.wire)),
        ("RALPH_NATIVE_MODEL", native.model.clone()),
        (
            "RALPH_NATIVE_CONTEXT_TOKENS",
            native.context_tokens.map(|tokens| tokens.to_string()),
        ),
        ("RALPH_NATIVE_EFFORT", native.effort.and_then(name_of)),
        (
            "RALPH_NATIVE_ANSWER_TOKENS",
            native.answer_tokens.map(|tokens| tokens.to_string()),
        ),
        ("RALPH_NATIVE_MAX_REQUESTS", Some(native.max_requests.to_string())),
        ("RALPH_NATIVE_RETRIES", Some(native.retries.to_string())),
    ];
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The name of a choice in the settings.
fn name_of<C: NamedChoice + PartialEq>(wanted: C) -> Option<String> {
    let (name, _) = C::CHOICES.iter().find(|(_, choice)| *choice == wanted)?;
    Some((*name).to_owned())
}

/// The host of the API, with its port, in the syntax of the sandbox.
fn host(native: &Native) -> Option<&str> {
    let (_, rest) = native.base_url.as_deref()?.split_once("://")?;
    rest.split('/').next()
}
