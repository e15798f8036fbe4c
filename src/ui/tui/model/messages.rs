//! State of the user's messages on the screen: reading, editing, and searching earlier ones.

use ralph_core::{event::SteeringId, run::Message};

use crate::ui::tui::editor::Editor;

use super::{Model, Pane};

/// A queued message that is being edited. It is withdrawn only when the new one is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editing {
    pub id: SteeringId,
    /// The text being written before.
    pub draft: Editor,
}

/// A search through earlier messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalling {
    pub query: Editor,
    /// Index of the selected match, counted from the newest.
    pub nth: usize,
}

/// The message shown in full, or else the selected one.
pub fn message_at(model: &Model) -> Option<&Message> {
    let mut newest_first = model.run.messages.iter().rev();
    match model.ui.reading {
        Some(id) => newest_first.find(|message| message.id == id),
        None => newest_first.nth(model.ui.position(Pane::Messages)),
    }
}

/// Whether a message can still be edited.
pub fn can_be_edited(model: &Model, message: &Message) -> bool {
    message.is_due() && !model.run.is_over() && model.ui.replay.is_none()
}
