//! Draws the model: same model, same cells. Pure.
//!
//! Stop 10 of the tour in ARCHITECTURE.md.

mod asking;
mod asks;
mod bars;
mod boxes;
mod cells;
mod diff;
mod history;
mod limits;
mod log;
mod messages;
mod pen;
mod request;
mod shell;
mod tasks;
mod title;
mod typed;

use ratatui::{Frame, layout::Rect};

use super::{
    model::{Mode, Model, Pane, PlaybackState, Question},
    theme::Theme,
};

pub(crate) use asking::{extent as extent_of_question, follow_choice};
pub(crate) use asks::{ask_at, last_line as last_line_of_ask};
pub(crate) use cells::Screens;
pub(crate) use history::first_in_history;
use pen::Pen;
pub(crate) use title::tab_at;

/// Draws everything.
pub(crate) fn draw(model: &Model, screens: &Screens<'_>, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let layout = super::layout::Layout::of(area.width, area.height, model.run.plan.tasks.len());
    let mut pen = Pen::new(frame.buffer_mut(), theme);
    bars::header(model, layout.header, &mut pen);
    tasks::draw(model, &layout, &mut pen);
    title::draw(model, screens, layout.title, &mut pen);
    let cursor = main(model, screens, layout.main, &mut pen);
    bars::footer(model, layout.footer, &mut pen);
    let typed_at = match &model.ui.mode {
        Mode::Normal => None,
        Mode::Typing => cursor,
        Mode::Steering => boxes::steering(model, layout.main.union(layout.title), &mut pen),
        Mode::Searching => boxes::search(model, layout.main, &mut pen),
        Mode::Asking(Question::Quit) => {
            boxes::quit(model, layout.whole, &mut pen);
            None
        }
        Mode::Asking(Question::Skip { iteration }) => {
            boxes::skip(model, *iteration, layout.whole, &mut pen);
            None
        }
        Mode::Answering(answering) => asking::draw(model, answering, layout.whole, &mut pen),
        Mode::TooLate(shown) => {
            boxes::too_late(shown, layout.whole, &mut pen);
            None
        }
        Mode::Help { top } => {
            boxes::help(model, *top, layout.whole, &mut pen);
            None
        }
    };
    if let Some(position) = typed_at.filter(|position| area.contains(*position)) {
        frame.set_cursor_position(position);
    }
}

/// Draws the main area; returns where the agent's cursor is.
fn main(model: &Model, screens: &Screens<'_>, area: Rect, pen: &mut Pen<'_>) -> Option<ratatui::layout::Position> {
    let mut cursor = None;
    match (model.ui.pane, &model.ui.history.open) {
        (Pane::Terminal, _) => {
            cursor = cells::draw(screens.live, model, area, pen);
            if model.run.iterations.rows.is_empty() {
                let words = if model.run.is_over() {
                    "No iteration has run."
                } else {
                    "The agent's terminal appears here."
                };
                pen.note(area, words);
            }
        }
        (Pane::Log, _) => log::draw(model, area, pen),
        (Pane::Diff, _) => diff::draw(model, area, pen),
        (Pane::History, None) => history::draw(model, area, pen),
        (Pane::History, Some(playback)) => match (&playback.state, screens.played) {
            (PlaybackState::Loaded, Some(screen)) => cells::play(screen, area, pen),
            (PlaybackState::Loading, _) | (PlaybackState::Loaded, None) => pen.note(area, "Reading the recording…"),
            (PlaybackState::Failed(why), _) => pen.note(area, why),
        },
        (Pane::Messages, _) => messages::draw(model, area, pen),
        (Pane::Asks, _) => asks::draw(model, area, pen),
        (Pane::Limits, _) => limits::draw(model, area, pen),
    }
    let query = model.ui.search.query.text();
    if matches!(model.ui.mode, Mode::Searching | Mode::Normal) && !query.is_empty() {
        pen.mark(area, query);
    }
    cursor
}

/// What the terminal's window is called.
pub(crate) fn window_title(model: &Model) -> String {
    let (words, _) = bars::phase_in_words(model);
    // No more than the first part: a title that counts seconds is a nuisance.
    let words = words.split(" · ").next().unwrap_or_default();
    let words = words.split(" in ").next().unwrap_or_default();
    let plan = &model.run.plan;
    let text = format!("ralph {}/{} · {words}", plan.done(), plan.tasks.len());
    crate::text::one_line(&text)
}

#[cfg(test)]
mod tests;
