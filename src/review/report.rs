//! Reports of runs, with the commits of each iteration.

use ralph_core::{event::RunId, run::RunView};
use ralph_git::Repository;
use ralph_state::store::{
    journal::{JournalError, read_view},
    lock,
    paths::ProjectPaths,
};
use ralph_system::{os::now_ms, proc::Supervisor};
use ralph_text::{one_line, pretty_json};
use ralph_ui::report::{self, CommitLine, OutputStyle, RunReport};

use super::date_time;

/// An output format for readers without a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Text,
    Markdown,
    Json,
}

/// Reports what `run` did.
///
/// # Errors
/// As [`read_view`].
pub(crate) fn report(paths: &ProjectPaths, run: &RunId, supervisor: &Supervisor) -> Result<RunReport, JournalError> {
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
pub(crate) fn report_of_records(view: RunView) -> RunReport {
    RunReport::from_view(view)
}

/// Renders a report without colours.
pub(crate) fn written(report: &RunReport, format: ReportFormat) -> String {
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

/// Adds the commits of each iteration. Errors are ignored: the records already have the number of commits.
fn add_commits(paths: &ProjectPaths, report: &mut RunReport, supervisor: &Supervisor) {
    let mut listed = Vec::new();
    let mut spans = Vec::new();
    for (at, iteration) in report.iterations().enumerate() {
        if let (Some(before), Some(after)) = (&iteration.before, &iteration.after)
            && before.head != after.head
        {
            listed.push(at);
            spans.push((before.clone(), after.clone()));
        }
    }
    if spans.is_empty() {
        return;
    }
    let Ok(scratch) = tempfile::tempdir() else { return };
    let Ok((repository, _)) = Repository::discover(paths.project(), scratch.path(), supervisor) else {
        return;
    };
    report.commits = vec![Vec::new(); report.iterations().len()];
    for (at, found) in listed.into_iter().zip(repository.commits_of_each(&spans)) {
        let lines = found.into_iter().map(|commit| CommitLine {
            id: commit.id,
            subject: one_line(&commit.subject),
        });
        report.commits[at] = lines.collect();
    }
}
