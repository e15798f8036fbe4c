//! The user's messages and what became of them, newest first.

use ratatui::layout::Rect;

use crate::{
    event::{Delivery, SteeringKind},
    run::{Delivered, Message, MessageState},
    text::one_line,
    ui::tui::{model::Model, theme::Role},
};

use super::pen::Pen;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let messages = &model.run.messages;
    if messages.is_empty() {
        return pen.note(area, "No messages. `:` writes one for the next prompt.");
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
        let mut x = pen.role(area.x + 1, y, end, &format!("{:>3} ", message.id.0), Role::Dim);
        x = pen.role(x, y, end, &format!("{kind:<9}"), Role::User);
        let role = if message.is_due() { Role::Wait } else { Role::Dim };
        x = pen.role(x, y, end, &format!("{:<22} ", state_in_words(message)), role);
        pen.role(x, y, end, &one_line(&message.text), Role::Plain);
        if at == chosen {
            pen.buffer
                .set_style(Rect::new(area.x, y, area.width, 1), pen.theme.style(Role::Chosen));
        }
    }
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
