//! Runs goals again whose tests failed: a test that fails and passes on the same files is flaky.

use std::{collections::BTreeSet, sync::Arc};

use ralph_core::event::{Flaky, Goal, GoalResult, TestNames};

use super::goals::{CheckedGoal, ExecutionContext, check_all};

/// Runs goals as [`check_all`] does, and once more those whose tests failed. A goal that then
/// passes has to pass a third time: one pass of two may be chance.
pub(super) async fn check_for_claim(
    goals: Vec<Goal>,
    parallel: bool,
    context: Arc<ExecutionContext>,
) -> Vec<CheckedGoal> {
    let mut checked = check_all(goals.clone(), parallel, Arc::clone(&context)).await;
    for is_doubtful in [failed_tests, passed_once] {
        let doubtful: Vec<usize> = (0..checked.len())
            .filter(|at| is_doubtful(&checked[*at].result))
            .collect();
        if doubtful.is_empty() {
            break;
        }
        let again = doubtful.iter().map(|at| goals[*at].clone()).collect();
        let again = check_all(again, parallel, Arc::clone(&context)).await;
        for (at, later) in doubtful.into_iter().zip(again) {
            compare(&mut checked[at], later);
        }
    }
    checked
}

/// Whether a goal failed without running a test, as it does where something is missing that it needs.
pub(super) fn lacks_something(result: &GoalResult) -> bool {
    !result.passed && result.tests.as_ref().is_none_or(|tests| tests.ran() == 0)
}

/// Whether tests ran and failed, which may be chance.
fn failed_tests(result: &GoalResult) -> bool {
    !result.passed && result.tests.as_ref().is_some_and(|tests| tests.failed > 0)
}

/// Whether the goal passed after it had failed, which may be chance as well.
fn passed_once(result: &GoalResult) -> bool {
    result.passed && result.flaky.is_some()
}

/// Replaces `earlier` by the later of two runs on the same files, and notes their differences.
fn compare(earlier: &mut CheckedGoal, later: CheckedGoal) {
    let before = std::mem::replace(earlier, later).result;
    let result = &mut earlier.result;
    let names = |names: &TestNames| names.iter().cloned().collect::<BTreeSet<_>>();
    let differing = &names(&before.failed_tests) ^ &names(&result.failed_tests);
    if before.flaky.is_none() && before.passed == result.passed && differing.is_empty() {
        return;
    }
    let known = before.flaky.unwrap_or(Flaky {
        runs: 1,
        failures: u32::from(!before.passed),
        tests: TestNames::default(),
    });
    let tests = &names(&known.tests) | &differing;
    result.flaky = Some(Flaky {
        runs: known.runs + 1,
        failures: known.failures + u32::from(!result.passed),
        tests: tests.into_iter().collect(),
    });
}
