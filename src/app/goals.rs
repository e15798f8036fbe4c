//! Runs the configured goals without a loop.

use std::{io, path::Path};

use ralph_core::event::{Goal, GoalResult, Notice};
use ralph_plan::batch::{MergedResults, Side};
use ralph_system::proc::Supervisor;
use ralph_text::{console::complain, with_causes};
use ralph_words::notice_in_words;

use super::{
    Confiner, ProjectPlace,
    agents::{catalog, withheld_from_goals},
    gate::known_runners,
    place::check_files,
    runtime::runtime,
    sandbox::starting,
    sealed::sealed_goals,
};
use crate::{
    config::Loaded,
    driver::{self, ExecutionContext, SealedPlace, sweep_copies},
    error::{Failure, FailureKind},
    many::JudgingFiles,
};

/// Runs the configured goals once, without a loop.
/// In the work tree of a merge queue, `merged` is the directory with the tests of both sides: the goals are also run
/// with these, and the results are written there.
///
/// # Errors
/// A [`Failure`] if there are no goals, or if they cannot be run here.
pub(crate) fn check_goals(
    place: &ProjectPlace,
    loaded: &Loaded,
    merged: Option<&Path>,
    supervisor: &Supervisor,
) -> Result<Vec<GoalResult>, Failure> {
    let config = &loaded.config;
    if config.goals.enabled.is_empty() && !config.goals.disabled.is_empty() {
        let names: Vec<&str> = config.goals.disabled.iter().map(|goal| &goal.name[..]).collect();
        let why = "there are no goals to check: all of them are off";
        return Err(Failure::new(FailureKind::Configuration, why)
            .hint(format!("take out `\"enabled\": false` of {}", names.join(", "))));
    }
    if config.goals.enabled.is_empty() {
        return Err(
            Failure::new(FailureKind::Configuration, "there are no goals to check")
                .hint("name some with `\"goals\": [{\"name\": \"tests\", \"command\": \"cargo test\"}]` in .ralph/config.json")
                .hint("or one with `ralph --goal tests=\"cargo test\" goals check`"),
        );
    }
    let scratch = check_files(&place.paths).map_err(|error| {
        Failure::new(
            FailureKind::Failed,
            format!("no directory for the check: {}", with_causes(&error)),
        )
    })?;
    let catalog = catalog(place, config);
    let told = |notice: Notice| complain(&notice_in_words(&notice));
    let confiner = Confiner::wanted(place, config, &catalog, supervisor, told)?;
    let goals = sealed_goals(place, config, &catalog, confiner.as_ref())?;
    supervisor.become_subreaper();
    let sealed = match &confiner {
        Some(confiner) if goals.iter().any(|goal| goal.sealed.is_some()) => {
            place.paths.create()?;
            sweep_copies(&place.paths);
            let outputs = place.paths.sealed_outputs();
            // Outputs of an earlier check would be mistaken for those of this one.
            _ = std::fs::remove_dir_all(&outputs);
            Some(SealedPlace::new(
                &place.paths,
                outputs,
                confiner.sealed_goal_confinement()?,
            ))
        }
        Some(_) | None => None,
    };
    let confined = starting(confiner.as_ref(), supervisor, None)?;
    let goals_context = ExecutionContext::new(
        place.project.clone(),
        format!("goals-{}", std::process::id()),
        scratch.temporary(),
        withheld_from_goals(&catalog, config),
        known_runners(place, config)?,
        confined,
    )
    .with_sealed(sealed);
    let parallel = config.goals_parallel;
    let runtime = runtime()?;
    let Some(directory) = merged else {
        return Ok(runtime.block_on(driver::check_goals(goals, parallel, goals_context)));
    };
    let results = runtime.block_on(check_merged(directory, goals, parallel, goals_context));
    results.map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", directory.display())))
}

/// Runs the goals of a merged tree, also with the tests of both sides, and writes the results into `directory`.
async fn check_merged(
    directory: &Path,
    goals: Vec<Goal>,
    parallel: bool,
    place: ExecutionContext,
) -> io::Result<Vec<GoalResult>> {
    let files = JudgingFiles::new(directory.to_owned());
    let sides = [Side::Target, Side::Plan].map(|side| (side, files.store(side)));
    let place = place.with_known_failures(files.known_failures().map_err(io::Error::other)?);
    let stores = sides.iter().map(|(_, store)| store.clone()).collect();
    let (results, trials) = driver::check_merged(goals, parallel, place, stores, &files.record()).await;
    let side_of = |store: &Path| sides.iter().find(|(_, known)| known == store).map(|(side, _)| *side);
    let trials = trials.into_iter();
    let merged = MergedResults {
        results,
        trials: trials
            .filter_map(|(store, trial)| Some((side_of(&store)?, trial)))
            .collect(),
    };
    files.write(&merged)?;
    Ok(merged.results)
}
