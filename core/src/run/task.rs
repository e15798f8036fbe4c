//! Tasks and goals with their state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::ReadJson;
use crate::{
    event::{GoalResult, LimitKind, Limits, PlanSnapshot, Suspects, TestCounts, TestNames, Usage},
    limits::{Consumption, LimitScope, TaskConsumption, reached},
};

/// A task of the plan, or one that was removed from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub text: String,
    pub state: TaskState,
    pub depth: u8,
    pub work: Work,
    /// A question of the agent that blocks the task.
    pub question: Option<String>,
    /// The limit that the task reached, if it is set aside for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    Done,
    Open,
    /// Set aside until the user replies or raises its limit.
    Blocked,
    /// Set aside by the user.
    SetAside,
    /// Removed from the plan without having been ticked.
    Vanished,
}

/// The work on a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Numbers of the iterations on the task.
    pub iterations: Vec<u32>,
    /// Total duration of the ended ones.
    pub duration_ms: u64,
    /// Iterations that count against `limits.perTask.maxIterations`: those ended by a rate limit do not.
    pub counted: u32,
    /// Unknown if the agent did not report it.
    pub usage: Usage,
}

impl Work {
    /// The limit that forbids another iteration on the task.
    pub fn limit_reached(&self, limits: &Limits) -> Option<LimitKind> {
        let used = Consumption {
            task: Some(self.consumption()),
            ..Consumption::default()
        };
        reached(LimitScope::Task, limits, &used)
    }

    /// The use of the limits on one task.
    pub fn consumption(&self) -> TaskConsumption {
        TaskConsumption {
            iterations: self.counted,
            usage: self.usage,
        }
    }
}

/// A question that blocks a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The number that an answer refers to, from the same sequence as the agents' requests.
    pub number: u32,
    pub task: Option<String>,
    pub question: String,
}

/// A goal of the settings and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalStatus {
    pub name: String,
    pub state: GoalState,
    /// The first test counts of the goal, from before the first iteration if possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<TestCounts>,
    /// The latest iteration with whose files the goal passed; 0 for the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_with: Option<u32>,
    /// The first iteration with whose files the goal is known to be broken, which it has been since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_by: Option<u32>,
    /// The tests that failed at the start of the run and have passed since.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub mended: TestNames,
}

impl GoalStatus {
    /// Makes the status of a goal that was not run yet.
    pub fn unknown(name: &str) -> GoalStatus {
        GoalStatus {
            name: name.to_owned(),
            state: GoalState::Unknown,
            baseline: None,
            passed_with: None,
            broken_by: None,
            mended: TestNames::default(),
        }
    }

    /// Records the result with the files of an iteration. A failure of a goal that never passed breaks nothing, unless
    /// tests fail that did not fail `at_start`.
    pub(super) fn judged(&mut self, iteration: u32, result: &GoalResult, at_start: Option<&GoalResult>) {
        if result.passed {
            (self.passed_with, self.broken_by) = (self.passed_with.max(Some(iteration)), None);
        } else if self.broken_by.is_none() && self.is_broken_by(result, at_start) {
            self.broken_by = Some(iteration);
        }
        let Some(before) = at_start.filter(|_| iteration > 0 && has_all_names(result)) else {
            return;
        };
        let names = before.failed_tests.iter();
        let mended: TestNames = names
            .filter(|name| self.mended.contains(name) || !result.failed_tests.contains(name))
            .cloned()
            .collect();
        self.mended = mended;
    }

    /// Records whether the goal passes with the files of an iteration before the break.
    pub(super) fn sought(&mut self, iteration: u32, passed: bool) {
        if !self.is_before_break(iteration) {
            return;
        }
        if passed {
            self.passed_with = Some(iteration);
        } else {
            self.broken_by = Some(iteration);
        }
    }

    /// Whether an iteration is one of those between the last pass and the break.
    pub fn is_before_break(&self, iteration: u32) -> bool {
        let suspects = self.suspects();
        suspects.is_some_and(|suspects| (suspects.first..suspects.last).contains(&iteration))
    }

    /// The iterations of which one broke the goal.
    pub fn suspects(&self) -> Option<Suspects> {
        self.broken_by.map(|last| Suspects {
            first: self.passed_with.map_or(1, |passed| passed + 1).min(last),
            last,
        })
    }

    /// Whether `result` is a failure of what was not failing before.
    pub fn is_broken_by(&self, result: &GoalResult, at_start: Option<&GoalResult>) -> bool {
        if result.passed {
            return false;
        }
        let failed_before = at_start.map(|before| &before.failed_tests[..]).unwrap_or_default();
        let mut new = result.failed_tests.iter().filter(|name| !failed_before.contains(name));
        let has_new = !failed_before.is_empty() && new.next().is_some();
        self.passed_with.is_some() || self.broken_by.is_some() || has_new
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum GoalState {
    Unknown,
    Running,
    Checked { result: Box<GoalResult> },
}

/// Whether a result names each test that failed, of those that ran.
fn has_all_names(result: &GoalResult) -> bool {
    let failed = |tests: &TestCounts| tests.ran() > 0 && tests.failed as usize == result.failed_tests.len();
    result.tests.as_ref().is_some_and(failed)
}

/// The names of the failed tests of each goal whose counts are not in doubt.
pub(super) fn failed_tests(goals: &[GoalResult]) -> BTreeMap<String, Vec<String>> {
    let failed = goals
        .iter()
        .filter(|result| result.doubt.is_none() && !result.failed_tests.is_empty());
    failed
        .map(|result| {
            let names = result.failed_tests.iter().map(ToString::to_string);
            (result.name.clone(), names.collect())
        })
        .collect()
}

/// Combines the plan with the state of its tasks, of which the user has set those `left_out` aside. Removed tasks come
/// last.
pub(super) fn tasks(
    plan: &PlanSnapshot,
    missing: &[String],
    left_out: &[String],
    blocks: &[Block],
    work: &BTreeMap<String, Work>,
    at_limit: impl Fn(&str) -> Option<LimitKind>,
) -> Vec<Task> {
    let question = |text: &str| {
        let mut blocks = blocks.iter().rev();
        blocks.find_map(|block| (block.task.as_deref() == Some(text)).then(|| block.question.clone()))
    };
    let there = plan.tasks.iter().map(|task| {
        let question = question(&task.text).filter(|_| !task.done);
        let limit = at_limit(&task.text).filter(|_| !task.done);
        Task {
            state: match (task.done, question.is_some() || limit.is_some()) {
                (true, _) => TaskState::Done,
                (false, _) if left_out.contains(&task.text) => TaskState::SetAside,
                (false, true) => TaskState::Blocked,
                (false, false) => TaskState::Open,
            },
            limit,
            text: task.text.clone(),
            depth: task.depth,
            work: work.get(&task.text).cloned().unwrap_or_default(),
            question,
        }
    });
    let gone = missing.iter().map(|text| Task {
        text: text.clone(),
        state: TaskState::Vanished,
        depth: 0,
        work: work.get(text).cloned().unwrap_or_default(),
        question: question(text),
        limit: None,
    });
    there.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Event, GateEvent},
        testing::goal_checked,
    };

    fn failing(names: &[&str]) -> GoalResult {
        let code = i32::from(!names.is_empty());
        let Event::Gate(GateEvent::GoalChecked { result, .. }) = goal_checked(1, "tests", code, "") else {
            unreachable!("a goal was checked")
        };
        GoalResult {
            tests: Some(TestCounts {
                runner: "pytest".into(),
                passed: 3,
                failed: u32::try_from(names.len()).expect("a few"),
                skipped: 0,
                expected_failures: 0,
            }),
            failed_tests: names.iter().map(|name| (*name).into()).collect(),
            ..result
        }
    }

    #[test]
    fn what_is_known_of_earlier_iterations_narrows_the_break() {
        let result = |passed| GoalResult { passed, ..failing(&[]) };
        let mut status = GoalStatus::unknown("tests");
        let suspects = |status: &GoalStatus| status.suspects().map(|by| (by.first, by.last));
        status.judged(1, &result(true), None);
        assert_eq!(suspects(&status), None);
        status.judged(7, &result(false), None);
        status.judged(9, &result(false), None);
        assert_eq!(suspects(&status), Some((2, 7)));
        for (iteration, passed, known) in [
            (4, true, (5, 7)),
            (3, true, (5, 7)),
            (6, false, (5, 6)),
            (7, true, (5, 6)),
        ] {
            status.sought(iteration, passed);
            assert_eq!(suspects(&status), Some(known), "iteration {iteration}");
        }
        status.sought(5, true);
        assert_eq!(suspects(&status), Some((6, 6)));
        status.judged(10, &result(true), None);
        assert_eq!(suspects(&status), None);
    }

    #[test]
    fn a_test_that_has_passed_stays_mended_and_one_without_a_name_mends_nothing() {
        let at_start = failing(&["a", "b"]);
        let mended = |status: &GoalStatus| status.mended.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let mut status = GoalStatus::unknown("tests");
        status.judged(0, &at_start, Some(&at_start));
        assert_eq!(mended(&status), [""; 0]);
        let unnamed = GoalResult {
            failed_tests: TestNames::default(),
            ..failing(&["b"])
        };
        status.judged(1, &unnamed, Some(&at_start));
        assert_eq!(mended(&status), [""; 0], "either may be the one that failed");
        status.judged(1, &failing(&["b"]), Some(&at_start));
        status.judged(2, &failing(&["a", "b"]), Some(&at_start));
        assert_eq!(mended(&status), ["a"]);
        status.judged(3, &failing(&[]), Some(&at_start));
        assert_eq!(mended(&status), ["a", "b"]);
        assert_eq!((status.passed_with, status.broken_by), (Some(3), None));
    }
}
