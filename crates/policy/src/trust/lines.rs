//! The content of a file as lines: each setting with its value, each line of a prompt.

use std::path::Path;

use crate::settings::{Node, NodeShape, OriginFinder, from_json, from_toml};

/// The kind of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnFileKind {
    Settings,
    /// An adapter, an engine or a test runner: it starts programs, or decides what a result is worth.
    Commands,
    Prompt,
}

/// Directories of such files.
const COMMANDS: [&str; 3] = [".ralph/adapters/", ".ralph/engines/", ".ralph/runners/"];

impl OwnFileKind {
    pub(super) fn from_name(name: &str) -> OwnFileKind {
        match name {
            ".ralph/config.json" => OwnFileKind::Settings,
            name if COMMANDS.iter().any(|directory| name.starts_with(directory)) => OwnFileKind::Commands,
            _ => OwnFileKind::Prompt,
        }
    }
}

/// Settings that neither start a program nor widen an agent's rights nor lead it elsewhere. All others may do so.
pub(crate) const HARMLESS: [&str; 13] = [
    "model",
    "serverTimeout",
    "channel",
    "session",
    "limits",
    "backoff",
    "goalsParallel",
    "goalsWhen",
    "completion",
    "breaker",
    "keep",
    "tools",
    "$schema",
];

/// Whether a file of that kind has no effect at all.
pub(super) fn says_nothing(kind: OwnFileKind, text: &str) -> bool {
    match (kind, read(kind, text)) {
        (OwnFileKind::Settings | OwnFileKind::Commands, Ok(root)) => root.is_none_or(|root| {
            let fields = root.fields();
            fields.is_some_and(|fields| fields.iter().all(|(name, _)| name == "$schema"))
        }),
        (OwnFileKind::Settings | OwnFileKind::Commands, Err(_)) | (OwnFileKind::Prompt, _) => false,
    }
}

/// Returns the lines of a text, and whether each matters.
pub(super) fn lines(kind: OwnFileKind, text: &str) -> Vec<(String, bool)> {
    if kind == OwnFileKind::Prompt {
        let said = text.lines().filter(|line| !line.trim().is_empty());
        return said.map(|line| (line.to_owned(), true)).collect();
    }
    let mut lines = Vec::new();
    match read(kind, text) {
        Ok(root) => {
            if let Some(root) = root {
                collect("", &root, &mut lines);
            }
        }
        Err(why) => lines.push(why),
    }
    let matters = |line: &String| {
        let end = line.find(['.', '[', ' ']).unwrap_or(line.len());
        kind == OwnFileKind::Commands || !HARMLESS.contains(&&line[..end])
    };
    lines
        .into_iter()
        .map(|line| {
            let matters = matters(&line);
            (line, matters)
        })
        .collect()
}

fn read(kind: OwnFileKind, text: &str) -> Result<Option<Node>, String> {
    let path = Path::new("it");
    match kind {
        OwnFileKind::Settings => from_json(path, text)
            .map(|(root, _)| root)
            .map_err(|mistake| mistake.to_string()),
        OwnFileKind::Commands => from_toml(path, text, OriginFinder::file(path, text))
            .map(Some)
            .map_err(|mistake| mistake.to_string()),
        OwnFileKind::Prompt => Ok(None),
    }
}

fn collect(key: &str, node: &Node, lines: &mut Vec<String>) {
    match &node.shape {
        NodeShape::Table(fields) if !fields.is_empty() => {
            for (name, node) in fields {
                collect(&within(key, name), node, lines);
            }
        }
        NodeShape::Table(_) if key.is_empty() => {}
        NodeShape::List(items) if items.iter().any(|item| item.fields().is_some()) => {
            for (index, item) in items.iter().enumerate() {
                collect(&format!("{key}[{index}]"), item, lines);
            }
        }
        NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Table(_) | NodeShape::Foreign(_) => {
            let value = node.value();
            lines.push(match key {
                "" => value.to_string(),
                key => format!("{key} = {value}"),
            });
        }
    }
}

/// Returns the path of a field in `key`, with the name in quotes if it could be misread.
fn within(key: &str, name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$');
    let name = match !name.is_empty() && name.bytes().all(plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    };
    match key {
        "" => name,
        key => format!("{key}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_line_with_the_whole_way_to_it() {
        let text = r#"{ "adapters": { "a.b": { "command": { "program": "x", "args": ["-c", "y\nz"] } }, "none": {} },
                       "goals": [ { "name": "t", "target": 5 } ], "fallback": ["claude"], "model": null }"#;
        let lines: Vec<String> = lines(OwnFileKind::Settings, text)
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(
            lines,
            [
                r#"adapters."a.b".command.program = "x""#,
                r#"adapters."a.b".command.args = ["-c","y\nz"]"#,
                "adapters.none = {}",
                r#"goals[0].name = "t""#,
                "goals[0].target = 5",
                r#"fallback = ["claude"]"#,
                "model = null",
            ]
        );
        let lines = super::lines(OwnFileKind::Commands, "id = \"x\"\n[command]\nprogram = \"./y\"\n");
        assert_eq!(
            lines,
            [
                ("id = \"x\"".to_owned(), true),
                ("command.program = \"./y\"".to_owned(), true)
            ]
        );
    }
}
