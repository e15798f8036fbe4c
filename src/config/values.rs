//! Value syntaxes that only the configuration uses.

use std::str::FromStr;

use ralph_agent::opencode::ServerUrl;
use ralph_core::event::SizeLimit;
use ralph_plan::claims::promise_token;
use ralph_policy::settings::{Grammar, Mistake, Node, Prose, SettingForm, SingleLine, accept, accept_or};
use serde_json::{Value, json};

/// The address of a server.
pub struct ServerAddress;

impl Grammar for ServerAddress {
    type Value = ServerUrl;

    fn read(node: &Node, key: &str) -> Result<ServerUrl, Vec<Mistake>> {
        let held = match node.text() {
            Some(text) => ServerUrl::from_str(text).map_err(|error| Some(error.to_string())),
            None => Err(None),
        };
        accept_or::<Self>(node, key, held)
    }

    fn expected() -> String {
        r#"the address of a server, such as "http://127.0.0.1:4190""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// The address of the page, which ralph extends to form links.
pub struct PageAddress;

impl Grammar for PageAddress {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let is_page = |text: &&str| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
                && !text.contains(|character: char| matches!(character, '#' | '?') || character.is_whitespace())
        };
        accept::<Self>(node, key, node.text().filter(is_page).map(str::to_owned))
    }

    fn expected() -> String {
        r#"the address of a page, such as "https://ralph.example.org""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// The target of telemetry: the address of a collector, or a file.
pub struct Telemetry;

impl Grammar for Telemetry {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let is_target = |text: &&str| match text.split_once("://") {
            Some(("http" | "https", host)) => !host.is_empty() && !host.starts_with('/'),
            Some(_) => false,
            None => text.starts_with('/') || text.starts_with("~/"),
        };
        let text = node.text().filter(is_target);
        let text = text.filter(|text| !text.contains(char::is_control));
        accept::<Self>(node, key, text.map(str::to_owned))
    }

    fn expected() -> String {
        r#"the address of a collector, such as "http://127.0.0.1:4318", or a file, such as "~/spans.jsonl""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// An amount of memory, or a share of that of the machine.
pub struct MemorySize;

/// The units of sizes, with their binary exponents.
const UNITS: [(&str, u32); 2] = [("MiB", 20), ("GiB", 30)];

impl Grammar for MemorySize {
    type Value = SizeLimit;

    fn read(node: &Node, key: &str) -> Result<SizeLimit, Vec<Mistake>> {
        accept::<Self>(node, key, node.text().and_then(size))
    }

    fn expected() -> String {
        r#"a size, such as "6GiB", "900MiB" or "75%" of the machine's memory"#.to_owned()
    }

    fn schema() -> Value {
        size_schema()
    }
}

/// Free space, or a share of the disk.
pub struct DiskSpace;

impl Grammar for DiskSpace {
    type Value = SizeLimit;

    fn read(node: &Node, key: &str) -> Result<SizeLimit, Vec<Mistake>> {
        accept::<Self>(node, key, node.text().and_then(size))
    }

    fn expected() -> String {
        r#"a size, such as "5GiB", "500MiB" or "2%" of the disk"#.to_owned()
    }

    fn schema() -> Value {
        size_schema()
    }
}

fn size(text: &str) -> Option<SizeLimit> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent = percent.parse().ok().filter(|percent| (1..=100).contains(percent));
        return percent.map(SizeLimit::Percent);
    }
    let in_unit = |(unit, exponent): (&str, u32)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        let is_size = number > 0.0 && number < 1e9;
        // Below 2^60, and above 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        is_size.then_some(SizeLimit::Bytes((number * f64::from(exponent).exp2()) as u64))
    };
    UNITS.into_iter().find_map(in_unit)
}

fn size_schema() -> Value {
    json!({ "type": "string", "pattern": "^([0-9]+(\\.[0-9]+)? *(MiB|GiB)|[0-9]+%)$" })
}

/// The text of a promise line, held without the tag.
pub struct Promise;

impl Grammar for Promise {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let token = node.text().map(promise_token);
        let token =
            token.filter(|token| !token.is_empty() && !token.contains(['<', '>']) && !token.contains(char::is_control));
        accept::<Self>(node, key, token.map(str::to_owned))
    }

    fn expected() -> String {
        r#"a text on one line without `<` and `>`, such as "ALL DONE""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1, "pattern": "^[^\\r\\n]*$" })
    }
}

/// How the user is notified that the run is over or needs an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notify {
    None,
    Bell,
    Osc9,
    /// A command for `sh -c`.
    Command(String),
}

impl Grammar for Notify {
    type Value = Notify;

    fn read(node: &Node, key: &str) -> Result<Notify, Vec<Mistake>> {
        let text = Option::<Prose>::read(node, key)?;
        Ok(match text.as_deref() {
            None | Some("none") => Notify::None,
            Some("bell") => Notify::Bell,
            Some("osc9") => Notify::Osc9,
            Some(command) => Notify::Command(command.to_owned()),
        })
    }

    fn expected() -> String {
        Option::<Prose>::expected()
    }

    fn schema() -> Value {
        Option::<Prose>::schema()
    }
}

/// Tables with the keys of a manifest, by adapter id, separately for each layer. The adapter catalogue merges them.
pub struct AdapterTables;

impl Grammar for AdapterTables {
    type Value = Vec<Node>;

    const FORM: SettingForm = SettingForm::Open;

    fn read(node: &Node, key: &str) -> Result<Vec<Node>, Vec<Mistake>> {
        let Some(tables) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        if let Some((id, other)) = tables.iter().find(|(_, table)| table.fields().is_none()) {
            let reason = format!("`{id}` is {}", other.described());
            return accept_or::<Self>(node, key, Err(Some(reason)));
        }
        Ok(match tables.is_empty() {
            true => Vec::new(),
            false => vec![node.clone()],
        })
    }

    fn expected() -> String {
        r#"an object of objects, such as {"codex": {"command": {"program": "/opt/codex"}}}"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": "object" } })
    }

    fn from_variable(word: &str) -> Value {
        let tables = serde_json::from_str(word).ok().filter(Value::is_object);
        tables.unwrap_or_else(|| Value::from(word))
    }
}
