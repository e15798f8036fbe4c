//! The palette: available actions, found by name.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::ui::tui::{
    keys::Action,
    lines::edit,
    model::{ActionSearch, Mode, Model},
    offers::actions_found,
};

/// Handles a key of the palette. Returns the chosen action.
pub(super) fn choose(model: &mut Model, key: KeyEvent, mut palette: ActionSearch) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let found = actions_found(model, palette.query.text());
    let last = found.len().saturating_sub(1);
    match key.code {
        KeyCode::Esc => {
            model.ui.mode = Mode::Normal;
            return None;
        }
        KeyCode::Char('c') if control => {
            model.ui.mode = Mode::Normal;
            return None;
        }
        KeyCode::Enter => {
            let binding = found.get(palette.chosen.min(last))?;
            model.ui.mode = Mode::Normal;
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
    model.ui.mode = Mode::Palette(palette);
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
            Order,
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
        assert_eq!((&model.ui.mode, model.ui.pane), (&Mode::Normal, Pane::Log));
        update(&mut model, control('p'));
        press(&mut model, "pause after");
        assert_eq!(
            update(&mut model, key(KeyCode::Enter)),
            [Order::by_user(UserCommand::Pause)]
        );
    }

    #[test]
    fn only_what_works_here_and_now_is_offered() {
        let mut model = model(100, 30, running());
        model.ui.transcript = true;
        let offers = |model: &Model, action| actions_found(model, "").iter().any(|binding| binding.action == action);
        assert!(offers(&model, Action::Skip) && !offers(&model, Action::Type) && !offers(&model, Action::RetryNow));
        assert!(!offers(&model, Action::NextMatch) && !offers(&model, Action::Withdraw));
        press(&mut model, "m");
        assert!(!offers(&model, Action::Withdraw) && !offers(&model, Action::Open));
        model.apply(&Record {
            seq: 99,
            at_ms: model.now_ms,
            event: queued(1, SteeringKind::Next, "Use tabs"),
        });
        assert!(offers(&model, Action::Withdraw) && offers(&model, Action::Open));
        model.ui.replay = Some(ReplayState {
            speed: 1.0,
            paused: false,
            over: false,
        });
        assert!(!offers(&model, Action::Skip) && offers(&model, Action::Faster));
    }
}
