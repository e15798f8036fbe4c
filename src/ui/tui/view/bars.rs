//! Header, title and footer.

use ratatui::{layout::Rect, style::Style};

use crate::{
    event::{BreakerState, EndKind, StopReason, Usage},
    run::Phase,
    text::one_line,
    ui::tui::{
        keys,
        model::{Model, estimate_ms, used_up},
        theme::Role,
    },
    words::{
        agent_with_channel, changes_in_words, counted, hint_in_words, phase_headline, short_count, short_duration,
        stop_in_words, ticking, wait_cause_in_words,
    },
};

use super::pen::{Pen, Piece, columns};

pub(super) fn header(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    let (words, role) = phase_in_words(model);
    let style = pen.theme.style(role);
    let sign = phase_sign(model, pen);
    let end = area.right();
    let mut x = area.x;
    if area.width >= 40 {
        x = pen.role(x, area.y, end, " ralph  ", Role::Accent);
    }
    let elapsed = format!("{} ", ticking(model.run.elapsed_ms(model.now_ms)));
    let mut right = pen.right(x + 12, area.y, end, &elapsed, pen.theme.style(Role::Dim));
    let agent = agent_in_words(model);
    let needed = columns(&words) + 4;
    if area.height == 1 {
        let (done, all) = (model.run.plan.done(), model.run.plan.tasks.len());
        let tasks = format!("{done}/{all}  ");
        right = pen.right(x + needed.min(14), area.y, right, &tasks, pen.theme.style(Role::Good));
    }
    if !agent.is_empty() {
        let agent = format!("{agent}  ");
        right = pen.right(x + needed, area.y, right, &agent, pen.theme.style(Role::Plain));
    }
    x = pen.text(x, area.y, right, &format!("{sign} "), style);
    pen.text(x, area.y, right, &words, style);
    if area.height > 1 {
        gauge(model, Rect::new(area.x, area.y + 1, area.width, 1), pen);
    }
}

/// The plan as a bar, in numbers, and how long it may take yet.
fn gauge(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let plan = &model.run.plan;
    let (done, all) = (plan.done(), plan.tasks.len());
    let width = usize::from(area.width / 3).clamp(8, 40);
    let full = (width * done).checked_div(all).unwrap_or(0);
    let (glyphs, end) = (pen.theme.glyphs, area.right());
    let mut x = pen.role(area.x + 1, area.y, end, &glyphs.full.repeat(full), Role::GaugeDone);
    x = pen.role(x, area.y, end, &glyphs.rest.repeat(width - full), Role::GaugeRest);
    x = pen.role(x, area.y, end, &format!(" {done}/{all} "), Role::Strong);
    if let Some(left_ms) = estimate_ms(&model.run, model.now_ms) {
        let text = format!("{} ~{} left ", glyphs.dot, rounded(left_ms));
        x = pen.role(x, area.y, end, &text, Role::Dim);
    }
    let mut right = end;
    if let (Some(max), Some(iteration)) = (model.run.settings.limits.max_iterations, model.run.iterations.latest()) {
        let text = format!("iteration {} of {max} ", iteration.number);
        right = pen.right(x + 30, area.y, end, &text, pen.theme.style(Role::Dim));
    }
    if let Some(task) = model.run.task() {
        let text = format!("{} {}", glyphs.dot, one_line(&task.text));
        pen.role(x, area.y, right.saturating_sub(1), &text, Role::Dim);
    }
}

fn agent_in_words(model: &Model) -> String {
    let settings = &model.run.settings;
    let adapter = model.run.current_adapter();
    // The settings' model is that of their own adapter.
    let named = model
        .run
        .model
        .as_ref()
        .or(settings.model.as_ref().filter(|_| adapter == settings.adapter));
    let agent = agent_with_channel(adapter, model.run.channel());
    match named {
        Some(named) => one_line(&format!("{agent} · {named}")),
        None => one_line(&agent),
    }
}

fn phase_sign(model: &Model, pen: &Pen<'_>) -> &'static str {
    let glyphs = pen.theme.glyphs;
    match &model.run.phase {
        Phase::Idle
        | Phase::Preparing { .. }
        | Phase::Running { .. }
        | Phase::Cancelling { .. }
        | Phase::Settling { .. }
        | Phase::Verifying { .. } => {
            let seconds = usize::try_from(model.run.elapsed_ms(model.now_ms) / 1000).unwrap_or(0);
            glyphs.spinner[seconds % glyphs.spinner.len()]
        }
        Phase::Waiting { .. } | Phase::Paused => glyphs.wait,
        Phase::Stopped { end } => match end.reason.kind() {
            EndKind::Good => glyphs.good,
            EndKind::Bad | EndKind::Unfinished => glyphs.bad,
        },
    }
}

pub(super) fn phase_in_words(model: &Model) -> (String, Role) {
    let words = phase_headline(&model.run, model.now_ms, |at_ms| model.clock(at_ms));
    let role = match &model.run.phase {
        Phase::Preparing { .. } | Phase::Running { .. } | Phase::Settling { .. } | Phase::Verifying { .. } => {
            Role::Accent
        }
        Phase::Idle | Phase::Cancelling { .. } | Phase::Waiting { .. } | Phase::Paused => Role::Wait,
        Phase::Stopped { end } => match end.reason.kind() {
            EndKind::Good => Role::Good,
            EndKind::Bad => Role::Bad,
            EndKind::Unfinished => Role::Wait,
        },
    };
    (one_line(&words), role)
}

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
    if !notice(model, line(area.y), pen) {
        totals(model, line(area.y), pen);
    }
    hints(model, line(area.y + 1), pen);
}

/// Draws what is to be noticed now, if anything is.
fn notice(model: &Model, area: Rect, pen: &mut Pen<'_>) -> bool {
    let (text, sign, style): (String, &str, Style) = match (&model.ui.toast, model.run.end()) {
        (Some(toast), _) => {
            let (sign, style) = pen.theme.tone(toast.tone);
            (one_line(&toast.text), sign, style)
        }
        (None, Some(end)) if model.ui.replay.is_none() => {
            let all = u64::from(end.totals.tasks_done + end.totals.tasks_open);
            let mut parts = vec![
                stop_in_words(&end.reason),
                format!("{} of {}", end.totals.tasks_done, counted(all, "task")),
                counted(u64::from(end.totals.iterations), "iteration"),
                short_duration(end.totals.elapsed_ms),
            ];
            parts.extend(end.hints.first().map(hint_in_words));
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

fn totals(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let run = &model.run;
    let dim = pen.theme.style(Role::Dim);
    let mut pieces: Vec<Piece> = Vec::new();
    let last = run.iterations.rows.iter().rev().find_map(|iteration| iteration.changes);
    let breaker = match run.breaker.state {
        BreakerState::Closed => None,
        BreakerState::HalfOpen => Some("stuck detector: warning"),
        BreakerState::Open => Some("stuck detector: tripped"),
    };
    if let Some(breaker) = breaker {
        pieces.push((format!("{breaker} "), pen.theme.style(Role::Bad)));
    }
    if let Phase::Waiting { why, .. } = &run.phase {
        pieces.push((
            format!("{} ", one_line(&wait_cause_in_words(why))),
            pen.theme.style(Role::Wait),
        ));
    }
    if let Some(changes) = last {
        let gap = if pieces.is_empty() { "" } else { "· " };
        pieces.push((format!("{gap}last "), dim));
        pieces.push((format!("+{}", changes.added), pen.theme.style(Role::Added)));
        pieces.push((
            format!(" {}{}", pen.theme.glyphs.minus, changes.removed),
            pen.theme.style(Role::Removed),
        ));
    }
    let mut parts: Vec<String> = run
        .changes
        .iter()
        .map(|changes| format!("total {}", changes_in_words(changes)))
        .collect();
    parts.extend(usage_in_short(&run.usage));
    let due = run.messages.iter().filter(|message| message.is_due()).count();
    if due > 0 {
        parts.push(format!("{} waiting", counted(due as u64, "message")));
    }
    if model.ui.dropped_bytes > 0 {
        parts.push("some output is only in the recording".to_owned());
    }
    if pieces.is_empty() && parts.is_empty() {
        parts.push(one_line(&run.settings.plan.display().to_string()));
    }
    for part in parts {
        let gap = if pieces.is_empty() { "" } else { " · " };
        pieces.push((format!("{gap}{part}"), dim));
    }
    pen.pieces(area.x + 1, area.y, area.right(), &pieces);
}

/// Tokens in all and what they cost; the pane of the limits has them apart.
fn usage_in_short(usage: &Usage) -> Option<String> {
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    };
    let tokens = tokens.map(|tokens| format!("{} tokens", short_count(tokens)));
    let cost = usage.cost_usd.map(|cost| format!("${cost:.2}"));
    let parts: Vec<String> = tokens.into_iter().chain(cost).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn hints(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let mut right = area.right();
    if let Some(replay) = model.ui.replay {
        let state = match (replay.over, replay.paused) {
            (true, _) => "replay · end".to_owned(),
            (false, true) => format!("replay · paused · {}×", replay.speed),
            (false, false) => format!("replay · {}×", replay.speed),
        };
        right = pen.right(
            area.x,
            area.y,
            right,
            &format!(" {state} "),
            pen.theme.style(Role::User),
        );
    }
    let mut x = area.x + 1;
    for binding in keys::bindings(model.ui.replay.is_some()).filter(|binding| !binding.hint.is_empty()) {
        let is_answer = binding.action == keys::Action::Steer && used_up(&model.run).is_none();
        if model.run.is_over() && binding.when == keys::When::Live && !is_answer {
            continue;
        }
        let hint = match binding.action {
            keys::Action::Steer => match model.run.stop_reason() {
                Some(StopReason::Blocked { .. }) => "answer",
                Some(_) => "resume with a message",
                None => binding.hint,
            },
            keys::Action::PauseOrResume if model.run.is_paused() && model.ui.replay.is_none() => "resume",
            _ => binding.hint,
        };
        let key = binding.keys[0].name();
        // A hint is shown whole or not at all; leaving and help are named last and matter most.
        let reserve = match binding.action {
            keys::Action::Quit => 0,
            keys::Action::Help => 8,
            _ => 16,
        };
        let width = columns(&key) + 1 + columns(hint);
        if x + width + reserve > right {
            continue;
        }
        x = pen.role(x, area.y, right, &key, Role::Key);
        x = pen.role(x, area.y, right, &format!(" {hint}"), Role::Dim) + 2;
    }
}

/// A duration that is a guess: never more exact than it deserves.
fn rounded(duration_ms: u64) -> String {
    let seconds = duration_ms / 1000;
    match seconds {
        0..60 => format!("{}s", (seconds / 10 + 1) * 10),
        60..3600 => format!("{}m", seconds.div_ceil(60)),
        3600.. => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}
