//! The user's messages and their state, newest first.

use ralph_core::{
    event::{Delivery, SteeringKind},
    run::{Delivered, Message, MessageState},
};
use ralph_text::{one_line, sanitized};
use ratatui::layout::Rect;

use crate::ui::tui::{
    model::{Model, ReadMessage, message_at},
    theme::TextRole,
};

use super::pen::{Pen, wrapped};

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let messages = &model.run.messages;
    if messages.is_empty() {
        return pen.note(area, "No messages. `:` writes one for the next prompt.");
    }
    if let Some(read) = model.ui.reading {
        return whole(model, read, area, pen);
    }
    let height = usize::from(area.height);
    let chosen = model.ui.message.min(messages.len() - 1);
    let first = chosen.saturating_sub(height.saturating_sub(1));
    for (y, (at, message)) in (area.top()..area.bottom()).zip(messages.iter().rev().enumerate().skip(first)) {
        let end = area.right();
        let kind = match message.kind {
            SteeringKind::Next => "next",
            SteeringKind::Now => "now",
            SteeringKind::Standing => "standing",
        };
        let mut x = pen.role(area.x + 1, y, end, &format!("{:>3} ", message.id.0), TextRole::Dim);
        x = pen.role(x, y, end, &format!("{kind:<9}"), TextRole::User);
        let role = if message.is_due() {
            TextRole::Wait
        } else {
            TextRole::Dim
        };
        x = pen.role(x, y, end, &format!("{:<22} ", state_in_words(message)), role);
        pen.role(x, y, end, &one_line(&message.text), TextRole::Plain);
        if at == chosen {
            pen.choose(Rect::new(area.x, y, area.width, 1));
        }
    }
}

fn whole(model: &Model, read: ReadMessage, area: Rect, pen: &mut Pen<'_>) {
    let lines = lines(model);
    let top = read.top.min(lines.len().saturating_sub(usize::from(area.height)));
    for (y, (at, line)) in (area.top()..area.bottom()).zip(lines.iter().enumerate().skip(top)) {
        let role = if at == 0 { TextRole::Dim } else { TextRole::Plain };
        pen.role(area.x + 1, y, area.right(), line, role);
    }
}

/// The last possible top line of a message shown in full.
pub(crate) fn last_line(model: &Model) -> usize {
    let height = usize::from(model.layout().main.height);
    lines(model).len().saturating_sub(height)
}

/// The state and the full text of the open message, wrapped for the pane.
pub(crate) fn lines(model: &Model) -> Vec<String> {
    let Some(message) = message_at(model) else {
        return Vec::new();
    };
    let kind = match message.kind {
        SteeringKind::Next => "next",
        SteeringKind::Now => "now",
        SteeringKind::Standing => "standing",
    };
    let head = format!("message {} · {kind} · {}", message.id.0, state_in_words(message));
    let room = usize::from(model.layout().main.width.saturating_sub(2));
    let text = sanitized(&message.text);
    let rows = text.lines().flat_map(|line| wrapped(line, room));
    [head, String::new()].into_iter().chain(rows).collect()
}

fn state_in_words(message: &Message) -> String {
    match message.state() {
        MessageState::Queued => "queued".to_owned(),
        MessageState::Delivered(Delivered {
            iteration,
            how: Delivery::Prompt,
        }) => format!("in the prompt of {iteration}"),
        MessageState::Delivered(Delivered {
            iteration,
            how: Delivery::Live,
        }) => format!("live in iteration {iteration}"),
        MessageState::Withdrawn => "withdrawn".to_owned(),
    }
}
