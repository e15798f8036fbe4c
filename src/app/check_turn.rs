//! Runs one turn of an agent with its user's own model, as a run would: does it work here?

use std::{collections::BTreeMap, fs, io, path::Path};

use ralph_agent::check_turn::{TurnCheckResult, check_turn};
use ralph_system::proc::Supervisor;
use ralph_text::console::complain;

use super::{ProjectPlace, agents::AgentChooser, check_context::CheckContext, runtime::runtime};
use crate::{
    config::Loaded,
    error::{Failure, FailureKind},
};

/// Runs a turn of the agent of adapter `id`, whose program is at `program`, in a temporary project. The turn costs what a short
/// answer of the model costs.
///
/// # Errors
/// A [`Failure`] if there is no place for the turn, if the sandbox cannot be set up, or if the settings fit no run of the agent.
pub(crate) fn turn_of_agent(
    place: &ProjectPlace,
    loaded: &Loaded,
    supervisor: &Supervisor,
    id: &str,
    program: &Path,
) -> Result<TurnCheckResult, Failure> {
    let failed = |error: &io::Error| Failure::new(FailureKind::Failed, format!("no directory for the check: {error}"));
    let temporary = tempfile::Builder::new().prefix("ralph-check-").tempdir();
    let root = temporary.as_ref().map_err(failed)?.path().canonicalize();
    let root = root.map_err(|error| failed(&error))?;
    let project = root.join("project");
    fs::create_dir(&project).map_err(|error| failed(&error))?;
    let trial_place = ProjectPlace {
        own: place.own.clone(),
        ..ProjectPlace::for_project(project.clone(), Some(&root.join("state")))?
    };
    let config = &loaded.config;
    let context = CheckContext::new(&trial_place, config, supervisor)?;
    let chooser = AgentChooser {
        confiner: context.confiner.as_ref(),
        catalog: &context.catalog,
        config,
        remembered: false,
        project: &project,
        watched: false,
        supervisor: &context.supervisor,
        run: None,
    };
    let mut notices = Vec::new();
    let manifest = context.catalog.manifest(id)?.found_at(program);
    let agent = chooser.agent_of(manifest, &mut BTreeMap::new(), &mut notices)?;
    notices.iter().for_each(|notice| complain(&notice.text));
    let model = config.model.clone().filter(|_| config.adapter.as_deref() == Some(id));
    let scratch = context.scratch.path().to_owned();
    let checked = runtime()?.block_on(check_turn(&*agent.adapter, model, &project, &scratch));
    agent.adapter.close();
    checked.map_err(|error| failed(&error))
}
