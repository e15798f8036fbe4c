//! The state of the looks at the files of earlier iterations.

use std::collections::BTreeSet;

use ralph_core::{event::Checkpoint, run::RunView};

use super::goals::GoalRun;

/// The looks at the files of earlier iterations. Dropping it ends the running one.
#[derive(Debug, Default)]
pub(super) struct EarlyChecks {
    pub(super) running: Option<(GoalRun, IterationFiles)>,
    /// The files to look at next.
    pub(super) next: Option<IterationFiles>,
    /// The tree that was looked at last.
    pub(super) seen: Option<String>,
    /// The iterations whose files were looked at to find which one broke a goal.
    pub(super) sought: BTreeSet<u32>,
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
        if let Some((_, files)) = self.running.take() {
            self.sought.remove(&files.iteration);
        }
        self.next = None;
    }

    /// Ends a running look so that the goals can be run for another purpose; it is repeated after the next iteration.
    pub(super) fn yield_goals(&mut self) {
        if let Some((_, files)) = self.running.take() {
            self.next.get_or_insert(files);
        }
    }

    /// The files to look at next: the newest, or else those in the middle of the iterations of which one broke a goal.
    pub(super) fn take_next(&mut self, view: &RunView) -> Option<IterationFiles> {
        self.next.take().or_else(|| {
            let files = view.goals.iter().find_map(|goal| {
                let suspects = goal.passed_with.and(goal.suspects())?;
                let suspects: Vec<u32> = (suspects.first..suspects.last)
                    .filter(|number| !self.sought.contains(number))
                    .collect();
                let iteration = *suspects.get(suspects.len() / 2)?;
                let row = view.iterations.numbered(iteration)?;
                let checkpoint = row.after.clone()?;
                Some(IterationFiles { iteration, checkpoint })
            })?;
            self.sought.insert(files.iteration);
            Some(files)
        })
    }
}
