//! The key hints of the bottom row, and where they are: for drawing and for the mouse. Pure.

use ralph_core::event::StopReason;
use ratatui::layout::Rect;

use super::{
    keys::{Binding, KeyAction},
    layout::Focus,
    model::{Model, Pane, can_be_edited, message_at},
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

/// The hints of a run's screen: keys specific to the focus come first, since the others are the same everywhere.
pub(super) fn hints(model: &Model, area: Rect) -> Vec<KeyHint> {
    let is_special = |binding: &&Binding| binding.places.len() == 1;
    let special = offered(model).filter(is_special);
    let common = offered(model).filter(|binding| !is_special(binding));
    let hinted = special.chain(common).map(|binding| (binding, hint(binding, model)));
    laid_out(hinted, area)
}

/// The action of the hint at `column` of the bottom row.
pub(super) fn action_at(model: &Model, column: u16) -> Option<KeyAction> {
    let mut hints = hints(model, model.layout().footer).into_iter();
    hints
        .find(|hint| (hint.start..hint.end).contains(&column))
        .map(|hint| hint.action)
}

/// The hints as far as there is room.
pub(super) fn laid_out(bindings: impl Iterator<Item = (&'static Binding, &'static str)>, area: Rect) -> Vec<KeyHint> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{
        model::{Confirmation, InputMode},
        order::ScreenOrder,
        testing::{begun, model, running, stopped},
        update::{
            tests::{clicked, press},
            update,
        },
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

    #[test]
    fn a_click_on_a_hint_is_its_key() {
        let model = model(100, 30, running());
        for hint in hints(&model, model.layout().footer) {
            for column in [hint.start, hint.end - 1] {
                assert_eq!(action_at(&model, column), Some(hint.action), "{}", hint.text);
            }
        }
        assert_eq!(action_at(&model, 99), None);
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
        let quit = hints(&model, layout.footer).pop().expect("there are hints");
        update(&mut model, clicked(quit.start, layout.footer.bottom() - 1));
        assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Quit));
    }
}
