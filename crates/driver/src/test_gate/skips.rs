//! Skipped tests: whether one that ran before is among them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use ralph_core::{
    event::{Goal, GoalResult, TestCounts, TestNames, Text},
    run::RunView,
};
use ralph_gate::guard::{GuardError, Originals};

use super::{super::goals::CheckedGoal, Site, in_place::InPlace};

/// Whether a goal measures nothing with more tests than `before`: they are skipped, or expected to fail.
pub(super) fn skips_more(checked: &[CheckedGoal], before: &BTreeMap<String, TestCounts>) -> bool {
    checked.iter().any(|checked| {
        let before = before.get(&checked.result.name).filter(|before| before.ran() > 0);
        let now = checked.result.tests.as_ref();
        before
            .zip(now)
            .is_some_and(|(before, now)| now.unmeasured() > before.unmeasured())
    })
}

/// Returns the counts of the original tests by goal.
pub(crate) fn baselines(view: &RunView) -> BTreeMap<String, TestCounts> {
    let goals = view.goals.iter();
    let counted = goals.filter_map(|goal| Some((goal.name.clone(), goal.baseline.clone()?)));
    counted.collect()
}

pub(super) fn skipped_tests(checked: &CheckedGoal) -> Vec<String> {
    checked
        .report
        .as_ref()
        .map_or_else(Vec::new, |report| report.skipped.clone())
}

/// Returns those of the `skipped` tests that a goal ran, or that failed when the run began.
pub(super) fn run_of(checked: &CheckedGoal, skipped: &[String], at_start: &[GoalResult]) -> TestNames {
    let reports = checked.report.iter();
    let ran = reports.flat_map(|report| report.passed.iter().chain(&report.failed));
    let before = at_start.iter().filter(|result| result.name == checked.result.name);
    let failed = before.flat_map(|result| result.failed_tests.iter());
    let ran: HashSet<&str> = ran.map(|name| &**name).chain(failed.map(|name| &**name)).collect();
    let lost = skipped.iter().filter(|name| ran.contains(name.as_str()));
    lost.map(Text::from).collect()
}

/// Runs the goals with the originals and without new test files, whose tests would be counted beside them. Returns `None` for
/// the results if there are no new ones. The new files are back in place afterwards, because they measure the work.
pub(super) async fn counted_alone<Running: Future<Output = Vec<CheckedGoal>>>(
    in_place: &InPlace,
    goals: Vec<Goal>,
    run: impl Fn(Vec<Goal>) -> Running,
    site: &Site,
    originals: &Arc<Originals>,
) -> Result<Option<Vec<CheckedGoal>>, GuardError> {
    if !in_place.without_new_tests(originals, &site.project).await? {
        return Ok(None);
    }
    let alone = run(goals).await;
    in_place.renew(originals, &site.project, &site.record).await?;
    Ok(Some(alone))
}
