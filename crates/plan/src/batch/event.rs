//! What happens in a batch: the records of its journal, facts without sentences.

use ralph_core::event::{BreakerCause, LimitKind};
use serde::{Deserialize, Serialize};

use super::{BatchEnd, BatchId, BatchLimits, Held, JobEnd, Kept, MergeProof, PlanName, Planned, StoppedBy, Trouble};

/// One line of the journal of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRecord {
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    pub event: BatchEvent,
}

/// Something that an agent can change for all work trees of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum RepositoryChange {
    /// A branch or a tag was moved or deleted.
    Reference {
        /// Its full name.
        name: String,
        from: String,
        /// Its object; none if it was deleted.
        to: Option<String>,
    },
    Config {
        /// The settings that differ.
        keys: Vec<String>,
        file: String,
        /// A copy of the file as it was before.
        copy: String,
    },
}

/// Changes to a batch that is resumed, from then on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resumption {
    /// Limits on what the plans may use together; none where they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BatchLimits>,
    /// The settings on the command line of every run; none where they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The plans that go on alone; all of them where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanName>,
    /// The plans whose changed tests were confirmed since their runs ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<PlanName>,
}

/// What happened. Names and commits are git's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum BatchEvent {
    /// The first record of every journal.
    BatchOpened {
        format: String,
        version: u32,
        /// The version of ralph.
        ralph: String,
        batch: BatchId,
    },
    BatchStarted {
        /// The branch that finished plans are merged into.
        target: String,
        /// Where the target is when the batch starts.
        base: String,
        jobs: u32,
        /// What runs the jobs.
        #[serde(default = "local")]
        engine: String,
        /// What every run is given on its command line.
        arguments: Vec<String>,
        plans: Vec<Planned>,
        #[serde(default, skip_serializing_if = "BatchLimits::is_none")]
        limits: BatchLimits,
    },
    /// A batch that was cut off or stopped, or that left plans as they were, goes on.
    BatchResumed {
        #[serde(default)]
        changes: Resumption,
    },
    PlanStarted {
        plan: PlanName,
    },
    /// The branch and the work tree of a plan are there.
    WorkTreeAdded {
        plan: PlanName,
        /// The commit that they begin with.
        base: String,
        /// The directory of the project in the work tree.
        #[serde(default)]
        tree: String,
    },
    JobStarted {
        plan: PlanName,
    },
    /// The engine has the job.
    JobSubmitted {
        plan: PlanName,
        /// What ralph calls it.
        name: String,
        /// What the engine calls it; none if it was never heard to say.
        id: Option<String>,
    },
    /// The engine has begun to run it.
    JobBegan {
        plan: PlanName,
    },
    /// The engine does not answer, or does not do what it is asked to; its jobs are waited for.
    EngineSilent {
        plan: PlanName,
        why: String,
    },
    JobEnded {
        plan: PlanName,
        end: JobEnd,
        /// How many iterations it began within the hour before.
        #[serde(default)]
        calls: u32,
    },
    /// The run of a plan makes no progress, as it says itself; with no cause, it makes progress again.
    PlanStalled {
        plan: PlanName,
        why: Option<BreakerCause>,
    },
    MergeStarted {
        plan: PlanName,
    },
    /// The branch and the target were merged without conflict. The target is where it was.
    MergeMade {
        plan: PlanName,
        commit: String,
        /// The commit of the target that it was merged onto.
        onto: String,
    },
    MergeRefused {
        plan: PlanName,
        trouble: Trouble,
        /// The commit of the target that it was to be merged onto.
        #[serde(default)]
        onto: String,
        /// The commit of its branch.
        #[serde(default)]
        branch: String,
    },
    /// The goals pass on the merged tree, or there are none.
    MergeVerified {
        plan: PlanName,
        has_goals: bool,
        /// The evidence; none in journals before there was any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<MergeProof>,
    },
    /// The target has the plan's work.
    TargetMoved {
        plan: PlanName,
        commit: String,
    },
    /// Somebody else moved the target meanwhile: what was verified is not what would be merged.
    TargetHadMoved {
        plan: PlanName,
    },
    /// The target cannot be moved for the time being, so its merge waits.
    TargetInUse {
        plan: PlanName,
        why: String,
    },
    /// The target lacked merges of the batch, since a process of the machine had moved or deleted it, and was put back.
    TargetPutBack {
        /// Its commit before; none if it was deleted.
        from: Option<String>,
        to: String,
    },
    /// Tests of a side were in place of others in the scratch work tree when a process was killed, and were taken away.
    TrialUndone {
        files: Vec<String>,
    },
    /// A branch, a tag or the configuration of the repository was changed, and not by the batch.
    RepositoryChanged {
        change: RepositoryChange,
    },
    /// The agent is given another task, because of the trouble that the merge had.
    TaskAdded {
        plan: PlanName,
    },
    /// The plan is left as it is.
    PlanKept {
        plan: PlanName,
        why: Kept,
    },
    /// The work tree of a merged plan is gone, and its branch.
    WorkTreeRemoved {
        plan: PlanName,
    },
    /// It could not be removed.
    WorkTreeKept {
        plan: PlanName,
        why: String,
    },
    /// The run of a plan has met a limit, which is the account's.
    AdapterLimited {
        plan: PlanName,
        adapter: String,
        until_ms: u64,
        /// Who a run begins with, and who stands in for them, in order.
        workers: Vec<String>,
    },
    /// No run starts for the time being.
    StartsHeld {
        held: Held,
    },
    /// What the plans may use together is used up: runs are ended, and none starts.
    BudgetUsedUp {
        limit: LimitKind,
    },
    CancelRequested {
        plan: PlanName,
    },
    StopRequested {
        by: StoppedBy,
    },
    BatchEnded {
        end: BatchEnd,
    },
}

/// The engine of batches from before there were others.
fn local() -> String {
    super::LOCAL.to_owned()
}

impl BatchEvent {
    /// The plan that it is about.
    pub fn plan(&self) -> Option<&PlanName> {
        match self {
            BatchEvent::PlanStarted { plan }
            | BatchEvent::WorkTreeAdded { plan, .. }
            | BatchEvent::JobStarted { plan }
            | BatchEvent::JobSubmitted { plan, .. }
            | BatchEvent::JobBegan { plan }
            | BatchEvent::EngineSilent { plan, .. }
            | BatchEvent::JobEnded { plan, .. }
            | BatchEvent::PlanStalled { plan, .. }
            | BatchEvent::MergeStarted { plan }
            | BatchEvent::MergeMade { plan, .. }
            | BatchEvent::MergeRefused { plan, .. }
            | BatchEvent::MergeVerified { plan, .. }
            | BatchEvent::TargetMoved { plan, .. }
            | BatchEvent::TargetHadMoved { plan }
            | BatchEvent::TargetInUse { plan, .. }
            | BatchEvent::TaskAdded { plan }
            | BatchEvent::PlanKept { plan, .. }
            | BatchEvent::WorkTreeRemoved { plan }
            | BatchEvent::WorkTreeKept { plan, .. }
            | BatchEvent::AdapterLimited { plan, .. }
            | BatchEvent::CancelRequested { plan } => Some(plan),
            BatchEvent::BatchOpened { .. }
            | BatchEvent::BatchStarted { .. }
            | BatchEvent::BatchResumed { .. }
            | BatchEvent::TargetPutBack { .. }
            | BatchEvent::TrialUndone { .. }
            | BatchEvent::RepositoryChanged { .. }
            | BatchEvent::StartsHeld { .. }
            | BatchEvent::BudgetUsedUp { .. }
            | BatchEvent::StopRequested { .. }
            | BatchEvent::BatchEnded { .. } => None,
        }
    }
}
