//! The palette: available actions, found by name.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::ui::tui::{
    keys::KeyAction,
    lines::edit,
    model::{ActionSearch, InputMode, Model},
    offers::actions_found,
};

/// Handles a key of the palette. Returns the chosen action.
pub(super) fn choose(model: &mut Model, key: KeyEvent, mut palette: ActionSearch) -> Option<KeyAction> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let found = actions_found(model, palette.query.text());
    let last = found.len().saturating_sub(1);
    match key.code {
        KeyCode::Esc => {
            model.ui.mode = InputMode::Normal;
            return None;
        }
        KeyCode::Char('c') if control => {
            model.ui.mode = InputMode::Normal;
            return None;
        }
        KeyCode::Enter => {
            let binding = found.get(palette.chosen.min(last))?;
            model.ui.mode = InputMode::Normal;
            return Some(binding.action);
        }
        KeyCode::Up => palette.chosen = palette.chosen.saturating_sub(1),
        KeyCode::Down => palette.chosen = (palette.chosen + 1).min(last),
        KeyCode::Char('p') if control => palette.chosen = palette.chosen.saturating_sub(1),
        KeyCode::Char('n') if control => palette.chosen = (palette.chosen + 1).min(last),
        _ => {
            edit(&mut palette.query, key);
            palette.chosen = 0;
        }
    }
    model.ui.mode = InputMode::Palette(palette);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Record, SteeringKind, UserCommand};

    use crate::ui::tui::{
        model::{Pane, ReplayState},
        testing::{model, queued, running},
        update::{
            ScreenOrder,
            tests::{control, key, press},
            update,
        },
    };

    #[test]
    fn an_action_is_found_by_its_name_and_done() {
        let mut model = model(100, 30, running());
        update(&mut model, control('p'));
        press(&mut model, "zzz");
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "there is no such action");
        update(&mut model, control('u'));
        press(&mut model, "event l");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!((&model.ui.mode, model.ui.pane), (&InputMode::Normal, Pane::Log));
        update(&mut model, control('p'));
        press(&mut model, "pause after");
        assert_eq!(
            update(&mut model, key(KeyCode::Enter)),
            [ScreenOrder::by_user(UserCommand::Pause)]
        );
    }

    #[test]
    fn only_what_works_here_and_now_is_offered() {
        let mut model = model(100, 30, running());
        model.ui.transcript = true;
        let offers = |model: &Model, action| actions_found(model, "").iter().any(|binding| binding.action == action);
        assert!(
            offers(&model, KeyAction::Skip) && !offers(&model, KeyAction::Type) && !offers(&model, KeyAction::RetryNow)
        );
        assert!(!offers(&model, KeyAction::NextMatch) && !offers(&model, KeyAction::Withdraw));
        press(&mut model, "m");
        assert!(!offers(&model, KeyAction::Withdraw) && !offers(&model, KeyAction::Open));
        model.apply(&Record {
            seq: 99,
            at_ms: model.now_ms,
            event: queued(1, SteeringKind::Next, "Use tabs"),
        });
        assert!(offers(&model, KeyAction::Withdraw) && offers(&model, KeyAction::Open));
        model.ui.replay = Some(ReplayState {
            speed: 1.0,
            paused: false,
            over: false,
        });
        assert!(!offers(&model, KeyAction::Skip) && offers(&model, KeyAction::Faster));
    }
}
