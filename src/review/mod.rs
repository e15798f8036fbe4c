//! Read access to runs, finished or not: lists with states, reports, changes of iterations. For the commands that print
//! them and the server that sends them.
//!
//! Everything comes from journals and git, so a finished run, an active one and one that was killed are read alike.
//! Calls block on disk and git.

mod difference;
mod entry;
mod local_time;
mod projects;
mod report;
mod repository;
mod run_cache;

pub(crate) use difference::{DifferenceError, DifferenceRequest, difference};
pub(crate) use entry::{RunEntry, RunStanding};
pub(crate) use local_time::date_time;
pub(crate) use projects::{Projects, run_number};
pub(crate) use report::{ReportFormat, commit_span, commits, report, report_of_records, written};
pub(crate) use repository::repository;
pub(crate) use run_cache::RunCache;
