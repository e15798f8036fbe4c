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

use crate::arguments::{Argument, arguments, schema};

use super::{history::ARGUMENT_LEFT_OUT, message::ToolDescription, servers::McpToolUse};

use arguments::Arguments;
pub(super) use files::FileEdit;
pub(super) use list::TodoEntry;
pub(super) use outcome::ToolOutcome;
use outcome::{RESULT_CAP_BYTES, display_path};
pub(super) use shell::{OwnedProcessGroup, Shell};

/// The tools of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NativeTool {
    Read,
    ListDir,
    Grep,
    Glob,
    Edit,
    Write,
    Shell,
    Todo,
}

/// The row of a tool.
struct ToolRow {
    tool: NativeTool,
    name: &'static str,
    /// Its kind in ACP.
    kind: &'static str,
    /// The description for the model.
    about: &'static str,
    arguments: &'static [Argument],
}

macro_rules! tools {
    ($($tool:ident $name:ident $kind:literal: $about:literal [$($arguments:tt)*];)+) => {
        const TOOLS: &[ToolRow] = &[$(ToolRow {
            tool: NativeTool::$tool,
            name: stringify!($name),
            kind: $kind,
            about: $about,
            arguments: arguments!($($arguments)*),
        }),+];
    };
}

tools! {
    Read read "read": "Reads a text file. Lines are numbered, so leave the numbers out of what you edit. Long files come in parts: `offset` is the first line, `limit` how many." [
        must path Text "relative to the project, or absolute"
        may offset Number "the first line, from 1"
        may limit Number "how many lines"
    ];
    ListDir list_dir "search": "Lists a directory: names, those of directories with a slash at the end."
        [may path Text "relative to the project, or absolute"];
    Grep grep "search": "Searches files for a regular expression; answers with path:line: text. Files that git ignores are left out." [
        must pattern Text "a regular expression"
        may path Text "a file or directory to search; the project if it is missing"
        may glob Text "only files like this, such as *.rs"
        may ignore_case Switch ""
    ];
    Glob glob "search": "Finds files by a pattern such as `src/**/*.rs`. Files that git ignores are left out." [
        must pattern Text "such as **/*.toml"
        may path Text "the directory to look in"
    ];
    Edit edit "edit": "Replaces an exact text in a file by another. The old text has to occur once, so take enough of what is around it; with `all` every occurrence is replaced." [
        must path Text "relative to the project, or absolute"
        must old Text "the text to replace, exactly as it is in the file"
        must new Text "the text in its place"
        may all Switch "replace every occurrence"
    ];
    Write write "edit": "Writes a whole file, new or not. To change a part of a file use `edit`." [
        must path Text "relative to the project, or absolute"
        must content Text "the whole content"
    ];
    Shell shell "execute": "Runs a command with a shell in the project and answers with its output and exit code. It reads nothing, so start no editor or pager. What runs longer than `timeout` seconds is ended; send what is to go on into the background with its output in a file." [
        must command Text "the command"
        may timeout Number "seconds it may take; 120 if it is missing, 1800 at most"
        may description Text "what it is for, in a few words"
    ];
    Todo todo "think": "Keeps the list of what is to do, for work of several steps. Each use replaces the whole list."
        [must todos Todos ""];
}

/// A tool use that is ready to be carried out.
#[derive(Debug)]
pub(super) struct PreparedUse {
    /// The kind of the tool in ACP.
    pub(super) kind: &'static str,
    /// A description on one line.
    pub(super) title: String,
    /// The parsed arguments.
    pub(super) input: Value,
    /// The files that it concerns.
    pub(super) paths: Vec<PathBuf>,
    pub(super) action: ToolAction,
}

#[derive(Debug)]
pub(super) enum ToolAction {
    Read(files::Read),
    List(PathBuf),
    Grep(search::GrepSearch),
    Glob(search::GlobSearch),
    /// Changes of files, all or none.
    Change(FileEdit),
    Shell(Shell),
    Todo(Vec<TodoEntry>),
    /// A tool of an MCP server.
    Served(McpToolUse),
}

fn row(name: &str) -> Option<&'static ToolRow> {
    TOOLS.iter().find(|row| row.name == name)
}

/// Whether uses of a tool may run in parallel with others.
pub(super) fn is_read_only(name: &str) -> bool {
    row(name).is_some_and(|row| matches!(row.kind, "read" | "search"))
}

/// Whether a tool changes a file.
pub(super) fn is_edit(name: &str) -> bool {
    row(name).is_some_and(|row| row.kind == "edit")
}

/// Whether permission is requested before the preceding calls have been carried out.
pub(super) fn is_asked_early(name: &str) -> bool {
    row(name).is_some_and(|row| row.tool == NativeTool::Shell)
}

/// The descriptions of the tools for a model.
pub(super) fn offers() -> Vec<ToolDescription> {
    let offer = |row: &ToolRow| ToolDescription {
        name: row.name.into(),
        description: row.about.into(),
        schema: schema(row.arguments.iter()),
    };
    TOOLS.iter().map(offer).collect()
}

/// Prepares a call for `project`.
///
/// # Errors
/// The reason why the call is invalid, as a message for the model.
pub(super) fn prepare(name: &str, written: &str, project: &Path) -> Result<PreparedUse, String> {
    let Some(row) = row(name) else {
        let names: Vec<_> = TOOLS.iter().map(|row| row.name).collect();
        return Err(format!("there is no tool `{name}`; the tools are {}", names.join(", ")));
    };
    let arguments = Arguments::read(row.name, written)?;
    let known: Vec<&str> = row.arguments.iter().map(|argument| argument.name).collect();
    arguments.refuse_unknown(&known)?;
    let usual = PreparedUse {
        kind: row.kind,
        title: String::new(),
        input: Value::Null,
        paths: Vec::new(),
        action: ToolAction::Todo(Vec::new()),
    };
    let of_file = |path: PathBuf, input: Value, action: ToolAction| PreparedUse {
        title: display_path(&path, project),
        paths: vec![path],
        input,
        action,
        ..usual
    };
    let place = |at: &str| project.join(at.strip_prefix("file://").unwrap_or(at));
    match row.tool {
        NativeTool::Read => {
            let path = place(arguments.text("path")?);
            let (offset, limit) = (arguments.number("offset")?, arguments.number("limit")?);
            let input = json!({"path": display_path(&path, project), "offset": offset, "limit": limit});
            let read = files::Read::new(path.clone(), offset, limit);
            Ok(of_file(path, without_nulls(input), ToolAction::Read(read)))
        }
        NativeTool::ListDir => {
            let path = place(arguments.optional("path")?.unwrap_or("."));
            let input = json!({"path": display_path(&path, project)});
            Ok(of_file(path.clone(), input, ToolAction::List(path)))
        }
        NativeTool::Grep => {
            let pattern = arguments.text("pattern")?;
            let given = arguments.optional("path")?;
            let path = place(given.unwrap_or("."));
            let glob = arguments.optional("glob")?;
            let input = json!({"pattern": pattern, "path": given.map(|_| display_path(&path, project)), "glob": glob});
            let grep = search::GrepSearch::new(project, &path, pattern, glob, arguments.switch("ignore_case")?)?;
            Ok(PreparedUse {
                title: pattern.to_owned(),
                ..of_file(path, without_nulls(input), ToolAction::Grep(grep))
            })
        }
        NativeTool::Glob => {
            let pattern = arguments.text("pattern")?;
            let given = arguments.optional("path")?;
            let path = place(given.unwrap_or("."));
            let input = json!({"pattern": pattern, "path": given.map(|_| display_path(&path, project))});
            let glob = search::GlobSearch::new(project, &path, pattern)?;
            Ok(PreparedUse {
                title: pattern.to_owned(),
                ..of_file(path, without_nulls(input), ToolAction::Glob(glob))
            })
        }
        NativeTool::Edit => {
            let path = place(arguments.text("path")?);
            let (old, new) = (arguments.content("old")?, for_a_file(&arguments, "new")?);
            let change = FileEdit::edit(&path, old, new, arguments.switch("all")?)?;
            Ok(of_file(
                path.clone(),
                json!({"path": display_path(&path, project)}),
                ToolAction::Change(change),
            ))
        }
        NativeTool::Write => {
            let path = place(arguments.text("path")?);
            let change = FileEdit::write(&path, for_a_file(&arguments, "content")?)?;
            Ok(of_file(
                path.clone(),
                json!({"path": display_path(&path, project)}),
                ToolAction::Change(change),
            ))
        }
        NativeTool::Shell => {
            let command = arguments.command()?;
            let description = arguments.optional("description")?;
            let shell = Shell::new(command.clone(), arguments.number("timeout")?);
            Ok(PreparedUse {
                title: command.clone(),
                input: without_nulls(json!({"command": command, "description": description})),
                action: ToolAction::Shell(shell),
                ..usual
            })
        }
        NativeTool::Todo => {
            let entries = list::read(arguments.get("todos"))?;
            Ok(PreparedUse {
                input: json!({"todos": entries}),
                action: ToolAction::Todo(entries),
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

impl PreparedUse {
    /// A use of an MCP server's tool.
    pub(super) fn served(used: McpToolUse) -> Self {
        Self {
            kind: "other",
            title: used.title.clone(),
            input: used.arguments.clone(),
            paths: Vec::new(),
            action: ToolAction::Served(used),
        }
    }
}

/// Carries out an action that only reads files.
pub(super) fn carry_out_reading(action: ToolAction) -> ToolOutcome {
    let found = match action {
        ToolAction::Read(read) => read.carry_out(),
        ToolAction::List(path) => files::list(&path),
        ToolAction::Grep(grep) => grep.carry_out(),
        ToolAction::Glob(glob) => glob.carry_out(),
        ToolAction::Change(_) | ToolAction::Shell(_) | ToolAction::Todo(_) | ToolAction::Served(_) => {
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
