//! Value syntaxes that only the configuration uses.

use std::str::FromStr;

use ralph_agent::opencode::ServerUrl;
use ralph_core::event::SizeLimit;
use ralph_plan::claims::promise_token;
use ralph_policy::{
    grammars,
    settings::{Grammar, Mistake, Node, Prose, SettingForm, SingleLine, accept, accept_or, json_if},
};
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

grammars! {
    /// The address of the page, which ralph extends to form links.
    pub PageAddress: String, r#"the address of a page, such as "https://ralph.example.org""#, SingleLine::schema(),
        |node| node.text().filter(|text| is_page(text)).map(str::to_owned);
    /// The target of telemetry: the address of a collector, or a file.
    pub Telemetry: String,
        r#"the address of a collector, such as "http://127.0.0.1:4318", or a file, such as "~/spans.jsonl""#,
        SingleLine::schema(), |node| node.text().filter(|text| is_target(text)).map(str::to_owned);
    /// An amount of memory, or a share of that of the machine.
    pub MemorySize: SizeLimit, r#"a size, such as "6GiB", "900MiB" or "75%" of the machine's memory"#, size_schema(),
        |node| node.text().and_then(size);
    /// Free space, or a share of the disk.
    pub DiskSpace: SizeLimit, r#"a size, such as "5GiB", "500MiB" or "2%" of the disk"#, size_schema(),
        |node| node.text().and_then(size);
    /// The text of a promise line, held without the tag.
    pub Promise: String, r#"a text on one line without `<` and `>`, such as "ALL DONE""#,
        json!({ "type": "string", "minLength": 1, "pattern": "^[^\\r\\n]*$" }),
        |node| {
            let token = node.text().map(promise_token).filter(|token| !token.is_empty());
            token.filter(|token| !token.contains(['<', '>']) && !token.contains(char::is_control)).map(str::to_owned)
        };
}

fn is_page(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
        && !text.contains(|character: char| matches!(character, '#' | '?') || character.is_whitespace())
}

fn is_target(text: &str) -> bool {
    let is_known = match text.split_once("://") {
        Some(("http" | "https", host)) => !host.is_empty() && !host.starts_with('/'),
        Some(_) => false,
        None => text.starts_with('/') || text.starts_with("~/"),
    };
    is_known && !text.contains(char::is_control)
}

/// The units of sizes, with their binary exponents.
const UNITS: [(&str, u32); 2] = [("MiB", 20), ("GiB", 30)];

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
        json_if(word, Value::is_object)
    }
}
