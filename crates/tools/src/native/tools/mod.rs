//! The tools of the model: reading and changing files, running commands, keeping a to-do list.
//!
//! A use is prepared first: its arguments are parsed, and a change is computed, since permission is requested for that.
//! Preparation has no side effects. Errors are results that the model reads.

mod arguments;
mod files;
mod list;
mod outcome;
mod search;
mod shell;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{history::ARGUMENT_LEFT_OUT, message::Offer, servers::ServerUse};

use arguments::Arguments;
pub(super) use files::Change;
pub(super) use list::Entry;
pub(super) use outcome::Outcome;
use outcome::{RESULT_CAP_BYTES, shown};
pub(super) use shell::{Group, Shell};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Read,
    ListDir,
    Grep,
    Glob,
    Edit,
    Write,
    Shell,
    Todo,
}

/// A tool use that is ready to be carried out.
#[derive(Debug)]
pub(super) struct Use {
    /// The kind of the tool in ACP.
    pub(super) kind: &'static str,
    /// A description on one line.
    pub(super) title: String,
    /// The parsed arguments.
    pub(super) input: Value,
    /// The files that it concerns.
    pub(super) paths: Vec<PathBuf>,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    Read(files::Read),
    List(PathBuf),
    Grep(search::Grep),
    Glob(search::Glob),
    Change(Change),
    Shell(Shell),
    Todo(Vec<Entry>),
    /// A tool of an MCP server.
    Served(ServerUse),
}

impl Tool {
    const ALL: [Tool; 8] = [
        Tool::Read,
        Tool::ListDir,
        Tool::Grep,
        Tool::Glob,
        Tool::Edit,
        Tool::Write,
        Tool::Shell,
        Tool::Todo,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Tool::Read => "read",
            Tool::ListDir => "list_dir",
            Tool::Grep => "grep",
            Tool::Glob => "glob",
            Tool::Edit => "edit",
            Tool::Write => "write",
            Tool::Shell => "shell",
            Tool::Todo => "todo",
        }
    }

    fn named(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The kind of the tool in ACP.
    fn kind(self) -> &'static str {
        match self {
            Tool::Read => "read",
            Tool::ListDir | Tool::Grep | Tool::Glob => "search",
            Tool::Edit | Tool::Write => "edit",
            Tool::Shell => "execute",
            Tool::Todo => "think",
        }
    }

    fn is_read_only(self) -> bool {
        match self {
            Tool::Read | Tool::ListDir | Tool::Grep | Tool::Glob => true,
            Tool::Edit | Tool::Write | Tool::Shell | Tool::Todo => false,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Tool::Read => {
                "Reads a text file. Lines are numbered, so leave the numbers out of what you edit. Long files come in parts: `offset` is the first line, `limit` how many."
            }
            Tool::ListDir => "Lists a directory: names, those of directories with a slash at the end.",
            Tool::Grep => {
                "Searches files for a regular expression; answers with path:line: text. Files that git ignores are left out."
            }
            Tool::Glob => "Finds files by a pattern such as `src/**/*.rs`. Files that git ignores are left out.",
            Tool::Edit => {
                "Replaces an exact text in a file by another. The old text has to occur once, so take enough of what is around it; with `all` every occurrence is replaced."
            }
            Tool::Write => "Writes a whole file, new or not. To change a part of a file use `edit`.",
            Tool::Shell => {
                "Runs a command with a shell in the project and answers with its output and exit code. It reads nothing, so start no editor or pager. What runs longer than `timeout` seconds is ended; send what is to go on into the background with its output in a file."
            }
            Tool::Todo => {
                "Keeps the list of what is to do, for work of several steps. Each use replaces the whole list."
            }
        }
    }

    /// The names of its arguments.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Tool::Read => &["path", "offset", "limit"],
            Tool::ListDir => &["path"],
            Tool::Grep => &["pattern", "path", "glob", "ignore_case"],
            Tool::Glob => &["pattern", "path"],
            Tool::Edit => &["path", "old", "new", "all"],
            Tool::Write => &["path", "content"],
            Tool::Shell => &["command", "timeout", "description"],
            Tool::Todo => &["todos"],
        }
    }

    fn schema(self) -> Value {
        let text = |description: &str| json!({"type": "string", "description": description});
        let number = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
        let path = || text("relative to the project, or absolute");
        let (properties, required) = match self {
            Tool::Read => (
                json!({"path": path(), "offset": number("the first line, from 1"), "limit": number("how many lines")}),
                json!(["path"]),
            ),
            Tool::ListDir => (json!({"path": path()}), json!([])),
            Tool::Grep => (
                json!({
                    "pattern": text("a regular expression"),
                    "path": text("a file or directory to search; the project if it is missing"),
                    "glob": text("only files like this, such as *.rs"),
                    "ignore_case": {"type": "boolean"},
                }),
                json!(["pattern"]),
            ),
            Tool::Glob => (
                json!({"pattern": text("such as **/*.toml"), "path": text("the directory to look in")}),
                json!(["pattern"]),
            ),
            Tool::Edit => (
                json!({
                    "path": path(),
                    "old": text("the text to replace, exactly as it is in the file"),
                    "new": text("the text in its place"),
                    "all": {"type": "boolean", "description": "replace every occurrence"},
                }),
                json!(["path", "old", "new"]),
            ),
            Tool::Write => (
                json!({"path": path(), "content": text("the whole content")}),
                json!(["path", "content"]),
            ),
            Tool::Shell => (
                json!({
                    "command": text("the command"),
                    "timeout": number("seconds it may take; 120 if it is missing, 1800 at most"),
                    "description": text("what it is for, in a few words"),
                }),
                json!(["command"]),
            ),
            Tool::Todo => {
                let status = json!({"type": "string", "enum": ["pending", "in_progress", "completed"]});
                let entry = json!({
                    "type": "object",
                    "properties": {"content": {"type": "string"}, "status": status},
                    "required": ["content", "status"],
                });
                (json!({"todos": {"type": "array", "items": entry}}), json!(["todos"]))
            }
        };
        json!({"type": "object", "properties": properties, "required": required})
    }
}

/// Whether uses of a tool may run in parallel with others.
pub(super) fn is_read_only(name: &str) -> bool {
    Tool::named(name).is_some_and(Tool::is_read_only)
}

/// Whether a tool changes a file.
pub(super) fn is_edit(name: &str) -> bool {
    matches!(Tool::named(name), Some(Tool::Edit | Tool::Write))
}

/// Whether permission is requested before the preceding calls have been carried out.
pub(super) fn is_asked_early(name: &str) -> bool {
    Tool::named(name) == Some(Tool::Shell)
}

/// The descriptions of the tools for a model.
pub(super) fn offers() -> Vec<Offer> {
    let offer = |tool: Tool| Offer {
        name: tool.name().into(),
        description: tool.description().into(),
        schema: tool.schema(),
    };
    Tool::ALL.into_iter().map(offer).collect()
}

/// Prepares a call for `project`.
///
/// # Errors
/// The reason why the call is invalid, as a message for the model.
pub(super) fn prepare(name: &str, written: &str, project: &Path) -> Result<Use, String> {
    let Some(tool) = Tool::named(name) else {
        let names: Vec<_> = Tool::ALL.into_iter().map(Tool::name).collect();
        return Err(format!("there is no tool `{name}`; the tools are {}", names.join(", ")));
    };
    let arguments = Arguments::read(tool.name(), written)?;
    arguments.refuse_unknown(tool.arguments())?;
    let usual = Use {
        kind: tool.kind(),
        title: String::new(),
        input: Value::Null,
        paths: Vec::new(),
        action: Action::Todo(Vec::new()),
    };
    let of_file = |path: PathBuf, input: Value, action: Action| Use {
        title: shown(&path, project),
        paths: vec![path],
        input,
        action,
        ..usual
    };
    let place = |at: &str| project.join(at.strip_prefix("file://").unwrap_or(at));
    match tool {
        Tool::Read => {
            let path = place(arguments.text("path")?);
            let (offset, limit) = (arguments.number("offset")?, arguments.number("limit")?);
            let input = json!({"path": shown(&path, project), "offset": offset, "limit": limit});
            let read = files::Read::new(path.clone(), offset, limit);
            Ok(of_file(path, without_nulls(input), Action::Read(read)))
        }
        Tool::ListDir => {
            let path = place(arguments.optional("path")?.unwrap_or("."));
            let input = json!({"path": shown(&path, project)});
            Ok(of_file(path.clone(), input, Action::List(path)))
        }
        Tool::Grep => {
            let pattern = arguments.text("pattern")?;
            let given = arguments.optional("path")?;
            let path = place(given.unwrap_or("."));
            let glob = arguments.optional("glob")?;
            let input = json!({"pattern": pattern, "path": given.map(|_| shown(&path, project)), "glob": glob});
            let grep = search::Grep::new(project, &path, pattern, glob, arguments.switch("ignore_case")?)?;
            Ok(Use {
                title: pattern.to_owned(),
                ..of_file(path, without_nulls(input), Action::Grep(grep))
            })
        }
        Tool::Glob => {
            let pattern = arguments.text("pattern")?;
            let given = arguments.optional("path")?;
            let path = place(given.unwrap_or("."));
            let input = json!({"pattern": pattern, "path": given.map(|_| shown(&path, project))});
            let glob = search::Glob::new(project, &path, pattern)?;
            Ok(Use {
                title: pattern.to_owned(),
                ..of_file(path, without_nulls(input), Action::Glob(glob))
            })
        }
        Tool::Edit => {
            let path = place(arguments.text("path")?);
            let (old, new) = (arguments.content("old")?, for_a_file(&arguments, "new")?);
            let change = Change::edit(&path, old, new, arguments.switch("all")?)?;
            Ok(of_file(
                path.clone(),
                json!({"path": shown(&path, project)}),
                Action::Change(change),
            ))
        }
        Tool::Write => {
            let path = place(arguments.text("path")?);
            let change = Change::write(&path, for_a_file(&arguments, "content")?)?;
            Ok(of_file(
                path.clone(),
                json!({"path": shown(&path, project)}),
                Action::Change(change),
            ))
        }
        Tool::Shell => {
            let command = arguments.command()?;
            let description = arguments.optional("description")?;
            let shell = Shell::new(command.clone(), arguments.number("timeout")?);
            Ok(Use {
                title: command.clone(),
                input: without_nulls(json!({"command": command, "description": description})),
                action: Action::Shell(shell),
                ..usual
            })
        }
        Tool::Todo => {
            let entries = list::read(arguments.get("todos"))?;
            Ok(Use {
                input: json!({"todos": entries}),
                action: Action::Todo(entries),
                ..usual
            })
        }
    }
}

/// Returns an argument that is written to a file. A text that contains the placeholder for an omitted argument is
/// refused.
fn for_a_file<'a>(arguments: &'a Arguments, name: &str) -> Result<&'a str, String> {
    let text = arguments.content(name)?;
    match text.contains(ARGUMENT_LEFT_OUT) {
        true => Err(format!(
            "`{name}` has a note in it that stands for a text that was left out; write the text"
        )),
        false => Ok(text),
    }
}

impl Use {
    /// A use of an MCP server's tool.
    pub(super) fn served(used: ServerUse) -> Self {
        Self {
            kind: "other",
            title: used.title.clone(),
            input: used.arguments.clone(),
            paths: Vec::new(),
            action: Action::Served(used),
        }
    }
}

/// Carries out an action that only reads files.
pub(super) fn look(action: Action) -> Outcome {
    let found = match action {
        Action::Read(read) => read.carry_out(),
        Action::List(path) => files::list(&path),
        Action::Grep(grep) => grep.carry_out(),
        Action::Glob(glob) => glob.carry_out(),
        Action::Change(_) | Action::Shell(_) | Action::Todo(_) | Action::Served(_) => {
            Err("it does more than to look".to_owned())
        }
    };
    found.map(|found| ralph_core::event::clip_middle(&found, RESULT_CAP_BYTES))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests;
