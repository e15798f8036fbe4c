//! Generates the JSON Schema of declarations, and a file with every default.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    declaration::{Field, SettingForm},
    record::SettingsRecord,
};

/// Generates the JSON Schema of a file with the settings of `R`.
pub fn schema<R: SettingsRecord>() -> Value {
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

/// Generates the JSON Schema of a group of settings.
pub fn group_schema<R: SettingsRecord>() -> Value {
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
            SettingForm::Leaf | SettingForm::Open => in_one(field.about),
            SettingForm::Section { about, .. } => in_one(about),
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

/// Generates a file with every default. Descriptions are in the schema, which the file refers to by `schema`.
pub fn example<R: SettingsRecord>(schema: &str) -> String {
    let mut text = format!("{{\n  \"$schema\": \"{schema}\",\n\n");
    write_fields(R::FIELDS, 1, &mut text);
    text.push_str("}\n");
    text
}

fn write_fields(fields: &[Field], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (at, field) in fields.iter().enumerate() {
        let key = field.key;
        let comma = if at + 1 < fields.len() { "," } else { "" };
        match field.kind.form {
            SettingForm::Section { fields, .. } => {
                writeln!(text, "{indent}\"{key}\": {{").expect("a string takes every write");
                write_fields(fields, depth + 1, text);
                writeln!(text, "{indent}}}{comma}").expect("a string takes every write");
            }
            SettingForm::Leaf | SettingForm::Open => {
                let default = field.default.unwrap_or("null");
                writeln!(text, "{indent}\"{key}\": {default}{comma}").expect("a string takes every write");
            }
        }
    }
}
