//! The iterations so far, a row each.

use ratatui::{layout::Rect, style::Style};

use crate::{
    event::Outcome,
    run::Iteration,
    text::one_line,
    ui::tui::{
        model::Model,
        theme::{Role, Theme},
    },
    words::{outcome_word, short_duration, ticking},
};

use super::pen::Pen;

/// Narrower terminals show neither commits nor files nor cost.
const WIDE_COLS: u16 = 70;

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let rows = &model.run.iterations.rows;
    if rows.is_empty() || area.height < 2 {
        return pen.note(area, "No iteration has run.");
    }
    let wide = area.width >= WIDE_COLS;
    let costs = wide && rows.iter().any(|iteration| iteration.usage.cost_usd.is_some());
    let minus = pen.theme.glyphs.minus;
    let head = if wide {
        format!(
            " {:>5}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6} {:>6}  {}task",
            "#",
            "outcome",
            "time",
            "commits",
            "files",
            "+",
            minus,
            if costs { "    cost  " } else { "" }
        )
    } else {
        format!(" {:>5}  {:>6}  {:>6} {:>6}  task", "#", "time", "+", minus)
    };
    pen.role(area.x, area.y, area.right(), &head, Role::Dim);
    let first = first_in_history(model, area);
    let chosen = rows.len() - 1 - model.ui.history.selected.min(rows.len() - 1);
    for (y, (at, iteration)) in (area.y + 1..area.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let (sign, style) = sign(iteration, pen.theme);
        let mut x = pen.text(area.x + 1, y, area.right(), sign, style);
        x = pen.role(x, y, area.right(), &cells(model, iteration, wide, minus), Role::Plain);
        if costs {
            let cost = iteration.usage.cost_usd.map(|cost| format!("${cost:.4}"));
            let cost = cost.as_deref().unwrap_or("-");
            x = pen.role(x, y, area.right(), &format!("{cost:>8}  "), Role::Plain);
        }
        let task = iteration.task.as_deref().unwrap_or("check that everything is done");
        pen.role(x, y, area.right(), &one_line(task), Role::Dim);
        if at == chosen {
            pen.buffer
                .set_style(Rect::new(area.x, y, area.width, 1), pen.theme.style(Role::Chosen));
        }
    }
}

fn cells(model: &Model, iteration: &Iteration, wide: bool, minus: &str) -> String {
    let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let changes = iteration.changes;
    let duration = match iteration.outcome {
        Some(_) => short_duration(iteration.duration_ms),
        None => ticking(model.now_ms.saturating_sub(iteration.started_ms)),
    };
    let added = changes.map_or_else(|| "-".to_owned(), |changes| format!("+{}", changes.added));
    let removed = changes.map_or_else(|| "-".to_owned(), |changes| format!("{minus}{}", changes.removed));
    if !wide {
        return format!("{:>4}  {duration:>6}  {added:>6} {removed:>6}  ", iteration.number);
    }
    let outcome = iteration.outcome.as_ref().map_or("running", outcome_word);
    let commits = number(changes.map(|changes| u64::from(changes.commits)));
    let files = number(changes.map(|changes| u64::from(changes.files)));
    format!(
        "{:>4}  {outcome:<9}  {duration:>6}  {commits:>7}  {files:>5}  {added:>6} {removed:>6}  ",
        iteration.number
    )
}

/// The sign of an iteration's outcome.
pub(super) fn sign(iteration: &Iteration, theme: &Theme) -> (&'static str, Style) {
    let glyphs = theme.glyphs;
    let (sign, role) = match &iteration.outcome {
        None => (glyphs.current, Role::Accent),
        Some(Outcome::Completed) => (glyphs.good, Role::Good),
        Some(Outcome::Failed { .. } | Outcome::Interrupted) => (glyphs.bad, Role::Bad),
        Some(Outcome::Cancelled { .. }) => (glyphs.wait, Role::Wait),
    };
    (sign, theme.style(role))
}

/// Index of the first iteration that is shown, so that the chosen one is in view.
pub(crate) fn first_in_history(model: &Model, area: Rect) -> usize {
    let count = model.run.iterations.rows.len();
    let height = usize::from(area.height).saturating_sub(1).max(1);
    let chosen = count.saturating_sub(1).saturating_sub(model.ui.history.selected);
    count.saturating_sub(height).min(chosen)
}
