//! The plans given to a batch: checks each, and determines their names and order.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use ralph_forge::names_issue;
use ralph_plan::{
    ParsedPlan, PlanKind,
    batch::{Planned, added_plans, after, plan_names, with_order},
};
use ralph_system::files::{self, PLAN_CAP_BYTES};
use ralph_text::with_causes;

use super::super::ProjectPlace;
use crate::error::{Failure, FailureKind};

pub(super) fn configuration(what: String) -> Failure {
    Failure::new(FailureKind::Configuration, what)
}

/// Reads and checks the plans, and determines their names and order.
pub(super) fn planned(place: &ProjectPlace, paths: &[PathBuf]) -> Result<Vec<Planned>, Failure> {
    if paths.is_empty() {
        return Err(Failure::new(FailureKind::Usage, "no plan is named")
            .hint("`ralph many api.md ui.md` runs two; `ralph many status` shows the last batch"));
    }
    let ReadPlans { files, orders, issues } = read_plans(place, paths)?;
    let names =
        plan_names(&files).map_err(|error| Failure::of(FailureKind::Usage, &error).hint("name each plan once"))?;
    let plans = files.into_iter().zip(names).zip(issues);
    let plans = plans.map(|((file, name), issue)| Planned {
        name,
        file,
        section: None,
        after: Vec::new(),
        issue,
    });
    let plans = plans.collect();
    with_order_of(
        plans,
        &orders,
        "`after` in a plan's front matter names plans of this batch",
    )
}

/// The contents of plan files that a batch needs.
#[derive(Default)]
struct ReadPlans {
    /// Their paths in the project.
    files: Vec<String>,
    /// The plans that each waits for.
    orders: Vec<Vec<String>>,
    /// The issue that each was made from.
    issues: Vec<Option<String>>,
}

/// Reads and checks plans.
fn read_plans(place: &ProjectPlace, paths: &[PathBuf]) -> Result<ReadPlans, Failure> {
    let mut read = ReadPlans::default();
    for path in paths {
        let (file, bytes) = plan_bytes(place, path)?;
        usable(&file, &bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let waits_for = after(&text).map_err(|error| {
            configuration(format!("{file}: {error}")).hint("write names of plans there, or take the line away")
        })?;
        read.issues.push(names_issue(&text));
        read.orders.push(waits_for);
        read.files.push(file);
    }
    Ok(read)
}

/// Reads and checks plans that are added to a batch with the plans `known`.
pub(crate) fn added_to_batch(
    place: &ProjectPlace,
    paths: &[PathBuf],
    known: &[Planned],
) -> Result<Vec<Planned>, Failure> {
    let ReadPlans { files, orders, issues } = read_plans(place, paths)?;
    let there = files.iter().find(|file| known.iter().any(|plan| plan.file == **file));
    if let Some(file) = there {
        return Err(configuration(format!("{file}: the batch has this plan already"))
            .hint("`ralph many resume` continues a plan that is not merged"));
    }
    let mut added =
        added_plans(known, &files, &orders).map_err(|error| Failure::of(FailureKind::Configuration, &error))?;
    for (plan, issue) in added.iter_mut().zip(issues) {
        plan.issue = issue;
    }
    Ok(added)
}

/// Adds to the plans what each waits for. `rule` explains the syntax in a hint.
pub(super) fn with_order_of(plans: Vec<Planned>, after: &[Vec<String>], rule: &str) -> Result<Vec<Planned>, Failure> {
    with_order(plans, after).map_err(|error| Failure::of(FailureKind::Configuration, &error).hint(rule))
}

/// Reads a plan. Returns its path relative to the project, and its content.
pub(super) fn plan_bytes(place: &ProjectPlace, path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let file = file_in_project(&place.project, path)?;
    let bytes = files::read_bytes(&place.project.join(&file), PLAN_CAP_BYTES).map_err(|error| {
        let why = if error.is_missing() {
            "there is no such plan".to_owned()
        } else {
            with_causes(&error)
        };
        configuration(format!("{file}: {why}")).hint("name the files of plans, as in `ralph many api.md ui.md`")
    })?;
    Ok((file, bytes))
}

/// Parses a plan, and checks that a run can work on it.
pub(super) fn usable(file: &str, bytes: &[u8]) -> Result<ParsedPlan, Failure> {
    let kind = PlanKind::from_path(Path::new(file));
    let reading = ralph_plan::read_bytes(kind, bytes)
        .map_err(|error| configuration(format!("{file}: {error}")).hint(error.hint()))?;
    if reading.plan.tasks.is_empty() {
        return Err(
            configuration(format!("{file}: a plan of a batch needs tasks that can be ticked"))
                .hint("write them as `- [ ] …`"),
        );
    }
    if let Some(mistake) = reading.mistakes.first() {
        return Err(configuration(format!("{file}: {}: {}", mistake.position, mistake.what))
            .hint("`ralph plan check --plan FILE` lists all mistakes"));
    }
    if reading.plan.open() == 0 {
        return Err(configuration(format!("{file}: every task is done")).hint("leave it out, or add a task"));
    }
    Ok(reading)
}

/// The path of a plan relative to the project, which is valid in a work tree as well.
fn file_in_project(project: &Path, path: &Path) -> Result<String, Failure> {
    let outside = || {
        configuration(format!("{}: the plan lies outside of the project", path.display()))
            .hint("plans of a batch must be inside the project")
    };
    let absolute = project.join(path);
    // The path of a missing file is reported as it was typed.
    let real = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
        (Some(Ok(directory)), Some(name)) => directory.join(name),
        (_, _) => absolute,
    };
    let file = real.strip_prefix(project).map_err(|_| outside())?;
    if file.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    let text = file.to_str().map(str::to_owned);
    text.ok_or_else(|| configuration(format!("{}: the name is not valid UTF-8", path.display())))
}
