//! The position in a replay: a line for the time of the run, with marks for the iterations.

use ralph_words::ticking;
use ratatui::layout::Rect;

use crate::tui::{
    model::{Model, Timeline},
    pen::{Pen, columns},
    theme::TextRole,
};

/// Minimum columns of the line.
const LEAST_COLS: u16 = 10;

/// Draws the timeline. Returns false if this is not a replay.
pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) -> bool {
    let (Some(timeline), Some(_)) = (&model.ui.timeline, model.ui.replay) else {
        return false;
    };
    let now_ms = model.now_ms.clamp(timeline.from_ms, timeline.until_ms);
    let passed = ticking(now_ms - timeline.from_ms);
    let all = ticking(timeline.until_ms - timeline.from_ms);
    let last = timeline.iterations.last().map_or(0, |(number, _)| *number);
    let current = timeline.iterations.iter().rev().find(|(_, at_ms)| *at_ms <= now_ms);
    let place = match current {
        Some((number, _)) => format!(" {all} · iteration {number} of {last}"),
        None => format!(" {all} · before the first of {last}"),
    };
    let x = pen.role(
        area.x + 1,
        area.y,
        area.right(),
        &format!("{passed} "),
        TextRole::Strong,
    );
    let end = area.right().saturating_sub(columns(&place) + 1);
    if end < x + LEAST_COLS {
        pen.role(x, area.y, area.right(), &format!("of{place}"), TextRole::Dim);
        return true;
    }
    let line = Rect::new(x, area.y, end - x, 1);
    let at = column(timeline, now_ms, line);
    let glyphs = pen.theme.glyphs;
    for x in line.left()..line.right() {
        let (sign, role) = if x <= at {
            (glyphs.full, TextRole::GaugeDone)
        } else {
            (glyphs.rest, TextRole::GaugeRest)
        };
        pen.role(x, area.y, x + 1, sign, role);
    }
    for (_, at_ms) in &timeline.iterations {
        let x = column(timeline, *at_ms, line);
        let role = if x <= at { TextRole::Good } else { TextRole::Dim };
        pen.role(x, area.y, x + 1, glyphs.bar, role);
    }
    pen.role(at, area.y, at + 1, glyphs.current, TextRole::Accent);
    pen.role(end, area.y, area.right(), &place, TextRole::Dim);
    true
}

/// The column of a moment.
fn column(timeline: &Timeline, at_ms: u64, line: Rect) -> u16 {
    let span_ms = timeline.until_ms.saturating_sub(timeline.from_ms).max(1);
    let since_ms = at_ms.saturating_sub(timeline.from_ms).min(span_ms);
    let last = u128::from(line.width.saturating_sub(1));
    let offset = u128::from(since_ms) * last / u128::from(span_ms);
    line.x + u16::try_from(offset).unwrap_or(0)
}
