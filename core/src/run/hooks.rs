//! The hooks of a run.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Hook, HookEvent, Text};

/// The hooks that were started, and those that still run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookRuns {
    /// Number of hooks that were started.
    pub started: u32,
    /// The started hooks that have not ended, in order. They run one after the other.
    pub running: Vec<RunningHook>,
}

/// A hook that runs or waits for those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningHook {
    pub number: u32,
    pub hook: Hook,
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
}

impl HookRuns {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Hook(HookEvent::Started {
                number,
                hook,
                iteration,
                task,
                ..
            }) => {
                self.started = *number;
                self.running.push(RunningHook {
                    number: *number,
                    hook: *hook,
                    iteration: *iteration,
                    task: task.clone(),
                });
            }
            Event::Hook(HookEvent::Ended { number, .. }) => self.running.retain(|running| running.number != *number),
            _ => {}
        }
    }
}
