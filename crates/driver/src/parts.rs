//! The parts of a driver, each with what belongs together: the agents, the checks, the tools, the time.

use std::{sync::Arc, time::Duration};

use ralph_agent::Prices;
use ralph_core::event::Worker;
use ralph_system::proc::Size;
use ralph_tools::language::Languages;

use super::{
    agent_commands::AgentCommands,
    background::BackgroundTasks,
    clock::RunClock,
    config::{AvailableAgent, DenialScanner, PermissionDecider},
    early::EarlyChecks,
    edits::EditWatch,
    goals::GoalRun,
    plan_look::PlanLook,
    sealed::SealedPlace,
    session::CurrentSession,
    timers::Timers,
    tools::PendingCalls,
};

/// How long it may take to end what the sessions of an agent share, such as a server.
const CLOSING: Duration = Duration::from_secs(10);

/// The agents, and the session of the one that works.
pub(super) struct RunAgents {
    /// Never empty.
    pub(super) available: Vec<AvailableAgent>,
    pub(super) session: Option<CurrentSession>,
    /// Whether a tool of the session names `.ralph-pause` in its arguments.
    pub(super) names_pause_file: bool,
    /// The agents with the models that the settings name for them.
    pub(super) workers: Vec<Worker>,
    /// Prices for agents that report no cost.
    pub(super) prices: Arc<Prices>,
    /// Commands that an agent tried to give.
    pub(super) commands: AgentCommands,
    /// Applies the permission rules.
    pub(super) permission_policy: Option<Arc<dyn PermissionDecider>>,
    /// Recognises denials of the sandbox.
    pub(super) denial_scanner: Option<Arc<dyn DenialScanner>>,
    pub(super) size: Size,
    pub(super) recording_cap_bytes: u64,
    /// Whether agents that support MCP servers get ralph's own.
    pub(super) get_tools: bool,
}

impl RunAgents {
    /// Ends what sessions share, before another ralph can take the project.
    pub(super) fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        let agents = self.available.clone();
        async move {
            let closed = tokio::task::spawn_blocking(move || agents.iter().for_each(|agent| agent.adapter.close()));
            _ = tokio::time::timeout(CLOSING, closed).await; // their guards outlive ralph
        }
    }
}

/// The checks of the work.
pub(super) struct RunChecks {
    /// The goals that are being run.
    pub(super) goals: Option<GoalRun>,
    /// Whether goals run side by side.
    pub(super) parallel: bool,
    /// Locked while goals run.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    /// Variables that goals do not get.
    pub(super) withheld: Vec<String>,
    /// The place of sealed goals; `None` if there is no sandbox.
    pub(super) sealed: Option<Arc<SealedPlace>>,
    /// The commands that prepare the project.
    pub(super) setup: Arc<[String]>,
    /// The goals that are run while the agent works.
    pub(super) edits: EditWatch,
    /// The goals that are run on the files of earlier iterations.
    pub(super) early: EarlyChecks,
    /// Looks at the plan while the agent works.
    pub(super) plan_look: PlanLook,
}

/// The tools that ralph offers to agents.
pub(super) struct RunTools {
    /// Calls that are not answered yet.
    pub(super) calls: PendingCalls,
    pub(super) background: BackgroundTasks,
    pub(super) languages: Languages,
}

impl RunTools {
    /// Ends background tasks and language servers.
    pub(super) async fn close(&mut self) {
        self.background.give_up().await;
        _ = tokio::time::timeout(CLOSING, self.languages.close()).await; // their guards outlive ralph
    }
}

/// The clocks, and what waits for them.
pub(super) struct RunTime {
    pub(super) clock: RunClock,
    pub(super) timers: Timers,
    /// Since when the end of the run waits for background tasks, by [`RunClock::running_time`].
    pub(super) ending_since: Option<Duration>,
}
