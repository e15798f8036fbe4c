//! The generated JSON schema of the journal's records, and the generated page that lists all events.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Record;
use crate::testing::assert_committed;

const FILTER: &str = "event::schema_tests";

const HEAD: &str = "\
# Events of the journal

`runs/<id>/events.jsonl` below the state directory holds what happened in a run, one record a line. `--format jsonl` prints the same, and
the HTTP API serves it. Each record is

    {\"seq\": 4, \"atMs\": 1795373906000, \"event\": {\"type\": \"paused\", \"by\": \"user\"}}

with its place in the journal and its time in milliseconds since the Unix epoch. Programs have to survive types and fields that they
do not know: newer versions add some. [events.schema.json](../events.schema.json) describes the types that are named here;
[the design of the journal](../design/journal.md) has the reasons.
";

#[test]
fn the_page_of_events_with_its_schema_is_the_committed_one() {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<Record>().to_value();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    assert_committed("docs/events.schema.json", &text, FILTER);

    let mut page = HEAD.to_owned();
    for event in schema["$defs"]["Event"]["oneOf"].as_array().expect("a list of events") {
        let name = event["properties"]["type"]["const"].as_str().expect("a name");
        write!(page, "\n## `{name}`\n").unwrap();
        if let Some(about) = event["description"].as_str() {
            write!(page, "\n{}\n", on_one_line(about)).unwrap();
        }
        write_fields(event, &mut page);
    }
    assert_committed("docs/reference/events.md", &page, FILTER);
}

fn write_fields(event: &Value, page: &mut String) {
    let fields = event["properties"].as_object().expect("fields");
    let required: Vec<&str> = event["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields: Vec<_> = fields.iter().filter(|(name, _)| *name != "type").collect();
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | type | |\n|---|---|---|\n");
    for (name, field) in fields {
        let about = on_one_line(field["description"].as_str().unwrap_or_default());
        let kind = match required.contains(&name.as_str()) {
            true => in_words(field),
            false => format!("{}, may be missing", in_words(field)),
        };
        writeln!(page, "| `{name}` | {kind} | {about} |").unwrap();
    }
}

/// The type of a field, in words.
fn in_words(field: &Value) -> String {
    let named = field["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    if let Some(name) = named {
        return format!("`{name}`");
    }
    if let Some(any) = field["anyOf"].as_array() {
        return any.iter().map(in_words).collect::<Vec<_>>().join(" or ");
    }
    if let Some(kinds) = field["type"].as_array() {
        let kinds = kinds.iter().filter_map(Value::as_str).map(|kind| one(kind, field));
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    field["type"]
        .as_str()
        .map_or_else(|| "anything".to_owned(), |kind| one(kind, field))
}

fn one(kind: &str, field: &Value) -> String {
    match kind {
        "array" => format!("list of {}", in_words(&field["items"])),
        other => other.to_owned(),
    }
}

fn on_one_line(about: &str) -> String {
    about
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
