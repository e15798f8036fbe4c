//! The footer: the current notice, facts not shown elsewhere, and the available keys.

use ralph_core::{
    event::{Changes, Usage},
    run::Phase,
};
use ralph_text::one_line;
use ralph_words::{
    changes_in_words, counted, hint_for, short_count, short_duration, stop_in_words, wait_cause_in_words,
};
use ratatui::{layout::Rect, style::Style};

use crate::tui::{
    hints::{self, KeyHint},
    model::Model,
    panes::outstanding_in_words,
    pen::{Pen, StyledText, shortened},
    theme::TextRole,
};

use super::{
    header::{phase_in_words, phase_sign, tool},
    timeline,
};

pub(super) fn footer(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let line = |y| Rect::new(area.x, y, area.width, 1);
    if area.height == 1 {
        if !notice(model, line(area.y), pen) {
            hints(model, line(area.y), pen);
        }
        return;
    }
    let is_said = notice(model, line(area.y), pen) || timeline::draw(model, line(area.y), pen);
    if !is_said {
        totals(model, line(area.y), pen);
    }
    hints(model, line(area.y + 1), pen);
}

/// Draws the current notice. Returns whether there is one.
fn notice(model: &Model, area: Rect, pen: &mut Pen<'_>) -> bool {
    let (text, sign, style): (String, &str, Style) = match (&model.ui.toast, model.run.end()) {
        (Some(toast), _) => {
            let (sign, style) = pen.theme.tone(toast.tone);
            (one_line(&toast.text), sign, style)
        }
        (None, Some(end)) if hints::tells_end(model) => {
            let all = u64::from(end.totals.tasks_done + end.totals.tasks_open);
            let mut parts = vec![
                stop_in_words(&end.reason),
                format!("{} of {}", end.totals.tasks_done, counted(all, "task")),
                counted(u64::from(end.totals.iterations), "iteration"),
                short_duration(end.totals.elapsed_ms),
            ];
            parts.extend(end.hints.first().map(|hint| hint_for(hint, &model.run)));
            let (_, role) = phase_in_words(model);
            (
                one_line(&parts.join(" · ")),
                phase_sign(model, pen),
                pen.theme.style(role),
            )
        }
        (None, _) => return false,
    };
    pen.text(area.x + 1, area.y, area.right(), &format!("{sign} {text}"), style);
    true
}

/// Facts not shown elsewhere: the reason for a wait, changes, and messages for the agent.
fn totals(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let run = &model.run;
    let dim = pen.theme.style(TextRole::Dim);
    let mut parts: Vec<Vec<StyledText>> = Vec::new();
    if let Some((what, since)) = tool(model) {
        let what = shortened(&what, usize::from(area.width / 2), pen.theme.glyphs.more);
        let sign = format!("{} ", pen.theme.glyphs.tool);
        parts.push(vec![
            (sign, pen.theme.style(TextRole::Hunk)),
            (what, pen.theme.style(TextRole::Plain)),
            (format!(" {since}"), dim),
        ]);
    }
    if let Phase::Waiting { why, .. } = &run.phase {
        parts.push(vec![(
            one_line(&wait_cause_in_words(why)),
            pen.theme.style(TextRole::Wait),
        )]);
    }
    // With a side bar, the list of iterations shows the last one.
    let last = run.iterations.rows.iter().rev().find_map(|iteration| iteration.changes);
    let last = last.filter(|changes| *changes != Changes::default());
    if let Some(changes) = last.filter(|_| !model.layout().has_side_bar()) {
        parts.push(vec![
            ("last ".to_owned(), dim),
            (format!("+{}", changes.added), pen.theme.style(TextRole::Added)),
            (
                format!(" {}{}", pen.theme.glyphs.minus, changes.removed),
                pen.theme.style(TextRole::Removed),
            ),
        ]);
    }
    let mut plain: Vec<String> = run
        .changes
        .iter()
        .map(|changes| format!("total {}", changes_in_words(changes)))
        .collect();
    plain.extend(tokens_in_short(&run.usage));
    plain.extend(outstanding_in_words(run));
    if model.ui.dropped_bytes > 0 {
        plain.push("some output is only in the recording".to_owned());
    }
    if parts.is_empty() && plain.is_empty() {
        plain.push(one_line(&run.settings.plan.display().to_string()));
    }
    parts.extend(plain.into_iter().map(|part| vec![(part, dim)]));
    let pieces = parts.join(&(format!(" {} ", pen.theme.glyphs.dot), dim));
    pen.pieces(area.x + 1, area.y, area.right().saturating_sub(1), &pieces);
}

/// Total tokens; the pane of limits has them in detail.
fn tokens_in_short(usage: &Usage) -> Option<String> {
    match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => {
            let tokens = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
            Some(format!("{} tokens", short_count(tokens)))
        }
    }
}

fn hints(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let mut right = area.right();
    if let Some(note) = hints::replay_note(model) {
        right = pen.right(area.x, area.y, right, &note, pen.theme.style(TextRole::User));
    }
    let area = Rect {
        width: right - area.x,
        ..area
    };
    draw_hints(&hints::hints(model), area, pen);
}

/// Draws keys with their hints.
pub(super) fn draw_hints(hints: &[KeyHint], area: Rect, pen: &mut Pen<'_>) {
    for hint in hints {
        let x = pen.role(hint.start, area.y, area.right(), &hint.key, TextRole::Key);
        pen.role(x, area.y, area.right(), &format!(" {}", hint.text), TextRole::Dim);
    }
}
