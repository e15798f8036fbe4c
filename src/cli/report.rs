//! `ralph report` and `ralph runs`: show what runs did.

use std::path::Path;

use ralph_core::event::Proof;
use ralph_review::{Projects, ReportFormat, RunCache, RunEntry, RunStanding, date_time, written};
use ralph_system::proc::Supervisor;
use ralph_text::console::{self, print, print_coloured, print_json};
use ralph_ui::report;
use ralph_words::short_duration;

use crate::{
    app::ProjectPlace,
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    args::Args,
    listing_args::ReportFormatArg,
    restore::{no_runs, which_run},
    run::place,
    table::{TableCell, table},
};

pub(super) fn run(
    args: &Args,
    run: Option<&str>,
    (format, short): (ReportFormatArg, bool),
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    let report = ralph_review::report(&place.paths, &run, supervisor)?;
    match format {
        ReportFormatArg::Text => {
            let style = Presentation::for_stdout(OutputFormat::Text).style;
            let mut out = console::stdout(style.form());
            // An error means that the reader closed the pipe.
            _ = match short {
                true => report::write_first(&report, style, &mut out),
                false => report::write_text(&report, style, date_time, &mut out),
            };
        }
        ReportFormatArg::Markdown => print(&written(&report, ReportFormat::Markdown)),
        ReportFormatArg::Json => print_json(&written(&report, ReportFormat::Json)),
    }
    Ok(0)
}

/// The columns of a list of runs.
const TITLES: [&str; 8] = [
    " #",
    "run",
    "started",
    "plan",
    " tasks",
    " iterations",
    " time",
    "state",
];

pub(super) fn runs(args: &Args, all: bool) -> Result<u8, Failure> {
    let place = place(args)?;
    if all {
        return runs_of_all(&place);
    }
    if place.paths.run_ids().is_empty() {
        return Err(no_runs());
    }
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let rows: Vec<_> = RunCache::default()
        .runs(&place.paths)
        .iter()
        .map(|entry| row(&place.project, entry))
        .collect();
    print_coloured(&table(TITLES, &rows, style));
    Ok(0)
}

/// The latest run of each project, and of each work tree of a batch.
fn runs_of_all(place: &ProjectPlace) -> Result<u8, Failure> {
    let root = place.paths.states().root().to_owned();
    let entries = Projects::below(root.clone()).runs(&RunCache::default());
    if entries.is_empty() {
        return Err(Failure::new(FailureKind::Failed, "there is no run yet in any project").hint("ralph PLAN.md"));
    }
    let trees = root.join("worktrees");
    let rows = entries.iter().map(|entry| {
        let shown = entry.project.strip_prefix(&trees).unwrap_or(&entry.project);
        let [number, run, started, plan, tasks, iterations, time, state] = row(&entry.project, entry);
        [
            TableCell::new(shown.to_string_lossy()),
            number,
            run,
            started,
            plan,
            tasks,
            iterations,
            time,
            state,
        ]
    });
    let rows: Vec<_> = rows.collect();
    let mut titles = ["project"; TITLES.len() + 1];
    titles[1..].copy_from_slice(&TITLES);
    print_coloured(&table(
        titles,
        &rows,
        Presentation::for_stdout(OutputFormat::Text).style,
    ));
    Ok(0)
}

fn row(project: &Path, entry: &RunEntry) -> [TableCell; TITLES.len()] {
    let (state, code) = match (entry.standing, entry.exit_code) {
        (RunStanding::Over, Some(0)) if entry.proof == Some(Proof::Nothing) => (&*entry.state, "33"),
        (RunStanding::Unreadable, _) => ("its journal cannot be read", "31"),
        (RunStanding::Running, _) => ("running", "36"),
        (RunStanding::Over | RunStanding::Interrupted, Some(0)) => (&*entry.state, "32"),
        (RunStanding::Over | RunStanding::Interrupted, Some(1)) => (&*entry.state, "31"),
        (RunStanding::Over | RunStanding::Interrupted, _) => (&*entry.state, "33"),
    };
    let plan = entry.plan.strip_prefix(project).unwrap_or(&entry.plan).display();
    let all = u64::from(entry.tasks_done) + u64::from(entry.tasks_open);
    let is_known = entry.standing != RunStanding::Unreadable;
    let known = |text: String| TableCell::new(if is_known { text } else { "-".to_owned() });
    let number = match entry.number {
        0 => String::new(),
        number => number.to_string(),
    };
    [
        TableCell::new(number),
        TableCell::new(&entry.run.0),
        known(date_time(entry.started_ms)),
        known(plan.to_string()),
        known(format!("{}/{all}", entry.tasks_done)),
        known(entry.iterations.to_string()),
        known(short_duration(entry.elapsed_ms)),
        TableCell::coloured(state, code),
    ]
}
