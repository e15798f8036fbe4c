//! The boxes over the panes: input lines, questions and the help. A file for each draws it and handles its keys.

mod answer_box;
mod answering;
mod choices;
mod comment;
mod confirm;
mod copying;
mod help;
mod message;
mod palette;
mod search;
mod typed;

use ralph_text::one_line;
use ratatui::layout::{Position, Rect};

use super::{
    layout::Focus,
    model::{InputMode, Model, SettledMeanwhile},
    offers::{offered, offered_without_key},
    order::Scroll,
    pen::Pen,
};

pub(super) use answer_box::draw as draw_answer_box;
pub(super) use answering::{
    key as key_of_answer, pasted as pasted_answer, show_question, too_late, wheel as scroll_answer,
};
pub(super) use comment::{key as key_of_comment, key_of_comments};
pub(super) use confirm::{batch_question, interrupt, key as key_of_question};
pub(super) use copying::{begin as begin_copying, key as key_of_copying};
pub(super) use help::{draw as draw_help, scrolled as scrolled_help};
pub(super) use message::{key as key_of_message, paste as pasted_message, recalling as key_of_recall};
pub(super) use palette::key as key_of_palette;
pub(super) use search::{
    backward as search_backward, begin as begin_search, forward as search_forward, found as search_found,
    is_in_terminal, key as key_of_search, query_changed,
};

/// Draws the box of the current mode. Returns the position of its text cursor.
pub(super) fn draw(model: &Model, pen: &mut Pen<'_>) -> Option<Position> {
    let layout = model.layout();
    let (whole, main) = (layout.whole, layout.main.union(layout.title));
    match &model.ui.mode {
        InputMode::Normal | InputMode::Typing => {}
        InputMode::Steering => return message::draw(model, main, pen),
        InputMode::Recalling(shown) => return message::draw_recall(model, shown, main, pen),
        InputMode::Searching => return search::draw(model, searched_area(model), pen),
        InputMode::Answering(answering) => return answer_box::draw(model, answering, pen),
        InputMode::Palette(shown) => return palette::draw(model, shown, whole, pen),
        InputMode::Asking(asked) => confirm::question(model, *asked).draw(whole, pen),
        InputMode::Commenting(draft) => return comment::draw(draft, main, pen),
        InputMode::Comments { chosen } => comment::draw_comments(model, *chosen, whole, pen),
        InputMode::Copying => copying::question().draw(whole, pen),
        InputMode::TooLate(shown) => draw_too_late(shown, whole, pen),
        InputMode::Help { top } => {
            let bindings: Vec<_> = offered(model).chain(offered_without_key(model)).collect();
            help::draw(&bindings, model.ui.mouse, *top, whole, pen);
        }
    }
    None
}

/// Scrolls the help. Returns its top line.
pub(super) fn help_scrolled(model: &Model, top: usize, by: Scroll) -> usize {
    let bindings: Vec<_> = offered(model).chain(offered_without_key(model)).collect();
    help::scrolled(&bindings, model.ui.mouse, top, model.layout().whole, by)
}

/// The area whose lines are searched.
pub(super) fn searched_area(model: &Model) -> Rect {
    match model.ui.focus {
        Focus::Plan => model.layout().tasks,
        Focus::Main => model.layout().main,
    }
}

/// Tells how a question was settled that the user was answering.
fn draw_too_late(shown: &SettledMeanwhile, whole: Rect, pen: &mut Pen<'_>) {
    let keys = [("Esc", "closes this"), (": ↑", "restore your text as a message")];
    let keys = if shown.kept { &keys[..] } else { &keys[..1] };
    confirm::draw("too late", &one_line(&shown.fate), keys, whole, pen);
}
