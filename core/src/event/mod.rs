//! The vocabulary of a run: the events that the journal stores and every view reads.
//!
//! State is the fold over these events, so each one carries all that is needed to rebuild it: an event never says "see
//! the file", because the file may have changed since. Text from agents, programs and other outside sources is bounded
//! ([`Text`]); the full text is in the iteration's recording.

mod agent;
mod agent_event;
mod ask;
mod background;
mod bounds;
mod breaker;
mod call;
mod ceiling;
mod claim;
mod clip;
mod command;
mod comment;
mod gate;
mod goal;
mod hint;
mod hook;
mod iteration;
mod mode;
mod notice;
mod permission;
mod plan;
mod plan_change;
mod prepared_tree;
mod proof;
mod question;
mod repository;
mod review;
mod role;
mod run;
mod sandbox;
#[cfg(test)]
mod schema_tests;
mod settings;
mod spending;
mod steering;
mod stop;
mod task;
mod tests_run;
mod text;
#[cfg(test)]
mod text_tests;
mod time;
mod trial;
mod unread;
mod usage;
mod wait;
mod window;
mod work;
mod worker;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{ReadJson, WriteJson};

pub use crate::limits::{DayLimits, LimitKind, Limits, NewLimits, SizeLimit, SubagentLimits, TaskLimits};
pub use crate::subagents::{SubagentReport, SubagentStart};
pub use agent::{AgentSignal, Exit, FileChange, Finding, Problem, ProblemClass, ProblemKind};
pub use agent_event::AgentEvent;
pub use ask::{Answered, Ask, AskEvent, AskKind, AskVerdict};
pub use background::{
    BACKGROUND_COMMAND_CAP_BYTES, BackgroundCommand, BackgroundEnd, BackgroundEvent, BackgroundLimits,
    BackgroundProgress, BackgroundRefusal, BackgroundResult, Requester,
};
pub use breaker::{BreakerCause, BreakerState, GoalSince, Suspects};
pub use call::AgentCall;
pub use ceiling::{Ceiling, ExceededCeiling, LowDisk, ProcessUse};
pub use claim::{AgentStatus, Claim, ClaimEvent, ConfidencePart, Denial, Evidence, Missing};
pub(crate) use clip::listed;
pub use clip::{LIST_CAP, REASONS, TEXT_CAP_BYTES, clip, clip_middle, clip_start};
pub use command::{Answer, CommandRefusal, UserCommand};
pub use comment::{
    COMMENT_CAP_BYTES, COMMENTED_LINES, COMMENTS, CONTEXT_LINES, CommentAnswer, CommentAuthor, CommentEvent,
    CommentPlace, LinesState, PlacedComment, SourceLine,
};
pub use gate::GateEvent;
pub use goal::{Flaky, Goal, GoalFailure, GoalResult, GoalsWhen, TestNames};
pub use hint::{Hint, RestoreMoment};
pub use hook::{Hook, HookEvent, Hooks};
pub use iteration::IterationEvent;
pub use mode::Mode;
pub use notice::{Level, Notice};
pub use permission::{
    AskId, Decider, Decision, DenialLimits, Offer, PermissionAnswer, PermissionMode, PermissionRequest, Remember,
    RememberedRule, RuleScope, Ruling, ToolKind, ToolKinds, Unanswered, Waiting,
};
pub use plan::{PlanSnapshot, PlanStep, PlanTask, ScopedTask, TaskSettings, has_grown, step_name};
pub use plan_change::{LineShift, PlanChange, PlanEvent, ReplacedTasks};
pub use prepared_tree::{PreparedTree, TreeCommand};
pub use proof::Proof;
pub use question::{AnswerPlace, AnsweredAsk, Choice, Question};
pub use repository::{Checkpoint, HeadPlace, IterationCommit, Leftover, LossKind, LostRepository, StashEntry};
pub use review::{Findings, ReviewAnswer, ReviewEvent, ReviewObstacle, ReviewResult};
pub use role::Role;
pub use run::RunEvent;
pub use sandbox::SandboxState;
pub use settings::{
    Backoff, BreakerLimits, ChannelKind, Completion, Escalation, GateSettings, GivenSetting, MUTANTS, NewWorker,
    ReviewSettings, ReviewWhen, SessionMode, Settings, Worker,
};
pub use spending::{Day, Spent};
pub use steering::SteeringEvent;
pub use stop::{Breakdown, EndKind, OwnWork, RequestedBy, StopReason, StopRequest};
pub use task::TaskEvent;
pub use tests_run::{
    Bite, ConfirmedBy, GuardedChange, GuardedChangeKind, KnownFailures, Mutant, MutantOutcome, MutantTarget, RoomUse,
    TestCounts, TestsChange, TriedMutant,
};
pub use text::{BoundedText, List, Tail, Text};
pub use time::TimeEvent;
pub use trial::Trial;
pub use unread::{UnreadLine, UnreadLines, UnreadWhy};
pub use usage::Usage;
pub use wait::{Wait, WaitCause, WaitEnd};
pub use window::{Headroom, UsageWindow, WindowHold, WindowKind, WindowPace, WindowSample};
pub use work::{Changes, Elsewhere, NestedWork, RepositoryChange};
pub use worker::WorkerEvent;

/// Maximum size of a user message, in bytes. Messages are never cut.
pub const MESSAGE_CAP_BYTES: usize = 64 * 1024;

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
pub struct Record {
    /// Position in the journal, from 0 without gaps.
    pub seq: u64,
    /// When the input that caused it was received, in milliseconds since the Unix epoch.
    #[serde(rename = "atMs")]
    pub at_ms: u64,
    pub event: Event,
}

/// Identifies a run, and names its directory below the state directory: `20261120-102835-0424f2a90b1c3d7e86a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The agent's own id of a session, as its command line accepts it to resume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// Numbers the user's messages within a run, from 1. Messages by ralph itself are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct SteeringId(pub u32);

impl SteeringId {
    /// The id of every message that ralph itself sends to a running turn. Its delivery does not affect the state.
    pub const RALPH: SteeringId = SteeringId(0);
}

/// A fact of a run. Past tense; one journal line each.
#[derive(Debug, Clone, PartialEq, WriteJson, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// Information for the user that does not change the state.
    Noticed {
        notice: Notice,
    },
    BreakerMoved {
        to: BreakerState,
        why: BreakerCause,
    },
    /// An event of a newer ralph that this version does not know. Read, never written.
    Unknown {
        /// Its type in that version.
        name: String,
    },
    #[serde(untagged)]
    Run(RunEvent),
    #[serde(untagged)]
    Time(TimeEvent),
    #[serde(untagged)]
    Plan(PlanEvent),
    #[serde(untagged)]
    Task(TaskEvent),
    #[serde(untagged)]
    Iteration(IterationEvent),
    #[serde(untagged)]
    Agent(AgentEvent),
    #[serde(untagged)]
    Claim(ClaimEvent),
    #[serde(untagged)]
    Ask(AskEvent),
    #[serde(untagged)]
    Worker(WorkerEvent),
    #[serde(untagged)]
    Gate(GateEvent),
    #[serde(untagged)]
    Review(ReviewEvent),
    #[serde(untagged)]
    Steering(SteeringEvent),
    #[serde(untagged)]
    Comment(CommentEvent),
    #[serde(untagged)]
    Background(BackgroundEvent),
    #[serde(untagged)]
    Hook(HookEvent),
}

/// How an iteration ended, as the loop sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
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
    /// ralph itself died during the iteration.
    Interrupted,
}

impl Outcome {
    /// Whether the agent had no live channel and did no work. The iteration is repeated on the other channel.
    pub fn found_no_live_channel(&self) -> bool {
        let Outcome::Failed { problem } = self else {
            return false;
        };
        problem.finding == Some(Finding::NoLiveChannel)
    }

    /// Whether a rate limit of the agent ended the iteration, which is then repeated and does not count.
    pub fn was_limited(&self) -> bool {
        matches!(self, Outcome::Failed { problem } if problem.kind.is_limit())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CancelReason {
    /// The user skipped to the next iteration.
    Skipped,
    /// An urgent message.
    Steered,
    IterationTimeout,
    IdleTimeout,
    /// The agent keeps repeating a request that is refused because it is not logged in.
    LoginRefused,
    /// The agent itself waits for a limit to end, for longer than the time left to it.
    Limited,
    /// The agent reports an unbounded amount of data that the loop would have to keep.
    Flooded,
    /// The same request was denied repeatedly, or a question that blocks the agent was not answered.
    Denied,
    /// The iteration reached its limit of tool uses.
    MaxSteps,
    /// A limit of the run, the task or the day is reached.
    Limit(LimitKind),
    /// The run is stopping.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PausedBy {
    /// The file `.ralph-pause` exists.
    File,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SteeringKind {
    /// In the next prompt, once.
    #[default]
    Next,
    /// Now: live if the agent can take messages, otherwise by ending this iteration.
    Now,
    /// In every prompt until withdrawn.
    Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    Prompt,
    Live,
}

/// Totals of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    pub iterations: u32,
    pub tasks_done: u32,
    pub tasks_open: u32,
    pub changes: Option<Changes>,
    pub usage: Usage,
    pub elapsed_ms: u64,
}
