//! An iteration shown in full, one part at a time: transcript, changes, goals, messages, subagents.

use std::borrow::Cow;

use ratatui::layout::Rect;

use crate::{
    report::{goals_page, messages_page, subagents_page},
    tui::{
        model::{IterationPart, Model, PageRow, Playback},
        order::{ScreenOrder, StepDirection},
        pen::Pen,
        theme::TextRole,
    },
};

use super::{content::PaneContent, diff, page};

/// A part that consists of lines.
pub(super) struct PartContent;

impl PaneContent for PartContent {
    fn rows<'m>(&self, model: &'m Model) -> Cow<'m, [PageRow]> {
        let Some(open) = &model.ui.history.open else {
            return Cow::default();
        };
        let lines = match (open.part, model.run.iterations.numbered(open.iteration)) {
            (IterationPart::Goals, Some(iteration)) => goals_page(&iteration.look),
            (IterationPart::Messages, _) => messages_page(model.run.messages.iter(), open.iteration),
            (IterationPart::Subagents, Some(iteration)) => subagents_page(&iteration.subagents),
            (IterationPart::Transcript | IterationPart::Diff | IterationPart::Goals | IterationPart::Subagents, _) => {
                Vec::new()
            }
        };
        page::broken(lines, model.layout().main.width).into()
    }

    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        let rows = self.rows(model);
        match model.ui.history.open.as_ref().map(|open| open.part) {
            Some(IterationPart::Messages) if rows.is_empty() => {
                pen.note(area, "No message was delivered in this iteration.");
            }
            Some(IterationPart::Subagents) if rows.is_empty() => pen.note(area, "The agent reported no subagent."),
            _ if rows.is_empty() => pen.note(area, "No claim, and no goal ran."),
            _ => page::draw(&rows, self.at(model), area, pen),
        }
    }

    fn file(&self) -> &'static str {
        "iterations.txt"
    }
}

/// Draws the names of the parts, with the shown one highlighted.
pub(in crate::tui) fn draw_parts(playback: &Playback, area: Rect, pen: &mut Pen<'_>) {
    let mut x = pen.role(
        area.x + 1,
        area.y,
        area.right(),
        &format!("iteration {} ", playback.iteration),
        TextRole::Dim,
    );
    for part in IterationPart::ALL {
        let role = if part == playback.part {
            TextRole::Accent
        } else {
            TextRole::Plain
        };
        x = pen.role(x + 1, area.y, area.right(), part.name(), role) + 1;
    }
    let keys = "Left, Right turn";
    pen.right(
        x + 2,
        area.y,
        area.right().saturating_sub(1),
        keys,
        pen.theme.style(TextRole::Dim),
    );
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
    let (part, iteration) = (IterationPart::ALL[at % count], open.iteration);
    open.part = part;
    model.ui.opened_top = 0;
    match part {
        IterationPart::Diff => diff::show(model, iteration),
        IterationPart::Transcript | IterationPart::Goals | IterationPart::Messages | IterationPart::Subagents => {
            Vec::new()
        }
    }
}
