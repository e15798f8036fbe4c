//! Hooks: commands of the user that ralph runs at points of a run.

use serde::{Deserialize, Serialize};

use super::{BackgroundResult, Text};
use crate::json::ReadJson;

/// The point of a run at which a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Hook {
    BeforeIteration,
    AfterIteration,
    OnTaskDone,
    OnBlocked,
    OnEnd,
}

impl Hook {
    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Hook::BeforeIteration => "beforeIteration",
            Hook::AfterIteration => "afterIteration",
            Hook::OnTaskDone => "onTaskDone",
            Hook::OnBlocked => "onBlocked",
            Hook::OnEnd => "onEnd",
        }
    }
}

/// The commands of the hooks, for `sh -c` in the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hooks {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_iteration: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_iteration: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_task_done: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_blocked: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_end: Option<String>,
    /// Maximum run time of a hook.
    pub timeout_ms: u64,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            before_iteration: None,
            after_iteration: None,
            on_task_done: None,
            on_blocked: None,
            on_end: None,
            timeout_ms: 60_000,
        }
    }
}

impl Hooks {
    pub fn command(&self, hook: Hook) -> Option<&String> {
        match hook {
            Hook::BeforeIteration => self.before_iteration.as_ref(),
            Hook::AfterIteration => self.after_iteration.as_ref(),
            Hook::OnTaskDone => self.on_task_done.as_ref(),
            Hook::OnBlocked => self.on_blocked.as_ref(),
            Hook::OnEnd => self.on_end.as_ref(),
        }
    }

    /// Whether no hook is set, so that settings need not record any.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Commands of the user at points of the run.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum HookEvent {
    /// A command of the user is due at a point of the run. It is run after those that were recorded before it.
    #[serde(rename = "hook-started")]
    Started {
        /// Number of the hook within the run, from 1.
        number: u32,
        hook: Hook,
        /// The iteration that it belongs to.
        iteration: u32,
        task: Option<Text>,
        /// The question that blocks the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Text>,
    },
    /// A hook has ended.
    #[serde(rename = "hook-ended")]
    Ended {
        number: u32,
        hook: Hook,
        iteration: u32,
        task: Option<Text>,
        result: BackgroundResult,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hook_has_the_command_that_the_settings_give_under_its_name() {
        for hook in [
            Hook::BeforeIteration,
            Hook::AfterIteration,
            Hook::OnTaskDone,
            Hook::OnBlocked,
            Hook::OnEnd,
        ] {
            let settings = serde_json::json!({ "timeoutMs": 1, hook.name(): "./notify" });
            let hooks: Hooks = serde_json::from_value(settings).expect("hooks");
            assert_eq!(hooks.command(hook).expect("a command"), "./notify");
            assert_eq!(Hooks::default().command(hook), None);
        }
    }
}
