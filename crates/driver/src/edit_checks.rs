//! Runs the goals for edits while the agent works.

use std::{pin::pin, sync::Arc};

use ralph_core::{
    event::Goal,
    machine::{Input, checks_edits},
    run::Phase,
};
use ralph_system::diagnostics::inherited;
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    edits::{EditLookResult, QUIET},
    goals::{GoalRun, run_all},
    run::{Driver, DriverError},
    tools::OffLoopResult,
};

impl Driver {
    /// Begins to watch for the edits of a session that starts.
    pub(super) fn watch_edits(&mut self) {
        let tree = *self.jobs.tree.lock();
        let is_blind = self.agent().last_line_claims;
        if checks_edits(self.state()) {
            self.checks.edits.begin(tree, is_blind);
        }
    }

    /// Passes an input to the watch for edits, and ends the watch if edits are no longer checked.
    pub(super) fn pass_to_edit_watch(&mut self, input: &Input) {
        if !checks_edits(self.state()) {
            self.checks.edits.end();
        } else if let Input::Agent { signal, .. } = input {
            self.checks.edits.note_signal(signal, Instant::now());
        }
    }

    /// Checks whether the tree has changed, and runs the goals for edits if it has.
    pub(super) fn check_edits(&mut self) {
        if self.tools.calls.check.is_some() {
            return self.checks.edits.put_off(Instant::now(), QUIET);
        }
        let Phase::Running { iteration, .. } = self.state().view.phase else {
            return;
        };
        let goals = self.state().view.settings.goals.iter();
        let goals: Vec<Goal> = goals
            .filter(|goal| goal.on_edit && goal.sealed.is_none())
            .cloned()
            .collect();
        let (look, is_edit) = self.checks.edits.next_look();
        let (known, parallel, context) = (self.checks.edits.tree, self.checks.parallel, self.execution_context());
        let (jobs, found) = (Arc::clone(&self.jobs), self.tools.calls.found_in.clone());
        let tree = move || {
            let jobs = Arc::clone(&jobs);
            let look = inherited(move || jobs.look_at_tree());
            async { spawn_blocking(look).await.ok().flatten() }
        };
        self.checks.edits.set_look(GoalRun::spawn(async move {
            let before = tree().await;
            let has_changed = match (known, before) {
                (Some(known), Some(before)) => known != before,
                (None, Some(_)) => true,
                (_, None) => is_edit,
            };
            let (mut results, mut after) = (Vec::new(), before);
            if has_changed {
                results = pin!(run_all(goals, parallel, Arc::new(context))).await;
                after = tree().await;
            }
            let seen = EditLookResult {
                look,
                iteration,
                before,
                after,
                results,
            };
            _ = found.send(OffLoopResult::Edits(seen)).await; // the run is over
        }));
    }

    pub(super) fn edits_seen(&mut self, seen: EditLookResult) -> Result<(), DriverError> {
        if self.checks.edits.take(&seen, Instant::now()) && !seen.results.is_empty() {
            self.advance(&Input::EditsChecked {
                iteration: seen.iteration,
                results: seen.results,
            })?;
        }
        Ok(())
    }
}
