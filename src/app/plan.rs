//! The plan of a run, and whether it can be completed.

use std::path::{Path, PathBuf};

use ralph_core::{
    event::{Notice, PlanSnapshot, StopReason},
    machine::reachable_confidence,
    run::{RunView, is_message_left},
};
use ralph_driver::{Taskless, read_plan};
use ralph_plan::{ChosenPlan, NoPlan, ParsedPlan, PlanError, prompt::PromptTemplate};
use ralph_state::store::journal::read_view;
use ralph_system::{
    files::{PLAN_CAP_BYTES, read_bytes},
    proc::Supervisor,
};

use crate::{
    begin::{OtherLoop, PLANS, is_prose, other_loop, requirements_files},
    config::{Config, ProjectContent},
    error::{Failure, FailureKind, shell_word},
};

use super::ProjectPlace;

/// Maximum number of mistakes in task settings reported in addition to the first.
const MISTAKES_TOLD: usize = 8;
/// Maximum time of the check of a task, which is the default of a goal.
const CHECK_TIMEOUT_MS: u64 = 15 * 60 * 1000;

/// Chooses and reads the plan of a run.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub(crate) fn chosen_plan(place: &ProjectPlace, config: &Config) -> Result<(PathBuf, ParsedPlan), Failure> {
    let (chosen, reading) = chosen_work(place, config)?;
    Ok((chosen.path, reading))
}

/// Returns a message instead of a new run if every task of the plan is done, no goal would verify that, and the last
/// run, if any, was done as well.
/// A last run that ended otherwise may have lost tasks, which a new run reports. Mistakes in settings and plan are
/// reported by the start.
pub(crate) fn nothing_to_do(place: &ProjectPlace, config: &Config) -> Option<String> {
    let (path, reading) = chosen_plan(place, config).ok()?;
    let plan = &reading.plan;
    let is_checked = plan.tasks.iter().any(|task| task.settings.check.is_some());
    if plan.tasks.is_empty() || plan.open() > 0 || !config.goals.enabled.is_empty() || is_checked {
        return None;
    }
    let latest = place.paths.latest_run().map(|run| read_view(&place.paths, &run));
    let is_done = |view: &RunView| matches!(view.stop_reason(), Some(StopReason::Done { .. }));
    let is_left_alone = latest.is_none_or(|view| {
        view.is_ok_and(|view| is_done(&view) && !view.messages.iter().any(|message| message.is_queued()))
    });
    let name = path.strip_prefix(&place.project).unwrap_or(&path).display();
    let tasks = match plan.tasks.len() {
        1 => format!("the task of {name} is done"),
        count => format!("all {count} tasks of {name} are done"),
    };
    is_left_alone.then(|| format!("nothing to do: {tasks}\nnext: add one with `ralph plan add \"…\"`"))
}

/// As [`chosen_plan`], with the mode and the other files that belong to the plan.
pub(super) fn chosen_work(place: &ProjectPlace, config: &Config) -> Result<(ChosenPlan, ParsedPlan), Failure> {
    let chosen =
        ralph_plan::choose(&place.project, config.plan.as_deref(), config.mode, Path::exists).map_err(|none| {
            let mut failure = no_plan(none);
            failure.hints.splice(0..0, cut_off(place));
            failure
        })?;
    let taskless = Taskless::with(
        &chosen.path,
        &config.goals.enabled,
        config.completion.promise.as_deref(),
    );
    let reading = read_plan(&chosen.path, config.section.as_deref(), taskless).map_err(|(why, hint)| {
        let is_unfilled = hint == PlanError::NoTaskYet.hint();
        let fills = import_hint(&place.project).filter(|_| is_unfilled);
        Failure::new(FailureKind::Configuration, why).hints(fills.into_iter().chain([hint]))
    })?;
    match reading.mistakes.first() {
        None => Ok((chosen, reading)),
        Some(first) => {
            let text = format!("{}: {}: {}", chosen.path.display(), first.position, first.what);
            let others = reading.mistakes[1..].iter().take(MISTAKES_TOLD);
            let others = others.map(|other| format!("also {}: {}", other.position, other.what));
            let hint = "braces that are not settings go in backticks: `{x=1}`".to_owned();
            let failure = Failure::new(FailureKind::Configuration, text);
            Err(failure.hints(others.chain([hint])))
        }
    }
}

/// The failure for a project without a plan. The plan of a directory above is named and not used: with it, the agent
/// could write everywhere in that directory, and state, lock and trust would be those of that project.
pub(crate) fn no_plan(none: NoPlan) -> Failure {
    let (project, is_for_a_mode) = match &none {
        NoPlan::Missing { project, .. } => (project, false),
        NoPlan::MissingFor { project, .. } => (project, true),
        NoPlan::Several { .. } => return none.into(),
    };
    let hints = match ralph_plan::locate(project, None, Path::exists) {
        Err(NoPlan::Missing { above: Some(above), .. }) => {
            let plan = ralph_plan::locate(&above, None, Path::exists).unwrap_or_default();
            let name = plan.strip_prefix(&above).unwrap_or(&plan).display();
            let directory = shell_word(&above.to_string_lossy());
            Some(format!(
                "the same repository has {name} in a directory above: `cd {directory} && ralph` works on it, in that directory"
            ))
        }
        _ => import_hint(project).filter(|_| !is_for_a_mode),
    };
    let mut failure = Failure::from(none);
    failure.hints.splice(0..0, hints);
    failure
}

/// How requirements that are written down become the plan; `None` if no file of the project looks like some.
pub(crate) fn import_hint(project: &Path) -> Option<String> {
    let found = requirements_files(project);
    let (first, others) = found.split_first()?;
    let others = match others {
        [] => String::new(),
        [one] => format!("; there is also {one}"),
        [one, rest @ ..] => format!("; there are also {one} and {} more", rest.len()),
    };
    let bytes = read_bytes(&project.join(first), PLAN_CAP_BYTES);
    let first = shell_word(first);
    Some(match bytes.is_ok_and(|bytes| is_prose(&bytes)) {
        true => format!("`ralph import {first} --with-agent` has an agent make the plan of it{others}"),
        false => format!("`ralph import {first}` makes the plan of it{others}"),
    })
}

/// Adds the checks of the plan's tasks to the goals.
///
/// # Errors
/// A [`Failure`] if a goal has the name of a check.
pub(super) fn with_checks(config: &Config, plan: &PlanSnapshot) -> Result<Config, Failure> {
    let mut config = config.clone();
    let checks = ralph_plan::checks(plan, CHECK_TIMEOUT_MS);
    let goals = &config.goals.enabled;
    if let Some(twin) = checks
        .iter()
        .find(|check| goals.iter().any(|goal| goal.name == check.name))
    {
        let why = format!("goal `{}` has the name of the check of a task", twin.name);
        return Err(Failure::new(FailureKind::Configuration, why).hint("give the goal another name"));
    }
    config.goals.enabled.extend(checks);
    Ok(config)
}

/// The hint for continuing an interrupted run whose plan is not found by its name.
fn cut_off(place: &ProjectPlace) -> Option<String> {
    let view = read_view(&place.paths, &place.paths.latest_run()?).ok()?;
    let plan = view.settings.plan.strip_prefix(&place.project).ok()?;
    let is_there = plan != Path::new("") && view.settings.plan.is_file();
    let goes_on = !view.is_over() || is_message_left(&view.messages);
    (is_there && goes_on).then(|| format!("`ralph continue` continues the last run, of {}", plan.display()))
}

/// The notice about the chosen plan, if there was a choice, or if it brings a mode or files with it.
pub(super) fn about_plan(place: &ProjectPlace, chosen: &ChosenPlan, template: &PromptTemplate) -> Option<Notice> {
    let goes_without_saying = chosen.mode.is_none() && chosen.reads.is_empty() && chosen.other_plans.is_empty();
    let plan = chosen.path.strip_prefix(&place.project).unwrap_or(&chosen.path);
    if goes_without_saying {
        return None;
    }
    let plan = plan.display();
    let mut text = match chosen.mode {
        Some(mode) => format!("mode {} ({plan})", mode.name()),
        None => format!("the plan is {plan}"),
    };
    if !template.is_built_in() {
        text += ", with your own prompt";
    } else if !chosen.reads.is_empty() {
        text += &format!("; the agent also reads {}", chosen.reads.join(", "));
    }
    if !chosen.other_plans.is_empty() {
        let others = chosen.other_plans.join(", ");
        text += &format!("; not worked on: {others} (`--plan FILE` names another)");
    }
    Some(Notice::info("plan-chosen", text))
}

/// The notice about a task given on the command line: the place of its plan, and how its completion is verified.
pub(super) fn about_task(place: &ProjectPlace, chosen: &ChosenPlan, config: &Config) -> Option<Notice> {
    let plan = chosen.path.strip_prefix(&place.project).ok()?;
    plan.starts_with(PLANS)
        .then(|| task_given(plan, !config.goals.enabled.is_empty()))
}

fn task_given(plan: &Path, has_goals: bool) -> Notice {
    let how = match has_goals {
        true => "",
        false => "; without goals only the agent's claim shows that it is done (`--goal tests='COMMAND'`)",
    };
    Notice::info(
        "task-given",
        format!("the plan of this task is {}{how}", plan.display()),
    )
}

/// The notice about another loop's configuration in a project without one for ralph.
pub(super) fn about_other_loop(place: &ProjectPlace) -> Option<Notice> {
    let ProjectContent::Missing = place.own.config.content else {
        return None;
    };
    let OtherLoop {
        file,
        of,
        flags,
        left_out,
    } = other_loop(&place.project)?;
    let mut text = format!("{file} is {of}'s configuration and sets nothing here");
    if !flags.is_empty() {
        text += &format!("; the same for ralph: `ralph {}`", flags.join(" "));
    }
    if !left_out.is_empty() {
        text += &format!("; without an equivalent: {}", left_out.join(", "));
    }
    Some(Notice::info("other-loop", text))
}

/// Refuses scopes of tasks where changes cannot be compared.
pub(super) fn check_scopes(place: &ProjectPlace, plan: &PlanSnapshot, supervisor: &Supervisor) -> Result<(), Failure> {
    let Some(scoped) = plan.tasks.iter().find(|task| !task.settings.only.is_empty()) else {
        return Ok(());
    };
    if !ralph_git::directories(&place.project, supervisor).is_empty() {
        return Ok(());
    }
    let task = ralph_plan::shortened(&scoped.text);
    let why = format!("`only` of the task `{task}` cannot be enforced: the project is in no repository of git");
    Err(Failure::new(FailureKind::Configuration, why).hint("`git init` makes one; or take `only` out of the plan"))
}

/// Refuses a minimum confidence that no claim can reach, since the run could never be done.
pub(super) fn check_confidence(config: &Config, plan: &PlanSnapshot) -> Result<(), Failure> {
    let wanted = config.completion.min_confidence;
    let most = reachable_confidence(!plan.tasks.is_empty(), !config.goals.enabled.is_empty());
    if wanted <= most {
        return Ok(());
    }
    let why = format!("`completion.minConfidence` is {wanted}, but no claim can exceed {most} here");
    let hint = if config.goals.enabled.is_empty() {
        "passing goals are worth 40: add one with `--goal tests='COMMAND'`, or lower the setting"
    } else {
        "ticked tasks are worth 50: write the plan as `- [ ] …`, or lower the setting"
    };
    Err(Failure::new(FailureKind::Configuration, why).hint(hint))
}
