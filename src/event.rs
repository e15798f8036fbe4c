//! The vocabulary of a run: what happened, as the journal keeps it and every face reads it.
//!
//! State is the fold of these events, so each one carries all that is needed to rebuild it: an event never says
//! "see the file", because the file may have changed since. Text from an agent is capped ([`clip`]); the whole of it
//! is in the iteration's recording.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Most bytes of one agent text that a record carries.
pub const TEXT_CAP_BYTES: usize = 4096;

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Position in the journal, from 0 without gaps.
    pub seq: u64,
    /// When the input that caused it was received, in milliseconds since the Unix epoch.
    #[serde(rename = "atMs")]
    pub at_ms: u64,
    pub event: Event,
}

/// Names one run, and with it its directory below the state directory: `20261120-102835-4f2a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The agent's own name for a session, as its command line takes it to resume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// Numbers the user's messages within a run, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SteeringId(pub u32);

/// What happened. Past tense; one journal line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// The first line of every journal: what this file is and who wrote it.
    JournalOpened {
        format: String,
        version: u32,
        ralph: String,
        run: RunId,
    },
    RunStarted {
        /// The project's root, absolute.
        project: PathBuf,
        pid: u32,
        settings: Box<Settings>,
        /// The token an agent has to repeat to claim the end, fresh for this run.
        promise: String,
    },
    /// ralph was killed and goes on from the journal; the settings are those of the new command line.
    RunResumed {
        pid: u32,
        settings: Box<Settings>,
    },
    /// Something the user should know that changes nothing in the state.
    Noticed {
        level: Level,
        text: String,
    },
    /// The plan on disk differs from the last one recorded.
    PlanRead {
        plan: PlanSnapshot,
    },
    /// The plan is being read, the tree checkpointed and the prompt written for this iteration.
    PreparationStarted {
        iteration: u32,
    },
    IterationStarted {
        iteration: u32,
        adapter: String,
        task: Option<String>,
        /// The session that is continued; none for a fresh one.
        resume: Option<SessionId>,
        /// The agent takes text while it works.
        live_steering: bool,
        /// The tree before the agent touched it.
        checkpoint: Option<Checkpoint>,
        prompt_bytes: u64,
        /// Bytes of the prompt that are ralph's and not the user's.
        overhead_bytes: u64,
    },
    AgentReported {
        iteration: u32,
        signal: AgentSignal,
    },
    /// The running iteration was told to end; `then` is what follows.
    CancelRequested {
        iteration: u32,
        reason: CancelReason,
    },
    /// The agent is gone, and every process it had.
    IterationEnded {
        iteration: u32,
        outcome: Outcome,
        exit: Option<Exit>,
        duration_ms: u64,
        output_bytes: u64,
    },
    /// The iteration's result was looked at: checkpoint, statistics, plan.
    IterationSettled {
        iteration: u32,
        checkpoint: Option<Checkpoint>,
        changes: Option<Changes>,
        totals: Option<Changes>,
        /// The tree, HEAD or the plan's boxes moved; none where that cannot be told.
        progress: Option<bool>,
    },
    ClaimMade {
        iteration: u32,
        claim: Claim,
    },
    ClaimRefused {
        iteration: u32,
        reasons: Vec<String>,
    },
    WaitStarted {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 when the wait is not about one.
        attempt: u32,
        why: String,
    },
    WaitEnded {
        cause: WaitEnd,
    },
    /// The next iteration is not to start; a running one finishes.
    Paused {
        by: PausedBy,
    },
    Unpaused {
        by: PausedBy,
    },
    /// The loop stands still because it is paused.
    Held,
    SteeringQueued {
        id: SteeringId,
        kind: SteeringKind,
        text: String,
    },
    SteeringDelivered {
        id: SteeringId,
        iteration: u32,
        how: Delivery,
    },
    SteeringWithdrawn {
        id: SteeringId,
    },
    StopRequested {
        stop: StopRequest,
        by: RequestedBy,
    },
    RunStopped {
        reason: StopReason,
        /// What the user can do next, one sentence each.
        hints: Vec<String>,
        totals: Totals,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Info,
    Warning,
}

/// The settings a run goes by, fixed when it starts: an agent that edits the configuration changes nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub adapter: String,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The plan file, absolute.
    pub plan: PathBuf,
    pub session: SessionMode,
    pub limits: Limits,
    pub backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Every iteration begins without memory of the one before.
    #[default]
    Fresh,
    /// Iterations continue one session where the agent can.
    Resume,
}

/// What a run may use; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub max_iterations: Option<u32>,
    pub max_time_ms: Option<u64>,
    pub iteration_timeout_ms: Option<u64>,
    pub idle_timeout_ms: Option<u64>,
    pub max_cost_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub calls_per_hour: Option<u32>,
}

/// Delays after a failure: `base · 2ⁿ⁻¹`, at most `max`, plus up to `jitter` of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub base_ms: u64,
    pub max_ms: u64,
    /// A share of the delay, 0 to 1.
    pub jitter: f64,
}

/// A plan's tasks in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanSnapshot {
    pub tasks: Vec<PlanTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    /// The task's text without marker and box.
    pub text: String,
    pub done: bool,
    /// Line in the plan file, from 1.
    pub line: u32,
    /// Nesting, 0 for a top-level task.
    pub depth: u8,
}

impl PlanSnapshot {
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    pub fn open(&self) -> usize {
        self.tasks.len() - self.done()
    }

    /// The first open task, the one an iteration works on.
    ///
    /// A parent whose children are open is passed over in favour of the first of them.
    pub fn current(&self) -> Option<&PlanTask> {
        let first = self.tasks.iter().position(|task| !task.done)?;
        let mut current = &self.tasks[first];
        for task in &self.tasks[first + 1..] {
            if task.depth <= current.depth {
                break;
            }
            if !task.done {
                current = task;
            }
        }
        Some(current)
    }
}

/// A commit object under `refs/ralph/` that holds the work tree as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub commit: String,
    pub tree: String,
    /// The user's HEAD at that time; none before the first commit.
    pub head: Option<String>,
}

/// What changed between two points, untracked files included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    pub commits: u32,
    pub files: u32,
    pub added: u64,
    pub removed: u64,
}

/// What an agent's session tells, in the order it happened. `Ended` comes exactly once and last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AgentSignal {
    Opened {
        session: Option<SessionId>,
        model: Option<String>,
    },
    /// A whole assistant message.
    Said {
        text: String,
    },
    Thought {
        text: String,
    },
    ToolStarted {
        call: String,
        tool: String,
        /// Short form of the arguments: the command, the path.
        input: String,
    },
    ToolEnded {
        call: String,
        tool: String,
        ok: bool,
        /// Head of the result.
        output: String,
    },
    FileChanged {
        path: String,
        change: FileChange,
    },
    Usage {
        usage: Usage,
    },
    /// The agent repeats a request by itself.
    Retrying {
        attempt: Option<u32>,
        of: Option<u32>,
        why: String,
    },
    /// A limit is announced, not necessarily reached.
    LimitHit {
        kind: ProblemKind,
        until_ms: Option<u64>,
        text: String,
    },
    PermissionAsked {
        id: String,
        text: String,
    },
    QuestionAsked {
        id: String,
        text: String,
    },
    Problem {
        problem: Problem,
    },
    /// The dialect's verdict on the turn; `message` is the final assistant message, where claims are looked for.
    TurnEnded {
        ok: bool,
        message: Option<String>,
    },
    /// Something this version does not know, kept as readable text.
    Unknown {
        text: String,
    },
    Ended {
        exit: Option<Exit>,
        output_bytes: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileChange {
    Added,
    Updated,
    Deleted,
}

/// Tokens and money; `None` where the agent does not tell. Never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: ProblemKind,
    /// One line, as the agent put it.
    pub text: String,
}

/// Why a session failed; the kind decides what the loop does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProblemKind {
    /// The program is not there or cannot be started.
    NotInstalled,
    Auth,
    ModelUnknown,
    /// The agent refused its command line.
    Usage,
    RateLimited {
        until_ms: Option<u64>,
    },
    QuotaExhausted {
        until_ms: Option<u64>,
    },
    Overloaded,
    Network,
    ContextOverflow,
    PermissionDenied,
    TurnLimit,
    /// The session to resume is not there.
    SessionLost,
    /// It died from a signal, or without the verdict its dialect promises.
    Crashed,
    Hung,
    Other,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Exit {
    Code { code: i32 },
    Signal { signal: i32 },
}

impl Exit {
    pub fn success(self) -> bool {
        self == Exit::Code { code: 0 }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code { code } => write!(f, "exit code {code}"),
            Exit::Signal { signal } => write!(f, "signal {signal}"),
        }
    }
}

/// How an iteration ended, from the loop's point of view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// The agent finished its turn.
    Completed,
    Failed {
        problem: Problem,
    },
    Cancelled {
        reason: CancelReason,
    },
    /// ralph itself died while it ran.
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CancelReason {
    /// The user wants the next iteration.
    Skipped,
    /// A message that cannot wait.
    Steered,
    IterationTimeout,
    IdleTimeout,
    MaxTime,
    MaxCost,
    MaxTokens,
    /// The run is stopping.
    Stopped,
}

/// The agent's word that it is done, never taken as true by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    DoneFile,
    Promise,
    PlanComplete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    Backoff,
    LimitReset,
    /// `callsPerHour` is used up.
    CallBudget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    Elapsed,
    RetriedNow,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PausedBy {
    /// `.ralph-pause` is there.
    File,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteeringKind {
    /// In the next prompt, once.
    Next,
    /// Now: live where the agent can, else by ending this iteration.
    Now,
    /// In every prompt until withdrawn.
    Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    Prompt,
    Live,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRequest {
    AfterIteration,
    InOrder,
    AtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestedBy {
    /// SIGINT, or Ctrl-C on a screen.
    Interrupt,
    Terminate,
    Hangup,
    /// `ralph stop`.
    User,
}

/// Why a run is over. [`StopReason::exit_code`] is what the shell sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StopReason {
    Done {
        verified: bool,
    },
    AgentFailed {
        problem: Problem,
    },
    /// ralph cannot go on: its state cannot be written, the plan cannot be read.
    Broken {
        why: String,
    },
    PlanInvalid {
        why: String,
    },
    LimitReached {
        limit: LimitKind,
    },
    /// The user asked for it in order, and it was not an interrupt.
    Requested,
    Interrupted,
    Terminated,
    HungUp,
    /// Another run took over an unfinished one.
    Superseded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    MaxIterations,
    MaxTime,
    MaxCost,
    MaxTokens,
}

impl StopReason {
    /// The exit code documented in README and `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            StopReason::Done { .. } => 0,
            StopReason::AgentFailed { problem } => match problem.kind {
                ProblemKind::NotInstalled => 4,
                ProblemKind::Auth
                | ProblemKind::ModelUnknown
                | ProblemKind::Usage
                | ProblemKind::RateLimited { .. }
                | ProblemKind::QuotaExhausted { .. }
                | ProblemKind::Overloaded
                | ProblemKind::Network
                | ProblemKind::ContextOverflow
                | ProblemKind::PermissionDenied
                | ProblemKind::TurnLimit
                | ProblemKind::SessionLost
                | ProblemKind::Crashed
                | ProblemKind::Hung
                | ProblemKind::Other => 1,
            },
            StopReason::Broken { .. } | StopReason::Superseded => 1,
            StopReason::PlanInvalid { .. } => 3,
            StopReason::LimitReached { .. } => 6,
            StopReason::Requested | StopReason::Interrupted => 130,
            StopReason::Terminated => 143,
            StopReason::HungUp => 129,
        }
    }
}

/// Sums over a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    pub iterations: u32,
    pub tasks_done: u32,
    pub tasks_open: u32,
    pub changes: Option<Changes>,
    pub usage: Usage,
    pub elapsed_ms: u64,
}

/// Cuts `text` to at most `cap_bytes`, at a character boundary, and marks the cut.
pub fn clip(text: &str, cap_bytes: usize) -> String {
    const MARK: &str = " […]";
    if text.len() <= cap_bytes {
        return text.to_owned();
    }
    let mut end = cap_bytes.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}
