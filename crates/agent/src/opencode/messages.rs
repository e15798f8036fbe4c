//! The messages of a turn: their speakers, the last answer, the reason of its end. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::event::clip_start;

use super::wire::{MessageInfo, MessagePart, MessageRole, PartKind};
use crate::dialect::TEXT_CAP_BYTES;

/// Messages by id; ids grow with time.
#[derive(Debug, Default)]
pub(super) struct TurnMessages {
    all: BTreeMap<String, TurnMessage>,
    /// Messages with text of the user, as opposed to text that opencode adds in the user's name.
    prompts: BTreeSet<String>,
}

#[derive(Debug)]
struct TurnMessage {
    speaker: Speaker,
    /// The reason why the model stopped; `None` before that.
    reason: Option<String>,
    /// Complete texts by part, oldest first. Kept only for the newest message with text.
    texts: BTreeMap<String, String>,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
    /// opencode itself: the summary of a session that has become too long.
    Other,
}

impl TurnMessages {
    /// Updates the state of a message, and returns whether the assistant has just finished it.
    pub(super) fn update(&mut self, info: MessageInfo) -> bool {
        let speaker = match info.role {
            MessageRole::User => Speaker::User,
            MessageRole::Assistant if info.is_said() => Speaker::Assistant,
            MessageRole::Assistant | MessageRole::Other => Speaker::Other,
        };
        let message = self.all.entry(info.id).or_insert_with(|| TurnMessage {
            speaker,
            reason: None,
            texts: BTreeMap::new(),
        });
        message.speaker = speaker;
        let ends = info.finish.is_some() && message.reason.is_none();
        message.reason = info.finish.or(message.reason.take());
        ends && speaker == Speaker::Assistant
    }

    /// The author of a message; `None` if the message is unknown.
    pub(super) fn speaker(&self, message: &str) -> Option<Speaker> {
        self.all.get(message).map(|message| message.speaker)
    }

    /// Takes a part of a user message.
    pub(super) fn prompted(&mut self, part: &MessagePart) {
        if part.kind == PartKind::Text && !part.synthetic {
            self.prompts.insert(part.message.clone());
        }
    }

    /// The number of user messages.
    pub(super) fn prompts(&self) -> usize {
        self.prompts.len()
    }

    /// Keeps the complete text of a message, and drops the texts of earlier messages.
    pub(super) fn keep(&mut self, message: &str, part: String, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let overtaken = self
            .all
            .iter()
            .any(|(id, newer)| id.as_str() > message && !newer.texts.is_empty());
        if overtaken {
            return;
        }
        for (id, known) in &mut self.all {
            if id.as_str() < message {
                known.texts.clear();
            } else if id == message {
                known.texts.insert(part.clone(), clip_start(text, TEXT_CAP_BYTES));
            }
        }
    }

    /// Drops the texts of a message before they are reported again.
    pub(super) fn forget_texts(&mut self, message: &str) {
        if let Some(message) = self.all.get_mut(message) {
            message.texts.clear();
        }
    }

    /// The reason why the model stopped in the assistant's newest message.
    pub(super) fn last_reason(&self) -> Option<&str> {
        self.said().next()?.reason.as_deref()
    }

    /// The newest text of the assistant.
    pub(super) fn last_text(&self) -> Option<String> {
        let last = self.said().find(|message| !message.texts.is_empty())?;
        let texts: Vec<&str> = last.texts.values().map(String::as_str).collect();
        Some(clip_start(&texts.join("\n"), TEXT_CAP_BYTES))
    }

    /// Whether the newest message is a user message, or there are no messages.
    pub(super) fn is_unanswered(&self) -> bool {
        let newest = self.all.values().next_back();
        newest.is_none_or(|message| message.speaker == Speaker::User)
    }

    /// The messages of the assistant, newest first.
    fn said(&self) -> impl Iterator<Item = &TurnMessage> {
        self.all
            .values()
            .rev()
            .filter(|message| message.speaker == Speaker::Assistant)
    }
}
