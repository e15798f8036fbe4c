//! Draws typed text in a box.

use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::ui::tui::{
    editor::Editor,
    pen::{Pen, columns},
    theme::TextRole,
};

/// Number of rows of a text, including its cursor, when broken at `room` columns.
pub(super) fn rows(editor: &Editor, room: usize) -> usize {
    let (cursor_row, _) = cursor(editor.before(), room);
    broken(editor.text(), room).len().max(cursor_row + 1)
}

/// Draws the visible part of a text with a free column on either side. Returns the cursor position.
pub(super) fn draw(editor: &Editor, area: Rect, pen: &mut Pen<'_>) -> Position {
    let room = usize::from(area.width).saturating_sub(2).max(1);
    let (cursor_row, cursor_column) = cursor(editor.before(), room);
    let first = (cursor_row + 1).saturating_sub(usize::from(area.height));
    let rows = broken(editor.text(), room);
    for (y, row) in (area.top()..area.bottom()).zip(rows.iter().skip(first)) {
        pen.role(area.x + 1, y, area.right(), row, TextRole::Plain);
    }
    Position::new(
        area.x + 1 + u16::try_from(cursor_column).unwrap_or(0),
        area.y + u16::try_from(cursor_row - first).unwrap_or(0),
    )
}

/// Breaks lines at the width, at any character.
pub(super) fn broken(text: &str, room: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| broken_line(line, room)).collect()
}

fn broken_line(line: &str, room: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut width = 0;
    for grapheme in line.graphemes(true) {
        let columns = usize::from(columns(grapheme));
        if width + columns > room {
            rows.push(String::new());
            width = 0;
        }
        width += columns;
        rows.last_mut().expect("there is always a row").push_str(grapheme);
    }
    rows
}

/// Row and column after `before`.
fn cursor(before: &str, room: usize) -> (usize, usize) {
    let rows = broken(before, room);
    let column = rows.last().map_or(0, |row| usize::from(columns(row)));
    if column >= room {
        (rows.len(), 0)
    } else {
        (rows.len() - 1, column)
    }
}
