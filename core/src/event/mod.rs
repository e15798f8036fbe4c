//! The vocabulary of a run: the events that the journal stores and every view reads.
//!
//! State is the fold over these events, so each one carries all that is needed to rebuild it: an event never says "see
//! the file", because the file may have changed since. Text from agents, programs and other outside sources is bounded
//! ([`Text`]); the full text is in the iteration's recording.

mod agent;
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
mod goal;
mod hint;
mod hook;
mod mode;
mod notice;
mod permission;
mod plan;
mod plan_change;
mod proof;
mod question;
mod repository;
mod review;
mod role;
#[cfg(test)]
mod schema_tests;
mod settings;
mod spending;
mod stop;
mod tests_run;
mod text;
#[cfg(test)]
mod text_tests;
mod trial;
mod unread;
mod wait;
mod window;
mod work;

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::json::ReadJson;

pub use crate::limits::{DayLimits, LimitKind, Limits, NewLimits, OnDayLimit, SizeLimit, TaskLimits};
pub use agent::{AgentSignal, Exit, FileChange, Finding, Problem, ProblemClass, ProblemKind, Usage};
pub use ask::{Answered, Ask, AskKind, AskVerdict};
pub use background::{
    BACKGROUND_COMMAND_CAP_BYTES, BackgroundCommand, BackgroundEnd, BackgroundLimits, BackgroundProgress,
    BackgroundRefusal, BackgroundResult, Requester,
};
pub use breaker::{BreakerCause, BreakerState};
pub use call::AgentCall;
pub use ceiling::{Ceiling, ExceededCeiling, LowDisk, ProcessUse};
pub use claim::{AgentStatus, Claim, ConfidencePart, Denial, Evidence, Missing};
pub(crate) use clip::listed;
pub use clip::{LIST_CAP, REASONS, TEXT_CAP_BYTES, clip, clip_middle, clip_start};
pub use command::{Answer, CommandRefusal, UserCommand};
pub use comment::{
    COMMENT_CAP_BYTES, COMMENTED_LINES, COMMENTS, CONTEXT_LINES, CommentAnswer, CommentAuthor, CommentPlace,
    LinesState, PlacedComment, SourceLine,
};
pub use goal::{Flaky, Goal, GoalFailure, GoalResult, GoalsWhen, TestNames};
pub use hint::{Hint, RestoreMoment};
pub use hook::{Hook, Hooks};
pub use mode::Mode;
pub use notice::{ChoiceReason, Forbidden, Level, Notice, PreparedTree, RunBy, TreeCommand};
pub use permission::{
    AskId, Decider, Decision, DenialLimits, Offer, PermissionAnswer, PermissionMode, PermissionRequest, Remember,
    RememberedRule, RuleScope, Ruling, ToolKind, ToolKinds, Unanswered, Waiting,
};
pub use plan::{PlanSnapshot, PlanStep, PlanTask, TaskSettings, step_name};
pub use plan_change::{LineShift, PlanChange, ReplacedTasks};
pub use proof::Proof;
pub use question::{AnswerPlace, AnsweredAsk, Choice, Question};
pub use repository::{Checkpoint, HeadPlace, IterationCommit, LossKind, LostRepository, StashEntry};
pub use review::{Findings, ReviewAnswer, ReviewObstacle, ReviewResult};
pub use role::Role;
pub use settings::{
    Backoff, BreakerLimits, ChannelKind, Completion, Escalation, GateSettings, GivenSetting, NewWorker, ReviewSettings,
    ReviewWhen, SessionMode, Settings, Worker,
};
pub use spending::{Day, Spent};
pub use stop::{Breakdown, EndKind, OwnWork, RequestedBy, StopReason, StopRequest};
pub use tests_run::{
    Bite, ConfirmedBy, GuardedChange, GuardedChangeKind, KnownFailures, Mutant, MutantOutcome, MutantTarget,
    TestCounts, TestsChange, TriedMutant,
};
pub use text::{BoundedText, List, Tail, Text};
pub use trial::Trial;
pub use unread::{UnreadLine, UnreadLines, UnreadWhy};
pub use wait::{Wait, WaitCause, WaitEnd};
pub use window::{Headroom, UsageWindow, WindowHold, WindowKind, WindowPace, WindowSample};
pub use work::{Changes, Elsewhere, NestedWork, RepositoryChange};

/// Maximum size of a user message, in bytes. Messages are never cut.
pub const MESSAGE_CAP_BYTES: usize = 64 * 1024;

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Record {
    /// Position in the journal, from 0 without gaps.
    pub seq: u64,
    /// When the input that caused it was received, in milliseconds since the Unix epoch.
    #[serde(rename = "atMs")]
    pub at_ms: u64,
    pub event: Event,
}

/// Identifies a run, and names its directory below the state directory: `20261120-102835-0424f2a90b1c3d7e86a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The agent's own id of a session, as its command line accepts it to resume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SessionId(pub String);

/// Numbers the user's messages within a run, from 1. Messages by ralph itself are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SteeringId(pub u32);

impl SteeringId {
    /// The id of every message that ralph itself sends to a running turn. Its delivery does not affect the state.
    pub const RALPH: SteeringId = SteeringId(0);
}

/// A fact of a run. Past tense; one journal line each.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// The first line of every journal: identifies the format and the version that wrote it.
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
        /// The token that the agent has to repeat to claim completion; fresh for each run.
        promise: String,
        /// The number of the run among those of its project, from 1; 0 in journals of older versions.
        #[serde(default, skip_serializing_if = "plan_change::is_zero")]
        number: u32,
        /// Start times of iterations of earlier runs that still count towards the hourly limit on calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_starts_ms: Vec<u64>,
        /// Spending of earlier runs that may fall on the current day.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_spending: Vec<Spent>,
    },
    /// ralph was killed and resumes from the journal; the settings are those of the new command line.
    RunResumed {
        pid: u32,
        /// The version that writes from here on.
        ralph: String,
        settings: Box<Settings>,
    },
    /// The wall clock jumped by `gap_ms` relative to the time that passed for the loop. Every earlier timestamp that
    /// marks the start of a duration moves with it.
    ClockMoved {
        gap_ms: i64,
    },
    /// A new day began in the user's time zone; spending counts against its limits. Recorded only if daily limits are
    /// set.
    DayBegan {
        day: Day,
    },
    /// Information for the user that does not change the state.
    Noticed {
        notice: Notice,
    },
    /// The plan on disk differs from the last one recorded; the change is large, so the whole plan is recorded.
    PlanRead {
        plan: PlanSnapshot,
    },
    /// The plan on disk differs from the last one recorded in a few boxes or tasks only.
    /// The lines of the plan that look like tasks and are none have changed.
    PlanLinesUnread {
        unread: UnreadLines,
    },
    PlanChanged {
        change: PlanChange,
    },
    /// Preparation of an iteration began: the plan is read, the tree is checkpointed and the prompt is written.
    PreparationStarted {
        iteration: u32,
        /// The adapter that will run: a fallback while the first one is rate-limited.
        adapter: String,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    IterationStarted {
        iteration: u32,
        adapter: String,
        /// The requested model; `None` leaves the choice to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        task: Option<String>,
        /// The session that is continued; `None` starts a fresh one.
        resume: Option<SessionId>,
        /// Whether the agent accepts messages while it works.
        live_steering: bool,
        /// The work tree before the agent changed it.
        checkpoint: Option<Checkpoint>,
        prompt_bytes: u64,
        /// Bytes of the prompt that ralph added to the user's text.
        overhead_bytes: u64,
        /// The messages in the prompt. They count as delivered once the session shows that it has read the prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<SteeringId>,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    AgentReported {
        iteration: u32,
        signal: AgentSignal,
    },
    /// The agent reports more details than the journal keeps of an iteration; the rest is in the signal log of the
    /// iteration.
    DetailsOmitted {
        iteration: u32,
    },
    /// The running iteration was asked to end.
    CancelRequested {
        iteration: u32,
        reason: CancelReason,
    },
    /// The agent and all of its processes have ended.
    IterationEnded {
        iteration: u32,
        outcome: Outcome,
        exit: Option<Exit>,
        duration_ms: u64,
        output_bytes: u64,
    },
    /// The result of the iteration was examined: checkpoint, statistics, plan.
    IterationSettled {
        iteration: u32,
        checkpoint: Option<Checkpoint>,
        changes: Option<Changes>,
        totals: Option<Changes>,
        /// Whether the tree, HEAD or the boxes of the plan changed; `None` if that could not be determined.
        progress: Option<bool>,
        /// The changes of the iteration were undone; the files are as they were before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undone: bool,
        /// ralph's commit of what the agent left uncommitted. The checkpoint has it as its HEAD.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        committed: Option<IterationCommit>,
        #[serde(default, skip_serializing_if = "Elsewhere::is_empty")]
        elsewhere: Elsewhere,
    },
    /// The agent's statement about its own work, read from its complete last message at the end of the turn and from
    /// the file it left. It is judged when the result of the iteration has been examined, and replaces earlier
    /// statements.
    AgentStated {
        iteration: u32,
        claims: Vec<Claim>,
        /// Why the agent cannot continue.
        blocked: Option<String>,
        /// The agent's own words that the work is not done.
        denies_done: Option<String>,
        /// The question at the end of the message.
        question: Option<String>,
        /// The complete `RALPH_STATUS` block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<AgentStatus>,
        /// The agent's answer, if it was asked for a review.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewAnswer>,
        /// The agent's reason for changing tests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests_changed: Option<String>,
        /// The agent's reasons for leaving commented lines as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        comments: Vec<CommentAnswer>,
    },
    /// The agent used one of ralph's tools in a way that affects the run.
    AgentCalled {
        iteration: u32,
        call: AgentCall,
    },
    ClaimMade {
        iteration: u32,
        claim: Claim,
    },
    /// The agent itself said that the work is not done. This overrides any claim.
    CompletionDenied {
        iteration: u32,
        why: Denial,
    },
    /// The user was asked. If the question waits already, its timeout has changed.
    Asked {
        ask: Box<Ask>,
    },
    /// A question was answered, withdrawn or will stay unanswered, or rules decided about a request.
    Answered {
        answered: Box<Answered>,
    },
    /// From now on, requests that match these rules are allowed without asking, unless another rule asks or denies.
    RulesAdded {
        iteration: u32,
        /// The question whose answer added the rules.
        ask: u32,
        scope: RuleScope,
        rules: Vec<String>,
        /// The rules that caused question `ask`; the added rules take precedence over them.
        over: Vec<String>,
    },
    /// A rule that answers had added was removed.
    RuleForgotten {
        rule: String,
    },
    /// The limits of the run were changed.
    LimitsChanged {
        limits: NewLimits,
    },
    /// The user chose another agent or model for the next iterations.
    WorkerChanged {
        worker: Worker,
    },
    /// The mode that decides requests without a matching rule was changed.
    PermissionModeChanged {
        mode: PermissionMode,
    },
    /// The agent added or removed tasks. Ticking a task does not count.
    PlanEdited {
        iteration: u32,
        /// Texts of the removed tasks.
        vanished: Vec<String>,
        added: Vec<String>,
    },
    /// The agent cannot continue with a task, which is set aside until the user replies.
    TaskBlocked {
        iteration: u32,
        task: Option<String>,
        question: Text,
    },
    /// A task reached its limit and is set aside until the user raises it.
    TaskSetAside {
        iteration: u32,
        task: String,
        limit: LimitKind,
        /// Iterations spent on the task.
        iterations: u32,
        /// Usage reported by these iterations.
        usage: Usage,
    },
    /// The user has set a task aside: the run works on other tasks and is done without it.
    TaskSetAsideByUser {
        task: String,
    },
    /// The user has taken back a task that they had set aside.
    TaskTakenBack {
        task: String,
    },
    /// The goals are being run. Iteration 0 is the check before the first iteration.
    VerificationStarted {
        iteration: u32,
        goals: Vec<String>,
        /// Whether only the checks of ticked tasks are run. Claims are judged afterwards.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ticks: bool,
    },
    GoalChecked {
        iteration: u32,
        result: GoalResult,
    },
    /// The goals passed, but files that guard the tests had changed: the goals were run again with the original files.
    TrialMade {
        iteration: u32,
        trial: Trial,
    },
    /// Changed tests were accepted.
    TestsConfirmed {
        /// The iteration that changed the tests.
        iteration: u32,
        changes: List<GuardedChange>,
        by: ConfirmedBy,
    },
    /// The goals were run with small mutations of the code that tests should detect.
    MutantsTried {
        iteration: u32,
        mutants: List<TriedMutant>,
    },
    /// The goals with `on_edit` were run while the agent works. They prove nothing: the results that count come after
    /// the iteration.
    EditsChecked {
        iteration: u32,
        results: Vec<GoalResult>,
        /// The goals whose result is new to the agent.
        news: Vec<String>,
        /// Whether the agent is told at once; otherwise the next prompt lists what still fails.
        live: bool,
    },
    /// The evidence for a claim was weighed.
    ClaimJudged {
        iteration: u32,
        /// From 0 to 100.
        confidence: u8,
        parts: List<ConfidencePart>,
    },
    ClaimRefused {
        iteration: u32,
        reasons: List<Missing, REASONS>,
    },
    /// A reviewer is to look at the work before the run continues or completes.
    ReviewRequested {
        /// The latest iteration of the author.
        iteration: u32,
        /// The finished task; `None` if the whole plan is reviewed.
        task: Option<String>,
        /// Whether the review is all that is missing for completion.
        claims_done: bool,
    },
    /// The requested review will not be made.
    ReviewWithdrawn,
    /// A review ended. Its answer proves nothing.
    ReviewConcluded {
        iteration: u32,
        result: ReviewResult,
    },
    BreakerMoved {
        to: BreakerState,
        why: BreakerCause,
    },
    /// An adapter cannot be used until `until_ms`.
    AdapterLimited {
        adapter: String,
        until_ms: u64,
    },
    /// The agent's live channel did not open, for example in an older version. The one-way channel is used from here
    /// on.
    LiveChannelGivenUp {
        adapter: String,
        /// The error message of the agent.
        why: Text,
    },
    WaitStarted {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 if the wait is not due to a failure.
        attempt: u32,
        why: WaitCause,
    },
    WaitEnded {
        cause: WaitEnd,
    },
    /// The loop is to pause: no new iteration starts, a running one finishes.
    Paused {
        by: PausedBy,
    },
    Unpaused {
        by: PausedBy,
    },
    /// The loop stands still because of the pause.
    Held,
    SteeringQueued {
        id: SteeringId,
        kind: SteeringKind,
        text: String,
        /// The question that the message answers; `None` for an ordinary message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<Box<AnsweredAsk>>,
    },
    SteeringDelivered {
        id: SteeringId,
        iteration: u32,
        how: Delivery,
    },
    SteeringWithdrawn {
        id: SteeringId,
    },
    /// A comment on lines of a file was written. The user's are drafts until they are sent.
    CommentWritten {
        /// Number of the comment within the run, from 1.
        comment: u32,
        by: CommentAuthor,
        place: Box<CommentPlace>,
        text: String,
    },
    /// The user changed the text of a draft.
    CommentEdited {
        comment: u32,
        text: String,
    },
    /// The user withdrew a draft.
    CommentWithdrawn {
        comment: u32,
    },
    /// Drafts were put into one message, which was queued just before.
    CommentsSent {
        message: SteeringId,
        comments: List<u32, COMMENTS>,
    },
    /// The lines of these comments are in another place than before, or were changed.
    CommentsPlaced {
        /// The iteration that was examined.
        iteration: u32,
        places: List<PlacedComment, COMMENTS>,
    },
    /// The user resolved a comment. It no longer keeps the run from ending.
    CommentResolved {
        comment: u32,
    },
    /// A background command was started. It may outlive the iteration, but not the run.
    BackgroundStarted {
        /// Number of the background task within the run, from 1.
        number: u32,
        by: Requester,
        /// The shell command.
        command: String,
        cwd: PathBuf,
    },
    /// A background task has written more output. Recorded after one second, then at doubling intervals up to one
    /// minute.
    BackgroundProgressed {
        number: u32,
        progress: BackgroundProgress,
    },
    /// A background task was asked to end early.
    BackgroundCancelled {
        number: u32,
        by: Requester,
    },
    /// A background task and all of its processes have ended.
    BackgroundEnded {
        number: u32,
        result: BackgroundResult,
    },
    /// A command of the user is due at a point of the run. It is run after those that were recorded before it.
    HookStarted {
        /// Number of the hook within the run, from 1.
        number: u32,
        hook: Hook,
        /// The iteration that it belongs to.
        iteration: u32,
        task: Option<Text>,
        /// The question that blocks the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Text>,
    },
    /// A hook has ended.
    HookEnded {
        number: u32,
        hook: Hook,
        iteration: u32,
        task: Option<Text>,
        result: BackgroundResult,
    },
    /// An ended run resumes. Its limits keep counting.
    RunReopened {
        by: RequestedBy,
        /// True if the user continues the run as it was; false if it continues with a message, which resets the stuck
        /// detector.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        continued: bool,
    },
    StopRequested {
        stop: StopRequest,
        by: RequestedBy,
    },
    /// A stop after the running iteration was withdrawn.
    StopWithdrawn,
    /// The run ended. The ends of its background tasks and its hooks may follow.
    RunStopped {
        reason: StopReason,
        /// Suggested next steps for the user.
        hints: List<Hint, REASONS>,
        totals: Totals,
    },
    /// An event of a newer ralph that this version does not know. Read, never written.
    Unknown {
        /// Its type in that version.
        name: String,
    },
}

/// How an iteration ended, as the loop sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PausedBy {
    /// The file `.ralph-pause` exists.
    File,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    Prompt,
    Live,
}

/// Totals of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    pub iterations: u32,
    pub tasks_done: u32,
    pub tasks_open: u32,
    pub changes: Option<Changes>,
    pub usage: Usage,
    pub elapsed_ms: u64,
}
