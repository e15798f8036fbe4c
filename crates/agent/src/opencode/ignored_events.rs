//! Filters events of the server that are ignored: duplicates, and events without new information. Pure.

use std::collections::{BTreeSet, VecDeque};

use ralph_core::event::AgentSignal;

use crate::dialect::one_line;

use super::wire::Todo;

/// Most events that are remembered to detect duplicates.
const EVENTS_CAP: usize = 512;

/// The ids of the last events.
#[derive(Debug, Default)]
pub(super) struct RecentEvents {
    order: VecDeque<String>,
    known: BTreeSet<String>,
}

impl RecentEvents {
    /// Whether an event is new. One that was seen too long ago counts as new again.
    pub(super) fn is_new(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > EVENTS_CAP
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// Whether an event of a session only repeats other events.
pub(super) fn is_ignored(name: &str) -> bool {
    // These events repeat others for a different client.
    name.starts_with("session.next.")
        || matches!(
            name,
            "session.updated"
                | "session.diff"
                | "session.compacted"
                | "session.deleted"
                | "message.removed"
                | "message.part.removed"
                | "permission.v2.asked"
                | "permission.v2.replied"
                | "question.v2.asked"
                | "question.v2.replied"
                | "question.v2.rejected"
                | "command.executed"
        )
}

/// The progress of the agent's own to-do list, as one line.
pub(super) fn progress_of(todos: &[Todo]) -> Option<AgentSignal> {
    let done = todos.iter().filter(|todo| todo.status == "completed").count();
    let current = todos.iter().find(|todo| todo.status == "in_progress");
    let current = current.map(|todo| format!(": {}", one_line(&todo.content)));
    (!todos.is_empty()).then(|| AgentSignal::Noted {
        text: format!("{done} of {} steps done{}", todos.len(), current.unwrap_or_default()),
    })
}
