//! Claims of completion, and the evidence for and against them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{GoalFailure, GuardedChange, List, Mutant, REASONS, Tail, TestCounts, Text, listed};
use crate::json::ReadJson;

/// Maximum number of keys of a status block in a record.
const STATUS_KEYS: usize = 16;
const STATUS_KEY_BYTES: usize = 40;
const STATUS_VALUE_BYTES: usize = 400;

/// The agent's word that it is done. Never trusted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    DoneFile,
    Promise,
    /// The `RALPH_STATUS` block of the final message.
    StatusBlock,
    /// ralph's tool `claim_done`.
    Tool,
    PlanComplete,
}

/// The content of an agent's `RALPH_STATUS` block: keys in capitals, values as the agent wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(from = "BTreeMap<String, String>")]
pub struct AgentStatus(BTreeMap<String, Text<STATUS_VALUE_BYTES>>);

impl From<BTreeMap<String, String>> for AgentStatus {
    /// Cuts the number of keys and the values. Keys with a meaning are kept first.
    fn from(mut fields: BTreeMap<String, String>) -> Self {
        let mut kept = BTreeMap::new();
        for key in Self::KEYS {
            kept.extend(fields.remove_entry(key));
        }
        let short = fields.into_iter().filter(|(key, _)| key.len() <= STATUS_KEY_BYTES);
        let room = STATUS_KEYS - kept.len();
        kept.extend(short.take(room));
        AgentStatus(kept.into_iter().map(|(key, value)| (key, value.into())).collect())
    }
}

impl AgentStatus {
    /// The keys that have a meaning, in display order.
    pub const KEYS: [&str; 7] = [
        "STATUS",
        "TASKS_COMPLETED_THIS_LOOP",
        "FILES_MODIFIED",
        "TESTS_STATUS",
        "WORK_TYPE",
        "EXIT_SIGNAL",
        "RECOMMENDATION",
    ];

    /// The value of `key`; `None` if missing or empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key).map(|value| &**value);
        value.filter(|value| !value.is_empty())
    }

    /// All keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }
}

/// The agent's statement that it is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Denial {
    /// In its own words.
    NotDone { why: Text },
    /// The agent cannot continue without an answer, even if every box is ticked.
    Blocked { question: Text },
}

/// One part of the confidence in a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ConfidencePart {
    pub evidence: Evidence,
    pub points: u8,
}

/// Evidence for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Evidence {
    /// The agent itself said that it is done.
    AgentsWord,
    /// The agent said so in the previous session, too.
    AgentsWordAgain,
    /// Every task of the plan is ticked, and none was removed.
    TasksTicked,
    GoalsPassed,
}

/// A reason to refuse a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Missing {
    /// The agent's last message said that the work is not done.
    SaidNotDone {
        why: Text,
    },
    /// The agent's last message said that it is blocked.
    SaidBlocked {
        question: Text,
    },
    /// The plan still has open tasks.
    TasksOpen {
        open: u32,
        /// The next task to work on.
        next: Text,
    },
    /// A comment of the user is open: its lines are as they were, and the user has not resolved it.
    CommentOpen {
        comment: u32,
        /// The present file and line.
        place: Text,
        text: Text,
        /// Whether the agent gave a reason for leaving the lines as they are.
        answered: bool,
    },
    /// The agent removed the task from the plan.
    TaskVanished {
        task: Text,
    },
    PlanUnreadable,
    /// The work on a task changed files outside of its scope.
    OutOfScope {
        task: Text,
        /// The files; none if they could not be determined.
        files: List<Text>,
        /// Number of further files.
        more: u64,
    },
    GoalFailed {
        goal: Text,
        /// `None` if the goal failed without a known reason.
        why: Option<GoalFailure>,
        /// The end of the goal's output, for the agent.
        output_tail: Tail,
    },
    /// A goal ran fewer tests than before, or skipped more.
    FewerTests {
        goal: Text,
        before: TestCounts,
        /// The test counts of this check; `None` if the goal reported no tests.
        now: Option<TestCounts>,
    },
    /// The output of the goal's test runner contradicts itself.
    DoubtfulTests {
        goal: Text,
        why: Text,
    },
    /// The goal passes only with the changed tests.
    OriginalTestsFail {
        goal: Text,
        why: Option<GoalFailure>,
        /// The end of the goal's output with the original tests, for the agent.
        output_tail: Tail,
        changes: List<GuardedChange>,
    },
    /// The goals could not be run with the original tests.
    NoTrial {
        why: Text,
        changes: List<GuardedChange>,
    },
    /// The goals still passed with each of these mutations.
    TestsNoticeNothing {
        mutants: List<Mutant>,
    },
    /// The goals failed once a comment was added to the tests of the work: what they test knows their files.
    CommentNoticed {
        /// The first of the files.
        path: Text,
    },
    /// Some goals were not run.
    GoalsNotRun,
    /// Only the agent's word supports the claim, which then has to be made twice in a row.
    NeedsSecondClaim,
    /// The boxes are ticked, but the agent's last message does not claim completion.
    NotSaid,
    Confidence {
        points: u8,
        wanted: u8,
    },
    /// Number of further reasons that were left out of the record.
    More {
        count: u64,
    },
}

impl Missing {
    /// Returns as many reasons as a record has room for, with the number of those left out.
    pub fn listed(reasons: Vec<Missing>) -> List<Missing, REASONS> {
        listed(reasons, |count| Missing::More { count })
    }

    /// The same reason without the output of its goal.
    #[must_use]
    pub fn without_output(mut self) -> Self {
        if let Missing::GoalFailed { output_tail, .. } | Missing::OriginalTestsFail { output_tail, .. } = &mut self {
            *output_tail = Tail::default();
        }
        self
    }

    /// How grave a reason is beside others: weakened tests are graver than goals that fail, and all others less grave.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Missing::FewerTests { .. } => 0,
            reason if reason.may_be_confirmed() => 1,
            Missing::GoalFailed { .. } => 2,
            _ => 3,
        }
    }

    /// The changed tests that the reason names.
    pub(crate) fn changed_tests(&self) -> &[GuardedChange] {
        match self {
            Missing::OriginalTestsFail { changes, .. } | Missing::NoTrial { changes, .. } => changes,
            _ => &[],
        }
    }

    /// Whether the agent may have had a good reason, which the user can confirm: tests changed together with the tested
    /// code.
    pub fn may_be_confirmed(&self) -> bool {
        matches!(
            self,
            Missing::FewerTests { .. } | Missing::OriginalTestsFail { .. } | Missing::NoTrial { .. }
        )
    }
}

/// Claims of completion, and what they are worth.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ClaimEvent {
    #[serde(rename = "claim-made")]
    Made { iteration: u32, claim: Claim },
    /// The agent itself said that the work is not done. This overrides any claim.
    #[serde(rename = "completion-denied")]
    Denied { iteration: u32, why: Denial },
    /// The evidence for a claim was weighed.
    #[serde(rename = "claim-judged")]
    Judged {
        iteration: u32,
        /// From 0 to 100.
        confidence: u8,
        parts: List<ConfidencePart>,
    },
    #[serde(rename = "claim-refused")]
    Refused {
        iteration: u32,
        reasons: List<Missing, REASONS>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status<'f>(fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> AgentStatus {
        let fields = fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        AgentStatus::from(fields.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn a_status_has_sixteen_keys_at_most_and_keeps_those_with_a_meaning() {
        let others: Vec<String> = (0..20).map(|number| format!("A{number:02}")).collect();
        let others = others.iter().map(|key| (key.as_str(), "a value"));
        let status = status(others.chain([("STATUS", "IN_PROGRESS"), ("WORK_TYPE", "TESTING")]));
        assert_eq!(status.iter().count(), 16);
        assert_eq!(status.get("STATUS"), Some("IN_PROGRESS"));
        assert_eq!(status.get("WORK_TYPE"), Some("TESTING"));
        assert_eq!(status.get("A13"), Some("a value"));
        assert_eq!(status.get("A14"), None);
    }

    #[test]
    fn a_key_of_more_than_forty_bytes_is_dropped_and_a_long_value_is_cut() {
        let (short, long) = ("K".repeat(40), "L".repeat(41));
        let value = "v".repeat(1_000);
        let status = status([(short.as_str(), value.as_str()), (long.as_str(), "kept")]);
        assert_eq!(status.get(&long), None);
        let kept = status.get(&short).expect("a value");
        assert!(kept.len() <= 400 && kept.starts_with("vvv"), "{kept}");
    }

    #[test]
    fn an_empty_value_counts_as_missing() {
        let status = status([("STATUS", "COMPLETE"), ("RECOMMENDATION", "")]);
        assert_eq!(status.get("STATUS"), Some("COMPLETE"));
        assert_eq!(status.get("RECOMMENDATION"), None);
        assert_eq!(status.get("EXIT_SIGNAL"), None);
        assert_eq!(status.iter().count(), 2);
    }
}
