//! The generated page that lists all events of the journal.

use std::{collections::BTreeSet, fmt::Write as _};

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{AgentSignal, Record};
use crate::testing::{assert_committed, assert_committed_part};

const FILTER: &str = "event::schema_tests";

const HEAD: &str = "\
# Events of the journal

`runs/<id>/events.jsonl` below the state directory holds what happened in a run, one record a line. `--format jsonl` prints the same, and
the HTTP API serves it. Each record is

    {\"seq\": 4, \"atMs\": 1795373906000, \"event\": {\"type\": \"paused\", \"by\": \"user\"}}

with its place in the journal and its time in milliseconds since the Unix epoch. Programs have to survive types and fields that they
do not know: newer versions add some. [openapi.json](../openapi.json) describes `Record` and the types that are
named here, under `components.schemas`; [the design of the journal](../design/journal.md) has the reasons.
";

#[test]
fn the_page_of_events_is_the_committed_one() {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<Record>().to_value();
    let mut page = HEAD.to_owned();
    let groups = schema["$defs"]["Event"]["anyOf"].as_array().expect("groups of events");
    let events = groups.iter().flat_map(|group| match group["$ref"].as_str() {
        Some(path) => {
            let name = path.rsplit('/').next().expect("a name");
            let events = schema["$defs"][name]["oneOf"].as_array().expect("a list of events");
            events.iter().collect()
        }
        None => vec![group],
    });
    let mut names = BTreeSet::new();
    for event in events {
        let name = event["properties"]["type"]["const"].as_str().expect("a name");
        assert!(names.insert(name), "two groups have `{name}`");
        write!(page, "\n## `{name}`\n").unwrap();
        if let Some(about) = event["description"].as_str() {
            write!(page, "\n{}\n", on_one_line(about)).unwrap();
        }
        write_fields(event, &mut page);
    }
    assert_committed("docs/reference/events.md", &page, FILTER);
}

/// Signals that only ralph itself produces.
const OF_RALPH: [&str; 5] = [
    "message-answered",
    "permission-requested",
    "permission-withdrawn",
    "unknown",
    "ended",
];
/// Types of fields that are objects or words of their own.
const NAMED: [&str; 6] = [
    "Usage",
    "UsageWindow",
    "WindowKind",
    "FileChange",
    "Problem",
    "SubagentReport",
];

#[test]
fn the_events_of_ralph_jsonl_are_those_of_its_specification() {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let schema = generator.into_root_schema_for::<AgentSignal>().to_value();
    let mut page = "\n| type | fields |\n|---|---|\n".to_owned();
    for signal in schema["oneOf"].as_array().expect("a list of signals") {
        let name = signal["properties"]["type"]["const"].as_str().expect("a name");
        if !OF_RALPH.contains(&name) {
            writeln!(page, "| `{name}` | {} |", fields_in_words(signal)).unwrap();
        }
    }
    page.push_str("\n| value | is |\n|---|---|\n");
    for name in NAMED {
        writeln!(page, "| `{name}` | {} |", value_in_words(&schema["$defs"][name])).unwrap();
    }
    page.push('\n');
    assert_committed_part("docs/spec/ralph-jsonl.md", "events", &page, FILTER);

    let kinds = schema["$defs"]["ProblemKind"]["oneOf"].as_array().expect("kinds");
    let page = include_str!("../../../docs/spec/ralph-jsonl.md");
    for kind in kinds {
        let name = kind["properties"]["kind"]["const"].as_str().expect("a name");
        assert!(
            page.contains(&format!("`{name}`")),
            "no row for problems of the kind {name}"
        );
    }
}

#[test]
fn the_lines_in_the_specification_of_the_journal_are_records() {
    let page = include_str!("../../../docs/spec/journal.md");
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("{\"seq\"")).collect();
    assert_eq!(lines.len(), 3);
    for line in lines {
        let record: Record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}

/// The fields of an object on one line, without its type.
fn fields_in_words(object: &Value) -> String {
    let required = |name: &str| {
        let mut names = object["required"].as_array().into_iter().flatten();
        names.any(|known| known == name)
    };
    let fields = object["properties"].as_object().expect("fields");
    let fields = fields.iter().filter(|(name, _)| *name != "type");
    let fields = fields.map(|(name, field)| {
        let missing = if required(name) { "" } else { ", may be missing" };
        format!("`{name}`: {}{missing}", in_words(field))
    });
    fields.collect::<Vec<_>>().join("; ")
}

/// An object with its fields, or one of several words.
fn value_in_words(value: &Value) -> String {
    let words: Vec<String> = value["enum"]
        .as_array()
        .into_iter()
        .chain(value["oneOf"].as_array())
        .flatten()
        .filter_map(|word| Some(format!("`{}`", word["const"].as_str().or(word.as_str())?)))
        .collect();
    match words.is_empty() {
        true => fields_in_words(value),
        false => words.join(" or "),
    }
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
    page.push('\n');
    for (name, field) in fields {
        let about = on_one_line(field["description"].as_str().unwrap_or_default());
        let kind = match required.contains(&name.as_str()) {
            true => in_words(field),
            false => format!("{}, may be missing", in_words(field)),
        };
        let about = if about.is_empty() { about } else { format!(": {about}") };
        writeln!(page, "- `{name}`, {kind}{about}").unwrap();
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
