//! The MCP servers of a session: programs that serve tools on stdin and stdout. They are started and ended with the
//! session.
//!
//! Servers are third-party programs and their output is not trusted: lines are bounded, requests have time limits, and
//! names are made valid for models. A server that misbehaves is left out, or its calls fail with an error that the
//! model reads.

use std::{collections::BTreeSet, io, path::Path, process::Stdio, sync::Arc, time::Duration};

use futures_util::future::join_all;
use ralph_core::event::{clip, clip_middle};
use ralph_text::json_rpc::{self, JsonRpcMessage, METHOD_NOT_FOUND};
use serde_json::{Map, Value, json};
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStdin, Command},
    sync::Mutex,
    time::timeout,
};

use super::{
    message::ToolDescription,
    tools::{OwnedProcessGroup, ToolOutcome},
};
use crate::json_rpc::{Peer, RequestError, read};

/// The protocol version that is requested. Any other version is accepted, since tools are the same in all of them.
const VERSION: &str = "2025-11-25";
/// Most servers of a session, tools of a server, and pages of its list of tools.
const SERVERS: usize = 32;
const TOOLS: usize = 256;
const PAGES: usize = 64;
/// The time limit of a server's start: `npx` may have to download it.
const BEGINNING: Duration = Duration::from_secs(30);
/// The time limit of a tool call.
const CALL: Duration = Duration::from_secs(600);
/// How long a server may take to read a message.
const READING: Duration = Duration::from_secs(30);
/// Most bytes of a line.
const LINE_CAP_BYTES: usize = 8 << 20;
/// Most bytes of a description, of a schema, and of a result for the model.
const DESCRIPTION_CAP_BYTES: usize = 4 * 1024;
const SCHEMA_CAP_BYTES: usize = 64 * 1024;
const RESULT_CAP_BYTES: usize = 30_000;
/// The error message for a server that has ended.
const GONE: &str = "the server has ended, and its tools with it";
/// The longest tool name that both APIs accept.
const NAME_CHARS: usize = 64;

/// The running servers of a session, with their tools.
#[derive(Default)]
pub(super) struct SessionServers {
    servers: Vec<McpProcess>,
    tools: Vec<ServerTool>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
struct ServerTool {
    offer: ToolDescription,
    server: usize,
    /// The server's name of the tool.
    name: String,
}

/// A tool call that is ready to be made.
#[derive(Debug)]
pub(super) struct McpToolUse {
    /// A description on one line.
    pub(super) title: String,
    pub(super) arguments: Value,
    tool: usize,
}

impl SessionServers {
    /// Starts the servers in a session's `params`. Returns them, and one line for each that failed.
    pub(super) async fn start(params: &Value, project: &Path, withheld: &[&str]) -> (Self, Vec<String>) {
        let named = params["mcpServers"].as_array().into_iter().flatten().take(SERVERS);
        let begun = join_all(named.map(|described| async move {
            let name = described["name"].as_str().unwrap_or("server").to_owned();
            let begun = timeout(BEGINNING, McpProcess::begin(described, project, withheld)).await;
            let begun = begun.unwrap_or_else(|_| Err(format!("no answer within {} s", BEGINNING.as_secs())));
            (name, begun)
        }))
        .await;
        let (mut servers, mut troubles, mut names) = (Self::default(), Vec::new(), BTreeSet::new());
        for (name, begun) in begun {
            match begun {
                Ok((server, listed)) => {
                    let at = servers.servers.len();
                    let tools = listed.iter().filter_map(|tool| described(&name, at, tool, &mut names));
                    servers.tools.extend(tools.take(TOOLS));
                    servers.servers.push(server);
                }
                Err(why) => troubles.push(format!("MCP server `{name}` is left out: {}", clip(&why, 300))),
            }
        }
        (servers, troubles)
    }

    /// Ends the servers, so that none outlives the agent, whose work it would seem to be.
    pub(super) async fn end(self) {
        join_all(
            self.servers
                .into_iter()
                .map(async |mut server| server.group.end().await),
        )
        .await;
    }

    pub(super) fn offers(&self) -> impl Iterator<Item = ToolDescription> {
        self.tools.iter().map(|tool| tool.offer.clone())
    }

    /// Prepares a call; `None` if no server has such a tool.
    pub(super) fn prepare(&self, name: &str, written: &str) -> Option<Result<McpToolUse, String>> {
        let tool = self.tools.iter().position(|tool| tool.offer.name == name)?;
        let written = if written.trim().is_empty() { "{}" } else { written };
        Some(match serde_json::from_str::<Map<String, Value>>(written) {
            Ok(arguments) => Ok(McpToolUse {
                title: name.to_owned(),
                arguments: Value::Object(arguments),
                tool,
            }),
            Err(error) => Err(format!(
                "the arguments of `{name}` are no JSON object ({error}); nothing was done, so write them again"
            )),
        })
    }

    /// Calls the tool on its server.
    pub(super) async fn carry_out(&self, used: McpToolUse) -> ToolOutcome {
        let tool = &self.tools[used.tool];
        let params = json!({"name": tool.name, "arguments": used.arguments});
        let answered = self.servers[tool.server].asks("tools/call", &params, CALL).await?;
        tool_output(&answered)
    }
}

/// A tool from a server's list; `None` if it has no name.
fn described(server: &str, at: usize, listed: &Value, names: &mut BTreeSet<String>) -> Option<ServerTool> {
    let name = listed["name"].as_str().filter(|name| !name.is_empty())?;
    let schema = &listed["inputSchema"];
    let is_schema = schema["type"] == "object" && schema.to_string().len() <= SCHEMA_CAP_BYTES;
    Some(ServerTool {
        offer: ToolDescription {
            name: unique(&format!("mcp__{}__{}", legal(server), legal(name)), names).into(),
            description: clip(listed["description"].as_str().unwrap_or(name), DESCRIPTION_CAP_BYTES).into(),
            schema: match is_schema {
                true => schema.clone(),
                false => json!({"type": "object"}),
            },
        },
        server: at,
        name: name.to_owned(),
    })
}

/// Replaces the characters that an API refuses in names.
fn legal(name: &str) -> String {
    let is_legal = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars()
        .map(|character| if is_legal(character) { character } else { '_' })
        .collect()
}

/// Truncates `name` to the allowed length, and appends a number if it is taken.
fn unique(name: &str, names: &mut BTreeSet<String>) -> String {
    let with = |end: &str| format!("{}{end}", &name[..name.len().min(NAME_CHARS - end.len())]);
    let mut numbered = with("");
    let mut number = 1;
    while !names.insert(numbered.clone()) {
        number += 1;
        numbered = with(&format!("_{number}"));
    }
    numbered
}

/// The outcome of a tool call, from its result.
fn tool_output(result: &Value) -> ToolOutcome {
    let contents = result["content"].as_array().into_iter().flatten();
    let texts: Vec<String> = contents
        .map(|content| match content["type"].as_str().unwrap_or_default() {
            "text" => content["text"].as_str().unwrap_or_default().to_owned(),
            "resource" => match content["resource"]["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!(
                    "[a resource: {}]",
                    content["resource"]["uri"].as_str().unwrap_or("unnamed")
                ),
            },
            "resource_link" => format!("[a link: {}]", content["uri"].as_str().unwrap_or("unnamed")),
            other => format!("[{other}, which cannot be shown]"),
        })
        .collect();
    let text = match (texts.is_empty(), &result["structuredContent"]) {
        (true, Value::Null) => "(no output)".to_owned(),
        (true, structured) => structured.to_string(),
        (false, _) => texts.join("\n"),
    };
    let text = clip_middle(&text, RESULT_CAP_BYTES);
    match result["isError"] == true {
        true => Err(text),
        false => Ok(text),
    }
}

/// A running server. Dropping it ends its process group.
struct McpProcess {
    group: OwnedProcessGroup,
    stdin: Arc<Mutex<ChildStdin>>,
    peer: Arc<Peer>,
}

impl McpProcess {
    /// Starts the program and lists its tools.
    async fn begin(described: &Value, project: &Path, withheld: &[&str]) -> Result<(Self, Vec<Value>), String> {
        let server = Self::spawn(described, project, withheld)?;
        let client = json!({"name": "ralph-native", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        let greeted = server.asks("initialize", &params, BEGINNING).await?;
        if greeted["protocolVersion"].as_str().is_none() {
            return Err("it names no version of the protocol".to_owned());
        }
        let initialized = json_rpc::notification("notifications/initialized", &json!({}));
        server.write(&initialized).await.map_err(|_| GONE.to_owned())?;
        let (mut tools, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..PAGES {
            let params = match cursor.is_null() {
                true => json!({}),
                false => json!({"cursor": cursor}),
            };
            let page = server.asks("tools/list", &params, BEGINNING).await?;
            tools.extend(page["tools"].as_array().into_iter().flatten().cloned());
            cursor = page["nextCursor"].clone();
            if !cursor.is_string() || tools.len() >= TOOLS {
                break;
            }
        }
        Ok((server, tools))
    }

    fn spawn(described: &Value, project: &Path, withheld: &[&str]) -> Result<Self, String> {
        let Some(program) = described["command"].as_str() else {
            return Err("it has no command: only servers on stdin and stdout are known".to_owned());
        };
        let wrong = |error: io::Error| format!("`{program}` was not started: {error}");
        let mut command = Command::new(program);
        command.args(
            described["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
        for name in withheld {
            command.env_remove(name);
        }
        for variable in described["env"].as_array().into_iter().flatten() {
            if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
                command.env(name, value);
            }
        }
        let (output, writer) = io::pipe().map_err(wrong)?;
        command
            .current_dir(project)
            .stdin(Stdio::piped())
            .stdout(writer)
            // Servers' stderr is for their developers.
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn().map_err(wrong)?;
        // It holds the writing end of the pipe.
        drop(command);
        let stdin = child.stdin.take().ok_or("it has no stdin")?;
        let server = Self {
            group: OwnedProcessGroup::new(child),
            stdin: Arc::new(Mutex::new(stdin)),
            peer: Arc::default(),
        };
        let mut lines = read(output, LINE_CAP_BYTES).map_err(wrong)?;
        let (peer, stdin) = (Arc::clone(&server.peer), Arc::clone(&server.stdin));
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                match line.message() {
                    Some(JsonRpcMessage::Response { id, outcome }) => peer.resolve(id, outcome),
                    // A server without an answer to its request may wait forever.
                    Some(JsonRpcMessage::Request { id, method, .. }) => {
                        let answer = match method.as_str() {
                            "ping" => json_rpc::result(&id, &json!({})),
                            _ => json_rpc::refusal(&id, METHOD_NOT_FOUND, "not supported"),
                        };
                        _ = write(&stdin, &answer).await; // the next request reports that the server has ended
                    }
                    Some(JsonRpcMessage::Notification { .. }) | None => {}
                }
            }
            peer.end(GONE);
        });
        Ok(server)
    }

    /// Sends a request and waits for its response.
    async fn asks(&self, method: &str, params: &Value, patience: Duration) -> Result<Value, String> {
        let answered = async {
            let (message, sent) = self.peer.request(method, params)?;
            self.write(&message).await?;
            let Ok(answer) = timeout(patience, sent.answer()).await else {
                let params = json!({"requestId": message["id"], "reason": "timeout"});
                self.write(&json_rpc::notification("notifications/cancelled", &params))
                    .await?;
                return Err(RequestError::Late);
            };
            answer
        };
        answered.await.map_err(|error| match error {
            RequestError::Ended(why) => why,
            RequestError::Refused { message, .. } => format!("the server refused: {}", clip(&message, 1000)),
            RequestError::Late => format!("the server has not answered within {} s", patience.as_secs()),
        })
    }

    /// Writes a message. A server that does not read is given up, since it would misread everything after half a
    /// message.
    async fn write(&self, message: &Value) -> Result<(), RequestError> {
        let why = match timeout(READING, write(&self.stdin, message)).await {
            Ok(Ok(())) => return Ok(()),
            // A broken pipe may be noticed before the server's last line was read.
            Ok(Err(_)) => GONE,
            Err(_) => "the server reads no more, and its tools are gone",
        };
        self.peer.end(why);
        Err(RequestError::Ended(why.to_owned()))
    }
}

async fn write(stdin: &Mutex<ChildStdin>, message: &Value) -> io::Result<()> {
    let mut stdin = stdin.lock().await;
    stdin.write_all(format!("{message}\n").as_bytes()).await?;
    stdin.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server configuration whose program is a shell script.
    fn scripted(body: &str) -> Value {
        json!({"mcpServers": [{"name": "s p", "command": "/bin/sh", "args": ["-c", body], "env": []}]})
    }

    const HELLO: &str =
        r#"read line; echo 'rubbish'; echo '{"id":1,"result":{"protocolVersion":"2024-11-05"}}'; read line; "#;

    fn start(body: &str) -> (SessionServers, Vec<String>, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (servers, troubles) = runtime.block_on(SessionServers::start(&scripted(body), Path::new("/"), &["HOME"]));
        (servers, troubles, runtime)
    }

    #[test]
    fn tools_come_in_pages_and_have_names_that_every_wire_takes() {
        let body = HELLO.to_owned()
            + r#"read line; echo '{"id":2,"result":{"tools":[{"name":"a.b","inputSchema":{"type":"object"}},{"name":7}],"nextCursor":"n"}}';
                 read line; echo "$line" | grep -q '"cursor":"n"' || exit 1
                 echo '{"id":3,"result":{"tools":[{"name":"a/b","description":"x"}]}}'
                 read line; echo '{"id":9,"method":"ping"}'; read pong; echo "$pong" | grep -q '"result"' || exit 1
                 echo '{"id":4,"result":{"content":[{"type":"text","text":"done"},{"type":"image","mimeType":"image/png","data":"aW1n"}]}}'
                 read line; echo '{"id":5,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}'
                 read line; echo '{"id":6,"error":{"code":1,"message":"never heard of it"}}'
                 read line; exit"#;
        let (servers, troubles, runtime) = start(&body);
        assert_eq!(troubles, [] as [String; 0]);
        let names: Vec<String> = servers.offers().map(|offer| offer.name.into_owned()).collect();
        assert_eq!(names, ["mcp__s_p__a_b", "mcp__s_p__a_b_2"]);
        let call = |name: &str| {
            let used = servers.prepare(name, "{}").unwrap().unwrap();
            runtime.block_on(servers.carry_out(used))
        };
        let shown = call(&names[1]).unwrap();
        assert_eq!(shown, "done\n[image, which cannot be shown]");
        assert_eq!(call(&names[0]), Err("no".to_owned()));
        assert_eq!(call(&names[0]), Err("the server refused: never heard of it".to_owned()));
        for _ in 0..2 {
            let gone = call(&names[0]).unwrap_err();
            assert!(gone.contains("has ended"), "{gone}");
        }
        assert!(servers.prepare("mcp__s_p__x", "{}").is_none());
        assert!(servers.prepare(&names[0], "[1]").unwrap().is_err());
    }

    #[test]
    fn a_server_that_does_not_do_its_part_is_left_out_with_the_reason() {
        for (body, why) in [
            ("exit 3", "has ended"),
            ("read line; echo '{\"id\":1,\"result\":7}'; cat", "no version"),
            (
                "read line; echo '{\"id\":1,\"error\":{\"message\":\"too old\"}}'; cat",
                "too old",
            ),
        ] {
            let (servers, troubles, _runtime) = start(body);
            assert_eq!(servers.offers().count(), 0);
            assert!(troubles.len() == 1 && troubles[0].contains(why), "{troubles:?}");
        }
        let none = HELLO.to_owned() + "read line; echo '{\"id\":2,\"result\":{}}'; cat";
        let (servers, troubles, _runtime) = start(&none);
        assert_eq!((servers.offers().count(), troubles.len()), (0, 0), "it has no tools");
    }

    #[test]
    fn a_server_that_is_slow_or_floods_costs_its_time_and_no_more() {
        let never = HELLO.to_owned()
            + r#"read line; echo '{"id":2,"result":{"tools":[{"name":"t"}]}}'; head -c 20000000 /dev/zero | tr '\0' x; echo; sleep 600"#;
        let (servers, _, runtime) = start(&never);
        let params = json!({});
        let asked = servers.servers[0].asks("tools/call", &params, Duration::from_millis(300));
        let why = runtime.block_on(asked).unwrap_err();
        assert!(why.contains("has not answered"), "{why}");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let mut names = BTreeSet::new();
        let long = "x".repeat(100);
        let cut = [unique(&long, &mut names), unique(&long, &mut names)];
        assert!(
            cut.iter().all(|name| name.len() == NAME_CHARS) && cut[0] != cut[1],
            "{cut:?}"
        );
    }
}
