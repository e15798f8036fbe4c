//! The current activity of the agent.

use serde::{Deserialize, Serialize};

use crate::event::{AgentSignal, clip};

/// Maximum size of a tool's arguments, in bytes.
const INPUT_BYTES: usize = 200;

/// The tool that the agent is using; of several at once, the one that started last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn started(call: &str, input: &str) -> AgentSignal {
        AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: "Bash".to_owned(),
            input: input.to_owned(),
        }
    }

    fn ended(call: &str) -> AgentSignal {
        AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: "Bash".to_owned(),
            ok: true,
            output: String::new(),
            duration_ms: None,
        }
    }

    #[test]
    fn of_several_tools_the_one_that_started_last_is_shown_until_it_ends() {
        let mut current = None;
        for (signal, shown) in [
            (started("1", "ls"), Some("1")),
            (started("2", "make"), Some("2")),
            (ended("1"), Some("2")),
            (AgentSignal::Said { text: String::new() }, Some("2")),
            (ended("2"), None),
        ] {
            follow(&mut current, 70, &signal);
            assert_eq!(current.as_ref().map(|tool| tool.call.as_str()), shown, "{signal:?}");
        }
    }

    #[test]
    fn long_arguments_are_cut() {
        let mut current = None;
        follow(&mut current, 70, &started("1", &"x".repeat(5_000)));
        let tool = current.unwrap();
        assert!(
            tool.input.starts_with("xxx") && tool.input.len() <= INPUT_BYTES,
            "{}",
            tool.input
        );
        assert_eq!((tool.name.as_str(), tool.started_ms), ("Bash", 70));
    }
}
