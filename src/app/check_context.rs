//! The surroundings of goals and other commands outside of a run.

use ralph_agent::catalog::Catalog;
use ralph_core::event::Notice;
use ralph_system::{proc::Supervisor, scratch::ScratchDirectory};
use ralph_text::console::complain;

use super::{
    Confiner, ProjectPlace,
    agents::{catalog, withheld_from_goals},
    ceilings::{disk_floors, tree_limits},
    gate::known_runners,
    place::check_files,
    sandbox::starting,
};
use ralph_driver::ExecutionContext;

use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// The surroundings of commands that run outside of a run.
pub(super) struct CheckContext {
    pub(super) scratch: ScratchDirectory,
    pub(super) catalog: Catalog,
    pub(super) confiner: Option<Confiner>,
    pub(super) supervisor: Supervisor,
}

impl CheckContext {
    /// # Errors
    /// A [`Failure`] if there is no place for short-lived files, or if the sandbox cannot be set up.
    pub(super) fn new(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Result<Self, Failure> {
        let scratch = check_files(&place.paths).map_err(|error| {
            let what = format!("no directory for the check: {error}");
            Failure::new(FailureKind::Failed, what)
        })?;
        let catalog = catalog(place, config);
        let told = |notice: Notice| complain(&notice.text);
        let confiner = Confiner::wanted(place, config, &catalog, supervisor, told)?;
        supervisor.become_subreaper();
        let disks = disk_floors(&config.limits, &place.paths);
        Ok(CheckContext {
            scratch,
            catalog,
            confiner,
            supervisor: supervisor.limiting_trees(tree_limits(&config.limits, &disks)),
        })
    }

    /// Returns the surroundings of goals in the project.
    ///
    /// # Errors
    /// A [`Failure`] if the sandbox cannot be set up, or if a file of a test runner has a mistake.
    pub(super) fn execution(&self, place: &ProjectPlace, config: &Config) -> Result<ExecutionContext, Failure> {
        Ok(ExecutionContext::new(
            place.project.clone(),
            format!("goals-{}", std::process::id()),
            self.scratch.path().to_owned(),
            withheld_from_goals(&self.catalog, config),
            known_runners(place, config)?,
            starting(self.confiner.as_ref(), &self.supervisor, None)?,
        ))
    }
}
