//! Draws the model: same model, same cells. Pure.
//!
//! Stop 13 of the tour in ARCHITECTURE.md.

mod bars;
mod board;
mod board_preview;
mod cells;
mod header;
mod timeline;

use ralph_core::run::Phase;
use ralph_system::proc::screen::Screen;
use ratatui::{
    Frame,
    layout::{Position, Rect},
};

use super::{
    boxes,
    keys::KeyFocus,
    layout::ScreenLayout,
    model::{InputMode, Model, Pane},
    panes,
    pen::Pen,
    search_query::SearchQuery,
    terminal_search,
    theme::{TextRole, Theme},
};

pub(super) use board::draw as draw_board;
pub(super) use cells::{KeptCells, ShownTerminals};

/// Draws everything.
pub(super) fn draw(model: &Model, screens: &ShownTerminals<'_>, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let layout = model.layout();
    let mut pen = Pen::new(frame.buffer_mut(), theme);
    header::draw(model, layout.header, &mut pen);
    panes::content_for(KeyFocus::Plan).draw(model, layout.tasks, &mut pen);
    let below = screens.shown(model).map_or(0, Screen::scrollback);
    panes::draw_title(model, below, layout.title, &mut pen);
    aside(model, layout.aside, &mut pen);
    let base = layout.base;
    if !base.is_empty() {
        pen.rule(base.x, base.y, base.right(), theme.style(TextRole::GaugeRest));
    }
    frame_lines(layout.divider, &layout, &mut pen);
    frame_lines(layout.second_divider, &layout, &mut pen);
    let cursor = main(model, screens, &layout, &mut pen);
    bars::footer(model, layout.footer, &mut pen);
    if matches!(model.ui.mode, InputMode::Searching | InputMode::Normal)
        && let Some(needle) = SearchQuery::parse(model.ui.search.query.text())
    {
        let area = boxes::searched_area(model);
        let current = current_match(model, screens.shown(model), area);
        pen.mark(area, &needle, current);
    }
    let typed_at = match model.ui.mode {
        InputMode::Typing => cursor,
        _ => boxes::draw(model, &mut pen),
    };
    if let Some(position) = typed_at.filter(|position| area.contains(*position)) {
        frame.set_cursor_position(position);
    }
}

/// The row of the match that the search is at, and its place among the matches of the row.
fn current_match(model: &Model, shown: Option<&Screen>, area: Rect) -> Option<(u16, usize)> {
    let found = model.ui.search.found.flatten()?;
    let below = match shown.filter(|_| boxes::is_in_terminal(model)) {
        Some(screen) => u16::try_from(found.line.checked_sub(terminal_search::top(screen))?).ok()?,
        None => return Some((panes::row_of_match(model)?, found.occurrence)),
    };
    Some((area.y + below, found.occurrence)).filter(|(y, _)| *y < area.bottom())
}

/// Draws the log beside the agent.
fn aside(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    pen.rule(area.x, area.y, area.right(), pen.theme.style(TextRole::GaugeRest));
    pen.role(area.x + 1, area.y, area.right(), " log ", TextRole::Dim);
    let below = Rect::new(area.x, area.y + 1, area.width, area.height - 1);
    panes::content_for(KeyFocus::View(Pane::Log)).draw(model, below, pen);
}

/// Draws a line between areas with its junctions. Horizontal lines with titles are already drawn.
fn frame_lines(divider: Rect, layout: &ScreenLayout, pen: &mut Pen<'_>) {
    let base = layout.base;
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
    if let Some(screen) = shown
        && model.ui.shows_agent()
        && matches!(model.run.phase, Phase::Running { .. })
        && cells::is_blank(screen)
    {
        panes::draw_start(model, screens.before, area, pen);
        return None;
    }
    let cursor =
        shown.and_then(|screen| cells::draw(screen, screens.kept, model, layout.terminal().intersection(area), pen));
    if let Some(open) = model.ui.history.open.as_ref().filter(|_| !area.is_empty()) {
        panes::draw_parts(open, layout.main, pen);
    }
    panes::shown(model).draw(model, area, pen);
    cursor
}

/// The title of the terminal window.
pub(super) fn window_title(model: &Model) -> String {
    let (words, _) = header::phase_in_words(model);
    // Only the first part: a title that counts seconds is a nuisance.
    let words = words.split(" · ").next().unwrap_or_default();
    let words = words.split(" in ").next().unwrap_or_default();
    let plan = &model.run.plan;
    let project = match header::project_name(model) {
        Some(project) => format!("{project} · "),
        None => String::new(),
    };
    let tasks = match plan.tasks.len() {
        0 => String::new(),
        all => format!("{}/{all} · ", plan.done()),
    };
    let text = format!("{project}{tasks}{words} · ralph");
    ralph_text::one_line(&text)
}

#[cfg(test)]
mod tests;
