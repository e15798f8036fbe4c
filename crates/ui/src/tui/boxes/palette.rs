//! The palette: available actions, found by name, with their keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    keys::{Binding, KeyAction},
    model::{ActionSearch, InputMode, Model},
    offers::actions_found,
    panes::{below_head, draw_list},
    pen::{Pen, columns},
    theme::TextRole,
};

use super::typed::edit;

const WIDTH: u16 = 76;

/// Draws the palette. Returns its cursor position.
pub(super) fn draw(model: &Model, palette: &ActionSearch, whole: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    let found = actions_found(model, palette.query.text());
    // Always high enough for all actions, so that it does not jump with every letter.
    let all = actions_found(model, "").len();
    let height = whole.height.min(u16::try_from(all + 3).unwrap_or(u16::MAX));
    let inner = pen.centred(whole, whole.width.min(WIDTH), height, "commands")?;
    let x = pen.role(inner.x + 1, inner.y, inner.right(), "> ", TextRole::User);
    pen.role(x, inner.y, inner.right(), palette.query.text(), TextRole::Strong);
    if found.is_empty() {
        pen.role(
            inner.x + 1,
            inner.y + 1,
            inner.right(),
            "no such command here",
            TextRole::Dim,
        );
    }
    let chosen = palette.chosen.min(found.len().saturating_sub(1));
    draw_list(found.into_iter(), chosen, below_head(inner), pen, row);
    let cursor = x + columns(palette.query.before());
    Some(Position::new(cursor.min(inner.right() - 1), inner.y))
}

fn row(binding: &Binding, area: Rect, pen: &mut Pen<'_>) {
    let names: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
    let end = area.right() - 1;
    let keys = names.join(" ");
    let start = pen.right(area.x + 1, area.y, end, &keys, pen.theme.style(TextRole::Key));
    let end = start.saturating_sub(2);
    let x = pen.role(area.x + 1, area.y, end, binding.name, TextRole::Plain);
    if !binding.about.is_empty() {
        pen.role(x + 2, area.y, end, binding.about, TextRole::Dim);
    }
}

/// Handles a key of the palette. Returns the chosen action.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent, mut palette: ActionSearch) -> Option<KeyAction> {
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

    use crate::tui::{
        looks::LookChange,
        model::{Pane, ReplayState},
        order::ScreenOrder,
        testing::{model, queued, running},
        theme::Palette,
        update::{
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
        press(&mut model, "log");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!((&model.ui.mode, model.ui.pane), (&InputMode::Normal, Pane::Log));
        update(&mut model, control('p'));
        press(&mut model, "pause");
        assert_eq!(
            update(&mut model, key(KeyCode::Enter)),
            [ScreenOrder::by_user(UserCommand::Pause)]
        );
        // A command without a key.
        update(&mut model, control('p'));
        press(&mut model, "light");
        assert_eq!(
            update(&mut model, key(KeyCode::Enter)),
            [ScreenOrder::Look(LookChange::Theme(Palette::Light))]
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
