//! The plan that a run works through, and whether it can ever be done.

use std::path::{Path, PathBuf};

use crate::{
    config::Config,
    driver::{Taskless, read_plan},
    error::{Failure, FailureKind},
    event::PlanSnapshot,
    machine::reachable_confidence,
};

use super::Place;

/// The plans that are looked for when none is named, in this order.
pub const DEFAULT_PLANS: [&str; 5] = [
    "PLAN.md",
    "prd.json",
    "IMPLEMENTATION_PLAN.md",
    "REFACTOR_PLAN.md",
    "@fix_plan.md",
];

/// The plan that a run would work through, and what is in it.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub fn chosen_plan(place: &Place, config: &Config) -> Result<(PathBuf, PlanSnapshot), Failure> {
    let plan = plan_path(&place.project, config.plan.as_deref())?;
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

fn plan_path(project: &Path, named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(project.join(named));
    }
    DEFAULT_PLANS
        .iter()
        .map(|name| project.join(name))
        .find(|path| path.exists())
        .ok_or_else(|| {
            let names = DEFAULT_PLANS.join(", ");
            Failure::new(
                FailureKind::Configuration,
                format!("there is no plan in {}", project.display()),
            )
            .hint(format!("write one of {names}, with tasks as `- [ ] …`"))
            .hint("or name another file with `--plan FILE`")
        })
}
