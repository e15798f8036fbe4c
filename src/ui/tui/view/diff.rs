//! What an iteration changed: stat, then patch.

use ratatui::layout::Rect;

use crate::ui::tui::{
    model::{DiffState, Model},
    theme::Role,
};

use super::pen::Pen;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    match &model.ui.diff.state {
        DiffState::None => pen.note(area, "No iteration has run."),
        DiffState::Loading => pen.note(area, "Looking at the changes…"),
        DiffState::Failed(why) => pen.note(area, why),
        DiffState::Loaded(lines) if lines.is_empty() => pen.note(area, "Nothing has changed."),
        DiffState::Loaded(lines) => {
            for (y, line) in (area.top()..area.bottom()).zip(&lines[model.ui.diff.top.min(lines.len())..]) {
                pen.role(area.x + 1, y, area.right(), line, role(line));
            }
        }
    }
}

/// How a line of a patch is drawn.
pub(super) fn role(line: &str) -> Role {
    if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
        Role::Strong
    } else if line.starts_with('+') {
        Role::Added
    } else if line.starts_with('-') {
        Role::Removed
    } else if line.starts_with("@@") {
        Role::Hunk
    } else if line.starts_with("index ") || line.starts_with("new file") || line.starts_with("deleted file") {
        Role::Dim
    } else {
        Role::Plain
    }
}
