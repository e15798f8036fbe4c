//! Runs the configured goals without a loop.

use std::{iter, path::Path};

use ralph_core::event::GoalResult;
use ralph_system::proc::Supervisor;
use ralph_text::console::warn;

use super::{
    ProjectPlace,
    check_context::CheckContext,
    denials::Denials,
    many,
    runtime::runtime,
    sealed::sealed_goals,
    tree::{prepare_merged_tree, tear_down_tree},
};
use ralph_driver::{DenialScanner as _, SealedPlace, sweep_copies};

use crate::{
    config::Loaded,
    error::{Failure, FailureKind},
};

/// Runs the configured goals once, without a loop.
/// In the work tree of a merge queue, `merged` is the directory with the tests of both sides: the goals are also run
/// with these, and the results are written there. That work tree is of the project at `tree_of`: it is prepared before
/// the goals, and torn down after them.
///
/// # Errors
/// A [`Failure`] if there are no goals, or if they cannot be run here.
pub(crate) fn check_goals(
    place: &ProjectPlace,
    loaded: &Loaded,
    merged: Option<&Path>,
    tree_of: Option<&Path>,
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
    let context = CheckContext::new(place, config, supervisor)?;
    let variables = match tree_of {
        Some(source) => prepare_merged_tree(place, config, source, supervisor)?,
        None => Vec::new(),
    };
    let goals = sealed_goals(place, config, &context.catalog, context.confiner.as_ref())?;
    let sealed = match &context.confiner {
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
    let execution = context.execution(place, config)?;
    let execution = execution.with_sealed(sealed).with_variables(variables);
    let parallel = config.goals_parallel;
    let runtime = runtime()?;
    let Some(directory) = merged else {
        let results = runtime.block_on(ralph_driver::check_goals(goals, parallel, execution));
        let denials = context
            .confiner
            .as_ref()
            .map(|confiner| Denials::of(confiner, &context.catalog, &place.project, iter::empty()));
        let failed = results.iter().filter(|result| !result.passed);
        let scanned = failed.flat_map(|result| Some(denials.as_ref()?.denied_goal(&result.tail)));
        scanned.flatten().for_each(|notice| warn(&notice.text));
        return Ok(results);
    };
    let results = runtime.block_on(many::check_merged(directory, goals, parallel, execution));
    if tree_of.is_some() {
        tear_down_tree(place, config, supervisor)?;
    }
    results.map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", directory.display())))
}
