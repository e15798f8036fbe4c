//! Changes to a batch while it exists: further plans, a pause, other limits.

use std::{fs, path::PathBuf};

use ralph_plan::batch::{Batch, BatchChanges, BatchId, BatchInput, BatchPlan, PlanName, Planned};
use ralph_state::control::UserOnlyAction;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::console::print;
use ralph_words::counted;

use super::{
    super::{args::Args, run::place, trust},
    batch_settings::{changes, is_shared, refuse_plan},
    flags::Resuming,
    last_batch::{last, named, unsent, wait_until_done},
};
use ralph_many::{BatchLock, BatchPaths};

use crate::{
    app::{self, ProjectPlace},
    error::{Failure, FailureKind},
};

/// Adds plans to the last batch. If no process works on it, they run once it is resumed.
pub(super) fn add(args: &Args, plans: &[PathBuf], supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    trust::refuse_agent(&place.paths, UserOnlyAction::Many)?;
    let (id, batch) = last(&place)?;
    let known: Vec<Planned> = batch.plans.iter().map(planned).collect();
    let added = app::many::added_to_batch(&place, plans, &known)?;
    let names: Vec<String> = added.iter().map(|plan| plan.name.0.clone()).collect();
    let changes = BatchChanges {
        added,
        ..BatchChanges::default()
    };
    let is_running = BatchLock::is_held(&place.paths);
    if is_running {
        let has_all = |batch: &Batch| {
            let has = |name: &String| batch.plan(&PlanName(name.clone())).is_some();
            names.iter().all(has)
        };
        ask(&place, &id, &changes, has_all)?;
    } else {
        let _lock = app::many::lock(&place, supervisor)?;
        ralph_many::record(&BatchPaths::new(&place.paths, &id), BatchInput::Change { changes })?;
    }
    let count = counted(names.len() as u64, "plan");
    let then = match is_running {
        true => "",
        false => "; `ralph many resume` runs the batch",
    };
    print(&format!("batch {id}: {count} added: {}{then}\n", names.join(", ")));
    Ok(0)
}

pub(in crate::cli) fn planned(plan: &BatchPlan) -> Planned {
    Planned {
        name: plan.name.clone(),
        file: plan.file.clone(),
        section: plan.section.clone(),
        after: plan.after.clone(),
        issue: plan.issue.clone(),
    }
}

/// Pauses the running batch. Returns the exit code; `None` if none is running.
pub(in crate::cli) fn pause(args: &Args) -> Result<Option<u8>, Failure> {
    let place = place(args)?;
    if !BatchLock::is_held(&place.paths) {
        return Ok(None);
    }
    trust::refuse_agent(&place.paths, UserOnlyAction::Many)?;
    let (id, _) = last(&place)?;
    let changes = BatchChanges {
        paused: Some(true),
        ..BatchChanges::default()
    };
    ask(&place, &id, &changes, |batch| batch.paused)?;
    print(&format!("batch {id}: paused; `ralph many resume` goes on\n"));
    Ok(Some(0))
}

/// Changes the running batch by the options of `ralph many resume`, and ends its pause.
///
/// # Errors
/// A [`Failure`] if an option cannot be changed while the batch runs.
pub(super) fn running(
    args: &Args,
    place: &ProjectPlace,
    (id, batch): (&BatchId, &Batch),
    (resuming, plans): (&Resuming, &[PlanName]),
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let typed = || args.settings.given.iter().chain(&resuming.settings.given);
    refuse_plan(typed(), "ralph many resume --jobs 4")?;
    let fixed = |what: &str| {
        let why = format!("the batch is running, and {what} only when it is resumed");
        Failure::new(FailureKind::Locked, why).hint("`ralph many cancel` ends it; Ctrl-C in its terminal stops it")
    };
    if !plans.is_empty() {
        return Err(fixed("plans can be chosen"));
    }
    if let Some(flag) = typed().find(|flag| !is_shared(flag)) {
        return Err(fixed(&format!("`{}` can be changed", flag.name)));
    }
    if batch.spent.is_some() {
        return Err(fixed("a budget that is used up can be raised"));
    }
    let (resumption, _) = changes(args, place, batch, typed(), supervisor)?;
    let changes = BatchChanges {
        jobs: resuming.jobs,
        limits: resumption.limits,
        paused: batch.paused.then_some(false),
        added: Vec::new(),
    };
    if changes == BatchChanges::default() {
        // The error that a start meets.
        return app::many::lock(place, supervisor).map(|_| 0);
    }
    let (jobs, limits) = (changes.jobs, changes.limits);
    let is_done = |batch: &Batch| {
        jobs.is_none_or(|jobs| batch.jobs == jobs)
            && limits.is_none_or(|limits| batch.limits == limits)
            && !batch.paused
    };
    ask(place, id, &changes, is_done)?;
    print(&format!("batch {id}: changed; `ralph many status` shows it\n"));
    Ok(0)
}

/// Asks the running batch for changes, and waits until it has recorded them.
fn ask(
    place: &ProjectPlace,
    id: &BatchId,
    changes: &BatchChanges,
    is_done: impl Fn(&Batch) -> bool,
) -> Result<(), Failure> {
    let paths = BatchPaths::new(&place.paths, id);
    let request = ralph_many::ask_to_change(&paths, changes).map_err(|error| unsent(&error))?;
    wait_until_done(place, is_done, || _ = fs::remove_file(&request))
}

/// The state of the run of a plan of the last batch.
pub(in crate::cli) fn state_of_plan(args: &Args, plan: &str, supervisor: &Supervisor) -> Result<ProjectPaths, Failure> {
    let place = place(args)?;
    let (id, batch) = last(&place)?;
    let plan = named(&batch, plan)?;
    let site = app::many::site_of_batch(&place, &id, false, supervisor)?;
    ralph_many::job_state(&site, &plan).map_err(|why| Failure::new(FailureKind::Failed, why))
}
