//! The rows of the plan: headings and tasks, without folded ones. Pure.

use std::{collections::BTreeSet, ops::Range};

use ralph_core::event::{PlanSnapshot, PlanTask};

/// A row of the plan. Tasks are given by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanRow {
    /// A heading and the range of tasks below it.
    Heading {
        tasks: Range<usize>,
        is_folded: bool,
    },
    Task(usize),
}

impl PlanRow {
    /// The task selected by this row.
    pub fn task(&self) -> usize {
        match self {
            PlanRow::Heading { tasks, .. } => tasks.start,
            PlanRow::Task(at) => *at,
        }
    }

    /// Whether the row represents a task: the task's own row, or a folded heading above it.
    pub fn stands_for(&self, task: usize) -> bool {
        match self {
            PlanRow::Heading { tasks, is_folded } => *is_folded && tasks.contains(&task),
            PlanRow::Task(at) => *at == task,
        }
    }
}

/// Whether the plan has sections. A single heading above all tasks counts as the title.
pub fn has_sections(plan: &PlanSnapshot) -> bool {
    plan.tasks.iter().skip(1).any(|task| task.heading.is_some())
}

/// The heading above a task.
pub fn heading_of(plan: &PlanSnapshot, task: usize) -> Option<&str> {
    let mut upwards = plan.tasks.get(..=task)?.iter().rev();
    upwards.find_map(|task| task.heading.as_deref())
}

/// The rows of a plan, without tasks below the headings in `folded`.
pub(super) fn outline(plan: &PlanSnapshot, folded: &BTreeSet<String>) -> Vec<PlanRow> {
    if !has_sections(plan) {
        return flat(plan);
    }
    let mut rows = Vec::with_capacity(plan.tasks.len());
    let mut first = 0;
    for section in plan.tasks.chunk_by(|_, next: &PlanTask| next.heading.is_none()) {
        let tasks = first..first + section.len();
        first = tasks.end;
        let is_folded = section[0].heading.as_ref().is_some_and(|name| folded.contains(name));
        if section[0].heading.is_some() {
            rows.push(PlanRow::Heading {
                tasks: tasks.clone(),
                is_folded,
            });
        }
        if !is_folded {
            rows.extend(tasks.map(PlanRow::Task));
        }
    }
    rows
}

/// The rows of a plan without headings, for a small area.
pub(super) fn flat(plan: &PlanSnapshot) -> Vec<PlanRow> {
    (0..plan.tasks.len()).map(PlanRow::Task).collect()
}
