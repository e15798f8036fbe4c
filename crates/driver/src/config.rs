//! The configuration of a run.

use std::sync::Arc;

use ralph_agent::{AgentAdapter, Prices};
use ralph_core::{
    event::{Notice, PermissionRequest, RoomUse, Ruling, Settings, ToolKinds, Worker},
    run::Permissions,
};
use ralph_gate::{guard::FileGuard, runner::Runners};
use ralph_git::Repository;
use ralph_plan::prompt::{AgentConfinement, PromptTemplate};
use ralph_state::store::accounts::AccountFile;
use ralph_system::{
    os::disk::DiskFloor,
    proc::{Confinement, LeftProcesses, Size, Supervisor},
};
use ralph_tools::language::LanguageServer;
use tokio::sync::mpsc;

use super::{clock::RunClock, hooks::HookStarter};

/// The configuration of a run, besides its project.
pub struct RunConfig {
    pub settings: Settings,
    pub template: PromptTemplate,
    /// The user's own promise token; `None` for a fresh one.
    pub promise: Option<String>,
    /// The agent of the settings first, then those that replace it while it is limited.
    pub agents: Vec<AvailableAgent>,
    /// The agents with the models that the settings name for them.
    pub workers: Vec<Worker>,
    /// Prices for agents that report no cost.
    pub prices: Prices,
    pub goals_parallel: bool,
    /// Whether goals run in a room.
    pub room: RoomUse,
    /// The commands that prepare the project.
    pub setup: Vec<String>,
    /// Variables that goals do not get: the keys of agents.
    pub withheld: Vec<String>,
    pub size: Size,
    pub recording_cap_bytes: u64,
    /// The repository for checkpoints; without one there are neither checkpoints nor statistics.
    pub repository: Option<Repository>,
    /// Whether ralph commits what an iteration leaves uncommitted.
    pub commits: bool,
    /// Notices that arrive while the run goes on.
    pub heard: Option<mpsc::Receiver<Notice>>,
    /// Finds denials of the sandbox in the output of tools.
    pub denial_scanner: Option<Arc<dyn DenialScanner>>,
    /// The confinement of the sandbox, as told to agents.
    pub confined: AgentConfinement,
    pub clock: RunClock,
    /// Disks on which some space stays free: no iteration starts otherwise.
    pub disks: Vec<DiskFloor>,
    /// Starts hooks.
    pub hooks: HookStarter,
    /// Whether the machine is kept awake while the run works.
    pub keep_awake: bool,
    /// Starts goals.
    pub supervisor: Supervisor,
    /// The processes that the agents' sessions leave running.
    pub left: LeftProcesses,
    /// Applies the rules to uses of tools; without it, the agent's requests are put to the user.
    pub permission_policy: Option<Arc<dyn PermissionDecider>>,
    /// Whether agents that support MCP servers get ralph's own.
    pub agent_tools: bool,
    /// Reads which tests the goals ran.
    pub runners: &'static Runners,
    /// The files that decide the results of goals, which the agent must not change.
    pub guard: Option<FileGuard>,
    /// Tells files with tests, also where there is no goal.
    pub test_files: FileGuard,
    /// The confinement of sealed goals, without their copy of the project; `None` if there is no sandbox.
    pub sealed: Option<Confinement>,
    /// The language servers that agents may ask.
    pub languages: Vec<LanguageServer>,
    /// Memory that each process of a language server can allocate.
    pub language_memory_bytes: Option<u64>,
    /// Whether a screen shows the end until its user leaves, who may want the run to go on.
    pub watched: bool,
}

/// Applies the permission rules.
pub trait PermissionDecider: Send + Sync {
    /// The kinds of tools before whose use agents have to ask, in the mode that the user of the run has set.
    fn concerns(&self, permissions: &Permissions) -> ToolKinds;

    /// Decides on a request, with the rules that answers have added in the run and the mode that its user has set.
    fn rule(&self, request: &PermissionRequest, permissions: &Permissions) -> Ruling;

    /// Why `rules`, placed before the rules of `over`, would not allow a request; `None` if they would.
    fn objection(
        &self,
        request: &PermissionRequest,
        permissions: &Permissions,
        rules: &[String],
        over: &[String],
    ) -> Option<String>;
}

/// Recognises what a sandbox denies.
pub trait DenialScanner: Send + Sync {
    /// Returns notices about denials that the `output` of a tool of `adapter` shows, each once.
    fn denied(&self, adapter: &str, output: &str) -> Vec<Notice>;

    /// As [`DenialScanner::denied`], for the output of a goal.
    fn denied_goal(&self, output: &str) -> Vec<Notice>;
}

/// An agent that this run may use.
#[derive(Clone)]
pub struct AvailableAgent {
    pub adapter: Arc<dyn AgentAdapter>,
    /// Whether the agent has no messages, so that its claims are in the last lines of its output.
    pub last_line_claims: bool,
    /// The reports of its account's windows; `None` if no run follows.
    pub account: Option<AccountFile>,
    /// Whether its sessions can be told to ask before every use of a tool.
    pub can_ask_always: bool,
}

impl AvailableAgent {
    /// Whether a limit on cost ends iterations with `model`: the agent reports its cost, or tokens that have a price.
    pub fn has_cost(&self, model: Option<&str>, prices: &Prices) -> bool {
        let reported = self.adapter.capabilities();
        reported.cost || reported.usage && prices.find(self.adapter.id(), model).is_some()
    }

    /// Whether a limit on tokens ends iterations.
    pub fn has_tokens(&self) -> bool {
        self.adapter.capabilities().usage
    }
}
