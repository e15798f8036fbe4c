//! An agent's own to-do list. Pure.
//!
//! Some agents write the list with a tool; others report the complete list outside of their tools with every change.
//! The latter is shown like the former.

use ralph_core::event::AgentSignal;
use serde_json::{Value, json};

use super::calls::short_input;

/// The most recently reported list.
#[derive(Debug, Default)]
pub(crate) struct TodoList {
    reported: Value,
    times: u32,
}

impl TodoList {
    /// Whether `todos` differ from the list reported last.
    pub(crate) fn are_new(&self, todos: &Value) -> bool {
        self.reported != *todos
    }

    /// Reports `todos`, objects with `content` and `status`, as a tool use; does nothing if they are unchanged.
    pub(crate) fn report(&mut self, todos: Value, out: &mut Vec<AgentSignal>) {
        if !self.are_new(&todos) {
            return;
        }
        self.reported = todos;
        self.times += 1;
        let (call, tool) = (format!("plan-{}", self.times), "plan".to_owned());
        out.push(AgentSignal::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            input: short_input(&json!({"todos": self.reported})),
        });
        out.push(AgentSignal::ToolEnded {
            call,
            tool,
            ok: true,
            output: String::new(),
            duration_ms: None,
        });
    }
}
