//! A plan as it was read.

use serde::{Deserialize, Serialize};

/// A plan's tasks in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanSnapshot {
    pub tasks: Vec<PlanTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    /// The task's text without marker and box.
    pub text: String,
    pub done: bool,
    /// Line in the plan file, from 1.
    pub line: u32,
    /// Nesting, 0 for a top-level task.
    pub depth: u8,
}

impl PlanSnapshot {
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    pub fn open(&self) -> usize {
        self.tasks.len() - self.done()
    }

    /// The first open task, the one an iteration works on.
    ///
    /// A parent whose children are open is passed over in favour of the first of them.
    pub fn current(&self) -> Option<&PlanTask> {
        let first = self.tasks.iter().position(|task| !task.done)?;
        let mut current = &self.tasks[first];
        for task in &self.tasks[first + 1..] {
            if task.depth <= current.depth {
                break;
            }
            if !task.done {
                current = task;
            }
        }
        Some(current)
    }
}
