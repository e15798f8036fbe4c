//! The parts of a [`Manifest`](super::Manifest): how a session is started and talked with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_system::files;

use crate::{
    Capabilities, login,
    mcp::McpForm,
    protocol::{LiveKind, Steering},
    template::{Placeholder, Template},
};

/// Most entries of a directory that are looked at.
const ENTRIES_CAP: usize = 4096;
/// Most of a file that lets an agent run commands without asking.
const BYPASS_CAP_BYTES: u64 = 1024 * 1024;

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
    /// The variable that says where it unpacks its libraries at each start: what it leaves there goes with it.
    pub unpacks_to: Option<String>,
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
    /// The name of each use of a tool begins with the tool's own name.
    pub named_calls: bool,
    pub asking: Asking,
    /// Whether the arguments are as ralph has them, or whoever changed those of the command has changed these, too.
    pub is_current: bool,
}

/// What makes an agent ask before it uses a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asking {
    /// In addition to those of the channel.
    pub args: Vec<Template>,
    /// In addition to that of the command.
    pub env: Vec<(String, Template)>,
    /// What is in the file that they name.
    pub file: Option<String>,
    /// Files in which the agent's user allows it to run commands without asking, as they are written.
    pub bypass: Vec<String>,
}

/// What gives an agent its MCP servers, but over ACP, which has them in its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mcp {
    pub form: McpForm,
    /// In addition to those of the command, or of the live channel.
    pub args: Vec<Template>,
    /// In addition to that of the command.
    pub env: Vec<(String, Template)>,
    /// With servers, its program does not end with its turn.
    pub stays: bool,
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

impl Asking {
    /// The first file that lets the agent run commands without asking; one with nothing but comments does not.
    pub fn bypassed_by(&self, project: &Path) -> Option<PathBuf> {
        let files = self.bypass.iter().filter_map(|written| login::expanded(written));
        files
            .flat_map(|file| matching(&project.join(file)))
            .find(|file| says_something(file))
    }
}

/// The files that a path stands for, whose name may be `*` and an ending.
fn matching(path: &Path) -> Vec<PathBuf> {
    let ending = path.file_name().and_then(|name| name.to_str()?.strip_prefix('*'));
    let (Some(ending), Some(directory)) = (ending, path.parent()) else {
        return vec![path.to_owned()];
    };
    // A directory that cannot be read is not read by the agent either.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.take(ENTRIES_CAP).map(|entry| entry.path()).collect();
    found.retain(|path| path.to_str().is_some_and(|path| path.ends_with(ending)));
    found.sort();
    found
}

fn says_something(file: &Path) -> bool {
    match files::read_text(file, BYPASS_CAP_BYTES) {
        Ok(text) => text
            .lines()
            .map(str::trim)
            .any(|line| !line.is_empty() && !line.starts_with('#')),
        Err(error) => !error.is_missing(),
    }
}

impl Mcp {
    /// Whether there is a way to give the agent servers.
    pub fn is_there(&self) -> bool {
        !(self.args.is_empty() && self.env.is_empty())
    }
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
