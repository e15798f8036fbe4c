//! The contents of a plan.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A plan's tasks in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct PlanSnapshot {
    pub tasks: Vec<PlanTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct PlanTask {
    /// The task's text without marker and box.
    pub text: String,
    pub done: bool,
    /// Line in the plan file, from 1.
    pub line: u32,
    /// Nesting, 0 for a top-level task.
    pub depth: u8,
    /// The last heading between this task and the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    #[serde(default, skip_serializing_if = "TaskSettings::is_empty")]
    pub settings: TaskSettings,
}

/// Settings of a task that override those of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct TaskSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the task permits changes to tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests_may_change: bool,
    /// The command that has to pass before the task's tick counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

impl TaskSettings {
    pub fn is_empty(&self) -> bool {
        *self == TaskSettings::default()
    }

    /// Whether the task asks for an agent or a model.
    pub fn names_worker(&self) -> bool {
        self.adapter.is_some() || self.model.is_some()
    }

    /// Takes what is not set from the settings of the section around. A model belongs to the adapter beside it.
    pub fn inherit(&mut self, section: &TaskSettings) {
        if self.adapter.is_none() {
            self.model = self.model.take().or_else(|| section.model.clone());
            self.adapter.clone_from(&section.adapter);
        }
        self.tests_may_change |= section.tests_may_change;
        self.check = self.check.take().or_else(|| section.check.clone());
    }
}

impl PlanSnapshot {
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    pub fn open(&self) -> usize {
        self.tasks.len() - self.done()
    }

    /// Whether there are tasks and all are done. A plan without check-boxes is never complete.
    pub fn is_complete(&self) -> bool {
        !self.tasks.is_empty() && self.open() == 0
    }

    /// Removes from `missing` the tasks that reappeared: one entry for each additional occurrence compared with
    /// `before`.
    pub fn take_back(&self, before: &PlanSnapshot, missing: &mut Vec<String>) {
        let count = |plan: &PlanSnapshot, text: &str| plan.tasks.iter().filter(|task| task.text == text).count();
        let mut back = HashMap::new();
        missing.retain(|text| {
            let left = back
                .entry(text.clone())
                .or_insert_with(|| count(self, text).saturating_sub(count(before, text)));
            let is_back = *left > 0;
            *left = left.saturating_sub(1);
            !is_back
        });
    }

    /// The first open task, which an iteration works on.
    ///
    /// If that task has open children, the innermost first one is returned instead.
    pub fn current(&self) -> Option<&PlanTask> {
        self.current_except(&[])
    }

    /// The first open task whose text is not among `set_aside`.
    pub fn current_except(&self, set_aside: &[String]) -> Option<&PlanTask> {
        let open = |task: &PlanTask| !task.done && !set_aside.contains(&task.text);
        let first = self.tasks.iter().position(open)?;
        let mut current = &self.tasks[first];
        for task in &self.tasks[first + 1..] {
            if task.depth <= current.depth {
                break;
            }
            if open(task) {
                current = task;
            }
        }
        Some(current)
    }
}
