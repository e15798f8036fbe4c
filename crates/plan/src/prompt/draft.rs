//! What a prompt is made of, and the prompt in the making.

use crate::{PlanKind, claims::promise_line};

use super::handover::Handover;

/// What a prompt is made of besides the instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInput<'a> {
    /// The plan's path as the agent can use it, relative to the project.
    pub plan: &'a str,
    pub kind: PlanKind,
    /// Text of the task to work on; none when the plan has no open one.
    pub task: Option<&'a str>,
    /// The task was finished, and a review sent the author back to it: its findings are among the notices.
    pub sent_back: bool,
    /// Number of this iteration, from 1.
    pub iteration: u32,
    /// Tasks that are done.
    pub done: usize,
    /// Tasks in all; none in a plan that only describes what is to be done.
    pub total: usize,
    /// The token of the promise line.
    pub promise: &'a str,
    /// The user's messages that hold for every iteration.
    pub standing: &'a [String],
    /// The user's messages for this iteration.
    pub once: &'a [String],
    /// What ralph has to say about the iteration before: why a claim was refused, how it was cut off. Each is clipped to
    /// `TEXT_CAP_BYTES`.
    pub notices: &'a [String],
    /// What there is to say of background tasks.
    pub background: &'a [String],
    /// What the session before this one hands over; none where it is not told.
    pub before: Option<&'a Handover>,
    pub confined: Confined,
    /// It has ralph's own tools.
    pub has_tools: bool,
}

/// What an agent can do on the machine, beside what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confined {
    /// All that its user can.
    No,
    /// It writes to few places.
    On,
    /// It connects to few hosts besides.
    Strict,
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub text: String,
    /// Bytes of the text that are ralph's words: all but the user's template, task and messages, and what an earlier
    /// session said.
    pub overhead_bytes: usize,
}

/// How far the plan is, in words.
pub(super) fn progress(input: &PromptInput<'_>) -> String {
    if input.total == 0 {
        return "without a list of tasks".to_owned();
    }
    format!("{} of {} tasks done", input.done, input.total)
}

/// A prompt in the making, which counts ralph's words.
#[derive(Default)]
pub(super) struct Draft {
    pub prompt: Prompt,
}

impl Draft {
    pub(super) fn ours(&mut self, text: &str) {
        self.prompt.text.push_str(text);
        self.prompt.overhead_bytes += text.len();
    }

    pub(super) fn users(&mut self, text: &str) {
        self.prompt.text.push_str(text);
    }

    pub(super) fn promise(&mut self, input: &PromptInput<'_>) {
        self.ours(&promise_line(input.promise));
    }

    pub(super) fn end_line(&mut self) {
        if !self.prompt.text.is_empty() && !self.prompt.text.ends_with('\n') {
            self.ours("\n");
        }
    }
}
