//! A typed text in a box: its keys, and its rows.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    editor::Editor,
    pen::{Pen, columns, flowed},
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
        // An area without a row shows no cursor either.
        area.y + u16::try_from(cursor_row.saturating_sub(first)).unwrap_or(0),
    )
}

/// Breaks lines at the width, at any character.
pub(super) fn broken(text: &str, room: usize) -> Vec<String> {
    let rows = flowed(&[(text, ())], room).into_iter();
    rows.map(|row| row.into_iter().map(|(text, ())| text).collect())
        .collect()
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

/// The effect of a key on a multi-line text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypingEffect {
    Edited,
    /// The text is full.
    TooLong,
    /// The text is complete.
    Entered,
    Cancelled,
    Interrupted,
    /// Up on the first line, or down on the last.
    Above,
    Below,
}

/// Applies a key to a multi-line text.
pub(super) fn typed(editor: &mut Editor, key: KeyEvent) -> TypingEffect {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Esc => return TypingEffect::Cancelled,
        KeyCode::Char('c') if control => return TypingEffect::Interrupted,
        KeyCode::Char(_) if !control && !alt && !editor.has_room_for("x") => return TypingEffect::TooLong,
        KeyCode::Enter if alt || shift || control => editor.insert("\n"),
        // Terminals without a code for Ctrl-Enter send Ctrl-J.
        KeyCode::Char('j') if control => editor.insert("\n"),
        KeyCode::Enter => return TypingEffect::Entered,
        KeyCode::Up if !editor.up() => return TypingEffect::Above,
        KeyCode::Down if !editor.down() => return TypingEffect::Below,
        KeyCode::Up | KeyCode::Down => {}
        _ => edit(editor, key),
    }
    TypingEffect::Edited
}

/// Handles the editing keys common to all text input.
pub(super) fn edit(editor: &mut Editor, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('a') if control => editor.home(),
        KeyCode::Char('e') if control => editor.end(),
        KeyCode::Char('u') if control => editor.kill_to_start(),
        KeyCode::Char('k') if control => editor.kill_to_end(),
        KeyCode::Char('w') if control => editor.kill_word(),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Backspace if alt || control => editor.kill_word(),
        KeyCode::Left if alt || control => editor.word_left(),
        KeyCode::Right if alt || control => editor.word_right(),
        KeyCode::Char(character) if !control && !alt => editor.insert(character.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        _ => {}
    }
}
