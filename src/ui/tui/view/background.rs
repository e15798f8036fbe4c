//! The list of background tasks, one per row, newest first.

use ralph_core::{
    event::Requester,
    run::{BackgroundState, BackgroundTask},
};
use ralph_text::one_line;
use ralph_words::{background_state_in_words, background_went_well, command_in_words, short_duration, ticking};
use ratatui::layout::Rect;

use crate::ui::tui::{
    model::{Model, background_at},
    theme::TextRole,
};

use super::pen::{Pen, shortened};

/// Minimum width for the column with the task's starter.
const BY_COLS: u16 = 60;
/// Columns of a task's state.
const STATE_COLS: usize = 16;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let tasks = &model.run.background.tasks;
    if tasks.is_empty() || area.height < 2 {
        return pen.note(area, "No background tasks. `ralph tasks start -- COMMAND…` starts one.");
    }
    let end = area.right();
    let by = if area.width >= BY_COLS { "by     " } else { "" };
    let head = format!("    #  {:<STATE_COLS$}  {:>7}  {by}command", "state", "time");
    pen.role(area.x, area.y, end, &head, TextRole::Dim);
    let chosen = model.ui.background.min(tasks.len() - 1);
    let height = usize::from(area.height - 1);
    let first = chosen.saturating_sub(height - 1);
    for (y, (at, task)) in (area.y + 1..area.bottom()).zip(tasks.iter().rev().enumerate().skip(first)) {
        row(model, task, Rect::new(area.x, y, area.width, 1), pen);
        if at == chosen {
            pen.choose(Rect::new(area.x, y, area.width, 1));
        }
    }
}

fn row(model: &Model, task: &BackgroundTask, area: Rect, pen: &mut Pen<'_>) {
    let end = area.right();
    let role = match (&task.result, task.state()) {
        (Some(result), _) if background_went_well(result) => TextRole::Dim,
        (Some(_), _) => TextRole::Bad,
        (None, BackgroundState::Running) => TextRole::Accent,
        (None, BackgroundState::Ending | BackgroundState::Ended) => TextRole::Wait,
    };
    let state = shortened(
        &one_line(&background_state_in_words(task)),
        STATE_COLS,
        pen.theme.glyphs.more,
    );
    let age_ms = task.age_ms(model.now_ms);
    let time = match task.result {
        None => ticking(age_ms),
        Some(_) => short_duration(age_ms),
    };
    let mut x = pen.role(area.x, area.y, end, &format!("{:>5}  ", task.number), TextRole::Dim);
    x = pen.role(x, area.y, end, &format!("{state:<STATE_COLS$}  "), role);
    x = pen.role(x, area.y, end, &format!("{time:>7}  "), TextRole::Plain);
    if area.width >= BY_COLS {
        let by = match task.by {
            Requester::User => "you    ",
            Requester::Agent => "agent  ",
        };
        x = pen.role(x, area.y, end, by, TextRole::Dim);
    }
    x = pen.role(
        x,
        area.y,
        end,
        &one_line(&command_in_words(&task.command)),
        TextRole::Plain,
    );
    let progress = task.progress.as_ref().map(|progress| progress.last_line.as_str());
    let last = task
        .result
        .as_ref()
        .map_or(progress, |result| result.tail.lines().last());
    if let Some(last) = last {
        pen.role(x + 2, area.y, end, &one_line(last), TextRole::Dim);
    }
}

/// Index of the task shown in this row of the screen, counted from the newest.
pub(crate) fn background_row_at(model: &Model, area: Rect, row: u16) -> Option<usize> {
    let line = usize::from(row.checked_sub(area.y + 1)?);
    let count = model.run.background.tasks.len();
    let height = usize::from(area.height.saturating_sub(1)).max(1);
    let first = model
        .ui
        .background
        .min(count.saturating_sub(1))
        .saturating_sub(height - 1);
    Some(first + line).filter(|at| *at < count)
}

/// The title's note on the list.
pub(super) fn described(model: &Model) -> String {
    match background_at(model) {
        Some(_) => "Enter shows its output".to_owned(),
        None => String::new(),
    }
}
