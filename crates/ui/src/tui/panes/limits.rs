//! Limits with their usage, and the run's other settings.

use std::borrow::Cow;

use ralph_core::{
    event::{BreakerState, SessionMode, Usage},
    run::{GoalState, GoalStatus},
};
use ralph_policy::settings::format_duration;
use ralph_text::one_line;
use ralph_words::{breaker_in_words, cost_in_words, counted, goal_in_words, short_count, short_duration};
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

#[allow(clippy::cast_precision_loss)]
fn lines(model: &Model) -> Vec<LimitLine> {
    let run = &model.run;
    let limits = &run.settings.limits;
    let share = |used: u64, limit: Option<u64>| limit.map(|limit| used as f64 / limit.max(1) as f64);
    let of = |used: String, limit: Option<String>| match limit {
        Some(limit) => format!("{used} of {limit}"),
        None => used,
    };
    let iterations = u64::from(run.iterations.number);
    let elapsed_ms = run.elapsed_ms(model.now_ms);
    let since_ms = run
        .phase
        .running_since_ms()
        .map(|since| model.now_ms.saturating_sub(since));
    let tokens = run.usage.tokens();
    let calls = run.clock.calls_within_hour(model.now_ms) as u64;
    let duration = |limit: Option<u64>| limit.map(format_duration);
    let mut lines = vec![
        LimitLine {
            name: "iterations",
            text: of(iterations.to_string(), limits.max_iterations.map(|max| max.to_string())),
            share: share(iterations, limits.max_iterations.map(u64::from)),
        },
        LimitLine {
            name: "time",
            text: of(short_duration(elapsed_ms), duration(limits.max_time_ms)),
            share: share(elapsed_ms, limits.max_time_ms),
        },
        LimitLine {
            name: "this iteration",
            text: of(
                since_ms.map_or_else(|| "-".to_owned(), short_duration),
                duration(limits.iteration_timeout_ms),
            ),
            share: share(since_ms.unwrap_or(0), limits.iteration_timeout_ms),
        },
        LimitLine {
            name: "cost",
            text: of(
                cost_in_words(&run.usage).unwrap_or_else(|| "not reported".to_owned()),
                limits.max_cost_usd.map(|max| format!("${max}")),
            ),
            share: limits.max_cost_usd.map(|max| run.usage.cost_usd.unwrap_or(0.0) / max),
        },
        LimitLine {
            name: "tokens",
            text: of(
                tokens.map_or_else(|| "not reported".to_owned(), |tokens| in_and_out(tokens, &run.usage)),
                limits.max_tokens.map(short_count),
            ),
            share: share(tokens.unwrap_or(0), limits.max_tokens),
        },
        LimitLine {
            name: "calls per hour",
            text: of(calls.to_string(), limits.calls_per_hour.map(|max| max.to_string())),
            share: share(calls, limits.calls_per_hour.map(u64::from)),
        },
    ];
    let (work, per_task) = (run.current_work().unwrap_or_default(), &limits.per_task);
    if let Some(max) = per_task.max_iterations {
        let counted = u64::from(work.counted);
        lines.push(LimitLine {
            name: "task's iterations",
            text: of(counted.to_string(), Some(max.to_string())),
            share: share(counted, Some(u64::from(max))),
        });
    }
    let per_day = run.spending.limits_today(&limits.per_day);
    let today = run.spending.today();
    lines.extend(cost_of("task's cost", &work.usage, per_task.max_cost_usd));
    lines.extend(tokens_of("task's tokens", &work.usage, per_task.max_tokens));
    lines.extend(cost_of("today's cost", &today, per_day.max_cost_usd));
    lines.extend(tokens_of("today's tokens", &today, per_day.max_tokens));
    lines
}

fn cost_of(name: &'static str, usage: &Usage, max: Option<f64>) -> Option<LimitLine> {
    let max = max?;
    let used = cost_in_words(usage).unwrap_or_else(|| "not reported".to_owned());
    Some(LimitLine {
        name,
        text: format!("{used} of ${max}"),
        share: Some(usage.cost_usd.unwrap_or(0.0) / max),
    })
}

#[allow(clippy::cast_precision_loss)]
fn tokens_of(name: &'static str, usage: &Usage, max: Option<u64>) -> Option<LimitLine> {
    let (tokens, max) = (usage.tokens(), max?);
    let used = tokens.map_or_else(|| "not reported".to_owned(), short_count);
    Some(LimitLine {
        name,
        text: format!("{used} of {}", short_count(max)),
        share: Some(tokens.unwrap_or(0) as f64 / max.max(1) as f64),
    })
}

fn in_and_out(tokens: u64, usage: &Usage) -> String {
    let side = |tokens: Option<u64>| short_count(tokens.unwrap_or(0));
    let (input, output) = (side(usage.input_tokens), side(usage.output_tokens));
    format!("{} ({input} in, {output} out)", short_count(tokens))
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
