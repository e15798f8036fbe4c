//! The loop's decisions, pure: no IO, no clock, no randomness.
//!
//! [`step`] takes an input and returns events to be journalled and effects to be carried out. The state is the fold of
//! the events alone, so a journal is enough to rebuild it. An effect that does not follow from recorded events would be
//! lost in a crash.

mod after_edits;
mod background;
mod breaker;
mod budget;
mod call;
#[cfg(test)]
mod check_tests;
mod comments;
mod deadline;
mod decision;
mod disk;
mod edits;
mod effect;
mod escalation;
mod feedback;
mod gate;
#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod gate_walk;
mod headroom;
mod hints;
#[cfg(test)]
mod hook_tests;
mod hooks;
mod internal_state;
#[cfg(test)]
mod order_tests;
mod outcome;
mod permission;
mod policy;
mod question;
mod review;
mod reviewed;
mod reviews;
mod session;
mod settle;
mod signals;
mod state;
mod step;
mod unreported_tasks;
mod user;
mod warning;
mod warnings;
mod windows;

#[cfg(test)]
mod ask_walk;
#[cfg(test)]
mod background_tests;
#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod comment_tests;
#[cfg(test)]
mod effect_tests;
#[cfg(test)]
mod enumeration;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod feedback_tests;
#[cfg(test)]
mod permission_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod review_tests;
#[cfg(test)]
mod scope_tests;
#[cfg(test)]
mod scripted_run_tests;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod settle_tests;
#[cfg(test)]
mod spending_tests;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod subagent_tests;
#[cfg(test)]
mod testing;

pub use after_edits::AfterEdits;
pub use background::background_refusal;
pub use budget::Budget;
pub use call::claim_reasons;
pub use comments::comment_events;
pub use edits::checks_edits;
pub use effect::{Effect, Timer, TimerKind};
pub use feedback::Feedback;
pub use gate::{goal_reasons, reachable_confidence};
pub use internal_state::{InternalState, LastMessage};
pub use question::{LateAnswer, NoAnswer, confirmed, late_answer, read as read_answer};
pub use reviews::{ReviewSubject, Reviews};
pub use state::{ClosedReason, LoopState};
pub use step::{Step, step};
pub use unreported_tasks::UnreportedTasks;

use std::path::PathBuf;

use crate::event::{
    AgentCall, AgentSignal, AgentStatus, BackgroundCommand, BackgroundProgress, BackgroundResult, Changes, Checkpoint,
    Claim, CommentAnswer, CommentPlace, Day, Elsewhere, GoalResult, IterationCommit, Leftover, LostRepository, LowDisk,
    Notice, PermissionRequest, PlacedComment, PlanSnapshot, Question, RequestedBy, Requester, ReviewAnswer, Ruling,
    Settings, Spent, SteeringId, TestsChange, Trial, TriedMutant, UnreadLines, UserCommand, WindowSample,
};
use crate::run::TaskChanges;

/// An input of the machine. The time of its arrival is passed separately.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Start(Box<Start>),
    /// Continues an unfinished run, whose state was rebuilt from its journal.
    Recover {
        pid: u32,
        settings: Box<Settings>,
        pause_file: bool,
        /// As in [`Start`].
        day: Option<Day>,
    },
    Command {
        command: UserCommand,
        by: RequestedBy,
    },
    /// A request to start or cancel a background task.
    Background {
        command: BackgroundCommand,
        by: Requester,
    },
    /// A background task has written more output.
    BackgroundProgressed {
        number: u32,
        progress: BackgroundProgress,
    },
    /// A background task ended.
    BackgroundEnded {
        number: u32,
        result: Box<BackgroundResult>,
    },
    /// A hook ended.
    HookEnded {
        number: u32,
        result: Box<BackgroundResult>,
    },
    /// `.ralph-pause` appeared or disappeared.
    PauseFile {
        present: bool,
    },
    Prepared {
        iteration: u32,
        result: Result<Preparation, Refusal>,
    },
    Agent {
        iteration: u32,
        signal: AgentSignal,
    },
    /// The statement in the last message of the turn. Arrives before the end of the turn, so that the state never has
    /// one without the other.
    AgentStated {
        iteration: u32,
        statement: Statement,
    },
    /// The agent called one of ralph's tools.
    AgentCalled {
        iteration: u32,
        call: AgentCall,
    },
    /// The agent asked the user with ralph's own tool and continues meanwhile.
    AgentAsked {
        iteration: u32,
        question: Box<Question>,
    },
    /// The goals with `on_edit` were run while the agent works.
    EditsChecked {
        iteration: u32,
        results: Vec<GoalResult>,
    },
    /// The goals were run on the files that an iteration left, while the run went on.
    IterationChecked {
        iteration: u32,
        results: Vec<GoalResult>,
    },
    /// Positions of the tasks whose box on disk changed while the agent works.
    BoxesToggled {
        iteration: u32,
        toggled: Vec<u32>,
    },
    /// The agent fetched the answer to one of its questions.
    AnswerFetched {
        iteration: u32,
        ask: u32,
    },
    /// An agent whose dialect has no messages has written output.
    OutputSeen {
        iteration: u32,
    },
    /// The agent asks to use a tool; `ruling` is the decision of the rules.
    PermissionRequested {
        iteration: u32,
        request: Box<PermissionRequest>,
        ruling: Ruling,
    },
    /// New rules or another mode decide a pending question.
    PermissionRuled {
        ask: u32,
        ruling: Ruling,
    },
    /// The agent created `.ralph-done`. The file is removed once this is recorded.
    DoneFileFound {
        iteration: u32,
    },
    /// The message could not be handed to the agent; no [`AgentSignal::MessageAnswered`] will follow.
    NotSteered {
        iteration: u32,
        id: SteeringId,
    },
    /// The goals were run.
    Verified {
        iteration: u32,
        verification: Box<Verification>,
    },
    Settled {
        iteration: u32,
        settlement: Box<Settlement>,
    },
    /// The answer to [`Effect::ProbeActivity`].
    ActivityProbed {
        iteration: u32,
        /// How long the agent has neither written nor used CPU time.
        quiet_ms: u64,
    },
    /// The answer to [`Effect::ProbeDisks`]: a disk that is still nearly full, or `None`.
    DisksProbed {
        low: Option<LowDisk>,
    },
    /// The wall clock moved by `gap_ms` relative to the time that passed for the loop: the computer slept, ralph was
    /// suspended, or the clock was set.
    ClockMoved {
        gap_ms: i64,
    },
    /// Another day began in the user's time zone, at midnight or because the clock was set.
    DayBegan {
        day: Day,
    },
    TimerFired {
        timer: Timer,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    pub project: PathBuf,
    pub pid: u32,
    pub settings: Settings,
    pub promise: String,
    pub pause_file: bool,
    /// The number of the run among those of its project, from 1.
    pub number: u32,
    /// Start times of iterations of earlier runs within the last hour.
    pub earlier_starts_ms: Vec<u64>,
    /// Spending of earlier runs that may fall on the current day.
    pub earlier_spending: Vec<Spent>,
    /// The current day in the user's time zone; `None` if no limit needs it.
    pub day: Option<Day>,
    /// Changes of an earlier run outside of the scopes of tasks, whose ticks do not count yet.
    pub out_of_scope: Vec<TaskChanges>,
}

/// The agent's statement about its own work at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statement {
    pub claims: Vec<Claim>,
    /// Why the agent cannot continue.
    pub blocked: Option<String>,
    /// The agent's own words that the work is not done.
    pub denies_done: Option<String>,
    /// The question at the end of the last message.
    pub question: Option<String>,
    /// The complete `RALPH_STATUS` block.
    pub status: Option<AgentStatus>,
    /// The agent's answer, if it was asked for a review.
    pub review: Option<ReviewAnswer>,
    /// The agent's reason for changing tests.
    pub tests_changed: Option<String>,
    /// The agent's reasons for leaving commented lines as they are.
    pub comments: Vec<CommentAnswer>,
}

/// The result of preparing an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    pub plan: PlanSnapshot,
    /// The lines of the plan that look like tasks and could not be read; `None` if the plan was not read.
    pub unread: Option<UnreadLines>,
    pub checkpoint: Option<Checkpoint>,
    pub prompt_bytes: u64,
    pub overhead_bytes: u64,
    /// The messages in the prompt.
    pub delivered: Vec<SteeringId>,
    pub live_steering: bool,
    /// The newest reports of the windows of the adapter's account.
    pub windows: Vec<WindowSample>,
    pub leftovers: Vec<(Leftover, Notice)>,
    pub notices: Vec<Notice>,
}

/// Why an iteration could not be prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Plan {
        why: String,
    },
    State {
        why: String,
    },
    /// The tests cannot be kept as they are.
    Originals {
        why: String,
    },
    /// Goals lack the room that the settings require.
    Room {
        why: String,
    },
    /// A disk is nearly full.
    Disk {
        low: LowDisk,
    },
    /// The repository that the run began with is no longer there.
    Repository {
        lost: Box<LostRepository>,
    },
    /// The cause is unknown.
    Internal,
}

/// The state found after an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The plan re-read from disk, or why it could not be read.
    pub plan: Result<PlanSnapshot, String>,
    /// As in [`Preparation`].
    pub unread: Option<UnreadLines>,
    pub checkpoint: Option<Checkpoint>,
    pub changes: Option<Changes>,
    pub totals: Option<Changes>,
    pub elsewhere: Elsewhere,
    /// Whether the changes of a reviewer were undone.
    pub undone: bool,
    /// The commit of what the agent left uncommitted.
    pub committed: Option<IterationCommit>,
    /// The repository, if it is no longer there.
    pub lost: Option<Box<LostRepository>>,
    /// Without a checkpoint: whether the files differ from every earlier state in this run.
    pub moved: Option<bool>,
    pub claims: Vec<Claim>,
    /// Tasks removed from the plan, and new ones in `added`. Moved or ticked tasks count as neither.
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    /// The goals that have to pass before ticked tasks count as done. The plan has these tasks as open.
    pub unchecked: Vec<String>,
    /// The changes of tasks outside of their scopes. The plan has the tasks that are held for these as open.
    pub scopes: Vec<ScopeFinding>,
    /// Why the agent says that it cannot continue.
    pub blocked: Option<String>,
    /// The agent's own words that the work is not done.
    pub denies_done: Option<String>,
    /// The question at the end of the agent's last message.
    pub question: Option<String>,
    /// Changed tests that the agent or the plan mentions, unless the user is already asked about them.
    pub tests: Option<Box<FoundTests>>,
    /// The comments whose lines are elsewhere than before, or were changed.
    pub comments: Vec<PlacedComment>,
    /// The places that a reviewer's findings name, with the findings.
    pub findings: Vec<(CommentPlace, String)>,
    pub leftovers: Vec<(Leftover, Notice)>,
    pub notices: Vec<Notice>,
    /// Evenly distributed in 0..1; spreads retries.
    pub random: f64,
}

impl Settlement {
    /// Creates a settlement with the plan only.
    pub fn from_plan(plan: Result<PlanSnapshot, String>, random: f64) -> Self {
        Settlement {
            plan,
            unread: None,
            checkpoint: None,
            changes: None,
            totals: None,
            elsewhere: Elsewhere::default(),
            undone: false,
            committed: None,
            lost: None,
            moved: None,
            claims: Vec::new(),
            vanished: Vec::new(),
            added: Vec::new(),
            unchecked: Vec::new(),
            scopes: Vec::new(),
            blocked: None,
            denies_done: None,
            question: None,
            tests: None,
            comments: Vec::new(),
            findings: Vec::new(),
            leftovers: Vec::new(),
            notices: Vec::new(),
            random,
        }
    }
}

/// The files that a task whose scope was checked has changed outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeFinding {
    /// The text of the task when the run began.
    pub task: String,
    pub outside: Vec<String>,
    /// Number of further files.
    pub more: u64,
    pub ticked: bool,
}

/// Changes to tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTests {
    pub change: TestsChange,
    /// Whether every change was made in an iteration whose task permits it.
    pub allowed: bool,
}

/// The results of the goals and the plan after them: a goal runs code that the agent may have written, which can change
/// the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    pub results: Vec<GoalResult>,
    /// The results with the original tests, if they were changed.
    pub trial: Option<Trial>,
    /// Why ralph itself could not try the original tests, which no agent can mend.
    pub broken: Option<String>,
    /// The mutants that were tried.
    pub mutants: Vec<TriedMutant>,
    /// About the place where the goals ran.
    pub notices: Vec<Notice>,
    /// As in [`Settlement`].
    pub plan: Result<PlanSnapshot, String>,
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    pub random: f64,
}
