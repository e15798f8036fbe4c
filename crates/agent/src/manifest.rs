//! The manifest of an agent: how it is run, as its adapter file says. `docs/guide/adapters.md` is the reference for
//! users.
//!
//! A [`Manifest`] is always complete and checked: every placeholder in it exists and is allowed where it stands. A
//! manifest does not depend on whether the program is installed.

mod parts;
mod reader;
mod written;

use std::{path::Path, sync::Arc};

use ralph_core::event::ToolKinds;
use ralph_policy::settings::{LayerError, Merged};
use ralph_system::proc::Ladder;

use super::{
    AgentError, Capabilities,
    dialect::{DialectKind, DialectTrait, LinePatterns},
    login::{CredentialSources, expanded},
    manifest_error::ManifestError,
    model::{ModelForm, ProviderMissing},
    template::{AdapterPlaceholder, AdapterTemplate},
};
use reader::AdapterReader;
use written::UsageScope;

pub(super) use parts::{AskSettings, CommandTemplate, McpDelivery, PromptBy, SubagentCap, SubagentSettings};
pub use parts::{LiveLaunch, Transport};
pub(super) use written::{LANGUAGE, WrittenAdapter};

/// A complete adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub id: String,
    pub title: String,
    /// The place among the built-in adapters of which a run that names none uses the first.
    pub rank: Option<u32>,
    /// The id of the same agent in the ACP registry.
    pub acp: Option<String>,
    /// The version for which the adapter was written and tested.
    pub verified: Option<String>,
    pub transport: Transport,
    /// The format of the output in a one-way session. `None` if the agent has only a live channel.
    pub dialect: Option<DialectKind>,
    /// The patterns of the output, for agents with the `terminal` dialect.
    pub patterns: Option<Arc<LinePatterns>>,
    pub command: CommandTemplate,
    /// The channel that can carry messages to a running agent.
    pub live: Option<LiveLaunch>,
    pub mcp: McpDelivery,
    pub subagents: SubagentSettings,
    pub model_form: ModelForm,
    /// Whether usage is reported as the sum over a session, including its earlier turns.
    pub sums_usage: bool,
    pub stop: Ladder,
    /// Arguments that make the program print its version.
    pub probe: Option<Vec<String>>,
    pub credentials: CredentialSources,
    /// The directories of the agent's own state, each beginning with `~/` or with `$NAME`.
    pub state: Vec<String>,
    /// The files of the agent's own state outside of these directories.
    pub state_files: Vec<String>,
    /// The hosts that a confined agent may connect to.
    pub hosts: Vec<String>,
    /// The command that installs the program.
    pub install: Option<String>,
    pub capabilities: Capabilities,
}

impl Manifest {
    /// The kinds of tools before every use of which the agent asks on one of its channels, as text.
    pub fn asks_before(&self) -> String {
        let capabilities = self.live.as_ref().map_or(self.capabilities, |live| live.capabilities);
        match capabilities.asks {
            ToolKinds::NONE => "no tool".to_owned(),
            ToolKinds::ALL => "every tool".to_owned(),
            kinds => kinds.names().collect::<Vec<_>>().join(", "),
        }
    }

    /// Whether the program is ralph itself.
    pub fn is_ralph(&self) -> bool {
        self.command.program.whole() == Some(AdapterPlaceholder::Ralph)
    }

    /// The manifest with the path of its program in place of a name or a path from the project, for a start elsewhere.
    #[must_use]
    pub fn found_at(mut self, path: &Path) -> Self {
        let path = path.to_str().filter(|_| !self.is_ralph());
        let program = path.map(|path| AdapterTemplate::parse(path, &[] as &[AdapterPlaceholder]));
        if let Some(Ok(program)) = program {
            self.command.program = program;
        }
        self
    }

    /// The ways in which ralph can talk to the agent, as text.
    pub fn channels(&self) -> &'static str {
        match (self.transport, self.dialect, &self.live) {
            (Transport::Http, ..) => "server",
            (Transport::Pty, Some(_), Some(_)) => "one-way, live",
            (Transport::Pty, None, Some(_)) => "live",
            (Transport::Pty, _, None) => "one-way",
        }
    }

    /// Builds the manifest of adapter `id` from its merged layers.
    ///
    /// # Errors
    /// The first error, with the place where it was written.
    pub fn from_merged(id: &str, merged: &Merged) -> Result<Self, ManifestError> {
        let written: WrittenAdapter = merged.read().map_err(LayerError::from_mistakes)?;
        let reader = AdapterReader {
            id,
            written: &written,
            merged,
        };
        let transport = written.transport;
        let dialect = reader.dialect()?;
        let command = reader.command()?;
        let live = reader.live(&command)?;
        let capabilities = Capabilities {
            live_steering: reader.live_steering()?,
            permissions: transport == Transport::Http,
            asks: match transport {
                Transport::Pty => ToolKinds::NONE,
                Transport::Http => ToolKinds::ALL,
            },
            dispensable: ToolKinds::NONE,
            resume: transport == Transport::Http
                || command.resume.is_some() && command.takes(AdapterPlaceholder::Resume),
            usage: written.capabilities.usage,
            cost: written.capabilities.cost,
            usage_in_turn: written
                .capabilities
                .usage_in_turn
                .unwrap_or_else(|| dialect.is_none_or(|dialect| dialect.has(DialectTrait::UsageInTurn))),
        };
        let capabilities = match (&live, dialect) {
            (Some(live), None) => live.capabilities,
            (_, _) => capabilities,
        };
        let (state, state_files) = reader.state();
        Ok(Self {
            id: id.to_owned(),
            transport,
            patterns: reader.patterns(dialect)?,
            dialect,
            command,
            live,
            mcp: reader.mcp()?,
            subagents: reader.subagents()?,
            model_form: written.model.form,
            sums_usage: match written.usage.counts {
                Some(UsageScope::Turn) => false,
                Some(UsageScope::Session) => true,
                None => dialect.is_some_and(|dialect| dialect.has(DialectTrait::SumsUsage)),
            },
            stop: reader.stop(),
            credentials: reader.credentials(),
            capabilities,
            state,
            state_files,
            title: written.title.unwrap_or_else(|| id.to_owned()),
            rank: written.rank,
            acp: written.acp,
            verified: written.verified,
            probe: written.probe.args,
            hosts: written.sandbox.hosts,
            install: written.install.hint,
        })
    }
}

impl Manifest {
    /// The account that the agent works with: the directory of its own state, which an adapter may move, or else its id.
    pub fn account(&self) -> String {
        let home = self.state.iter().find_map(|path| expanded(path));
        home.map_or_else(|| self.id.clone(), |home| home.to_string_lossy().into_owned())
    }

    /// Whether sessions can be given MCP servers on the channel; `None` is the one-way channel.
    pub fn takes_servers(&self, live: Option<&LiveLaunch>) -> bool {
        let in_messages = live.is_some_and(|live| live.protocol.transmits(AdapterPlaceholder::McpServers));
        in_messages || self.mcp.is_there()
    }

    /// Checks whether the agent can be given a model and an agent of its own. Running it without them would be worse
    /// than not running it.
    ///
    /// # Errors
    /// [`AgentError::NoPlaceFor`] or [`AgentError::ProviderMissing`].
    pub fn can_be_given(&self, model: Option<&str>, agent: Option<&str>) -> Result<(), AgentError> {
        let no_place = |what, value: &str| AgentError::NoPlaceFor {
            id: self.id.clone(),
            what,
            value: value.to_owned(),
        };
        // A server gets both with each request.
        let takes = |placeholder| match (&self.live, self.dialect) {
            _ if self.transport == Transport::Http => true,
            (Some(live), None) => live.protocol.transmits(placeholder) || live.takes(placeholder),
            (_, _) => self.command.takes(placeholder),
        };
        if let Some(model) = model {
            if !takes(AdapterPlaceholder::Model) {
                return Err(no_place("model", model));
            }
            self.model_form
                .apply(model)
                .map_err(|ProviderMissing| AgentError::ProviderMissing {
                    id: self.id.clone(),
                    model: model.to_owned(),
                })?;
        }
        match agent {
            Some(agent) if !takes(AdapterPlaceholder::Agent) => Err(no_place("agent", agent)),
            Some(_) | None => Ok(()),
        }
    }
}
