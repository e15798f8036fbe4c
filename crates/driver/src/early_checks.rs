//! Runs the goals on the files that an iteration left, in the room, while the run goes on.
//!
//! So a test that breaks is known after an iteration and not after the last one. One look runs at a time, at a low priority,
//! and the newest files are looked at next. When there are none, ralph searches the iterations that were skipped for the one
//! that broke a goal. Goals that are run for a claim, or for the agent, end a look.

use std::{sync::Arc, time::Duration};

use ralph_core::{
    event::{Goal, GoalResult, GoalsWhen},
    machine::Input,
    run::{Phase, RunView},
};

use super::{
    early::IterationFiles,
    goals::GoalRun,
    perform::fill_room,
    run::{Driver, DriverError},
    test_gate,
    tools::OffLoopResult,
};

/// Goals that took longer before the first iteration are run for claims alone.
const EARLY: Duration = Duration::from_secs(300);

impl Driver {
    /// Looks at the files of an iteration that has ended without running the goals.
    pub(super) fn check_early(&mut self, input: &Input) {
        let (Input::Settled { iteration, .. } | Input::Verified { iteration, .. }) = input else {
            return;
        };
        let state = self.state();
        let view = &state.view;
        let goes_on = matches!(
            view.phase,
            Phase::Preparing { .. } | Phase::Waiting { .. } | Phase::Paused
        );
        let Some(checkpoint) = state.internal.latest.clone() else {
            return;
        };
        if !goes_on || *iteration == 0 || !view.role.is_work() || view.settings.goals_when != GoalsWhen::Background {
            return;
        }
        if goals_of_plan(view).is_empty() || took(view) > EARLY {
            return;
        }
        let is_seen = self.checks.early.seen.as_ref() == Some(&checkpoint.tree);
        if !is_seen && !were_run(view, *iteration) {
            self.checks.early.seen = Some(checkpoint.tree.clone());
            self.checks.early.next = Some(IterationFiles {
                iteration: *iteration,
                checkpoint,
            });
        }
        self.look_early();
    }

    /// Starts the next look, unless one runs.
    fn look_early(&mut self) {
        if self.checks.early.running.is_some() {
            return;
        }
        let Some(state) = &self.state else {
            return;
        };
        let Some(files) = self.checks.early.take_next(&state.view) else {
            return;
        };
        let goals = goals_of_plan(&state.view);
        let first = state.internal.baseline.clone();
        let (parallel, jobs, found) = (
            self.checks.parallel,
            Arc::clone(&self.jobs),
            self.tools.calls.found_in.clone(),
        );
        let (statuses, at_start) = (state.view.goals.clone(), state.view.iterations.at_start.goals.clone());
        let breaks = move |result: &GoalResult| {
            let at_start = at_start.iter().find(|before| before.name == result.name);
            let status = statuses.iter().find(|status| status.name == result.name);
            status.is_some_and(|status| status.is_broken_by(result, at_start))
        };
        let mut context = self.execution_context();
        context.supervisor = context.supervisor.yielding();
        let (iteration, checkpoint) = (files.iteration, files.checkpoint.clone());
        let run = GoalRun::spawn(async move {
            let Ok(Some(room)) = fill_room(&jobs, &context, Some(checkpoint.clone()), false).await else {
                return;
            };
            let context = context.with_room(room);
            let files = [first, Some(checkpoint)];
            let look = || {
                let (goals, context, files) = (goals.clone(), context.clone(), files.clone());
                test_gate::look(goals, parallel, context, None, &jobs, files)
            };
            let mut results = look().await.results;
            // The agent uses the same machine, and perhaps the same ports.
            if results.iter().any(breaks) {
                results = look().await.results;
            }
            _ = found.send(OffLoopResult::Iteration { iteration, results }).await; // the run is over
        });
        self.checks.early.running = Some((run, files));
    }

    /// Records the results of a look, and starts the next one.
    pub(super) fn iteration_checked(&mut self, iteration: u32, results: Vec<GoalResult>) -> Result<(), DriverError> {
        let is_running = matches!(&self.checks.early.running, Some((_, files)) if files.iteration == iteration);
        if !is_running {
            return Ok(());
        }
        self.checks.early.running = None;
        self.advance(&Input::IterationChecked { iteration, results })?;
        self.look_early();
        Ok(())
    }
}

/// Returns the goals of the whole plan that agents may know.
fn goals_of_plan(view: &RunView) -> Vec<Goal> {
    let goals = view.settings.goals.iter();
    goals
        .filter(|goal| goal.sealed.is_none() && goal.task.is_none())
        .cloned()
        .collect()
}

/// The time that the goals took before the first iteration.
fn took(view: &RunView) -> Duration {
    let results = view.iterations.at_start.goals.iter();
    Duration::from_millis(results.map(|result| result.duration_ms).sum())
}

/// Whether the goals of the plan were run after an iteration.
fn were_run(view: &RunView, iteration: u32) -> bool {
    let row = view.iterations.numbered(iteration);
    row.is_some_and(|row| {
        goals_of_plan(view)
            .iter()
            .all(|goal| row.look.goal(&goal.name).is_some())
    })
}
