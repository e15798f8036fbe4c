//! The parts of a [`Manifest`](super::Manifest): how a session is started and talked with.

use crate::agent::{
    Capabilities,
    protocol::{LiveKind, Steering},
    template::{Placeholder, Template},
};

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

impl Live {
    /// Whether the arguments carry `placeholder`.
    pub fn takes(&self, placeholder: Placeholder) -> bool {
        self.args.iter().any(|arg| arg.whole() == Some(placeholder))
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
