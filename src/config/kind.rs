//! What a setting may hold.

use std::str::FromStr;

use serde_json::{Value, json};

use super::{duration::parse_duration, error::ConfigError, goals, layers::dotted, origin::Origin};
use crate::{claims::promise_token, event::clip, server_url::ServerUrl};

/// The word that is needed to go without a limit.
pub(super) const UNLIMITED: &str = "unlimited";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unlimited {
    Never,
    /// A limit that has a default is given up by the word only, never by forgetting a value.
    ByWord,
    /// A limit that is off by default.
    ByWordOrNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One line, or null.
    Name,
    /// A path, or null.
    Path,
    /// Any text, or null.
    Text,
    /// The text of a promise line, or null.
    Promise,
    Choice(&'static [&'static str]),
    /// The address of a server, or null.
    Server,
    Duration(Unlimited),
    /// A whole number from 1.
    Count {
        most: u64,
        unlimited: Unlimited,
    },
    /// A number above 0.
    Amount(Unlimited),
    /// A number from 0 to 1.
    Share,
    /// A whole number from 0 to 100.
    Percent,
    Bool,
    /// Names or patterns, each once, and an example of them.
    Names(&'static str),
    /// Goals, each with a name of its own.
    Goals,
    /// Tables by adapter id, each an object.
    Adapters,
}

/// A value that a setting cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) found: String,
    pub(super) expected: String,
}

impl Mismatch {
    pub(super) fn into_error(self, origin: Origin, path: &[String]) -> ConfigError {
        ConfigError::IllTyped {
            origin,
            key: format!("`{}`", dotted(path)),
            found: self.found,
            expected: self.expected,
        }
    }
}

impl Kind {
    /// Checks a value.
    pub(super) fn check(self, value: &Value) -> Result<(), Mismatch> {
        if self.fits(value) {
            return Ok(());
        }
        let found = match self.reason(value) {
            Some(reason) => format!("{} ({reason})", described(value)),
            None => described(value),
        };
        Err(Mismatch {
            found,
            expected: self.expected(),
        })
    }

    fn fits(self, value: &Value) -> bool {
        if self.unlimited().allows(value) {
            return true;
        }
        match self {
            Kind::Name => null_or(value, |text| {
                !text.trim().is_empty() && !text.contains(char::is_control)
            }),
            Kind::Path => null_or(value, |text| !text.is_empty() && !text.contains('\0')),
            Kind::Text => null_or(value, |text| !text.trim().is_empty() && !text.contains('\0')),
            Kind::Promise => null_or(value, is_promise),
            Kind::Choice(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Kind::Server => null_or(value, |text| ServerUrl::from_str(text).is_ok()),
            Kind::Duration(_) => value.as_str().is_some_and(|text| parse_duration(text).is_ok()),
            Kind::Count { most, .. } => value.as_u64().is_some_and(|count| (1..=most).contains(&count)),
            Kind::Amount(_) => value.as_f64().is_some_and(|amount| amount > 0.0),
            Kind::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
            Kind::Percent => value.as_u64().is_some_and(|percent| percent <= 100),
            Kind::Bool => value.is_boolean(),
            Kind::Names(_) => value.as_array().is_some_and(|names| are_names(names)),
            Kind::Goals => value.as_array().is_some_and(|goals| goals::faults(goals).is_empty()),
            Kind::Adapters => value
                .as_object()
                .is_some_and(|tables| tables.values().all(Value::is_object)),
        }
    }

    /// Says why a value does not fit, where the value alone does not tell.
    fn reason(self, value: &Value) -> Option<String> {
        match (self, value) {
            (_, Value::Null) if self.unlimited() == Unlimited::ByWord => {
                Some(format!("write \"{UNLIMITED}\" to go without this limit"))
            }
            (Kind::Server, Value::String(text)) => ServerUrl::from_str(text).err().map(|error| error.to_string()),
            (Kind::Duration(_), Value::String(text)) => parse_duration(text).err().map(|error| error.to_string()),
            (Kind::Adapters, Value::Object(tables)) => {
                let (id, value) = tables.iter().find(|(_, table)| !table.is_object())?;
                Some(format!("`{id}` is {}", described(value)))
            }
            (Kind::Goals, Value::Array(goals)) => {
                let fault = goals::faults(goals).into_iter().next()?;
                Some(format!("`{}` is {}", fault.key(), fault.mismatch.found))
            }
            (_, _) => None,
        }
    }

    /// Makes a value of a word from a command line or the environment; what it cannot be made of stays text.
    pub(super) fn value_of_word(self, word: &str) -> Value {
        let parsed = match self {
            Kind::Name
            | Kind::Path
            | Kind::Text
            | Kind::Promise
            | Kind::Choice(_)
            | Kind::Server
            | Kind::Duration(_) => None,
            Kind::Count { .. } | Kind::Amount(_) | Kind::Share | Kind::Percent => {
                serde_json::from_str(word).ok().filter(Value::is_number)
            }
            Kind::Bool => serde_json::from_str(word).ok().filter(Value::is_boolean),
            Kind::Names(_) => Some(word.split(',').map(|name| Value::from(name.trim())).collect()),
            Kind::Goals => serde_json::from_str(word).ok().filter(Value::is_array),
            Kind::Adapters => serde_json::from_str(word).ok().filter(Value::is_object),
        };
        parsed.unwrap_or_else(|| Value::String(word.to_owned()))
    }

    fn unlimited(self) -> Unlimited {
        match self {
            Kind::Duration(unlimited) | Kind::Count { unlimited, .. } | Kind::Amount(unlimited) => unlimited,
            Kind::Name
            | Kind::Path
            | Kind::Text
            | Kind::Promise
            | Kind::Choice(_)
            | Kind::Server
            | Kind::Share
            | Kind::Percent
            | Kind::Bool
            | Kind::Names(_)
            | Kind::Goals
            | Kind::Adapters => Unlimited::Never,
        }
    }

    /// Says what a value has to be, with an example.
    fn expected(self) -> String {
        let what = match self {
            Kind::Name => r#"a text on one line, such as "codex", or null"#.to_owned(),
            Kind::Path => r#"a path, such as "PLAN.md", or null"#.to_owned(),
            Kind::Text => "a text that is not blank, or null".to_owned(),
            Kind::Promise => r#"a text on one line without `<` and `>`, such as "ALL DONE", or null"#.to_owned(),
            Kind::Choice(words) => alternatives(words),
            Kind::Server => r#"the address of a server, such as "http://127.0.0.1:4190", or null"#.to_owned(),
            Kind::Duration(_) => r#"a duration, such as "90s", "10m" or "1h30m""#.to_owned(),
            Kind::Count { most: u64::MAX, .. } => "a whole number from 1, such as 50".to_owned(),
            Kind::Count { most, .. } => format!("a whole number from 1 to {most}, such as 50"),
            Kind::Amount(_) => "a number above 0, such as 2.5".to_owned(),
            Kind::Share => "a number from 0 to 1, such as 0.1".to_owned(),
            Kind::Percent => "a whole number from 0 to 100, such as 50".to_owned(),
            Kind::Bool => "true or false".to_owned(),
            Kind::Names(example) => format!("a list of different names, such as {example}"),
            Kind::Goals => r#"a list of goals, such as [{"name": "tests", "command": "cargo test"}]"#.to_owned(),
            Kind::Adapters => {
                r#"an object of objects, such as {"codex": {"command": {"program": "/opt/codex"}}}"#.to_owned()
            }
        };
        match self.unlimited() {
            Unlimited::Never => what,
            Unlimited::ByWord | Unlimited::ByWordOrNull => format!("{what}, or \"{UNLIMITED}\""),
        }
    }

    /// Describes the kind as JSON Schema.
    pub(super) fn schema(self) -> Value {
        let schema = match self {
            Kind::Name | Kind::Path | Kind::Text => json!({ "type": ["string", "null"], "minLength": 1 }),
            Kind::Promise => json!({ "type": ["string", "null"], "minLength": 1, "pattern": "^[^\\r\\n]*$" }),
            Kind::Choice(words) => json!({ "enum": words }),
            Kind::Server => json!({ "type": ["string", "null"], "minLength": 1 }),
            Kind::Duration(_) => {
                let pattern = "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$";
                json!({ "type": "string", "pattern": pattern })
            }
            Kind::Count { most: u64::MAX, .. } => json!({ "type": "integer", "minimum": 1 }),
            Kind::Count { most, .. } => json!({ "type": "integer", "minimum": 1, "maximum": most }),
            Kind::Amount(_) => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Kind::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            Kind::Percent => json!({ "type": "integer", "minimum": 0, "maximum": 100 }),
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::Names(_) => {
                json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "uniqueItems": true })
            }
            Kind::Goals => json!({ "type": "array", "items": goals::schema() }),
            Kind::Adapters => json!({ "type": "object", "additionalProperties": { "type": "object" } }),
        };
        match self.unlimited() {
            Unlimited::Never => schema,
            Unlimited::ByWord => json!({ "anyOf": [schema, { "const": UNLIMITED }] }),
            Unlimited::ByWordOrNull => json!({ "anyOf": [schema, { "enum": [UNLIMITED, null] }] }),
        }
    }
}

impl Unlimited {
    fn allows(self, value: &Value) -> bool {
        match self {
            Unlimited::Never => false,
            Unlimited::ByWord => value == UNLIMITED,
            Unlimited::ByWordOrNull => value == UNLIMITED || value.is_null(),
        }
    }
}

fn null_or(value: &Value, fits: impl Fn(&str) -> bool) -> bool {
    value.is_null() || value.as_str().is_some_and(fits)
}

fn are_names(names: &[Value]) -> bool {
    let is_name = |name: &Value| {
        let text = name.as_str();
        text.is_some_and(|text| !text.trim().is_empty() && !text.contains(char::is_control))
    };
    let repeats = |(at, name): (usize, &Value)| names[..at].contains(name);
    names.iter().all(is_name) && !names.iter().enumerate().any(repeats)
}

fn is_promise(text: &str) -> bool {
    let token = promise_token(text);
    !token.is_empty() && !token.contains(['<', '>']) && !token.contains(char::is_control)
}

fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(" or ")
}

/// Says in words what a value is.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", clip(text, 60)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
