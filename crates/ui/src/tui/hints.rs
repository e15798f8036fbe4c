//! The key hints of the bottom row, and where they are: for drawing and for the mouse. Pure.

use ralph_core::{
    event::{StopReason, Wait},
    run::Phase,
};
use ratatui::layout::Rect;

use super::{
    keys::{Binding, KeyAction},
    layout::Focus,
    model::{BoardModel, Model, Pane, can_be_edited, message_at},
    offers::offered,
    pen::columns,
};

/// A key with its hint, at columns of the row.
pub(super) struct KeyHint {
    pub(super) key: String,
    pub(super) text: &'static str,
    pub(super) action: KeyAction,
    pub(super) start: u16,
    pub(super) end: u16,
}

/// The state of a replay, at the right end of the row of hints.
pub(super) fn replay_note(model: &Model) -> Option<String> {
    let replay = model.ui.replay?;
    Some(match (replay.over, replay.paused) {
        (true, _) => " replay · end ".to_owned(),
        (false, true) => format!(" replay · paused · {}× ", replay.speed),
        (false, false) => format!(" replay · {}× ", replay.speed),
    })
}

/// Whether the footer tells the end of the run. The report pane shows the same in more detail.
pub(super) fn tells_end(model: &Model) -> bool {
    model.run.end().is_some() && model.ui.replay.is_none() && model.ui.pane != Pane::Report
}

/// The hints of a run's screen: keys specific to the focus come first, since the others are the same everywhere. None
/// while a notice takes the only row of the footer.
pub(super) fn hints(model: &Model) -> Vec<KeyHint> {
    let footer = model.layout().footer;
    if footer.is_empty() || footer.height == 1 && (model.ui.toast.is_some() || tells_end(model)) {
        return Vec::new();
    }
    let taken = replay_note(model).map_or(0, |note| columns(&note));
    let area = Rect::new(footer.x, footer.bottom() - 1, footer.width.saturating_sub(taken), 1);
    let is_special = |binding: &&Binding| binding.places.len() == 1;
    let special = offered(model).filter(is_special);
    let common = offered(model).filter(|binding| !is_special(binding));
    let hinted = special.chain(common).map(|binding| (binding, hint(binding, model)));
    laid_out(hinted, area)
}

/// The action of the hint at `column` of the bottom row.
pub(super) fn action_at(model: &Model, column: u16) -> Option<KeyAction> {
    at_column(hints(model), column)
}

/// The hints of a batch's screen. None while a notice takes the only row of the footer.
pub(super) fn of_board(model: &BoardModel) -> Vec<KeyHint> {
    let footer = model.layout().footer;
    if footer.is_empty() || footer.height == 1 && model.toast.is_some() {
        return Vec::new();
    }
    let hinted = model.offered().map(|binding| (binding, binding.hint));
    laid_out(hinted, Rect::new(footer.x, footer.bottom() - 1, footer.width, 1))
}

/// The action of the hint at `column`.
pub(super) fn at_column(hints: Vec<KeyHint>, column: u16) -> Option<KeyAction> {
    let found = hints.into_iter().find(|hint| (hint.start..hint.end).contains(&column));
    found.map(|hint| hint.action)
}

/// The hints as far as there is room.
fn laid_out(bindings: impl Iterator<Item = (&'static Binding, &'static str)>, area: Rect) -> Vec<KeyHint> {
    let (mut start, right) = (area.x + 1, area.right());
    let mut shown = Vec::new();
    for (binding, text) in bindings.filter(|(_, hint)| !hint.is_empty()) {
        let key = binding.keys[0].name();
        // A hint is shown in full or not at all. Quit and help come last and are the most important.
        let reserve = match binding.action {
            KeyAction::Quit => 0,
            KeyAction::Help => 8,
            _ => 16,
        };
        let end = start + columns(&key) + 1 + columns(text);
        if end + reserve > right {
            continue;
        }
        shown.push(KeyHint {
            key,
            text,
            action: binding.action,
            start,
            end,
        });
        start = end + 2;
    }
    shown
}

/// The current effect of a key, in a word or two.
fn hint(binding: &Binding, model: &Model) -> &'static str {
    match binding.action {
        KeyAction::Steer => match model.run.stop_reason() {
            Some(StopReason::Blocked { .. }) => "answer",
            Some(_) => "resume with a message",
            None => binding.hint,
        },
        KeyAction::RetryNow if model.run.is_over() => "continue",
        KeyAction::ChooseWorker if waits_for_agent(model) => "other agent",
        KeyAction::PauseOrResume if model.run.is_paused() && model.ui.replay.is_none() => "resume",
        KeyAction::StopAfterIteration if model.run.stop.is_some() => "don't stop",
        KeyAction::NextFocus if model.ui.focus == Focus::Plan => "back",
        KeyAction::Zoom if model.ui.zoomed => "unzoom",
        KeyAction::Open if model.ui.pane == Pane::Messages => match message_at(model) {
            Some(message) if can_be_edited(model, message) => "edit",
            Some(_) | None => binding.hint,
        },
        _ => binding.hint,
    }
}

/// Whether a limit of the agent keeps the run waiting, which another agent of the run does not have.
fn waits_for_agent(model: &Model) -> bool {
    let is_waiting = matches!(
        model.run.phase,
        Phase::Waiting {
            wait: Wait::LimitReset,
            ..
        }
    );
    is_waiting && model.ui.replay.is_none() && model.run.settings.workers().len() > 1
}

#[cfg(test)]
mod tests {
    use ralph_system::proc::screen::{Screen, Scrollback};
    use ralph_words::Tone;
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::tui::{
        model::{Confirmation, InputMode, ReplayState},
        order::ScreenOrder,
        testing::{begun, model, running, stopped},
        theme::{Depth, Palette, Theme},
        update::{
            tests::{clicked, press},
            update,
        },
        view::{self, ShownTerminals},
    };

    fn hinted(model: &Model) -> Vec<&'static str> {
        let live = offered(model).filter(|binding| !binding.hint.is_empty());
        live.map(|binding| hint(binding, model)).collect()
    }

    #[test]
    fn only_keys_that_do_something_now_are_named() {
        let mut watched = model(100, 30, running());
        assert!(hinted(&watched).contains(&"type"));
        watched.ui.transcript = true;
        for absent in ["type", "answer", "retry now", "withdraw", "open"] {
            assert!(!hinted(&watched).contains(&absent), "{absent}");
        }
        watched.ui.show(Pane::History);
        assert!(hinted(&watched).contains(&"open"));
        let starting = model(100, 30, begun());
        assert!(!hinted(&starting).contains(&"skip"), "no iteration runs");
        let over = model(100, 30, [running(), vec![stopped(StopReason::Requested)]].concat());
        let names = hinted(&over);
        assert!(names.contains(&"resume with a message") && names.contains(&"quit"));
        assert!(
            !names.contains(&"pause") && !names.contains(&"stop after this"),
            "{names:?}"
        );
    }

    /// Clicks every column of the drawn footer and returns, for each action, the text under the pointer.
    fn clickable(model: &Model) -> Vec<(KeyAction, String)> {
        let row = model.layout().footer.bottom() - 1;
        let mut terminal = Terminal::new(TestBackend::new(model.ui.cols, model.ui.rows)).expect("a terminal");
        let screen = Screen::new(model.pane(), Scrollback::Cells(1));
        let screens = ShownTerminals {
            live: &screen,
            before: &[],
            kept: None,
            played: None,
        };
        let theme = Theme::new(Palette::Dark, Depth::True, false);
        let drawn = terminal.draw(|frame| view::draw(model, &screens, &theme, frame));
        let buffer = drawn.expect("a frame").buffer.clone();
        let mut found: Vec<(KeyAction, String)> = Vec::new();
        for column in 0..model.ui.cols {
            let Some(action) = action_at(model, column) else {
                continue;
            };
            match found.last_mut() {
                Some((last, text)) if *last == action => text.push_str(buffer[(column, row)].symbol()),
                _ => found.push((action, buffer[(column, row)].symbol().to_owned())),
            }
        }
        found
    }

    #[test]
    fn a_click_acts_on_the_hint_that_is_drawn_there() {
        let mut shown = [(100, 30), (80, 24), (40, 12), (20, 6)].map(|(cols, rows)| model(cols, rows, running()));
        for model in &mut shown {
            for replay in [false, true] {
                model.ui.replay = replay.then_some(ReplayState {
                    speed: 4.0,
                    paused: true,
                    over: false,
                });
                let found = clickable(model);
                let last = found.last().map(|(_, text)| text.as_str());
                assert!(
                    replay || last == Some("q quit"),
                    "{last:?} at {} columns",
                    model.ui.cols
                );
                for (hint, (action, text)) in hints(model).iter().zip(&found) {
                    assert_eq!(
                        (hint.action, format!("{} {}", hint.key, hint.text)),
                        (*action, text.clone())
                    );
                }
            }
        }
    }

    #[test]
    fn a_notice_in_the_only_row_of_the_footer_is_no_hint() {
        let mut model = model(40, 12, running());
        model.ui.toast(Tone::Note, "not waiting", model.now_ms);
        assert_eq!(clickable(&model), []);
    }

    #[test]
    fn an_iteration_opens_by_a_click_and_a_key_without_a_meaning_says_so() {
        let mut model = model(120, 40, running());
        let layout = model.layout();
        let last = layout.tasks.bottom() - 1;
        assert_eq!(
            update(&mut model, clicked(3, last - 1)),
            [ScreenOrder::Play { iteration: 2 }]
        );
        assert_eq!(model.ui.pane, Pane::History);
        press(&mut model, "x");
        let said = model.ui.toast.as_ref().map(|toast| toast.text.as_str());
        assert_eq!(said, Some("x: no action here (? lists keys)"));
        let quit = hints(&model).pop().expect("there are hints");
        update(&mut model, clicked(quit.start, layout.footer.bottom() - 1));
        assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Quit));
    }
}
