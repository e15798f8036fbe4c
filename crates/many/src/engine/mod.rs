//! The engine that runs the jobs of a batch: processes of the batch itself, or a scheduler that a file
//! describes.
//!
//! A job is a run of this executable in the work tree of its plan, on any machine that shares files with
//! this one: ralph has neither an agent on other machines nor a scheduler. The engine's answers are hints;
//! the run's own lock and journal decide ([`decision`]).

mod catalog;
mod commands;
mod decision;
mod files;
mod follow;
mod manifest;
mod running;
mod written;

use std::sync::Arc;

pub use catalog::{EngineCatalog, EngineError, installed};
pub(crate) use decision::RunState;
use manifest::EngineManifest;
use ralph_plan::batch::{Batch, BatchPlan};
use ralph_system::proc::Supervisor;
pub(crate) use running::{JobUpdate, RunningJob};

use super::{job, worker::Site};

/// The engine that runs the jobs of a batch.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Processes below guards, which end with the batch.
    Local,
    /// The engine that a file describes. Its jobs are cancelled when the user ends the batch, and outlive a
    /// killed batch.
    Described { manifest: Box<EngineManifest> },
}

impl From<EngineManifest> for Engine {
    fn from(manifest: EngineManifest) -> Engine {
        Engine::Described {
            manifest: Box::new(manifest),
        }
    }
}

impl Engine {
    /// Returns the engine's name in records.
    pub fn id(&self) -> &str {
        match self {
            Engine::Local => ralph_plan::batch::LOCAL,
            Engine::Described { manifest, .. } => &manifest.id,
        }
    }

    /// Returns how many jobs it runs at a time; `None` if a queue of its own decides.
    pub fn slots(&self) -> Option<u32> {
        match self {
            Engine::Local => {
                // Half of the cores: builds of the agents need the others.
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                Some(u32::try_from(cores / 2).unwrap_or(1).max(1))
            }
            Engine::Described { .. } => None,
        }
    }

    /// Cancels a plan's job that continues without its batch. The batch notices it when it is resumed.
    ///
    /// # Errors
    /// The reason why the job may continue.
    pub fn cancel(&self, supervisor: &Supervisor, site: &Site, plan: &BatchPlan) -> Result<(), String> {
        match (self, &plan.job) {
            (Engine::Described { manifest, .. }, Some(job)) => follow::cancel(manifest, supervisor, site, plan, job),
            (Engine::Local, _) | (Engine::Described { .. }, None) => Ok(()),
        }
    }

    /// Starts the run of a plan, or finds the job that an engine has of it. `news` is called from another
    /// thread, for the last time when the job has ended or was left.
    ///
    /// # Errors
    /// The reason why it cannot be started; `news` is not called then.
    pub(super) fn start(
        &self,
        supervisor: &Supervisor,
        site: &Arc<Site>,
        batch: &Batch,
        plan: &BatchPlan,
        news: impl Fn(JobUpdate) + Send + 'static,
    ) -> Result<Box<dyn RunningJob>, String> {
        let name = &plan.name;
        let (log, scratch) = (site.paths.log(name), site.paths.scratch());
        let project = site.branches.project_in(&site.paths.tree(name));
        let (job, before) = site.job(batch, plan, &log, &project, &scratch)?;
        match self {
            Engine::Local => {
                let (site, name) = (Arc::clone(site), name.clone());
                let ended = move |ended| news(JobUpdate::Ended(site.end_of_job(&name, &before, &ended)));
                let child = job::start(supervisor, job, ended).map_err(|error| error.to_string())?;
                Ok(Box::new(child))
            }
            Engine::Described { manifest } => {
                let handle = follow::start(
                    manifest,
                    supervisor,
                    site,
                    (batch, plan),
                    (&job, before),
                    Box::new(news),
                )?;
                Ok(Box::new(handle))
            }
        }
    }
}
