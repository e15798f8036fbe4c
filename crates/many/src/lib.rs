//! Carries out a batch. The rules are in `batch`; each plan's run is an ordinary run of this executable in a
//! work tree of its own.
//!
//! Records are written before anything acts on them, and every task can be repeated, so a batch that is
//! killed at any moment resumes where its journal ends. Local jobs run below guards, as agents do, and end
//! with the batch. Jobs of an engine outlive a killed batch and are found again. An interrupted run resumes
//! from its own journal.

#![deny(unreachable_pub)]

mod clean;
mod delivery;
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

pub use clean::{Cleaned, Retained, clean, prune};
pub use delivery::REMOTE;
pub use driver::{BatchError, record, resume, run};
pub use engine::{Engine, EngineCatalog, EngineError, installed};
pub use follow::{BatchFollower, FollowerThread};
pub use gate::{JudgingFiles, MergeCheck, MergeGate};
pub use journal::read;
pub use paths::{BatchLock, BatchPaths, batches_in, latest};
pub use requests::{ask_to_cancel, ask_to_change, ask_to_stop, done as take_back};
pub use worker::{Site, job_state, job_views, used};
