//! The box for a message to the agent, and the search through earlier messages.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::{
    event::{SteeringId, SteeringKind, UserCommand},
    run::Phase,
};
use ralph_words::Tone;
use ratatui::layout::{Position, Rect};

use crate::tui::{
    model::{InputMode, Model, Recalling},
    order::ScreenOrder,
    pen::{Pen, columns},
    search_query::SearchQuery,
    theme::TextRole,
};

use super::typed::{self, TypingEffect, edit, typed};

/// Maximum visible lines of a message.
const MESSAGE_ROWS: usize = 8;

pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
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

/// Inserts a paste into the message, whole or not at all: half an instruction may mean the contrary.
pub(in crate::tui) fn paste(model: &mut Model, text: &str) {
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
pub(in crate::tui) fn recalling(model: &mut Model, key: KeyEvent, mut shown: Recalling) {
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

/// Splits the typed text into the message's kind and text; `None` if the text is empty.
fn parse_message(typed: &str) -> Option<(SteeringKind, String)> {
    let typed = typed.trim();
    let (kind, text) = match typed.chars().next()? {
        '!' => (SteeringKind::Now, &typed[1..]),
        '+' => (SteeringKind::Standing, &typed[1..]),
        _ => (SteeringKind::Next, typed),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| (kind, text.to_owned()))
}

/// Draws the message box. Returns its cursor position.
pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 3 {
        return None;
    }
    let editor = &model.ui.steering;
    let title = match &model.ui.editing {
        Some(editing) => format!("edit message {} · {}", editing.id.0, explained(model)),
        None => explained(model),
    };
    let keys = [
        " Enter sends · Alt-Enter newline · Ctrl-R finds what you sent · Esc cancels ",
        " Enter sends · Alt-Enter newline · Esc cancels ",
    ];
    let rows = typed::rows(editor, usize::from(area.width) - 4);
    let inner = written(&title, rows, &keys, area, pen);
    Some(typed::draw(editor, inner, pen))
}

/// Draws the search through earlier messages. Returns its cursor position.
pub(super) fn draw_recall(model: &Model, recalling: &Recalling, area: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    if area.width < 6 || area.height < 4 {
        return None;
    }
    let query = recalling.query.text();
    let needle = SearchQuery::parse(query);
    let found: Vec<&str> = model.ui.recall.found(needle.as_ref()).map(|(_, text)| text).collect();
    let text = found.get(recalling.nth).copied().unwrap_or_default();
    let rows = typed::broken(text, usize::from(area.width) - 4);
    let keys = [
        " Enter takes it · Ctrl-R older · Down newer · Esc goes back ",
        " Enter takes it · Ctrl-R older ",
    ];
    let inner = written("search what you sent", rows.len() + 1, &keys, area, pen);
    let x = pen.role(inner.x + 1, inner.y, inner.right(), "/", TextRole::User);
    let end = pen.role(x, inner.y, inner.right(), query, TextRole::Strong);
    let (place, role) = match found.len() {
        0 => ("not found".to_owned(), TextRole::Bad),
        count => (format!("{}/{count}", recalling.nth + 1), TextRole::Dim),
    };
    pen.role(end + 2, inner.y, inner.right(), &place, role);
    let below = Rect::new(inner.x, inner.y + 1, inner.width, inner.height.saturating_sub(1));
    for (y, row) in (below.top()..below.bottom()).zip(&rows) {
        pen.role(below.x + 1, y, below.right(), row, TextRole::Plain);
    }
    if let Some(needle) = &needle {
        pen.mark(below, needle, None);
    }
    Some(Position::new(x + columns(recalling.query.before()), inner.y))
}

/// Draws a frame at the bottom for `rows` rows, with the longest of `keys` that fits. Returns its inside.
pub(super) fn written(title: &str, rows: usize, keys: &[&str], area: Rect, pen: &mut Pen<'_>) -> Rect {
    let most = MESSAGE_ROWS.min(usize::from(area.height) - 2);
    let height = u16::try_from(rows.min(most) + 2).unwrap_or(3);
    let outer = Rect::new(area.x, area.bottom() - height, area.width, height);
    let inner = pen.framed(outer, title, TextRole::User);
    let (from, end) = (outer.x + 2, outer.right().saturating_sub(2));
    let fitting = keys.iter().find(|keys| from + columns(keys) <= end);
    if let Some(keys) = fitting {
        pen.right(from, outer.bottom() - 1, end, keys, pen.theme.style(TextRole::Dim));
    }
    inner
}

/// The effect of the message as it is typed now.
fn explained(model: &Model) -> String {
    if model.run.is_over() {
        return "message: the run resumes with it".to_owned();
    }
    let typed = model.ui.steering.text().trim_start();
    let kind = match (parse_message(typed), typed.chars().next()) {
        (Some((kind, _)), _) => kind,
        (None, Some('!')) => SteeringKind::Now,
        (None, Some('+')) => SteeringKind::Standing,
        (None, _) => {
            return "message: in the next prompt · start with ! to send now, + for every prompt".to_owned();
        }
    };
    match kind {
        SteeringKind::Next => "next: in the next prompt, once".to_owned(),
        SteeringKind::Standing => "standing: in every prompt until you withdraw it".to_owned(),
        SteeringKind::Now => match &model.run.phase {
            Phase::Running {
                live_steering: true, ..
            } => "now: the agent gets it while it works".to_owned(),
            Phase::Running { iteration, .. } => {
                format!("now: iteration {iteration} is stopped; the next starts with it")
            }
            _ => "now: in the next prompt, since nothing is running".to_owned(),
        },
    }
}
