//! The reported state of one part of a message. Pure; a part only moves forward.

use ralph_core::event::{AgentSignal, clip, clip_start};

use crate::dialect::{TEXT_CAP_BYTES, file_change, tool_ended, tool_started};

use super::wire::{MessagePart, ToolStatus};

/// The known state of a part.
#[derive(Debug)]
pub(super) enum PartState {
    Text(TextPart),
    Tool(ToolPart),
    /// A part that was reported at once, as a whole.
    Done,
}

/// A text that grows until it is complete.
#[derive(Debug)]
pub(super) struct TextPart {
    is_thought: bool,
    /// The text so far; at most [`TEXT_CAP_BYTES`] plus the last event.
    text: String,
    /// The number of bytes that were reported.
    reported: usize,
    whole: bool,
    /// Whether a piece may have been missed.
    doubtful: bool,
}

impl TextPart {
    pub(super) fn new(is_thought: bool) -> Self {
        Self {
            is_thought,
            text: String::new(),
            reported: 0,
            whole: false,
            doubtful: false,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Takes a new state of the part.
    pub(super) fn update(&mut self, part: &MessagePart) {
        if self.whole {
            return;
        }
        // A text without timestamps was never in progress.
        self.whole = part.time.end.is_some() || part.time.start.is_none();
        if self.whole || part.text.len() >= self.text.len() {
            self.text.clone_from(&part.text);
            self.doubtful = false;
        }
    }

    /// Appends a piece. It is returned for display, unless the text may already contain it.
    pub(super) fn grow(&mut self, more: &str) -> Option<AgentSignal> {
        if self.whole || self.text.len() > TEXT_CAP_BYTES {
            return None;
        }
        self.text.push_str(more);
        let text = more.to_owned();
        (!self.doubtful && !text.is_empty()).then_some(match self.is_thought {
            true => AgentSignal::ThoughtDelta { text },
            false => AgentSignal::TextDelta { text },
        })
    }

    /// Marks the text as doubtful: the next pieces may already be in it.
    pub(super) fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// Reports the text so far, unless a piece may be missing or duplicated.
    pub(super) fn report_so_far(&mut self, out: &mut Vec<AgentSignal>) {
        if !self.doubtful {
            self.report(out);
        }
    }

    /// Reports the part of the text that was not reported before.
    pub(super) fn report(&mut self, out: &mut Vec<AgentSignal>) {
        let rest = self.text.get(self.reported..).unwrap_or_default();
        self.reported = self.text.len();
        if rest.trim().is_empty() {
            return;
        }
        out.push(match self.is_thought {
            true => AgentSignal::Thought {
                text: clip(rest, TEXT_CAP_BYTES),
            },
            false => AgentSignal::Said {
                text: clip_start(rest, TEXT_CAP_BYTES),
            },
        });
    }
}

/// A tool use.
#[derive(Debug, Default)]
pub(super) struct ToolPart {
    started: bool,
    ended: bool,
}

impl ToolPart {
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes a new state of the tool use, and returns whether the tool has just completed.
    pub(super) fn update(&mut self, part: &MessagePart, out: &mut Vec<AgentSignal>) -> bool {
        let ends = matches!(part.tool_status(), ToolStatus::Completed | ToolStatus::Failed);
        if self.ended || !(ends || part.tool_status() == ToolStatus::Running) {
            return false;
        }
        if !std::mem::replace(&mut self.started, true) {
            out.push(tool_started(&part.raw));
        }
        if !ends {
            return false;
        }
        self.ended = true;
        out.push(tool_ended(&part.raw));
        let done = part.tool_status() == ToolStatus::Completed;
        out.extend(file_change(&part.raw).filter(|_| done));
        done
    }
}
