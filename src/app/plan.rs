//! The plan that a run works through, and whether it can ever be done.

use std::path::{Path, PathBuf};

use crate::{
    config::Config,
    driver::{Taskless, read_plan},
    error::{Failure, FailureKind},
    event::PlanSnapshot,
    machine::reachable_confidence,
    plan,
};

use super::Place;

/// The plan that a run would work through, and what is in it.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub(crate) fn chosen_plan(place: &Place, config: &Config) -> Result<(PathBuf, PlanSnapshot), Failure> {
    let plan = plan::locate(&place.project, config.plan.as_deref(), Path::exists)
        .map_err(|error| Failure::of(FailureKind::Configuration, &error).hints(error.hints()))?;
    let snapshot = read_plan(
        &plan,
        Taskless::with(&config.goals, config.completion.promise.as_deref()),
    )
    .map_err(|(why, hint)| Failure::new(FailureKind::Configuration, why).hint(hint))?;
    Ok((plan, snapshot))
}

/// Refuses a confidence that no claim can reach: such a run could never be done.
pub(super) fn check_confidence(config: &Config, plan: &PlanSnapshot) -> Result<(), Failure> {
    let wanted = config.completion.min_confidence;
    let most = reachable_confidence(!plan.tasks.is_empty(), !config.goals.is_empty());
    if wanted <= most {
        return Ok(());
    }
    let why = format!("`completion.minConfidence` is {wanted}, and no claim can reach more than {most} here");
    let hint = if config.goals.is_empty() {
        "goals that pass are worth 40: name one with `--goal tests='COMMAND'`, or lower the setting"
    } else {
        "ticked tasks are worth 50: write the plan as `- [ ] …`, or lower the setting"
    };
    Err(Failure::new(FailureKind::Configuration, why).hint(hint))
}
