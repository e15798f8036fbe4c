//! The state of the looks at the files of earlier iterations.

use ralph_core::event::Checkpoint;

use super::goals::GoalRun;

/// The looks at the files of earlier iterations. Dropping it ends the running one.
#[derive(Debug, Default)]
pub(super) struct EarlyChecks {
    pub(super) running: Option<(GoalRun, IterationFiles)>,
    /// The files to look at next.
    pub(super) next: Option<IterationFiles>,
    /// The tree that was looked at last.
    pub(super) seen: Option<String>,
}

/// The files that an iteration left.
#[derive(Debug, Clone)]
pub(super) struct IterationFiles {
    pub(super) iteration: u32,
    pub(super) checkpoint: Checkpoint,
}

impl EarlyChecks {
    /// Ends the looks: the goals are run for a claim.
    pub(super) fn end(&mut self) {
        (self.running, self.next) = (None, None);
    }

    /// Ends a running look so that the goals can be run for another purpose; it is repeated after the next iteration.
    pub(super) fn yield_goals(&mut self) {
        if let Some((_, files)) = self.running.take() {
            self.next.get_or_insert(files);
        }
    }
}
