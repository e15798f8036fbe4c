//! The plan's tasks, and beside them, where there is room, the messages that wait and the iterations.

use ratatui::layout::Rect;

use crate::{
    event::{PlanSnapshot, PlanTask, SteeringKind},
    text::one_line,
    ui::tui::{layout::Layout, model::Model, theme::Role},
    words::{counted, short_duration, ticking},
};

use super::{
    history,
    pen::{Pen, wrapped},
};

/// Most rows of the other lists of the side bar.
const MESSAGES: usize = 5;
const ITERATIONS: usize = 10;
/// Side bars of fewer rows show tasks only.
const ROOMY_ROWS: u16 = 24;

pub(super) fn draw(model: &Model, layout: &Layout, pen: &mut Pen<'_>) {
    let mut area = layout.tasks;
    if area.is_empty() {
        return;
    }
    for y in layout.divider.top()..layout.divider.bottom() {
        let bar = pen.theme.glyphs.bar;
        pen.role(layout.divider.x, y, layout.divider.right(), bar, Role::GaugeRest);
    }
    if layout.has_side_bar() && area.height >= ROOMY_ROWS {
        area = iterations(model, area, pen);
        area = messages(model, area, pen);
    }
    let plan = &model.run.plan;
    title(area, &format!("plan {}/{}", plan.done(), plan.tasks.len()), pen);
    // Beside the divider, a column is left free.
    let margin = u16::from(layout.has_side_bar());
    let rows = Rect::new(area.x, area.y + 1, area.width - margin, area.height - 1);
    let current = model.run.task();
    if plan.tasks.is_empty() {
        pen.role(
            rows.x + 1,
            rows.y,
            rows.right(),
            "a plan without check-boxes",
            Role::Dim,
        );
    } else if wrapped_rows(plan, rows.width) <= usize::from(rows.height) {
        let mut y = rows.y;
        for task in &plan.tasks {
            y = self::task(task, current, model, rows, y, Rows::AsMany, pen);
        }
    } else {
        folded_tasks(model, current, rows, pen);
    }
}

fn folded_tasks(model: &Model, current: Option<&PlanTask>, rows: Rect, pen: &mut Pen<'_>) {
    let plan = &model.run.plan;
    for (y, row) in (rows.top()..).zip(folded(plan, current, usize::from(rows.height))) {
        match row {
            Row::Task(task) => {
                self::task(task, current, model, rows, y, Rows::One, pen);
            }
            Row::More { count, done: true } => {
                let text = format!(" {} {} more done", pen.theme.glyphs.done, count);
                pen.role(rows.x, y, rows.right(), &text, Role::Good);
            }
            Row::More { count, done: false } => {
                let text = format!(" {} {} more", pen.theme.glyphs.more, count);
                pen.role(rows.x, y, rows.right(), &text, Role::Dim);
            }
        }
    }
}

fn title(area: Rect, text: &str, pen: &mut Pen<'_>) {
    let style = pen.theme.style(Role::GaugeRest);
    pen.rule(area.x, area.y, area.right(), style);
    pen.role(area.x + 1, area.y, area.right(), &format!(" {text} "), Role::Dim);
}

/// How many rows a task may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    One,
    AsMany,
}

/// Draws a task; returns the row below it.
fn task(
    task: &PlanTask,
    current: Option<&PlanTask>,
    model: &Model,
    area: Rect,
    y: u16,
    rows: Rows,
    pen: &mut Pen<'_>,
) -> u16 {
    let is_current = current == Some(task);
    let glyphs = pen.theme.glyphs;
    let (sign, sign_role, text_role) = match (task.done, is_current) {
        (true, _) => (glyphs.done, Role::Good, Role::Dim),
        (false, _) if model.run.is_set_aside(&task.text) => (glyphs.bad, Role::Bad, Role::Plain),
        (false, true) if model.run.is_busy() => (glyphs.current, Role::Accent, Role::Strong),
        (false, true) => (glyphs.current, Role::Wait, Role::Strong),
        (false, false) => (glyphs.open, Role::Dim, Role::Plain),
    };
    let x = area.x + indent(task);
    pen.role(x, y, area.right(), sign, sign_role);
    let text = one_line(&task.text);
    let lines = match rows {
        Rows::One => vec![text],
        Rows::AsMany => wrapped(&text, usize::from(area.right().saturating_sub(x + 2))),
    };
    let mut y = y;
    for line in lines {
        pen.role(x + 2, y, area.right(), &line, text_role);
        y += 1;
    }
    y
}

fn indent(task: &PlanTask) -> u16 {
    1 + u16::from(task.depth.min(6)) * 2
}

/// How many rows all tasks take, unshortened.
fn wrapped_rows(plan: &PlanSnapshot, width: u16) -> usize {
    let rows = |task: &PlanTask| {
        let room = width.saturating_sub(indent(task) + 2);
        wrapped(&one_line(&task.text), usize::from(room)).len()
    };
    // A long plan is not measured: it does not fit.
    match plan.tasks.len() {
        0..200 => plan.tasks.iter().map(rows).sum(),
        _ => usize::MAX,
    }
}

enum Row<'a> {
    Task(&'a PlanTask),
    More { count: usize, done: bool },
}

/// The tasks that fit, the current one among them; long parts before and after it become one row each.
fn folded<'a>(plan: &'a PlanSnapshot, current: Option<&PlanTask>, height: usize) -> Vec<Row<'a>> {
    let tasks = &plan.tasks;
    if tasks.len() <= height {
        return tasks.iter().map(Row::Task).collect();
    }
    if height == 0 {
        return Vec::new();
    }
    let at = current.and_then(|current| tasks.iter().position(|task| task == current));
    // One done task before the current one is left, to see where it is.
    let start = at
        .map_or(tasks.len(), |at| at.saturating_sub(1))
        .min(tasks.len() + 1 - height);
    let before = usize::from(start > 0);
    let room = height - before;
    let after = usize::from(start + room < tasks.len());
    let shown = room - after;
    // A fold of a single task would take as much room as the task.
    let (start, shown) = if start == 1 {
        (0, height - after)
    } else {
        (start, shown)
    };
    let mut rows = Vec::new();
    if start > 0 {
        let hidden = &tasks[..start];
        let done = hidden.iter().all(|task| task.done);
        rows.push(Row::More { count: start, done });
    }
    let end = (start + shown).min(tasks.len());
    rows.extend(tasks[start..end].iter().map(Row::Task));
    if end < tasks.len() {
        rows.push(Row::More {
            count: tasks.len() - end,
            done: tasks[end..].iter().all(|task| task.done),
        });
    }
    rows
}

/// Draws the latest iterations at the end of `area`; returns what is left of it.
fn iterations(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Rect {
    let all = &model.run.iterations.rows;
    let shown = all.iter().skip(all.len().saturating_sub(ITERATIONS));
    if all.is_empty() {
        return area;
    }
    let (rest, part) = split(area, shown.len());
    title(part, &counted(all.dropped() + all.len() as u64, "iteration"), pen);
    for (y, iteration) in (part.y + 1..).zip(shown) {
        let (sign, style) = history::sign(iteration, pen.theme);
        let end = part.right() - 1;
        let mut x = pen.text(part.x + 1, y, end, &format!("{sign} "), style);
        x = pen.role(x, y, end, &format!("{:>3} ", iteration.number), Role::Dim);
        let duration = match iteration.outcome {
            Some(_) => short_duration(iteration.duration_ms),
            None => ticking(model.now_ms.saturating_sub(iteration.started_ms)),
        };
        x = pen.role(x, y, end, &format!("{duration:>6} "), Role::Dim);
        let (added, removed) = iteration.changes.map_or_else(Default::default, |changes| {
            let minus = pen.theme.glyphs.minus;
            (format!("+{}", changes.added), format!("{minus}{}", changes.removed))
        });
        x = pen.role(x, y, end, &format!("{added:>6}"), Role::Added);
        x = pen.role(x, y, end, &format!(" {removed:<5}"), Role::Removed);
        let task = iteration.task.as_deref().unwrap_or_default();
        pen.role(x + 1, y, end, &one_line(task), Role::Dim);
    }
    rest
}

/// Draws the messages that wait at the end of `area`; returns what is left of it.
fn messages(model: &Model, area: Rect, pen: &mut Pen<'_>) -> Rect {
    let due: Vec<_> = model.run.messages.iter().filter(|message| message.is_due()).collect();
    if due.is_empty() {
        return area;
    }
    let shown = &due[due.len().saturating_sub(MESSAGES)..];
    let (rest, part) = split(area, shown.len());
    title(part, &format!("{} waiting", counted(due.len() as u64, "message")), pen);
    for (y, message) in (part.y + 1..).zip(shown) {
        let kind = match message.kind {
            SteeringKind::Next => "next",
            SteeringKind::Now => "now",
            SteeringKind::Standing => "always",
        };
        let x = pen.role(part.x + 1, y, part.right(), &format!("{kind:<6} "), Role::User);
        pen.role(x, y, part.right(), &one_line(&message.text), Role::Plain);
    }
    rest
}

/// Takes rows for a title and `lines` from the end of `area`.
fn split(area: Rect, lines: usize) -> (Rect, Rect) {
    let height = u16::try_from(lines + 1).unwrap_or(u16::MAX).min(area.height / 2);
    let rest = Rect::new(area.x, area.y, area.width, area.height - height);
    (rest, Rect::new(area.x, rest.bottom(), area.width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(done: usize, open: usize, height: usize) -> String {
        let tasks = (0..done + open)
            .map(|n| PlanTask {
                text: n.to_string(),
                done: n < done,
                line: u32::try_from(n).unwrap(),
                depth: 0,
            })
            .collect();
        let plan = PlanSnapshot { tasks };
        let rows = folded(&plan, plan.current(), height);
        assert!(rows.len() <= height);
        let words = rows.iter().map(|row| match row {
            Row::Task(task) => task.text.clone(),
            Row::More { count, done } => format!("({count}{})", if *done { " done" } else { "" }),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn long_parts_are_folded_and_the_current_task_stays() {
        assert_eq!(shown(2, 2, 4), "0 1 2 3");
        assert_eq!(shown(10, 10, 5), "(9 done) 9 10 11 (8)");
        assert_eq!(shown(0, 20, 4), "0 1 2 (17)");
        assert_eq!(shown(20, 0, 4), "(17 done) 17 18 19");
        assert_eq!(shown(19, 1, 4), "(17 done) 17 18 19");
        assert_eq!(shown(2, 20, 4), "0 1 2 (19)");
    }

    #[test]
    fn every_task_is_shown_or_counted_at_every_height() {
        for done in 0..12 {
            for open in 0..12 {
                for height in 2..10 {
                    let text = shown(done, open, height);
                    let count: usize = text
                        .split(['(', ')'])
                        .enumerate()
                        .map(|(at, part)| match at % 2 {
                            0 => part.split_whitespace().count(),
                            _ => part.split_whitespace().next().unwrap().parse().unwrap(),
                        })
                        .sum();
                    assert_eq!(count, done + open, "{done} done, {open} open, {height} rows: {text}");
                }
            }
        }
    }
}
