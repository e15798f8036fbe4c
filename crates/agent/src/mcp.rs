//! The MCP servers of a session, in the format of each agent. Pure.

use std::path::PathBuf;

use ralph_core::event::RunId;
use serde_json::{Map, Value, json};

/// A program that serves tools to an agent over stdin and stdout, as its child process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Letters, digits, `-` and `_`, since it is part of the names of its tools.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// Variables in addition to those that the agent passes on.
    pub env: Vec<(String, String)>,
}

impl McpServer {
    /// The server in opencode's format.
    pub(super) fn to_opencode(&self) -> Value {
        let command: Vec<&String> = [&self.command].into_iter().chain(&self.args).collect();
        json!({"type": "local", "command": command, "environment": self.variables(), "enabled": true})
    }

    pub(super) fn variables(&self) -> Map<String, Value> {
        let pairs = self.env.iter();
        pairs
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect()
    }
}

/// The MCP servers that sessions are given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpServers {
    /// ralph's own, if the run has it.
    pub own: Option<RalphServer>,
    /// The servers of the user's settings.
    pub others: Vec<McpServer>,
}

/// ralph's own server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphServer {
    pub program: PathBuf,
    /// The socket on which the run listens. It is passed as an argument, since agents start their servers with few
    /// variables.
    pub socket: PathBuf,
    /// Tools that are not offered.
    pub without: Vec<String>,
}

/// The name of ralph's own server.
pub const OWN_NAME: &str = "ralph";

/// The format of `{mcp_servers}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpForm {
    /// `{"NAME": {"command": …, "args": […], "env": {…}}}`, the format of most agents.
    Json,
    /// `{"NAME": {"type": "local", "command": […], "environment": {…}}}`.
    Opencode,
    /// `{NAME = {command = …, args = […], env = {…}}}`.
    Toml,
}

impl McpForm {
    /// The names that manifests use.
    pub const NAMES: [(&'static str, McpForm); 3] = [
        ("json", McpForm::Json),
        ("opencode", McpForm::Opencode),
        ("toml", McpForm::Toml),
    ];

    /// Writes `servers` in one line.
    pub(super) fn written(self, servers: &[McpServer]) -> String {
        let object = |described: fn(&McpServer) -> Value| {
            let named = servers.iter().map(|server| (server.name.clone(), described(server)));
            Value::Object(named.collect()).to_string()
        };
        match self {
            McpForm::Json => {
                object(|server| json!({"command": server.command, "args": server.args, "env": server.variables()}))
            }
            McpForm::Opencode => object(McpServer::to_opencode),
            McpForm::Toml => {
                let tables: Vec<String> = servers.iter().map(toml_table).collect();
                format!("{{{}}}", tables.join(","))
            }
        }
    }
}

impl McpServers {
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.others.is_empty()
    }

    /// All servers of a session of `run`, ralph's own first.
    pub(super) fn for_run(&self, run: &RunId) -> Vec<McpServer> {
        let own = self.own.iter().map(|own| own.server(run));
        own.chain(self.others.iter().cloned()).collect()
    }
}

impl RalphServer {
    fn server(&self, run: &RunId) -> McpServer {
        let socket = self.socket.to_string_lossy().into_owned();
        let fixed = ["mcp", "--socket", &socket, "--run", &run.0].map(str::to_owned);
        let without = self
            .without
            .iter()
            .flat_map(|name| ["--without".to_owned(), name.clone()]);
        McpServer {
            name: OWN_NAME.to_owned(),
            command: self.program.to_string_lossy().into_owned(),
            args: fixed.into_iter().chain(without).collect(),
            env: Vec::new(),
        }
    }
}

/// The servers in the format of the Agent Client Protocol.
pub(super) fn acp_servers(servers: &[McpServer]) -> Value {
    let described = servers.iter().map(|server| {
        let env = server
            .env
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}));
        json!({
            "name": server.name,
            "command": server.command,
            "args": server.args,
            "env": env.collect::<Vec<_>>(),
        })
    });
    described.collect()
}

/// The new value of a variable that is already set to `before`: two JSON objects are merged, otherwise `value` replaces
/// it.
pub(super) fn with_before(value: &str, before: Option<&str>) -> String {
    let parsed = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    match (before.and_then(parsed), parsed(value)) {
        (Some(mut before), Some(value)) => {
            merge(&mut before, value);
            Value::Object(before).to_string()
        }
        _ => value.to_owned(),
    }
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (_, value) => _ = into.insert(name, value),
        }
    }
}

fn toml_table(server: &McpServer) -> String {
    let args: Vec<String> = server.args.iter().map(|arg| toml_text(arg)).collect();
    let env: Vec<String> = server
        .env
        .iter()
        .map(|(name, value)| format!("{}={}", toml_text(name), toml_text(value)))
        .collect();
    format!(
        "{}={{command={},args=[{}],env={{{}}}}}",
        server.name,
        toml_text(&server.command),
        args.join(","),
        env.join(",")
    )
}

/// JSON and TOML escape the same characters, except for DEL.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<McpServer> {
        let own = RalphServer {
            program: "/opt/a b/ralph".into(),
            socket: "/state/\"x\"/control.sock".into(),
            without: vec!["task_add".to_owned()],
        };
        let other = McpServer {
            name: "lsp".to_owned(),
            command: "cclsp".to_owned(),
            args: Vec::new(),
            env: vec![("A".to_owned(), "b\u{7f}\n".to_owned())],
        };
        let servers = McpServers {
            own: Some(own),
            others: vec![other],
        };
        servers.for_run(&RunId("r1".to_owned()))
    }

    #[test]
    fn servers_are_written_in_the_words_of_each_agent() {
        let json: Value = serde_json::from_str(&McpForm::Json.written(&servers())).unwrap();
        let args = [
            "mcp",
            "--socket",
            "/state/\"x\"/control.sock",
            "--run",
            "r1",
            "--without",
            "task_add",
        ];
        assert_eq!(
            json["ralph"],
            json!({"command": "/opt/a b/ralph", "args": args, "env": {}})
        );
        assert_eq!(json["lsp"]["env"], json!({"A": "b\u{7f}\n"}));
        let opencode: Value = serde_json::from_str(&McpForm::Opencode.written(&servers())).unwrap();
        assert_eq!(opencode["lsp"]["command"], json!(["cclsp"]));
        assert_eq!(opencode["ralph"]["command"][1], "mcp");
        let text = format!("x = {}", McpForm::Toml.written(&servers()));
        let toml: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&toml["x"]).unwrap(), json);
        assert_eq!(
            acp_servers(&servers())[1]["env"],
            json!([{"name": "A", "value": "b\u{7f}\n"}])
        );
    }

    #[test]
    fn what_a_variable_had_before_is_kept_beside_the_servers() {
        let before = r#"{"model":"m","mcp":{"mine":{"type":"local"}}}"#;
        let merged: Value = serde_json::from_str(&with_before(r#"{"mcp":{"ralph":{}}}"#, Some(before))).unwrap();
        assert_eq!(
            merged,
            json!({"model": "m", "mcp": {"mine": {"type": "local"}, "ralph": {}}})
        );
        assert_eq!(with_before("{}", Some("no JSON")), "{}");
        assert_eq!(with_before("plain", None), "plain");
    }
}
