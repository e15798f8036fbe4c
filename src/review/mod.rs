//! What is left to read of runs: which there are and how they stand, what each of them did, what an iteration changed. For
//! the commands that print it and for the server that sends it.
//!
//! All of it comes from journals and from git, so that a run of last week, one that runs and one that was killed are read
//! alike. It takes as long as disk and git do.

mod difference;
mod entry;
mod local_time;
mod projects;
mod report;
mod shelf;

pub(crate) use difference::{DifferenceError, DifferenceRequest, difference};
pub(crate) use entry::{RunEntry, Standing};
pub(crate) use local_time::date_time;
pub(crate) use projects::Projects;
pub(crate) use report::{ReportFormat, report, report_of_records, written};
pub(crate) use shelf::Shelf;
