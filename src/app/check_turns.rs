//! Runs a turn of installed agents against a model server of ralph's own: does this version work?

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use ralph_agent::{
    check_turn::{TurnCheck, TurnCheckResult},
    manifest::Manifest,
};
use ralph_system::{proc::Supervisor, workers::share};
use ralph_text::with_causes;

use super::{ProjectPlace, check_context::CheckContext, sandbox::starting};
use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// Runs a turn of each agent, several at once. `programs` has the path of each program by the id of its adapter. Adapters that
/// do not say how their agent is led to a model are left out.
///
/// # Errors
/// A [`Failure`] if there is no place for the turns, or if the sandbox cannot be set up.
pub(crate) fn check_turns(
    place: &ProjectPlace,
    config: &Config,
    supervisor: &Supervisor,
    programs: &[(String, PathBuf)],
) -> Result<BTreeMap<String, TurnCheckResult>, Failure> {
    let failed = |error: &io::Error| Failure::new(FailureKind::Failed, format!("no directory for the check: {error}"));
    let temporary = tempfile::Builder::new()
        .prefix("ralph-check-")
        .tempdir()
        .map_err(|error| failed(&error))?;
    let root = temporary.path().canonicalize().map_err(|error| failed(&error))?;
    let trial_place = ProjectPlace {
        own: place.own.clone(),
        ..ProjectPlace::for_project(root.clone(), Some(&root.join("state")))?
    };
    let context = CheckContext::new(&trial_place, config, supervisor)?;
    let keys = context.catalog.keys();
    // Without the rights of an agent to its own state, which the turn does not use.
    let supervisor = starting(context.confiner.as_ref(), &context.supervisor, None)?;
    let mut checks = Vec::new();
    for (id, program) in programs {
        let manifest = context.catalog.manifest(id)?;
        if manifest.check.is_some() {
            checks.push((id, manifest, program));
        }
    }
    let check = |(id, manifest, program): (&String, Manifest, &PathBuf)| {
        let directory = root.join("agents").join(id);
        let check = TurnCheck {
            manifest: &manifest,
            program,
            directory: &directory,
            supervisor: &supervisor,
            keys: &keys,
        };
        let result = fs::create_dir_all(&directory).and_then(|()| check.run());
        let result = result.unwrap_or_else(|error| {
            Some(TurnCheckResult::Fails {
                why: with_causes(&error),
            })
        });
        Some((id.clone(), result?))
    };
    let mut results = BTreeMap::new();
    share(checks.into_iter(), check, |result| results.extend(result));
    Ok(results)
}
