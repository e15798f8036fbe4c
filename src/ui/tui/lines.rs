//! The lines that are typed: messages to the agent, searches. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::{
    event::{SteeringKind, UserCommand},
    ui::tui::editor::Editor,
    words::Tone,
};

use super::{
    model::{DiffState, Mode, Model, Pane, ask_in_words, listed, position, select},
    update::{Direction, Order},
};

pub(super) fn steering(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let ui = &mut model.ui;
    match typed(&mut ui.steering, key) {
        Typed::Edited => {}
        Typed::TooLong => too_long(model),
        Typed::Entered => return send(model),
        Typed::Cancelled => ui.mode = Mode::Normal,
        Typed::Interrupted => {
            ui.steering.take();
            ui.mode = Mode::Normal;
        }
        Typed::Above => ui.recall.older(&mut ui.steering),
        Typed::Below => ui.recall.newer(&mut ui.steering),
    }
    Vec::new()
}

/// What a key did to a text of several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    Edited,
    /// There is no room for more.
    TooLong,
    /// The text is as it is meant to be.
    Entered,
    Cancelled,
    Interrupted,
    /// A line above the first, or below the last.
    Above,
    Below,
}

/// Takes a key of a text of several lines.
pub(super) fn typed(editor: &mut Editor, key: KeyEvent) -> Typed {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Esc => return Typed::Cancelled,
        KeyCode::Char('c') if control => return Typed::Interrupted,
        KeyCode::Char(_) if !control && !alt && !editor.has_room_for("x") => return Typed::TooLong,
        KeyCode::Enter if alt || shift => editor.insert("\n"),
        // What Enter with Alt or Shift sends where a terminal has no word for it.
        KeyCode::Char('j') if control => editor.insert("\n"),
        KeyCode::Enter => return Typed::Entered,
        KeyCode::Up if !editor.up() => return Typed::Above,
        KeyCode::Down if !editor.down() => return Typed::Below,
        KeyCode::Up | KeyCode::Down => {}
        _ => edit(editor, key),
    }
    Typed::Edited
}

/// Takes a paste into the message, whole or not at all: half an instruction may say the contrary of the whole.
pub(super) fn paste(model: &mut Model, text: &str) {
    if model.ui.steering.has_room_for(text) {
        model.ui.steering.insert(text);
    } else {
        too_long(model);
    }
}

pub(super) fn too_long(model: &mut Model) {
    let why = "a message holds at most 64 KiB, a line of it 16: write a file and name that";
    model.ui.toast(Tone::Bad, why, model.now_ms);
}

fn send(model: &mut Model) -> Vec<Order> {
    model.ui.mode = Mode::Normal;
    let typed = model.ui.steering.take();
    let Some((kind, text)) = parse_message(&typed) else {
        return Vec::new();
    };
    model.ui.recall.push(typed.trim().to_owned());
    vec![
        Order::by_user(UserCommand::Steer { kind, text }),
        Order::RememberMessages,
    ]
}

pub(super) fn searching(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let ui = &mut model.ui;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => {
            ui.search.query.take();
            ui.mode = Mode::Normal;
        }
        KeyCode::Char('c') if control => {
            ui.search.query.take();
            ui.mode = Mode::Normal;
        }
        KeyCode::Enter => {
            ui.mode = Mode::Normal;
            return find_again(model, Direction::Older);
        }
        KeyCode::Up => return find(model, Direction::Older),
        KeyCode::Down => return find(model, Direction::Newer),
        _ => {
            edit(&mut ui.search.query, key);
            ui.search.missed = false;
        }
    }
    Vec::new()
}

/// Goes to the next match of the last search, and says so if there is none.
pub(super) fn find_again(model: &mut Model, direction: Direction) -> Vec<Order> {
    if model.ui.search.query.text().is_empty() {
        model
            .ui
            .toast(Tone::Note, "nothing was searched for yet; `/` does", model.now_ms);
        return Vec::new();
    }
    let orders = find(model, direction);
    if orders.is_empty() {
        return tell_missed(model);
    }
    orders
}

/// Says that a search found nothing, where no line for it is open.
pub(super) fn tell_missed(model: &mut Model) -> Vec<Order> {
    if model.ui.search.missed && model.ui.mode == Mode::Normal {
        let text = format!("not found: {}", model.ui.search.query.text());
        model.ui.toast(Tone::Note, text, model.now_ms);
    }
    Vec::new()
}

/// Goes to the next match, where the lines are the model's own; terminals are searched by who owns them.
fn find(model: &mut Model, direction: Direction) -> Vec<Order> {
    let query = model.ui.search.query.text().to_lowercase();
    if query.is_empty() {
        return Vec::new();
    }
    if model.ui.shows_cells() {
        return vec![Order::Find(direction)];
    }
    let has = |text: &str| text.to_lowercase().contains(&query);
    let found = match model.ui.pane {
        Pane::Log => {
            let log = &model.log;
            let newest = log.len().saturating_sub(1);
            let at = newest.saturating_sub(model.ui.log_below);
            let hit = |at: &usize| log.get(*at).is_some_and(|line| has(&line.text));
            let hit = match direction {
                Direction::Older => (0..at).rev().find(hit),
                Direction::Newer => (at + 1..log.len()).find(hit),
            };
            hit.map(|at| model.ui.log_below = newest - at).is_some()
        }
        Pane::Diff => {
            let DiffState::Loaded(lines) = &model.ui.diff.state else {
                return Vec::new();
            };
            let top = model.ui.diff.top;
            let hit = |at: &usize| lines.get(*at).is_some_and(|line| has(line));
            let hit = match direction {
                Direction::Older => (0..top.min(lines.len())).rev().find(hit),
                Direction::Newer => (top + 1..lines.len()).find(hit),
            };
            hit.map(|at| model.ui.diff.top = at).is_some()
        }
        Pane::History => {
            let rows = &model.run.iterations.rows;
            let at = rows.len().saturating_sub(1).saturating_sub(model.ui.history.selected);
            let hit = |at: &usize| {
                rows.get(*at)
                    .is_some_and(|row| has(row.task.as_deref().unwrap_or_default()))
            };
            let hit = match direction {
                Direction::Older => (0..at).rev().find(hit),
                Direction::Newer => (at + 1..rows.len()).find(hit),
            };
            hit.map(|at| model.ui.history.selected = rows.len() - 1 - at).is_some()
        }
        Pane::Asks if model.ui.asks.reading.is_none() => {
            let at = position(model);
            // The newest are the first rows.
            let hit = {
                let rows = listed(model).enumerate().filter(|(_, entry)| has(&ask_in_words(entry)));
                let mut rows = rows.map(|(row, _)| row);
                match direction {
                    Direction::Older => rows.find(|row| *row > at),
                    Direction::Newer => rows.take_while(|row| *row < at).last(),
                }
            };
            hit.map(|row| select(model, row)).is_some()
        }
        Pane::Terminal | Pane::Messages | Pane::Asks | Pane::Limits => false,
    };
    model.ui.search.missed = !found;
    Vec::new()
}

/// The keys that every line knows.
fn edit(editor: &mut Editor, key: KeyEvent) {
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

/// Splits what was typed on the steering line into its kind and its text; none if there is no text.
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
