//! Reports of runs, with the commits of each iteration.

use std::{collections::BTreeSet, path::Path};

use ralph_core::{
    event::{Checkpoint, GuardedChangeKind, RunId},
    run::{Iteration, RunView},
};
use ralph_gate::guard::{Originals, is_for_tools};
use ralph_git::Repository;
use ralph_state::store::{
    journal::{JournalError, read_view},
    lock,
};
use ralph_system::{os::now_ms, paths::ProjectPaths, proc::Supervisor};
use ralph_text::{one_line, pretty_json};
use ralph_ui::report::{self, ChangedFile, ChangedFiles, CommitLine, FileRole, OutputStyle, RemovedLines, RunReport};

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
    let files = changed_files(paths, &report.view, supervisor);
    Ok(report.with_files(files))
}

/// The files that a run changed in its project, without its plan; `None` without checkpoints, or if they are gone.
pub fn changed_files(paths: &ProjectPaths, view: &RunView, supervisor: &Supervisor) -> Option<ChangedFiles> {
    let ends: Vec<(u32, &Checkpoint, &Checkpoint)> = view
        .iterations
        .rows
        .iter()
        .filter_map(|row| Some((row.number, row.before.as_ref()?, row.after.as_ref()?)))
        .collect();
    let whole = (ends.first()?.1, ends.last()?.2);
    let scratch = tempfile::tempdir().ok()?;
    let (repository, _) = Repository::discover(paths.project(), scratch.path(), &paths.states(), supervisor).ok()?;
    let spans: Vec<(&Checkpoint, &Checkpoint)> = [whole]
        .into_iter()
        .chain(ends.iter().map(|(_, before, after)| (*before, *after)))
        .collect();
    let mut found = repository.changed_in_each(&spans).ok()?.into_iter();
    let project = paths.project().strip_prefix(repository.root()).unwrap_or(Path::new(""));
    let plan = view.settings.plan.strip_prefix(repository.root()).ok();
    let mut all = found.next().unwrap_or_default();
    all.retain(|(path, _)| Some(Path::new(path)) != plan);
    let each: Vec<(u32, BTreeSet<String>)> = ends
        .iter()
        .map(|(number, ..)| *number)
        .zip(found)
        .map(|(number, files)| (number, files.into_iter().map(|(path, _)| path).collect()))
        .collect();
    let is_plan = |path: &String| Some(Path::new(path)) == plan;
    let idle = each.iter().filter(|(_, files)| files.iter().all(is_plan));
    let idle = idle.map(|(number, _)| *number).collect();
    let store = view
        .run
        .as_ref()
        .map(|run| paths.run(run).originals(view.changed_tests.count_from()));
    let originals = store.and_then(|store| Originals::load(&store).ok().flatten());
    let files = all.into_iter().filter_map(|(path, change)| {
        // A file that no iteration changed is the user's own work.
        let (iteration, _) = each.iter().rfind(|(_, files)| files.contains(&path))?;
        let shown = Path::new(&path)
            .strip_prefix(project)
            .map_or(Path::new(&path), |path| path);
        let shown = shown.to_string_lossy().into_owned();
        let is_new = change == GuardedChangeKind::Added;
        let (is_test, is_guarded) = originals.as_ref().map_or((false, false), |originals| {
            (originals.is_test(&shown), originals.is_configuration(&shown))
        });
        let role = match is_test {
            true => FileRole::Test,
            false if is_guarded || is_for_tools(&shown, is_new) => FileRole::Tools,
            false => FileRole::Work,
        };
        Some(ChangedFile {
            path: shown,
            change,
            role,
            iteration: *iteration,
            removed: Vec::new(),
        })
    });
    let mut files: Vec<ChangedFile> = files.collect();
    let in_repository = |path: &str| project.join(path).to_string_lossy().into_owned();
    let is_changed_test =
        |file: &&mut ChangedFile| file.role == FileRole::Test && file.change == GuardedChangeKind::Changed;
    let tests: Vec<String> = files
        .iter_mut()
        .filter(is_changed_test)
        .map(|file| in_repository(&file.path))
        .collect();
    let lost = repository.removed_in_each(&spans[1..], &tests).unwrap_or_default();
    for file in files.iter_mut().filter(is_changed_test) {
        let path = in_repository(&file.path);
        let lost = ends
            .iter()
            .zip(&lost)
            .flat_map(|((number, ..), lost)| lost.iter().map(|lost| (*number, lost)));
        let of_file = lost.filter(|(_, (lost, _))| *lost == path);
        file.removed = of_file
            .map(|(iteration, (_, lines))| RemovedLines {
                iteration,
                lines: *lines,
            })
            .collect();
    }
    Some(ChangedFiles { files, idle })
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
