//! `ralph report` and `ralph runs`: what runs did.

use crate::{
    app::Place,
    console::{self, print, print_json},
    error::{Failure, FailureKind},
    proc::Supervisor,
    review::{self, ReportFormat, RunEntry, Shelf, Standing, date_time, written},
    text::one_line,
    ui::{Presentation, headless::Format, report},
    words::{counted, short_duration},
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
    let report = review::report(&place.paths, &run, supervisor)?;
    match format {
        ReportFormatArg::Text => {
            let style = Presentation::of_stdout(Format::Text).style;
            let mut out = console::stdout(style.form());
            // A reader that went away has read enough.
            _ = report::write_text(&report, style, date_time, &mut out);
        }
        ReportFormatArg::Markdown => print(&written(&report, ReportFormat::Markdown)),
        ReportFormatArg::Json => print_json(&written(&report, ReportFormat::Json)),
    }
    Ok(0)
}

pub(super) fn runs(args: &Args) -> Result<u8, Failure> {
    let place = place(args)?;
    if place.paths.run_ids().is_empty() {
        return Err(Failure::new(FailureKind::Failed, "no runs in this project yet")
            .hint("`ralph --plan PLAN.md` starts one, `ralph demo` shows one"));
    }
    for entry in Shelf::default().runs(&place.paths) {
        print(&row(&place, &entry));
    }
    Ok(0)
}

fn row(place: &Place, entry: &RunEntry) -> String {
    let run = &entry.run;
    let how = match entry.standing {
        Standing::Unreadable => return format!("{run}  its journal cannot be read\n"),
        Standing::Running => "running".to_owned(),
        Standing::Over | Standing::Interrupted => one_line(&entry.state),
    };
    let plan = entry.plan.strip_prefix(&place.project).unwrap_or(&entry.plan).display();
    let all = u64::from(entry.tasks_done) + u64::from(entry.tasks_open);
    format!(
        "{run}  {}  {plan}  {}/{} · {} · {}  {how}\n",
        date_time(entry.started_ms),
        entry.tasks_done,
        counted(all, "task"),
        counted(u64::from(entry.iterations), "iteration"),
        short_duration(entry.elapsed_ms),
    )
}
