//! The report pane: rendered after a change, and opened automatically when the run is over.

use ralph_core::event::StopReason;

use crate::ui::tui::{
    editor::Editor,
    model::{AnswerBox, AnswerStep, InputMode, Model, Pane, used_up},
    view,
};

use super::order::Scroll;

/// Renders the report again if it is shown and the run or the width has changed.
pub(in crate::ui::tui) fn refresh(model: &mut Model) {
    let main = model.layout().main;
    if model.ui.pane != Pane::Report || model.ui.report.width == Some(main.width) {
        return;
    }
    model.ui.report.rows = view::report_rows(model, main.width);
    model.ui.report.width = Some(main.width);
    model.ui.report.top = model.ui.report.top.min(last_top(model));
}

fn last_top(model: &Model) -> usize {
    let rows = model.ui.report.rows.len();
    rows.saturating_sub(usize::from(model.layout().main.height))
}

pub(super) fn scroll(model: &mut Model, by: Scroll) {
    model.ui.report.top = by.downwards(model.ui.report.top, last_top(model));
}

/// Shows the end of a finished run once the user is not typing, with an answer line if a question blocks it.
pub(in crate::ui::tui) fn show_end(model: &mut Model) {
    if !model.ui.report.due || model.ui.mode != InputMode::Normal {
        return;
    }
    let shown = model.ui.pane;
    model.ui.show(Pane::Report);
    model.ui.report.top = 0;
    model.ui.report.due = false;
    model.ui.report.instead_of = (shown != Pane::Report).then_some(shown);
    if matches!(model.run.stop_reason(), Some(StopReason::Blocked { .. }))
        || model.run.permissions.about_tests().is_some()
    {
        answer(model);
    }
}

/// Opens the answer line for the question with which the run ended. Returns false if nothing can be answered.
pub(super) fn answer(model: &mut Model) -> bool {
    if let Some(asked) = model.run.permissions.about_tests() {
        model.ui.mode = InputMode::Answering(AnswerBox {
            late: true,
            ..AnswerBox::new(asked.number, model.now_ms)
        });
        return true;
    }
    let Some(block) = model.run.blocks.last() else {
        return false;
    };
    if used_up(&model.run).is_some() {
        return false;
    }
    model.ui.mode = InputMode::Answering(AnswerBox {
        late: true,
        step: AnswerStep::Wording(Editor::default()),
        ..AnswerBox::new(block.number, model.now_ms)
    });
    true
}
