//! Tools, by the name of Claude, of the other agents, and of what they are for.

use serde::{Deserialize, Serialize};

use crate::settings::closest;

/// What a tool is for, whatever its agent calls it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToolKind {
    Shell,
    Edit,
    Read,
    Fetch,
    Search,
    Mcp { server: String, tool: String },
    Other,
}

/// Names by which rules and agents call the tools of a kind; the first is the one that is shown.
const NAMES: [(ToolKind, &[&str]); 5] = [
    (
        ToolKind::Shell,
        &[
            "Bash",
            "shell",
            "run_shell_command",
            "exec_command",
            "commandExecution",
            "execute",
            "terminal",
            "local_shell",
            "exec",
            "command",
            "container.exec",
            "unified_exec",
            "write_stdin",
            "PowerShell",
            "run_terminal_cmd",
            "Monitor",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "Edit",
            "Write",
            "MultiEdit",
            "NotebookEdit",
            "write_file",
            "replace",
            "edit",
            "apply_patch",
            "fileChange",
            "patch",
            "str_replace_editor",
            "delete",
            "move",
            "create_file",
        ],
    ),
    (
        ToolKind::Read,
        &[
            "Read",
            "Grep",
            "Glob",
            "LS",
            "NotebookRead",
            "read_file",
            "read_many_files",
            "list_directory",
            "search_file_content",
            "grep_search",
            "glob",
            "grep",
            "list",
            "ls",
            "list_dir",
            "view_image",
            "view",
            "search",
        ],
    ),
    (ToolKind::Fetch, &["WebFetch", "fetch", "web_fetch", "webfetch"]),
    (
        ToolKind::Search,
        &["WebSearch", "web_search", "websearch", "google_web_search", "webSearch"],
    ),
];

/// Tools of which only the name matters, and what else they are called.
const OTHERS: &[&str] = &[
    "Task",
    "Agent",
    "TodoWrite",
    "TodoRead",
    "ExitPlanMode",
    "EnterPlanMode",
    "AskUserQuestion",
    "Skill",
    "SlashCommand",
    "KillShell",
    "KillBash",
    "BashOutput",
    "TaskOutput",
    "TaskCreate",
    "TaskUpdate",
    "TaskList",
    "TaskGet",
    "TaskStop",
    "save_memory",
    "update_plan",
    "todowrite",
    "todoread",
    "write_todos",
    "question",
    "skill",
    "task",
    "LSP",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "ToolSearch",
    "EnterWorktree",
    "CronCreate",
    "CronDelete",
    "CronList",
];

/// What an agent's tool is for, by its name.
pub fn kind_of(name: &str) -> ToolKind {
    if let Some((server, tool)) = mcp(name) {
        let (server, tool) = (server.to_owned(), tool.unwrap_or_default().to_owned());
        return ToolKind::Mcp { server, tool };
    }
    let known = NAMES
        .iter()
        .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)));
    known.map_or(ToolKind::Other, |(kind, _)| kind.clone())
}

/// The server and the tool of `mcp__server__tool`; the tool is none where it is not said.
pub(super) fn mcp(name: &str) -> Option<(&str, Option<&str>)> {
    let rest = name.strip_prefix("mcp__")?;
    Some(match rest.split_once("__") {
        Some((server, tool)) => (server, Some(tool)),
        None => (rest, None),
    })
}

/// Whether a tool of no kind is one that there is.
pub(super) fn is_other(name: &str) -> bool {
    OTHERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The tool that was probably meant.
pub(super) fn near(name: &str) -> Option<&'static str> {
    let shown = NAMES.iter().map(|(_, names)| names[0]).chain(OTHERS.iter().copied());
    let known = NAMES.iter().flat_map(|(_, names)| names.iter().copied());
    closest(name, shown).or_else(|| closest(name, known))
}

/// The name of a kind in rules.
pub(super) fn rule_name(kind: &ToolKind) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| known == kind).map(|(_, names)| names[0])
}
