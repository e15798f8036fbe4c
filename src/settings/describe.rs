//! Declarations for editors and for people: JSON Schema, and a file with every default.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    declaration::{Field, Form},
    record::Record,
};

/// Describes a file with the settings of `R` as JSON Schema.
pub fn schema<R: Record>() -> Value {
    let mut root = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "$schema": { "type": "string" } },
        "description": in_one(R::ABOUT),
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    });
    if let (Some(all), Value::Object(more)) = (root["properties"].as_object_mut(), properties(R::FIELDS)) {
        all.extend(more);
    }
    root
}

/// Describes a group of settings.
pub fn schema_of<R: Record>() -> Value {
    let required: Vec<&str> = R::FIELDS
        .iter()
        .filter(|field| field.default.is_none() && (field.kind.is_required)())
        .map(|field| field.key)
        .collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = properties(R::FIELDS);
    schema
}

fn properties(fields: &[Field]) -> Value {
    let described = |field: &Field| {
        let mut schema = (field.kind.schema)();
        let about = match field.kind.form {
            Form::Leaf | Form::Open => in_one(field.about),
            Form::Section { about, .. } => in_one(about),
        };
        if !about.is_empty() {
            schema["description"] = json!(about);
        }
        if field.default.is_some() {
            schema["default"] = field.default_value();
        }
        (field.key.to_owned(), schema)
    };
    Value::Object(fields.iter().map(described).collect::<Map<_, _>>())
}

/// Joins the lines of a doc comment.
fn in_one(about: &str) -> String {
    let lines: Vec<&str> = about.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

/// Writes a file that says every default, each below what it is for. `head` goes before all, as it is.
pub fn example<R: Record>(head: &str) -> String {
    let mut text = format!("{head}{{\n");
    write_fields(R::FIELDS, 1, &mut text);
    text.push_str("}\n");
    text
}

fn write_fields(fields: &[Field], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (at, field) in fields.iter().enumerate() {
        if at > 0 && depth == 1 {
            text.push('\n');
        }
        let about = match field.kind.form {
            Form::Leaf | Form::Open => field.about,
            Form::Section { about, .. } => about,
        };
        for line in about.lines() {
            writeln!(text, "{}", format!("{indent}//{line}").trim_end()).expect("a string takes every write");
        }
        let key = field.key;
        match field.kind.form {
            Form::Section { fields, .. } => {
                text.push_str(&format!("{indent}\"{key}\": {{\n"));
                write_fields(fields, depth + 1, text);
                text.push_str(&format!("{indent}}},\n"));
            }
            Form::Leaf | Form::Open => {
                let default = field.default.unwrap_or("null");
                text.push_str(&format!("{indent}\"{key}\": {default},\n"));
            }
        }
    }
}
