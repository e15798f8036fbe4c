//! The background tasks, one per row, newest first.

use ralph_core::{
    event::Requester,
    run::{BackgroundState, BackgroundTask},
};
use ralph_text::one_line;
use ralph_words::{background_state_in_words, background_went_well, command_in_words, short_duration, ticking};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    keys::KeyAction,
    model::{Model, Overlay, background_at},
    order::{ScreenOrder, refused},
    pen::{Pen, shortened},
    theme::TextRole,
};

use super::{
    content::{PaneContent, below_head, draw_list, list_line_at},
    terminal,
};

/// Minimum width for the column with the task's starter.
const BY_COLS: u16 = 60;
/// Columns of a task's state.
const STATE_COLS: usize = 16;

pub(super) struct BackgroundContent;

impl PaneContent for BackgroundContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        let tasks = &model.run.background.tasks;
        if tasks.is_empty() || area.height < 2 {
            return pen.note(area, "No background tasks. `ralph tasks start -- COMMAND…` starts one.");
        }
        let by = if area.width >= BY_COLS { "by     " } else { "" };
        let head = format!("    #  {:<STATE_COLS$}  {:>7}  {by}command", "state", "time");
        pen.role(area.x, area.y, area.right(), &head, TextRole::Dim);
        let row = |task: &BackgroundTask, area, pen: &mut Pen<'_>| row(model, task, area, pen);
        draw_list(tasks.iter().rev(), self.at(model), below_head(area), pen, row);
    }

    fn note(&self, model: &Model) -> String {
        background_at(model).map_or_else(String::new, |_| "Enter shows its output".to_owned())
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let tasks = model.run.background.tasks.iter().rev();
        tasks.for_each(|task| take(&one_line(&task.command)));
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.run.background.tasks.len())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match (action, background_at(model).map(|task| task.number)) {
            (KeyAction::Open, Some(task)) => terminal::show(model, Overlay::Output { task }),
            (KeyAction::CancelTask, _) => cancel(model),
            _ => Vec::new(),
        }
    }

    fn hit(&self, model: &Model, area: Rect, at: Position) -> Option<usize> {
        list_line_at(self.at(model), self.last(model), below_head(area), at)
    }

    /// The command, followed by the end of its output once it is over.
    fn copy(&self, model: &Model) -> Option<String> {
        let task = background_at(model)?;
        let tail = task.result.as_ref().map_or("", |result| result.tail.as_str());
        Some(format!("{}\n{tail}", task.command).trim_end().to_owned())
    }

    fn file(&self) -> &'static str {
        "tasks.txt"
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

/// Ends the selected task if it runs.
fn cancel(model: &mut Model) -> Vec<ScreenOrder> {
    let Some((number, state)) = background_at(model).map(|task| (task.number, task.state())) else {
        return refused(model, "there is no background task");
    };
    match state {
        BackgroundState::Running => vec![ScreenOrder::CancelTask { number }],
        BackgroundState::Ending => refused(model, &format!("background task {number} is being ended already")),
        BackgroundState::Ended => refused(model, &format!("background task {number} is over already")),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use ralph_core::event::{BackgroundEnd, BackgroundEvent, BackgroundResult, Event};

    use super::*;
    use crate::tui::{
        model::Pane,
        order::{ScreenEvent, Scroll},
        testing::{model, running},
        update::{
            tests::{key, press},
            update,
        },
    };

    fn started(number: u32) -> Event {
        Event::Background(BackgroundEvent::Started {
            number,
            by: Requester::Agent,
            command: format!("make {number}"),
            cwd: "/project".into(),
        })
    }

    #[test]
    fn the_chosen_task_is_ended_once_and_one_that_is_over_never() {
        let ended = Event::Background(BackgroundEvent::Ended {
            number: 3,
            result: BackgroundResult {
                end: BackgroundEnd::Cancelled,
                duration_ms: 5,
                output_bytes: 0,
                tail: "".into(),
            },
        });
        let events = [running(), vec![started(1), started(2), started(3), ended]].concat();
        let mut model = model(100, 30, events);
        assert_eq!(press(&mut model, "8"), []);
        assert_eq!(model.ui.pane, Pane::Background);
        assert_eq!(press(&mut model, "x"), [], "the newest is over");
        assert!(model.ui.toast.take().is_some());
        assert_eq!(press(&mut model, "jx"), [ScreenOrder::CancelTask { number: 2 }]);
        let overlay = Overlay::Output { task: 2 };
        assert_eq!(
            update(&mut model, key(KeyCode::Enter)),
            [ScreenOrder::Unfold(overlay.clone())]
        );
        let result = Ok(());
        assert_eq!(
            update(&mut model, ScreenEvent::Unfolded { overlay, result }),
            [],
            "its end is in view"
        );
        assert!(model.ui.shows_cells());
        assert_eq!(press(&mut model, "k"), [ScreenOrder::Scroll(Scroll::Up(1))]);
        update(&mut model, key(KeyCode::Esc));
        assert_eq!((model.ui.pane, model.ui.shows_cells()), (Pane::Background, false));
        assert_eq!(press(&mut model, "Gx"), [ScreenOrder::CancelTask { number: 1 }]);
        model.apply(&ralph_core::event::Record {
            seq: 99,
            at_ms: model.now_ms,
            event: Event::Background(BackgroundEvent::Cancelled {
                number: 1,
                by: Requester::User,
            }),
        });
        assert_eq!(press(&mut model, "x"), [], "it is being ended");
        assert!(model.ui.toast.is_some());
    }
}
