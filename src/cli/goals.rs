//! `ralph goals`: lists and runs the goals without a loop.

use std::{fmt::Write as _, path::Path};

use ralph_core::event::{Goal, GoalResult};
use ralph_state::control::UserOnlyAction;
use ralph_state::store::journal::read_view;
use ralph_system::proc::Supervisor;
use ralph_text::{console::print, one_line, shell_quoted};
use ralph_words::{counted, goal_in_words, sealed_output_in_words};

use serde_json::json;

use crate::{
    app::{self, ProjectPlace},
    config::{self, Flag, Loaded, ProjectContent, ProjectFile, SettingSources},
    error::{Failure, FailureKind},
};

use super::{args::Args, own_settings, run::sources, trust};

/// The name of the setting.
pub(super) const GOALS: &str = "goals";

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
    let mut loaded = config::load(&sources(args, &place))?;
    take_those_of_last_run(&place, &mut loaded);
    let results = app::check_goals(&place, &loaded, merged, args.tree_of.as_deref(), supervisor)?;
    print(&in_words(&results));
    let all_pass = results.iter().all(|result| result.passed);
    Ok(if all_pass { 0 } else { FailureKind::Failed.exit_code() })
}

/// Takes the goals of the last run where none are configured: those of its command line are nowhere else.
fn take_those_of_last_run(place: &ProjectPlace, loaded: &mut Loaded) -> bool {
    let goals = &mut loaded.config.goals;
    if !goals.enabled.is_empty() || !goals.disabled.is_empty() {
        return false;
    }
    let run = place.paths.latest_run();
    let view = run
        .and_then(|run| read_view(&place.paths, &run).ok())
        .unwrap_or_default();
    let of_plan = view.settings.goals.iter().filter(|goal| goal.task.is_none());
    goals.enabled = of_plan.cloned().collect();
    !goals.enabled.is_empty()
}

pub(super) fn list(args: &Args) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let mut loaded = config::load(&sources(args, &place))?;
    if take_those_of_last_run(&place, &mut loaded) {
        print("no goals are configured; those of the last run:\n");
    }
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

/// Writes a goal to the project's file, and trusts that.
pub(super) fn add(args: &Args, typed: &str) -> Result<u8, Failure> {
    // Trust in what was written includes all else in the file, so that has to be trusted before.
    let place = trust::place_to_run(args)?;
    trust::refuse_agent(&place.paths, UserOnlyAction::Trust)?;
    let goals = named([Flag::new("goals add", GOALS, typed)])?;
    let file = place.project.join(".ralph").join("config.json");
    for goal in &goals {
        let item = json!({ "name": goal.name, "command": goal.command });
        own_settings::add(&file, (&[], GOALS), &item, |text| {
            let project = ProjectFile {
                path: file.clone(),
                content: ProjectContent::Text(text.to_owned()),
            };
            let sources = SettingSources {
                project: Some(project),
                ..sources(args, &place)
            };
            Ok(config::load(&sources).map(drop)?)
        })?;
        trust::trust_as_written(&place)?;
        print(&format!(
            "added to .ralph/config.json: {}; `ralph goals check` runs it\n",
            one_line(&goal.name)
        ));
    }
    Ok(0)
}

/// The command that adds a goal.
pub(super) fn add_command(name: &str, command: &str) -> String {
    format!("ralph goals add {}", shell_quoted(&format!("{name}={command}")))
}

/// Reads goals that were named on the command line.
///
/// # Errors
/// A [`Failure`] that says how they are written.
pub(super) fn named(flags: impl IntoIterator<Item = Flag>) -> Result<Vec<Goal>, Failure> {
    let loaded = config::load(&SettingSources {
        flags: flags.into_iter().collect(),
        ..SettingSources::default()
    })?;
    Ok(loaded.config.goals.enabled)
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
