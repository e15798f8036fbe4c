//! The part of a plan's latest run that its preview shows.

use ralph_core::run::{GoalStatus, Iteration, RunView};
use ralph_text::one_line;

use super::PlanRuns;

/// Maximum numbers of tasks and iterations that are kept.
const TASKS: usize = 200;
const ITERATIONS: usize = 8;

/// The latest run of a plan in short.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPreview {
    pub tasks: Vec<PreviewedTask>,
    pub goals: Vec<GoalStatus>,
    /// The latest iterations, oldest first.
    pub iterations: Vec<Iteration>,
    /// The last line of the agent's messages.
    pub said: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewedTask {
    pub text: String,
    pub depth: u8,
    pub done: bool,
    /// Whether the agent works on it.
    pub current: bool,
}

impl PlanPreview {
    /// Creates the preview of a plan; `is_live` tells whether its run goes on.
    pub(super) fn new(runs: &PlanRuns, is_live: bool) -> PlanPreview {
        let view = &runs.view;
        let current = Some(view).filter(|_| is_live).and_then(RunView::task);
        let tasks = view.plan.tasks.iter().take(TASKS).map(|task| PreviewedTask {
            text: one_line(&task.text),
            depth: task.depth,
            done: task.done,
            current: current.is_some_and(|current| current == task),
        });
        let rows = &view.iterations.rows;
        PlanPreview {
            tasks: tasks.collect(),
            goals: view.goals.clone(),
            iterations: rows
                .iter()
                .skip(rows.len().saturating_sub(ITERATIONS))
                .cloned()
                .collect(),
            said: runs.said.clone().filter(|_| is_live),
        }
    }
}
