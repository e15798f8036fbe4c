//! The list of iterations: the selected one and the shown part of an open one.

use crate::ui::tui::{
    model::{Model, Part, Playback},
    view,
};

use super::{
    diff,
    order::{Order, Scroll, Way},
};

/// Opens the selected iteration, with its transcript first.
pub(super) fn open(model: &mut Model) -> Vec<Order> {
    let chosen = model.run.iterations.rows.iter().rev().nth(model.ui.history.selected);
    let Some(iteration) = chosen.map(|iteration| iteration.number) else {
        return Vec::new();
    };
    if model.ui.history.open.is_some() {
        return Vec::new();
    }
    model.ui.history.open = Some(Playback::new(iteration));
    vec![Order::Play { iteration }]
}

/// Goes to the next or previous part, cyclically.
pub(super) fn turn(model: &mut Model, way: Way) -> Vec<Order> {
    let Some(open) = &mut model.ui.history.open else {
        return Vec::new();
    };
    let count = Part::ALL.len();
    let at = Part::ALL.iter().position(|part| *part == open.part).unwrap_or(0);
    let at = match way {
        Way::Next => at + 1,
        Way::Previous => at + count - 1,
    };
    open.part = Part::ALL[at % count];
    open.top = 0;
    let iteration = open.iteration;
    match open.part {
        Part::Diff => diff::show(model, iteration),
        Part::Transcript | Part::Goals | Part::Messages => Vec::new(),
    }
}

pub(super) fn scroll(model: &mut Model, by: Scroll) {
    let main = model.layout().main;
    let Some(open) = &model.ui.history.open else {
        let count = model.run.iterations.rows.len();
        model.ui.history.selected = by.upwards(model.ui.history.selected, count);
        return;
    };
    match open.part {
        Part::Transcript => {}
        Part::Diff => diff::scroll(model, by),
        Part::Goals | Part::Messages => {
            // The first row of the area names the parts.
            let room = usize::from(main.height).saturating_sub(1);
            let last = view::part_rows(model, open, main.width).len().saturating_sub(room);
            let top = by.downwards(open.top, last);
            if let Some(open) = &mut model.ui.history.open {
                open.top = top;
            }
        }
    }
}
