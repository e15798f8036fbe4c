//! Messages of the Agent Client Protocol against the schema of its authors, version 1, which is in their library
//! `@agentclientprotocol/sdk`. The protocol reserves all names of fields but those in `_meta`.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::json_schema::mismatch;

/// The schema, as the library has it.
pub const SCHEMA: &str = include_str!("../../../tests/fixtures/acp/schema.json");

/// An end of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Agent,
    Client,
}

/// Returns what is wrong with a message of `sender`; `None` if it is valid. A response is compared with that to the method
/// `asked`, or with those to any method if the request is not known.
///
/// # Panics
/// If the schema has a keyword that `json_schema` does not know.
pub fn flaw(sender: Side, message: &Value, asked: Option<&str>) -> Option<String> {
    static ROOT: OnceLock<Value> = OnceLock::new();
    let root = ROOT.get_or_init(|| serde_json::from_str(SCHEMA).expect("JSON"));
    let (own, other) = match sender {
        Side::Agent => ("agent", "client"),
        Side::Client => ("client", "agent"),
    };
    let definitions = |side: &'static str, method: Option<&str>, kind: &'static str| {
        let all = root["$defs"].as_object().expect("definitions").iter();
        let method = method.map(str::to_owned);
        all.filter(move |(name, schema)| {
            let sides = [side, "protocol"];
            name.ends_with(kind)
                && sides.iter().any(|side| schema["x-side"] == *side)
                && method.as_ref().is_none_or(|method| schema["x-method"] == **method)
        })
        .map(|(_, schema)| schema)
    };
    let id = &root["$defs"]["RequestId"];
    let envelope = |kind: &str, part: &str| {
        let mut fields = json!({"jsonrpc": {"const": "2.0"}, part: true});
        let mut required = vec!["jsonrpc", part];
        if kind != "Notification" {
            fields["id"] = id.clone();
            required.push("id");
        }
        if kind != "Response" {
            fields["method"] = json!({"type": "string"});
            required.retain(|name| *name != "params");
        }
        mismatch(
            root,
            &json!({"properties": fields, "required": required}),
            message,
            kind,
        )
    };
    let is_extension = |method: &str| method.starts_with('_');
    let Some(method) = message["method"].as_str() else {
        if message.get("error").is_some() {
            let error = || mismatch(root, &root["$defs"]["Error"], &message["error"], "error");
            return envelope("Response", "error").or_else(error);
        }
        if let Some(wrong) = envelope("Response", "result") {
            return Some(wrong);
        }
        if asked.is_some_and(is_extension) {
            return None;
        }
        let at = format!("the response to {}", asked.unwrap_or("a request"));
        let mut flaws =
            definitions(own, asked, "Response").map(|schema| mismatch(root, schema, &message["result"], &at));
        let first = flaws
            .next()
            .unwrap_or_else(|| Some(format!("{at}: there is no such method")));
        return first.filter(|_| flaws.all(|flaw| flaw.is_some()));
    };
    let kind = match message.get("id") {
        Some(_) => "Request",
        None => "Notification",
    };
    if let Some(wrong) = envelope(kind, "params") {
        return Some(wrong);
    }
    if is_extension(method) {
        return None;
    }
    let nothing = json!({});
    match definitions(other, Some(method), kind).next() {
        Some(schema) => mismatch(root, schema, message.get("params").unwrap_or(&nothing), method),
        None => Some(format!("{method}: there is no such {}", kind.to_lowercase())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_compared_with_their_method_and_a_field_that_is_not_described_is_a_flaw() {
        let request =
            |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let opened = json!({"cwd": "/p", "mcpServers": [{"name": "n", "command": "c", "args": [], "env": []}]});
        for (side, message, asked, expected) in [
            (Side::Client, request("session/new", opened), None, None),
            (
                Side::Client,
                request("session/new", json!({"cwd": "/p"})),
                None,
                Some("there is no \"mcpServers\""),
            ),
            (
                Side::Client,
                request("session/new", json!({"cwd": "/p", "mcpServers": [{"name": "n"}]})),
                None,
                Some("session/new.mcpServers[0]"),
            ),
            (
                Side::Client,
                request("session/new", json!({"cwd": "/p", "mcpServers": [], "model": "m"})),
                None,
                Some("model: is not described"),
            ),
            (Side::Client, request("_own/method", json!(3)), None, None),
            (
                Side::Client,
                request("session/set_model", json!({})),
                None,
                Some("no such request"),
            ),
            (
                Side::Agent,
                request("session/prompt", json!({})),
                None,
                Some("no such request"),
            ),
            (
                Side::Agent,
                result(json!({"sessionId": "s"})),
                Some("session/new"),
                None,
            ),
            (Side::Agent, result(json!({"sessionId": "s"})), None, None),
            (
                Side::Agent,
                result(json!({"sessionId": "s"})),
                Some("session/load"),
                Some("sessionId: is not described"),
            ),
            (
                Side::Agent,
                result(json!({"stop": "end_turn"})),
                None,
                Some("a request: "),
            ),
            (
                Side::Agent,
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}}),
                None,
                None,
            ),
            (
                Side::Agent,
                json!({"id": 1, "result": {}}),
                None,
                Some("there is no \"jsonrpc\""),
            ),
        ] {
            let found = flaw(side, &message, asked);
            match expected {
                None => assert_eq!(found, None, "{message}"),
                Some(words) => assert!(
                    found.as_ref().is_some_and(|found| found.contains(words)),
                    "{message}: {found:?}"
                ),
            }
        }
    }
}
