//! Converts permission requests of a server to the terms of rules. Pure.
//!
//! opencode names files relative to the root of the repository, which may be above the project, and tools of MCP
//! servers by a name that does not mark where the server's name ends.

use std::path::Path;

use ralph_core::event::{self, AskId, PermissionRequest, ToolKind};
use serde_json::Value;

use crate::dialect::{array, choices, one_line, path_in, text};

use super::wire::{WirePermission, WireQuestion};

/// The context in which names in a request are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RequestContext {
    /// The directory to which file names are relative.
    pub(super) worktree: String,
    pub(super) mcp_servers: Vec<String>,
}

/// Whether a second request with the same content and more details follows this one.
pub(super) fn is_followed_by_another(asked: &WirePermission) -> bool {
    asked.permission == "external_directory"
}

/// A permission request for the rules and the user.
pub(super) fn request(asked: &WirePermission, context: &RequestContext) -> PermissionRequest {
    let field = |name: &str| asked.metadata.get(name).and_then(Value::as_str);
    let (tool, kind) = context.tool(&asked.permission);
    let command = field("command").filter(|_| kind == ToolKind::Shell);
    let url = field("url").filter(|_| kind == ToolKind::Fetch);
    let paths = context.paths(asked, kind);
    let title = match command.or(url).or(field("query")).or(field("description")) {
        Some(said) => said.to_owned(),
        None => field("filepath").map_or_else(|| asked.patterns.join(", "), str::to_owned),
    };
    PermissionRequest {
        call: asked.tool.as_ref().map(|tool| tool.call.clone()),
        command: command.map(str::to_owned),
        paths,
        url: url.map(str::to_owned),
        diff: field("diff").map(str::to_owned),
        ..PermissionRequest::new(AskId(asked.id.clone()), &tool, kind, one_line(&title))
    }
}

/// The questions of a request for the user.
pub(super) fn questions(asked: &WireQuestion) -> PermissionRequest {
    let question = |asked: &Value| event::Question {
        header: text(asked, "/header").to_owned(),
        text: text(asked, "/question").to_owned(),
        choices: choices(asked),
        multiple: asked["multiple"] == true,
        free_text: asked["custom"] != false,
    };
    let questions: Vec<event::Question> = asked.questions.iter().map(question).collect();
    let title = one_line(questions.first().map_or("", |question| &question.text));
    PermissionRequest {
        call: asked.tool.as_ref().map(|tool| tool.call.clone()),
        questions,
        ..PermissionRequest::new(AskId(asked.id.clone()), "question", ToolKind::Other, title)
    }
}

impl RequestContext {
    /// The tool's name in rules, and its kind.
    fn tool(&self, name: &str) -> (String, ToolKind) {
        let kind = match name {
            "bash" => ToolKind::Shell,
            "edit" | "write" | "patch" | "apply_patch" => ToolKind::Edit,
            "read" | "glob" | "grep" | "list" | "lsp" => ToolKind::Read,
            "webfetch" | "websearch" => ToolKind::Fetch,
            other => match self.mcp_tool(other) {
                Some(tool) => return (tool, ToolKind::Mcp),
                None => ToolKind::Other,
            },
        };
        (name.to_owned(), kind)
    }

    /// Converts `server_tool` to `mcp__server__tool`.
    fn mcp_tool(&self, name: &str) -> Option<String> {
        let of_servers = self.mcp_servers.iter().filter_map(|server| {
            let tool = name.strip_prefix(&sanitized(server))?.strip_prefix('_')?;
            Some((server, tool))
        });
        // The longest server name wins: with servers `a` and `a_b`, `a_b_c` belongs to `a_b`.
        let (server, tool) = of_servers.max_by_key(|(server, _)| server.len())?;
        Some(format!("mcp__{server}__{tool}"))
    }

    fn paths(&self, asked: &WirePermission, kind: ToolKind) -> Vec<String> {
        let said = match kind {
            ToolKind::Edit => asked.patterns.clone(),
            ToolKind::Read if asked.permission == "read" => asked.patterns.clone(),
            // The patterns of search tools are search terms, not files.
            ToolKind::Read => {
                let looked_at = path_in(&asked.metadata).unwrap_or(".").to_owned();
                return vec![looked_at];
            }
            ToolKind::Shell | ToolKind::Fetch | ToolKind::Mcp | ToolKind::Other => return Vec::new(),
        };
        let mut paths: Vec<String> = said.iter().map(|path| self.whole(path)).collect();
        for file in array(&asked.metadata, "/files") {
            let moved = [text(file, "/filePath"), text(file, "/movePath")];
            let told = moved.into_iter().filter(|path| !path.is_empty());
            paths.extend(told.map(|path| self.whole(path)));
        }
        paths.dedup();
        paths
    }

    fn whole(&self, path: &str) -> String {
        let whole = Path::new(&self.worktree).join(path);
        whole.to_string_lossy().into_owned()
    }
}

/// The server's name as the prefix of its tools' names.
fn sanitized(server: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    server.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(properties: Value) -> PermissionRequest {
        let mut whole = json!({"id": "per_1", "sessionID": "ses_1"});
        for (key, value) in properties.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let context = RequestContext {
            worktree: "/repo".to_owned(),
            mcp_servers: vec!["my".to_owned(), "my.db".to_owned()],
        };
        request(&serde_json::from_value(whole).unwrap(), &context)
    }

    #[test]
    fn files_are_named_from_the_root_of_the_repository_and_where_they_are_moved_to_counts() {
        let read = asked(json!({"permission": "read", "patterns": ["../etc/hostname"], "metadata": {}}));
        assert_eq!(
            (read.kind, read.paths),
            (ToolKind::Read, vec!["/repo/../etc/hostname".to_owned()])
        );
        let moved = asked(
            json!({"permission": "edit", "patterns": ["sub/a"], "metadata": {"filepath": "sub/a",
            "diff": "-a", "files": [{"filePath": "/repo/sub/a", "movePath": "/home/b"}]}}),
        );
        assert_eq!(moved.paths, ["/repo/sub/a", "/home/b"]);
        assert_eq!(moved.diff.as_deref(), Some("-a"));
        let search =
            asked(json!({"permission": "grep", "patterns": ["key"], "metadata": {"pattern": "key", "path": "/etc"}}));
        assert_eq!((search.title.as_str(), search.paths), ("key", vec!["/etc".to_owned()]));
        let search = asked(json!({"permission": "glob", "patterns": ["*.rs"]}));
        assert_eq!(search.paths, ["."]);
    }

    #[test]
    fn a_command_an_address_and_a_tool_of_a_server_are_told_as_rules_know_them() {
        let shell = asked(
            json!({"permission": "bash", "patterns": ["ls", "rm x"], "metadata": {"command": "ls &&\nrm x"},
            "tool": {"messageID": "m", "callID": "call_1"}}),
        );
        assert_eq!(shell.command.as_deref(), Some("ls &&\nrm x"));
        assert_eq!(
            (shell.title.as_str(), shell.call.as_deref()),
            ("ls && rm x", Some("call_1"))
        );
        let fetch = asked(json!({"permission": "webfetch", "metadata": {"url": "http://x/"}}));
        assert_eq!((fetch.kind, fetch.url.as_deref()), (ToolKind::Fetch, Some("http://x/")));
        let tool = asked(json!({"permission": "my_db_query", "patterns": ["*"]}));
        assert_eq!((tool.kind, tool.tool.as_str()), (ToolKind::Mcp, "mcp__my.db__query"));
        let other = asked(json!({"permission": "todowrite", "patterns": ["*"]}));
        assert_eq!((other.kind, other.tool.as_str()), (ToolKind::Other, "todowrite"));
    }
}
