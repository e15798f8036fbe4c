//! The goals below the plan: one row each, with the last result.

use ralph_core::{
    event::{GoalResult, MutantOutcome, Proof, StopReason},
    run::{GoalState, RunView},
};
use ralph_text::one_line;
use ralph_words::{broken_in_words, goal_failure_in_words, noticed_mutants, short_duration, without_work};
use ratatui::layout::Rect;

use crate::tui::{model::Model, pen::Pen, theme::TextRole};

use super::limits;

/// Draws the goals into `part`, below its title.
pub(super) fn draw(model: &Model, part: Rect, pen: &mut Pen<'_>) {
    let goals = &model.run.goals;
    let width = goals.iter().map(|goal| one_line(&goal.name).chars().count()).max();
    let width = width.unwrap_or_default().min(usize::from(part.width / 3));
    for (y, goal) in (part.y + 1..part.bottom()).zip(goals) {
        let (sign, role) = limits::sign_of_goal(goal, pen);
        let x = pen.role(part.x + 1, y, part.right(), &format!("{sign} "), role);
        let name: String = one_line(&goal.name).chars().take(width).collect();
        let x = pen.role(x, y, part.right(), &format!("{name:<width$}  "), TextRole::Plain);
        let (text, role) = match &goal.state {
            GoalState::Unknown => ("not checked yet".to_owned(), TextRole::Dim),
            GoalState::Running => ("being checked".to_owned(), TextRole::Wait),
            GoalState::Checked { result } if result.passed => {
                let of = goal.passed_with.filter(|iteration| *iteration > 0);
                let of = of.map(|iteration| format!(" · iteration {iteration}"));
                (verdict(result, &model.run) + &of.unwrap_or_default(), TextRole::Dim)
            }
            GoalState::Checked { result } => {
                let since = goal.suspects().map(|by| format!(" · {}", broken_in_words(by)));
                (failure(result) + &since.unwrap_or_default(), TextRole::Bad)
            }
        };
        pen.role(x, y, part.right(), &one_line(&text), role);
    }
}

/// `214 ran · pass as they were · caught 3/3 bugs · 12s`: the evidence of a passing goal's tests.
fn verdict(result: &GoalResult, run: &RunView) -> String {
    let look = run.iterations.latest_assessment();
    let took = short_duration(result.duration_ms);
    let Some(tests) = result.tests.as_ref().filter(|tests| tests.ran() > 0) else {
        return format!("exit code only · {took}");
    };
    let mut parts = vec![format!("{} ran", tests.ran())];
    if result.is_forgiven() {
        parts.push(format!("{} failed before, too", tests.failed));
    }
    if tests.skipped > 0 {
        parts.push(format!("{} skipped", tests.skipped));
    }
    if result.flaky.is_some() {
        parts.push("FLAKY".to_owned());
    }
    if let Some(trial) = &look.trial {
        let held = trial.problem.is_none() && trial.results.iter().all(|tried| tried.passed);
        // The changes were confirmed after the trial.
        let counts = matches!(
            run.stop_reason(),
            Some(StopReason::Done {
                proof: Proof::Tests,
                ..
            })
        );
        parts.push(match (held, counts) {
            (true, _) => "pass as they were".to_owned(),
            (false, true) => "changes confirmed".to_owned(),
            (false, false) => "fail as they were".to_owned(),
        });
    }
    let (noticed, of) = noticed_mutants(&look.mutants);
    if of > 0 {
        parts.push(format!("caught {noticed}/{of} bugs"));
    }
    if without_work(&look.mutants) == Some(MutantOutcome::Missed) {
        parts.push("pass without the new code".to_owned());
    }
    parts.push(took);
    parts.join(" · ")
}

/// `3 of 214 failed · 12s`, or why the goal did not pass.
fn failure(result: &GoalResult) -> String {
    let why = match (&result.tests, &result.why) {
        (Some(tests), _) if tests.failed > 0 => format!("{} of {} failed", tests.failed, tests.ran()),
        (_, Some(why)) => goal_failure_in_words(why),
        (_, None) => "failed".to_owned(),
    };
    format!("{why} · {}", short_duration(result.duration_ms))
}
