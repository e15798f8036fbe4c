//! What is found out about the tests of a run's goals, by the settings.

use std::path::Path;

use ralph_core::event::GateSettings;
use ralph_gate::{guard::Guard, runner::Runners};
use ralph_text::with_causes;

use super::Place;
use crate::{
    config::{Baseline, Config},
    error::{Failure, FailureKind},
    runners,
};

/// The runners that are known here. They live as long as the process: whatever reads an output refers to them.
///
/// # Errors
/// A [`Failure`] that names each file of a runner that cannot be used.
pub(super) fn known_runners(place: &Place, config: &Config) -> Result<&'static Runners, Failure> {
    let user = dirs::config_dir().map(|dir| dir.join("ralph").join("runners"));
    match runners::load(user, &place.own.runners, !config.goals.enabled.is_empty()) {
        Ok(runners) => Ok(Box::leak(Box::new(runners))),
        Err(mistakes) => {
            let failure = Failure::new(FailureKind::Configuration, "a test runner cannot be used");
            Err(mistakes.into_iter().fold(failure, Failure::hint))
        }
    }
}

/// Leaves files unguarded that a merge has left in conflict: with the markers in them, no test is as it should be. The merge queue
/// judges what becomes of them by the tests of both sides.
pub(crate) fn leave_unguarded(config: &mut Config, paths: &[String]) {
    let escaped = |path: &String| {
        let mut pattern = String::new();
        for character in path.chars() {
            if r"*?[]{},!\".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern
    };
    config.gate.guard_not.extend(paths.iter().map(escaped));
}

/// What is guarded; none where nothing is.
///
/// # Errors
/// A [`Failure`] that names a pattern that is none.
pub(super) fn guard(runners: &Runners, config: &Config, project: &Path) -> Result<Option<Guard>, Failure> {
    let rules = runners::rules(
        runners,
        &config.goals.enabled,
        &config.gate.guard,
        &config.gate.guard_not,
        |path| project.join(path).is_file(),
    );
    if !config.gate.trial || rules.guards_nothing() {
        return Ok(None);
    }
    let guard = Guard::new(rules);
    guard.map(Some).map_err(|error| {
        let why = format!("`gate.guard` or `gate.guardNot`: {}", with_causes(&error));
        Failure::new(FailureKind::Configuration, why).hint("patterns look like \"spec/**\" or \"check.sh\"")
    })
}

/// The settings by which a run judges its tests.
pub(super) fn gate_settings(runners: &Runners, config: &Config) -> GateSettings {
    let gate = &config.gate;
    GateSettings {
        baseline: match gate.baseline {
            Baseline::Auto => runners::names_runner(runners, &config.goals.enabled),
            Baseline::On => true,
            Baseline::Off => false,
        },
        rerun: gate.rerun,
        trial: gate.trial,
        bite: gate.bite,
        mutants: gate.mutants,
        require: gate.require,
    }
}
