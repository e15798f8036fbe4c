//! Syntax of MCP servers: objects by name.

use std::collections::BTreeMap;

use ralph_agent::mcp::{McpServer, OWN_NAME};
use ralph_policy::{
    settings,
    settings::{
        AnyText, Grammar, Mistake, Node, OpenGroup, SingleLine, TextList, accept, accept_or, all, group_schema,
        json_if, read_item,
    },
};
use serde_json::{Value, json};

/// Maximum length of a name, which agents put before the names of the server's tools.
const NAME_BYTES: usize = 32;

settings! {
    /// A program that serves tools to agents.
    struct McpServerSettings {
        /// The program: a name on `PATH`, or a path.
        command("command"): SingleLine,
        /// Arguments, passed without a shell.
        args("args"): TextList = [],
        /// Variables in addition to those that the agent passes on.
        env("env"): OpenGroup<AnyText>,
    }
}

/// Syntax of servers by name.
pub struct McpTables;

impl Grammar for McpTables {
    type Value = Vec<McpServer>;

    fn read(node: &Node, key: &str) -> Result<Vec<McpServer>, Vec<Mistake>> {
        let Some(tables) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        all(tables.iter().map(|(name, table)| {
            if let Some(why) = no_name(name) {
                accept_or::<Self>(table, key, Err(Some(why)))?;
            }
            let key = format!("{key}.{name}");
            let written = read_item::<McpServerSettings>(table, &key, "a server", EXAMPLE)?;
            let env: BTreeMap<String, String> = written.env.into_iter().collect();
            Ok(McpServer {
                name: name.clone(),
                command: written.command,
                args: written.args,
                env: env.into_iter().collect(),
            })
        }))
    }

    fn expected() -> String {
        r#"an object of servers, such as {"cclsp": {"command": "cclsp"}}"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": group_schema::<McpServerSettings>() })
    }

    fn from_variable(word: &str) -> Value {
        json_if(word, Value::is_object)
    }
}

const EXAMPLE: &str = r#"a server, such as {"command": "cclsp", "args": []}"#;

/// Returns the reason why a server cannot have the name.
fn no_name(name: &str) -> Option<String> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if name == OWN_NAME {
        return Some(format!("`{OWN_NAME}` is the name of ralph's own server"));
    }
    let is_good = (1..=NAME_BYTES).contains(&name.len()) && name.chars().all(is_word) && !name.contains("__");
    (!is_good).then(|| format!("`{name}` is no name of a server, which has letters, digits, `-` and `_`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::SettingOrigin;

    fn read(value: Value) -> Result<Vec<McpServer>, String> {
        let read = McpTables::read(&Node::from_value(value, &SettingOrigin::Default), "mcp");
        read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_server_has_a_command_and_may_have_arguments_and_variables() {
        let servers = read(json!({"lsp": {"command": "cclsp", "args": ["-v"], "env": {"A": "b"}}})).unwrap();
        assert_eq!(servers[0].args, ["-v"]);
        assert_eq!(servers[0].env, [("A".to_owned(), "b".to_owned())]);
        assert_eq!(read(json!({})).unwrap(), []);
    }

    #[test]
    fn what_is_wrong_with_a_server_is_told_with_its_place() {
        for (value, why) in [
            (json!({"ralph": {"command": "x"}}), "ralph's own"),
            (json!({"a b": {"command": "x"}}), "letters, digits"),
            (json!({"a__b": {"command": "x"}}), "letters, digits"),
            (json!({"lsp": {"args": []}}), "mcp.lsp"),
            (json!({"lsp": {"command": ""}}), "mcp.lsp.command"),
            (json!({"lsp": {"command": "x", "url": "y"}}), "url"),
            (json!({"lsp": "cclsp"}), "mcp.lsp"),
            (json!(["cclsp"]), "an object of servers"),
        ] {
            let told = read(value.clone()).unwrap_err();
            assert!(told.contains(why), "{value}: {told}");
        }
    }
}
