//! State of the message box: a queued message that is edited, and the search through earlier ones.

use ralph_core::event::SteeringId;

use crate::tui::editor::Editor;

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
