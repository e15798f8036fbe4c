//! What a batch and its jobs have to say to each other, whoever runs them.

use ralph_plan::batch::{Finding, JobNews};
use ralph_system::proc::{Child, Stop};

/// A job that was started.
pub(in crate::many) trait Running {
    /// Has it end.
    fn stop(&self, how: Stop);

    /// Leaves it to its engine, if it has one that outlives the batch.
    fn leave(&self) {
        self.stop(Stop::Graceful);
    }
}

impl Running for Child {
    fn stop(&self, how: Stop) {
        Child::stop(self, how);
    }
}

/// What is told of a job.
pub(in crate::many) enum News {
    Heard(JobNews),
    /// Nothing of it is left.
    Ended(Finding),
    /// It goes on without the batch.
    Left,
}
