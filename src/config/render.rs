//! The settings for people and for editors: `ralph config show`, `schema`, `path`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{keys::KEYS, load::Loaded, sources::Sources};

/// Lists each effective value with its origin, one a line.
pub fn show(loaded: &Loaded) -> String {
    let mut rows = Vec::new();
    collect("", &loaded.values, &mut rows);
    let key_width = width(rows.iter().map(|(key, _)| key));
    let value_width = width(rows.iter().map(|(_, value)| value)).min(40);
    let mut text = String::new();
    for (key, value) in rows {
        let origin = loaded.origins.of(&key);
        writeln!(text, "{key:key_width$}  {value:value_width$}  {origin}").expect("a string takes every write");
    }
    text
}

fn collect(section: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = if section.is_empty() {
                    name.clone()
                } else {
                    format!("{section}.{name}")
                };
                collect(&path, value, rows);
            }
        }
        leaf => rows.push((section.to_owned(), leaf.to_string())),
    }
}

fn width<'t>(texts: impl Iterator<Item = &'t String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Lists the files settings are read from, weakest first, and whether each is there.
pub fn paths(sources: &Sources) -> String {
    let files = [
        ("user", &sources.user),
        ("project", &sources.project),
        ("--config", &sources.extra),
    ];
    let mut text = String::new();
    for (layer, path) in files {
        let Some(path) = path else { continue };
        let there = if path.exists() { "" } else { "  (not there)" };
        writeln!(text, "{layer:8}  {}{there}", path.display()).expect("a string takes every write");
    }
    text
}

/// Describes a configuration file as JSON Schema, for editors.
pub fn schema() -> Value {
    let mut root = object("The configuration of ralph.");
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["properties"]["$schema"] = json!({ "type": "string" });
    for key in KEYS {
        let mut schema = key.kind.schema();
        schema["description"] = json!(key.about);
        schema["default"] = serde_json::from_str(key.default).expect("the defaults in the table are JSON");
        match key.path.split_once('.') {
            None => root["properties"][key.path] = schema,
            Some((section, name)) => {
                let section = &mut root["properties"][section];
                if section.is_null() {
                    *section = object_without_description();
                }
                section["properties"][name] = schema;
            }
        }
    }
    root
}

fn object(description: &str) -> Value {
    let mut schema = object_without_description();
    schema["description"] = json!(description);
    schema
}

fn object_without_description() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": Map::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Flag, load};

    #[test]
    fn show_names_each_value_and_its_origin() {
        let flags = vec![
            Flag::new("--max-time", "limits.maxTime", "2h"),
            Flag::new(
                "--adapters",
                "adapters",
                json!({ "codex": { "command": { "program": "/opt/codex" } } }),
            ),
        ];
        let text = show(
            &load(&Sources {
                flags,
                ..Sources::default()
            })
            .unwrap(),
        );
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for expected in [
            ["adapter", "null", "default"],
            ["limits.maxTime", "\"2h\"", "--max-time"],
            ["limits.maxIterations", "50", "default"],
            ["adapters.codex.command.program", "\"/opt/codex\"", "--adapters"],
        ] {
            assert!(
                lines.iter().any(|line| line == &expected),
                "{expected:?} is not in:\n{text}"
            );
        }
        assert_eq!(lines.len(), KEYS.len());
    }

    #[test]
    fn paths_tell_whether_a_file_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let (user, project) = (
            directory.path().join("user.json"),
            directory.path().join("project.json"),
        );
        std::fs::write(&user, "{}").unwrap();
        let sources = Sources {
            user: Some(user.clone()),
            project: Some(project.clone()),
            ..Sources::default()
        };
        assert_eq!(
            paths(&sources),
            format!(
                "user      {}\nproject   {}  (not there)\n",
                user.display(),
                project.display()
            )
        );
    }

    #[test]
    fn the_schema_has_every_setting_with_its_default() {
        let schema = schema();
        for key in KEYS {
            let place = key
                .path
                .split('.')
                .fold(&schema, |schema, name| &schema["properties"][name]);
            assert_eq!(
                place["default"].to_string(),
                serde_json::from_str::<Value>(key.default).unwrap().to_string()
            );
            assert_eq!(place["description"], key.about);
        }
        assert_eq!(schema["properties"]["limits"]["additionalProperties"], false);
    }
}
