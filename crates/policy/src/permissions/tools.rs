//! The names of tools: those of Claude Code, and those of other agents.

use serde::{Deserialize, Serialize};

use crate::settings::closest;

/// The purpose of a tool, independent of its agent's name for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToolClass {
    Shell,
    Edit,
    Read,
    Fetch,
    Search,
    Mcp { server: String, tool: String },
    Other,
}

/// The names of each kind's tools in rules and agents. The first one is displayed.
const NAMES: [(ToolClass, &[&str]); 5] = [
    (
        ToolClass::Shell,
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
        ToolClass::Edit,
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
        ToolClass::Read,
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
    (ToolClass::Fetch, &["WebFetch", "fetch", "web_fetch", "webfetch"]),
    (
        ToolClass::Search,
        &["WebSearch", "web_search", "websearch", "google_web_search", "webSearch"],
    ),
];

/// Tools without a kind, for which rules go by the name alone.
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

/// The kind of an agent's tool, from its name.
pub fn tool_class(name: &str) -> ToolClass {
    if let Some((server, tool)) = mcp(name) {
        let (server, tool) = (server.to_owned(), tool.unwrap_or_default().to_owned());
        return ToolClass::Mcp { server, tool };
    }
    let known = NAMES
        .iter()
        .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)));
    known.map_or(ToolClass::Other, |(kind, _)| kind.clone())
}

/// The server and the tool of `mcp__server__tool`; the tool is `None` if it is missing.
pub(super) fn mcp(name: &str) -> Option<(&str, Option<&str>)> {
    let rest = name.strip_prefix("mcp__")?;
    Some(match rest.split_once("__") {
        Some((server, tool)) => (server, Some(tool)),
        None => (rest, None),
    })
}

/// Whether a tool without a kind is known.
pub(super) fn is_other(name: &str) -> bool {
    OTHERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The known tool whose name is closest.
pub(super) fn near(name: &str) -> Option<&'static str> {
    let shown = NAMES.iter().map(|(_, names)| names[0]).chain(OTHERS.iter().copied());
    let known = NAMES.iter().flat_map(|(_, names)| names.iter().copied());
    closest(name, shown).or_else(|| closest(name, known))
}

/// The name of a kind in rules.
pub(super) fn rule_name(kind: &ToolClass) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| known == kind).map(|(_, names)| names[0])
}
