//! Draws the model: same model, same cells. Pure.
//!
//! Stop 10 of the tour in ARCHITECTURE.md.

mod asking;
mod bars;
mod board;
mod boxes;
mod cells;
mod header;
mod help;
mod palette;
mod timeline;
mod typed;

use ralph_system::proc::screen::Screen;
use ratatui::{Frame, layout::Position};

use super::{
    keys::KeyFocus,
    layout::{Focus, ScreenLayout},
    model::{Confirmation, InputMode, Model},
    panes,
    pen::Pen,
    search_query::SearchQuery,
    theme::{TextRole, Theme},
};

pub(crate) use asking::{extent as extent_of_question, follow_choice, offers_all};
pub(crate) use board::{BoardSpot, board_spot_at, draw as draw_board};
pub(crate) use cells::ShownTerminals;
pub(crate) use help::{last_line as last_line_of_help, last_line_of_bindings};

/// Draws everything.
pub(crate) fn draw(model: &Model, screens: &ShownTerminals<'_>, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let layout = model.layout();
    let mut pen = Pen::new(frame.buffer_mut(), theme);
    header::draw(model, layout.header, &mut pen);
    panes::content_for(KeyFocus::Plan).draw(model, layout.tasks, &mut pen);
    let below = screens.shown(model).map_or(0, Screen::scrollback);
    panes::draw_title(model, below, layout.title, &mut pen);
    frame_lines(&layout, &mut pen);
    let cursor = main(model, screens, &layout, &mut pen);
    bars::footer(model, layout.footer, &mut pen);
    let searched = match model.ui.focus {
        Focus::Plan => layout.tasks,
        Focus::Main => layout.main,
    };
    if matches!(model.ui.mode, InputMode::Searching | InputMode::Normal)
        && let Some(needle) = SearchQuery::parse(model.ui.search.query.text())
    {
        pen.mark(searched, &needle);
    }
    let typed_at = match &model.ui.mode {
        InputMode::Normal => None,
        InputMode::Typing => cursor,
        InputMode::Steering => boxes::steering(model, layout.main.union(layout.title), &mut pen),
        InputMode::Recalling(shown) => boxes::recall(model, shown, layout.main.union(layout.title), &mut pen),
        InputMode::Searching => boxes::search(model, searched, &mut pen),
        InputMode::Asking(Confirmation::Quit) => {
            boxes::quit(model, layout.whole, &mut pen);
            None
        }
        InputMode::Asking(Confirmation::Withdraw { id }) => {
            boxes::withdraw(model, *id, layout.whole, &mut pen);
            None
        }
        InputMode::Asking(Confirmation::Skip { iteration }) => {
            boxes::skip(model, *iteration, layout.whole, &mut pen);
            None
        }
        InputMode::Asking(Confirmation::More) => {
            boxes::more(model, layout.whole, &mut pen);
            None
        }
        InputMode::Copying => {
            boxes::copying(layout.whole, &mut pen);
            None
        }
        InputMode::Answering(answering) => asking::draw(model, answering, &mut pen),
        InputMode::TooLate(shown) => {
            boxes::too_late(shown, layout.whole, &mut pen);
            None
        }
        InputMode::Palette(shown) => palette::draw(model, shown, layout.whole, &mut pen),
        InputMode::Help { top } => {
            help::draw(model, *top, layout.whole, &mut pen);
            None
        }
    };
    if let Some(position) = typed_at.filter(|position| area.contains(*position)) {
        frame.set_cursor_position(position);
    }
}

/// Draws the lines between the areas with their junctions. Horizontal lines with titles are already drawn.
fn frame_lines(layout: &ScreenLayout, pen: &mut Pen<'_>) {
    let (divider, base) = (layout.divider, layout.base);
    if !base.is_empty() {
        pen.rule(base.x, base.y, base.right(), pen.theme.style(TextRole::GaugeRest));
    }
    let glyphs = pen.theme.glyphs;
    for y in divider.top()..divider.bottom() {
        let arrives = pen.buffer[(divider.x - 1, y)].symbol() == glyphs.rule;
        let sign = match arrives {
            _ if y == layout.title.y => glyphs.tees[0],
            true => glyphs.side,
            false => glyphs.bar,
        };
        pen.role(divider.x, y, divider.right(), sign, TextRole::GaugeRest);
    }
    if !divider.is_empty() && !base.is_empty() {
        pen.role(divider.x, base.y, divider.right(), glyphs.tees[1], TextRole::GaugeRest);
    }
}

/// Draws the main area. Returns the agent's cursor position.
fn main(model: &Model, screens: &ShownTerminals<'_>, layout: &ScreenLayout, pen: &mut Pen<'_>) -> Option<Position> {
    let area = model.content_area();
    let shown = screens.shown(model);
    let cursor = shown.and_then(|screen| cells::draw(screen, model, layout.terminal().intersection(area), pen));
    if let Some(open) = model.ui.history.open.as_ref().filter(|_| !area.is_empty()) {
        panes::draw_parts(open, layout.main, pen);
    }
    panes::shown(model).draw(model, area, pen);
    cursor
}

/// The title of the terminal window.
pub(crate) fn window_title(model: &Model) -> String {
    let (words, _) = header::phase_in_words(model);
    // Only the first part: a title that counts seconds is a nuisance.
    let words = words.split(" · ").next().unwrap_or_default();
    let words = words.split(" in ").next().unwrap_or_default();
    let plan = &model.run.plan;
    let text = format!("ralph {}/{} · {words}", plan.done(), plan.tasks.len());
    ralph_text::one_line(&text)
}

#[cfg(test)]
mod tests;
