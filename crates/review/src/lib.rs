//! Read access to runs, finished or not: lists with states, reports, changes of iterations. For the commands that print
//! them and the server that sends them.
//!
//! Everything comes from journals and git, so a finished run, an active one and one that was killed are read alike.
//! Calls block on disk and git.

#![deny(unreachable_pub)]

mod difference;
mod entry;
mod local_time;
mod projects;
pub mod prune;
mod report;
mod repository;
mod run_cache;

#[cfg(not(feature = "testing"))]
use ralph_core::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;

pub use difference::{DifferenceError, DifferenceRequest, difference};
pub use entry::{RunEntry, RunStanding};
pub use local_time::date_time;
pub use projects::{Projects, run_number};
pub use report::{ReportFormat, changed_files, commit_span, commits, report, report_of_records, written};
pub use repository::repository;
pub use run_cache::RunCache;
