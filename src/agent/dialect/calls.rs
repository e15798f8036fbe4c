//! Tool calls under way: what their ends do not repeat.

use std::collections::HashMap;

use serde_json::Value;

use crate::event::clip;

use super::OUTPUT_CAP_BYTES;

/// Most calls that are remembered; what an agent leaves open beyond that is forgotten.
const CALLS_CAP: usize = 1024;

/// The calls that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<String, Call>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Call {
    pub(super) tool: String,
    /// The file it is about, if it is about one.
    pub(super) path: Option<String>,
    started_ms: Option<u64>,
}

impl Calls {
    pub(super) fn begin(&mut self, id: &str, tool: &str, path: Option<&str>, started_ms: u64) {
        if self.0.len() < CALLS_CAP {
            let call = Call {
                tool: tool.to_owned(),
                path: path.map(str::to_owned),
                started_ms: Some(started_ms),
            };
            self.0.insert(id.to_owned(), call);
        }
    }

    /// The call that ends; one whose beginning was not reported has no tool.
    pub(super) fn end(&mut self, id: &str) -> Call {
        self.0.remove(id).unwrap_or_default()
    }
}

impl Call {
    /// How long it took until `ended_ms`. A clock that was set back makes it nothing.
    pub(super) fn duration_ms(&self, ended_ms: u64) -> Option<u64> {
        Some(ended_ms.saturating_sub(self.started_ms?))
    }
}

/// What a person has to see of a tool's arguments: the command, the path, the question.
pub(in crate::agent) fn short_input(input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let short = if let Some(command) = text("command") {
        command.to_owned()
    } else if let Some(pattern) = text("pattern") {
        match path_in(input) {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.to_owned(),
        }
    } else if let Some(path) = path_in(input) {
        path.to_owned()
    } else if let Some(said) = ["query", "url", "prompt", "description"].into_iter().find_map(text) {
        said.to_owned()
    } else if let Some(todos) = input.get("todos").and_then(Value::as_array) {
        todos.iter().map(todo).collect::<Vec<_>>().join("\n")
    } else {
        match input {
            Value::Null => String::new(),
            Value::Object(fields) if fields.is_empty() => String::new(),
            input => input.to_string(),
        }
    };
    clip(&short, OUTPUT_CAP_BYTES)
}

/// The file or directory that a tool is to work on.
pub(in crate::agent) fn path_in(input: &Value) -> Option<&str> {
    [
        "file_path",
        "filePath",
        "absolute_path",
        "notebook_path",
        "dir_path",
        "path",
    ]
    .iter()
    .find_map(|key| input.get(key)?.as_str())
}

fn todo(todo: &Value) -> String {
    let text = |key: &str| todo.get(key).and_then(Value::as_str).unwrap_or_default();
    let mark = match text("status") {
        "completed" => "[x]",
        "in_progress" => "[>]",
        _ => "[ ]",
    };
    format!("{mark} {}", text("content"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_short_form_of_arguments_is_what_they_are_about() {
        for (input, short) in [
            (json!({"command": "make test", "description": "x"}), "make test"),
            (json!({"file_path": "/a.rs", "content": "long"}), "/a.rs"),
            (json!({"pattern": "fn main", "path": "src"}), "fn main in src"),
            (json!({"query": "how", "limit": 3}), "how"),
            (
                json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]}),
                "[x] a\n[ ] b",
            ),
            (json!({"depth": 3}), r#"{"depth":3}"#),
            (json!({}), ""),
            (Value::Null, ""),
        ] {
            assert_eq!(short_input(&input), short, "{input}");
        }
    }

    #[test]
    fn a_call_knows_its_tool_and_how_long_it_took() {
        let mut calls = Calls::default();
        calls.begin("1", "shell", None, 1000);
        let call = calls.end("1");
        assert_eq!((call.tool.as_str(), call.duration_ms(3500)), ("shell", Some(2500)));
        assert_eq!(call.duration_ms(500), Some(0), "the clock was set back");
        assert_eq!(calls.end("1"), Call::default(), "it ends once");
        assert_eq!(calls.end("1").duration_ms(1), None);
    }
}
