//! The list of background tasks: moving in it and ending a task.

use ralph_core::run::BackgroundState;

use crate::ui::tui::model::{Model, background_at};

use super::order::{ScreenOrder, Scroll, refused};

/// Moves the selection. The newest task is the first row.
pub(super) fn scroll(model: &mut Model, scroll: Scroll) {
    let last = model.run.background.tasks.len().saturating_sub(1);
    model.ui.background = scroll.downwards(model.ui.background, last);
}

/// Ends the selected task if it runs.
pub(super) fn cancel(model: &mut Model) -> Vec<ScreenOrder> {
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

    use ralph_core::event::{BackgroundEnd, BackgroundResult, Event, Requester};

    use super::*;
    use crate::ui::tui::{
        model::{Overlay, Pane},
        testing::{model, running},
        update::{
            ScreenEvent,
            tests::{key, press},
            update,
        },
    };

    fn started(number: u32) -> Event {
        Event::BackgroundStarted {
            number,
            by: Requester::Agent,
            command: format!("make {number}"),
            cwd: "/project".into(),
        }
    }

    #[test]
    fn the_chosen_task_is_ended_once_and_one_that_is_over_never() {
        let ended = Event::BackgroundEnded {
            number: 3,
            result: BackgroundResult {
                end: BackgroundEnd::Cancelled,
                duration_ms: 5,
                output_bytes: 0,
                tail: String::new(),
            },
        };
        let events = [running(), vec![started(1), started(2), started(3), ended]].concat();
        let mut model = model(100, 30, events);
        assert_eq!(press(&mut model, "8"), []);
        assert_eq!(model.ui.pane, Pane::Background);
        assert_eq!(press(&mut model, "x"), [], "the newest is over");
        assert!(model.ui.toast.take().is_some());
        assert_eq!(press(&mut model, "jx"), [ScreenOrder::CancelTask { number: 2 }]);
        let overlay = Overlay::Output { task: 2 };
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [ScreenOrder::Unfold(overlay)]);
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
            event: Event::BackgroundCancelled {
                number: 1,
                by: Requester::User,
            },
        });
        assert_eq!(press(&mut model, "x"), [], "it is being ended");
        assert!(model.ui.toast.is_some());
    }
}
