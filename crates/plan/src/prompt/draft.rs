//! The inputs of a prompt, and the prompt while it is written.

use ralph_core::event::PlanStep;

use crate::{PlanKind, StoryState, claims::promise_line};

use super::handover::Handover;

/// The inputs of a prompt besides the instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInput<'a> {
    /// The plan's path as the agent can use it, relative to the project.
    pub plan: &'a str,
    pub kind: PlanKind,
    /// How the stories of a `prd.json` say that they are done; `None` if none does so yet.
    pub story_state: Option<&'a StoryState>,
    /// Text of the task to work on; `None` if no task is open.
    pub task: Option<&'a str>,
    /// Line of the task in the plan; 0 if it is unknown.
    pub line: u32,
    /// The heading that the task is below.
    pub section: Option<&'a str>,
    /// Patterns of the files that the task may change; empty for all.
    pub only: &'a [String],
    pub steps: &'a [PlanStep],
    /// Whether a review sent the author back to a finished task. The findings are among the notices.
    pub sent_back: bool,
    /// Number of this iteration, from 1.
    pub iteration: u32,
    /// Number of done tasks.
    pub done: usize,
    /// Total number of tasks; 0 for a plan that only describes the work.
    pub total: usize,
    /// Whether open tasks were removed from the plan. They are among the notices.
    pub has_lost_tasks: bool,
    /// The token of the promise line.
    pub promise: &'a str,
    /// The user's messages for every iteration.
    pub standing: &'a [String],
    /// The user's messages for this iteration.
    pub once: &'a [String],
    /// ralph's notices about the previous iteration, such as why a claim was refused. Each is clipped to
    /// `TEXT_CAP_BYTES`.
    pub notices: &'a [String],
    /// Notices about background tasks.
    pub background: &'a [String],
    /// The handover from the previous session; `None` if it is left out.
    pub before: Option<&'a Handover>,
    pub confined: AgentConfinement,
    /// Whether the work tree has its stashes in common with those of other plans.
    pub shares_stashes: bool,
    /// Whether the agent has ralph's own tools.
    pub has_tools: bool,
}

/// How the agent is confined on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentConfinement {
    /// Not confined.
    No,
    /// Write access to few places.
    On,
    /// As `On`, and connections to few hosts only.
    Strict,
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedPrompt {
    pub text: String,
    /// Bytes of ralph's own words: everything but the user's template, task and messages, and the words of earlier
    /// sessions.
    pub overhead_bytes: usize,
}

/// The progress of the plan in words.
pub(super) fn progress(input: &PromptInput<'_>) -> String {
    if input.total == 0 {
        return "without a task list".to_owned();
    }
    format!("{} of {} tasks done", input.done, input.total)
}

/// A prompt in progress, which counts ralph's own words.
#[derive(Default)]
pub(super) struct Draft {
    pub prompt: RenderedPrompt,
}

impl Draft {
    pub(super) fn push_own(&mut self, text: &str) {
        self.prompt.text.push_str(text);
        self.prompt.overhead_bytes += text.len();
    }

    pub(super) fn push_user(&mut self, text: &str) {
        self.prompt.text.push_str(text);
    }

    pub(super) fn promise(&mut self, input: &PromptInput<'_>) {
        self.push_own(&promise_line(input.promise));
    }

    pub(super) fn end_line(&mut self) {
        if !self.prompt.text.is_empty() && !self.prompt.text.ends_with('\n') {
            self.push_own("\n");
        }
    }
}
