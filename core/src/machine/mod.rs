//! The loop's decisions, pure: no IO, no clock, no randomness.
//!
//! [`step`] takes what happened and says what follows: events to be journalled and effects to be carried out. The state
//! is the fold of the events and of nothing else, so a journal is enough to rebuild it; an effect that is not a
//! consequence of recorded events would be lost in a crash.

mod after_edits;
mod background;
mod breaker;
mod budget;
mod call;
mod deadline;
mod decision;
mod edits;
mod effect;
mod escalation;
mod feedback;
mod gate;
#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod gate_walk;
mod hints;
mod outcome;
mod permission;
mod policy;
mod question;
mod review;
mod reviewed;
mod reviews;
mod rules;
mod session;
mod settle;
mod signals;
mod state;
mod step;
mod untold;
mod user;

#[cfg(test)]
mod ask_walk;
#[cfg(test)]
mod background_tests;
#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod enumeration;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod permission_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod spending_tests;
#[cfg(test)]
mod testing;

pub use after_edits::AfterEdits;
pub use background::background_refusal;
pub use budget::Budget;
pub use call::claim_reasons;
pub use edits::checks_edits;
pub use effect::{Effect, Timer, TimerKind};
pub use feedback::Feedback;
pub use gate::{goal_reasons, reachable_confidence};
pub use question::{LateAnswer, NoAnswer, late_answer, read as read_answer, tests_confirmed};
pub use reviews::{Reviews, Subject};
pub use rules::{Rules, Said};
pub use state::{Closed, LoopState};
pub use step::{Step, step};
pub use untold::Untold;

use std::path::PathBuf;

use crate::event::{
    AgentCall, AgentSignal, AgentStatus, BackgroundCommand, BackgroundProgress, BackgroundResult, Changes, Checkpoint,
    Claim, Day, GoalResult, Notice, PermissionRequest, PlanSnapshot, RequestedBy, Requester, ReviewAnswer, Ruling,
    Settings, Spent, SteeringId, TestsChange, Trial, TriedMutant, UserCommand,
};

/// Everything that reaches the machine. The time it was received comes beside it.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Start(Box<Start>),
    /// An unfinished run goes on; the state was rebuilt from its journal.
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
    /// Somebody asks for a background task to be started or ended.
    Background {
        command: BackgroundCommand,
        by: Requester,
    },
    /// A background task has written more.
    BackgroundProgressed {
        number: u32,
        progress: BackgroundProgress,
    },
    /// A background task is gone.
    BackgroundEnded {
        number: u32,
        result: Box<BackgroundResult>,
    },
    /// `.ralph-pause` is there, or is not any more.
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
    /// What the last message of the turn that ends says. Comes before the end of the turn, so that neither is known without
    /// the other.
    AgentStated {
        iteration: u32,
        statement: Statement,
    },
    /// The agent has used one of ralph's tools.
    AgentCalled {
        iteration: u32,
        call: AgentCall,
    },
    /// The goals for edits were run while the agent works.
    EditsChecked {
        iteration: u32,
        results: Vec<GoalResult>,
    },
    /// While the agent works, these tasks of the plan have the other box on disk, by their positions.
    BoxesToggled {
        iteration: u32,
        toggled: Vec<u32>,
    },
    /// The agent has fetched the answer to a question of its own.
    AnswerFetched {
        iteration: u32,
        ask: u32,
    },
    /// An agent that has no messages has written something.
    OutputSeen {
        iteration: u32,
    },
    /// The agent asks to use a tool; `ruling` is what the rules say to it.
    PermissionRequested {
        iteration: u32,
        request: Box<PermissionRequest>,
        ruling: Ruling,
    },
    /// A question is decided by rules that were added since it was asked.
    PermissionRuled {
        ask: u32,
        ruling: Ruling,
    },
    /// The agent has left the file that claims the end, which is removed once this is recorded.
    DoneFileFound {
        iteration: u32,
    },
    /// The agent is not to be had for a message: [`AgentSignal::MessageAnswered`] will not come.
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
        /// For how long it has neither written nor computed.
        quiet_ms: u64,
    },
    /// The wall clock has moved by so much more than the time that passed for the loop, or less: the computer slept, ralph
    /// was stopped, or the clock was set.
    ClockMoved {
        gap_ms: i64,
    },
    /// It is another day for the user than the one before: midnight has passed, or the clock was set.
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
    /// When iterations of earlier runs began, as far as that is within the last hour.
    pub earlier_starts_ms: Vec<u64>,
    /// What earlier runs spent, as far as that may have been today.
    pub earlier_spending: Vec<Spent>,
    /// The day that it is for the user; none where no limit needs it.
    pub day: Option<Day>,
}

/// What an agent says of itself at the end of its turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statement {
    pub claims: Vec<Claim>,
    /// Why it cannot go on.
    pub blocked: Option<String>,
    /// What it says against being done.
    pub denies_done: Option<String>,
    /// The question that its last message ends with.
    pub question: Option<String>,
    /// The whole of its `RALPH_STATUS` block.
    pub status: Option<AgentStatus>,
    /// Its answer, if it was asked for a review.
    pub review: Option<ReviewAnswer>,
    /// Why it changed tests.
    pub tests_changed: Option<String>,
}

/// What was found and made before an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    pub plan: PlanSnapshot,
    pub checkpoint: Option<Checkpoint>,
    pub prompt_bytes: u64,
    pub overhead_bytes: u64,
    /// The messages that are in the prompt.
    pub delivered: Vec<SteeringId>,
    pub live_steering: bool,
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
    /// Nobody knows why.
    Internal,
}

/// What was found after an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The plan re-read from disk, or why it could not be.
    pub plan: Result<PlanSnapshot, String>,
    pub checkpoint: Option<Checkpoint>,
    pub changes: Option<Changes>,
    pub totals: Option<Changes>,
    /// What a reviewer changed was undone.
    pub undone: bool,
    /// Where no checkpoint was made: whether the files are as they never were before in this run.
    pub moved: Option<bool>,
    pub claims: Vec<Claim>,
    /// Tasks that are not in the plan any more, and new ones; moved and ticked ones are neither.
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    /// Why the agent says that it cannot go on.
    pub blocked: Option<String>,
    /// What the agent says against being done, in its own words.
    pub denies_done: Option<String>,
    /// The question that the agent's last message ends with.
    pub question: Option<String>,
    /// Changed tests, where the agent or the plan speaks of them and they are not those that the user is asked about.
    pub tests: Option<Box<FoundTests>>,
    pub notices: Vec<Notice>,
    /// Evenly distributed in 0..1; spreads retries.
    pub random: f64,
}

impl Settlement {
    /// One that found nothing but what became of the plan.
    pub fn of_plan(plan: Result<PlanSnapshot, String>, random: f64) -> Self {
        Settlement {
            plan,
            checkpoint: None,
            changes: None,
            totals: None,
            undone: false,
            moved: None,
            claims: Vec::new(),
            vanished: Vec::new(),
            added: Vec::new(),
            blocked: None,
            denies_done: None,
            question: None,
            tests: None,
            notices: Vec::new(),
            random,
        }
    }
}

/// Tests that are not as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTests {
    pub change: TestsChange,
    /// All of it was changed in an iteration for a task at which the plan allows that.
    pub allowed: bool,
}

/// What came of the goals, and of the plan meanwhile: a goal runs what the agent may have written.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    pub results: Vec<GoalResult>,
    /// How the goals ended with the tests as they were, if these had changed.
    pub trial: Option<Trial>,
    /// The changes that were tried, which the tests should have noticed.
    pub mutants: Vec<TriedMutant>,
    /// As in [`Settlement`].
    pub plan: Result<PlanSnapshot, String>,
    pub vanished: Vec<String>,
    pub added: Vec<String>,
    pub random: f64,
}
