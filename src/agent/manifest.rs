//! How one agent is run, as its adapter file says. `adapters/README.md` is the reference for users.
//!
//! A [`Manifest`] is always complete and checked: every placeholder in it exists and means something where it stands.
//! Programs are not looked for here; a manifest of an agent that is not installed is a good manifest.

mod reader;
mod written;

use crate::{proc::Ladder, settings::Merged};

use super::{
    AgentError, Capabilities,
    dialect::DialectKind,
    login::Credentials,
    manifest_error::ManifestError,
    model::{ModelForm, ProviderMissing},
    protocol::{LiveKind, Steering},
    template::{Placeholder, Template},
};
use reader::Reader;
use written::Counts;

pub(super) use written::{LANGUAGE, Written};

/// A complete adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub id: String,
    pub title: String,
    /// The version it was written for and tested with.
    pub verified: Option<String>,
    pub transport: Transport,
    /// How the output is understood of a session that gets its prompt and is listened to. None if it can only be talked
    /// with on the live channel.
    pub dialect: Option<DialectKind>,
    pub command: Command,
    /// The channel on which the agent can be told something while it works.
    pub live: Option<Live>,
    pub model_form: ModelForm,
    /// Whether usage is reported as the sum over a session, those of its turns that came before included.
    pub sums_usage: bool,
    pub stop: Ladder,
    /// Arguments that make the program print its version.
    pub probe: Option<Vec<String>>,
    pub credentials: Credentials,
    /// What to type to install the program.
    pub install: Option<String>,
    pub capabilities: Capabilities,
}

/// The command line of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: Template,
    pub args: Vec<Template>,
    /// What `{model}`, `{agent}` and `{resume}` in `args` stand for, each nothing when there is none to name.
    pub model: Option<Vec<Template>>,
    pub agent: Option<Vec<Template>>,
    pub resume: Option<Vec<Template>>,
    pub prompt: PromptBy,
    pub env: Vec<(String, Template)>,
    pub env_remove: Vec<String>,
    /// Its tools do not see the user's configuration of git, and need the committer's identity.
    pub git_identity: bool,
}

/// How a session is run that is talked to while it works: the program of [`Command`], with other arguments, and its
/// standard input open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    pub protocol: LiveKind,
    pub args: Vec<Template>,
    pub steering: Steering,
    /// What the agent can do there.
    pub capabilities: Capabilities,
    /// Whether the arguments are as ralph has them, or whoever changed those of the command has changed these, too.
    pub is_current: bool,
}

/// What carries a session's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A process with a terminal, one for each session.
    Pty,
    /// A server that the sessions of a run share; `command` starts it.
    Http,
}

/// How the agent gets its prompt. Never as an argument: those end at 128 KiB and may be taken for options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// On standard input, which is closed after it.
    Stdin,
    /// In the file that `{prompt_file}` names; standard input is empty.
    File,
}

impl Manifest {
    /// The ways in which the agent can be talked with, in words.
    pub fn channels(&self) -> &'static str {
        match (self.transport, self.dialect, &self.live) {
            (Transport::Http, ..) => "server",
            (Transport::Pty, Some(_), Some(_)) => "one-way, live",
            (Transport::Pty, None, Some(_)) => "live",
            (Transport::Pty, _, None) => "one-way",
        }
    }

    /// Makes the manifest of adapter `id` out of its merged layers.
    ///
    /// # Errors
    /// The first thing that is wrong, with the place where it was written.
    pub fn of(id: &str, merged: &Merged) -> Result<Self, ManifestError> {
        let written: Written = merged.read().map_err(ManifestError::written)?;
        let reader = Reader {
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
            rules: false,
            resume: transport == Transport::Http || command.resume.is_some() && command.takes(Placeholder::Resume),
            usage: written.capabilities.usage,
            cost: written.capabilities.cost,
        };
        let capabilities = match (&live, dialect) {
            (Some(live), None) => live.capabilities,
            (_, _) => capabilities,
        };
        Ok(Self {
            id: id.to_owned(),
            transport,
            dialect,
            command,
            live,
            model_form: written.model.form,
            sums_usage: match written.usage.counts {
                Some(Counts::Turn) => false,
                Some(Counts::Session) => true,
                None => dialect.is_some_and(DialectKind::sums_usage),
            },
            stop: reader.stop(),
            credentials: reader.credentials(),
            capabilities,
            title: written.title.unwrap_or_else(|| id.to_owned()),
            verified: written.verified,
            probe: written.probe.args,
            install: written.install.hint,
        })
    }
}

impl Manifest {
    /// Tells whether the agent can be given a model and an agent of its own. Running it without them would be worse than
    /// not running it.
    ///
    /// # Errors
    /// [`AgentError::NoPlaceFor`] or [`AgentError::ProviderMissing`].
    pub fn can_be_given(&self, model: Option<&str>, agent: Option<&str>) -> Result<(), AgentError> {
        let no_place = |what, value: &str| AgentError::NoPlaceFor {
            id: self.id.clone(),
            what,
            value: value.to_owned(),
        };
        // A server is told with each request.
        let takes = |placeholder| match (&self.live, self.dialect) {
            _ if self.transport == Transport::Http => true,
            (Some(live), None) => live.protocol.hands_over(placeholder) || live.takes(placeholder),
            (_, _) => self.command.takes(placeholder),
        };
        if let Some(model) = model {
            if !takes(Placeholder::Model) {
                return Err(no_place("model", model));
            }
            self.model_form
                .of(model)
                .map_err(|ProviderMissing| AgentError::ProviderMissing {
                    id: self.id.clone(),
                    model: model.to_owned(),
                })?;
        }
        match agent {
            Some(agent) if !takes(Placeholder::Agent) => Err(no_place("agent", agent)),
            Some(_) | None => Ok(()),
        }
    }
}

impl Live {
    /// Whether the arguments carry `placeholder`.
    pub fn takes(&self, placeholder: Placeholder) -> bool {
        self.args.iter().any(|arg| arg.whole() == Some(placeholder))
    }

    /// Whether the agent can be told something here, and nothing is lost by it that it does on its other channel.
    pub fn is_better(&self, one_way: Capabilities) -> bool {
        let live = self.capabilities;
        live.live_steering
            && (live.resume || !one_way.resume)
            && (live.usage || !one_way.usage)
            && (live.cost || !one_way.cost)
    }
}

impl Command {
    /// Whether the arguments or the environment can carry `placeholder`.
    pub fn takes(&self, placeholder: Placeholder) -> bool {
        let of_env = self.env.iter().map(|(_, value)| value);
        self.args
            .iter()
            .chain(of_env)
            .any(|template| template.placeholders().any(|found| found == placeholder))
    }
}
