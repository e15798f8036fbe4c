//! Limits with their usage, and the run's other settings.

use std::borrow::Cow;

use ralph_core::{
    event::{BreakerState, LimitKind, SessionMode},
    limits::{LIMITS, consumption, limits_now},
    run::{GoalState, GoalStatus},
};
use ralph_policy::settings::format_duration;
use ralph_text::one_line;
use ralph_words::{breaker_in_words, counted, goal_in_words, limit_use_in_words, short_duration};
use ratatui::layout::Rect;

use crate::tui::{
    model::{Model, PageRow},
    pen::Pen,
    theme::TextRole,
};

use super::content::PaneContent;

/// Columns of the names and of the bars.
const NAME_COLS: u16 = 18;
const BAR_COLS: usize = 20;

struct LimitLine {
    name: &'static str,
    text: String,
    /// Used share of the limit; `None` without a limit.
    share: Option<f64>,
}

/// A row of the pane.
enum LimitRow {
    Gap,
    Used(LimitLine),
    Goal(GoalStatus),
    Setting(&'static str, String),
}

pub(super) struct LimitsContent;

impl PaneContent for LimitsContent {
    /// The rows without bars and signs.
    fn rows<'m>(&self, model: &'m Model) -> Cow<'m, [PageRow]> {
        let text = |row: &LimitRow| match row {
            LimitRow::Gap => String::new(),
            LimitRow::Used(line) => format!("{} {}", line.name, line.text),
            LimitRow::Goal(known) => format!("goal {}", one_line(&state_of_goal(known))),
            LimitRow::Setting(name, text) => format!("{name} {}", one_line(text)),
        };
        let rows = rows(model).into_iter();
        rows.map(|row| PageRow::from_pieces(vec![(text(&row), TextRole::Plain)]))
            .collect()
    }

    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        let end = area.right();
        let texts = area.x + 1 + NAME_COLS;
        let rows = rows(model);
        let last = rows.len().saturating_sub(usize::from(area.height));
        let top = self.at(model).min(last);
        for (y, row) in (area.top()..area.bottom()).zip(rows.iter().skip(top)) {
            pen.role(area.x + 1, y, end, row.name(), TextRole::Dim);
            match row {
                LimitRow::Gap => {}
                LimitRow::Used(line) => {
                    let x = match area.width > 60 {
                        true => bar(line.share, texts, y, end, pen) + 2,
                        false => texts,
                    };
                    pen.role(x, y, end, &line.text, TextRole::Plain);
                }
                LimitRow::Goal(known) => {
                    let (sign, role, text) = goal(known, pen);
                    let x = pen.role(texts, y, end, sign, role) + 1;
                    pen.role(x, y, end, &one_line(&text), TextRole::Plain);
                }
                LimitRow::Setting(name, text) => {
                    let moved = *name == "stuck" && model.run.breaker.state != BreakerState::Closed;
                    let role = if moved { TextRole::Bad } else { TextRole::Plain };
                    pen.role(texts, y, end, &one_line(text), role);
                }
            }
        }
    }

    fn file(&self) -> &'static str {
        "limits.txt"
    }
}

fn rows(model: &Model) -> Vec<LimitRow> {
    let goals = &model.run.goals;
    let gap = (!goals.is_empty()).then_some(LimitRow::Gap);
    let used = lines(model).into_iter().map(LimitRow::Used).chain([LimitRow::Gap]);
    let goals = goals.iter().cloned().map(LimitRow::Goal).chain(gap);
    let settings = settings(model).into_iter();
    used.chain(goals)
        .chain(settings.map(|(name, text)| LimitRow::Setting(name, text)))
        .collect()
}

impl LimitRow {
    fn name(&self) -> &'static str {
        match self {
            LimitRow::Gap => "",
            LimitRow::Used(line) => line.name,
            LimitRow::Goal(_) => "goal",
            LimitRow::Setting(name, _) => name,
        }
    }
}

fn goal(known: &GoalStatus, pen: &Pen<'_>) -> (&'static str, TextRole, String) {
    let (sign, role) = sign_of_goal(known, pen);
    (sign, role, state_of_goal(known))
}

/// The sign and role of a goal's result.
pub(in crate::tui) fn sign_of_goal(known: &GoalStatus, pen: &Pen<'_>) -> (&'static str, TextRole) {
    let glyphs = pen.theme.glyphs;
    match &known.state {
        GoalState::Unknown => (glyphs.open, TextRole::Dim),
        GoalState::Running => (glyphs.wait, TextRole::Wait),
        GoalState::Checked { result } if result.passed => (glyphs.good, TextRole::Good),
        GoalState::Checked { .. } => (glyphs.bad, TextRole::Bad),
    }
}

fn state_of_goal(known: &GoalStatus) -> String {
    let name = &known.name;
    match &known.state {
        GoalState::Unknown => format!("{name}: not checked yet"),
        GoalState::Running => format!("{name}: being checked"),
        GoalState::Checked { result } => goal_in_words(result),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn bar(share: Option<f64>, x: u16, y: u16, end: u16, pen: &mut Pen<'_>) -> u16 {
    let glyphs = pen.theme.glyphs;
    let Some(share) = share else {
        return pen.role(x, y, end, &format!("{:<BAR_COLS$}", "unlimited"), TextRole::Dim);
    };
    let full = ((share.clamp(0.0, 1.0) * BAR_COLS as f64).round() as usize).min(BAR_COLS);
    let role = match share {
        ..0.75 => TextRole::GaugeDone,
        0.75..0.95 => TextRole::Wait,
        _ => TextRole::Bad,
    };
    let x = pen.role(x, y, end, &glyphs.full.repeat(full), role);
    pen.role(x, y, end, &glyphs.rest.repeat(BAR_COLS - full), TextRole::GaugeRest)
}

/// The limits with their usage, and the time of the iteration.
fn lines(model: &Model) -> Vec<LimitLine> {
    let run = &model.run;
    let (limits, used) = (limits_now(run), consumption(run, model.now_ms));
    let mut lines = Vec::new();
    for row in LIMITS.iter().filter(|row| row.is_shown(&limits, &used)) {
        let unused = row.max(&limits).map(|_| 0.0);
        lines.push(LimitLine {
            name: row.name,
            text: limit_use_in_words(row, &limits, &used),
            share: row.share(&limits, &used).or(unused),
        });
        if row.kind == LimitKind::MaxTime {
            lines.push(this_iteration(model));
        }
    }
    lines
}

#[allow(clippy::cast_precision_loss)]
fn this_iteration(model: &Model) -> LimitLine {
    let since_ms = model.run.phase.running_since_ms();
    let since_ms = since_ms.map(|since_ms| model.now_ms.saturating_sub(since_ms));
    let max_ms = model.run.settings.limits.iteration_timeout_ms;
    let used = since_ms.map_or_else(|| "-".to_owned(), short_duration);
    LimitLine {
        name: "this iteration",
        text: max_ms.map_or(used.clone(), |max_ms| format!("{used} of {}", format_duration(max_ms))),
        share: max_ms.map(|max_ms| since_ms.unwrap_or(0) as f64 / max_ms.max(1) as f64),
    }
}

fn settings(model: &Model) -> Vec<(&'static str, String)> {
    let run = &model.run;
    let settings = &run.settings;
    let breaker = breaker_in_words(run.breaker.state, run.breaker.why.as_ref());
    let mut lines = vec![
        ("stuck", breaker),
        ("failures", format!("{} in a row", run.iterations.failures)),
        (
            "idle limit",
            settings
                .limits
                .idle_timeout_ms
                .map_or_else(|| "unlimited".to_owned(), format_duration),
        ),
        ("adapter", settings.adapter.clone()),
        ("plan", settings.plan.display().to_string()),
        (
            "session",
            match settings.session {
                SessionMode::Fresh => "fresh in each iteration".to_owned(),
                SessionMode::Resume => "continued across iterations".to_owned(),
            },
        ),
    ];
    let model_name = run.model.as_ref().or(settings.model.as_ref());
    lines.extend(model_name.map(|name| ("model", name.clone())));
    lines.extend(run.run.as_ref().map(|id| ("run", id.to_string())));
    if model.log.dropped() > 0 {
        lines.push((
            "log",
            format!("{} are only in the journal", counted(model.log.dropped(), "older line")),
        ));
    }
    lines
}
