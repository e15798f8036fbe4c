//! Settings of adapters by dotted key, each with the place it came from.
//!
//! A manifest is merged key by key, so a layer is not a manifest yet: it may name a single key. What can be said
//! about a layer alone (a key that does not exist, a value of the wrong type) is said here, with file and line.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};

use super::manifest_error::ManifestError;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Compiled into ralph.
    BuiltIn,
    /// A manifest file; the line counts from 1.
    File { path: PathBuf, line: usize },
    /// The adapter's object in a configuration layer, which is named by its file or in words.
    Config { layer: String, id: String },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Config { layer, id } => write!(f, "{layer} (adapters.{id})"),
        }
    }
}

/// One value of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    Text(String),
    List(Vec<String>),
    Number(i64),
    Flag(bool),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Text(text) => write!(f, "{text:?}"),
            Setting::List(items) => write!(f, "{items:?}"),
            Setting::Number(number) => write!(f, "{number}"),
            Setting::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub setting: Setting,
    pub origin: Origin,
}

/// Values by dotted key.
pub type Entries = BTreeMap<String, Entry>;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    List,
    Number,
    Flag,
}

impl Kind {
    fn named(self) -> &'static str {
        match self {
            Kind::Text => "a string",
            Kind::List => "a list of strings",
            Kind::Number => "a whole number",
            Kind::Flag => "true or false",
        }
    }
}

/// Every key but those of `command.env`, whose names are free; in the order in which they are shown.
const KEYS: [(&str, Kind); 25] = [
    ("id", Kind::Text),
    ("title", Kind::Text),
    ("verified", Kind::Text),
    ("transport", Kind::Text),
    ("dialect", Kind::Text),
    ("command.program", Kind::Text),
    ("command.args", Kind::List),
    ("command.model", Kind::List),
    ("command.agent", Kind::List),
    ("command.resume", Kind::List),
    ("command.prompt", Kind::Text),
    ("command.env_remove", Kind::List),
    ("command.git_identity", Kind::Flag),
    ("model.form", Kind::Text),
    ("usage.counts", Kind::Text),
    ("stop.first", Kind::Text),
    ("stop.grace_ms", Kind::Number),
    ("probe.args", Kind::List),
    ("login.env", Kind::List),
    ("login.files", Kind::List),
    ("login.hint", Kind::Text),
    ("install.hint", Kind::Text),
    ("capabilities.live_steering", Kind::Flag),
    ("capabilities.usage", Kind::Flag),
    ("capabilities.cost", Kind::Flag),
];

/// The table whose keys are names of environment variables.
pub const ENV: &str = "command.env.";

/// Where a key stands when a manifest is shown.
pub fn rank(key: &str) -> usize {
    let key = if key.starts_with(ENV) {
        "command.env_remove"
    } else {
        key
    };
    KEYS.iter().position(|(known, _)| *known == key).unwrap_or(KEYS.len())
}

fn kind_of(key: &str) -> Option<Kind> {
    if key.strip_prefix(ENV).is_some_and(|name| !name.is_empty()) {
        return Some(Kind::Text);
    }
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, kind)| *kind)
}

fn is_table(key: &str) -> bool {
    let prefix = format!("{key}.");
    ENV == prefix || KEYS.iter().any(|(known, _)| known.starts_with(&prefix))
}

/// Reads a manifest file's text. `origin` gives the origin of a line.
pub fn from_toml(text: &str, path: &Path, origin: &dyn Fn(usize) -> Origin) -> Result<Entries, ManifestError> {
    let table = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        ManifestError::Syntax {
            path: path.to_owned(),
            line: line_of(text, offset),
            why: error.message().to_owned(),
        }
    })?;
    let mut entries = Entries::new();
    let at = |offset: usize| origin(line_of(text, offset));
    read_table(table.get_ref(), "", &at, &mut entries)?;
    Ok(entries)
}

fn read_table(
    table: &DeTable<'_>,
    prefix: &str,
    at: &dyn Fn(usize) -> Origin,
    entries: &mut Entries,
) -> Result<(), ManifestError> {
    // In the order of the file, so that its first error is the one that is told.
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in pairs {
        let key = format!("{prefix}{}", name.get_ref());
        let origin = at(name.span().start);
        let found = match value.get_ref() {
            DeValue::Table(inner) if is_table(&key) => {
                read_table(inner, &format!("{key}."), at, entries)?;
                continue;
            }
            DeValue::String(text) => Found::Text(text.to_string()),
            DeValue::Boolean(flag) => Found::Flag(*flag),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Found::Other("a number out of range"), Found::Number),
            DeValue::Array(items) => items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map_or(Found::Other("a list with something else in it"), Found::List),
            DeValue::Float(_) => Found::Other("a number with a fraction"),
            DeValue::Datetime(_) => Found::Other("a date"),
            DeValue::Table(_) => Found::Other("a table"),
        };
        insert(key, found, origin, entries)?;
    }
    Ok(())
}

/// Reads one adapter's object from a configuration layer.
pub fn from_json(value: &serde_json::Value, origin: &Origin) -> Result<Entries, ManifestError> {
    let mut entries = Entries::new();
    let Some(object) = value.as_object() else {
        return Err(ManifestError::NotAnObject { at: origin.clone() });
    };
    read_object(object, "", origin, &mut entries)?;
    Ok(entries)
}

fn read_object(
    object: &serde_json::Map<String, serde_json::Value>,
    prefix: &str,
    origin: &Origin,
    entries: &mut Entries,
) -> Result<(), ManifestError> {
    use serde_json::Value;
    for (name, value) in object {
        let key = format!("{prefix}{name}");
        let found = match value {
            Value::Object(inner) if is_table(&key) => {
                read_object(inner, &format!("{key}."), origin, entries)?;
                continue;
            }
            Value::String(text) => Found::Text(text.clone()),
            Value::Bool(flag) => Found::Flag(*flag),
            Value::Number(number) => number
                .as_i64()
                .map_or(Found::Other("a number with a fraction"), Found::Number),
            Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map_or(Found::Other("a list with something else in it"), Found::List),
            Value::Null => Found::Other("null"),
            Value::Object(_) => Found::Other("an object"),
        };
        insert(key, found, origin.clone(), entries)?;
    }
    Ok(())
}

/// A value as it was written, before it is known whether its key may hold it.
enum Found {
    Text(String),
    List(Vec<String>),
    Number(i64),
    Flag(bool),
    Other(&'static str),
}

fn insert(key: String, found: Found, origin: Origin, entries: &mut Entries) -> Result<(), ManifestError> {
    let Some(kind) = kind_of(&key) else {
        if is_table(&key) {
            return Err(ManifestError::WrongType {
                at: origin,
                key,
                expected: "a table",
                found: named(&found),
            });
        }
        let suggestion = closest(&key, KEYS.iter().map(|(known, _)| *known));
        return Err(ManifestError::UnknownKey {
            at: origin,
            key,
            suggestion,
        });
    };
    let setting = match (kind, found) {
        (Kind::Text, Found::Text(text)) => Setting::Text(text),
        (Kind::List, Found::List(items)) => Setting::List(items),
        (Kind::Number, Found::Number(number)) => Setting::Number(number),
        (Kind::Flag, Found::Flag(flag)) => Setting::Flag(flag),
        (Kind::Text | Kind::List | Kind::Number | Kind::Flag, found) => {
            return Err(ManifestError::WrongType {
                at: origin,
                key,
                expected: kind.named(),
                found: named(&found),
            });
        }
    };
    entries.insert(key, Entry { setting, origin });
    Ok(())
}

fn named(found: &Found) -> &'static str {
    match found {
        Found::Text(_) => Kind::Text.named(),
        Found::List(_) => Kind::List.named(),
        Found::Number(_) => Kind::Number.named(),
        Found::Flag(_) => Kind::Flag.named(),
        Found::Other(name) => name,
    }
}

/// The name most like `word`, if one is like it at all. A dotted key is also compared by its last part.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    names
        .into_iter()
        .map(|name| {
            (
                strsim::jaro_winkler(word, name).max(strsim::jaro_winkler(&last(word), &last(name))),
                name,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name.to_owned())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../adapters/README.md");

    #[test]
    fn the_reference_has_a_row_for_every_key_and_no_other() {
        let (_, keys) = REFERENCE.split_once("## Keys").expect("a chapter");
        let (keys, _) = keys.split_once("\n## ").expect("a chapter after it");
        let rows: Vec<_> = keys
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let mut known: Vec<_> = KEYS.iter().map(|(key, _)| *key).chain(["command.env.NAME"]).collect();
        known.sort_by_key(|key| rows.iter().position(|row| row == key));
        assert_eq!(rows, known);
    }

    #[test]
    fn a_key_is_suggested_by_likeness_of_the_whole_or_of_its_last_part() {
        let suggested = |word: &str| closest(word, KEYS.iter().map(|(key, _)| *key));
        assert_eq!(suggested("command.arg").as_deref(), Some("command.args"));
        assert_eq!(suggested("program").as_deref(), Some("command.program"));
        assert_eq!(suggested("zzzzz"), None);
    }
}
