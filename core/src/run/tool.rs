//! The current activity of the agent.

use serde::{Deserialize, Serialize};

use crate::event::{AgentSignal, clip};

/// Maximum size of a tool's arguments, in bytes.
const INPUT_BYTES: usize = 200;

/// The tool that the agent is using; of several at once, the one that started last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub call: String,
    pub name: String,
    /// The beginning of the arguments.
    pub input: String,
    pub started_ms: u64,
}

/// Applies a signal of the agent to its current activity.
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
