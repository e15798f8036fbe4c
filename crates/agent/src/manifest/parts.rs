//! The parts of a [`Manifest`](super::Manifest) that describe how a session is started and talked to.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::SubagentLimits;
use ralph_system::files;

use crate::{
    Capabilities, login,
    mcp::McpForm,
    protocol::{LiveKind, Steering},
    template::{AdapterPlaceholder, AdapterTemplate},
};

/// Most entries of a directory that are read.
const ENTRIES_CAP: usize = 4096;
/// Most bytes of a file with rules that let an agent run commands without asking.
const BYPASS_CAP_BYTES: u64 = 1024 * 1024;

/// The command line of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    pub program: AdapterTemplate,
    pub args: Vec<AdapterTemplate>,
    /// The replacements of `{model}`, `{agent}` and `{resume}` in `args`. Each is left out if the session has no such
    /// value.
    pub model: Option<Vec<AdapterTemplate>>,
    pub agent: Option<Vec<AdapterTemplate>>,
    pub resume: Option<Vec<AdapterTemplate>>,
    pub prompt: PromptBy,
    pub env: Vec<(String, AdapterTemplate)>,
    pub env_remove: Vec<String>,
    /// The variable that names the directory into which the program unpacks its libraries at each start. The directory
    /// is removed with the program.
    pub unpacks_to: Option<String>,
    /// Whether the agent's tools do not see the user's git configuration, and need the committer's identity.
    pub git_identity: bool,
}

/// The launch of a live session: the program of `CommandTemplate` with other arguments and an open standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveLaunch {
    pub protocol: LiveKind,
    pub args: Vec<AdapterTemplate>,
    pub steering: Steering,
    /// The capabilities of the agent on this channel.
    pub capabilities: Capabilities,
    /// Whether the id of each tool use begins with the tool's own name.
    pub named_calls: bool,
    pub asking: AskSettings,
    /// Whether the live arguments and the command's arguments come from the same level: both built in, or both changed.
    pub is_current: bool,
}

/// Settings that make an agent ask before it uses a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskSettings {
    /// Arguments in addition to those of the channel.
    pub args: Vec<AdapterTemplate>,
    /// Variables in addition to those of the command.
    pub env: Vec<(String, AdapterTemplate)>,
    /// The content of the file named by `{asking_file}`.
    pub file: Option<String>,
    /// Files in which the agent's user allows it to run commands without asking, as paths or patterns.
    pub bypass: Vec<String>,
}

/// The way in which an agent is given its MCP servers. Not used with ACP, whose messages carry them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpDelivery {
    pub form: McpForm,
    /// Arguments in addition to those of the command, or of the live channel.
    pub args: Vec<AdapterTemplate>,
    /// Variables in addition to those of the command.
    pub env: Vec<(String, AdapterTemplate)>,
    /// Whether a program with servers keeps running after its turn.
    pub stays: bool,
}

/// The subagents that an agent starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentSettings {
    /// The names of the tools that start one.
    pub tools: Vec<String>,
    pub at_once: SubagentCap,
    pub depth: SubagentCap,
}

/// A limit of the agent itself on its subagents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentCap {
    /// The limit if it is not set.
    pub own: Option<u32>,
    /// Arguments that set it.
    pub args: Vec<AdapterTemplate>,
    /// The variable that sets it.
    pub env: Option<String>,
}

/// The transport of a session's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A process with a terminal, one for each session.
    Pty,
    /// A server that all sessions of a run share; `command` starts it.
    Http,
}

/// How the agent gets its prompt. Never as an argument: arguments are limited to 128 KiB and may be parsed as options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// On standard input, which is closed after it.
    Stdin,
    /// In the file that `{prompt_file}` names; standard input is empty.
    File,
}

impl AskSettings {
    /// The first file that lets the agent run commands without asking. A file that contains only comments does not
    /// count.
    pub fn bypassed_by(&self, project: &Path) -> Option<PathBuf> {
        let files = self.bypass.iter().filter_map(|written| login::expanded(written));
        files
            .flat_map(|file| matching(&project.join(file)))
            .find(|file| says_something(file))
    }
}

/// The files that a path stands for. Its name may be `*` followed by an ending.
fn matching(path: &Path) -> Vec<PathBuf> {
    let ending = path.file_name().and_then(|name| name.to_str()?.strip_prefix('*'));
    let (Some(ending), Some(directory)) = (ending, path.parent()) else {
        return vec![path.to_owned()];
    };
    // The agent cannot read an unreadable directory either.
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

impl SubagentSettings {
    /// The agent's own limits that are above those of the run, each with the limit that it gets. A variable that the
    /// user has set to less stays.
    pub fn lowered<'a>(&'a self, limits: &SubagentLimits) -> impl Iterator<Item = (&'a SubagentCap, u32)> + use<'a> {
        let caps = [(&self.at_once, limits.at_once), (&self.depth, limits.depth)];
        caps.into_iter().filter_map(|(cap, limit)| {
            let users = cap.env.as_ref().and_then(|name| std::env::var(name).ok()?.parse().ok());
            let limit = limit?;
            (limit < users.or(cap.own)?).then_some((cap, limit))
        })
    }
}

impl McpDelivery {
    /// Whether the agent can be given servers.
    pub fn is_there(&self) -> bool {
        !(self.args.is_empty() && self.env.is_empty())
    }
}

impl LiveLaunch {
    /// Whether the arguments carry `placeholder`.
    pub fn takes(&self, placeholder: AdapterPlaceholder) -> bool {
        self.args.iter().any(|arg| arg.whole() == Some(placeholder))
    }
}

impl CommandTemplate {
    /// Whether the arguments or the environment can carry `placeholder`.
    pub fn takes(&self, placeholder: AdapterPlaceholder) -> bool {
        let of_env = self.env.iter().map(|(_, value)| value);
        self.args
            .iter()
            .chain(of_env)
            .any(|template| template.placeholders().any(|found| found == placeholder))
    }
}
