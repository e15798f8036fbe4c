//! What a run is made of.

use std::sync::Arc;

use ralph_agent::AgentAdapter;
use ralph_core::{
    event::{Notice, PermissionRequest, Ruling, Settings},
    run::Permissions,
};
use ralph_gate::{guard::Guard, runner::Runners};
use ralph_git::Repository;
use ralph_plan::prompt::{Confined, Template};
use ralph_system::proc::{Confinement, Size, Supervisor};
use ralph_tools::language::LanguageServer;
use tokio::sync::mpsc;

use super::clock::Clock;

/// What a run is made of, besides its project.
pub struct RunConfig {
    pub settings: Settings,
    pub template: Template,
    /// Whether a prompt has what the session before reported and changed.
    pub handover: bool,
    /// The user's own token; else a fresh one is made.
    pub promise: Option<String>,
    /// The agent of the settings first, then those that stand in while it is limited.
    pub agents: Vec<Agent>,
    pub goals_parallel: bool,
    /// Variables that goals do not get: the keys of agents.
    pub withheld: Vec<String>,
    pub size: Size,
    pub recording_cap_bytes: u64,
    /// Where checkpoints are made; without one there are neither checkpoints nor statistics.
    pub repository: Option<Repository>,
    /// What others have to say while the run goes on.
    pub heard: Option<mpsc::Receiver<Notice>>,
    /// Finds in what tools print what a sandbox has denied.
    pub warden: Option<Arc<dyn Warden>>,
    /// What agents are told of their sandbox.
    pub confined: Confined,
    pub clock: Clock,
    /// Starts goals.
    pub supervisor: Supervisor,
    /// What the rules say to a use of a tool; without them, what an agent asks is put to its user.
    pub judge: Option<Arc<dyn Judge>>,
    /// Agents that take MCP servers are given ralph's own.
    pub agent_tools: bool,
    /// What agents propose for the plan is recorded.
    pub takes_proposals: bool,
    /// Reads what tests goals ran.
    pub runners: &'static Runners,
    /// What decides the results of goals, and is not the agent's to change.
    pub guard: Option<Guard>,
    /// The confinement of sealed goals, without their copy of the project; none if there is no sandbox.
    pub sealed: Option<Confinement>,
    /// The language servers that agents may ask.
    pub languages: Vec<LanguageServer>,
    /// What a process of theirs can allocate.
    pub language_memory_bytes: Option<u64>,
    /// A screen shows the end until its user leaves, who may want the run to go on.
    pub watched: bool,
}

/// Says what the rules say.
pub trait Judge: Send + Sync {
    /// Whether agents have to ask before every use of a tool.
    fn asks(&self) -> bool;

    /// Decides on a request, with the rules that answers have added in the run and the mode that its user has set.
    fn rule(&self, request: &PermissionRequest, permissions: &Permissions) -> Ruling;

    /// Why `rules`, which would go before the rules of `over`, do not allow a request; none if they do.
    fn objection(
        &self,
        request: &PermissionRequest,
        permissions: &Permissions,
        rules: &[String],
        over: &[String],
    ) -> Option<String>;
}

/// Knows what a sandbox denies.
pub trait Warden: Send + Sync {
    /// What the user should know of denials that `output` of a tool of `adapter`'s tells of, each once.
    fn denied(&self, adapter: &str, output: &str) -> Vec<Notice>;
}

/// An agent that this run may use.
#[derive(Clone)]
pub struct Agent {
    pub adapter: Arc<dyn AgentAdapter>,
    /// The agent has no messages: its claims are in the last lines of its output.
    pub last_line_claims: bool,
}
