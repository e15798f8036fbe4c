//! Tool calls in a general form, mapped to the tools that the agent offers.

use serde_json::{Value, json};

/// A tool call that the model wants, independent of any agent.
#[derive(Clone)]
pub enum ToolUse {
    Shell { command: String },
    Write { path: String, content: String },
    Read { path: String },
    Edit { path: String, old: String, new: String },
    Raw { name: String, arguments: CallArguments },
}

/// A tool call as it is transmitted.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentToolCall {
    pub name: String,
    pub arguments: CallArguments,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallArguments {
    Json(Value),
    /// Free text, which codex uses for patches.
    Text(String),
}

impl ToolUse {
    /// Finds an offered tool that can do this; the shell can do all of it.
    pub fn call(&self, offered: &[String]) -> AgentToolCall {
        match self {
            ToolUse::Shell { command } => shell(command, offered),
            ToolUse::Write { path, content } => write(path, content, offered),
            ToolUse::Read { path } => read(path, offered),
            ToolUse::Edit { path, old, new } => edit(path, old, new, offered),
            ToolUse::Raw { name, arguments } => AgentToolCall {
                name: name.clone(),
                arguments: arguments.clone(),
            },
        }
    }
}

fn shell(command: &str, offered: &[String]) -> AgentToolCall {
    let described = json!({ "command": command, "description": "run a command" });
    first_offered(
        offered,
        [
            ("exec_command", json!({ "cmd": command })),
            ("shell_command", json!({ "command": command })),
            ("shell", json!({ "command": ["bash", "-lc", command] })),
            ("Bash", described.clone()),
            ("run_shell_command", described.clone()),
            ("bash", described),
            ("run_commands", json!({ "commands": [command] })),
            ("execute_bash", json!({ "command": command })),
        ],
    )
    .unwrap_or_else(|| named("shell", json!({ "command": command })))
}

fn write(path: &str, content: &str, offered: &[String]) -> AgentToolCall {
    first_offered(
        offered,
        [
            ("Write", json!({ "file_path": path, "content": content })),
            ("write_file", json!({ "file_path": path, "content": content })),
            ("write", json!({ "filePath": path, "content": content })),
        ],
    )
    .unwrap_or_else(|| {
        let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
        patch(&format!("*** Add File: {path}\n{lines}"), offered)
    })
}

fn read(path: &str, offered: &[String]) -> AgentToolCall {
    first_offered(
        offered,
        [
            ("Read", json!({ "file_path": path })),
            ("read_file", json!({ "file_path": path })),
            ("read", json!({ "filePath": path })),
        ],
    )
    .unwrap_or_else(|| shell(&format!("cat '{path}'"), offered))
}

fn edit(path: &str, old: &str, new: &str, offered: &[String]) -> AgentToolCall {
    let replacement = json!({ "file_path": path, "old_string": old, "new_string": new, "instruction": "change it" });
    first_offered(
        offered,
        [
            (
                "Edit",
                json!({ "file_path": path, "old_string": old, "new_string": new }),
            ),
            ("replace", replacement),
            ("edit", json!({ "filePath": path, "oldString": old, "newString": new })),
        ],
    )
    .unwrap_or_else(|| patch(&format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n"), offered))
}

/// Applies a patch in codex: with its patch tool if offered, otherwise with a command that its shell understands.
fn patch(change: &str, offered: &[String]) -> AgentToolCall {
    let patch = format!("*** Begin Patch\n{change}*** End Patch\n");
    if offered.iter().any(|name| name == "apply_patch") {
        return AgentToolCall {
            name: "apply_patch".to_owned(),
            arguments: CallArguments::Text(patch),
        };
    }
    shell(&format!("apply_patch <<'PATCH'\n{patch}PATCH"), offered)
}

fn first_offered<const N: usize>(offered: &[String], known: [(&str, Value); N]) -> Option<AgentToolCall> {
    let (name, arguments) = known
        .into_iter()
        .find(|(name, _)| offered.iter().any(|offer| offer == name))?;
    Some(named(name, arguments))
}

fn named(name: &str, arguments: Value) -> AgentToolCall {
    AgentToolCall {
        name: name.to_owned(),
        arguments: CallArguments::Json(arguments),
    }
}
