//! Carries out a batch: the rules are in `batch`, the runs are ordinary runs of this executable, each in a work tree of its own.
//!
//! Records are written before anything acts on them, and a task that may have been done already is done again: a batch that was
//! killed at any moment goes on where its journal ends. Local jobs run below guards, as agents do, and end with the batch; those of
//! an engine outlive one that is killed, and are found again. A run that was cut off resumes from its own journal.

mod clean;
mod driver;
mod engine;
mod follow;
mod gate;
mod job;
mod journal;
mod judging;
mod meter;
mod paths;
mod requests;
mod signals;
mod watch;
mod worker;

pub(crate) use clean::{Cleaned, Stay, clean, prune};
pub(crate) use driver::{BatchError, record, resume, run};
pub(crate) use engine::{Catalog as EngineCatalog, Engine, EngineError};
pub(crate) use follow::{Follower, Following};
pub(crate) use gate::{JudgingFiles, MergeGate};
pub(crate) use journal::read;
pub(crate) use paths::{BatchLock, BatchPaths, batches_in, latest};
pub(crate) use requests::{ask_to_cancel, ask_to_stop, done as take_back};
pub(crate) use worker::{Site, job_state, job_views, used};
