//! Text input, above all of messages to the agent. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::event::{SteeringId, SteeringKind, UserCommand};
use ralph_words::Tone;

use crate::ui::tui::editor::Editor;

use super::{
    model::{InputMode, Model, Recalling},
    order::ScreenOrder,
    search_query::SearchQuery,
};

pub(super) fn steering(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let ui = &mut model.ui;
    if key.code == KeyCode::Char('r') && key.modifiers.contains(KeyModifiers::CONTROL) {
        ui.mode = InputMode::Recalling(Recalling::default());
        return Vec::new();
    }
    match typed(&mut ui.steering, key) {
        TypingEffect::Edited => {}
        TypingEffect::TooLong => too_long(model),
        TypingEffect::Entered => return send(model),
        TypingEffect::Cancelled => {
            ui.mode = InputMode::Normal;
            stop_editing(model);
        }
        TypingEffect::Interrupted => {
            ui.steering.take();
            ui.mode = InputMode::Normal;
            stop_editing(model);
        }
        TypingEffect::Above => ui.recall.older(&mut ui.steering),
        TypingEffect::Below => ui.recall.newer(&mut ui.steering),
    }
    Vec::new()
}

/// The effect of a key on a multi-line text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypingEffect {
    Edited,
    /// The text is full.
    TooLong,
    /// The text is complete.
    Entered,
    Cancelled,
    Interrupted,
    /// Up on the first line, or down on the last.
    Above,
    Below,
}

/// Applies a key to a multi-line text.
pub(super) fn typed(editor: &mut Editor, key: KeyEvent) -> TypingEffect {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Esc => return TypingEffect::Cancelled,
        KeyCode::Char('c') if control => return TypingEffect::Interrupted,
        KeyCode::Char(_) if !control && !alt && !editor.has_room_for("x") => return TypingEffect::TooLong,
        KeyCode::Enter if alt || shift || control => editor.insert("\n"),
        // Terminals without a code for Ctrl-Enter send Ctrl-J.
        KeyCode::Char('j') if control => editor.insert("\n"),
        KeyCode::Enter => return TypingEffect::Entered,
        KeyCode::Up if !editor.up() => return TypingEffect::Above,
        KeyCode::Down if !editor.down() => return TypingEffect::Below,
        KeyCode::Up | KeyCode::Down => {}
        _ => edit(editor, key),
    }
    TypingEffect::Edited
}

/// Inserts a paste into the message, whole or not at all: half an instruction may mean the contrary.
pub(super) fn paste(model: &mut Model, text: &str) {
    if model.ui.steering.has_room_for(text) {
        model.ui.steering.insert(text);
    } else {
        too_long(model);
    }
}

pub(super) fn too_long(model: &mut Model) {
    let why = "a message has at most 64 KiB, a line of it 16: write a file and name it";
    model.ui.toast(Tone::Bad, why, model.now_ms);
}

fn send(model: &mut Model) -> Vec<ScreenOrder> {
    model.ui.mode = InputMode::Normal;
    let typed = model.ui.steering.take();
    let edited = stop_editing(model);
    let message = parse_message(&typed);
    if message.is_some() {
        model.ui.recall.push(typed.trim().to_owned());
    }
    if let Some(old) = edited {
        return replace(model, old, message);
    }
    let Some((kind, text)) = message else {
        return Vec::new();
    };
    vec![
        ScreenOrder::by_user(UserCommand::Steer { kind, text }),
        ScreenOrder::RememberMessages,
    ]
}

/// Ends the editing of a queued message without a change and restores the draft.
fn stop_editing(model: &mut Model) -> Option<SteeringId> {
    let editing = model.ui.editing.take()?;
    model.ui.steering = editing.draft;
    Some(editing.id)
}

/// Replaces a queued message. An empty or unchanged text leaves the message as it is.
fn replace(model: &mut Model, old: SteeringId, new: Option<(SteeringKind, String)>) -> Vec<ScreenOrder> {
    let known = model.run.messages.iter().find(|message| message.id == old);
    let is_due = known.is_some_and(|message| message.is_due());
    let is_same = known
        .zip(new.as_ref())
        .is_some_and(|(known, (kind, text))| (known.kind, known.text.as_str()) == (*kind, text.as_str()));
    let Some((kind, text)) = new.filter(|_| !is_same) else {
        model
            .ui
            .toast(Tone::Note, format!("message {} is unchanged", old.0), model.now_ms);
        return Vec::new();
    };
    let mut orders = vec![ScreenOrder::by_user(UserCommand::Steer { kind, text })];
    if is_due {
        orders.push(ScreenOrder::by_user(UserCommand::Withdraw { id: old }));
    } else {
        let text = format!("message {} was delivered meanwhile; this one is sent as well", old.0);
        model.ui.toast(Tone::Note, text, model.now_ms);
    }
    orders.push(ScreenOrder::RememberMessages);
    orders
}

/// Handles a key in the search through sent messages.
pub(super) fn recalling(model: &mut Model, key: KeyEvent, mut shown: Recalling) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let needle = SearchQuery::parse(shown.query.text());
    let recall = &mut model.ui.recall;
    let found: Vec<usize> = recall.found(needle.as_ref()).map(|(steps, _)| steps).collect();
    let is_older = key.code == KeyCode::Up || control && key.code == KeyCode::Char('r');
    model.ui.mode = match key.code {
        KeyCode::Esc => InputMode::Steering,
        KeyCode::Char('c' | 'g') if control => InputMode::Steering,
        KeyCode::Enter => {
            if let Some(steps) = found.get(shown.nth) {
                recall.go_back(*steps, &mut model.ui.steering);
            }
            InputMode::Steering
        }
        _ if is_older => {
            shown.nth = (shown.nth + 1).min(found.len().saturating_sub(1));
            InputMode::Recalling(shown)
        }
        KeyCode::Down => {
            shown.nth = shown.nth.saturating_sub(1);
            InputMode::Recalling(shown)
        }
        _ => {
            edit(&mut shown.query, key);
            shown.nth = 0;
            InputMode::Recalling(shown)
        }
    };
}

/// Handles the editing keys common to all text input.
pub(super) fn edit(editor: &mut Editor, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('a') if control => editor.home(),
        KeyCode::Char('e') if control => editor.end(),
        KeyCode::Char('u') if control => editor.kill_to_start(),
        KeyCode::Char('k') if control => editor.kill_to_end(),
        KeyCode::Char('w') if control => editor.kill_word(),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Backspace if alt || control => editor.kill_word(),
        KeyCode::Left if alt || control => editor.word_left(),
        KeyCode::Right if alt || control => editor.word_right(),
        KeyCode::Char(character) if !control && !alt => editor.insert(character.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        _ => {}
    }
}

/// Splits the typed text into the message's kind and text; `None` if the text is empty.
pub(super) fn parse_message(typed: &str) -> Option<(SteeringKind, String)> {
    let typed = typed.trim();
    let (kind, text) = match typed.chars().next()? {
        '!' => (SteeringKind::Now, &typed[1..]),
        '+' => (SteeringKind::Standing, &typed[1..]),
        _ => (SteeringKind::Next, typed),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| (kind, text.to_owned()))
}
