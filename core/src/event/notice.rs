//! Notices: information for the user that does not change the state.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    BackgroundResult, CommandRefusal, HeadPlace, Hook, LimitKind, List, Mode, OwnWork, RestoreMoment, ReviewObstacle,
    StashEntry, SteeringId, Tail, Text,
};
use crate::json::ReadJson;

/// An action that every sandbox forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Forbidden {
    /// A user namespace: a sandbox or a container of the program's own.
    UserNamespace,
    /// Rights beyond the user's, as setuid programs have them.
    Privileges,
    /// A change of the user's own git configuration, for which git creates a file in the home directory.
    GitConfiguration,
}

/// The preparation of a work tree: copies, links, commands and ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PreparedTree {
    pub copied_files: u64,
    pub copied_bytes: u64,
    pub linked: List<Text>,
    pub commands: List<TreeCommand>,
    /// The TCP ports that are reserved for it.
    pub ports: List<u16>,
    pub duration_ms: u64,
}

/// A command that prepared a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TreeCommand {
    pub command: Text,
    pub duration_ms: u64,
    /// The end of its output.
    pub output: Tail,
}

/// Information for the user that does not change the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Notice {
    /// The user named no adapter; this one was chosen.
    AdapterChosen {
        adapter: String,
        why: ChoiceReason,
    },
    /// The plan of the run. Given if the choice of the plan or of its mode is not obvious.
    PlanChosen {
        plan: String,
        mode: Option<Mode>,
        /// Further files that the agent is told to read.
        reads: Vec<String>,
        /// Whether the user's own prompt replaces the one of the mode.
        own_prompt: bool,
        /// Other plans that exist.
        beside: Vec<String>,
    },
    /// The run works on a task from the command line, which has this plan.
    TaskGiven {
        plan: String,
        /// Whether goals can show that the task is done, besides the agent's claim.
        has_goals: bool,
    },
    /// The project has a configuration for another tool that runs agents in a loop; ralph ignores it.
    OtherLoop {
        file: String,
        /// The tool that the file belongs to.
        of: String,
        /// The equivalent flags of ralph.
        flags: List<Text>,
        /// Settings without an equivalent in ralph, or that only the user may choose.
        left_out: List<Text>,
    },
    /// A command of the user failed.
    HookFailed {
        hook: Hook,
        task: Option<Text>,
        result: Box<BackgroundResult>,
    },
    /// An adapter in `fallback` is not installed and is skipped.
    FallbackMissing {
        adapter: String,
    },
    /// Open tasks of the plan ask for an adapter other than the run's.
    TasksAskFor {
        adapter: String,
        tasks: u64,
    },
    /// The agent reports its usage only at the end of a turn, which may exceed the limit.
    SpendingReportedLate {
        adapter: String,
    },
    /// The work tree of the run was prepared by the settings in `tree`.
    TreePrepared {
        tree: Box<PreparedTree>,
    },
    /// The configured MCP servers are left out because the agent does not accept any; `live` if it does on its live
    /// channel.
    ServersLeftOut {
        adapter: String,
        live: bool,
    },
    /// The next task asks for an agent or model other than the run's.
    TaskAsksFor {
        adapter: String,
        model: Option<String>,
    },
    /// A task is handed to another worker after this many iterations without progress.
    TaskHandedOn {
        adapter: String,
        model: Option<String>,
        attempts: u32,
    },
    /// The reviewer is the same agent and model as the author.
    ReviewerIsAuthor {
        adapter: String,
        model: Option<String>,
    },
    /// A due review is not made.
    ReviewOmitted {
        adapter: String,
        why: ReviewObstacle,
    },
    /// Reviews are off for the rest of the run because this many failed in a row.
    ReviewerGivenUp {
        adapter: String,
        reviews: u32,
    },
    /// Files that changed during a review were restored. The reviewer or another program changed them.
    ReviewChangesUndone {
        iteration: u32,
        files: List<Text>,
        /// Number of further files that were left out of the record.
        more: u64,
    },
    /// The plan, which no checkpoint holds, was restored after it changed during a review.
    ReviewPlanUndone {
        /// The saved copy of the changed plan; `None` if the plan had been deleted.
        kept: Option<PathBuf>,
    },
    /// Changes made during a review could not be undone.
    ReviewChangesStay {
        iteration: u32,
        why: Text,
    },
    /// HEAD moved during a review. It was not moved back.
    ReviewMovedHead {
        from: Option<String>,
        to: Option<String>,
    },
    /// Settings of a task appeared during the run and cannot be followed, or something in the plan has no effect.
    TaskSettingsIgnored {
        line: u32,
        column: u32,
        why: Text,
    },
    /// The user configured arguments for the one-way channel but not for the live channel, so the live channel is not
    /// used.
    LiveArgsUnchanged {
        adapter: String,
    },
    /// The model was given with a provider, which this agent does not accept.
    ProviderStripped {
        adapter: String,
        model: String,
        provider: String,
    },
    /// A server is configured for an adapter that does not use one.
    ServerUnused {
        adapter: String,
    },
    /// The server's password is sent over the network unencrypted.
    PasswordInClear {
        server: String,
    },
    /// The run is served over TCP. Access requires a token.
    Listening {
        url: String,
    },
    /// The control socket is unavailable: other terminals cannot reach the loop.
    SocketUnavailable {
        path: PathBuf,
        why: Text,
    },
    /// The rules of an answer could not be saved for other runs.
    RulesNotKept {
        why: Text,
    },
    /// The machine may fall asleep, although `keepAwake` is set.
    NotKeptAwake {
        why: Text,
    },
    /// Files of an old run could not be deleted.
    OldRunKept {
        why: Text,
    },
    /// An interrupted run worked on another plan: it was closed and a new run begins.
    RunSuperseded {
        run: String,
        plan: PathBuf,
    },
    /// A command from the agent, or from another process of the run, was refused.
    AgentCommand {
        /// The subcommand's name.
        command: String,
    },
    /// An iteration changed a file that makes a tool run programs without asking.
    AutorunChanged {
        /// Relative to the project, or absolute.
        path: PathBuf,
        by: RunBy,
        gone: bool,
    },
    /// Agents and goals are confined by this version of Landlock.
    SandboxOn {
        abi: i32,
        /// Number of places that they cannot read.
        hidden: u64,
    },
    /// Confinement was requested, but this machine has no means for it.
    SandboxMissing,
    /// The kernel's version of Landlock restricts agents and goals less than the current version would.
    SandboxWeak {
        abi: i32,
    },
    /// Agents and goals are confined, and can connect to these hosts only.
    SandboxStrict {
        abi: i32,
        /// Number of places that they cannot read.
        hidden: u64,
        hosts: List<String>,
    },
    /// The adapter does not declare where its agent keeps its state, so the sandbox makes it unwritable.
    SandboxStateUnknown {
        adapter: String,
    },
    /// Git is set to sign commits, but the sandbox hides the keys: commits are not signed.
    CommitsUnsigned {
        /// Whether git signs with a key of ssh.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ssh: bool,
    },
    /// The sandbox denied a tool of the agent access to a path.
    SandboxDenied {
        /// The path that was denied, or the directory in which it would have been created.
        path: PathBuf,
        /// The hidden place that contains the path; `None` if the path is readable but not writable.
        hidden: Option<PathBuf>,
    },
    /// A place in `sandbox.write` does not exist, so nothing is allowed there.
    SandboxWriteMissing {
        path: PathBuf,
    },
    /// A tool of the agent needs what no setting of the sandbox allows.
    SandboxForbids {
        what: Forbidden,
    },
    /// The user has turned the sandbox off.
    SandboxOff,
    /// The agent runs outside of the sandbox, since its adapter does not name the directory of its state.
    AgentUnconfined {
        adapter: String,
    },
    /// A configured server runs outside of the sandbox.
    ServerUnconfined {
        server: String,
    },
    /// A language server was started for the agent. It runs until the run ends.
    LanguageServerStarted {
        server: String,
        root: PathBuf,
        after_ms: u64,
    },
    /// A language server exited, or did not start.
    LanguageServerEnded {
        server: String,
        why: Text,
        /// Whether it is started once more; otherwise it stays off for this run.
        again: bool,
    },
    /// A connection by the agent or a goal was refused.
    ConnectionRefused {
        host: String,
        port: u16,
        /// The non-public address that an allowed host name resolved to.
        address: Option<String>,
    },
    /// A connection to the socket of another program of this machine was refused.
    SocketRefused {
        path: PathBuf,
        /// The socket's name in `sandbox.sockets`, if it has one.
        name: Option<String>,
    },
    /// Listening where other machines could connect was refused.
    ListeningRefused {
        address: String,
    },
    /// This system cannot refuse connections to sockets of other programs of this machine.
    SandboxSocketsOpen,
    /// A place that should be hidden is inside one that is writable.
    SandboxExposes {
        path: PathBuf,
    },
    /// Processes left behind by an earlier run were ended.
    OrphansEnded {
        count: u64,
        first_pid: u32,
    },
    /// The last line of the journal was torn by a crash and is ignored.
    JournalTorn {
        bytes: u64,
    },
    /// An agent removed the task from the plan in the previous run, which did not finish it.
    TaskDropped {
        task: Text,
    },
    /// A goal of the previous run is no longer checked, or is checked differently.
    GoalDropped {
        goal: String,
    },
    /// Tasks were removed from the plan since it was last read, while no agent was running.
    TasksRemoved {
        tasks: List<String>,
        /// Number of further tasks that were left out of the record.
        more: u64,
    },
    /// Tasks have a mark in their box that is neither blank nor a tick, and are taken as open.
    TasksMarked {
        tasks: u64,
        /// The different marks.
        marks: Text,
    },
    /// The goals of a resumed run differ from those that it began with.
    GoalsChanged,
    /// The pause file existed when the run started.
    StartsPaused,
    /// The plan has no open task.
    NothingToDo,
    /// The work is done, but a message has not reached the agent: one more iteration follows.
    MessageOutstanding {
        message: SteeringId,
    },
    /// The share `warn_at` of a limit is used.
    LimitNear {
        limit: LimitKind,
        /// The task that the limit is for; `None` for a limit of the run, the day or the hour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Text>,
        /// The used share.
        percent: u8,
    },
    /// A limit caused a switch to another adapter than in the previous iteration.
    AdapterSwitched {
        adapter: String,
    },
    /// The session to continue does not exist any more.
    SessionLost,
    /// The session to continue is too long for its model.
    SessionTooLong,
    PlanUnreadable {
        why: Text,
    },
    /// The agent ended its turn, but its process is still running and is stopped.
    AgentLingers,
    /// The agent neither writes nor uses CPU time.
    AgentIdle {
        quiet_ms: u64,
        /// Time until it is stopped.
        left_ms: u64,
    },
    /// An idle agent became active again.
    AgentActive,
    /// The agent could not be ended in time. Processes of it may still be running.
    AgentLeftBehind {
        iteration: u32,
        after_ms: u64,
    },
    /// ralph's own work took too long after the run's time limit.
    WorkOverdue {
        work: OwnWork,
    },
    /// `.ralph-done` existed before the iteration began and was removed.
    StaleDoneFile,
    /// `.ralph-done` cannot be removed, so it is not accepted as a claim.
    DoneFileStuck {
        path: PathBuf,
        why: Text,
    },
    /// Checkpoints are unavailable, and with them statistics.
    NoRepository {
        why: Text,
    },
    NoCheckpoint {
        iteration: u32,
        moment: RestoreMoment,
        why: Text,
    },
    ChangesUncounted {
        why: Text,
    },
    /// Processes that a session had left running were ended when its agent had ended its turn.
    ProcessesEnded {
        /// The beginnings of their command lines, those of their children left out.
        commands: List<Text, 10>,
        /// Number of further ones.
        more: u64,
    },
    /// Lock files of git that a session left, or that a git holds.
    LocksLeft {
        /// The locks that ralph removed, since nobody holds them.
        removed: List<PathBuf, 10>,
        kept: List<PathBuf, 10>,
    },
    /// Stashes that were made or dropped since the iteration began.
    StashesChanged {
        made: List<StashEntry, 10>,
        gone: List<StashEntry, 10>,
        /// Whether other work trees have the same stashes.
        shared: bool,
    },
    /// `.ralph-pause` appeared while an agent worked, and may be the agent's.
    PauseDuringSession,
    /// The agent has made `.ralph-pause`: it was removed.
    PauseRefused,
    /// HEAD is detached or on another branch than when the run began, has commits on no branch, or is as it was again.
    HeadPlaced {
        place: Box<HeadPlace>,
    },
    /// Files cannot be compared, so only ticked tasks count as progress.
    ProgressUnknown {
        why: Text,
    },
    CommandRefused {
        refusal: CommandRefusal,
    },
    /// A text from the configuration, the adapter catalogue or git.
    Text {
        level: Level,
        text: Text,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Info,
    Warning,
}

/// The program that runs commands from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunBy {
    Git,
    Shell,
    Editor,
    Ralph,
    /// ralph, if the user has trusted the project's settings.
    Trust,
}

/// Why an adapter was chosen without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceReason {
    ServerNamed,
    OpencodeInstalled,
    Installed,
    OnlyOneInstalled,
    /// The only one that appears to be logged in.
    OnlyOneLoggedIn,
    /// The first in ralph's order of several that are logged in.
    FirstLoggedIn,
    /// Installed, but apparently not logged in.
    NoneLoggedIn,
}

impl Notice {
    /// A warning with its own text.
    pub fn warning(text: impl Into<Text>) -> Self {
        Notice::Text {
            level: Level::Warning,
            text: text.into(),
        }
    }

    /// Whether the next prompt tells of it: a state that the session left, and that its successor works in.
    pub fn is_for_agent(&self) -> bool {
        matches!(
            self,
            Notice::HeadPlaced { .. }
                | Notice::ProcessesEnded { .. }
                | Notice::LocksLeft { .. }
                | Notice::StashesChanged { .. }
        )
    }

    pub fn level(&self) -> Level {
        match self {
            Notice::NothingToDo
            | Notice::TreePrepared { .. }
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
            Notice::HeadPlaced { place } if place.is_as_begun() => Level::Info,
            Notice::AdapterChosen { .. }
            | Notice::HookFailed { .. }
            | Notice::FallbackMissing { .. }
            | Notice::SpendingReportedLate { .. }
            | Notice::LimitNear { .. }
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
            | Notice::NotKeptAwake { .. }
            | Notice::OldRunKept { .. }
            | Notice::RunSuperseded { .. }
            | Notice::OrphansEnded { .. }
            | Notice::JournalTorn { .. }
            | Notice::TaskDropped { .. }
            | Notice::GoalDropped { .. }
            | Notice::TasksRemoved { .. }
            | Notice::TasksMarked { .. }
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
            | Notice::HeadPlaced { .. }
            | Notice::ProcessesEnded { .. }
            | Notice::LocksLeft { .. }
            | Notice::StashesChanged { .. }
            | Notice::PauseDuringSession
            | Notice::PauseRefused
            | Notice::ProgressUnknown { .. }
            | Notice::AgentCommand { .. }
            | Notice::AutorunChanged { .. }
            | Notice::SandboxMissing
            | Notice::SandboxOff
            | Notice::AgentUnconfined { .. }
            | Notice::SandboxWeak { .. }
            | Notice::SandboxStateUnknown { .. }
            | Notice::CommitsUnsigned { .. }
            | Notice::SandboxDenied { .. }
            | Notice::SandboxWriteMissing { .. }
            | Notice::SandboxForbids { .. }
            | Notice::ServerUnconfined { .. }
            | Notice::LanguageServerEnded { .. }
            | Notice::ConnectionRefused { .. }
            | Notice::SocketRefused { .. }
            | Notice::ListeningRefused { .. }
            | Notice::SandboxSocketsOpen
            | Notice::SandboxExposes { .. }
            | Notice::CommandRefused { .. } => Level::Warning,
            Notice::Text { level, .. } => *level,
        }
    }
}
