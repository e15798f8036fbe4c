//! The iterations, one per row, with their results.

use ralph_core::{
    event::{Changes, Outcome},
    run::{GoalStatus, Iteration},
};
use ralph_text::one_line;
use ralph_words::{cost_in_words, counted, outcome_word, review_word, short_duration, ticking};
use ratatui::{
    layout::{Position, Rect},
    style::Style,
};

use crate::tui::{
    keys::KeyAction,
    model::{Model, Pane, Playback, iteration_task},
    order::{ScreenOrder, StepDirection},
    pen::{self, Pen},
    theme::{TextRole, Theme},
};

use super::{content::PaneContent, iteration, restore, terminal};

/// Minimum width for commits, files and cost.
const WIDE_COLS: u16 = 70;

pub(super) struct HistoryContent;

impl PaneContent for HistoryContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        draw(model, area, pen);
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let tasks = model.run.iterations.rows.iter().map(|row| row.task.as_deref());
        tasks.for_each(|task| take(task.unwrap_or_default()));
    }

    fn at(&self, model: &Model) -> usize {
        self.last(model).saturating_sub(model.ui.history.selected)
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.history.selected = self.last(model).saturating_sub(at);
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.run.iterations.rows.len())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Open => open(model),
            KeyAction::Prompt => terminal::show_prompt(model),
            KeyAction::Restore => restore::ask(model),
            KeyAction::NextPart => iteration::turn(model, StepDirection::Next),
            KeyAction::PreviousPart => iteration::turn(model, StepDirection::Previous),
            _ => Vec::new(),
        }
    }

    fn hit(&self, model: &Model, area: Rect, at: Position) -> Option<usize> {
        let line = first_in_view(model, area) + usize::from(at.y.checked_sub(area.y + 1)?);
        let is_row = area.contains(at) && line < model.run.iterations.rows.len();
        is_row.then_some(line)
    }

    fn copy(&self, model: &Model) -> Option<String> {
        let row = model.run.iterations.rows.get(self.at(model))?;
        let task = row.task.as_deref().unwrap_or_default();
        Some(format!("iteration {}: {task}", row.number))
    }

    fn file(&self) -> &'static str {
        "iterations.txt"
    }
}

/// Shows an iteration in full, given by its place before the newest.
pub(super) fn show(model: &mut Model, before_newest: usize) -> Vec<ScreenOrder> {
    model.ui.show(Pane::History);
    model.ui.history.selected = before_newest;
    open(model)
}

/// Opens the selected iteration, with its transcript first.
fn open(model: &mut Model) -> Vec<ScreenOrder> {
    let Some(iteration) = model.chosen_iteration().filter(|_| model.ui.history.open.is_none()) else {
        return Vec::new();
    };
    model.ui.history.open = Some(Playback::new(iteration));
    vec![ScreenOrder::Play { iteration }]
}

fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let rows = &model.run.iterations.rows;
    if rows.is_empty() || area.height < 2 {
        return pen.note(area, "No iteration has run.");
    }
    let first = first_in_view(model, area);
    let chosen = rows.len() - 1 - model.ui.history.selected.min(rows.len() - 1);
    let visible = usize::from(area.height) - 1;
    let shown: Vec<(usize, &Iteration)> = rows.iter().enumerate().skip(first).take(visible).collect();
    let has_costs = shown.iter().any(|(_, iteration)| iteration.usage.cost_usd.is_some());
    let columns: Vec<&HistoryColumn> = COLUMNS
        .iter()
        .filter(|column| area.width >= WIDE_COLS || column.is_narrow)
        .filter(|column| has_costs || column.name != "cost")
        .collect();
    let table: Vec<Vec<String>> = shown
        .iter()
        .map(|(_, iteration)| columns.iter().map(|column| (column.cell)(model, iteration)).collect())
        .collect();
    // Columns are as wide as their cells; the rest is for the task.
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| {
            let cells = table.iter().map(|row| usize::from(pen::columns(&row[at])));
            cells.chain([columns[at].name.len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[&str]| -> String {
        let cells = cells.iter().zip(&columns).zip(&widths);
        cells
            .map(|((cell, column), width)| match column.is_left {
                true => format!("{cell:<width$}{}", " ".repeat(column.gap)),
                false => format!("{cell:>width$}{}", " ".repeat(column.gap)),
            })
            .collect()
    };
    let end = area.right().saturating_sub(1);
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    pen.role(area.x + 3, area.y, end, &(line(&names) + "task"), TextRole::Dim);
    for ((y, (at, iteration)), row) in (area.y + 1..area.bottom()).zip(shown).zip(&table) {
        let (sign, style) = sign(iteration, &model.run.goals, pen.theme);
        pen.text(area.x + 1, y, end, sign, style);
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        let x = pen.role(area.x + 3, y, end, &line(&cells), TextRole::Plain);
        pen.role(x, y, end, &one_line(&iteration_task(&model.run, at)), TextRole::Dim);
        if at == chosen {
            pen.choose(Rect::new(area.x, y, area.width, 1));
        }
    }
}

/// A column of the table.
struct HistoryColumn {
    name: &'static str,
    cell: fn(&Model, &Iteration) -> String,
    /// Whether narrow terminals show the column, too.
    is_narrow: bool,
    is_left: bool,
    /// Free columns after it.
    gap: usize,
}

const fn column(name: &'static str, cell: fn(&Model, &Iteration) -> String) -> HistoryColumn {
    HistoryColumn {
        name,
        cell,
        is_narrow: true,
        is_left: false,
        gap: 2,
    }
}

const fn wide(column: HistoryColumn) -> HistoryColumn {
    HistoryColumn {
        is_narrow: false,
        ..column
    }
}

const COLUMNS: &[HistoryColumn] = &[
    column("#", |_, iteration| iteration.number.to_string()),
    wide(HistoryColumn {
        is_left: true,
        ..column("outcome", |model, iteration| outcome(iteration, &model.run.goals))
    }),
    column("time", |model, iteration| match iteration.outcome {
        Some(_) => short_duration(iteration.duration_ms),
        None => ticking(model.now_ms.saturating_sub(iteration.started_ms)),
    }),
    wide(column("commits", |_, iteration| {
        changed(iteration, |changes| changes.commits.to_string())
    })),
    wide(column("files", |_, iteration| {
        changed(iteration, |changes| changes.files.to_string())
    })),
    HistoryColumn {
        gap: 1,
        ..column("+", |_, iteration| {
            changed(iteration, |changes| format!("+{}", changes.added))
        })
    },
    column("−", |_, iteration| {
        changed(iteration, |changes| format!("−{}", changes.removed))
    }),
    wide(column("cost", |_, iteration| {
        cost_in_words(&iteration.usage).unwrap_or_else(|| "-".to_owned())
    })),
];

fn changed(iteration: &Iteration, words: fn(&Changes) -> String) -> String {
    iteration.changes.as_ref().map_or_else(|| "-".to_owned(), words)
}

/// The result of an iteration, as far as ralph has observed it: the agent's word alone counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IterationVerdict {
    Running,
    /// Its claim was checked by goals, and all passed.
    Verified,
    /// It ticked off tasks.
    Closed,
    /// It claims to be done, without confirmation.
    Claimed,
    /// Its claim was refused.
    Refused,
    /// It needs an answer.
    Blocked,
    /// It changed files but finished no task.
    Worked,
    NoProgress,
    /// It was a review, with or without findings.
    Reviewed,
    Cancelled,
    Failed,
}

impl IterationVerdict {
    fn from_iteration(iteration: &Iteration) -> Self {
        let look = &iteration.look;
        let passed = !look.goals.is_empty() && look.goals.iter().all(|result| result.passed);
        match &iteration.outcome {
            None => IterationVerdict::Running,
            Some(Outcome::Failed { .. } | Outcome::Interrupted) => IterationVerdict::Failed,
            Some(Outcome::Cancelled { .. }) => IterationVerdict::Cancelled,
            Some(Outcome::Completed) if !iteration.role.is_work() => IterationVerdict::Reviewed,
            Some(Outcome::Completed) if iteration.question.is_some() => IterationVerdict::Blocked,
            Some(Outcome::Completed) if iteration.was_refused() => IterationVerdict::Refused,
            Some(Outcome::Completed) if passed => IterationVerdict::Verified,
            Some(Outcome::Completed) if iteration.closed > 0 && iteration.progress != Some(false) => {
                IterationVerdict::Closed
            }
            Some(Outcome::Completed) if !look.claims.is_empty() => IterationVerdict::Claimed,
            Some(Outcome::Completed) if iteration.progress == Some(false) => IterationVerdict::NoProgress,
            Some(Outcome::Completed) => IterationVerdict::Worked,
        }
    }

    fn word(self, iteration: &Iteration) -> String {
        match self {
            IterationVerdict::Running => "running".to_owned(),
            IterationVerdict::Verified => "verified".to_owned(),
            IterationVerdict::Closed => format!("{} closed", counted(u64::from(iteration.closed), "task")),
            IterationVerdict::Claimed => "only claimed".to_owned(),
            IterationVerdict::Refused => "refused".to_owned(),
            IterationVerdict::Blocked => "needs answer".to_owned(),
            IterationVerdict::Worked => "worked".to_owned(),
            IterationVerdict::NoProgress => "no progress".to_owned(),
            IterationVerdict::Reviewed => iteration.review.as_ref().map_or("completed".to_owned(), review_word),
            IterationVerdict::Cancelled | IterationVerdict::Failed => {
                iteration.outcome.as_ref().map_or("", outcome_word).to_owned()
            }
        }
    }
}

/// Returns the names of the failing goals that an iteration broke.
fn broken<'g>(iteration: &Iteration, goals: &'g [GoalStatus]) -> impl Iterator<Item = &'g str> {
    let number = Some(iteration.number);
    let broken = goals
        .iter()
        .filter(move |goal| goal.suspects().and_then(|by| by.alone()) == number);
    broken.map(|goal| &*goal.name)
}

fn outcome(iteration: &Iteration, goals: &[GoalStatus]) -> String {
    let broken: Vec<&str> = broken(iteration, goals).collect();
    match broken.is_empty() {
        true => IterationVerdict::from_iteration(iteration).word(iteration),
        false => format!("broke {}", one_line(&broken.join(", "))),
    }
}

/// The sign of an iteration's result. Green only for closed tasks and verified claims that broke no goal.
pub(in crate::tui) fn sign(iteration: &Iteration, goals: &[GoalStatus], theme: &Theme) -> (&'static str, Style) {
    let glyphs = theme.glyphs;
    if broken(iteration, goals).next().is_some() {
        return (glyphs.bad, theme.style(TextRole::Bad));
    }
    let (sign, role) = match IterationVerdict::from_iteration(iteration) {
        IterationVerdict::Running => (glyphs.current, TextRole::Accent),
        IterationVerdict::Verified | IterationVerdict::Closed => (glyphs.good, TextRole::Good),
        IterationVerdict::Claimed => (glyphs.good, TextRole::Wait),
        IterationVerdict::Refused => (glyphs.bad, TextRole::Wait),
        IterationVerdict::Blocked => ("?", TextRole::Wait),
        IterationVerdict::Worked => (glyphs.dot, TextRole::Plain),
        IterationVerdict::NoProgress => (glyphs.minus, TextRole::Wait),
        IterationVerdict::Reviewed => (glyphs.dot, TextRole::Plain),
        IterationVerdict::Cancelled => (glyphs.wait, TextRole::Wait),
        IterationVerdict::Failed => (glyphs.bad, TextRole::Bad),
    };
    (sign, theme.style(role))
}

/// Index of the first visible iteration, chosen so that the selected one is in view.
fn first_in_view(model: &Model, area: Rect) -> usize {
    let count = model.run.iterations.rows.len();
    let height = usize::from(area.height).saturating_sub(1).max(1);
    let chosen = count.saturating_sub(1).saturating_sub(model.ui.history.selected);
    count.saturating_sub(height).min(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Claim, Missing};

    use crate::tui::theme::{Depth, Palette};

    #[test]
    fn green_is_for_what_was_closed_or_verified_and_for_nothing_that_was_only_said() {
        let theme = Theme::new(Palette::Dark, Depth::True, false);
        let ended = |change: fn(&mut Iteration)| {
            let mut iteration = Iteration {
                outcome: Some(Outcome::Completed),
                progress: Some(true),
                ..Iteration::default()
            };
            change(&mut iteration);
            (sign(&iteration, &[], &theme), outcome(&iteration, &[]))
        };
        let shown = |sign, role, word: &str| ((sign, theme.style(role)), word.to_owned());
        assert_eq!(ended(|_| {}), shown("·", TextRole::Plain, "worked"));
        assert_eq!(
            ended(|iteration| iteration.closed = 1),
            shown("✔", TextRole::Good, "1 task closed")
        );
        assert_eq!(
            ended(|iteration| iteration.progress = Some(false)),
            shown("−", TextRole::Wait, "no progress")
        );
        assert_eq!(
            ended(|iteration| iteration.question = Some("Which key?".to_owned())),
            shown("?", TextRole::Wait, "needs answer")
        );
        assert_eq!(
            ended(|iteration| iteration.look.claims.push(Claim::DoneFile)),
            shown("✔", TextRole::Wait, "only claimed")
        );
        let refused = |iteration: &mut Iteration| {
            iteration.closed = 1;
            iteration.look.refused.push(Missing::PlanUnreadable);
        };
        assert_eq!(ended(refused), shown("✖", TextRole::Wait, "refused"));
        let iteration = Iteration {
            number: 3,
            outcome: Some(Outcome::Completed),
            closed: 1,
            ..Iteration::default()
        };
        let goal = GoalStatus {
            passed_with: Some(2),
            broken_by: Some(3),
            ..GoalStatus::unknown("tests")
        };
        let told = (
            sign(&iteration, std::slice::from_ref(&goal), &theme),
            outcome(&iteration, &[goal]),
        );
        assert_eq!(told, shown("✖", TextRole::Bad, "broke tests"));
    }
}
