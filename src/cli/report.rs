//! `ralph report` and `ralph runs`: what runs did.

use crate::{
    app::Place,
    console::{self, print, print_json},
    driver::read_view,
    error::{Failure, FailureKind},
    event::{Checkpoint, RunId},
    git::Repository,
    proc::Supervisor,
    store::{journal::JournalError, lock},
    text::one_line,
    ui::{
        Presentation,
        headless::Format,
        report::{self, CommitLine, Report},
    },
    words::{counted, short_duration, stop_in_words},
};

use super::{
    args::{Args, ReportFormatArg},
    restore::which_run,
    run::place,
};

pub(super) fn run(
    args: &Args,
    run: Option<&str>,
    format: ReportFormatArg,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    let mut report = read_report(&place, &run)?;
    add_commits(&place, &mut report, supervisor);
    match format {
        ReportFormatArg::Text => {
            let style = Presentation::of_stdout(Format::Text).style;
            let mut out = console::stdout(style.form());
            // A reader that went away has read enough.
            _ = report::write_text(&report, style, date_time, &mut out);
        }
        ReportFormatArg::Markdown => print(&report::markdown(&report, date_time)),
        ReportFormatArg::Json => {
            let text = serde_json::to_string_pretty(&report);
            print_json(&(text.expect("a report has no failing serialisers") + "\n"));
        }
    }
    Ok(0)
}

fn read_report(place: &Place, run: &RunId) -> Result<Report, JournalError> {
    Ok(Report::of(&read_view(&place.paths, run)?))
}

/// Looks up the commits of each iteration. The report is as good without: their number is in the records.
fn add_commits(place: &Place, report: &mut Report, supervisor: &Supervisor) {
    let made_commits = |checkpoints: (&Option<Checkpoint>, &Option<Checkpoint>)| match checkpoints {
        (Some(before), Some(after)) if before.head != after.head => Some((before.clone(), after.clone())),
        _ => None,
    };
    let mut wanted = report.iterations.iter_mut().filter_map(|iteration| {
        let (before, after) = made_commits((&iteration.before, &iteration.after))?;
        Some((&mut iteration.commits, before, after))
    });
    let Ok(scratch) = tempfile::tempdir() else { return };
    let Some(first) = wanted.next() else { return };
    let Ok((repository, _)) = Repository::discover(&place.project, scratch.path(), supervisor) else {
        return;
    };
    for (commits, before, after) in std::iter::once(first).chain(wanted) {
        let found = repository.commits_between(&before, &after).unwrap_or_default();
        let lines = found.into_iter().map(|commit| CommitLine {
            id: commit.id,
            subject: one_line(&commit.subject),
        });
        commits.extend(lines);
    }
}

pub(super) fn runs(args: &Args) -> Result<u8, Failure> {
    let place = place(args)?;
    let ids = place.paths.run_ids();
    if ids.is_empty() {
        return Err(Failure::new(FailureKind::Failed, "no runs in this project yet")
            .hint("`ralph --plan PLAN.md` starts one, `ralph demo` shows one"));
    }
    let running = lock::holder(&place.paths).and_then(|holder| holder.run);
    for run in ids.iter().rev() {
        print(&row(&place, run, running.as_ref() == Some(run)));
    }
    Ok(0)
}

fn row(place: &Place, run: &RunId, running: bool) -> String {
    let Ok(view) = read_view(&place.paths, run) else {
        return format!("{run}  its journal cannot be read\n");
    };
    let totals = view.end().map_or_else(|| view.totals(), |end| end.totals.clone());
    let how = match view.stop_reason() {
        Some(reason) => one_line(&stop_in_words(reason)),
        None if running => "running".to_owned(),
        None => "interrupted; resumes with the next `ralph`".to_owned(),
    };
    let plan = &view.settings.plan;
    let plan = plan.strip_prefix(&place.project).unwrap_or(plan).display();
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    format!(
        "{run}  {}  {plan}  {}/{} · {} · {}  {how}\n",
        date_time(view.clock.started_ms),
        totals.tasks_done,
        counted(all, "task"),
        counted(u64::from(totals.iterations), "iteration"),
        short_duration(totals.elapsed_ms),
    )
}

/// Day and time on the user's clock.
fn date_time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms)
        .ok()
        .and_then(|at_ms| jiff::Timestamp::from_millisecond(at_ms).ok());
    match at {
        Some(at) => at
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => "an unknown time".to_owned(),
    }
}
