//! The head of a report and the summary at the end of a run: iterations, the reason for the end, totals, hints.

use std::io::{self, Write};

use ralph_core::{
    event::{Changes, EndKind, Outcome, Proof, ReviewResult, StopReason, Usage},
    run::Iteration,
};
use ralph_text::one_line;
use ralph_words::{
    changes_in_words, cost_in_words, counted, missing_in_words, outcome_word, problem_in_words, short_duration,
    stop_in_words, task_in_words, usage_in_words,
};

use super::{OutputStyle, RunReport};

/// Maximum number of iterations in the table: the most recent ones.
const ROWS: usize = 40;
/// Columns of a row before its task; columns of the task if the width is unknown; minimum columns of the task.
const ROW_COLUMNS: usize = 59;
const TASK_COLUMNS: usize = 50;
const TASK_COLUMNS_MIN: usize = 16;

/// Writes the head of a report.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_head(report: &RunReport, style: OutputStyle, out: &mut dyn Write) -> io::Result<()> {
    write_table(report, style, out)?;
    writeln!(out, "ralph: {}", style.paint(end_colour(report), &end_in_words(report)))?;
    write_problem(report, out)?;
    write_totals(report, out)?;
    write_hints(report, style, out)
}

/// Writes the agent's problem that ended the run, if one did.
pub(super) fn write_problem(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(problem) = report.view.stop_reason().and_then(|reason| reason.problem()) else {
        return Ok(());
    };
    let said = if problem.text.is_empty() { "" } else { "it said: " };
    writeln!(out, "  {said}{}", one_line(&problem_in_words(problem)))
}

/// Writes the totals and the waits.
pub(super) fn write_totals(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}", totals_in_words(report).join(" · "))?;
    waits_in_words(report).map_or(Ok(()), |waits| writeln!(out, "  {waits}"))
}

pub(super) fn write_hints(report: &RunReport, style: OutputStyle, out: &mut dyn Write) -> io::Result<()> {
    for hint in report.end.iter().filter(|_| style.hints).flat_map(|end| &end.hints) {
        writeln!(out, "hint: {}", one_line(hint))?;
    }
    Ok(())
}

/// Why the run is over, on one line. May contain words of an agent.
pub(super) fn end_in_words(report: &RunReport) -> String {
    match report.view.stop_reason() {
        Some(reason) => one_line(&stop_in_words(reason)),
        None if report.is_running => "still running".to_owned(),
        None => "interrupted; `ralph continue` resumes it".to_owned(),
    }
}

/// The verdict with the figures that matter most: `DONE, VERIFIED · 8 tasks · 214 tests ran · $0.26 · 5m02s`.
pub(super) fn verdict_in_words(report: &RunReport) -> String {
    let totals = &report.totals;
    let verdict = match report.view.stop_reason() {
        Some(StopReason::Done { proof, .. }) => match proof {
            Proof::Tests => "DONE, VERIFIED".to_owned(),
            Proof::ExitCodes => "DONE, PASSED".to_owned(),
            Proof::Nothing => "DONE, NOT VERIFIED".to_owned(),
            Proof::Unconfirmed => "DONE, changed tests are not confirmed".to_owned(),
        },
        // The question is on the lines below.
        Some(StopReason::Blocked { .. }) => "BLOCKED: needs your answer".to_owned(),
        None => end_in_words(report),
        Some(_) => {
            let words = end_in_words(report);
            let first = words.find([':', ' ', ';']).unwrap_or(words.len());
            words[..first].to_uppercase() + &words[first..]
        }
    };
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    let tasks = match totals.tasks_open {
        0 => counted(all, "task"),
        _ => format!("{} of {}", totals.tasks_done, counted(all, "task")),
    };
    let goals = report.view.iterations.latest_assessment().goals.iter();
    let ran: u64 = goals
        .filter_map(|result| result.tests.as_ref())
        .map(|tests| u64::from(tests.ran()))
        .sum();
    let tests = (ran > 0).then(|| format!("{} ran", counted(ran, "test")));
    let parts = [
        Some(verdict),
        (all > 0).then_some(tasks),
        tests,
        cost_in_words(&totals.usage),
    ];
    let time = short_duration(totals.elapsed_ms);
    let parts: Vec<String> = parts.into_iter().flatten().chain([time]).collect();
    parts.join(" · ")
}

/// The effort of the run besides time and cost: iterations, changes, tokens.
pub(super) fn effort_in_words(report: &RunReport) -> String {
    let totals = &report.totals;
    let mut parts = vec![counted(u64::from(totals.iterations), "iteration")];
    parts.extend(totals.changes.as_ref().map(changes_in_words));
    let without_cost = Usage {
        cost_usd: None,
        ..totals.usage
    };
    parts.extend(usage_in_words(&without_cost));
    parts.join(" · ")
}

/// Tasks, iterations, time, changes, tokens and cost.
pub(super) fn totals_in_words(report: &RunReport) -> Vec<String> {
    let totals = &report.totals;
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    let mut parts = vec![
        format!("{} of {} done", totals.tasks_done, counted(all, "task")),
        counted(u64::from(totals.iterations), "iteration"),
        short_duration(totals.elapsed_ms),
    ];
    parts.extend(totals.changes.as_ref().map(changes_in_words));
    parts.extend(usage_in_words(&totals.usage));
    parts
}

/// `3 waits, 12m00s total`; `None` if the loop never waited.
pub(super) fn waits_in_words(report: &RunReport) -> Option<String> {
    let waits = &report.view.incidents.waits;
    let in_all = waits.iter().filter_map(|wait| wait.duration_ms).sum();
    (!waits.is_empty()).then(|| {
        let count = counted(waits.len() as u64, "wait");
        format!("{count}, {} total", short_duration(in_all))
    })
}

pub(super) fn end_colour(report: &RunReport) -> &'static str {
    match report.view.stop_reason().map(|reason| reason.kind()) {
        Some(EndKind::Good) => "1;32",
        Some(EndKind::Bad) => "1;31",
        Some(EndKind::Unfinished) | None => "1;33",
    }
}

/// Iterations that a table shows as one: equal ones in a row that changed nothing.
pub(super) struct IterationRun<'r> {
    pub(super) last: &'r Iteration,
    /// The position of the last one.
    pub(super) at: usize,
    pub(super) first: u32,
    pub(super) count: usize,
    pub(super) duration_ms: u64,
    pub(super) usage: Usage,
}

impl IterationRun<'_> {
    /// `7`, or `20–25 ×6`.
    pub(super) fn numbers(&self) -> String {
        match self.count {
            1 => self.last.number.to_string(),
            count => format!("{}–{} ×{count}", self.first, self.last.number),
        }
    }
}

/// The iterations from position `skip` on, equal ones in one.
pub(super) fn iteration_runs(report: &RunReport, skip: usize) -> Vec<IterationRun<'_>> {
    let mut runs: Vec<IterationRun> = Vec::new();
    for (at, row) in report.iterations().enumerate().skip(skip) {
        let duration_ms = report.duration_ms(row);
        match runs.last_mut().filter(|run| is_alike(report, run.last, row)) {
            Some(run) => {
                (run.last, run.at, run.count) = (row, at, run.count + 1);
                run.duration_ms += duration_ms;
                run.usage = run.usage.plus(row.usage);
            }
            None => runs.push(IterationRun {
                last: row,
                at,
                first: row.number,
                count: 1,
                duration_ms,
                usage: row.usage,
            }),
        }
    }
    runs
}

fn is_alike(report: &RunReport, one: &Iteration, other: &Iteration) -> bool {
    let is_idle = |row: &Iteration| {
        let changes = row.changes.is_some_and(|changes| changes == Changes::default());
        changes && row.elsewhere.is_empty() && row.question.is_none() && row.closed == 0 && row.role.is_work()
    };
    let is_same = one.task == other.task && outcome_cell(report, one) == outcome_cell(report, other);
    let refused = |row: &Iteration| -> Vec<String> { row.look.refused.iter().map(missing_in_words).collect() };
    is_same && is_idle(one) && is_idle(other) && refused(one) == refused(other)
}

pub(super) fn write_table(report: &RunReport, style: OutputStyle, out: &mut dyn Write) -> io::Result<()> {
    let all = report.iterations().len();
    if all == 0 {
        return Ok(());
    }
    let left_out = all.saturating_sub(ROWS);
    let rows = iteration_runs(report, left_out);
    let number_columns = rows
        .iter()
        .map(|row| row.numbers().chars().count())
        .max()
        .unwrap_or(0)
        .max(3);
    let head = format!(
        "  {:>number_columns$}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6}  {:>6}  task",
        "#", "outcome", "time", "commits", "files", "+", "−"
    );
    writeln!(out, "{}", style.paint("2", &head))?;
    let task_columns = style.columns.map_or(TASK_COLUMNS, |columns| {
        let taken = ROW_COLUMNS + number_columns - 3;
        usize::from(columns).saturating_sub(taken).max(TASK_COLUMNS_MIN)
    });
    if left_out > 0 {
        writeln!(
            out,
            "  {:>number_columns$}  {}",
            "…",
            counted(left_out as u64, "earlier iteration")
        )?;
    }
    for row in rows {
        let (number, duration_ms, row) = (row.numbers(), row.duration_ms, row.last);
        let cell = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        writeln!(
            out,
            "  {number:>number_columns$}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6}  {:>6}  {}",
            outcome_cell(report, row),
            short_duration(duration_ms),
            cell(row.changes.map(|changes| u64::from(changes.commits))),
            cell(row.changes.map(|changes| u64::from(changes.files))),
            cell(row.changes.map(|changes| changes.added)),
            cell(row.changes.map(|changes| changes.removed)),
            shortened(&row_task(row), task_columns),
        )?;
    }
    writeln!(out)
}

/// The outcome of an iteration in a word; for a review, its result.
pub(super) fn outcome_cell(report: &RunReport, row: &Iteration) -> &'static str {
    match (&row.review, &row.outcome) {
        (Some(ReviewResult::Approved), _) => "approved",
        (Some(ReviewResult::Findings { .. }), _) => "findings",
        (None, Some(Outcome::Completed)) if !row.look.refused.is_empty() => "refused",
        (Some(ReviewResult::NoAnswer | ReviewResult::Failed | ReviewResult::Skipped) | None, outcome) => {
            match outcome {
                Some(Outcome::Completed) if has_done_nothing(row) => "no change",
                Some(outcome) => outcome_word(outcome),
                None if report.is_running => "running",
                None => outcome_word(&Outcome::Interrupted),
            }
        }
    }
}

/// Whether an iteration left files and boxes as they were.
fn has_done_nothing(row: &Iteration) -> bool {
    row.progress == Some(false) && row.elsewhere.is_empty() && row.changes == Some(Changes::default())
}

/// The task of an iteration; empty if it had none.
pub(super) fn row_task(row: &Iteration) -> String {
    match (row.role.is_work(), &row.task) {
        (true, None) => String::new(),
        (true, Some(task)) => task.clone(),
        (false, task) => task_in_words(row.role, task.as_deref()),
    }
}

/// Cuts `task` to `columns` characters, before a command that is not whole: nobody should type a part of one.
pub(super) fn shortened(task: &str, columns: usize) -> String {
    let task = one_line(task);
    let Some((end, _)) = task.char_indices().nth(columns) else {
        return task;
    };
    let cut = &task[..end];
    let whole = match cut.matches('`').count() % 2 {
        0 => cut,
        _ => cut.rsplit_once('`').map_or(cut, |(before, _)| before),
    };
    format!("{}…", whole.trim_end())
}
