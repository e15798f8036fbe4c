//! How the settings judge the tests of a run's goals.

use std::path::Path;

use ralph_core::event::{GateSettings, ScopedTask};
use ralph_gate::{
    guard::{FileGuard, GuardRules},
    runner::Runners,
};
use ralph_text::with_causes;

use super::ProjectPlace;
use crate::{
    config::{Baseline, Config},
    error::{Failure, FailureKind},
    runners as known,
};

/// Loads the known test runners. They are leaked, because parsers of output refer to them for the life of the process.
///
/// # Errors
/// As [`runners`].
pub(super) fn known_runners(place: &ProjectPlace, config: &Config) -> Result<&'static Runners, Failure> {
    runners(place, !config.goals.enabled.is_empty()).map(|runners| &*Box::leak(Box::new(runners)))
}

/// Loads the test runners of ralph, if they are needed, of the user and of the project.
///
/// # Errors
/// A [`Failure`] that names each unusable runner file.
pub(crate) fn runners(place: &ProjectPlace, built_in: bool) -> Result<Runners, Failure> {
    let user = dirs::config_dir().map(|dir| dir.join("ralph").join("runners"));
    known::load(user, &place.own.runners, built_in).map_err(|mistakes| {
        let failure = Failure::new(FailureKind::Configuration, "a test runner cannot be used");
        mistakes.into_iter().fold(failure, Failure::hint)
    })
}

/// Excludes files with merge conflicts from the guard: with conflict markers in them, they are no valid tests. The
/// merge queue judges the result with the tests of both sides.
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

/// The guard of the files that decide the results of goals; `None` if there is no goal.
///
/// # Errors
/// A [`Failure`] that names an invalid pattern.
pub(super) fn guard(runners: &Runners, config: &Config, project: &Path) -> Result<Option<FileGuard>, Failure> {
    let goals = &config.goals.enabled;
    if goals.is_empty() {
        return Ok(None);
    }
    let (guarded, except) = (&config.gate.guard, &config.gate.guard_not);
    let rules = known::rules(runners, goals, guarded, except, |path| project.join(path).is_file());
    compiled(rules).map(Some)
}

fn compiled(rules: GuardRules) -> Result<FileGuard, Failure> {
    FileGuard::new(rules).map_err(|error| {
        let why = format!("`gate.guard` or `gate.guardNot`: {}", with_causes(&error));
        Failure::new(FailureKind::Configuration, why).hint("patterns look like \"spec/**\" or \"check.sh\"")
    })
}

/// Tells files with tests for a run with scopes of tasks: by the runners that the goals name, or by all if there is no goal.
///
/// # Errors
/// As [`known_runners`].
pub(super) fn test_files(
    place: &ProjectPlace,
    guard: Option<&FileGuard>,
    scopes: &[ScopedTask],
) -> Result<FileGuard, Failure> {
    match guard {
        Some(guard) => Ok(guard.clone()),
        None if scopes.is_empty() => Ok(FileGuard::default()),
        None => compiled(known::all_rules(&runners(place, true)?)),
    }
}

/// The settings by which a run judges its tests.
pub(super) fn gate_settings(runners: &Runners, config: &Config) -> GateSettings {
    let gate = &config.gate;
    GateSettings {
        baseline: match gate.baseline {
            Baseline::Auto => known::names_runner(runners, &config.goals.enabled),
            Baseline::On => true,
            Baseline::Off => false,
        },
        bite: gate.bite,
        require: gate.require,
        known_failures: gate.known_failures,
    }
}
