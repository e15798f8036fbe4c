//! Confirmation questions of the screen before irreversible actions.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::{
    event::{RequestedBy, SteeringId, StopRequest, UserCommand},
    run::Phase,
};
use ralph_words::Tone;

use crate::ui::tui::{
    keys::Chord,
    model::{Confirmation, InputMode, Model},
    order::ScreenOrder,
    panes::withdrawn,
};

/// Handles Ctrl-C: asks whether to stop the run. If the run is already being stopped, the stop is escalated. A finished
/// run or a replay is left.
pub(super) fn interrupt(model: &mut Model) -> Vec<ScreenOrder> {
    if model.run.is_over() || model.ui.replay.is_some() {
        return vec![ScreenOrder::Leave];
    }
    match model.run.stop.map(|stop| stop.request) {
        Some(StopRequest::Graceful | StopRequest::Immediate) => {
            vec![ScreenOrder::stop(StopRequest::Graceful, RequestedBy::Interrupt)]
        }
        Some(StopRequest::AfterIteration) | None => {
            model.ui.mode = InputMode::Asking(Confirmation::Quit);
            Vec::new()
        }
    }
}

/// Handles a key of the question whether to stop the run, or leave it running if it can be left.
pub(super) fn quitting(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = InputMode::Normal;
    match (chord.code, chord.modifiers) {
        // A key typed without looking must not stop anything.
        (KeyCode::Char('d' | 'q') | KeyCode::Enter, KeyModifiers::NONE) if model.ui.detaches => {
            vec![ScreenOrder::Detach]
        }
        (KeyCode::Char('y' | 'q') | KeyCode::Enter, KeyModifiers::NONE) => {
            vec![ScreenOrder::stop(StopRequest::Graceful, RequestedBy::User)]
        }
        (KeyCode::Char('a'), KeyModifiers::NONE) => {
            vec![ScreenOrder::stop(StopRequest::AfterIteration, RequestedBy::User)]
        }
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => {
            vec![ScreenOrder::stop(StopRequest::Graceful, RequestedBy::Interrupt)]
        }
        (KeyCode::Char('n') | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Any other key is not an answer.
        _ => {
            model.ui.mode = InputMode::Asking(Confirmation::Quit);
            Vec::new()
        }
    }
}

/// Handles a key of the question whether to end an iteration.
pub(super) fn skipping(model: &mut Model, key: KeyEvent, iteration: u32) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = InputMode::Normal;
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('y' | 'S') | KeyCode::Enter, KeyModifiers::NONE) => {
            // The iteration may have ended meanwhile; the next one must not be skipped.
            if matches!(model.run.phase, Phase::Running { iteration: current, .. } if current == iteration) {
                return vec![ScreenOrder::by_user(UserCommand::Skip)];
            }
            model.ui.toast(Tone::Note, "the iteration is over", model.now_ms);
            Vec::new()
        }
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => interrupt(model),
        (KeyCode::Char('n' | 'q') | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Any other key is not an answer.
        _ => {
            model.ui.mode = InputMode::Asking(Confirmation::Skip { iteration });
            Vec::new()
        }
    }
}

/// Handles a key of the question whether to continue a finished run with a raised limit.
pub(super) fn continuing(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = InputMode::Normal;
    match (chord.code, chord.modifiers) {
        // The run may have been continued elsewhere meanwhile.
        (KeyCode::Char('y' | 'r') | KeyCode::Enter, KeyModifiers::NONE) if model.run.is_over() => {
            vec![ScreenOrder::Continue]
        }
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => interrupt(model),
        (KeyCode::Char('y' | 'r' | 'n' | 'q') | KeyCode::Enter | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Any other key is not an answer.
        _ => {
            model.ui.mode = InputMode::Asking(Confirmation::More);
            Vec::new()
        }
    }
}

/// Handles a key of the question whether to withdraw a standing message.
pub(super) fn withdrawing(model: &mut Model, key: KeyEvent, id: SteeringId) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    model.ui.mode = InputMode::Normal;
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('y' | 'x') | KeyCode::Enter, KeyModifiers::NONE) => vec![withdrawn(id)],
        (KeyCode::Char('c'), KeyModifiers::CONTROL) => interrupt(model),
        (KeyCode::Char('n' | 'q') | KeyCode::Esc, KeyModifiers::NONE) => Vec::new(),
        // Any other key is not an answer.
        _ => {
            model.ui.mode = InputMode::Asking(Confirmation::Withdraw { id });
            Vec::new()
        }
    }
}
