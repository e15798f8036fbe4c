//! Why the latest claim of a run does not count.

use super::{Iteration, RunView};
use crate::event::{Changes, GoalSince, Missing, Text};

/// Since when a goal fails.
pub fn goal_since(view: &RunView, name: &str) -> GoalSince {
    let goal = view.goals.iter().find(|goal| goal.name == name);
    match goal.map(|goal| (goal.suspects(), goal.passed_with)) {
        Some((Some(by), _)) => GoalSince::Broken { by },
        Some((None, None)) => GoalSince::Always,
        Some((None, Some(_))) | None => GoalSince::Unknown,
    }
}

/// Why the latest claim does not count, as long as nothing has lifted that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRefusal<'v> {
    /// The gravest of its reasons.
    pub reason: &'v Missing,
    /// The changed tests that it is about.
    pub files: Vec<&'v Text>,
    /// The iteration that changed the files, where only one can have.
    pub iteration: Option<u32>,
    /// The number of claims that were refused for this reason in a row.
    pub times: u32,
}

/// The newest refusal of a claim, unless progress or the user has lifted it since.
pub fn standing_refusal(view: &RunView) -> Option<StandingRefusal<'_>> {
    let rows = view.iterations.rows.iter().rev().filter(|row| row.role.is_work());
    let newest = rows
        .clone()
        .find(|row| row.was_refused() || row.progress == Some(true))?;
    let reason = newest.look.refused.iter().min_by_key(|reason| reason.rank())?;
    let confirmed = view.changed_tests.count_from();
    if reason.may_be_confirmed() && confirmed >= Some(newest.number) {
        return None;
    }
    let is_same = |row: &&Iteration| {
        let mut reasons = row.look.refused.iter();
        reasons.any(|other| std::mem::discriminant(other) == std::mem::discriminant(reason))
    };
    let until_newest = rows.skip_while(|row| row.number > newest.number);
    let alike = until_newest.clone().take_while(is_same);
    let first = alike.clone().last().unwrap_or(newest).number;
    let changed = until_newest.filter(|row| {
        let has_changes = row.changes.unwrap_or_default() != Changes::default();
        row.number <= first && Some(row.number) > confirmed && has_changes
    });
    let mut changed = changed.map(|row| row.number);
    let only = changed.next().filter(|_| changed.next().is_none());
    let named = newest.look.refused.iter().flat_map(Missing::changed_tests);
    let tried = newest.look.trial.iter().flat_map(|trial| trial.changes.iter());
    let mut files: Vec<&Text> = named.chain(tried).map(|change| &change.path).collect();
    files.sort();
    files.dedup();
    Some(StandingRefusal {
        reason,
        files: if reason.may_be_confirmed() { files } else { Vec::new() },
        iteration: only,
        times: u32::try_from(alike.count()).unwrap_or(u32::MAX),
    })
}
