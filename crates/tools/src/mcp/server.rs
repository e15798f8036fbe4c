//! The conversation with a client. Requests are answered in the order in which their results become available.

use std::{collections::HashMap, sync::Arc};

use ralph_text::json_rpc::{INVALID_PARAMS, INVALID_REQUEST, JsonRpcMessage, METHOD_NOT_FOUND, refusal, result};
use serde_json::{Map, Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use crate::json_rpc::{InputLine, received_batch};

use super::tools::{McpTool, ToolProvider};

/// Most bytes of a line. Arguments of tools are a thousandth of it.
pub const LINE_CAP_BYTES: usize = 1 << 20;
/// Most concurrent calls; further ones are refused.
const CALLS: usize = 16;
/// The supported versions, the latest first. They do not differ for tools that answer with text.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// A description of the whole server, which a client may pass on to its model.
const INSTRUCTIONS: &str = "Tools of ralph, the loop that runs you: the plan, the goals that decide whether the work is done, and what the \
                            user is told.";

/// Answers the client until it has closed its end and all calls have ended. `write` gets each response.
pub async fn serve(
    mut lines: mpsc::Receiver<InputLine>,
    provider: Arc<dyn ToolProvider>,
    mut write: impl FnMut(&Value),
) {
    let mut server = ToolServer {
        provider,
        greeted: false,
        calls: JoinSet::new(),
        running: HashMap::new(),
    };
    let mut open = true;
    while open || !server.calls.is_empty() {
        tokio::select! {
            line = lines.recv(), if open => match line {
                None => open = false,
                Some(line) => {
                    for message in received_batch(&line) {
                        server.take(message).iter().for_each(&mut write);
                    }
                }
            },
            Some(called) = server.calls.join_next(), if !server.calls.is_empty() => {
                // A cancelled call gets no response.
                if let Ok((id, answer)) = called && server.running.remove(&id.to_string()).is_some() {
                    write(&result(&id, &answer));
                }
            }
        }
    }
}

struct ToolServer {
    provider: Arc<dyn ToolProvider>,
    /// Whether the client has sent `initialize`.
    greeted: bool,
    calls: JoinSet<(Value, Value)>,
    /// The calls in progress, by their ids.
    running: HashMap<String, AbortHandle>,
}

impl ToolServer {
    /// Takes a message, and returns the immediate response, if any.
    fn take(&mut self, message: Result<JsonRpcMessage, Value>) -> Option<Value> {
        match message {
            Err(answer) => Some(answer),
            Ok(JsonRpcMessage::Request { id, method, params }) => self.handle_request(id, &method, params),
            Ok(JsonRpcMessage::Notification { method, params }) if method == "notifications/cancelled" => {
                let running = self.running.remove(&params["requestId"].to_string())?;
                running.abort();
                None
            }
            Ok(JsonRpcMessage::Notification { .. } | JsonRpcMessage::Response { .. }) => None,
        }
    }

    fn handle_request(&mut self, id: Value, method: &str, params: Value) -> Option<Value> {
        match method {
            "ping" => Some(result(&id, &json!({}))),
            "initialize" => {
                self.greeted = true;
                let server = json!({"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")});
                let known = VERSIONS.iter().find(|known| params["protocolVersion"] == **known);
                let answer = json!({
                    "protocolVersion": known.unwrap_or(&VERSIONS[0]),
                    "capabilities": {"tools": {}},
                    "serverInfo": server,
                    "instructions": INSTRUCTIONS,
                });
                Some(result(&id, &answer))
            }
            "tools/list" | "tools/call" if !self.greeted => {
                let why = format!("`{method}` comes before `initialize`");
                Some(refusal(&id, INVALID_REQUEST, &why))
            }
            "tools/list" => {
                let tools: Vec<Value> = self.provider.tools().iter().map(described).collect();
                Some(result(&id, &json!({"tools": tools})))
            }
            "tools/call" => self.call(id, params),
            // Clients of later versions begin with `server/discover`, and some of them only take this code for an older
            // server.
            _ => {
                let why = format!("there is no method `{method}`: ralph has tools only");
                Some(refusal(&id, METHOD_NOT_FOUND, &why))
            }
        }
    }

    /// Starts a call. Its response follows later, unless the call is invalid.
    fn call(&mut self, id: Value, mut params: Value) -> Option<Value> {
        let refused = |why: &str| Some(refusal(&id, INVALID_PARAMS, why));
        let Some(name) = params["name"].as_str().map(str::to_owned) else {
            return refused("`name` is the name of a tool");
        };
        let arguments = match params.get_mut("arguments").map(Value::take) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return refused("`arguments` is an object"),
        };
        let (provider, tools) = (Arc::clone(&self.provider), self.provider.tools());
        let Some(tool) = tools.iter().copied().find(|tool| tool.name == name) else {
            let known: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            return refused(&format!("there is no such tool; there are {}", known.join(", ")));
        };
        if self.running.contains_key(&id.to_string()) {
            return Some(refusal(&id, INVALID_REQUEST, "a call with this id goes on"));
        }
        if self.running.len() >= CALLS {
            let why = format!("{CALLS} calls go on already: wait for an answer");
            return Some(result(&id, &tool_result(&why, true)));
        }
        let key = id.to_string();
        let running = self.calls.spawn(async move {
            let answer = provider.call(&tool, arguments).await;
            (id, tool_result(&answer.text, answer.refused))
        });
        self.running.insert(key, running);
        None
    }
}

/// The result of a tool. Refusals are results as well, since models do not see JSON-RPC errors.
fn tool_result(text: &str, refused: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": refused})
}

/// A tool in the form of `tools/list`.
fn described(tool: &McpTool) -> Value {
    let mut schema = tool.schema();
    schema["additionalProperties"] = false.into();
    json!({"name": tool.name, "description": tool.description, "inputSchema": schema})
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ralph_state::control::ToolAnswer;

    use super::*;
    use crate::mcp::tools::ToolFuture;

    /// Two tools: one that answers with its arguments, one that never answers.
    struct Two;

    impl ToolProvider for Two {
        fn tools(&self) -> Vec<McpTool> {
            let tool = |name| McpTool {
                name,
                description: "for a test",
                shared: &[],
                own: &[],
            };
            vec![tool("echo"), tool("never")]
        }

        fn call<'a>(&'a self, tool: &'a McpTool, arguments: Map<String, Value>) -> ToolFuture<'a> {
            Box::pin(async move {
                match tool.name {
                    "never" => std::future::pending().await,
                    _ => ToolAnswer::done(Value::Object(arguments).to_string()),
                }
            })
        }
    }

    const HELLO: &str = r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;

    /// All responses to these lines. Calls that never end are cancelled at the end.
    async fn answers(lines: &[&str]) -> Vec<Value> {
        let (send, read) = mpsc::channel(256);
        for line in lines {
            send.send(InputLine::Whole(line.as_bytes().to_vec())).await.unwrap();
        }
        drop(send);
        let written = Mutex::new(Vec::new());
        serve(read, Arc::new(Two), |value| written.lock().unwrap().push(value.clone())).await;
        written.into_inner().unwrap()
    }

    #[tokio::test]
    async fn a_client_is_greeted_in_its_version_and_told_the_tools() {
        let list = r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#;
        let said = answers(&[HELLO, r#"{"method":"notifications/initialized"}"#, list]).await;
        assert_eq!(said.len(), 2);
        assert_eq!(said[0]["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(said[0]["result"]["capabilities"], json!({"tools": {}}));
        assert_eq!(said[1]["id"], "l");
        assert_eq!(said[1]["result"]["tools"][0]["inputSchema"]["type"], "object");
    }

    #[tokio::test]
    async fn before_it_is_greeted_a_client_gets_nothing_but_a_ping() {
        let said = answers(&[
            r#"{"id":1,"method":"ping"}"#,
            r#"{"id":2,"method":"tools/list"}"#,
            r#"{"id":3,"method":"server/discover"}"#,
        ])
        .await;
        assert_eq!(said[0]["result"], json!({}));
        assert!(said[1]["error"]["message"].as_str().unwrap().contains("initialize"));
        assert_eq!(said[2]["error"]["code"], METHOD_NOT_FOUND);
    }

    #[tokio::test]
    async fn a_version_that_both_speak_is_the_clients_and_else_the_latest() {
        let known = VERSIONS.map(|known| (json!(known), known));
        let unknown = [json!("2031-01-01"), json!(3), Value::Null].map(|unknown| (unknown, VERSIONS[0]));
        for (wanted, version) in known.into_iter().chain(unknown) {
            let hello = json!({"id": 0, "method": "initialize", "params": {"protocolVersion": wanted}});
            let said = answers(&[&hello.to_string()]).await;
            assert_eq!(said[0]["result"]["protocolVersion"], version);
        }
    }

    #[tokio::test]
    async fn calls_that_nobody_understands_have_an_answer_that_says_why() {
        for (params, why) in [
            (r#"{}"#, "name"),
            (r#"{"name":3}"#, "name"),
            (r#"{"name":"rm"}"#, "there are echo, never"),
            (r#"{"name":"echo","arguments":[]}"#, "object"),
            ("3", "name"),
        ] {
            let call = format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#);
            let said = answers(&[HELLO, &call]).await;
            let message = said[1]["error"]["message"]
                .as_str()
                .unwrap_or_else(|| panic!("{said:?}"));
            assert!(message.contains(why), "{message}");
        }
        let said = answers(&[HELLO, r#"{"id":1,"method":"resources/list"}"#]).await;
        assert_eq!(said[1]["error"]["code"], -32601);
    }

    #[tokio::test]
    async fn calls_go_side_by_side_and_one_that_is_cancelled_is_not_answered() {
        let said = answers(&[
            HELLO,
            r#"{"id":1,"method":"tools/call","params":{"name":"never"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}"#,
            r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"{"method":"notifications/cancelled","params":{"requestId":"nobody"}}"#,
        ])
        .await;
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[1]["error"]["message"].as_str().unwrap().contains("goes on"));
        assert_eq!(said[2]["id"], 2);
        assert_eq!(said[2]["result"]["content"][0]["text"], r#"{"a":1}"#);
        assert_eq!(said[2]["result"]["isError"], false);
    }

    #[tokio::test]
    async fn a_flood_of_calls_is_refused_beyond_a_bound() {
        let mut lines = vec![HELLO.to_owned()];
        lines.extend((1..=40).map(|id| format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"never"}}}}"#)));
        lines.extend(
            (1..=40).map(|id| format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)),
        );
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let said = answers(&lines).await;
        let refused = said.iter().filter(|answer| answer["result"]["isError"] == true).count();
        assert_eq!(refused, 40 - CALLS);
    }
}
