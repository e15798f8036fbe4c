//! Every text and list of an event is bounded when it is read, unless [`ELSEWHERE`] names it.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::Event;

/// The beginnings or ends of paths of texts and lists that are bounded where they come into being.
const ELSEWHERE: &[&str] = &[
    // These have two forms; a record has the one that `bounded` makes.
    "agent-reported.signal",
    "asked.ask.request",
    "answered.",
    // The machine cuts the statement.
    "agent-stated.",
    // An over-long command, message or answer is refused.
    "background-started.",
    "steering-queued.",
    "comment-written.text",
    "comment-edited.text",
    // The user's settings and rules.
    "run-started.",
    "run-resumed.",
    "rules-added.",
    "rule-forgotten.",
    "asked.ask.offer",
    ".goals",
    ".results",
    ".news",
    // The plan.
    "plan-read.",
    "plan-changed.",
    "plan-edited.",
    ".task",
    // Names and places.
    ".adapter",
    ".model",
    ".name",
    ".runner",
    ".plan",
    ".path",
    ".run",
    ".commit",
    ".head",
    ".tree",
    ".sealedOutput",
    "iteration-started.resume",
    ".lost.directory",
    ".lost.movedTo",
    ".lost.store",
    ".lost.root",
    // ralph's own texts, and lists that other bounds limit.
    "iteration-started.messages",
    "journal-opened.",
    ".notice.data",
];

/// A text above every limit.
const LONG_BYTES: usize = 40 * 1024;
/// The length of a list above every limit.
const MANY: usize = 128;

/// Makes values of a schema.
struct Sampler<'s> {
    defs: &'s Map<String, Value>,
    text: String,
    entries: usize,
}

impl Sampler<'_> {
    /// Values that together have each variant of the schema.
    fn samples(&self, schema: &Value) -> Vec<Value> {
        let mut samples = vec![json!({})];
        if let Some(path) = schema["$ref"].as_str() {
            let name = path.rsplit('/').next().expect("a name");
            samples = self.samples(&self.defs[name]);
        }
        let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        if let Some(variants) = variants.or(schema["enum"].as_array()) {
            let of_schemas = schema["enum"].is_null();
            let all = variants.iter().map(|variant| match of_schemas {
                true => self.samples(variant),
                false => vec![variant.clone()],
            });
            return all.flatten().collect();
        }
        if let Some(only) = schema.get("const") {
            return vec![only.clone()];
        }
        let kinds = schema["type"].as_array();
        let kind = kinds.map_or(&schema["type"], |kinds| &kinds[0]);
        match kind.as_str() {
            Some("string") => vec![self.text.clone().into()],
            Some("integer" | "number") => vec![1.into()],
            Some("boolean") => vec![true.into()],
            Some("null") => vec![Value::Null],
            Some("array") => {
                let items = self.samples(&schema["items"]);
                let length = self.entries.max(items.len());
                vec![items.into_iter().cycle().take(length).collect()]
            }
            Some("object") => self.objects(schema, &samples),
            _ => samples,
        }
    }

    /// Adds the fields of a schema to each of `bases`.
    fn objects(&self, schema: &Value, bases: &[Value]) -> Vec<Value> {
        let none = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&none).iter();
        let mut fields: Vec<_> = fields
            .map(|(name, field)| (name.clone(), self.samples(field)))
            .collect();
        if schema["additionalProperties"].is_object() {
            let values = self.samples(&schema["additionalProperties"]);
            fields.extend((0..self.entries).map(|n| (n.to_string(), values.clone())));
        }
        let most = fields.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        let made = (0..most.max(bases.len())).map(|n| {
            let mut object = bases[n % bases.len()].clone();
            for (name, values) in &fields {
                object[name] = values[n % values.len()].clone();
            }
            object
        });
        made.collect()
    }
}

/// The paths of texts and lists that were read without being cut.
fn whole(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() >= LONG_BYTES => _ = found.insert(path.to_owned()),
        Value::Array(entries) => {
            if entries.len() >= MANY {
                found.insert(path.to_owned());
            }
            entries.iter().for_each(|entry| whole(entry, path, found));
        }
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str);
            let path = [path, kind.unwrap_or_default()].join(if path.is_empty() || kind.is_none() { "" } else { " " });
            if kind.is_none() && fields.len() >= MANY {
                found.insert(path.clone());
            }
            for (name, field) in fields.iter().filter(|(name, _)| *name != "type") {
                match name.parse::<usize>() {
                    Ok(_) => whole(field, &path, found),
                    Err(_) => whole(field, &format!("{path}.{name}"), found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn no_event_is_read_with_a_text_or_list_beyond_its_bound() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<Event>().to_value();
    let defs = schema["$defs"].as_object().expect("definitions");
    let mut found = BTreeSet::new();
    for (text, entries) in [("x".repeat(LONG_BYTES), 1), (String::new(), MANY)] {
        let sampler = Sampler { defs, text, entries };
        for sample in sampler.samples(&schema) {
            let kind = sample["type"].clone();
            let event: Event =
                serde_json::from_str(&sample.to_string()).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let read = serde_json::to_value(&event).expect("JSON");
            assert_eq!(read["type"], kind);
            whole(&read, "", &mut found);
        }
    }
    let is_known = |path: &&String| {
        ELSEWHERE
            .iter()
            .any(|known| path.starts_with(known) || path.ends_with(known))
    };
    let forgotten: Vec<_> = found.iter().filter(|path| !is_known(path)).collect();
    assert!(forgotten.is_empty(), "no bound: {forgotten:#?}");
    let gone = ELSEWHERE.iter().filter(|known| {
        !found
            .iter()
            .any(|path| path.starts_with(**known) || path.ends_with(**known))
    });
    assert_eq!(gone.count(), 0, "a path of `ELSEWHERE` is bounded or gone");
}
