//! An agent's own list of what it is going to do. Pure.
//!
//! Some agents write it with a tool, others tell it beside their tools and all of it each time: those are shown as the former are.

use ralph_core::event::AgentSignal;
use serde_json::{Value, json};

use super::calls::short_input;

/// The list as it was told last.
#[derive(Debug, Default)]
pub(crate) struct Todos {
    told: Value,
    times: u32,
}

impl Todos {
    /// Whether `todos` are others than those that were told.
    pub(crate) fn are_new(&self, todos: &Value) -> bool {
        self.told != *todos
    }

    /// Tells `todos`, objects with `content` and `status`, as a use of a tool; nothing if they are the same as before.
    pub(crate) fn tell(&mut self, todos: Value, out: &mut Vec<AgentSignal>) {
        if !self.are_new(&todos) {
            return;
        }
        self.told = todos;
        self.times += 1;
        let (call, tool) = (format!("plan-{}", self.times), "plan".to_owned());
        out.push(AgentSignal::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            input: short_input(&json!({"todos": self.told})),
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
