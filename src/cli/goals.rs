//! `ralph goals`: lists and runs the goals without a loop.

use std::{fmt::Write as _, path::Path};

use ralph_core::event::{Goal, GoalResult};
use ralph_system::proc::Supervisor;
use ralph_text::{console::print, one_line};
use ralph_words::{counted, goal_in_words, sealed_output_in_words};

use crate::{
    app, config,
    error::{Failure, FailureKind},
};

use super::{args::Args, run::sources, trust};

/// Lines shown of a failing goal's output.
const TAIL_LINES: usize = 20;

/// Runs the goals once. Returns exit code 0 if all pass, 1 if one fails, and another one if they cannot be run.
pub(super) fn check(args: &Args, merged: Option<&Path>, supervisor: &Supervisor) -> Result<u8, Failure> {
    checked(args, merged, supervisor).map_err(|failure| match failure.kind {
        FailureKind::Failed => Failure {
            kind: FailureKind::Unanswered,
            ..failure
        },
        FailureKind::Usage
        | FailureKind::Configuration
        | FailureKind::AgentUnavailable
        | FailureKind::Locked
        | FailureKind::Unanswered => failure,
    })
}

fn checked(args: &Args, merged: Option<&Path>, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let results = app::check_goals(&place, &loaded, merged, args.tree_of.as_deref(), supervisor)?;
    print(&in_words(&results));
    let all_pass = results.iter().all(|result| result.passed);
    Ok(if all_pass { 0 } else { FailureKind::Failed.exit_code() })
}

pub(super) fn list(args: &Args) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let goals = &loaded.config.goals;
    let all = || goals.enabled.iter().chain(&goals.disabled);
    let width = all().map(|goal| goal.name.chars().count()).max().unwrap_or(0);
    for goal in &goals.enabled {
        print(&listed(goal, width, &place.project, ""));
    }
    for goal in &goals.disabled {
        print(&listed(goal, width, &place.project, "  off"));
    }
    print(match (goals.enabled.is_empty(), goals.disabled.is_empty()) {
        (true, true) => {
            "no goals: only the agent's word would end a run. With one, ralph verifies the work:\n  ralph --goal tests='cargo test'\n"
        }
        (true, false) => "all goals are off (`\"enabled\": false`): only the agent's word would end a run\n",
        (false, _) => "`ralph goals check` runs them once\n",
    });
    Ok(0)
}

/// Formats a goal as `tests  cargo test  at least 80  in services/api`, followed by what it is for.
fn listed(goal: &Goal, width: usize, project: &Path, state: &str) -> String {
    let target = goal.target.map(|target| format!("  at least {target}"));
    let place = goal.workspace.as_ref().map(|workspace| {
        let missing = if project.join(workspace).is_dir() {
            ""
        } else {
            " (no such directory)"
        };
        format!("  in {workspace}{missing}")
    });
    let after_edits = if goal.on_edit { "  also after edits" } else { "" };
    let sealed = goal
        .sealed
        .as_ref()
        .map(|path| format!("  sealed: {}", one_line(&path.display().to_string())));
    let about = goal
        .description
        .as_ref()
        .map(|about| format!("{:width$}  {about}\n", ""));
    format!(
        "{:<width$}  {}{}{}{}{after_edits}{state}\n{}",
        one_line(&goal.name),
        one_line(&goal.command),
        target.unwrap_or_default(),
        place.unwrap_or_default(),
        sealed.unwrap_or_default(),
        about.unwrap_or_default(),
    )
}

fn in_words(results: &[GoalResult]) -> String {
    let mut text = String::new();
    for result in results {
        let sign = if result.passed { '✔' } else { '✖' };
        let proves = match (result.passed, &result.tests) {
            (true, None) => " (exit code only)",
            (true, Some(_)) | (false, _) => "",
        };
        writeln!(text, "{sign} {}{proves}", one_line(&goal_in_words(result))).expect("a string takes every write");
        if !result.passed {
            let lines: Vec<&str> = result.tail.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                writeln!(text, "  │ {}", one_line(line)).expect("a string takes every write");
            }
        }
        if let Some(output) = &result.sealed_output {
            let output = sealed_output_in_words(output);
            writeln!(text, "  {}", one_line(&output)).expect("a string takes every write");
        }
    }
    let passed = results.iter().filter(|result| result.passed).count();
    let all = counted(results.len() as u64, "goal");
    text + &format!("{passed} of {all} passed\n")
}
