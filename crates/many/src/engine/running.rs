//! The interface between a batch and its jobs, for every engine.

use ralph_plan::batch::{JobNews, TaskResult};
use ralph_system::proc::{Child, StopSpeed};

/// A started job.
pub(crate) trait RunningJob {
    /// Asks the job to end.
    fn stop(&self, how: StopSpeed);

    /// Stops following the job; an engine's job continues, a local one ends.
    fn leave(&self) {
        self.stop(StopSpeed::Graceful);
    }
}

impl RunningJob for Child {
    fn stop(&self, how: StopSpeed) {
        Child::stop(self, how);
    }
}

/// News about a job.
pub(crate) enum JobUpdate {
    Progress(JobNews),
    /// The job has ended.
    Ended(TaskResult),
    /// The job continues without the batch.
    Detached,
}
