//! The changes of iterations: statistics and patch, with a list of files beside them.

use ratatui::{
    layout::{Position, Rect},
    style::{Modifier, Style},
};
use unicode_segmentation::UnicodeSegmentation;

use crate::ui::tui::{
    model::{DiffState, DiffView, Model},
    patch::{LineKind, Patch, PatchFile},
    theme::TextRole,
};

use super::pen::{Pen, columns};

/// Minimum width for the list of files, shown if there are several.
const FILES_FROM_COLS: u16 = 100;
/// Minimum width for line numbers.
const NUMBERS_FROM_COLS: u16 = 70;
/// Maximum columns of the list.
const FILES_COLS: u16 = 36;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    match &model.ui.diff.state {
        DiffState::None => pen.note(area, "No iteration has run."),
        DiffState::Loading => pen.note(area, "Loading the changes…"),
        DiffState::Failed(why) => pen.note(area, why),
        DiffState::Loaded(patch) if patch.lines.is_empty() => pen.note(area, "No changes."),
        DiffState::Loaded(patch) => {
            let area = files(patch, model.ui.diff.top, area, pen);
            lines(patch, &model.ui.diff, area, pen);
        }
    }
}

/// The title's note on the patch: its iterations and the current file.
pub(super) fn described(model: &Model) -> String {
    let diff = &model.ui.diff;
    let (Some(iteration), DiffState::Loaded(patch)) = (diff.iteration, &diff.state) else {
        return String::new();
    };
    let first = model.run.iterations.rows.get(0).map(|first| first.number);
    let of = match diff.since {
        None => format!("iteration {iteration}"),
        since if since == first && model.run.iterations.number == iteration => "the whole run".to_owned(),
        Some(since) => format!("iterations {since} to {iteration}"),
    };
    match patch.file_at(diff.top) {
        Some(at) if patch.files.len() > 1 => format!("{of} · file {} of {}", at + 1, patch.files.len()),
        _ => of,
    }
}

/// The area of the file list, if there is room, and the first visible file.
fn file_list(patch: &Patch, top: usize, area: Rect) -> Option<(Rect, usize)> {
    if area.width < FILES_FROM_COLS || patch.files.len() < 2 {
        return None;
    }
    let height = usize::from(area.height);
    let first = patch.file_at(top).unwrap_or(0).saturating_sub(height / 2);
    let first = first.min(patch.files.len().saturating_sub(height));
    let width = FILES_COLS.min(area.width / 3);
    Some((Rect { width, ..area }, first))
}

/// Index of the file whose name is drawn at `at`.
pub(crate) fn file_name_at(model: &Model, area: Rect, at: Position) -> Option<usize> {
    let DiffState::Loaded(patch) = &model.ui.diff.state else {
        return None;
    };
    let (list, first) = file_list(patch, model.ui.diff.top, area)?;
    let file = first + usize::from(at.y.checked_sub(list.y)?);
    (list.contains(at) && file < patch.files.len()).then_some(file)
}

/// Draws the file list, if there is room. Returns the remaining area.
fn files(patch: &Patch, top: usize, area: Rect, pen: &mut Pen<'_>) -> Rect {
    let Some((list, first)) = file_list(patch, top, area) else {
        return area;
    };
    let current = patch.file_at(top);
    let (width, bar) = (list.width, list.right());
    for (y, (at, file)) in (area.top()..area.bottom()).zip(patch.files.iter().enumerate().skip(first)) {
        let row = Rect::new(area.x, y, width, 1);
        name(file, row, pen);
        if current == Some(at) {
            pen.buffer.set_style(row, pen.theme.style(TextRole::Chosen));
        }
    }
    for y in area.top()..area.bottom() {
        pen.role(bar, y, bar + 1, pen.theme.glyphs.bar, TextRole::GaugeRest);
    }
    Rect::new(bar + 1, area.y, area.width - width - 1, area.height)
}

fn name(file: &PatchFile, row: Rect, pen: &mut Pen<'_>) {
    let end = row.right().saturating_sub(1);
    let removed = format!("{}{}", pen.theme.glyphs.minus, file.removed);
    let mut right = pen.right(row.x, row.y, end, &removed, pen.theme.style(TextRole::Removed));
    let added = format!("+{} ", file.added);
    right = pen.right(row.x, row.y, right, &added, pen.theme.style(TextRole::Added));
    if !file.note.is_empty() {
        let note = format!("{} ", file.note);
        right = pen.right(row.x, row.y, right, &note, pen.theme.style(TextRole::Dim));
    }
    let room = usize::from(right.saturating_sub(row.x + 2));
    // The end of a path is more informative than its beginning.
    let name = ending(&file.name, room, pen.theme.glyphs.more);
    pen.role(row.x + 1, row.y, right.saturating_sub(1), &name, TextRole::Plain);
}

fn ending(name: &str, room: usize, mark: &str) -> String {
    if usize::from(columns(name)) <= room {
        return name.to_owned();
    }
    let mut taken = usize::from(columns(mark));
    let kept = name.graphemes(true).rev().take_while(|grapheme| {
        taken += usize::from(columns(grapheme));
        taken <= room
    });
    let kept: usize = kept.map(str::len).sum();
    format!("{mark}{}", &name[name.len() - kept..])
}

fn lines(patch: &Patch, diff: &DiffView, area: Rect, pen: &mut Pen<'_>) {
    let numbers = if area.width >= NUMBERS_FROM_COLS {
        digits(patch, diff, area)
    } else {
        0
    };
    let start = area.x + 1 + numbers + u16::from(numbers > 0);
    let room = usize::from(area.right().saturating_sub(start)).max(1);
    let mut y = area.y;
    for (at, (line, kind)) in patch.lines.iter().zip(&patch.kinds).enumerate().skip(diff.top) {
        if y >= area.bottom() {
            return;
        }
        if let (LineKind::Same(number) | LineKind::Added(number) | LineKind::Removed(number), 1..) = (kind, numbers) {
            let end = start.saturating_sub(1);
            pen.right(area.x, y, end, &number.to_string(), pen.theme.style(TextRole::Dim));
        }
        let style = pen.theme.style(role(*kind));
        let pieces = match patch.changed_words(at) {
            Some((from, to)) => vec![
                (&line[..from], style),
                (&line[from..to], style.add_modifier(Modifier::REVERSED)),
                (&line[to..], style),
            ],
            None => vec![(line.as_str(), style)],
        };
        if diff.wrap {
            for row in broken(&pieces, room) {
                if y < area.bottom() {
                    pen.pieces(start, y, area.right(), &row);
                    y += 1;
                }
            }
        } else {
            pen.pieces(start, y, area.right(), &without(&pieces, diff.left));
            y += 1;
        }
    }
}

/// Width of the line numbers in view.
fn digits(patch: &Patch, diff: &DiffView, area: Rect) -> u16 {
    let seen = patch.kinds.iter().skip(diff.top).take(usize::from(area.height));
    let greatest = seen.filter_map(|kind| match kind {
        LineKind::Same(number) | LineKind::Added(number) | LineKind::Removed(number) => Some(*number),
        LineKind::Text | LineKind::File | LineKind::Meta | LineKind::Hunk | LineKind::Note => None,
    });
    let columns = greatest.max().map_or(0, |number| number.to_string().len());
    u16::try_from(columns.max(3)).unwrap_or(3)
}

/// Breaks pieces into rows of `room` columns, at any character.
fn broken(pieces: &[(&str, Style)], room: usize) -> Vec<Vec<(String, Style)>> {
    let mut rows = vec![Vec::new()];
    let mut taken = 0;
    for (text, style) in pieces {
        let mut piece = String::new();
        for grapheme in text.graphemes(true) {
            let width = usize::from(columns(grapheme));
            if taken + width > room {
                let row: &mut Vec<(String, Style)> = rows.last_mut().expect("there is always a row");
                row.push((std::mem::take(&mut piece), *style));
                rows.push(Vec::new());
                taken = 0;
            }
            taken += width;
            piece.push_str(grapheme);
        }
        rows.last_mut().expect("there is always a row").push((piece, *style));
    }
    rows
}

/// Removes the first `left` columns from pieces.
fn without(pieces: &[(&str, Style)], left: usize) -> Vec<(String, Style)> {
    let mut hidden = left;
    let cut = |(text, style): &(&str, Style)| {
        let mut start = 0;
        for grapheme in text.graphemes(true) {
            let width = usize::from(columns(grapheme));
            if hidden == 0 {
                break;
            }
            hidden = hidden.saturating_sub(width);
            start += grapheme.len();
        }
        (text[start..].to_owned(), *style)
    };
    pieces.iter().map(cut).collect()
}

fn role(kind: LineKind) -> TextRole {
    match kind {
        LineKind::Text | LineKind::Same(_) => TextRole::Plain,
        LineKind::File => TextRole::Strong,
        LineKind::Meta | LineKind::Note => TextRole::Dim,
        LineKind::Hunk => TextRole::Hunk,
        LineKind::Added(_) => TextRole::Added,
        LineKind::Removed(_) => TextRole::Removed,
    }
}

/// The role of a patch line without context.
pub(super) fn role_of_line(line: &str) -> TextRole {
    if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
        TextRole::Strong
    } else if line.starts_with('+') {
        TextRole::Added
    } else if line.starts_with('-') {
        TextRole::Removed
    } else if line.starts_with("@@") {
        TextRole::Hunk
    } else if line.starts_with("index ") || line.starts_with("new file") || line.starts_with("deleted file") {
        TextRole::Dim
    } else {
        TextRole::Plain
    }
}
