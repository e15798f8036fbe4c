//! The full view of an iteration, one part at a time: transcript, changes, goals, messages.

use ralph_system::proc::screen::Screen;
use ratatui::layout::Rect;

use crate::ui::{
    report::{goals_page, messages_page},
    tui::{
        model::{IterationPart, Model, Playback, PlaybackState, ReportRow},
        theme::TextRole,
    },
};

use super::{cells, diff, pen::Pen, report};

pub(super) fn draw(model: &Model, playback: &Playback, played: Option<&Screen>, area: Rect, pen: &mut Pen<'_>) {
    if area.height < 2 {
        return;
    }
    parts(playback, area, pen);
    let area = Rect::new(area.x, area.y + 1, area.width, area.height - 1);
    match playback.part {
        IterationPart::Transcript => match (&playback.state, played) {
            (PlaybackState::Loaded, Some(screen)) => {
                cells::play(screen, model.layout().terminal().intersection(area), pen)
            }
            (PlaybackState::Loading, _) | (PlaybackState::Loaded, None) => pen.note(area, "Reading the recording…"),
            (PlaybackState::Failed(why), _) => pen.note(area, why),
        },
        IterationPart::Diff => diff::draw(model, area, pen),
        IterationPart::Goals | IterationPart::Messages => {
            let rows = part_rows(model, playback, area.width);
            if rows.is_empty() {
                let none = match playback.part {
                    IterationPart::Messages => "No message was delivered in this iteration.",
                    _ => "No claim, and no goal ran.",
                };
                return pen.note(area, none);
            }
            report::lines(&rows, playback.top, area, pen);
        }
    }
}

/// Draws the names of the parts, with the shown one highlighted.
fn parts(playback: &Playback, area: Rect, pen: &mut Pen<'_>) {
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
    let keys = "Left and Right turn";
    pen.right(
        x + 2,
        area.y,
        area.right().saturating_sub(1),
        keys,
        pen.theme.style(TextRole::Dim),
    );
}

/// The rows of a part that consists of lines, wrapped for a width.
pub(crate) fn part_rows(model: &Model, playback: &Playback, width: u16) -> Vec<ReportRow> {
    let lines = match (playback.part, model.run.iterations.numbered(playback.iteration)) {
        (IterationPart::Goals, Some(iteration)) => goals_page(&iteration.look),
        (IterationPart::Messages, _) => messages_page(model.run.messages.iter(), playback.iteration),
        (IterationPart::Transcript | IterationPart::Diff | IterationPart::Goals, _) => Vec::new(),
    };
    report::broken(lines, width)
}
