//! What is done with messages on the screen: one is read whole, one is edited, those of before are searched.

use ralph_core::{event::SteeringId, run::Message};

use crate::ui::tui::editor::Editor;

use super::Model;

/// A message that is shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMessage {
    pub id: SteeringId,
    /// First line in view.
    pub top: usize,
}

/// A message that waits and is being edited. It is taken back when the new one is sent, and not before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editing {
    pub id: SteeringId,
    /// What was being written before.
    pub draft: Editor,
}

/// A search in the messages that were sent before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalling {
    pub query: Editor,
    /// Which of the matches, counted from the newest.
    pub nth: usize,
}

/// The message that is shown whole, or else the chosen one.
pub fn message_at(model: &Model) -> Option<&Message> {
    let mut newest_first = model.run.messages.iter().rev();
    match model.ui.reading {
        Some(read) => newest_first.find(|message| message.id == read.id),
        None => newest_first.nth(model.ui.message),
    }
}

/// Whether a message can still become another one.
pub fn can_be_edited(model: &Model, message: &Message) -> bool {
    message.is_due() && !model.run.is_over() && model.ui.replay.is_none()
}
