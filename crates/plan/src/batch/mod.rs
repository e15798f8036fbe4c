//! The rules of a batch: many plans at once, each in a work tree of its own, merged one after the other.
//! Pure.
//!
//! [`step`] maps an input to the events that follow from it; a [`Batch`] is the fold of its events. The next
//! task of a plan follows from its phase ([`Batch::task_for`]) and is repeated after a crash, so every task is
//! idempotent.

mod delivery;
mod end;
mod engine;
mod event;
mod front_matter;
mod gate;
mod limits;
mod name;
mod phase;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use delivery::{DeliveredWork, Delivery, DeliveryKind, FailedCheck, PullRequest, ReviewThread};
pub use end::{BatchEnd, JobEnd, KeptReason, MergeTrouble, StoppedBy};
pub use engine::{EngineEnd, EngineJob, JobNews, LOCAL};
pub use event::{BatchChanges, BatchEvent, BatchRecord, KeptFiles, RepositoryChange, Resumption};
pub use front_matter::{FrontMatterError, after, after_heading};
pub use gate::{
    ConfirmedChanges, FailedTests, GoalTests, MergeProof, MergedResults, RequiredCounts, Side, TestLoss, TestTrouble,
    judge,
};
pub use limits::{BatchLimit, BatchLimits, HoldReason, RecentCalls, StartHold};
pub use name::{BatchId, NameError, PlanName, Planned, added_plans, plan_names, section_plan_names, with_order};
pub use phase::{PlanPhase, WorkTree, WorkerTask};
pub use state::{Batch, BatchPlan};
pub use step::{BatchInput, TASKS_GIVEN, TaskResult, step};
