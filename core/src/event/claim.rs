//! Claims of being done, and what was found for and against one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    GoalFailure, GuardedChange, Mutant, TEXT_CAP_BYTES, TestCounts,
    clip::{LIST_CAP, clip, clip_start, cut},
    tests_run::bounded_changes,
};

/// What a record carries of a status block at most.
const STATUS_KEYS: usize = 16;
const STATUS_KEY_BYTES: usize = 40;
const STATUS_VALUE_BYTES: usize = 400;

/// The agent's word that it is done, never taken as true by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    DoneFile,
    Promise,
    /// The final message's `RALPH_STATUS` block.
    StatusBlock,
    /// ralph's tool `claim_done`.
    Tool,
    PlanComplete,
}

/// What an agent's `RALPH_STATUS` block says, by its keys in capitals. The values are the agent's, whatever it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct AgentStatus(pub BTreeMap<String, String>);

impl AgentStatus {
    /// The keys that have a meaning, in the order in which they are shown.
    pub const KEYS: [&str; 7] = [
        "STATUS",
        "TASKS_COMPLETED_THIS_LOOP",
        "FILES_MODIFIED",
        "TESTS_STATUS",
        "WORK_TYPE",
        "EXIT_SIGNAL",
        "RECOMMENDATION",
    ];

    /// What it says for `key`; none where that is nothing.
    pub fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// With so many keys and such values as a record may carry; those that have a meaning come first.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let mut kept = BTreeMap::new();
        for key in Self::KEYS {
            kept.extend(self.0.remove_entry(key));
        }
        let short = self.0.into_iter().filter(|(key, _)| key.len() <= STATUS_KEY_BYTES);
        let room = STATUS_KEYS - kept.len();
        kept.extend(short.take(room));
        for value in kept.values_mut() {
            *value = clip(value, STATUS_VALUE_BYTES);
        }
        AgentStatus(kept)
    }
}

/// What the agent says against being done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Denial {
    /// In its own words.
    NotDone { why: String },
    /// It cannot go on without an answer, even if every box is ticked.
    Blocked { question: String },
}

/// One reason for the confidence in a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct ConfidencePart {
    pub evidence: Evidence,
    pub points: u8,
}

/// What speaks for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Evidence {
    /// The agent said itself that it is done.
    AgentsWord,
    /// It said so in the session before, too.
    AgentsWordAgain,
    /// Every task of the plan is ticked, and none was taken out of it.
    TasksTicked,
    GoalsPassed,
    /// A sentence of a journal of version 1.
    Text {
        text: String,
    },
}

/// What a claim lacks, or what speaks against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Missing {
    /// The agent's last message said that the work is not done.
    SaidNotDone {
        why: String,
    },
    /// The agent's last message said that it is blocked.
    SaidBlocked {
        question: String,
    },
    TasksOpen {
        open: u32,
        /// The task to work on next.
        next: String,
    },
    /// The agent took the task out of the plan.
    TaskVanished {
        task: String,
    },
    PlanUnreadable,
    GoalFailed {
        goal: String,
        /// None where a goal failed without saying how.
        why: Option<GoalFailure>,
        /// The end of what it printed, for the agent.
        output_tail: String,
    },
    /// A goal ran fewer tests than before, or skipped more.
    FewerTests {
        goal: String,
        before: TestCounts,
        /// The tests of this look; none where the goal showed none at all.
        now: Option<TestCounts>,
    },
    /// The output of a goal's runner contradicts itself.
    DoubtfulTests {
        goal: String,
        why: String,
    },
    /// A goal passes only with the tests as they are now.
    OriginalTestsFail {
        goal: String,
        why: Option<GoalFailure>,
        /// The end of what it printed, for the agent.
        output_tail: String,
        changes: Vec<GuardedChange>,
    },
    /// The tests could not be tried as they were.
    NoTrial {
        why: String,
        changes: Vec<GuardedChange>,
    },
    /// The goals passed with each of these changes.
    TestsNoticeNothing {
        mutants: Vec<Mutant>,
    },
    /// Not all goals were run.
    GoalsNotRun,
    /// Nothing but the agent's word speaks for the claim: it counts when it is made twice in a row.
    NeedsSecondClaim,
    /// The boxes are ticked, and the agent's last message does not claim to be done.
    NotSaid,
    Confidence {
        points: u8,
        wanted: u8,
    },
    /// Further reasons were left out of the record.
    More {
        count: u64,
    },
    /// A sentence of a journal of version 1; its further lines are output for the agent.
    Text {
        text: String,
    },
}

impl Missing {
    /// Whether an agent may have a good reason for it, which its user has to confirm: tests changed with what they test.
    pub fn may_be_confirmed(&self) -> bool {
        matches!(
            self,
            Missing::FewerTests { .. } | Missing::OriginalTestsFail { .. } | Missing::NoTrial { .. }
        )
    }

    pub(super) fn bounded(self) -> Self {
        match self {
            Missing::SaidNotDone { why } => Missing::SaidNotDone { why: cut(&why) },
            Missing::SaidBlocked { question } => Missing::SaidBlocked {
                question: cut(&question),
            },
            Missing::TasksOpen { open, next } => Missing::TasksOpen { open, next: cut(&next) },
            Missing::TaskVanished { task } => Missing::TaskVanished { task: cut(&task) },
            Missing::GoalFailed { goal, why, output_tail } => Missing::GoalFailed {
                goal: cut(&goal),
                why: why.map(GoalFailure::bounded),
                output_tail: clip_start(&output_tail, TEXT_CAP_BYTES),
            },
            Missing::DoubtfulTests { goal, why } => Missing::DoubtfulTests {
                goal: cut(&goal),
                why: cut(&why),
            },
            Missing::OriginalTestsFail {
                goal,
                why,
                output_tail,
                changes,
            } => Missing::OriginalTestsFail {
                goal: cut(&goal),
                why: why.map(GoalFailure::bounded),
                output_tail: clip_start(&output_tail, TEXT_CAP_BYTES),
                changes: bounded_changes(changes),
            },
            Missing::NoTrial { why, changes } => Missing::NoTrial {
                why: cut(&why),
                changes: bounded_changes(changes),
            },
            Missing::TestsNoticeNothing { mutants } => Missing::TestsNoticeNothing {
                mutants: mutants.into_iter().take(LIST_CAP).map(Mutant::bounded).collect(),
            },
            Missing::Text { text } => Missing::Text { text: cut(&text) },
            Missing::FewerTests { .. }
            | Missing::PlanUnreadable
            | Missing::GoalsNotRun
            | Missing::NeedsSecondClaim
            | Missing::NotSaid
            | Missing::Confidence { .. }
            | Missing::More { .. } => self,
        }
    }
}

impl Denial {
    pub(super) fn bounded(self) -> Self {
        match self {
            Denial::NotDone { why } => Denial::NotDone { why: cut(&why) },
            Denial::Blocked { question } => Denial::Blocked {
                question: cut(&question),
            },
        }
    }
}

impl Evidence {
    pub(super) fn bounded(self) -> Self {
        match self {
            Evidence::Text { text } => Evidence::Text { text: cut(&text) },
            Evidence::AgentsWord | Evidence::AgentsWordAgain | Evidence::TasksTicked | Evidence::GoalsPassed => self,
        }
    }
}
