//! What the user should know that changes nothing in the state.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    CommandRefusal, Mode, OwnWork, RestoreMoment, ReviewObstacle, SteeringId,
    clip::{LIST_CAP, cut},
};

/// Something the user should know that changes nothing in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Notice {
    /// No adapter is named: this one was chosen.
    AdapterChosen {
        adapter: String,
        why: ChoiceReason,
    },
    /// What the run works through, where that goes without saying neither for the plan nor for what is done with it.
    PlanChosen {
        plan: String,
        mode: Option<Mode>,
        /// What the agent is told to read besides.
        reads: Vec<String>,
        /// The user's own prompt takes the place of the mode's.
        own_prompt: bool,
        /// Other plans that are there.
        beside: Vec<String>,
    },
    /// The run is of a task that was given on the command line, which has this plan.
    TaskGiven {
        plan: String,
        /// Something other than the agent's claim shows that it is done.
        has_goals: bool,
    },
    /// The project has a configuration of another loop, which says nothing here.
    OtherLoop {
        file: String,
        /// Whose file it is.
        of: String,
        /// What it sets, as it is typed here.
        flags: Vec<String>,
        /// What it sets that has nothing like it here, or that only a person decides.
        left_out: Vec<String>,
    },
    /// An adapter of `fallback` is not installed and is left out.
    FallbackMissing {
        adapter: String,
    },
    /// So many open tasks of the plan ask for this adapter, which is not the run's own.
    TasksAskFor {
        adapter: String,
        tasks: u64,
    },
    /// The agent does not report the tokens that there is a limit on.
    ///
    /// A limit on money that is not reported refuses the start; runs before that was so have it here.
    SpendingUnreported {
        adapter: String,
        cost: bool,
        tokens: bool,
    },
    /// The agent reports what there is a limit on with the end of a turn, which may go past the limit.
    SpendingReportedLate {
        adapter: String,
    },
    /// The MCP servers of the settings are left out, since the agent cannot be told of any; `live` if it can on its live channel.
    ServersLeftOut {
        adapter: String,
        live: bool,
    },
    /// The task of the next iteration asks for another agent or model than the run's own.
    TaskAsksFor {
        adapter: String,
        model: Option<String>,
    },
    /// So many iterations got nowhere with the task, which is handed on.
    TaskHandedOn {
        adapter: String,
        model: Option<String>,
        attempts: u32,
    },
    /// The reviewer is the run's own agent with its own model.
    ReviewerIsAuthor {
        adapter: String,
        model: Option<String>,
    },
    /// A review that was due is not made.
    ReviewOmitted {
        adapter: String,
        why: ReviewObstacle,
    },
    /// So many reviews failed one after the other: there are no more in this run.
    ReviewerGivenUp {
        adapter: String,
        reviews: u32,
    },
    /// A reviewer, or somebody else meanwhile, changed files: they are as they were before.
    ReviewChangesUndone {
        iteration: u32,
        files: Vec<String>,
        /// Further ones that are left out of the record.
        more: u64,
    },
    /// A reviewer, or somebody else meanwhile, changed the plan where no checkpoint holds it: it is as it was before.
    ReviewPlanUndone {
        /// Where the plan is kept as it was found; none where it was gone.
        kept: Option<PathBuf>,
    },
    /// What was changed during a review could not be undone.
    ReviewChangesStay {
        iteration: u32,
        why: String,
    },
    /// HEAD moved during a review. That is left as it is.
    ReviewMovedHead {
        from: Option<String>,
        to: Option<String>,
    },
    /// Settings of a task cannot be followed, since they came while the run was under way: the run's own are used.
    TaskSettingsIgnored {
        line: u32,
        column: u32,
        why: String,
    },
    /// The arguments of the one-way channel are the user's, and those of the live one are not: it is not used.
    LiveArgsUnchanged {
        adapter: String,
    },
    /// The model was named with its provider, which this agent does not take.
    ProviderStripped {
        adapter: String,
        model: String,
        provider: String,
    },
    /// A server is named for an adapter that uses none.
    ServerUnused {
        adapter: String,
    },
    /// The password of the server goes over the network as it is.
    PasswordInClear {
        server: String,
    },
    /// The run is served over TCP, to whoever has a token.
    Listening {
        url: String,
    },
    /// Other terminals cannot reach the loop.
    SocketUnavailable {
        path: PathBuf,
        why: String,
    },
    /// Something of an old run could not be deleted.
    /// The rules of an answer are not kept for other runs.
    RulesNotKept {
        why: String,
    },
    OldRunKept {
        why: String,
    },
    /// A run that was cut off worked on another plan: it is closed, and another begins.
    RunSuperseded {
        run: String,
        plan: PathBuf,
    },
    /// The agent, or something else that the run has started, tried to command the run. It was refused.
    AgentCommand {
        /// The subcommand's name.
        command: String,
    },
    /// In an iteration, a file has changed that has programs run without anybody asking for it.
    AutorunChanged {
        /// In the project, or absolute.
        path: PathBuf,
        by: RunBy,
        gone: bool,
    },
    /// Agents and goals are confined by this version of Landlock.
    SandboxOn {
        abi: i32,
        /// How many places they cannot read.
        hidden: u64,
    },
    /// Agents and goals were to be confined, and nothing on this machine confines.
    SandboxMissing,
    /// The kernel's version of Landlock lets agents and goals do more than the present one would.
    SandboxWeak {
        abi: i32,
    },
    /// Agents and goals are confined, and connect to these hosts alone.
    SandboxStrict {
        abi: i32,
        /// How many places they cannot read.
        hidden: u64,
        hosts: Vec<String>,
    },
    /// The adapter does not say where its agent keeps its state, which it cannot write then.
    SandboxStateUnknown {
        adapter: String,
    },
    /// Git would sign commits, and no key can be read in the sandbox: they are left unsigned.
    CommitsUnsigned,
    /// A tool of the agent's was denied a path by the sandbox.
    SandboxDenied {
        path: PathBuf,
        /// The hidden place it is in; none if it can be read, and not written.
        hidden: Option<PathBuf>,
    },
    /// A server that is named runs outside of the sandbox.
    ServerUnconfined {
        server: String,
    },
    /// A language server was started for the agent, which stays for the run.
    LanguageServerStarted {
        server: String,
        root: PathBuf,
        after_ms: u64,
    },
    /// A language server ended by itself, or did not begin.
    LanguageServerEnded {
        server: String,
        why: String,
        /// It is started once more; else not in this run.
        again: bool,
    },
    /// A connection of the agent's or a goal's was refused.
    ConnectionRefused {
        host: String,
        port: u16,
        /// Where a listed name led that is not public.
        address: Option<String>,
    },
    /// A place is meant to be hidden and lies in one that is written.
    SandboxExposes {
        path: PathBuf,
    },
    /// Processes that an earlier run left behind were ended.
    OrphansEnded {
        count: u64,
        first_pid: u32,
    },
    /// The journal's last line was cut off by a crash and is left out.
    JournalTorn {
        bytes: u64,
    },
    /// An agent took a task out of the plan in the last run, which did not finish it.
    TaskDropped {
        task: String,
    },
    /// A goal of the last run is not checked as it was then.
    GoalDropped {
        goal: String,
    },
    /// Tasks were taken out of the plan since it was last read, while no agent worked.
    TasksRemoved {
        tasks: Vec<String>,
        /// Further ones that are left out of the record.
        more: u64,
    },
    /// The goals of a resumed run are not those that it began with.
    GoalsChanged,
    /// The pause file was there when the run started.
    StartsPaused,
    /// The plan has no open task.
    NothingToDo,
    /// The work is done, but a message has not reached the agent: one more iteration.
    MessageOutstanding {
        message: SteeringId,
    },
    /// Another adapter than for the iteration before, because of a limit.
    AdapterSwitched {
        adapter: String,
    },
    /// The session to continue is gone.
    SessionLost,
    /// The session to continue is too long for its model.
    SessionTooLong,
    PlanUnreadable {
        why: String,
    },
    /// The agent has ended its turn and its program still runs: it is stopped.
    AgentLingers,
    /// The agent neither writes nor computes.
    AgentIdle {
        quiet_ms: u64,
        /// Until it is stopped.
        left_ms: u64,
    },
    /// The agent that was idle writes or computes again.
    AgentActive,
    /// The agent could not be ended in time; what still runs of it is left behind.
    AgentLeftBehind {
        iteration: u32,
        after_ms: u64,
    },
    /// Work of ralph's own did not end soon after the run's time was over.
    WorkOverdue {
        work: OwnWork,
    },
    /// `.ralph-done` was there before the iteration began; it was removed.
    StaleDoneFile,
    /// `.ralph-done` cannot be removed, so it claims nothing.
    DoneFileStuck {
        path: PathBuf,
        why: String,
    },
    /// There can be no checkpoints, and so no statistics.
    NoRepository {
        why: String,
    },
    NoCheckpoint {
        iteration: u32,
        moment: RestoreMoment,
        why: String,
    },
    ChangesUncounted {
        why: String,
    },
    /// Files cannot be compared: only ticked tasks count as progress.
    ProgressUnknown {
        why: String,
    },
    CommandRefused {
        refusal: CommandRefusal,
    },
    /// What configuration, catalogue or git say themselves, or a sentence of an older journal.
    Text {
        level: Level,
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Info,
    Warning,
}

/// Who runs what a file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunBy {
    Git,
    Shell,
    Editor,
    Ralph,
    /// ralph, as far as its user has trusted what a project says.
    Trust,
}

/// Why an adapter was chosen where none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceReason {
    ServerNamed,
    OpencodeInstalled,
    Installed,
    OnlyOneInstalled,
    /// The only one with a login, as far as can be told.
    OnlyOneLoggedIn,
    /// Of several that are logged in, the first of ralph's order.
    FirstLoggedIn,
    /// Installed, and without a login as far as can be told.
    NoneLoggedIn,
}

impl Notice {
    /// A warning in the words of whoever gives it.
    pub fn warning(text: impl Into<String>) -> Self {
        Notice::Text {
            level: Level::Warning,
            text: text.into(),
        }
    }

    pub fn level(&self) -> Level {
        match self {
            Notice::NothingToDo
            | Notice::LanguageServerStarted { .. }
            | Notice::MessageOutstanding { .. }
            | Notice::AdapterSwitched { .. }
            | Notice::TasksAskFor { .. }
            | Notice::TaskAsksFor { .. }
            | Notice::TaskHandedOn { .. }
            | Notice::ReviewerIsAuthor { .. }
            | Notice::AgentLingers
            | Notice::Listening { .. }
            | Notice::PlanChosen { .. }
            | Notice::TaskGiven { .. }
            | Notice::OtherLoop { .. }
            | Notice::SandboxOn { .. }
            | Notice::SandboxStrict { .. }
            | Notice::AgentIdle { .. }
            | Notice::AgentActive => Level::Info,
            Notice::AdapterChosen { .. }
            | Notice::FallbackMissing { .. }
            | Notice::SpendingUnreported { .. }
            | Notice::SpendingReportedLate { .. }
            | Notice::ServersLeftOut { .. }
            | Notice::TaskSettingsIgnored { .. }
            | Notice::ReviewOmitted { .. }
            | Notice::ReviewerGivenUp { .. }
            | Notice::ReviewChangesUndone { .. }
            | Notice::ReviewPlanUndone { .. }
            | Notice::ReviewChangesStay { .. }
            | Notice::ReviewMovedHead { .. }
            | Notice::LiveArgsUnchanged { .. }
            | Notice::ProviderStripped { .. }
            | Notice::ServerUnused { .. }
            | Notice::PasswordInClear { .. }
            | Notice::SocketUnavailable { .. }
            | Notice::RulesNotKept { .. }
            | Notice::OldRunKept { .. }
            | Notice::RunSuperseded { .. }
            | Notice::OrphansEnded { .. }
            | Notice::JournalTorn { .. }
            | Notice::TaskDropped { .. }
            | Notice::GoalDropped { .. }
            | Notice::TasksRemoved { .. }
            | Notice::GoalsChanged
            | Notice::StartsPaused
            | Notice::SessionLost
            | Notice::SessionTooLong
            | Notice::PlanUnreadable { .. }
            | Notice::AgentLeftBehind { .. }
            | Notice::WorkOverdue { .. }
            | Notice::StaleDoneFile
            | Notice::DoneFileStuck { .. }
            | Notice::NoRepository { .. }
            | Notice::NoCheckpoint { .. }
            | Notice::ChangesUncounted { .. }
            | Notice::ProgressUnknown { .. }
            | Notice::AgentCommand { .. }
            | Notice::AutorunChanged { .. }
            | Notice::SandboxMissing
            | Notice::SandboxWeak { .. }
            | Notice::SandboxStateUnknown { .. }
            | Notice::CommitsUnsigned
            | Notice::SandboxDenied { .. }
            | Notice::ServerUnconfined { .. }
            | Notice::LanguageServerEnded { .. }
            | Notice::ConnectionRefused { .. }
            | Notice::SandboxExposes { .. }
            | Notice::CommandRefused { .. } => Level::Warning,
            Notice::Text { level, .. } => *level,
        }
    }

    /// Cuts what comes from outside. Names of adapters, goals and paths are bounded where they are read, and so are tasks.
    pub(super) fn bounded(mut self) -> Self {
        match &mut self {
            Notice::SocketUnavailable { why, .. }
            | Notice::RulesNotKept { why }
            | Notice::LanguageServerEnded { why, .. }
            | Notice::OldRunKept { why }
            | Notice::PlanUnreadable { why }
            | Notice::TaskSettingsIgnored { why, .. }
            | Notice::ReviewChangesStay { why, .. }
            | Notice::DoneFileStuck { why, .. }
            | Notice::NoRepository { why }
            | Notice::NoCheckpoint { why, .. }
            | Notice::ChangesUncounted { why }
            | Notice::ProgressUnknown { why }
            | Notice::TaskDropped { task: why }
            | Notice::Text { text: why, .. } => *why = cut(why),
            Notice::CommandRefused {
                refusal: CommandRefusal::Rule { why, .. },
            } => *why = cut(why),
            Notice::SandboxStrict { hosts, .. } => hosts.truncate(LIST_CAP),
            Notice::ReviewChangesUndone { files, more, .. } => {
                *more += files.len().saturating_sub(LIST_CAP) as u64;
                files.truncate(LIST_CAP);
                files.iter_mut().for_each(|file| *file = cut(file));
            }
            Notice::TasksRemoved { tasks, more } => {
                *more += tasks.len().saturating_sub(LIST_CAP) as u64;
                tasks.truncate(LIST_CAP);
            }
            Notice::OtherLoop { flags, left_out, .. } => {
                for list in [flags, left_out] {
                    list.truncate(LIST_CAP);
                    list.iter_mut().for_each(|text| *text = cut(text));
                }
            }
            Notice::AdapterChosen { .. }
            | Notice::PlanChosen { .. }
            | Notice::TaskGiven { .. }
            | Notice::Listening { .. }
            | Notice::FallbackMissing { .. }
            | Notice::SpendingUnreported { .. }
            | Notice::SpendingReportedLate { .. }
            | Notice::ServersLeftOut { .. }
            | Notice::LiveArgsUnchanged { .. }
            | Notice::ProviderStripped { .. }
            | Notice::ServerUnused { .. }
            | Notice::PasswordInClear { .. }
            | Notice::RunSuperseded { .. }
            | Notice::JournalTorn { .. }
            | Notice::GoalDropped { .. }
            | Notice::OrphansEnded { .. }
            | Notice::GoalsChanged
            | Notice::StartsPaused
            | Notice::NothingToDo
            | Notice::MessageOutstanding { .. }
            | Notice::AdapterSwitched { .. }
            | Notice::TasksAskFor { .. }
            | Notice::TaskAsksFor { .. }
            | Notice::TaskHandedOn { .. }
            | Notice::ReviewerIsAuthor { .. }
            | Notice::ReviewOmitted { .. }
            | Notice::ReviewerGivenUp { .. }
            | Notice::ReviewPlanUndone { .. }
            | Notice::ReviewMovedHead { .. }
            | Notice::SessionLost
            | Notice::SessionTooLong
            | Notice::AgentLingers
            | Notice::AgentIdle { .. }
            | Notice::AgentActive
            | Notice::AgentLeftBehind { .. }
            | Notice::WorkOverdue { .. }
            | Notice::StaleDoneFile
            | Notice::AgentCommand { .. }
            | Notice::AutorunChanged { .. }
            | Notice::SandboxOn { .. }
            | Notice::SandboxMissing
            | Notice::SandboxWeak { .. }
            | Notice::SandboxStateUnknown { .. }
            | Notice::CommitsUnsigned
            | Notice::SandboxDenied { .. }
            | Notice::ServerUnconfined { .. }
            | Notice::LanguageServerStarted { .. }
            | Notice::ConnectionRefused { .. }
            | Notice::SandboxExposes { .. }
            | Notice::CommandRefused { .. } => {}
        }
        self
    }
}
