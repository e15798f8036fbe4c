//! Judges the tests of a merged tree by their counts and by trials with the tests of both sides: the target's
//! before the merge, and the plan's at the end of its branch.

use std::collections::BTreeMap;

use ralph_core::event::{GoalResult, GuardedChange, Proof, TEXT_CAP_BYTES, TestCounts, Trial, clip_start};
use ralph_core::json::ReadJson;
use serde::{Deserialize, Serialize};

/// Most changes in a record.
const CHANGES: usize = 100;

/// A side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Target,
    Plan,
}

/// Test counts by goal name.
pub type GoalTests = BTreeMap<String, TestCounts>;

/// Names of failed tests by goal name.
pub type FailedTests = BTreeMap<String, Vec<String>>;

/// Test changes that the user has confirmed for a plan: they are exempt from comparison with the other side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfirmedChanges {
    /// The changed files, relative to the project.
    pub paths: Vec<String>,
    /// Lost tests by goal name.
    pub goals: BTreeMap<String, TestLoss>,
}

/// The decrease of a goal's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestLoss {
    /// Number of tests that it does not run any more.
    pub fewer: u32,
    /// Number of tests that it newly skips or expects to fail.
    pub unmeasured: u32,
}

impl TestLoss {
    /// Returns the loss from `before` to `now`.
    pub fn between(before: &TestCounts, now: &TestCounts) -> TestLoss {
        TestLoss {
            fewer: before.ran().saturating_sub(now.ran()),
            unmeasured: now.unmeasured().saturating_sub(before.unmeasured()),
        }
    }

    fn and(self, other: TestLoss) -> TestLoss {
        TestLoss {
            fewer: self.fewer.saturating_add(other.fewer),
            unmeasured: self.unmeasured.saturating_add(other.unmeasured),
        }
    }
}

impl ConfirmedChanges {
    /// Adds changes of another run or plan.
    pub fn add(&mut self, other: &ConfirmedChanges) {
        self.paths.extend(other.paths.iter().cloned());
        self.paths.sort();
        self.paths.dedup();
        for (goal, loss) in &other.goals {
            let known = self.goals.entry(goal.clone()).or_default();
            *known = known.and(*loss);
        }
    }

    /// Whether nothing was confirmed.
    pub fn is_empty(&self) -> bool {
        *self == ConfirmedChanges::default()
    }

    fn loss(&self, goal: &str) -> TestLoss {
        self.goals.get(goal).copied().unwrap_or_default()
    }
}

/// The counts that a merged tree has to reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequiredCounts {
    /// The target's tests before the merge, as far as known.
    pub target: GoalTests,
    /// The plan's tests at the end of its run.
    pub plan: GoalTests,
    /// The fewest tests at the end of one of its runs: a trial may use the plan's tests from before a
    /// conflict.
    pub plan_fewest: GoalTests,
    /// Changes that the plan may make to the target's tests.
    pub by_plan: ConfirmedChanges,
    /// Changes that the target may have made to the plan's tests: those of plans that were merged earlier.
    pub by_target: ConfirmedChanges,
}

/// The results of the goals on a merged tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MergedResults {
    pub results: Vec<GoalResult>,
    /// The results with the tests of a side in place, for sides whose tests differ from the merged tree's.
    pub trials: Vec<(Side, Trial)>,
}

/// The evidence for an accepted merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeProof {
    pub proof: Proof,
    #[serde(default, skip_serializing_if = "GoalTests::is_empty")]
    pub tests: GoalTests,
    /// Tests that still fail, as they did before the plans.
    #[serde(default, skip_serializing_if = "FailedTests::is_empty")]
    pub forgiven: FailedTests,
    /// Test changes that were confirmed for the plan.
    #[serde(default, skip_serializing_if = "ConfirmedChanges::is_empty")]
    pub confirmed: ConfirmedChanges,
}

/// The reason why the tests of a merged tree do not count, although its goals pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TestTrouble {
    /// A goal runs fewer tests than on a side, or skips more.
    Fewer {
        side: Side,
        goal: String,
        before: TestCounts,
        now: Option<TestCounts>,
    },
    /// A goal fails with the tests of a side.
    Fails {
        side: Side,
        goal: String,
        /// Test files that differ in the merged tree.
        changes: Vec<GuardedChange>,
        /// The end of the goal's output.
        output: String,
    },
    /// The output of a goal's runner contradicts itself.
    Doubtful { goal: String, why: String },
    /// The tests of a side could not be tried.
    Untried {
        side: Side,
        why: String,
        changes: Vec<GuardedChange>,
    },
}

/// Judges a merged tree whose goals pass.
///
/// # Errors
/// The reasons why its tests do not count; at least one.
pub fn judge(required: &RequiredCounts, merged: &MergedResults) -> Result<MergeProof, Vec<TestTrouble>> {
    let mut troubles: Vec<TestTrouble> = merged.results.iter().filter_map(doubt).collect();
    for side in [Side::Target, Side::Plan] {
        let known = required.side_tests(side);
        troubles.extend(
            merged
                .results
                .iter()
                .filter_map(|goal| required.fewer(side, known, goal)),
        );
    }
    for (side, trial) in &merged.trials {
        troubles.extend(required.tried(*side, trial));
    }
    if !troubles.is_empty() {
        return Err(troubles);
    }
    let tests = merged.results.iter();
    let tests: GoalTests = tests
        .filter_map(|goal| Some((goal.name.clone(), goal.tests.clone()?)))
        .collect();
    let forgiven: FailedTests = merged
        .results
        .iter()
        .filter(|goal| goal.is_forgiven())
        .map(|goal| {
            (
                goal.name.clone(),
                goal.failed_tests.iter().map(ToString::to_string).collect(),
            )
        })
        .collect();
    let has_tests = tests
        .iter()
        .any(|(goal, counts)| counts.all_passed() || forgiven.contains_key(goal));
    Ok(MergeProof {
        proof: match (merged.results.is_empty(), has_tests) {
            (true, _) => Proof::Nothing,
            (false, true) => Proof::Tests,
            (false, false) => Proof::ExitCodes,
        },
        tests,
        forgiven,
        confirmed: required.by_plan.clone(),
    })
}

fn doubt(goal: &GoalResult) -> Option<TestTrouble> {
    let why = goal.doubt.clone()?;
    Some(TestTrouble::Doubtful {
        goal: goal.name.clone(),
        why: why.into(),
    })
}

impl RequiredCounts {
    fn side_tests(&self, side: Side) -> &GoalTests {
        match side {
            Side::Target => &self.target,
            Side::Plan => &self.plan,
        }
    }

    /// Returns the trouble if a goal ran fewer tests than the `known` ones of a side, beyond the confirmed
    /// loss. The merged tree may skip what either side skips: each side's own gate has judged that.
    fn fewer(&self, side: Side, known: &GoalTests, goal: &GoalResult) -> Option<TestTrouble> {
        let (allowed, other) = match side {
            Side::Target => (&self.by_plan, &self.plan),
            Side::Plan => (&self.by_target, &self.target),
        };
        let skipped_there = other.get(&goal.name).map_or(0, TestCounts::unmeasured);
        let before = known.get(&goal.name).filter(|before| before.ran() > 0)?;
        let allowed = allowed.loss(&goal.name);
        let least = before.ran().saturating_sub(allowed.fewer);
        let most = [before.unmeasured(), allowed.unmeasured, skipped_there];
        let most = most.into_iter().fold(0, u32::saturating_add);
        let is_fewer = match &goal.tests {
            Some(now) => now.ran() < least || now.unmeasured() > most,
            None => least > 0,
        };
        is_fewer.then(|| TestTrouble::Fewer {
            side,
            goal: goal.name.clone(),
            before: before.clone(),
            now: goal.tests.clone(),
        })
    }

    /// Returns the troubles of the merged tree with the tests of a side in place.
    fn tried(&self, side: Side, trial: &Trial) -> Vec<TestTrouble> {
        let changes = || trial.changes.iter().take(CHANGES).cloned().collect();
        let problem = trial.problem.clone().map(|why| TestTrouble::Untried {
            side,
            why: why.into(),
            changes: changes(),
        });
        let known = match side {
            Side::Target => &self.target,
            Side::Plan => &self.plan_fewest,
        };
        let failed = |goal: &GoalResult| match goal.passed {
            true => doubt(goal).or_else(|| self.fewer(side, known, goal)),
            false => Some(TestTrouble::Fails {
                side,
                goal: goal.name.clone(),
                changes: changes(),
                output: clip_start(&goal.tail, TEXT_CAP_BYTES),
            }),
        };
        problem
            .into_iter()
            .chain(trial.results.iter().filter_map(failed))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::GuardedChangeKind;

    fn counts(passed: u32, skipped: u32) -> TestCounts {
        TestCounts {
            passed,
            skipped,
            ..TestCounts::default()
        }
    }

    fn goal(passed: bool, tests: Option<TestCounts>) -> GoalResult {
        GoalResult {
            name: "t".to_owned(),
            passed,
            exit: None,
            score: None,
            target: None,
            duration_ms: 0,
            why: None,
            tail: "no".into(),
            tests,
            doubt: None,
            failed_tests: Vec::new().into(),
            flaky: None,
            newly_skipped: Default::default(),
            sealed_output: None,
        }
    }

    fn goal_tests(tests: TestCounts) -> GoalTests {
        GoalTests::from([("t".to_owned(), tests)])
    }

    fn merged(tests: Option<TestCounts>) -> MergedResults {
        MergedResults {
            results: vec![goal(true, tests)],
            trials: Vec::new(),
        }
    }

    fn allowing(fewer: u32, unmeasured: u32) -> ConfirmedChanges {
        ConfirmedChanges {
            paths: vec!["a.test.js".to_owned()],
            goals: BTreeMap::from([("t".to_owned(), TestLoss { fewer, unmeasured })]),
        }
    }

    #[test]
    fn a_merged_tree_runs_as_many_tests_as_each_side_unless_the_other_was_confirmed_to_take_some() {
        let five = || goal_tests(counts(5, 0));
        for (side, required, confirmed) in [
            (
                Side::Target,
                RequiredCounts {
                    target: five(),
                    ..RequiredCounts::default()
                },
                RequiredCounts {
                    target: five(),
                    by_plan: allowing(1, 2),
                    ..RequiredCounts::default()
                },
            ),
            (
                Side::Plan,
                RequiredCounts {
                    plan: five(),
                    ..RequiredCounts::default()
                },
                RequiredCounts {
                    plan: five(),
                    by_target: allowing(1, 2),
                    ..RequiredCounts::default()
                },
            ),
        ] {
            let verdict = |required: &RequiredCounts, now: Option<TestCounts>| match judge(required, &merged(now)) {
                Ok(proof) => Some(proof.proof),
                Err(troubles) => {
                    assert!(
                        matches!(&troubles[..], [TestTrouble::Fewer { side: of, .. }] if *of == side),
                        "{troubles:?}"
                    );
                    None
                }
            };
            assert_eq!(verdict(&required, Some(counts(5, 0))), Some(Proof::Tests));
            assert_eq!(verdict(&required, Some(counts(9, 0))), Some(Proof::Tests));
            assert_eq!(verdict(&required, Some(counts(4, 0))), None, "fewer");
            assert_eq!(verdict(&required, Some(counts(5, 1))), None, "more are skipped");
            assert_eq!(verdict(&required, None), None, "no tests where there were tests");
            assert_eq!(verdict(&confirmed, Some(counts(4, 2))), Some(Proof::Tests));
            assert_eq!(verdict(&confirmed, Some(counts(3, 0))), None);
            assert_eq!(verdict(&confirmed, Some(counts(5, 3))), None);
        }
    }

    #[test]
    fn a_merged_tree_may_skip_what_either_side_skips() {
        let required = RequiredCounts {
            target: goal_tests(counts(5, 1)),
            plan: goal_tests(counts(6, 2)),
            plan_fewest: goal_tests(counts(6, 2)),
            ..RequiredCounts::default()
        };
        assert!(judge(&required, &merged(Some(counts(7, 3)))).is_ok());
        assert!(judge(&required, &merged(Some(counts(7, 4)))).is_err());
        assert!(judge(&required, &merged(Some(counts(5, 3)))).is_err());
    }

    #[test]
    fn the_tests_of_a_side_have_to_pass_and_to_run() {
        let changes = vec![GuardedChange {
            path: "a.test.js".into(),
            kind: GuardedChangeKind::Deleted,
            part: None,
        }];
        let required = RequiredCounts {
            plan: goal_tests(counts(3, 0)),
            plan_fewest: goal_tests(counts(3, 0)),
            ..RequiredCounts::default()
        };
        let tried = |results, problem: Option<&str>| {
            let trial = Trial {
                changes: changes.clone().into(),
                results,
                problem: problem.map(Into::into),
            };
            judge(
                &required,
                &MergedResults {
                    trials: vec![(Side::Plan, trial)],
                    ..merged(Some(counts(3, 0)))
                },
            )
        };
        assert!(tried(vec![goal(true, Some(counts(3, 0)))], None).is_ok());
        let fails = TestTrouble::Fails {
            side: Side::Plan,
            goal: "t".to_owned(),
            changes: changes.clone(),
            output: "no".to_owned(),
        };
        assert_eq!(tried(vec![goal(false, Some(counts(3, 0)))], None), Err(vec![fails]));
        let fewer = tried(vec![goal(true, Some(counts(2, 0)))], None).unwrap_err();
        assert!(matches!(fewer[..], [TestTrouble::Fewer { .. }]), "{fewer:?}");
        let untried = tried(Vec::new(), Some("a directory is in the way")).unwrap_err();
        assert!(matches!(untried[..], [TestTrouble::Untried { .. }]), "{untried:?}");
    }

    #[test]
    fn the_proof_of_a_merged_tree_is_what_its_goals_show() {
        let proof = |merged: &MergedResults| judge(&RequiredCounts::default(), merged).map(|proof| proof.proof);
        assert_eq!(proof(&MergedResults::default()), Ok(Proof::Nothing));
        assert_eq!(proof(&merged(None)), Ok(Proof::ExitCodes));
        assert_eq!(proof(&merged(Some(counts(0, 0)))), Ok(Proof::ExitCodes));
        assert_eq!(proof(&merged(Some(counts(1, 0)))), Ok(Proof::Tests));
        let mut doubtful = merged(Some(counts(20, 0)));
        doubtful.results[0].doubt = Some("20 tests announced, 3 accounted for".into());
        assert!(matches!(
            judge(&RequiredCounts::default(), &doubtful).unwrap_err()[..],
            [TestTrouble::Doubtful { .. }]
        ));
    }

    #[test]
    fn confirmed_changes_of_several_runs_add_up() {
        let mut all = allowing(1, 0);
        all.add(&allowing(2, 3));
        let loss = TestLoss {
            fewer: 3,
            unmeasured: 3,
        };
        assert_eq!(all.loss("t"), loss);
        assert_eq!(all.paths, ["a.test.js"]);
    }
}
