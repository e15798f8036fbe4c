//! Arguments of tool calls as texts for people.

use ralph_core::event::clip;
use serde_json::Value;

use super::OUTPUT_CAP_BYTES;

/// The argument that tells a user what a tool works on: the command, the path, the question.
pub(crate) fn short_input(input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let each = |key: &str, of: fn(&Value) -> Option<&str>| {
        let items: Option<Vec<&str>> = input.get(key)?.as_array()?.iter().map(of).collect();
        items.filter(|items| !items.is_empty()).map(|items| items.join("\n"))
    };
    let short = if let Some(several) = each("commands", Value::as_str)
        .or_else(|| each("queries", Value::as_str))
        .or_else(|| each("files", path_in))
    {
        several
    } else if let Some(command) = text("command") {
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

/// Most further arguments that are shown, and most bytes of a name or a value.
const OPTIONS: usize = 8;
const OPTION_BYTES: usize = 60;

/// The text with which a tool use is shown: the main argument, then the short options: `src/a.rs offset=10 limit=40`.
///
/// Behind a command the options follow a `#`, so that they are not read as a part of it. Arguments with the content of
/// a change are left out: the change is shown as a diff.
pub(crate) fn tool_input(input: &Value) -> String {
    let short = short_input(input);
    let Some(fields) = input.as_object().filter(|_| is_about_something(input)) else {
        return short;
    };
    let option = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Bool(true) | Value::Number(_) => value.to_string(),
            Value::String(text) if text.is_empty() || text.contains(char::is_whitespace) => value.to_string(),
            Value::String(text) => text.clone(),
            // Options that are off are left out; some agents write out every default.
            Value::Bool(false) | Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let is_shown = ABOUT.contains(&name.as_str()) || UNSAID.contains(&name.as_str());
        let fits = value.len() <= OPTION_BYTES && name.len() <= OPTION_BYTES && !value.contains('\n');
        (fits && (!is_shown || is_beside(name, input))).then(|| format!("{name}={value}"))
    };
    let options: Vec<String> = fields.iter().filter_map(option).take(OPTIONS).collect();
    if options.is_empty() {
        return short;
    }
    let gap = match (input.get("command").is_some(), short.contains('\n')) {
        (true, false) => "  # ",
        (true, true) => "\n# ",
        (false, _) => " ",
    };
    clip(&format!("{short}{gap}{}", options.join(" ")), OUTPUT_CAP_BYTES)
}

/// Arguments that name the subject of a tool use.
const ABOUT: &[&str] = &[
    "command",
    "pattern",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "dir_path",
    "path",
    "query",
    "url",
    "prompt",
    "description",
    "todos",
];
/// Arguments that are never shown as options: the content of a change, explanations, values that are the same for each
/// use.
const UNSAID: &[&str] = &[
    "cwd",
    "content",
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "old_str",
    "new_str",
    "old_text",
    "new_text",
    "new_source",
    "file_text",
    "instruction",
    "explanation",
];

/// Whether the arguments include one of [`ABOUT`]. If not, all arguments are shown as JSON.
fn is_about_something(input: &Value) -> bool {
    ABOUT.iter().any(|name| input[*name].is_string())
}

/// Whether an argument from [`ABOUT`] is only an option here: the directory of a command.
fn is_beside(name: &str, input: &Value) -> bool {
    name == "dir_path" && input["command"].is_string()
}

/// The file or directory that a tool works on.
pub(crate) fn path_in(input: &Value) -> Option<&str> {
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
            (json!({"commands": ["ls", "make test"]}), "ls\nmake test"),
            (json!({"files": [{"path": "/a.rs"}, {"path": "/b.rs"}]}), "/a.rs\n/b.rs"),
            (json!({"commands": []}), r#"{"commands":[]}"#),
            (json!({"depth": 3}), r#"{"depth":3}"#),
            (json!({}), ""),
            (Value::Null, ""),
        ] {
            assert_eq!(short_input(&input), short, "{input}");
        }
    }

    #[test]
    fn how_a_tool_is_used_stands_behind_what_it_is_about() {
        for (input, shown) in [
            (
                json!({"file_path": "src/a.rs", "offset": 10, "limit": 40}),
                "src/a.rs offset=10 limit=40",
            ),
            (
                json!({"command": "make", "timeout": 600_000, "description": "Build"}),
                "make  # timeout=600000",
            ),
            (
                json!({"command": "a\nb", "run_in_background": true}),
                "a\nb\n# run_in_background=true",
            ),
            (json!({"command": "ls", "dir_path": "src"}), "ls  # dir_path=src"),
            (
                json!({"pattern": "fn main", "path": "src", "glob": "*.rs", "-i": true, "type": null}),
                "fn main in src glob=*.rs -i=true",
            ),
            (
                json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": false, "cwd": "/p"}),
                "/a",
            ),
            (json!({"file_path": "/a", "content": "short"}), "/a"),
            (
                json!({"url": "http://h/", "format": "two words", "x": "y".repeat(61)}),
                "http://h/ format=\"two words\"",
            ),
            (
                json!({"todos": [{"content": "a", "status": "pending"}], "merge": true}),
                "[ ] a",
            ),
            (json!({"depth": 3}), r#"{"depth":3}"#),
            (Value::Null, ""),
        ] {
            assert_eq!(tool_input(&input), shown, "{input}");
        }
        let mut many: Value = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
        many["path"] = json!("p");
        assert_eq!(tool_input(&many).split(' ').count(), 1 + OPTIONS);
    }
}
