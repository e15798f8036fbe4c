//! An engine of hosts that share no files with this machine.
//!
//! There is no queue: the batch gives each host as many plans as it has slots. A job is started, followed and ended by
//! requests to `ralph __node` on its host ([`super::super::node`]). Its records are copied to the state directory of the
//! plan's runs here, and its commits to the plan's branch, so everything else treats it as a local one.

mod carry;
mod copy;
mod follower;
mod manifest;
mod slots;
mod transport;
mod tunnel;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use manifest::HostsManifest;
use ralph_plan::batch::{Batch, BatchPlan, EngineJob, PlanName};
use ralph_system::proc::Supervisor;

use super::{
    super::{node::NodeRequest, worker::Site},
    follow::{JobHandle, NewsSender},
};
use carry::NodeRecord;
use slots::HostSlots;
use transport::NodeTransport;

/// The hosts of a batch.
#[derive(Debug, Clone)]
pub(crate) struct HostsEngine {
    manifest: Arc<HostsManifest>,
    slots: Arc<HostSlots>,
}

impl HostsEngine {
    pub(crate) fn new(manifest: HostsManifest) -> HostsEngine {
        HostsEngine {
            slots: HostSlots::new(&manifest.hosts),
            manifest: Arc::new(manifest),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.manifest.id
    }

    /// Returns how many plans all hosts together run at a time.
    pub(super) fn slots(&self) -> u32 {
        self.manifest.hosts.iter().map(|(_, slots)| slots).sum()
    }

    fn transport(&self, supervisor: &Supervisor) -> NodeTransport {
        NodeTransport::new(Arc::clone(&self.manifest), supervisor.clone())
    }

    /// Follows a plan's existing job, or starts a new one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(
        &self,
        supervisor: &Supervisor,
        site: &Arc<Site>,
        (batch, plan): (&Batch, &BatchPlan),
        news: NewsSender,
    ) -> Result<JobHandle, String> {
        let transport = self.transport(supervisor);
        follower::start(transport, Arc::clone(&self.slots), site, (batch, plan), news)
    }

    /// Asks a job that no process is following to end.
    ///
    /// # Errors
    /// The reason why it may continue.
    pub(super) fn cancel(
        &self,
        supervisor: &Supervisor,
        site: &Site,
        plan: &BatchPlan,
        job: &EngineJob,
    ) -> Result<(), String> {
        let Some(host) = &job.id else {
            return Err("did not record the host of the job".to_owned());
        };
        let job = carry::node_job(site, &plan.name, &job.name);
        let asked = self.transport(supervisor).ask(host, &NodeRequest::Stop { job });
        asked.map_err(|failure| failure.to_string())
    }

    /// Removes the work tree of a merged plan from its host.
    ///
    /// # Errors
    /// The reason why it is still there.
    pub(super) fn remove_tree(&self, site: &Site, plan: &PlanName, args: Vec<String>) -> Result<(), String> {
        let transport = self.transport(&site.supervisor);
        // Each host once, with its latest job.
        let records = NodeRecord::all(site, plan).into_iter();
        let hosts: BTreeMap<String, String> = records.map(|record| (record.host, record.name)).collect();
        for (host, name) in hosts {
            let (job, args) = (carry::node_job(site, plan, &name), args.clone());
            let asked = transport.ask(&host, &NodeRequest::Remove { job, args });
            asked.map_err(|failure| format!("{failure}; the work tree is still there"))?;
        }
        // The commits are in the target.
        _ = ralph_git::forget_node(&site.branches, &carry::reference(site, plan));
        Ok(())
    }
}
