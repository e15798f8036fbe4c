//! Syntax of language servers: changes to the built-in ones, and additional ones.

use ralph_policy::{
    grammars, settings,
    settings::{
        Grammar, Maybe, Mistake, Node, SingleLine, Switch, TextList, accept, accept_or, group_schema, json_if,
        read_item,
    },
};
use ralph_tools::language::{LanguageServer, built_in};
use serde_json::{Value, json};

settings! {
    /// A language server: a new one, or changes to a known one.
    struct LanguageServerSettings {
        /// Whether the server is used.
        enabled("enabled"): Maybe<Switch>,
        /// The program: a name on `PATH`, or a path. A new server defaults to its own name.
        command("command"): Maybe<SingleLine>,
        /// Arguments, passed without a shell.
        args("args"): Maybe<TextList>,
        /// Extensions of the files that the server handles: ["nix"].
        extensions("extensions"): Maybe<TextList>,
        /// Files that mark the root of a workspace: ["flake.nix"]. Without one, the project is the root.
        roots("roots"): Maybe<TextList>,
        /// The language id of the protocol, if it is not the extension.
        language("language"): Maybe<SingleLine>,
        /// The `initializationOptions` of the server.
        options("options"): Maybe<InitializationOptions>,
    }
}

grammars! {
    /// An object that is passed to the server unchanged.
    InitializationOptions: Value, "an object", json!({ "type": "object" }),
        |node| Some(node.value()).filter(Value::is_object);
}

/// All language servers, the user's first.
pub struct LanguageServers;

const EXAMPLE: &str = r#"a language server, such as {"command": "nixd", "extensions": ["nix"]}"#;

impl Grammar for LanguageServers {
    type Value = Vec<LanguageServer>;

    fn read(node: &Node, key: &str) -> Result<Vec<LanguageServer>, Vec<Mistake>> {
        let Some(tables) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let (mut own, mut known, mut mistakes) = (Vec::new(), built_in(), Vec::new());
        for (name, table) in tables {
            let key = format!("{key}.{name}");
            match read_item::<LanguageServerSettings>(table, &key, "a language server", EXAMPLE) {
                Ok(written) => {
                    let at = known.iter().position(|server| server.name == *name);
                    if at.is_none() && written.extensions.as_ref().is_none_or(Vec::is_empty) {
                        let why = format!(
                            "`{name}` is none of those that ralph knows: `extensions` says which files it is for"
                        );
                        let mistake = accept_or::<Self>(table, &key, Err::<Vec<LanguageServer>, _>(Some(why)));
                        mistakes.extend(mistake.err().into_iter().flatten());
                        continue;
                    }
                    let is_used = written.enabled != Some(false);
                    let server = changed(at.map(|at| known.remove(at)), name, written);
                    match at {
                        _ if !is_used => {}
                        Some(at) => known.insert(at, server),
                        None => own.push(server),
                    }
                }
                Err(found) => mistakes.extend(found),
            }
        }
        own.extend(known);
        match mistakes.is_empty() {
            true => Ok(own),
            false => Err(mistakes),
        }
    }

    fn expected() -> String {
        r#"an object of language servers, such as {"nixd": {"command": "nixd", "extensions": ["nix"]}}"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": group_schema::<LanguageServerSettings>() })
    }

    fn from_variable(word: &str) -> Value {
        json_if(word, Value::is_object)
    }
}

fn changed(known: Option<LanguageServer>, name: &str, written: LanguageServerSettings) -> LanguageServer {
    let known = known.unwrap_or_else(|| LanguageServer {
        name: name.to_owned(),
        command: name.to_owned(),
        args: Vec::new(),
        extensions: Vec::new(),
        roots: Vec::new(),
        language: None,
        options: Value::Null,
    });
    let without_dot = |extension: String| extension.trim_start_matches('.').to_ascii_lowercase();
    let extensions = written.extensions.map(|all| all.into_iter().map(without_dot).collect());
    LanguageServer {
        name: known.name,
        command: written.command.unwrap_or(known.command),
        args: written.args.unwrap_or(known.args),
        extensions: extensions.unwrap_or(known.extensions),
        roots: written.roots.unwrap_or(known.roots),
        language: written.language.or(known.language),
        options: written.options.unwrap_or(known.options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::SettingOrigin;

    fn read(value: Value) -> Result<Vec<LanguageServer>, String> {
        let read = LanguageServers::read(&Node::from_value(value, &SettingOrigin::Default), "languageServers");
        read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn known_servers_are_changed_or_left_out_and_the_users_own_come_first() {
        assert_eq!(read(json!({})).unwrap(), built_in());
        let servers = read(json!({
            "gopls": {"args": ["-remote=auto"]},
            "pylsp": {"enabled": false},
            "nixd": {"extensions": [".Nix"], "options": {"a": 1}},
        }));
        let servers = servers.unwrap();
        assert_eq!(
            (&*servers[0].command, &*servers[0].extensions),
            ("nixd", &["nix".to_owned()][..])
        );
        assert_eq!(servers[0].options, json!({"a": 1}));
        let gopls = servers.iter().find(|server| server.name == "gopls").expect("gopls");
        assert_eq!(
            (&*gopls.args, &*gopls.extensions),
            (&["-remote=auto".to_owned()][..], &["go".to_owned()][..])
        );
        assert!(!servers.iter().any(|server| server.name == "pylsp"));
        assert_eq!(servers.len(), built_in().len());
    }

    #[test]
    fn what_is_wrong_with_a_server_is_told_with_its_place() {
        for (value, why) in [
            (json!({"nixd": {"command": "nixd"}}), "`extensions` says"),
            (json!({"gopls": {"arg": []}}), "languageServers.gopls.arg"),
            (json!({"gopls": {"options": []}}), "an object"),
            (json!({"gopls": "gopls"}), "languageServers.gopls"),
            (json!([]), "an object of language servers"),
        ] {
            let told = read(value.clone()).unwrap_err();
            assert!(told.contains(why), "{value}: {told}");
        }
    }
}
