//! What was reported of one part of a message. Pure; a part only ever moves forward.

use ralph_core::event::{AgentSignal, clip};

use crate::dialect::{TEXT_CAP_BYTES, file_change, tail, tool_ended, tool_started};

use super::wire::{Part, ToolStatus};

/// What is remembered of a part.
#[derive(Debug)]
pub(super) enum PartState {
    Text(TextPart),
    Tool(ToolPart),
    /// Reported at once, as a whole.
    Done,
}

/// A text that grows until it is whole.
#[derive(Debug)]
pub(super) struct TextPart {
    is_thought: bool,
    /// As far as it is known; at most [`TEXT_CAP_BYTES`] and what came with the last event.
    text: String,
    /// Bytes of it that were reported.
    reported: usize,
    whole: bool,
    /// A piece of it may have been missed.
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

    /// Takes the state that the part is in.
    pub(super) fn update(&mut self, part: &Part) {
        if self.whole {
            return;
        }
        // A text without times was never in progress.
        self.whole = part.time.end.is_some() || part.time.start.is_none();
        if self.whole || part.text.len() >= self.text.len() {
            self.text.clone_from(&part.text);
            self.doubtful = false;
        }
    }

    /// Takes more of it, which is shown at once unless it may be there already.
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

    /// What follows may be in the text already.
    pub(super) fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// Reports what is there, unless a piece of it may be missing or doubled.
    pub(super) fn report_so_far(&mut self, out: &mut Vec<AgentSignal>) {
        if !self.doubtful {
            self.report(out);
        }
    }

    /// Reports what was not reported before.
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
                text: tail(rest, TEXT_CAP_BYTES),
            },
        });
    }
}

/// The use of a tool.
#[derive(Debug, Default)]
pub(super) struct ToolPart {
    started: bool,
    ended: bool,
}

impl ToolPart {
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the state that the use is in, and tells whether the tool has just done its work.
    pub(super) fn update(&mut self, part: &Part, out: &mut Vec<AgentSignal>) -> bool {
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
