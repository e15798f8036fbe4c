//! The configured goals, checked without a loop.

use super::{
    Confiner, Place,
    agents::{catalog, withheld_from_goals},
    gate::known_runners,
    runtime::runtime,
    sandbox::{connection_refused, starting},
    sealed::sealed_goals,
};
use crate::{
    config::Loaded,
    console::complain,
    driver::{self, GoalsPlace, SealedPlace, sweep_copies},
    error::{Failure, FailureKind},
    event::GoalResult,
    proc::Supervisor,
    words::notice_in_words,
};

/// Runs the configured goals once, without a loop.
///
/// # Errors
/// A [`Failure`] if there are none, or if nothing can be run here.
pub(crate) fn check_goals(place: &Place, loaded: &Loaded, supervisor: &Supervisor) -> Result<Vec<GoalResult>, Failure> {
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
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let catalog = catalog(place, config);
    let told = |refused| complain(&notice_in_words(&connection_refused(refused)));
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
            Some(SealedPlace::new(&place.paths, outputs, confiner.of_sealed_goals()?))
        }
        Some(_) | None => None,
    };
    let confined = starting(confiner.as_ref(), supervisor, None)?;
    let goals_place = GoalsPlace::new(
        place.project.clone(),
        format!("goals-{}", std::process::id()),
        scratch.path().to_owned(),
        withheld_from_goals(&catalog, config),
        known_runners(place, config)?,
        confined,
    )
    .with_sealed(sealed);
    let checks = driver::check_goals(goals, config.goals_parallel, goals_place);
    Ok(runtime()?.block_on(checks))
}
