//! `ralph bisect`: finds the iteration that broke a goal.

use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{complain, is_answered, print, print_json},
    one_line, pretty_json,
};
use serde_json::{Value, json};

use crate::{
    app::{self, BisectEnd, BisectPlace, BisectProgress, Bisection},
    config,
    error::Failure,
};

use super::{
    args::{Args, PlanCommand},
    assay::warn_of_absolute_paths,
    confirm::is_confirmed,
    plan,
    restore::which_run,
    run::sources,
    trust,
};

/// Searches for what broke `goal`. Returns exit code 0 if it was found, or if the goal passes.
pub(super) fn run(
    args: &Args,
    goal: &str,
    run: Option<&str>,
    (adds_task, as_json): (bool, bool),
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let run = run.map(|run| which_run(&place.paths, Some(run))).transpose()?;
    warn_of_absolute_paths(&place, &loaded);
    let found = app::bisect(&place, loaded, (goal, run.as_ref()), supervisor, |told| match told {
        BisectProgress::Copying => complain("copying the project …"),
        BisectProgress::Begun { states, most } => complain(&format!(
            "the files changed {} times: the goal runs at most {most} times",
            states - 1
        )),
        BisectProgress::Running { place } => complain(&format!("{}: running the goal …", in_words(place))),
        BisectProgress::Ran { place, passed, result } => {
            let sign = if passed { '✔' } else { '✖' };
            complain(&format!("{sign} {}: {}", in_words(place), one_line(&result)));
        }
    })?;
    if as_json {
        print_json(&pretty_json(&in_json(goal, &found)));
    } else {
        print(&ending(goal, &found));
    }
    let Some(task) = task(goal, &found.end) else {
        return Ok(0);
    };
    let is_asked = !as_json && is_answered();
    if adds_task || (is_asked && is_confirmed("Add a task to the plan that names this change?")?) {
        let add = PlanCommand::Add {
            task: vec![task],
            section: None,
        };
        return plan::run(args, None, &add, supervisor);
    }
    if !as_json {
        print(&format!(
            "`ralph bisect {goal} --add-task` adds a task to the plan that names this change\n"
        ));
    }
    Ok(0)
}

fn ending(goal: &str, found: &Bisection) -> String {
    let goal = one_line(goal);
    match &found.end {
        BisectEnd::PassesNow => format!("goal `{goal}` passes on the present files: nothing has broken it\n"),
        BisectEnd::FailsAtFirst { first } => format!(
            "goal `{goal}` fails also {}, the earliest state that was searched: no later change has broken it\n",
            in_words(first)
        ),
        BisectEnd::Broken {
            passes,
            fails,
            task,
            shows,
        } => {
            let task = task.as_ref().map(|task| format!(" ({})", one_line(task)));
            format!(
                "goal `{goal}` passes {} and fails {}{}\n`{shows}` shows the change\n",
                in_words(passes),
                in_words(fails),
                task.unwrap_or_default(),
            )
        }
    }
}

/// The line of a task that has the goal mended; `None` if nothing was found.
fn task(goal: &str, end: &BisectEnd) -> Option<String> {
    let BisectEnd::Broken {
        passes, fails, shows, ..
    } = end
    else {
        return None;
    };
    let (goal, passes, fails) = (one_line(goal), in_words(passes), in_words(fails));
    Some(format!(
        "Make goal `{goal}` pass again: it passes {passes} and fails {fails}; `{shows}` shows the change"
    ))
}

fn in_words(place: &BisectPlace) -> String {
    match place {
        BisectPlace::Before { number, iteration, .. } => format!("before iteration {iteration} of run {number}"),
        BisectPlace::After { number, iteration, .. } => format!("after iteration {iteration} of run {number}"),
        BisectPlace::Now => "now".to_owned(),
    }
}

fn in_json(goal: &str, found: &Bisection) -> Value {
    let place = |place: &BisectPlace| match place {
        BisectPlace::Before { run, iteration, .. } => json!({"run": run, "iteration": iteration, "moment": "before"}),
        BisectPlace::After { run, iteration, .. } => json!({"run": run, "iteration": iteration, "moment": "after"}),
        BisectPlace::Now => json!({"moment": "now"}),
    };
    let runs = found.runs;
    match &found.end {
        BisectEnd::PassesNow => json!({"goal": goal, "goalRuns": runs, "result": "passes"}),
        BisectEnd::FailsAtFirst { first } => {
            json!({"goal": goal, "goalRuns": runs, "result": "fails-at-first", "first": place(first)})
        }
        BisectEnd::Broken {
            passes,
            fails,
            task,
            shows,
        } => json!({
            "goal": goal, "goalRuns": runs, "result": "broken",
            "passes": place(passes), "fails": place(fails), "task": task, "shows": shows,
        }),
    }
}
