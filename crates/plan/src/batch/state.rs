//! The state of a batch: the fold of its events.

use std::collections::BTreeMap;

use ralph_core::event::Proof;

use super::{
    BatchEnd, BatchEvent, BatchId, BatchLimit, BatchLimits, BatchRecord, ConfirmedChanges, DeliveredWork, Delivery,
    EngineJob, HoldReason, KeptReason, LOCAL, MergeProof, MergeTrouble, PlanName, PlanPhase, Planned, RecentCalls,
    RepositoryChange, Resumption, StartHold, StoppedBy, WorkTree, WorkerTask,
};

/// Most plans that are merged together.
const GROUP: usize = 8;
/// How long merges wait for the repair of a plan, in milliseconds: the longest duration of an iteration.
const REPAIR_MS: u64 = 3_600_000;

/// The state of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub id: BatchId,
    pub target: String,
    /// The target's commit when the batch started.
    pub base: String,
    /// The commit that the batch has moved its target to; initially the base.
    pub target_commit: String,
    pub jobs: u32,
    /// The engine that runs the jobs.
    pub engine: String,
    pub arguments: Vec<String>,
    pub plans: Vec<BatchPlan>,
    /// The plans that the batch was resumed for; all if empty.
    pub only: Vec<PlanName>,
    pub limits: BatchLimits,
    /// The destination of verified work; `None` merges it into the target.
    pub delivery: Option<Delivery>,
    /// Whether further plans are expected, so that it goes on once all are over.
    pub watches: bool,
    /// The limit that is exceeded: runs are ended, and finished plans are still merged.
    pub spent: Option<BatchLimit>,
    /// The limits of which the user was told that most of them is used.
    pub warned: Vec<BatchLimit>,
    /// The end of each adapter's rate limit.
    pub limited: BTreeMap<String, u64>,
    /// The adapter of runs and its fallbacks, in order; empty until a run has met a limit.
    pub workers: Vec<String>,
    /// The latest recorded hold of starts, and its time.
    pub announced_hold: Option<(u64, StartHold)>,
    /// The evidence for the last merge into the target; `None` before the first one.
    pub target_proof: Option<MergeProof>,
    /// Finished plans of which at least one fails its goals once it is merged; empty if none is known to.
    suspects: Vec<PlanName>,
    /// Changes to the repository by others since the batch was started or resumed.
    pub repository_changes: Vec<RepositoryChange>,
    /// No run starts.
    pub paused: bool,
    /// The batch should end without starting anything.
    pub stopped: Option<StoppedBy>,
    /// `None` while the batch is running, and after a crash.
    pub end: Option<BatchEnd>,
    /// The next number of a finished plan.
    finished: u32,
}

/// A plan of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPlan {
    pub name: PlanName,
    pub file: String,
    /// The section that is the plan; `None` for the whole file.
    pub section: Option<String>,
    pub after: Vec<PlanName>,
    /// The address of the issue that it was made from.
    pub issue: Option<String>,
    /// The part of its work that the remote has.
    pub delivered: Option<DeliveredWork>,
    /// Number of tasks given because of its pull request.
    pub rounds: u32,
    /// The reason why the forge did not do as asked; ralph tries again.
    pub forge_silent: Option<String>,
    pub phase: PlanPhase,
    pub work_tree: WorkTree,
    /// The obstacle to the last merge.
    pub trouble: Option<MergeTrouble>,
    /// Number of tasks given because of its merge with the same commit of the target.
    pub tasks_given: u32,
    /// Number of refused merges.
    pub refusals: u32,
    /// Time of its last refused merge, in milliseconds since the Unix epoch; `None` once it is merged or
    /// left.
    pub repairs_since_ms: Option<u64>,
    /// The commit of the target with which it conflicted or failed last.
    refused_onto: String,
    /// The plans that are being merged together with it, in the order of the merge commit's parents.
    pub group: Vec<PlanName>,
    /// The reason why the target cannot be moved for it; the move is retried.
    pub target_in_use: Option<String>,
    /// The first commit of its branch.
    pub base: String,
    /// The project's directory in its work tree.
    pub tree: String,
    /// Files with conflicts, each with the commit of the plan's branch and the time of its first conflict in
    /// milliseconds since the Unix epoch. Tests in the resolution are judged by both sides.
    pub conflicts: BTreeMap<String, (String, u64)>,
    /// The proof of its last run, if that was completed.
    pub proof: Option<Proof>,
    /// The evidence for its merge.
    pub merge_proof: Option<MergeProof>,
    /// Number of crashes of its process.
    pub crashes: u32,
    pub cancelled: bool,
    /// Its last run completed every task.
    is_done: bool,
    /// Its run makes no progress.
    pub stalled: bool,
    /// The calls of its last run.
    calls: RecentCalls,
    /// Number of its jobs so far.
    pub jobs: u32,
    /// Its job at an engine.
    pub job: Option<EngineJob>,
    /// Start of the phase, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Its place in the queue: plans are merged in the order in which they finish.
    queue_position: u32,
}

impl Batch {
    /// Folds the records; `None` if they do not begin with the opening of a batch.
    pub fn from_records(records: &[BatchRecord]) -> Option<Batch> {
        let (opened, rest) = records.split_first()?;
        let BatchEvent::BatchOpened { batch, .. } = &opened.event else {
            return None;
        };
        let mut folded = Batch::opened(batch.clone());
        for record in rest {
            folded.apply(record);
        }
        Some(folded)
    }

    /// Returns a batch that has not started.
    pub fn opened(id: BatchId) -> Batch {
        Batch {
            id,
            target: String::new(),
            base: String::new(),
            target_commit: String::new(),
            jobs: 1,
            engine: LOCAL.to_owned(),
            arguments: Vec::new(),
            plans: Vec::new(),
            only: Vec::new(),
            limits: BatchLimits::default(),
            delivery: None,
            watches: false,
            spent: None,
            warned: Vec::new(),
            limited: BTreeMap::new(),
            workers: Vec::new(),
            announced_hold: None,
            target_proof: None,
            suspects: Vec::new(),
            repository_changes: Vec::new(),
            paused: false,
            stopped: None,
            end: None,
            finished: 0,
        }
    }

    pub fn apply(&mut self, record: &BatchRecord) {
        match &record.event {
            BatchEvent::BatchOpened { .. } | BatchEvent::TargetPutBack { .. } => {}
            BatchEvent::BatchStarted {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
                delivery,
                watches,
            } => {
                self.target.clone_from(target);
                self.base.clone_from(base);
                self.target_commit.clone_from(base);
                self.jobs = *jobs;
                self.engine.clone_from(engine);
                self.arguments.clone_from(arguments);
                self.limits = *limits;
                self.delivery.clone_from(delivery);
                self.watches = *watches;
                self.plans = plans.iter().map(|plan| BatchPlan::new(plan, record.at_ms)).collect();
            }
            BatchEvent::BatchResumed { changes } => self.resume(changes, record.at_ms),
            BatchEvent::BatchChanged { changes } => {
                self.jobs = changes.jobs.unwrap_or(self.jobs);
                self.limits = changes.limits.unwrap_or(self.limits);
                self.paused = changes.paused.unwrap_or(self.paused);
                let added = changes.added.iter().map(|plan| BatchPlan::new(plan, record.at_ms));
                self.plans.extend(added);
            }
            BatchEvent::AdapterLimited {
                adapter,
                until_ms,
                workers,
                ..
            } => {
                self.limited.insert(adapter.clone(), *until_ms);
                self.workers.clone_from(workers);
            }
            BatchEvent::StartsHeld { held } => self.announced_hold = Some((record.at_ms, held.clone())),
            BatchEvent::RepositoryChanged { change } => self.repository_changes.push(change.clone()),
            BatchEvent::BudgetNear { limit, .. } => self.warned.push(*limit),
            BatchEvent::BudgetUsedUp { limit } => self.spent = Some(*limit),
            BatchEvent::StopRequested { by } => self.stopped = Some(*by),
            BatchEvent::BatchEnded { end } => self.end = Some(*end),
            event => {
                let Some(name) = event.plan() else { return };
                match event {
                    BatchEvent::TargetMoved { commit, with, .. } => self.moved(name, with, commit, record.at_ms),
                    BatchEvent::GroupRefused { with, .. } => {
                        self.suspects = [name].into_iter().chain(with).cloned().collect();
                    }
                    BatchEvent::MergeRefused { trouble, .. } => match trouble {
                        MergeTrouble::Goals { .. } | MergeTrouble::Tests { .. } => self.suspects.clear(),
                        MergeTrouble::Conflict { .. }
                        | MergeTrouble::Markers { .. }
                        | MergeTrouble::Checks { .. }
                        | MergeTrouble::Comments { .. } => {
                            self.suspects.retain(|suspect| suspect != name);
                        }
                    },
                    BatchEvent::PlanKept { .. } => self.suspects.retain(|suspect| suspect != name),
                    _ => {}
                }
                let queue_position = self.finished;
                let stops = self.stopped.is_some() || self.spent.is_some();
                let Some(plan) = self.plans.iter_mut().find(|plan| plan.name == *name) else {
                    return;
                };
                plan.apply(record, stops, queue_position);
                plan.since_ms = record.at_ms;
                if plan.phase == PlanPhase::Finished {
                    self.finished += 1;
                }
            }
        }
    }

    /// Notes that the target has the work of a plan and of those `with` it.
    fn moved(&mut self, name: &PlanName, with: &[PlanName], commit: &str, at_ms: u64) {
        let proof = self.plan(name).and_then(|plan| plan.merge_proof.clone());
        if self.target_commit != commit {
            commit.clone_into(&mut self.target_commit);
            self.target_proof.clone_from(&proof);
        }
        for plan in self.plans.iter_mut().filter(|plan| with.contains(&plan.name)) {
            // The first plan has the changes that were confirmed for any of them.
            plan.merge_proof = proof.clone().map(|proof| MergeProof {
                confirmed: ConfirmedChanges::default(),
                ..proof
            });
            plan.phase = PlanPhase::Merged {
                commit: commit.to_owned(),
            };
            plan.since_ms = at_ms;
        }
        self.suspects
            .retain(|suspect| suspect != name && !with.contains(suspect));
    }

    fn resume(&mut self, changes: &Resumption, at_ms: u64) {
        if let Some(limits) = changes.limits {
            self.limits = limits;
            self.warned.clear();
        }
        self.jobs = changes.jobs.unwrap_or(self.jobs);
        if let Some(arguments) = &changes.arguments {
            self.arguments.clone_from(arguments);
        }
        self.only.clone_from(&changes.plans);
        (self.stopped, self.spent, self.end, self.paused) = (None, None, None, false);
        // Nobody adds plans to a resumed batch by itself.
        self.watches = false;
        self.announced_hold = None;
        self.repository_changes.clear();
        for plan in &mut self.plans {
            let PlanPhase::Kept { why } = &plan.phase else { continue };
            let is_named = changes.plans.contains(&plan.name);
            let is_confirmed = changes.confirmed.contains(&plan.name);
            // Another run would treat the changed tests as the ones that count, and ask the same again.
            let waits_for_user =
                why.is_unconfirmed() && !is_confirmed || why.is_question() && !changes.answered.contains(&plan.name);
            if waits_for_user && !is_named {
                continue;
            }
            let is_given_up = matches!(why, KeptReason::Cancelled | KeptReason::Closed { .. });
            if !is_named && (is_given_up || !changes.plans.is_empty()) {
                continue;
            }
            plan.phase = match (why, &plan.work_tree) {
                (_, WorkTree::None) => PlanPhase::Waiting,
                (
                    KeptReason::NotMerged { .. }
                    | KeptReason::TargetInUse { .. }
                    | KeptReason::Failed { .. }
                    | KeptReason::Closed { .. },
                    _,
                ) => PlanPhase::Finished,
                (KeptReason::Cancelled, _) if plan.is_done => PlanPhase::Finished,
                (KeptReason::NotDone { .. } | KeptReason::Waits { .. } | KeptReason::Cancelled, _) => PlanPhase::Ready,
            };
            if is_confirmed {
                plan.confirm();
            }
            if plan.phase == PlanPhase::Finished {
                plan.queue_position = self.finished;
                self.finished += 1;
            }
            plan.since_ms = at_ms;
            (plan.tasks_given, plan.crashes, plan.rounds) = (0, 0, 0);
        }
        for plan in &mut self.plans {
            if !changes.plans.is_empty() && !plan.group.is_empty() && is_merging(plan) {
                // The batch may have been resumed for some plans of the group.
                plan.group.clear();
                plan.phase = PlanPhase::Finished;
            }
            (plan.target_in_use, plan.forge_silent) = (None, None);
            plan.repairs_since_ms = plan.repairs_since_ms.map(|_| at_ms);
        }
    }

    /// Whether the batch works on a plan; false if it was resumed for others.
    pub fn includes(&self, plan: &BatchPlan) -> bool {
        self.only.is_empty() || self.only.contains(&plan.name)
    }

    /// Returns the plans that the batch works on.
    pub(super) fn included(&self) -> impl Iterator<Item = &BatchPlan> {
        self.plans.iter().filter(|plan| self.includes(plan))
    }

    pub fn plan(&self, name: &PlanName) -> Option<&BatchPlan> {
        self.plans.iter().find(|plan| plan.name == *name)
    }

    /// Returns the present task for a plan; `None` if the plan waits or is over, or if the batch is stopping.
    pub fn task_for(&self, plan: &BatchPlan) -> Option<WorkerTask> {
        if self.stopped.is_some() || !self.includes(plan) {
            return None;
        }
        match &plan.phase {
            PlanPhase::Preparing => Some(WorkerTask::AddWorkTree),
            PlanPhase::Running => self.spent.is_none().then_some(WorkerTask::RunJob),
            PlanPhase::Merging => Some(WorkerTask::Merge),
            PlanPhase::Verifying { commit, onto } => Some(WorkerTask::CheckGoals {
                commit: commit.clone(),
                onto: onto.clone(),
            }),
            PlanPhase::Moving { commit, onto } => Some(WorkerTask::MoveTarget {
                commit: commit.clone(),
                onto: onto.clone(),
            }),
            PlanPhase::Repairing => plan.trouble.clone().map(|trouble| WorkerTask::GiveTask { trouble }),
            PlanPhase::Delivering => Some(WorkerTask::Deliver),
            PlanPhase::Delivered if plan.is_watched() => Some(WorkerTask::LookAtRequest),
            PlanPhase::Merged { .. }
            | PlanPhase::Delivered
            | PlanPhase::Kept {
                why: KeptReason::Closed { .. },
            } if plan.work_tree == WorkTree::There => Some(WorkerTask::RemoveWorkTree),
            PlanPhase::Merged { .. }
            | PlanPhase::Delivered
            | PlanPhase::Waiting
            | PlanPhase::Ready
            | PlanPhase::Finished
            | PlanPhase::Kept { .. } => None,
        }
    }

    /// Whether work in progress for a plan should be stopped.
    pub fn stops(&self, plan: &BatchPlan) -> bool {
        let is_spent = self.spent.is_some() && plan.phase == PlanPhase::Running;
        self.stopped.is_some() || plan.cancelled || is_spent
    }

    /// Returns how many runs there may be at a time.
    pub fn runs_at_a_time(&self) -> u32 {
        self.limits.runs_at_a_time(self.jobs)
    }

    /// Returns how many iterations each run may begin in an hour.
    pub fn calls_per_run(&self) -> Option<u32> {
        self.limits.calls_per_run(self.jobs)
    }

    /// Returns the hold on the start of another run at `at_ms`; `None` if a run may start.
    pub fn held(&self, at_ms: u64) -> Option<StartHold> {
        let is_running = |plan: &&BatchPlan| occupies_slot(plan) && self.includes(plan);
        let (running, ended): (Vec<&BatchPlan>, Vec<&BatchPlan>) = self.plans.iter().partition(is_running);
        let ended = ended.into_iter().map(|plan| plan.calls).collect();
        let running = u32::try_from(running.len()).unwrap_or(u32::MAX);
        let by_calls = self.limits.calls_free_at(self.jobs, running, ended, at_ms);
        let by_calls = by_calls.map(|until_ms| StartHold {
            until_ms,
            why: HoldReason::CallsUsedUp,
        });
        let by_limit = self.limited_until(at_ms);
        by_limit.into_iter().chain(by_calls).max_by_key(|held| held.until_ms)
    }

    /// Returns the hold if the adapter and all its fallbacks are limited: a new run would only meet the limit
    /// again.
    fn limited_until(&self, at_ms: u64) -> Option<StartHold> {
        let until = |adapter: &String| self.limited.get(adapter).copied().filter(|until_ms| *until_ms > at_ms);
        let all: Option<Vec<u64>> = self.workers.iter().map(until).collect();
        Some(StartHold {
            until_ms: all?.into_iter().min()?,
            why: HoldReason::AdapterLimited {
                adapter: self.workers.first()?.clone(),
            },
        })
    }

    /// Returns the next plan of the queue: a repaired one, or the one that finished first.
    pub(super) fn first_finished(&self) -> Option<&BatchPlan> {
        let finished = self.included().filter(|plan| plan.phase == PlanPhase::Finished);
        finished.min_by_key(|plan| (plan.repairs_since_ms.is_none(), plan.queue_position))
    }

    /// Returns the plans that are merged together with `first`, the next plan of the queue: all that have finished, and
    /// half of those of which one is known to fail. A repaired plan is merged alone.
    pub(super) fn group_of(&self, first: &BatchPlan) -> Vec<PlanName> {
        if first.repairs_since_ms.is_some() {
            return Vec::new();
        }
        let waits = |plan: &&BatchPlan| {
            plan.phase == PlanPhase::Finished
                && plan.repairs_since_ms.is_none()
                && !plan.cancelled
                && plan.name != first.name
        };
        let is_suspect = |plan: &BatchPlan| self.suspects.contains(&plan.name);
        let with_its_like = |plan: &&BatchPlan| is_suspect(plan) == is_suspect(first);
        let mut others: Vec<&BatchPlan> = self.included().filter(waits).filter(with_its_like).collect();
        others.sort_by_key(|plan| plan.queue_position);
        let most = match is_suspect(first) {
            true => others.len().div_ceil(2),
            false => GROUP,
        };
        let others = others.into_iter().take(most.saturating_sub(1));
        others.map(|plan| plan.name.clone()).collect()
    }

    /// Returns the plan with which a finished plan is being merged.
    pub fn merged_with(&self, name: &PlanName) -> Option<&PlanName> {
        let leads = |plan: &&BatchPlan| is_merging(plan) && plan.group.contains(name);
        self.plans.iter().find(leads).map(|plan| &plan.name)
    }

    /// Returns the plan whose repair other merges wait for at `at_ms`, because each of them could cause it
    /// another conflict.
    ///
    /// Merges continue while that plan waits for a limit or for money, and after an hour.
    pub fn repairing(&self, at_ms: u64) -> Option<&BatchPlan> {
        let is_limited = self.limited_until(at_ms).is_some();
        let holds = |plan: &&BatchPlan| {
            let is_recent = plan
                .repairs_since_ms
                .is_some_and(|since_ms| at_ms < since_ms + REPAIR_MS);
            let can_work = match plan.phase {
                PlanPhase::Repairing => true,
                PlanPhase::Ready => self.spent.is_none() && self.held(at_ms).is_none(),
                PlanPhase::Running => self.spent.is_none() && !is_limited,
                _ => false,
            };
            self.delivery.is_none() && is_recent && can_work
        };
        self.included().find(holds)
    }
}

impl BatchPlan {
    /// Returns the commit of the target that merged it; `None` if it is not merged.
    pub fn merged_as(&self) -> Option<&String> {
        match &self.phase {
            PlanPhase::Merged { commit } => Some(commit),
            _ => None,
        }
    }

    /// Whether it has a pull request that is neither merged nor closed, as far as ralph knows.
    pub fn is_watched(&self) -> bool {
        let request = self.delivered.as_ref().and_then(|work| work.request.as_ref());
        self.phase == PlanPhase::Delivered && request.is_some()
    }

    /// Whether it is left because its changed tests are not confirmed.
    pub fn is_unconfirmed(&self) -> bool {
        matches!(&self.phase, PlanPhase::Kept { why } if why.is_unconfirmed())
    }

    /// Whether it is left because its agent asks something.
    pub fn is_question(&self) -> bool {
        matches!(&self.phase, PlanPhase::Kept { why } if why.is_question())
    }

    /// Lets it be merged with its changed tests.
    fn confirm(&mut self) {
        self.phase = PlanPhase::Finished;
        (self.is_done, self.proof) = (true, Some(Proof::Tests));
    }

    fn new(planned: &Planned, at_ms: u64) -> BatchPlan {
        BatchPlan {
            name: planned.name.clone(),
            file: planned.file.clone(),
            section: planned.section.clone(),
            after: planned.after.clone(),
            issue: planned.issue.clone(),
            delivered: None,
            rounds: 0,
            forge_silent: None,
            phase: PlanPhase::Waiting,
            work_tree: WorkTree::None,
            trouble: None,
            tasks_given: 0,
            refusals: 0,
            repairs_since_ms: None,
            refused_onto: String::new(),
            group: Vec::new(),
            target_in_use: None,
            base: String::new(),
            tree: String::new(),
            conflicts: BTreeMap::new(),
            proof: None,
            merge_proof: None,
            crashes: 0,
            cancelled: false,
            is_done: false,
            stalled: false,
            calls: RecentCalls::default(),
            jobs: 0,
            job: None,
            since_ms: at_ms,
            queue_position: 0,
        }
    }

    fn run(&mut self) {
        self.phase = PlanPhase::Running;
        (self.jobs, self.job) = (self.jobs + 1, None);
    }

    /// Counts a refusal; resets the number of tasks if the target has moved since, because the conflict is
    /// then a new one.
    fn count_refusal(&mut self, trouble: &MergeTrouble, onto: &str) {
        self.refusals += 1;
        match trouble {
            MergeTrouble::Markers { .. } => {}
            MergeTrouble::Checks { .. } | MergeTrouble::Comments { .. } => self.rounds += 1,
            MergeTrouble::Conflict { .. } | MergeTrouble::Goals { .. } | MergeTrouble::Tests { .. } => {
                if self.refused_onto != onto {
                    self.tasks_given = 0;
                }
                onto.clone_into(&mut self.refused_onto);
            }
        }
    }

    /// Applies an event. `stops` tells whether the batch is stopping; `queue_position` is the next free place in the
    /// queue.
    fn apply(&mut self, record: &BatchRecord, stops: bool, queue_position: u32) {
        if !matches!(record.event, BatchEvent::CancelRequested { .. }) {
            (self.target_in_use, self.forge_silent) = (None, None);
        }
        match &record.event {
            BatchEvent::TargetInUse { why, .. } => self.target_in_use = Some(why.clone()),
            BatchEvent::PlanStarted { .. } => self.phase = PlanPhase::Preparing,
            BatchEvent::WorkTreeAdded { base, tree, .. } => {
                self.work_tree = WorkTree::There;
                self.base.clone_from(base);
                self.tree.clone_from(tree);
                self.run();
            }
            BatchEvent::JobStarted { .. } => self.run(),
            BatchEvent::JobSubmitted { name, id, .. } => {
                self.job = Some(EngineJob {
                    name: name.clone(),
                    id: id.clone(),
                    began: false,
                });
            }
            BatchEvent::JobBegan { .. } => {
                if let Some(job) = &mut self.job {
                    job.began = true;
                }
            }
            BatchEvent::EngineSilent { .. } => {}
            BatchEvent::JobEnded { end, calls, .. } => {
                self.calls = RecentCalls {
                    ended_ms: record.at_ms,
                    count: *calls,
                };
                self.job = None;
                self.stalled = false;
                self.is_done = end.is_done();
                self.proof = end.proof();
                self.crashes = match end.has_progress() {
                    true => 0,
                    false => self.crashes + u32::from(end.is_crash() && !stops),
                };
                self.phase = match end.is_done() {
                    true => PlanPhase::Finished,
                    // Another event may follow that decides otherwise.
                    false => PlanPhase::Ready,
                };
                self.queue_position = queue_position;
            }
            BatchEvent::PlanStalled { why, .. } => self.stalled = why.is_some(),
            BatchEvent::MergeStarted { with, .. } => {
                self.group.clone_from(with);
                self.phase = PlanPhase::Merging;
            }
            BatchEvent::GroupRefused { .. } => {
                self.group.clear();
                self.phase = PlanPhase::Finished;
            }
            BatchEvent::MergeMade { commit, onto, with, .. } => {
                self.group.clone_from(with);
                self.phase = PlanPhase::Verifying {
                    commit: commit.clone(),
                    onto: onto.clone(),
                }
            }
            BatchEvent::MergeRefused {
                trouble, onto, branch, ..
            } => {
                self.group.clear();
                self.count_refusal(trouble, onto);
                if let MergeTrouble::Conflict { files } = trouble {
                    for file in files {
                        let first = (branch.clone(), record.at_ms);
                        self.conflicts.entry(file.clone()).or_insert(first);
                    }
                }
                self.repairs_since_ms = Some(record.at_ms);
                self.trouble = Some(trouble.clone());
                self.phase = PlanPhase::Repairing;
            }
            BatchEvent::MergeVerified { proof, .. } => {
                self.merge_proof.clone_from(proof);
                if let PlanPhase::Verifying { commit, onto } = &self.phase {
                    self.phase = PlanPhase::Moving {
                        commit: commit.clone(),
                        onto: onto.clone(),
                    };
                }
            }
            BatchEvent::TargetMoved { commit, .. } => {
                self.repairs_since_ms = None;
                self.phase = PlanPhase::Merged { commit: commit.clone() };
            }
            // It stays first in the queue.
            BatchEvent::TargetHadMoved { .. } => self.phase = PlanPhase::Merging,
            BatchEvent::DeliveryStarted { .. } => self.phase = PlanPhase::Delivering,
            BatchEvent::Delivered { commit, request, .. } => {
                self.repairs_since_ms = None;
                self.delivered = Some(DeliveredWork {
                    commit: commit.clone(),
                    request: request.clone(),
                });
                self.trouble = None;
                self.phase = PlanPhase::Delivered;
            }
            BatchEvent::ForgeSilent { why, .. } => self.forge_silent.clone_from(why),
            BatchEvent::TaskAdded { .. } => {
                let is_of_request = self.trouble.as_ref().is_some_and(MergeTrouble::is_of_request);
                self.tasks_given += u32::from(!is_of_request);
                self.phase = PlanPhase::Ready;
            }
            BatchEvent::PlanKept { why, .. } => {
                self.cancelled = false;
                self.group.clear();
                self.repairs_since_ms = None;
                self.phase = PlanPhase::Kept { why: why.clone() };
            }
            BatchEvent::TestsConfirmed { .. } => {
                self.confirm();
                self.queue_position = queue_position;
                (self.tasks_given, self.crashes) = (0, 0);
            }
            BatchEvent::WorkTreeRemoved { .. } => self.work_tree = WorkTree::Removed,
            BatchEvent::WorkTreeKept { .. } => self.work_tree = WorkTree::Left,
            BatchEvent::CancelRequested { .. } => self.cancelled = true,
            BatchEvent::BatchOpened { .. }
            | BatchEvent::TargetPutBack { .. }
            | BatchEvent::RepositoryChanged { .. }
            | BatchEvent::BatchStarted { .. }
            | BatchEvent::BatchChanged { .. }
            | BatchEvent::BatchResumed { .. }
            | BatchEvent::AdapterLimited { .. }
            | BatchEvent::StartsHeld { .. }
            | BatchEvent::BudgetNear { .. }
            | BatchEvent::BudgetUsedUp { .. }
            | BatchEvent::StopRequested { .. }
            | BatchEvent::BatchEnded { .. } => {}
        }
    }
}

/// Whether it is being merged into the target, which happens to one plan, or one group of plans, at a time.
pub(super) fn is_merging(plan: &BatchPlan) -> bool {
    matches!(
        plan.phase,
        PlanPhase::Merging | PlanPhase::Verifying { .. } | PlanPhase::Moving { .. }
    )
}

/// Whether the plan occupies a slot: a run of it is active or about to start.
pub(super) fn occupies_slot(plan: &BatchPlan) -> bool {
    matches!(plan.phase, PlanPhase::Preparing | PlanPhase::Running)
}
