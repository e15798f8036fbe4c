//! The state of a batch: the fold of its events.

use std::collections::BTreeMap;

use ralph_core::event::{LimitKind, Proof};
use serde::Serialize;

use super::{
    BatchEnd, BatchEvent, BatchId, BatchLimits, BatchRecord, Calls, EngineJob, Held, Hold, Kept, LOCAL, MergeProof,
    PlanName, Planned, RepositoryChange, Resumption, StoppedBy, Trouble,
};

/// How long merges wait for the repair of a plan, in milliseconds: as long as an iteration may last.
const REPAIR_MS: u64 = 3_600_000;

/// A batch, as its records have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub id: BatchId,
    pub target: String,
    /// Where the target was when the batch started.
    pub base: String,
    /// The commit that the batch has moved its target to; at first the base.
    pub target_commit: String,
    pub jobs: u32,
    /// What runs the jobs.
    pub engine: String,
    pub arguments: Vec<String>,
    pub plans: Vec<Plan>,
    /// The plans that it was resumed for; all of them where none is named.
    pub only: Vec<PlanName>,
    pub limits: BatchLimits,
    /// Which of them is used up: no run goes on, and what is done is merged.
    pub spent: Option<LimitKind>,
    /// Until when adapters are limited.
    pub limited: BTreeMap<String, u64>,
    /// Who a run begins with, and who stands in for them, in order; empty as long as nobody has met a limit.
    pub workers: Vec<String>,
    /// The latest hold of starts that was told, and when.
    pub told_hold: Option<(u64, Held)>,
    /// The evidence for the target's last merge; none before one.
    pub target_proof: Option<MergeProof>,
    /// Changes to the repository since the batch was started or resumed, made by others.
    pub repository_changes: Vec<RepositoryChange>,
    /// It is to come to its end without starting anything.
    pub stopped: Option<StoppedBy>,
    /// None while it goes on, and after a crash.
    pub end: Option<BatchEnd>,
    /// What the next plan that finishes is numbered.
    finished: u32,
}

/// A plan of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub name: PlanName,
    pub file: String,
    /// The section of the file that is the plan; none where that is the whole file.
    pub section: Option<String>,
    pub after: Vec<PlanName>,
    pub phase: Phase,
    pub work_tree: WorkTree,
    /// What the last merge failed for.
    pub trouble: Option<Trouble>,
    /// How many tasks it was given because of its merge with the same commit of the target.
    pub tasks_given: u32,
    /// How often its merge was refused.
    pub refusals: u32,
    /// Its last merge was refused at this time, and it is not merged since, in milliseconds since the Unix epoch.
    pub repairs_since_ms: Option<u64>,
    /// The commit of the target that it conflicted or failed with last.
    refused_onto: String,
    /// Why the target cannot be moved for it, which is tried again and again.
    pub target_in_use: Option<String>,
    /// The commit that its branch began with.
    pub base: String,
    /// The directory of the project in its work tree; empty in journals before that was recorded.
    pub tree: String,
    /// Files of conflicts, with the commit of the plan's branch and the time, in milliseconds since the Unix epoch, when they first
    /// were: what an agent makes of their tests is judged by both sides.
    pub conflicts: BTreeMap<String, (String, u64)>,
    /// The proof of its last run that was done.
    pub proof: Option<Proof>,
    /// The evidence for its merge.
    pub merge_proof: Option<MergeProof>,
    /// How often its process broke down.
    pub crashes: u32,
    pub cancelled: bool,
    /// Its last run ended with every task done.
    is_done: bool,
    /// Its run makes no progress.
    pub stalled: bool,
    /// Those of its last run.
    calls: Calls,
    /// How many jobs it had.
    pub jobs: u32,
    /// The job that an engine runs for it.
    pub job: Option<EngineJob>,
    /// When the phase began, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Its place in the queue: plans are merged in the order in which they finish.
    place: u32,
}

/// Where the work of a plan lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkTree {
    None,
    There,
    /// Merged, so that it is not needed any more.
    Removed,
    /// Merged as well, but it could not be removed.
    Left,
}

/// What a plan is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Phase {
    /// For its turn, or for other plans.
    Waiting,
    /// Its branch and its work tree are being made.
    Preparing,
    /// It waits for its turn to run again.
    Ready,
    Running,
    /// It is done and waits for the merge.
    Finished,
    /// Merged with the target in a scratch work tree.
    Merging,
    /// The goals run on the merged tree.
    Verifying {
        commit: String,
        onto: String,
    },
    /// The target is being moved to the commit that was verified.
    Moving {
        commit: String,
        onto: String,
    },
    /// Its agent is given a task, because of the trouble that the merge had.
    Repairing,
    Merged {
        commit: String,
    },
    Kept {
        why: Kept,
    },
}

/// What is to be done for a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerTask {
    AddWorkTree,
    RunJob,
    Merge,
    CheckGoals { commit: String, onto: String },
    MoveTarget { commit: String, onto: String },
    GiveTask { trouble: Trouble },
    RemoveWorkTree,
}

impl Batch {
    /// None if the records begin with something else than a batch.
    pub fn of(records: &[BatchRecord]) -> Option<Batch> {
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

    /// One that has not started.
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
            spent: None,
            limited: BTreeMap::new(),
            workers: Vec::new(),
            told_hold: None,
            target_proof: None,
            repository_changes: Vec::new(),
            stopped: None,
            end: None,
            finished: 0,
        }
    }

    pub fn apply(&mut self, record: &BatchRecord) {
        match &record.event {
            BatchEvent::BatchOpened { .. } | BatchEvent::TargetPutBack { .. } | BatchEvent::TrialUndone { .. } => {}
            BatchEvent::BatchStarted {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
            } => {
                self.target.clone_from(target);
                self.base.clone_from(base);
                self.target_commit.clone_from(base);
                self.jobs = *jobs;
                self.engine.clone_from(engine);
                self.arguments.clone_from(arguments);
                self.limits = *limits;
                self.plans = plans.iter().map(|plan| Plan::new(plan, record.at_ms)).collect();
            }
            BatchEvent::BatchResumed { changes } => self.resume(changes, record.at_ms),
            BatchEvent::AdapterLimited {
                adapter,
                until_ms,
                workers,
                ..
            } => {
                self.limited.insert(adapter.clone(), *until_ms);
                self.workers.clone_from(workers);
            }
            BatchEvent::StartsHeld { held } => self.told_hold = Some((record.at_ms, held.clone())),
            BatchEvent::RepositoryChanged { change } => self.repository_changes.push(change.clone()),
            BatchEvent::BudgetUsedUp { limit } => self.spent = Some(*limit),
            BatchEvent::StopRequested { by } => self.stopped = Some(*by),
            BatchEvent::BatchEnded { end } => self.end = Some(*end),
            event => {
                let Some(name) = event.plan() else { return };
                if let BatchEvent::TargetMoved { commit, .. } = event
                    && self.target_commit != *commit
                {
                    self.target_commit.clone_from(commit);
                    self.target_proof = self.plan(name).and_then(|plan| plan.merge_proof.clone());
                }
                let place = self.finished;
                let stops = self.stopped.is_some() || self.spent.is_some();
                let Some(plan) = self.plans.iter_mut().find(|plan| plan.name == *name) else {
                    return;
                };
                plan.apply(record, stops, place);
                plan.since_ms = record.at_ms;
                if plan.phase == Phase::Finished {
                    self.finished += 1;
                }
            }
        }
    }

    fn resume(&mut self, changes: &Resumption, at_ms: u64) {
        self.limits = changes.limits.unwrap_or(self.limits);
        self.jobs = changes.jobs.unwrap_or(self.jobs);
        if let Some(arguments) = &changes.arguments {
            self.arguments.clone_from(arguments);
        }
        self.only.clone_from(&changes.plans);
        (self.stopped, self.spent, self.end) = (None, None, None);
        self.told_hold = None;
        self.repository_changes.clear();
        for plan in &mut self.plans {
            let Phase::Kept { why } = &plan.phase else { continue };
            let is_named = changes.plans.contains(&plan.name);
            let is_confirmed = changes.confirmed.contains(&plan.name);
            // Another run would take the changed tests for those that count.
            if why.is_unconfirmed() && !is_confirmed && !is_named {
                continue;
            }
            if !is_named && (*why == Kept::Cancelled || !changes.plans.is_empty()) {
                continue;
            }
            plan.phase = match (why, &plan.work_tree) {
                (_, WorkTree::None) => Phase::Waiting,
                (Kept::NotDone { .. }, _) if is_confirmed => Phase::Finished,
                (Kept::NotMerged { .. } | Kept::TargetInUse { .. } | Kept::Failed { .. }, _) => Phase::Finished,
                (Kept::Cancelled, _) if plan.is_done => Phase::Finished,
                (Kept::NotDone { .. } | Kept::Waits { .. } | Kept::Cancelled, _) => Phase::Ready,
            };
            if plan.phase == Phase::Finished {
                plan.place = self.finished;
                self.finished += 1;
            }
            if is_confirmed {
                (plan.is_done, plan.proof) = (true, Some(Proof::Tests));
            }
            plan.since_ms = at_ms;
            (plan.tasks_given, plan.crashes) = (0, 0);
        }
        for plan in &mut self.plans {
            plan.target_in_use = None;
            plan.repairs_since_ms = plan.repairs_since_ms.map(|_| at_ms);
        }
    }

    /// Whether the batch works on a plan, which it does not if it was resumed for others.
    pub fn includes(&self, plan: &Plan) -> bool {
        self.only.is_empty() || self.only.contains(&plan.name)
    }

    /// The plans that the batch works on.
    pub(super) fn included(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().filter(|plan| self.includes(plan))
    }

    pub fn plan(&self, name: &PlanName) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.name == *name)
    }

    /// What is to be done for a plan now; none where it waits, is over, or where the batch stops.
    pub fn task_of(&self, plan: &Plan) -> Option<WorkerTask> {
        if self.stopped.is_some() || !self.includes(plan) {
            return None;
        }
        match &plan.phase {
            Phase::Preparing => Some(WorkerTask::AddWorkTree),
            Phase::Running => self.spent.is_none().then_some(WorkerTask::RunJob),
            Phase::Merging => Some(WorkerTask::Merge),
            Phase::Verifying { commit, onto } => Some(WorkerTask::CheckGoals {
                commit: commit.clone(),
                onto: onto.clone(),
            }),
            Phase::Moving { commit, onto } => Some(WorkerTask::MoveTarget {
                commit: commit.clone(),
                onto: onto.clone(),
            }),
            Phase::Repairing => plan.trouble.clone().map(|trouble| WorkerTask::GiveTask { trouble }),
            Phase::Merged { .. } if plan.work_tree == WorkTree::There => Some(WorkerTask::RemoveWorkTree),
            Phase::Merged { .. } | Phase::Waiting | Phase::Ready | Phase::Finished | Phase::Kept { .. } => None,
        }
    }

    /// Whether what runs for a plan is to be stopped.
    pub fn stops(&self, plan: &Plan) -> bool {
        let is_spent = self.spent.is_some() && plan.phase == Phase::Running;
        self.stopped.is_some() || plan.cancelled || is_spent
    }

    /// How many runs there may be at a time.
    pub fn runs_at_a_time(&self) -> u32 {
        self.limits.runs_at_a_time(self.jobs)
    }

    /// How many iterations each run may begin in an hour.
    pub fn calls_of_a_run(&self) -> Option<u32> {
        self.limits.calls_of_a_run(self.jobs)
    }

    /// What holds the start of another run at `at_ms`; none if nothing does.
    pub fn held(&self, at_ms: u64) -> Option<Held> {
        let is_running = |plan: &&Plan| has_a_slot(plan) && self.includes(plan);
        let (running, ended): (Vec<&Plan>, Vec<&Plan>) = self.plans.iter().partition(is_running);
        let ended = ended.into_iter().map(|plan| plan.calls).collect();
        let running = u32::try_from(running.len()).unwrap_or(u32::MAX);
        let by_calls = self.limits.calls_free_at(self.jobs, running, ended, at_ms);
        let by_calls = by_calls.map(|until_ms| Held {
            until_ms,
            why: Hold::CallsUsedUp,
        });
        let by_limit = self.limited_until(at_ms);
        by_limit.into_iter().chain(by_calls).max_by_key(|held| held.until_ms)
    }

    /// Whoever starts would only meet the limit again, if it is met by all who could work.
    fn limited_until(&self, at_ms: u64) -> Option<Held> {
        let until = |adapter: &String| self.limited.get(adapter).copied().filter(|until_ms| *until_ms > at_ms);
        let all: Option<Vec<u64>> = self.workers.iter().map(until).collect();
        Some(Held {
            until_ms: all?.into_iter().min()?,
            why: Hold::AdapterLimited {
                adapter: self.workers.first()?.clone(),
            },
        })
    }

    /// Returns the plan that is next in the queue: a repaired one, or the one that finished first.
    pub(super) fn first_finished(&self) -> Option<&Plan> {
        let finished = self.included().filter(|plan| plan.phase == Phase::Finished);
        finished.min_by_key(|plan| (plan.repairs_since_ms.is_none(), plan.place))
    }

    /// Returns the plan whose repair other merges wait for at `at_ms`: each of them could bring it another conflict.
    ///
    /// Merges go on while that plan waits for a limit or for money, and after an hour.
    pub fn repairing(&self, at_ms: u64) -> Option<&Plan> {
        let is_limited = self.limited_until(at_ms).is_some();
        let holds = |plan: &&Plan| {
            let is_recent = plan
                .repairs_since_ms
                .is_some_and(|since_ms| at_ms < since_ms + REPAIR_MS);
            let can_work = match plan.phase {
                Phase::Repairing => true,
                Phase::Ready => self.spent.is_none() && self.held(at_ms).is_none(),
                Phase::Running => self.spent.is_none() && !is_limited,
                Phase::Waiting
                | Phase::Preparing
                | Phase::Finished
                | Phase::Merging
                | Phase::Verifying { .. }
                | Phase::Moving { .. }
                | Phase::Merged { .. }
                | Phase::Kept { .. } => false,
            };
            is_recent && can_work
        };
        self.included().find(holds)
    }
}

impl Plan {
    /// The commit of the target that merged it; none of a plan that is not merged.
    pub fn merged_as(&self) -> Option<&String> {
        match &self.phase {
            Phase::Merged { commit } => Some(commit),
            Phase::Waiting
            | Phase::Ready
            | Phase::Preparing
            | Phase::Running
            | Phase::Finished
            | Phase::Merging
            | Phase::Verifying { .. }
            | Phase::Moving { .. }
            | Phase::Repairing
            | Phase::Kept { .. } => None,
        }
    }

    fn new(planned: &Planned, at_ms: u64) -> Plan {
        Plan {
            name: planned.name.clone(),
            file: planned.file.clone(),
            section: planned.section.clone(),
            after: planned.after.clone(),
            phase: Phase::Waiting,
            work_tree: WorkTree::None,
            trouble: None,
            tasks_given: 0,
            refusals: 0,
            repairs_since_ms: None,
            refused_onto: String::new(),
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
            calls: Calls::default(),
            jobs: 0,
            job: None,
            since_ms: at_ms,
            place: 0,
        }
    }

    fn run(&mut self) {
        self.phase = Phase::Running;
        (self.jobs, self.job) = (self.jobs + 1, None);
    }

    /// Tells an attempt in vain from a new conflict, which the merge of another plan has brought.
    fn count_refusal(&mut self, trouble: &Trouble, onto: &str) {
        self.refusals += 1;
        match trouble {
            Trouble::Markers { .. } => {}
            Trouble::Conflict { .. } | Trouble::Goals { .. } | Trouble::Tests { .. } => {
                if self.refused_onto != onto {
                    self.tasks_given = 0;
                }
                onto.clone_into(&mut self.refused_onto);
            }
        }
    }

    /// `stops` says that the batch does, `place` which place in the queue is free.
    fn apply(&mut self, record: &BatchRecord, stops: bool, place: u32) {
        if !matches!(record.event, BatchEvent::CancelRequested { .. }) {
            self.target_in_use = None;
        }
        match &record.event {
            BatchEvent::TargetInUse { why, .. } => self.target_in_use = Some(why.clone()),
            BatchEvent::PlanStarted { .. } => self.phase = Phase::Preparing,
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
                self.calls = Calls {
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
                    true => Phase::Finished,
                    // Unless another event follows that says otherwise.
                    false => Phase::Ready,
                };
                self.place = place;
            }
            BatchEvent::PlanStalled { why, .. } => self.stalled = why.is_some(),
            BatchEvent::MergeStarted { .. } => self.phase = Phase::Merging,
            BatchEvent::MergeMade { commit, onto, .. } => {
                self.phase = Phase::Verifying {
                    commit: commit.clone(),
                    onto: onto.clone(),
                }
            }
            BatchEvent::MergeRefused {
                trouble, onto, branch, ..
            } => {
                self.count_refusal(trouble, onto);
                if let Trouble::Conflict { files } = trouble {
                    for file in files {
                        let first = (branch.clone(), record.at_ms);
                        self.conflicts.entry(file.clone()).or_insert(first);
                    }
                }
                self.repairs_since_ms = Some(record.at_ms);
                self.trouble = Some(trouble.clone());
                self.phase = Phase::Repairing;
            }
            BatchEvent::MergeVerified { proof, .. } => {
                self.merge_proof.clone_from(proof);
                if let Phase::Verifying { commit, onto } = &self.phase {
                    self.phase = Phase::Moving {
                        commit: commit.clone(),
                        onto: onto.clone(),
                    };
                }
            }
            BatchEvent::TargetMoved { commit, .. } => {
                self.repairs_since_ms = None;
                self.phase = Phase::Merged { commit: commit.clone() };
            }
            // Still the first of the queue.
            BatchEvent::TargetHadMoved { .. } => self.phase = Phase::Merging,
            BatchEvent::TaskAdded { .. } => {
                self.tasks_given += 1;
                self.phase = Phase::Ready;
            }
            BatchEvent::PlanKept { why, .. } => {
                self.cancelled = false;
                self.repairs_since_ms = None;
                self.phase = Phase::Kept { why: why.clone() };
            }
            BatchEvent::WorkTreeRemoved { .. } => self.work_tree = WorkTree::Removed,
            BatchEvent::WorkTreeKept { .. } => self.work_tree = WorkTree::Left,
            BatchEvent::CancelRequested { .. } => self.cancelled = true,
            BatchEvent::BatchOpened { .. }
            | BatchEvent::TargetPutBack { .. }
            | BatchEvent::TrialUndone { .. }
            | BatchEvent::RepositoryChanged { .. }
            | BatchEvent::BatchStarted { .. }
            | BatchEvent::BatchResumed { .. }
            | BatchEvent::AdapterLimited { .. }
            | BatchEvent::StartsHeld { .. }
            | BatchEvent::BudgetUsedUp { .. }
            | BatchEvent::StopRequested { .. }
            | BatchEvent::BatchEnded { .. } => {}
        }
    }
}

/// Whether a run of it goes on, or is about to.
pub(super) fn has_a_slot(plan: &Plan) -> bool {
    matches!(plan.phase, Phase::Preparing | Phase::Running)
}
