//! The answers to what the screen asks before it does something that cannot be taken back.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::{
    event::{RequestedBy, StopRequest, UserCommand},
    run::Phase,
    ui::tui::{
        keys::Chord,
        model::{Mode, Model, Question},
    },
    words::Tone,
};

use super::order::Order;

/// A box that appears under somebody's fingers is not answered by the key they were about to press.
const UNSEEN_MS: u64 = 400;

/// Shows the oldest question of the agent's that waits, unless it was left for later; takes away one that waits no more.
pub(in crate::ui::tui) fn show_permission(model: &mut Model) {
    let pending = &model.run.permissions.pending;
    if let Mode::Asking(Question::Permission { ask, .. }) = model.ui.mode
        && !pending.iter().any(|known| known.number == ask)
    {
        model.ui.mode = Mode::Normal;
    }
    let next = pending.iter().find(|known| known.number > model.ui.put_off);
    if let Some(next) = next
        && model.ui.mode == Mode::Normal
        && model.ui.replay.is_none()
    {
        model.ui.mode = Mode::Asking(Question::Permission {
            ask: next.number,
            shown_ms: model.now_ms,
        });
    }
}

/// Whether the agent may do what it asks for.
pub(super) fn permitting(model: &mut Model, key: KeyEvent, ask: u32, shown_ms: u64) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    let answer = |allow| {
        vec![Order::by_user(UserCommand::Answer {
            ask,
            allow,
            message: None,
        })]
    };
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => vec![Order::interrupt(model)],
        _ if model.now_ms.saturating_sub(shown_ms) < UNSEEN_MS => Vec::new(),
        (KeyCode::Char('y'), KeyModifiers::NONE) => answer(true),
        (KeyCode::Char('n'), KeyModifiers::NONE) => answer(false),
        (KeyCode::Esc, KeyModifiers::NONE) => {
            model.ui.put_off = ask;
            model.ui.mode = Mode::Normal;
            model
                .ui
                .toast(Tone::Wait, "left for later: a brings it back", model.now_ms);
            Vec::new()
        }
        // Anything else is no answer.
        _ => Vec::new(),
    }
}

/// Whether the run is to be stopped.
pub(super) fn quitting(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = Mode::Normal;
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('y' | 'q') | KeyCode::Enter, KeyModifiers::NONE) => {
            vec![Order::stop(StopRequest::Graceful, RequestedBy::User)]
        }
        (KeyCode::Char('a'), KeyModifiers::NONE) => vec![Order::stop(StopRequest::AfterIteration, RequestedBy::User)],
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => vec![Order::stop(StopRequest::Graceful, RequestedBy::Interrupt)],
        (KeyCode::Char('n') | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Anything else is no answer.
        _ => {
            model.ui.mode = Mode::Asking(Question::Quit);
            Vec::new()
        }
    }
}

/// Whether that iteration is to be ended.
pub(super) fn skipping(model: &mut Model, key: KeyEvent, iteration: u32) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = Mode::Normal;
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('y' | 'S') | KeyCode::Enter, KeyModifiers::NONE) => {
            // It may have ended by itself meanwhile; the next one was not meant.
            if matches!(model.run.phase, Phase::Running { iteration: current, .. } if current == iteration) {
                return vec![Order::by_user(UserCommand::Skip)];
            }
            model.ui.toast(Tone::Note, "the iteration is over", model.now_ms);
            Vec::new()
        }
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => vec![Order::interrupt(model)],
        (KeyCode::Char('n' | 'q') | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Anything else is no answer.
        _ => {
            model.ui.mode = Mode::Asking(Question::Skip { iteration });
            Vec::new()
        }
    }
}
