//! The lines of a patch as they are drawn: their styles, the room for their numbers.

use ratatui::{
    layout::Rect,
    style::{Modifier, Style},
};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::{
    model::DiffView,
    patch::{LineKind, Patch},
    pen::{Pen, columns},
    theme::TextRole,
};

/// The pieces of a line: the words that changed stand out.
pub(super) fn pieces<'p>(patch: &'p Patch, at: usize, pen: &Pen<'_>) -> Vec<(&'p str, Style)> {
    let line = patch.lines[at].as_str();
    let style = pen.theme.style(role(patch.kinds[at]));
    match patch.changed_words(at) {
        Some((from, to)) => vec![
            (&line[..from], style),
            (&line[from..to], style.add_modifier(Modifier::REVERSED)),
            (&line[to..], style),
        ],
        None => vec![(line, style)],
    }
}

/// Width of the line numbers in view.
pub(super) fn digits(patch: &Patch, diff: &DiffView, area: Rect) -> u16 {
    let seen = patch.kinds.iter().skip(diff.top).take(usize::from(area.height));
    let greatest = seen.filter_map(|kind| match kind {
        LineKind::Same(number) | LineKind::Added(number) | LineKind::Removed(number) => Some(*number),
        LineKind::Text | LineKind::File | LineKind::Meta | LineKind::Hunk | LineKind::Note => None,
    });
    let columns = greatest.max().map_or(0, |number| number.to_string().len());
    u16::try_from(columns.max(3)).unwrap_or(3)
}

/// Removes the first `left` columns from pieces.
pub(super) fn without(pieces: &[(&str, Style)], left: usize) -> Vec<(String, Style)> {
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
