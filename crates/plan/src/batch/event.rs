//! The events of a batch, as recorded in its journal: facts without sentences.

use ralph_core::event::WaitCause;
use ralph_core::json::ReadJson;
use serde::{Deserialize, Serialize};

use super::{
    BatchEnd, BatchId, BatchLimit, BatchLimits, Delivery, JobEnd, KeptReason, MergeProof, MergeTrouble, PlanName,
    Planned, PullRequest, StartHold, StoppedBy,
};

/// One line of a batch's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRecord {
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    pub event: BatchEvent,
}

/// A change by others that affects all work trees of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum RepositoryChange {
    /// A branch or a tag was moved or deleted.
    Reference {
        /// Full name.
        name: String,
        from: String,
        /// The new object; `None` if the reference was deleted.
        to: Option<String>,
    },
    /// Other objects were put in place of some, for every git that obeys `git replace`. ralph's does not.
    Replaced { objects: Vec<String> },
    Config {
        /// Changed settings.
        keys: Vec<String>,
        file: String,
        /// A copy of the file before the change.
        copy: String,
    },
}

/// Files of a removed work tree that git ignores and no tool can make again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptFiles {
    pub directory: String,
    /// The first of them, relative to the directory.
    pub first: String,
    pub count: u64,
}

/// Changes to a batch from its resumption on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resumption {
    /// New shared limits of the plans; `None` leaves them unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BatchLimits>,
    /// New command-line arguments of every run; `None` leaves them unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The plans to continue; all if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanName>,
    /// The plans whose changed tests were confirmed since their runs ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<PlanName>,
    /// The plans whose questions were answered since their runs ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<PlanName>,
}

/// Changes to a batch by its user while it exists.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BatchChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BatchLimits>,
    /// Whether no run starts, and running ones pause after their iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Planned>,
}

/// An event. Names and commits are git's.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
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
        /// The target's commit at the start of the batch.
        base: String,
        jobs: u32,
        /// The engine that runs the jobs.
        engine: String,
        /// Command-line arguments of every run.
        arguments: Vec<String>,
        plans: Vec<Planned>,
        #[serde(default, skip_serializing_if = "BatchLimits::is_none")]
        limits: BatchLimits,
        /// The destination of verified work; `None` merges it into the target.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<Delivery>,
        /// Whether further plans are expected, so that it goes on once all are over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        watches: bool,
    },
    /// A batch that was interrupted or stopped, or that had unfinished plans, continues.
    BatchResumed {
        changes: Resumption,
    },
    /// The user changed the batch.
    BatchChanged {
        changes: BatchChanges,
    },
    PlanStarted {
        plan: PlanName,
    },
    /// The branch and the work tree of a plan were created.
    WorkTreeAdded {
        plan: PlanName,
        /// Their first commit.
        base: String,
        /// The project's directory in the work tree.
        tree: String,
    },
    JobStarted {
        plan: PlanName,
    },
    /// The engine has accepted the job.
    JobSubmitted {
        plan: PlanName,
        /// ralph's name of the job.
        name: String,
        /// The engine's id of the job; `None` if it was never received.
        id: Option<String>,
    },
    /// The job's script has begun.
    JobBegan {
        plan: PlanName,
    },
    /// The engine does not answer, or does not do as asked; ralph waits for its jobs.
    EngineSilent {
        plan: PlanName,
        why: String,
    },
    JobEnded {
        plan: PlanName,
        end: JobEnd,
        /// Number of iterations that the run began within the hour before.
        calls: u32,
    },
    /// The run of a plan reports that it makes no progress; without `why`, it makes progress again.
    PlanStalled {
        plan: PlanName,
        why: Option<WaitCause>,
    },
    MergeStarted {
        plan: PlanName,
        /// The finished plans that are merged and verified together with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<PlanName>,
    },
    /// The branch and the target were merged without conflict. The target has not moved yet.
    MergeMade {
        plan: PlanName,
        commit: String,
        /// The commit of the target that it was merged onto.
        onto: String,
        /// The plans in the same commit, in the order of its parents. Plans in conflict are left out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<PlanName>,
    },
    /// The goals fail on the tree of several plans. Fewer of them are merged next, until the one that fails is found.
    GroupRefused {
        plan: PlanName,
        with: Vec<PlanName>,
        trouble: MergeTrouble,
    },
    MergeRefused {
        plan: PlanName,
        trouble: MergeTrouble,
        /// The commit of the target onto which the merge was attempted.
        onto: String,
        /// The commit of the branch.
        branch: String,
    },
    /// The goals passed on the merged tree, or there are no goals.
    MergeVerified {
        plan: PlanName,
        /// The evidence; `None` if there are no goals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<MergeProof>,
    },
    /// The target contains the work of the plan, and of those that were merged with it.
    TargetMoved {
        plan: PlanName,
        commit: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<PlanName>,
    },
    /// The target was moved by others in the meantime, so the verified commit is not the result of a merge
    /// any more.
    TargetHadMoved {
        plan: PlanName,
    },
    /// The target cannot be moved at the moment, so the merge waits.
    TargetInUse {
        plan: PlanName,
        why: String,
    },
    /// The target lacked merges of the batch, because another process had moved or deleted it, and was
    /// restored.
    TargetPutBack {
        /// The commit before; `None` if the branch was deleted.
        from: Option<String>,
        to: String,
    },
    /// A branch, a tag or the configuration of the repository was changed by others.
    RepositoryChanged {
        change: RepositoryChange,
    },
    /// The verified work of a plan is being brought to the remote.
    DeliveryStarted {
        plan: PlanName,
    },
    /// The remote has the work of the plan.
    Delivered {
        plan: PlanName,
        commit: String,
        /// The pull request; `None` if only the branch is pushed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<PullRequest>,
    },
    /// The forge or the remote does not do as asked, and ralph tries again; without `why`, it does again.
    ForgeSilent {
        plan: PlanName,
        why: Option<String>,
    },
    /// The agent is given another task because of the merge's trouble.
    TaskAdded {
        plan: PlanName,
    },
    /// The plan is left as it is.
    PlanKept {
        plan: PlanName,
        why: KeptReason,
    },
    /// The user has confirmed the changed tests of a plan that was left because of them.
    TestsConfirmed {
        plan: PlanName,
    },
    /// The work tree and the branch of a merged plan were removed.
    WorkTreeRemoved {
        plan: PlanName,
        /// Files that git ignores, and that outlive the work tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<KeptFiles>,
    },
    /// The work tree could not be removed.
    WorkTreeKept {
        plan: PlanName,
        why: String,
    },
    /// The run of a plan has met a rate limit, which applies to the account.
    AdapterLimited {
        plan: PlanName,
        adapter: String,
        until_ms: u64,
        /// The run's adapter and its fallbacks, in order.
        workers: Vec<String>,
    },
    /// No run starts at the moment.
    StartsHeld {
        held: StartHold,
    },
    /// Most of a shared limit of the plans is used.
    BudgetNear {
        limit: BatchLimit,
        /// The used share.
        percent: u8,
    },
    /// The shared budget of the plans is spent: runs are ended, and none starts.
    BudgetUsedUp {
        limit: BatchLimit,
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

impl BatchEvent {
    /// Returns the plan that the event is about.
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
            | BatchEvent::MergeStarted { plan, .. }
            | BatchEvent::GroupRefused { plan, .. }
            | BatchEvent::MergeMade { plan, .. }
            | BatchEvent::MergeRefused { plan, .. }
            | BatchEvent::MergeVerified { plan, .. }
            | BatchEvent::TargetMoved { plan, .. }
            | BatchEvent::TargetHadMoved { plan }
            | BatchEvent::TargetInUse { plan, .. }
            | BatchEvent::DeliveryStarted { plan }
            | BatchEvent::Delivered { plan, .. }
            | BatchEvent::ForgeSilent { plan, .. }
            | BatchEvent::TaskAdded { plan }
            | BatchEvent::PlanKept { plan, .. }
            | BatchEvent::TestsConfirmed { plan }
            | BatchEvent::WorkTreeRemoved { plan, .. }
            | BatchEvent::WorkTreeKept { plan, .. }
            | BatchEvent::AdapterLimited { plan, .. }
            | BatchEvent::CancelRequested { plan } => Some(plan),
            BatchEvent::BatchOpened { .. }
            | BatchEvent::BatchStarted { .. }
            | BatchEvent::BatchResumed { .. }
            | BatchEvent::BatchChanged { .. }
            | BatchEvent::TargetPutBack { .. }
            | BatchEvent::RepositoryChanged { .. }
            | BatchEvent::StartsHeld { .. }
            | BatchEvent::BudgetNear { .. }
            | BatchEvent::BudgetUsedUp { .. }
            | BatchEvent::StopRequested { .. }
            | BatchEvent::BatchEnded { .. } => None,
        }
    }
}
