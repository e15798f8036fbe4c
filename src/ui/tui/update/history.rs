//! The list of iterations: the selected one and the shown part of an open one.

use crate::ui::tui::{
    model::{IterationPart, Model, Playback},
    view,
};

use super::{
    diff,
    order::{ScreenOrder, Scroll, StepDirection},
};

/// Opens the selected iteration, with its transcript first.
pub(super) fn open(model: &mut Model) -> Vec<ScreenOrder> {
    let chosen = model.run.iterations.rows.iter().rev().nth(model.ui.history.selected);
    let Some(iteration) = chosen.map(|iteration| iteration.number) else {
        return Vec::new();
    };
    if model.ui.history.open.is_some() {
        return Vec::new();
    }
    model.ui.history.open = Some(Playback::new(iteration));
    vec![ScreenOrder::Play { iteration }]
}

/// Goes to the next or previous part, cyclically.
pub(super) fn turn(model: &mut Model, way: StepDirection) -> Vec<ScreenOrder> {
    let Some(open) = &mut model.ui.history.open else {
        return Vec::new();
    };
    let count = IterationPart::ALL.len();
    let at = IterationPart::ALL
        .iter()
        .position(|part| *part == open.part)
        .unwrap_or(0);
    let at = match way {
        StepDirection::Next => at + 1,
        StepDirection::Previous => at + count - 1,
    };
    open.part = IterationPart::ALL[at % count];
    open.top = 0;
    let iteration = open.iteration;
    match open.part {
        IterationPart::Diff => diff::show(model, iteration),
        IterationPart::Transcript | IterationPart::Goals | IterationPart::Messages => Vec::new(),
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
        IterationPart::Transcript => {}
        IterationPart::Diff => diff::scroll(model, by),
        IterationPart::Goals | IterationPart::Messages => {
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
