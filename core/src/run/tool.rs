//! What the agent is doing.

use serde::{Deserialize, Serialize};

use crate::event::{AgentSignal, clip};

/// Most bytes of what a tool was called with.
const INPUT_BYTES: usize = 200;

/// What the agent does, as far as the records say: of many tools at once, the one that began last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub call: String,
    pub name: String,
    /// The beginning of its arguments.
    pub input: String,
    pub started_ms: u64,
}

/// Takes in what the agent reports; `current` is what it is doing.
pub(super) fn follow(current: &mut Option<Tool>, at_ms: u64, signal: &AgentSignal) {
    match signal {
        AgentSignal::ToolStarted { call, tool, input } => {
            *current = Some(Tool {
                call: call.clone(),
                name: tool.clone(),
                input: clip(input, INPUT_BYTES),
                started_ms: at_ms,
            });
        }
        AgentSignal::ToolEnded { call, .. } => {
            current.take_if(|tool| tool.call == *call);
        }
        _ => {}
    }
}
