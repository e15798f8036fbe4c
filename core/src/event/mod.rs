//! The vocabulary of a run: what happened, as the journal keeps it and every view reads it.
//!
//! State is the fold of these events, so each one carries all that is needed to rebuild it: an event never says
//! "see the file", because the file may have changed since. What somebody else wrote is bounded
//! ([`Event::bounded`]); the whole of it
//! is in the iteration's recording.

mod agent;
mod background;
mod bounds;
mod breaker;
mod call;
mod claim;
mod clip;
mod command;
mod goal;
mod hint;
mod limits;
mod mode;
mod notice;
mod permission;
mod plan;
mod plan_change;
mod proof;
mod question;
mod review;
mod role;
#[cfg(test)]
mod schema_tests;
mod settings;
mod spending;
mod stop;
mod tests_run;
mod trial;
mod wait;

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use agent::{AgentSignal, Exit, FileChange, Finding, Problem, ProblemKind, Usage};
pub use background::{
    BACKGROUND_COMMAND_CAP_BYTES, BackgroundCommand, BackgroundEnd, BackgroundLimits, BackgroundProgress,
    BackgroundRefusal, BackgroundResult, Requester,
};
pub use breaker::{BreakerCause, BreakerState};
pub use call::AgentCall;
pub use claim::{AgentStatus, Claim, ConfidencePart, Denial, Evidence, Missing};
pub use clip::{TEXT_CAP_BYTES, clip, clip_middle, clip_start};
pub use command::{Answer, CommandRefusal, UserCommand};
pub use goal::{Flaky, Goal, GoalFailure, GoalResult, GoalsWhen};
pub use hint::{Hint, RestoreMoment};
pub use limits::{DayLimits, Limits, NewLimits, OnDayLimit, TaskLimits};
pub use mode::Mode;
pub use notice::{ChoiceReason, Level, Notice, RunBy};
pub use permission::{
    AskId, Decider, Decision, DenialLimits, Offer, PermissionAnswer, PermissionMode, PermissionRequest, Remember,
    RememberedRule, RuleScope, Ruling, ToolKind, ToolKinds, Unanswered, Waiting,
};
pub use plan::{PlanSnapshot, PlanTask, TaskSettings};
pub use plan_change::{LineShift, PlanChange, ReplacedTasks};
pub use proof::Proof;
pub use question::{AnswerPlace, AnsweredAsk, Choice, Question};
pub use review::{Findings, ReviewAnswer, ReviewObstacle, ReviewResult};
pub use role::Role;
pub use settings::{
    Backoff, BreakerLimits, ChannelKind, Completion, Escalation, GateSettings, GivenSetting, ReviewSettings,
    ReviewWhen, SessionMode, Settings, Worker,
};
pub use spending::{Day, Spent};
pub use stop::{Breakdown, EndKind, LimitKind, OwnWork, RequestedBy, StopReason, StopRequest};
pub use tests_run::{
    Bite, ConfirmedBy, GuardedChange, GuardedChangeKind, Mutant, MutantOutcome, MutantTarget, TestCounts, TestsChange,
    TriedMutant,
};
pub use trial::Trial;
pub use wait::{Wait, WaitCause, WaitEnd};

/// Most bytes of a message of the user, which is kept whole.
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

/// Names one run, and with it its directory below the state directory: `20261120-102835-0424f2a90b1c3d7e86a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The agent's own name for a session, as its command line takes it to resume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SessionId(pub String);

/// Numbers the user's messages within a run, from 1; messages of ralph's own are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SteeringId(pub u32);

impl SteeringId {
    /// What ralph itself says to a running turn. What becomes of it changes nothing.
    pub const RALPH: SteeringId = SteeringId(0);
}

/// What happened. Past tense; one journal line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
        /// When iterations of runs before this one began, as far as they count against the calls of an hour.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_starts_ms: Vec<u64>,
        /// What runs before this one spent, as far as it may have been today.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_spending: Vec<Spent>,
    },
    /// ralph was killed and resumes from the journal; the settings are those of the new command line.
    RunResumed {
        pid: u32,
        /// The version that writes from here on; none where an older one does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ralph: Option<String>,
        settings: Box<Settings>,
    },
    /// The wall clock has moved by so much besides the time that passed for the loop: every time before this record that
    /// stands for a duration moves with it.
    ClockMoved {
        gap_ms: i64,
    },
    /// It is this day for the user: what is spent counts against its limits. Only recorded where there are any.
    DayBegan {
        day: Day,
    },
    /// Something the user should know that changes nothing in the state.
    Noticed {
        notice: Notice,
    },
    /// The plan on disk differs from the last one recorded, in much of it.
    PlanRead {
        plan: PlanSnapshot,
    },
    /// The plan on disk differs from the last one recorded, in little of it: in boxes, or in a few tasks.
    PlanChanged {
        change: PlanChange,
    },
    /// The plan is being read, the tree checkpointed and the prompt written for this iteration.
    PreparationStarted {
        iteration: u32,
        /// The one that will be run: another than the first while that is limited.
        adapter: String,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    IterationStarted {
        iteration: u32,
        adapter: String,
        /// The model that is asked for; none leaves it to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
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
        /// The messages that are in the prompt. Delivered they are when the session shows that it has read it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<SteeringId>,
        #[serde(default, skip_serializing_if = "Role::is_work")]
        role: Role,
    },
    AgentReported {
        iteration: u32,
        signal: AgentSignal,
    },
    /// The agent reports more details than the journal keeps of an iteration: the rest of them is in its signal log.
    DetailsOmitted {
        iteration: u32,
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
        /// What it changed was undone: the files are as they were before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undone: bool,
    },
    /// What the agent says of itself, read from the whole of its last message when its turn ended, and from the file it
    /// left: judged when the iteration's result has been looked at. Replaces what it said before.
    AgentStated {
        iteration: u32,
        claims: Vec<Claim>,
        /// Why it cannot go on.
        blocked: Option<String>,
        /// What it says against being done.
        denies_done: Option<String>,
        /// The question its message ends with.
        question: Option<String>,
        /// The whole of its `RALPH_STATUS` block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<AgentStatus>,
        /// Its answer, if it was asked for a review.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewAnswer>,
        /// Why it changed tests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests_changed: Option<String>,
    },
    /// The agent used one of ralph's tools, and what it said with it counts.
    AgentCalled {
        iteration: u32,
        call: AgentCall,
    },
    ClaimMade {
        iteration: u32,
        claim: Claim,
    },
    /// The agent said itself that the work is not done, whatever else claims it.
    CompletionDenied {
        iteration: u32,
        why: Denial,
    },
    /// The agent waits for somebody's answer before it uses a tool. With the number of an earlier one: it is waited for
    /// longer.
    PermissionAsked {
        iteration: u32,
        /// Counts the questions of a run, from 1.
        ask: u32,
        request: Box<PermissionRequest>,
        /// Without end if there is none.
        until_ms: Option<u64>,
        #[serde(default)]
        offer: Offer,
        /// Not all of the request is in this record.
        #[serde(default)]
        cut: bool,
    },
    /// It does not wait any more.
    PermissionWithdrawn {
        iteration: u32,
        ask: u32,
    },
    /// The agent may use a tool, or may not.
    PermissionDecided {
        iteration: u32,
        id: AskId,
        /// The number of the question, if it was one.
        ask: Option<u32>,
        tool: String,
        title: String,
        allowed: bool,
        by: Decider,
        /// What the user tells the agent with it.
        message: Option<String>,
        waited_ms: u64,
        /// How often the same was denied in this iteration, with this time.
        denials: u32,
    },
    /// The agent's questions have their answers, or will have none.
    QuestionAnswered {
        iteration: u32,
        id: AskId,
        ask: u32,
        questions: Vec<String>,
        /// To each question what was chosen, or said; none if nobody answered, or the user did not want to.
        answers: Vec<Vec<String>>,
        by: Decider,
        /// Why the user does not answer.
        message: Option<String>,
        waited_ms: u64,
    },
    /// From now on, requests that these rules allow are not asked any more, unless another rule asks or denies them.
    RulesAdded {
        iteration: u32,
        /// The question with whose answer they were added.
        ask: u32,
        scope: RuleScope,
        rules: Vec<String>,
        /// The rules of `ask` that asked it: what is added goes before them.
        over: Vec<String>,
    },
    /// What answers have added of this text is taken back.
    RuleForgotten {
        rule: String,
    },
    /// From now on, the run may use so much.
    LimitsChanged {
        limits: NewLimits,
    },
    /// From now on, this mode decides what no rule does.
    PermissionModeChanged {
        mode: PermissionMode,
    },
    /// The agent changed which tasks there are; ticking one is not meant.
    PlanEdited {
        iteration: u32,
        /// Texts of tasks that are not there any more.
        vanished: Vec<String>,
        added: Vec<String>,
    },
    /// The agent cannot go on with a task: it is set aside until the user says something.
    TaskBlocked {
        iteration: u32,
        task: Option<String>,
        question: String,
    },
    /// The task has used up what one may: it is set aside until its user allows more.
    TaskSetAside {
        iteration: u32,
        task: String,
        limit: LimitKind,
        /// What it has had: so many iterations, and what they reported.
        iterations: u32,
        usage: Usage,
    },
    /// Goals are run now; iteration 0 is the look before the first.
    VerificationStarted {
        iteration: u32,
        goals: Vec<String>,
    },
    GoalChecked {
        iteration: u32,
        result: GoalResult,
    },
    /// The goals passed although what guards the tests had changed, and were run again with it as it was.
    TrialMade {
        iteration: u32,
        trial: Trial,
    },
    /// The agent changed tests on purpose: the user is asked whether the tests as changed count from now on. The question takes the
    /// place of one that is open.
    TestsQuestioned {
        iteration: u32,
        /// Its number.
        ask: u32,
        change: Box<TestsChange>,
    },
    /// Tests count as changed from now on.
    TestsConfirmed {
        /// The iteration that changed them; none in journals in which only ended runs had tests confirmed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
        changes: Vec<GuardedChange>,
        #[serde(default)]
        by: ConfirmedBy,
    },
    /// The goals were run with small changes that tests should notice.
    MutantsTried {
        iteration: u32,
        mutants: Vec<TriedMutant>,
    },
    /// The goals for edits were run while the agent works. Proves nothing: what counts is found when the iteration is over.
    EditsChecked {
        iteration: u32,
        results: Vec<GoalResult>,
        /// The goals whose result is news to the agent.
        news: Vec<String>,
        /// It is told at once; else what still fails is in the next prompt.
        live: bool,
    },
    /// What was found for and against a claim.
    ClaimJudged {
        iteration: u32,
        /// 0 to 100.
        confidence: u8,
        parts: Vec<ConfidencePart>,
    },
    ClaimRefused {
        iteration: u32,
        reasons: Vec<Missing>,
    },
    /// The reviewer is to look at the work, before the run goes on or is done.
    ReviewRequested {
        /// The latest iteration of the author's.
        iteration: u32,
        /// The task that was finished; none where the whole plan is.
        task: Option<String>,
        /// The run is done but for this.
        claims_done: bool,
    },
    /// The review that was requested is not made.
    ReviewWithdrawn,
    /// A review is over. What it says proves nothing.
    ReviewConcluded {
        iteration: u32,
        result: ReviewResult,
    },
    BreakerMoved {
        to: BreakerState,
        why: BreakerCause,
    },
    /// An adapter is of no use until then.
    AdapterLimited {
        adapter: String,
        until_ms: u64,
    },
    /// The agent's live channel did not begin: an older version has none. The other one is used from here on.
    LiveChannelGivenUp {
        adapter: String,
        /// What the agent said.
        why: String,
    },
    WaitStarted {
        wait: Wait,
        until_ms: u64,
        /// Consecutive failures so far; 0 when the wait is not about one.
        attempt: u32,
        why: WaitCause,
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
        /// What it answers; else it is a message by itself.
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
    /// A command was started that outlives the iteration and not the run.
    BackgroundStarted {
        /// Counts the background tasks of a run, from 1.
        number: u32,
        by: Requester,
        /// What a shell runs.
        command: String,
        cwd: PathBuf,
    },
    /// A background task has written more. Recorded after a second, then after twice as long each time, and every minute in
    /// the end.
    BackgroundProgressed {
        number: u32,
        progress: BackgroundProgress,
    },
    /// A background task is to end before it does by itself.
    BackgroundCancelled {
        number: u32,
        by: Requester,
    },
    /// A background task is gone, and every process it had.
    BackgroundEnded {
        number: u32,
        result: BackgroundResult,
    },
    /// The run was over and resumes; its limits keep counting.
    RunReopened {
        by: RequestedBy,
        /// The user wants it continued as it was; else it goes on with a message, and the stuck detector counts anew.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        continued: bool,
    },
    StopRequested {
        stop: StopRequest,
        by: RequestedBy,
    },
    /// The stop that was asked for after the running iteration is not wanted any more.
    StopWithdrawn,
    /// The run is over. The ends of the background tasks that end with it follow.
    RunStopped {
        reason: StopReason,
        /// What the user can do next.
        hints: Vec<Hint>,
        totals: Totals,
    },
    /// An event that this version does not know: a newer ralph wrote it. Only read, never written.
    Unknown {
        /// What that version calls it.
        name: String,
    },
}

/// A commit object under `refs/ralph/` that holds the work tree as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    pub commit: String,
    pub tree: String,
    /// The user's HEAD at that time; none before the first commit.
    pub head: Option<String>,
}

/// What changed between two points, untracked files included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Changes {
    pub commits: u32,
    pub files: u32,
    pub added: u64,
    pub removed: u64,
}

/// How an iteration ended, from the loop's point of view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// ralph itself died while it ran.
    Interrupted,
}

impl Outcome {
    /// Nothing was done: the agent has no live channel, and the iteration is repeated on the other one.
    pub fn found_no_live_channel(&self) -> bool {
        let Outcome::Failed { problem } = self else {
            return false;
        };
        problem.finding == Some(Finding::NoLiveChannel)
    }

    /// A limit of the agent's ended the iteration: it is repeated and does not count.
    pub fn was_limited(&self) -> bool {
        matches!(self, Outcome::Failed { problem } if problem.kind.is_limit())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CancelReason {
    /// The user wants the next iteration.
    Skipped,
    /// A message that cannot wait.
    Steered,
    IterationTimeout,
    IdleTimeout,
    /// The agent repeats a request that is refused for want of a login.
    LoginRefused,
    /// The agent waits for a limit by itself, for longer than is left to it.
    Limited,
    /// The agent reports without end what the loop would have to keep.
    Flooded,
    /// It was denied the same thing again and again, or nobody answered what it cannot go on without.
    Denied,
    /// It has used as many tools as it may.
    MaxSteps,
    MaxTime,
    MaxCost,
    MaxTokens,
    /// The task has cost as much as one may.
    TaskCost,
    TaskTokens,
    /// The runs of the day have cost as much as they may.
    DayCost,
    DayTokens,
    /// The run is stopping.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PausedBy {
    /// `.ralph-pause` is there.
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
    /// Now: live where the agent can, else by ending this iteration.
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

/// Sums over a run.
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
