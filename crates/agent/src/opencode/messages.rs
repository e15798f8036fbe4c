//! The messages of a turn: their speakers, the last answer, how the turn ended. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::{TEXT_CAP_BYTES, tail};

use super::wire::{MessageInfo, Part, PartKind, Role};

/// By their ids, which grow with time.
#[derive(Debug, Default)]
pub(super) struct Messages {
    all: BTreeMap<String, Message>,
    /// Those in which the user said something, rather than opencode in the user's place.
    prompts: BTreeSet<String>,
}

#[derive(Debug)]
struct Message {
    speaker: Speaker,
    /// Why the model stopped; none while it has not.
    reason: Option<String>,
    /// Whole texts by part, oldest first; only of the newest message that has some.
    texts: BTreeMap<String, String>,
}

/// Whose words a message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
    /// opencode's own: it sums up a session that has become too long.
    Nobody,
}

impl Messages {
    /// Takes the state that a message is in, and tells whether the assistant has just finished it.
    pub(super) fn update(&mut self, info: MessageInfo) -> bool {
        let speaker = match info.role {
            Role::User => Speaker::User,
            Role::Assistant if info.is_said() => Speaker::Assistant,
            Role::Assistant | Role::Other => Speaker::Nobody,
        };
        let message = self.all.entry(info.id).or_insert_with(|| Message {
            speaker,
            reason: None,
            texts: BTreeMap::new(),
        });
        message.speaker = speaker;
        let ends = info.finish.is_some() && message.reason.is_none();
        message.reason = info.finish.or(message.reason.take());
        ends && speaker == Speaker::Assistant
    }

    /// Whose words a message holds; none for one that is not known.
    pub(super) fn speaker(&self, message: &str) -> Option<Speaker> {
        self.all.get(message).map(|message| message.speaker)
    }

    /// Takes a part of a message of the user.
    pub(super) fn prompted(&mut self, part: &Part) {
        if part.kind == PartKind::Text && !part.synthetic {
            self.prompts.insert(part.message.clone());
        }
    }

    /// How many messages of the user there are.
    pub(super) fn prompts(&self) -> usize {
        self.prompts.len()
    }

    /// Keeps the whole text of a message, and lets go of those before it.
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
                known.texts.insert(part.clone(), tail(text, TEXT_CAP_BYTES));
            }
        }
    }

    /// Forgets the texts of a message, before they are told anew.
    pub(super) fn forget_texts(&mut self, message: &str) {
        if let Some(message) = self.all.get_mut(message) {
            message.texts.clear();
        }
    }

    /// Why the model stopped that said the newest message.
    pub(super) fn last_reason(&self) -> Option<&str> {
        self.said().next()?.reason.as_deref()
    }

    /// The newest text of the assistant.
    pub(super) fn last_text(&self) -> Option<String> {
        let last = self.said().find(|message| !message.texts.is_empty())?;
        let texts: Vec<&str> = last.texts.values().map(String::as_str).collect();
        Some(tail(&texts.join("\n"), TEXT_CAP_BYTES))
    }

    /// Whether the newest message is one of the user, or there is none.
    pub(super) fn is_unanswered(&self) -> bool {
        let newest = self.all.values().next_back();
        newest.is_none_or(|message| message.speaker == Speaker::User)
    }

    /// What the assistant said, newest first.
    fn said(&self) -> impl Iterator<Item = &Message> {
        self.all
            .values()
            .rev()
            .filter(|message| message.speaker == Speaker::Assistant)
    }
}
