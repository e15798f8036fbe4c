//! The adapter file of an entry's agent.

use std::fmt::Write as _;

use super::{
    entry::RegistryEntry,
    launch::{AgentLaunch, LaunchSource, install_hints, names},
};
use crate::{manifest::Manifest, state::HOMES};

/// The comment on directories that are not known for certain.
const USUAL: &str =
    "# The directories that are usual for its name. If it keeps its state elsewhere, name that directory here.";

/// The directories of the agent's own state: those of the adapter that knows the agent, or else those that are usual for
/// its names.
fn state_directories(entry: &RegistryEntry, known: Option<&Manifest>) -> Vec<String> {
    if let Some(known) = known {
        return known.state.clone();
    }
    let names = names(entry);
    let hidden = names.iter().map(|name| format!("~/.{name}"));
    let below = HOMES
        .iter()
        .flat_map(|home| names.iter().map(move |name| format!("{home}/{name}")));
    hidden.chain(below).collect()
}

/// Writes the adapter. `origin` says where the entry is from, `known` is the built-in adapter of the same agent.
pub fn adapter_text(entry: &RegistryEntry, launch: &AgentLaunch, origin: &str, known: Option<&Manifest>) -> String {
    let mut text = head(entry, origin);
    let mut line = |text_of_line: &str| writeln!(text, "{text_of_line}").expect("a string takes every write");
    line(&format!("title = {}", quoted(&entry.name)));
    line("\n[command]");
    line(&format!("program = {}", quoted(&launch.program)));
    if let Some(command) = known.map(|known| &known.command) {
        if !command.env_remove.is_empty() {
            line(&format!("env_remove = {}", list(&command.env_remove)));
        }
        if let Some(variable) = &command.unpacks_to {
            line(&format!("unpacks_to = {}", quoted(variable)));
        }
        if command.git_identity {
            line("git_identity = true");
        }
    }
    if !launch.env.is_empty() {
        line("\n[command.env]");
        for (name, value) in &launch.env {
            line(&format!("{name} = {}", quoted(value)));
        }
    }
    line("\n[live]");
    line("protocol = \"acp\"");
    if let LaunchSource::Npm(_) = launch.source {
        line("# `--prefix /`: npx takes no settings and no programs from the project.");
    }
    line(&format!("args = {}", list(&launch.args)));
    line("\n[model]\nform = \"any\"");
    let state = state_directories(entry, known);
    let mut section = |name: &str, comment: Option<&str>, values: Vec<(&str, String)>| {
        let values: Vec<_> = values.into_iter().filter(|(_, value)| value != "[]").collect();
        if values.is_empty() {
            return;
        }
        line(&format!("\n[{name}]"));
        comment.into_iter().for_each(&mut line);
        for (key, value) in values {
            line(&format!("{key} = {value}"));
        }
    };
    match known {
        Some(known) => {
            let login = &known.credentials;
            let hint = login.hint.iter().map(|hint| ("hint", quoted(hint)));
            let lists = [("env", &login.env), ("keys", &login.keys), ("files", &login.files)];
            let lists = lists.into_iter().map(|(key, texts)| (key, list(texts)));
            section("login", None, lists.chain(hint).collect());
            let places = [
                ("write", &state),
                ("write_files", &known.state_files),
                ("hosts", &known.hosts),
            ];
            section(
                "sandbox",
                None,
                places.into_iter().map(|(key, texts)| (key, list(texts))).collect(),
            );
        }
        None => section("sandbox", Some(USUAL), vec![("write", list(&state))]),
    }
    if let Some(hint) = install_hints(entry).first() {
        line(&format!("\n[install]\nhint = {}", quoted(hint)));
    }
    text
}

fn head(entry: &RegistryEntry, origin: &str) -> String {
    let license = entry.license.as_deref().unwrap_or("not named");
    let sources = entry
        .repository
        .as_ref()
        .map(|address| format!(" {address}"))
        .unwrap_or_default();
    format!(
        "# {} {} over the Agent Client Protocol, from {}.\n# Licence: {license}.{sources}\n\
         # Every key is explained in docs/guide/adapters.md.\n\n",
        entry.name, entry.version, origin,
    )
}

/// A text of TOML: one of JSON is, since it has no control characters. A test keeps what looks like a placeholder out of
/// the copy.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}
