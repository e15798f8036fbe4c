//! The ACP registry: a catalogue of agents that speak the Agent Client Protocol, and of how each is installed.
//!
//! A copy of it is compiled in. It is never fetched: what an entry names is installed and run, so a copy is read before it
//! is committed.

mod adapter;
#[cfg(test)]
mod copy_tests;
mod entry;
mod launch;

use ralph_policy::settings::closest;
use serde::Deserialize;
use thiserror::Error;

pub use adapter::adapter_text;
pub use entry::RegistryEntry;
pub use launch::{AgentLaunch, LaunchError, LaunchSource, launch, program_of};

/// The beginning of the ids of adapters that are made of entries and have no file: `acp:goose`.
pub const PREFIX: &str = "acp:";

/// The copy, written by `.ci/acp-registry`.
const COPY: &str = include_str!("../../adapters/registry.json");

/// The copy of the registry.
#[derive(Debug, Deserialize)]
pub struct Registry {
    /// The address of the registry.
    source: String,
    /// The day of the copy.
    date: String,
    agents: Vec<RegistryEntry>,
}

/// The registry has no such agent.
#[derive(Debug, Error)]
#[error("the ACP registry has no agent `{id}`")]
pub struct UnknownEntry {
    id: String,
    suggestion: Option<String>,
    known: Vec<String>,
}

impl UnknownEntry {
    /// Advice for the user, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        let did_you_mean = self.suggestion.iter().map(|id| format!("did you mean `{id}`?"));
        let known = format!("there are: {}", self.known.join(", "));
        did_you_mean.chain([known]).collect()
    }
}

impl Registry {
    /// Reads the copy.
    pub fn compiled_in() -> Self {
        serde_json::from_str(COPY).expect("a test reads the copy")
    }

    /// The entry of the agent `id`.
    ///
    /// # Errors
    /// [`UnknownEntry`].
    pub fn entry(&self, id: &str) -> Result<&RegistryEntry, UnknownEntry> {
        let ids = self.agents.iter().map(|entry| entry.id.as_str());
        self.agents
            .iter()
            .find(|entry| entry.id == id)
            .ok_or_else(|| UnknownEntry {
                id: ralph_text::escape_name(id),
                suggestion: closest(id, ids.clone()).map(str::to_owned),
                known: ids.map(str::to_owned).collect(),
            })
    }

    /// Describes the source and the day of the copy.
    pub fn described(&self) -> String {
        format!("the ACP registry, {} of {}", self.source, self.date)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::catalog::{AdapterSources, Catalog, manifest_of_text};

    /// Every entry of the copy, with its adapter where its program is on PATH.
    fn adapters() -> Vec<(RegistryEntry, String)> {
        let catalog = Catalog::load(&AdapterSources::default());
        let registry = Registry::compiled_in();
        let adapter = |entry: &RegistryEntry| {
            let there = |name: &str| Some(PathBuf::from("/bin").join(name));
            let launch = launch(entry, there).or_else(|_| launch(entry, |_| None)).ok()?;
            let known = catalog.knows_agent(entry);
            let launch = launch.with_variables_of(known.as_ref());
            let text = adapter_text(entry, &launch, &registry.described(), known.as_ref());
            Some((entry.clone(), text))
        };
        registry.agents.iter().filter_map(adapter).collect()
    }

    #[test]
    fn every_entry_of_the_copy_makes_an_adapter_of_the_live_channel_alone() {
        let catalog = Catalog::load(&AdapterSources::default());
        let adapters = adapters();
        assert!(adapters.len() > 20, "{}", adapters.len());
        for (entry, text) in adapters {
            let manifest = manifest_of_text(&entry.id, &text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_eq!((manifest.channels(), &*manifest.title), ("live", &*entry.name));
            let is_known = catalog.knows_agent(&entry).is_some();
            assert!(
                is_known || manifest.state[0] == format!("~/.{}", entry.id.trim_end_matches("-acp")),
                "{text}"
            );
        }
    }

    #[test]
    fn an_adapter_has_the_directories_and_the_login_of_the_adapter_that_knows_the_agent() {
        let adapters = adapters();
        let of = |id: &str| &adapters.iter().find(|(entry, _)| entry.id == id).expect("an adapter").1;
        insta::assert_snapshot!(format!("{}\n{}", of("claude-acp"), of("auggie")), @r#"
        # Claude Agent 0.85.1 over the Agent Client Protocol, from the ACP registry, https://github.com/agentclientprotocol/registry of 2026-11-27.
        # Licence: proprietary. https://github.com/agentclientprotocol/claude-agent-acp
        # Every key is explained in docs/guide/adapters.md.

        title = "Claude Agent"

        [command]
        program = "claude-agent-acp"
        env_remove = ["AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT"]

        [command.env]
        DISABLE_AUTOUPDATER = "1"
        IS_SANDBOX = "1"

        [live]
        protocol = "acp"
        args = []

        [model]
        form = "any"

        [login]
        env = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"]
        files = ["$CLAUDE_CONFIG_DIR/.credentials.json", "~/.claude/.credentials.json"]
        hint = "run `claude` and type `/login`, or set ANTHROPIC_API_KEY"

        [sandbox]
        write = ["$CLAUDE_CONFIG_DIR", "~/.claude"]
        write_files = ["~/.claude.json"]
        hosts = ["api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"]

        [install]
        hint = "npm install -g @agentclientprotocol/claude-agent-acp@0.85.1"

        # Auggie CLI 0.21.0 over the Agent Client Protocol, from the ACP registry, https://github.com/agentclientprotocol/registry of 2026-11-27.
        # Licence: proprietary. https://github.com/augmentcode/auggie
        # Every key is explained in docs/guide/adapters.md.

        title = "Auggie CLI"

        [command]
        program = "auggie"

        [command.env]
        AUGMENT_DISABLE_AUTO_UPDATE = "1"

        [live]
        protocol = "acp"
        args = ["--acp"]

        [model]
        form = "any"

        [sandbox]
        # The directories that are usual for its name. If it keeps its state elsewhere, name that directory here.
        write = ["~/.auggie", "$XDG_CONFIG_HOME/auggie", "~/.config/auggie", "$XDG_DATA_HOME/auggie", "~/.local/share/auggie", "$XDG_STATE_HOME/auggie", "~/.local/state/auggie", "$XDG_CACHE_HOME/auggie", "~/.cache/auggie"]

        [install]
        hint = "npm install -g @augmentcode/auggie@0.21.0"
        "#);
    }

    #[test]
    fn an_unknown_agent_gets_a_suggestion() {
        let error = Registry::compiled_in().entry("gose").expect_err("no such agent");
        assert_eq!(error.to_string(), "the ACP registry has no agent `gose`");
        let hints = error.hints();
        assert_eq!(hints[0], "did you mean `goose`?");
        assert!(hints[1].starts_with("there are: amp-acp, auggie, "), "{hints:?}");
    }
}
