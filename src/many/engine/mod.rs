//! Who runs the jobs of a batch: processes of the batch itself, or an engine that a file describes.
//!
//! A job is a run of this executable in the work tree of its plan, wherever it is: no agent of ralph's is on other machines, and
//! no scheduler is in ralph. What an engine says is a hint; the run's own lock and journal decide ([`judge`]).

mod catalog;
mod commands;
mod files;
mod follow;
mod judge;
mod manifest;
mod running;
mod written;

use std::sync::Arc;

pub(crate) use catalog::{Catalog, EngineError};
pub(super) use judge::Shown;
pub(crate) use manifest::Manifest;
use ralph_plan::batch::{Batch, Plan};
use ralph_system::proc::Supervisor;
pub(super) use running::{News, Running};

use super::{job, worker::Site};

/// Who runs the jobs of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Engine {
    /// Processes below guards, which end with the batch.
    Local,
    /// Whatever its file describes. Its jobs are cancelled when their user ends the batch, and outlive one that is killed.
    Described(Box<Manifest>),
}

impl Engine {
    /// What its records call it.
    pub(crate) fn id(&self) -> &str {
        match self {
            Engine::Local => ralph_plan::batch::LOCAL,
            Engine::Described(manifest) => &manifest.id,
        }
    }

    /// Has the job of a plan ended that goes on without its batch. The batch hears of it when it is resumed.
    ///
    /// # Errors
    /// Why it may go on.
    pub(crate) fn cancel(&self, supervisor: &Supervisor, site: &Site, plan: &Plan) -> Result<(), String> {
        match (self, &plan.job) {
            (Engine::Described(manifest), Some(job)) => follow::cancel(manifest, supervisor, site, plan, job),
            (Engine::Local, _) | (Engine::Described(_), None) => Ok(()),
        }
    }

    /// Starts the run of a plan, or finds the one that an engine has of it; `news` is called from another thread, the last time
    /// when it has ended or was left.
    ///
    /// # Errors
    /// Why it cannot be started; `news` is not called then.
    pub(super) fn start(
        &self,
        supervisor: &Supervisor,
        site: &Arc<Site>,
        batch: &Batch,
        plan: &Plan,
        news: impl Fn(News) + Send + 'static,
    ) -> Result<Box<dyn Running>, String> {
        let name = &plan.name;
        let (log, scratch) = (site.paths.log(name), site.paths.scratch());
        let project = site.branches.project_in(&site.paths.tree(name));
        let (job, before) = site.job(batch, plan, &log, &project, &scratch)?;
        match self {
            Engine::Local => {
                let (site, name) = (Arc::clone(site), name.clone());
                let ended = move |ended| news(News::Ended(site.end_of_job(&name, &before, &ended)));
                let child = job::start(supervisor, job, ended).map_err(|error| error.to_string())?;
                Ok(Box::new(child))
            }
            Engine::Described(manifest) => {
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
