//! Draws a patch with the old lines on the left and the new ones on the right.

use ratatui::layout::Rect;

use crate::tui::{
    model::DiffView,
    patch::{Patch, SideLine, SideRow},
    pen::{Pen, flowed},
    theme::TextRole,
};

use super::patch_lines::{digits, pieces, without};

/// Draws the rows from the one of the line at the top on.
pub(super) fn draw(patch: &Patch, diff: &DiffView, area: Rect, pen: &mut Pen<'_>) {
    let numbers = digits(patch, diff, area);
    let middle = area.x + area.width / 2;
    let left = Rect::new(area.x, area.y, middle - area.x, area.height);
    let right = Rect::new(middle + 1, area.y, area.right() - middle - 1, area.height);
    let mut y = area.y;
    for row in patch.sides.iter().skip(patch.row_of(diff.top)) {
        if y >= area.bottom() {
            return;
        }
        let height = match *row {
            SideRow::Whole(at) => {
                let place = Rect {
                    y,
                    height: area.bottom() - y,
                    ..area
                };
                text(patch, diff, at, (place.x + 1, place), pen)
            }
            SideRow::Pair { left: old, right: new } => {
                let heights = [(old, left), (new, right)].map(|(line, side)| {
                    let place = Rect {
                        y,
                        height: area.bottom() - y,
                        ..side
                    };
                    line.map_or(0, |line| numbered(patch, diff, line, (numbers, place), pen))
                });
                let height = heights.into_iter().max().unwrap_or(0).max(1);
                for y in y..(y + height).min(area.bottom()) {
                    pen.role(middle, y, middle + 1, pen.theme.glyphs.bar, TextRole::GaugeRest);
                }
                height
            }
        };
        y += height;
    }
}

/// Draws a line of a side with its number. Returns its rows.
fn numbered(patch: &Patch, diff: &DiffView, line: SideLine, (numbers, place): (u16, Rect), pen: &mut Pen<'_>) -> u16 {
    let start = place.x + 1 + numbers;
    let number = line.number.to_string();
    pen.right(place.x, place.y, start, &number, pen.theme.style(TextRole::Dim));
    text(patch, diff, line.at, (start + 1, place), pen)
}

/// Draws the text of a line from a column on, wrapped or cut. Returns its rows.
fn text(patch: &Patch, diff: &DiffView, at: usize, (start, place): (u16, Rect), pen: &mut Pen<'_>) -> u16 {
    let pieces = pieces(patch, at, pen);
    if !diff.wrap {
        pen.pieces(start, place.y, place.right(), &without(&pieces, diff.left));
        return 1;
    }
    let room = usize::from(place.right().saturating_sub(start)).max(1);
    let rows = flowed(&pieces, room);
    for (y, row) in (place.top()..place.bottom()).zip(&rows) {
        pen.pieces(start, y, place.right(), row);
    }
    u16::try_from(rows.len()).unwrap_or(u16::MAX).min(place.height)
}
