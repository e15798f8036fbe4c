//! What a run came to: its iterations, its totals, why it is over and what to type next.

use std::io::{self, Write};

use crate::{
    event::{Changes, Event, PlanSnapshot, Record, StopReason, Totals},
    narration::{changes_in_words, counted, outcome_word, stop_in_words, usage_in_words},
    text::one_line,
};

use super::text::{Style, duration};

/// Most iterations in the table; the first ones of a longer run are in the journal.
const ROWS: usize = 40;
/// Columns of a row before its task, and what a task gets where no width is known and at least.
const ROW_COLUMNS: usize = 59;
const TASK_COLUMNS: usize = 50;
const TASK_COLUMNS_MIN: usize = 16;

/// Collects a run's iterations from its records.
#[derive(Debug, Default)]
pub struct Summary {
    rows: Vec<Row>,
    plan: PlanSnapshot,
    end: Option<(StopReason, Vec<String>, Totals)>,
}

#[derive(Debug, Default)]
struct Row {
    iteration: u32,
    task: String,
    outcome: &'static str,
    duration_ms: u64,
    changes: Option<Changes>,
}

impl Summary {
    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::PlanRead { plan } => self.plan = plan.clone(),
            Event::IterationStarted { iteration, task, .. } => self.rows.push(Row {
                iteration: *iteration,
                task: task.clone().unwrap_or_default(),
                outcome: "running",
                ..Row::default()
            }),
            Event::IterationEnded {
                iteration,
                outcome,
                duration_ms,
                ..
            } => {
                if let Some(row) = self.row(*iteration) {
                    row.outcome = outcome_word(outcome);
                    row.duration_ms = *duration_ms;
                }
            }
            Event::IterationSettled { iteration, changes, .. } => {
                if let Some(row) = self.row(*iteration) {
                    row.changes = *changes;
                }
            }
            Event::RunStopped { reason, hints, totals } => {
                self.end = Some((reason.clone(), hints.clone(), totals.clone()));
            }
            _ => {}
        }
    }

    /// Numbers of done and open tasks.
    pub fn tasks(&self) -> (u64, u64) {
        (self.plan.done() as u64, self.plan.open() as u64)
    }

    fn row(&mut self, iteration: u32) -> Option<&mut Row> {
        self.rows.iter_mut().rev().find(|row| row.iteration == iteration)
    }

    /// Writes the summary.
    ///
    /// # Errors
    /// Whatever `out` says.
    pub fn write(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let Some((reason, hints, totals)) = &self.end else {
            return Ok(());
        };
        writeln!(out)?;
        self.table(style, out)?;
        let colour = match reason {
            StopReason::Done { .. } => "1;32",
            StopReason::AgentFailed { .. } | StopReason::Broken { .. } | StopReason::PlanInvalid { .. } => "1;31",
            StopReason::LimitReached { .. }
            | StopReason::Requested
            | StopReason::Interrupted
            | StopReason::Terminated
            | StopReason::HungUp
            | StopReason::Superseded => "1;33",
        };
        // The words of an agent may be in it.
        let why = one_line(&stop_in_words(reason));
        writeln!(out, "ralph: {}", style.paint(colour, &why))?;
        let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
        let mut parts = vec![
            format!("{} of {} done", totals.tasks_done, counted(all, "task")),
            counted(u64::from(totals.iterations), "iteration"),
            duration(totals.elapsed_ms),
        ];
        parts.extend(totals.changes.as_ref().map(changes_in_words));
        parts.extend(usage_in_words(&totals.usage));
        writeln!(out, "  {}", parts.join(" · "))?;
        for hint in hints {
            writeln!(out, "hint: {}", one_line(hint))?;
        }
        Ok(())
    }

    fn table(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let head = format!(
            "  {:>3}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6}  {:>6}  task",
            "#", "outcome", "time", "commits", "files", "+", "−"
        );
        writeln!(out, "{}", style.paint("2", &head))?;
        let task_columns = style.columns.map_or(TASK_COLUMNS, |columns| {
            usize::from(columns).saturating_sub(ROW_COLUMNS).max(TASK_COLUMNS_MIN)
        });
        let left_out = self.rows.len().saturating_sub(ROWS);
        if left_out > 0 {
            writeln!(out, "  {:>3}  {}", "…", counted(left_out as u64, "earlier iteration"))?;
        }
        for row in &self.rows[left_out..] {
            let cell = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            writeln!(
                out,
                "  {:>3}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6}  {:>6}  {}",
                row.iteration,
                row.outcome,
                duration(row.duration_ms),
                cell(row.changes.map(|changes| u64::from(changes.commits))),
                cell(row.changes.map(|changes| u64::from(changes.files))),
                cell(row.changes.map(|changes| changes.added)),
                cell(row.changes.map(|changes| changes.removed)),
                shortened(&row.task, task_columns),
            )?;
        }
        writeln!(out)
    }
}

fn shortened(task: &str, columns: usize) -> String {
    let task = one_line(task);
    match task.char_indices().nth(columns) {
        Some((end, _)) => format!("{}…", task[..end].trim_end()),
        None => task,
    }
}
