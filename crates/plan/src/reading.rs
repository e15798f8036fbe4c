//! The result of parsing a plan: its tasks, and the mistakes in their settings.

use ralph_core::event::{PlanSnapshot, PlanTask};
use ralph_text::Position;

/// An invalid setting of a task. The task itself is still valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMistake {
    /// Index of the task in the plan.
    pub task: usize,
    pub position: Position,
    /// A clause with the correction.
    pub what: String,
}

/// A parsed plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedPlan {
    pub plan: PlanSnapshot,
    pub mistakes: Vec<TaskMistake>,
    /// The position of the settings of each task that has any, in the order of the plan, with the task's index.
    pub places: Vec<(usize, Position)>,
}

/// The tasks of a plan before their sizes are checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FoundTasks {
    pub(super) tasks: Vec<PlanTask>,
    pub(super) mistakes: Vec<TaskMistake>,
    pub(super) places: Vec<(usize, Position)>,
}
