//! Reports of runs, with the commits of each iteration.

use ralph_core::{
    event::{Checkpoint, RunId},
    run::{Iteration, RunView},
};
use ralph_git::Repository;
use ralph_state::store::{
    journal::{JournalError, read_view},
    lock,
};
use ralph_system::{os::now_ms, paths::ProjectPaths, proc::Supervisor};
use ralph_text::{one_line, pretty_json};
use ralph_ui::report::{self, CommitLine, OutputStyle, RunReport};

use super::date_time;

/// An output format for readers without a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    Text,
    Markdown,
    Json,
}

/// Reports what `run` did.
///
/// # Errors
/// As [`read_view`].
pub fn report(paths: &ProjectPaths, run: &RunId, supervisor: &Supervisor) -> Result<RunReport, JournalError> {
    // Checked before the journal is read: if the run ends in between, the journal has the end.
    let is_running = lock::running(paths).as_ref() == Some(run);
    let view = read_view(paths, run)?;
    let mut report = match is_running && !view.is_over() {
        true => RunReport::from_running(view, now_ms()),
        false => RunReport::from_view(view),
    };
    add_commits(paths, &mut report, supervisor);
    Ok(report)
}

/// The report of a run from its records alone, without commit ids and subjects, which only git has.
pub fn report_of_records(view: RunView) -> RunReport {
    RunReport::from_view(view)
}

/// Renders a report without colours.
pub fn written(report: &RunReport, format: ReportFormat) -> String {
    match format {
        ReportFormat::Text => {
            let mut text = Vec::new();
            report::write_text(report, OutputStyle::PLAIN, date_time, &mut text).expect("memory takes every write");
            String::from_utf8_lossy(&text).into_owned()
        }
        ReportFormat::Markdown => report::markdown(report, date_time),
        ReportFormat::Json => pretty_json(report),
    }
}

/// Adds the commits of each iteration.
fn add_commits(paths: &ProjectPaths, report: &mut RunReport, supervisor: &Supervisor) {
    let spans: Vec<_> = report.iterations().map(commit_span).collect();
    report.commits = commits(paths, &spans, supervisor);
}

/// The checkpoints around an iteration; `None` if it made no commit.
pub fn commit_span(iteration: &Iteration) -> Option<(Checkpoint, Checkpoint)> {
    let (before, after) = (iteration.before.clone()?, iteration.after.clone()?);
    (before.head != after.head).then_some((before, after))
}

/// The commits of each span; no list at all without any. Errors are ignored: the records already have the number of
/// commits.
pub fn commits(
    paths: &ProjectPaths,
    spans: &[Option<(Checkpoint, Checkpoint)>],
    supervisor: &Supervisor,
) -> Vec<Vec<CommitLine>> {
    let some: Vec<_> = spans.iter().flatten().cloned().collect();
    if some.is_empty() {
        return Vec::new();
    }
    let Ok(scratch) = tempfile::tempdir() else {
        return Vec::new();
    };
    let Ok((repository, _)) = Repository::discover(paths.project(), scratch.path(), &paths.states(), supervisor) else {
        return Vec::new();
    };
    let mut found = repository.commits_of_each(&some).into_iter();
    let of_span = |span: &Option<_>| {
        let commits = span.as_ref().and_then(|_| found.next()).unwrap_or_default();
        let lines = commits.into_iter().map(|commit| CommitLine {
            id: commit.id,
            subject: one_line(&commit.subject),
        });
        lines.collect()
    };
    spans.iter().map(of_span).collect()
}
