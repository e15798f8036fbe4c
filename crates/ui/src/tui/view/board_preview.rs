//! The preview of the chosen plan beside the plans of a batch: its tasks, its goals, its latest iterations.

use ralph_text::one_line;
use ralph_words::{Tone, cost_in_words, counted, short_duration};
use ratatui::layout::Rect;

use crate::{
    board::{BoardRow, PlanPreview, PreviewedTask},
    tui::{
        panes::{sign_of_goal, sign_of_iteration},
        pen::{Pen, wrapped},
        theme::TextRole,
    },
};

/// Maximum rows of the plan's activity.
const ACTIVITY_ROWS: usize = 4;
/// Maximum rows of goals and of iterations, and the height from which there are any.
const GOALS: usize = 6;
const ITERATIONS: usize = 8;
const SECTIONS_FROM_ROWS: u16 = 14;

/// Draws the preview. `doing` is the plan's activity.
pub(super) fn draw(row: &BoardRow, (doing, role): (&str, TextRole), area: Rect, pen: &mut Pen<'_>) {
    if area.height < 2 {
        return;
    }
    title(area, &row.plan.0, TextRole::Accent, pen);
    let mut y = area.y + 1;
    let mut line = |text: &str, role: TextRole, pen: &mut Pen<'_>| {
        if y < area.bottom() {
            pen.role(area.x + 1, y, area.right().saturating_sub(1), text, role);
        }
        y += 1;
    };
    let (sign, _) = pen.theme.tone(row.tone);
    line(&format!("{sign} {}", facts(row).join(" · ")), role_of(row.tone), pen);
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    for text in wrapped(doing, room).into_iter().take(ACTIVITY_ROWS) {
        line(&text, role, pen);
    }
    let mut places = vec![one_line(&row.file)];
    places.extend(row.section.as_deref().map(one_line));
    places.push(one_line(&row.branch));
    line(&places.join(" · "), TextRole::Dim, pen);
    if !row.after.is_empty() {
        let after: Vec<&str> = row.after.iter().map(|plan| plan.0.as_str()).collect();
        line(&format!("after {}", after.join(", ")), TextRole::Dim, pen);
    }
    if let Some(preview) = &row.preview {
        let top = y.min(area.bottom());
        let rest = Rect {
            y: top,
            height: area.bottom() - top,
            ..area
        };
        sections(preview, rest, pen);
    }
}

fn facts(row: &BoardRow) -> Vec<String> {
    let mut facts = vec![row.state.clone()];
    facts.extend(
        row.tasks
            .map(|tasks| format!("{} of {}", tasks.done, counted(tasks.all as u64, "task"))),
    );
    facts.extend(row.iterations.map(|count| counted(u64::from(count), "iteration")));
    facts.extend(row.usage.and_then(|usage| cost_in_words(&usage)));
    facts
}

fn role_of(tone: Tone) -> TextRole {
    match tone {
        Tone::Start => TextRole::Accent,
        Tone::User => TextRole::User,
        Tone::Good => TextRole::Good,
        Tone::Bad => TextRole::Bad,
        Tone::Wait | Tone::Warning => TextRole::Wait,
        Tone::Note => TextRole::Plain,
    }
}

/// Draws the tasks, the goals and the iterations, in the room that there is.
fn sections(preview: &PlanPreview, area: Rect, pen: &mut Pen<'_>) {
    let is_roomy = area.height >= SECTIONS_FROM_ROWS;
    let goals = preview.goals.len().min(if is_roomy { GOALS } else { 0 });
    let iterations = preview.iterations.len().min(if is_roomy { ITERATIONS } else { 0 });
    let said = preview.said.as_deref().filter(|_| is_roomy);
    let titled = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX) + u16::from(rows > 0);
    let taken = titled(goals) + titled(iterations) + if said.is_some() { 3 } else { 0 };
    let tasks = preview
        .tasks
        .len()
        .min(usize::from(area.height.saturating_sub(taken + 1)));
    let mut rest = area;
    let mut part = |height: u16| {
        let part = Rect {
            height: height.min(rest.height),
            ..rest
        };
        rest = Rect {
            y: part.bottom(),
            height: rest.height - part.height,
            ..rest
        };
        part
    };
    let parts = [
        part(titled(tasks)),
        part(titled(goals)),
        part(titled(iterations)),
        part(3),
    ];
    draw_tasks(&preview.tasks, parts[0], pen);
    heading(parts[1], &counted(preview.goals.len() as u64, "goal"), pen);
    for (y, goal) in rows(parts[1]).zip(&preview.goals) {
        let (sign, role) = sign_of_goal(goal, pen);
        let x = pen.role(parts[1].x + 1, y, parts[1].right(), &format!("{sign} "), role);
        pen.role(x, y, parts[1].right(), &one_line(&goal.name), TextRole::Plain);
    }
    heading(parts[2], "latest iterations", pen);
    let latest = preview.iterations.len().saturating_sub(iterations);
    for (y, iteration) in rows(parts[2]).zip(preview.iterations.iter().skip(latest)) {
        let (sign, style) = sign_of_iteration(iteration, &preview.goals, pen.theme);
        let end = parts[2].right().saturating_sub(1);
        let x = pen.text(parts[2].x + 1, y, end, &format!("{sign} "), style);
        let time = iteration
            .outcome
            .as_ref()
            .map(|_| short_duration(iteration.duration_ms));
        let figures = format!("{:>3}  {:>6}  ", iteration.number, time.unwrap_or_default());
        let x = pen.role(x, y, end, &figures, TextRole::Plain);
        pen.role(
            x,
            y,
            end,
            &one_line(iteration.task.as_deref().unwrap_or_default()),
            TextRole::Dim,
        );
    }
    if let Some(said) = said {
        heading(parts[3], "the agent says", pen);
        let room = usize::from(area.width.saturating_sub(2)).max(1);
        for (y, text) in rows(parts[3]).zip(wrapped(said, room)) {
            pen.role(parts[3].x + 1, y, parts[3].right(), &text, TextRole::Plain);
        }
    }
}

/// Draws the tasks with the current one in view.
fn draw_tasks(tasks: &[PreviewedTask], part: Rect, pen: &mut Pen<'_>) {
    heading(part, &counted(tasks.len() as u64, "task"), pen);
    let shown = usize::from(part.height.saturating_sub(1));
    let current = tasks.iter().position(|task| task.current);
    let open = || tasks.iter().position(|task| !task.done);
    let middle = current.or_else(open).unwrap_or(0).saturating_sub(shown / 2);
    let first = middle.min(tasks.len().saturating_sub(shown));
    let glyphs = pen.theme.glyphs;
    for (y, task) in rows(part).zip(tasks.iter().skip(first)) {
        let (sign, role, text) = match (task.current, task.done) {
            (true, _) => (glyphs.current, TextRole::Accent, TextRole::Strong),
            (false, true) => (glyphs.done, TextRole::Good, TextRole::Dim),
            (false, false) => (glyphs.open, TextRole::Dim, TextRole::Plain),
        };
        let end = part.right().saturating_sub(1);
        let x = part.x + 1 + u16::from(task.depth.min(6)) * 2;
        let x = pen.role(x, y, end, &format!("{sign} "), role);
        pen.role(x, y, end, &task.text, text);
    }
}

fn rows(part: Rect) -> std::ops::Range<u16> {
    (part.y + 1).min(part.bottom())..part.bottom()
}

fn heading(part: Rect, text: &str, pen: &mut Pen<'_>) {
    if !part.is_empty() {
        title(part, text, TextRole::Dim, pen);
    }
}

fn title(area: Rect, text: &str, role: TextRole, pen: &mut Pen<'_>) {
    pen.rule(area.x, area.y, area.right(), pen.theme.style(TextRole::GaugeRest));
    pen.role(area.x + 1, area.y, area.right(), &format!(" {text} "), role);
}
