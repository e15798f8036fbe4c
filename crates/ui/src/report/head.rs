//! The head of a report and the summary at the end of a run: iterations, the reason for the end, totals, hints.

use std::io::{self, Write};

use ralph_core::{
    event::{EndKind, Outcome, Proof, ReviewResult, StopReason, Usage},
    run::Iteration,
};
use ralph_text::one_line;
use ralph_words::{
    changes_in_words, cost_in_words, counted, outcome_word, problem_in_words, short_duration, stop_in_words,
    task_in_words, usage_in_words,
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
    table(report, style, out)?;
    writeln!(out, "ralph: {}", style.paint(end_colour(report), &end_in_words(report)))?;
    if let Some(problem) = report.view.stop_reason().and_then(|reason| reason.problem()) {
        let said = if problem.text.is_empty() { "" } else { "it said: " };
        writeln!(out, "  {said}{}", one_line(&problem_in_words(problem)))?;
    }
    writeln!(out, "  {}", totals_in_words(report).join(" · "))?;
    if let Some(waits) = waits_in_words(report) {
        writeln!(out, "  {waits}")?;
    }
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

fn end_colour(report: &RunReport) -> &'static str {
    match report.view.stop_reason().map(|reason| reason.kind()) {
        Some(EndKind::Good) => "1;32",
        Some(EndKind::Bad) => "1;31",
        Some(EndKind::Unfinished) | None => "1;33",
    }
}

fn table(report: &RunReport, style: OutputStyle, out: &mut dyn Write) -> io::Result<()> {
    let rows = report.iterations();
    if rows.len() == 0 {
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
    let left_out = rows.len().saturating_sub(ROWS);
    if left_out > 0 {
        writeln!(out, "  {:>3}  {}", "…", counted(left_out as u64, "earlier iteration"))?;
    }
    for row in rows.skip(left_out) {
        let cell = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        writeln!(
            out,
            "  {:>3}  {:<9}  {:>6}  {:>7}  {:>5}  {:>6}  {:>6}  {}",
            row.number,
            outcome_cell(report, row),
            short_duration(report.duration_ms(row)),
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
                Some(outcome) => outcome_word(outcome),
                None if report.is_running => "running",
                None => outcome_word(&Outcome::Interrupted),
            }
        }
    }
}

/// The task of an iteration; empty if it had none.
pub(super) fn row_task(row: &Iteration) -> String {
    match (row.role.is_work(), &row.task) {
        (true, None) => String::new(),
        (true, Some(task)) => task.clone(),
        (false, task) => task_in_words(row.role, task.as_deref()),
    }
}

/// Cuts `task` to `columns` characters.
pub(super) fn shortened(task: &str, columns: usize) -> String {
    let task = one_line(task);
    match task.char_indices().nth(columns) {
        Some((end, _)) => format!("{}…", task[..end].trim_end()),
        None => task,
    }
}
