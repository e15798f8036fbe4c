//! What a plan's text came to: its tasks, and what is wrong in their settings.

use ralph_core::event::{PlanSnapshot, PlanTask};
use ralph_text::Position;

/// Something in the settings of a task that is none. The task itself is as good as any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMistake {
    /// Its place among the tasks of the plan.
    pub task: usize,
    pub position: Position,
    /// A clause with what to write instead.
    pub what: String,
}

/// A plan as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    pub plan: PlanSnapshot,
    pub mistakes: Vec<TaskMistake>,
    /// Where the settings of a task are, for each task that has any, in the order of the plan.
    pub places: Vec<(usize, Position)>,
}

/// The tasks of one kind of plan, before they are bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    pub(super) tasks: Vec<PlanTask>,
    pub(super) mistakes: Vec<TaskMistake>,
    pub(super) places: Vec<(usize, Position)>,
}
