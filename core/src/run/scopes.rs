//! The changes of tasks outside of their scopes: the fold of their records.
//!
//! A tick of such a task does not count until the files are as they were before the work on it, or the user has accepted
//! them.

use std::collections::BTreeSet;

use super::RunView;
use crate::event::{
    Ask, AskId, AskKind, Checkpoint, Event, IterationEvent, Missing, PermissionRequest, TaskEvent, Text, ToolKind,
    has_grown,
};

/// The changes of a task outside of its scope.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskChanges {
    /// The text of the task when the run began.
    pub task: String,
    /// The tree before the first iteration that worked on it.
    pub since: Option<Checkpoint>,
    pub outside: Vec<Text>,
    /// Number of further files.
    pub more: u64,
    /// The iteration after which its tick did not count.
    refused: Option<u32>,
    accepted: BTreeSet<Text>,
    accepted_more: u64,
}

impl TaskChanges {
    /// Whether a tick of the task does not count.
    pub fn holds_tick(&self) -> bool {
        !self.accepts(self.outside.iter().map(Text::as_str), self.more)
    }

    /// Whether the user has accepted these files and so many more, if there are any.
    pub fn accepts<'f>(&self, files: impl IntoIterator<Item = &'f str>, more: u64) -> bool {
        more <= self.accepted_more && files.into_iter().all(|file| self.accepted.contains(&Text::from(file)))
    }

    fn missing(&self) -> Missing {
        Missing::OutOfScope {
            task: self.task.as_str().into(),
            files: self.outside.clone().into(),
            more: self.more,
        }
    }
}

/// The changes of all open tasks that have a scope and were worked on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scopes {
    tasks: Vec<TaskChanges>,
    /// The tasks that were open when the latest iteration began: boxes may be toggled while it runs.
    pub open: Vec<String>,
}

impl Scopes {
    pub fn iter(&self) -> impl Iterator<Item = &TaskChanges> {
        self.tasks.iter()
    }

    /// The tasks whose ticks do not count, by their texts when the run began.
    pub fn held(&self) -> BTreeSet<String> {
        let held = self.tasks.iter().filter(|changes| changes.holds_tick());
        held.map(|changes| changes.task.clone()).collect()
    }

    /// The reasons why ticks of an iteration do not count.
    pub(crate) fn reasons(&self, iteration: u32) -> impl Iterator<Item = Missing> {
        let refused = self
            .tasks
            .iter()
            .filter(move |changes| changes.refused == Some(iteration));
        refused.map(TaskChanges::missing)
    }

    /// Applies an event; `view` is the state before it.
    pub(crate) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::Iteration(IterationEvent::Started {
                task: Some(task),
                checkpoint,
                role,
                ..
            }) if role.is_work() => {
                let tasks = &view.plan.tasks;
                let has_scopes =
                    !view.settings.scopes.is_empty() || tasks.iter().any(|task| !task.settings.only.is_empty());
                let open = tasks.iter().filter(|task| has_scopes && !task.done);
                self.open = open.map(|task| task.text.clone()).collect();
                self.tasks.retain(|known| {
                    let mut open = view.plan.tasks.iter().filter(|task| !task.done);
                    open.any(|task| task.text == known.task || has_grown(&known.task, &task.text))
                });
                if let Some(scoped) = view.plan.scope_of(&view.settings.scopes, task) {
                    self.entry(scoped.task, checkpoint.as_ref());
                }
            }
            Event::Task(TaskEvent::ScopeChecked {
                iteration,
                task,
                outside,
                more,
                ticked,
                since,
            }) => {
                let latest = view.iterations.latest().and_then(|latest| latest.before.as_ref());
                let changes = self.entry(task.clone(), since.as_ref().or(latest));
                changes.outside = outside.to_vec();
                changes.more = *more;
                changes.refused = (*ticked && changes.holds_tick()).then_some(*iteration);
            }
            Event::Task(TaskEvent::ScopeConfirmed { files, more, .. }) => {
                for changes in &mut self.tasks {
                    changes.accepted.extend(files.iter().cloned());
                    changes.accepted_more = changes.accepted_more.max(*more);
                }
            }
            _ => {}
        }
    }

    fn entry(&mut self, task: String, since: Option<&Checkpoint>) -> &mut TaskChanges {
        let known = self.tasks.iter().position(|changes| changes.task == task);
        let index = known.unwrap_or_else(|| {
            self.tasks.push(TaskChanges {
                task,
                since: since.cloned(),
                ..TaskChanges::default()
            });
            self.tasks.len() - 1
        });
        &mut self.tasks[index]
    }
}

/// The question whether changes outside of the scopes of tasks are accepted; `None` if it is asked already.
pub(crate) fn scope_question(view: &RunView, iteration: u32, scopes: &Scopes) -> Option<Ask> {
    let refused = scopes.iter().filter(|changes| changes.refused == Some(iteration));
    let refused: Vec<&TaskChanges> = refused.collect();
    let files: BTreeSet<&Text> = refused.iter().flat_map(|changes| &changes.outside).collect();
    let files: Vec<String> = files.into_iter().map(ToString::to_string).collect();
    let tasks: Vec<String> = refused.iter().map(|changes| format!("\"{}\"", changes.task)).collect();
    if files.is_empty()
        || view
            .permissions
            .about_scope()
            .is_some_and(|asked| asked.request.paths == files)
    {
        return None;
    }
    let more = refused.iter().map(|changes| changes.more).max().unwrap_or_default();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let title = format!(
        "accept changes outside of the scope of {}? {}{more}",
        tasks.join(" and "),
        files.join(", ")
    );
    let request = PermissionRequest {
        paths: files,
        ..PermissionRequest::new(AskId(String::new()), "scope", ToolKind::Other, title)
    };
    let number = view.permissions.asked + 1;
    Some(Ask {
        kind: AskKind::Scope,
        ..Ask::requested(number, iteration, request)
    })
}
