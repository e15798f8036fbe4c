//! The palette: available actions by name, with their keys.

use ratatui::layout::{Position, Rect};

use crate::ui::tui::{
    keys::Binding,
    model::{ActionSearch, Model},
    offers::actions_found,
    panes::{below_head, draw_list},
    pen::{Pen, columns},
    theme::TextRole,
};

use super::boxes::centred;

const WIDTH: u16 = 76;

/// Draws the palette. Returns its cursor position.
pub(super) fn draw(model: &Model, palette: &ActionSearch, whole: Rect, pen: &mut Pen<'_>) -> Option<Position> {
    let found = actions_found(model, palette.query.text());
    // Always high enough for all actions, so that it does not jump with every letter.
    let all = actions_found(model, "").len();
    let height = whole.height.min(u16::try_from(all + 3).unwrap_or(u16::MAX));
    let inner = centred(whole, whole.width.min(WIDTH), height, "actions", pen)?;
    let x = pen.role(inner.x + 1, inner.y, inner.right(), "> ", TextRole::User);
    pen.role(x, inner.y, inner.right(), palette.query.text(), TextRole::Strong);
    if found.is_empty() {
        pen.role(
            inner.x + 1,
            inner.y + 1,
            inner.right(),
            "no such action here",
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
    pen.role(
        area.x + 1,
        area.y,
        start.saturating_sub(2),
        binding.about,
        TextRole::Plain,
    );
}
