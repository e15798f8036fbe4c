//! Events that follow from an input.

use ralph_core::event::{Usage, WaitCause};

use super::{
    Batch, BatchChanges, BatchEnd, BatchEvent, BatchLimits, BatchPlan, BatchRecord, Delivery, JobEnd, JobNews,
    KeptFiles, KeptReason, MergeProof, MergeTrouble, PlanName, PlanPhase, Planned, PullRequest, RepositoryChange,
    Resumption, StoppedBy, TestTrouble, WorkTree,
    state::{is_merging, occupies_slot},
};

/// Tasks that a plan is given because of its merge with the same commit of the target, before it is left as
/// it is.
pub const TASKS_GIVEN: u32 = 2;
/// How long to wait for a target that cannot be moved once no other work is left, in milliseconds.
const TARGET_MS: u64 = 15 * 60_000;
/// Crashes of a run's process before its plan is left as it is.
const CRASHES: u32 = 3;

/// An input of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchInput {
    Start {
        target: String,
        base: String,
        jobs: u32,
        engine: String,
        arguments: Vec<String>,
        plans: Vec<Planned>,
        limits: BatchLimits,
        delivery: Option<Delivery>,
        watches: bool,
    },
    Resume {
        changes: Resumption,
        /// Usage of all runs so far.
        usage: Usage,
    },
    /// The run of a plan has met a rate limit.
    Limited {
        plan: PlanName,
        adapter: String,
        until_ms: u64,
        workers: Vec<String>,
    },
    /// The run of a plan makes no progress, for this reason; `None` if it makes progress.
    Stalled {
        plan: PlanName,
        why: Option<WaitCause>,
    },
    /// Usage of all runs together. Sent repeatedly, which also lets the batch notice the time.
    Used {
        usage: Usage,
    },
    /// The result of a plan's task.
    TaskEnded {
        plan: PlanName,
        result: TaskResult,
    },
    /// News about a plan's job before its end.
    JobReported {
        plan: PlanName,
        news: JobNews,
    },
    Change {
        changes: BatchChanges,
    },
    /// Cancels a plan; `None` stands for all.
    Cancel {
        plan: Option<PlanName>,
    },
    Stop {
        by: StoppedBy,
    },
    /// The target lacked a merge and was restored.
    TargetPutBack {
        /// The commit before; `None` if the branch was deleted.
        from: Option<String>,
        to: String,
    },
    /// The user has confirmed the changed tests of a plan.
    TestsConfirmed {
        plan: PlanName,
    },
    /// The repository was changed by others.
    RepositoryChanged {
        change: RepositoryChange,
    },
    /// No task is in progress.
    Idle,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskResult {
    WorkTreeAdded {
        base: String,
        /// The project's directory in the work tree.
        tree: String,
    },
    JobEnded {
        end: JobEnd,
        /// Number of iterations that the run began within the hour before.
        calls: u32,
    },
    /// Merged, but not verified yet.
    MergeMade {
        commit: String,
        onto: String,
        /// Other plans in the same commit, in the order of its parents.
        with: Vec<PlanName>,
    },
    /// The target contains the work already.
    MergeUnneeded {
        commit: String,
    },
    MergeRefused {
        trouble: MergeTrouble,
        /// The commit of the target onto which the merge was attempted.
        onto: String,
        /// The commit of the branch.
        branch: String,
    },
    /// The goals pass, and their tests count; `None` if there are no goals.
    GoalsPassed {
        proof: Option<MergeProof>,
    },
    /// The goals pass, but their tests do not count.
    TestsRefused {
        troubles: Vec<TestTrouble>,
    },
    GoalsFailed {
        output: String,
    },
    /// The goals were stopped.
    GoalsUnknown,
    TargetMoved,
    TargetHadMoved,
    TargetInUse {
        why: String,
    },
    TaskAdded,
    /// The remote has the work of the plan.
    Delivered {
        commit: String,
        request: Option<PullRequest>,
    },
    /// The pull request asks for nothing.
    RequestUnchanged,
    RequestMerged {
        /// The commit of the remote's branch that has the work.
        commit: String,
    },
    RequestClosed {
        request: PullRequest,
    },
    /// The forge or the remote does not do as asked.
    ForgeSilent {
        why: String,
        /// The time until it may, if it named one.
        after_ms: Option<u64>,
    },
    WorkTreeRemoved {
        kept: Option<KeptFiles>,
    },
    WorkTreeKept {
        why: String,
    },
    /// The task cannot be done.
    Failed {
        why: String,
    },
}

/// Returns the events that follow from `input`, in order, including those that it makes possible.
pub fn step(batch: &Batch, at_ms: u64, input: BatchInput) -> Vec<BatchEvent> {
    let mut steps = Steps {
        batch: batch.clone(),
        at_ms,
        events: Vec::new(),
    };
    steps.take(input);
    steps.settle();
    steps.events
}

/// The events so far, and the batch after them.
struct Steps {
    batch: Batch,
    at_ms: u64,
    events: Vec<BatchEvent>,
}

impl Steps {
    fn push(&mut self, event: BatchEvent) {
        let record = BatchRecord {
            seq: 0,
            at_ms: self.at_ms,
            event,
        };
        self.batch.apply(&record);
        self.events.push(record.event);
    }

    fn take(&mut self, input: BatchInput) {
        match input {
            BatchInput::Start {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
                delivery,
                watches,
            } => self.push(BatchEvent::BatchStarted {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
                delivery,
                watches,
            }),
            BatchInput::Resume { changes, usage } => {
                self.push(BatchEvent::BatchResumed { changes });
                self.used(&usage);
            }
            BatchInput::Limited {
                plan,
                adapter,
                until_ms,
                workers,
            } => {
                let known_ms = self.batch.limited.get(&adapter).copied().unwrap_or(0);
                if until_ms > self.at_ms && until_ms > known_ms {
                    self.push(BatchEvent::AdapterLimited {
                        plan,
                        adapter,
                        until_ms,
                        workers,
                    });
                }
            }
            BatchInput::Stalled { plan, why } => {
                let is_news = |known: &BatchPlan| known.phase == PlanPhase::Running && known.stalled != why.is_some();
                if self.batch.plan(&plan).is_some_and(is_news) {
                    self.push(BatchEvent::PlanStalled { plan, why });
                }
            }
            BatchInput::Used { usage } => self.used(&usage),
            BatchInput::TargetPutBack { from, to } => self.push(BatchEvent::TargetPutBack { from, to }),
            BatchInput::TestsConfirmed { plan } => {
                let is_stopping = self.batch.stopped.is_some() || self.batch.spent.is_some();
                let waits = |known: &BatchPlan| known.is_unconfirmed() && self.batch.includes(known);
                if !is_stopping && self.batch.plan(&plan).is_some_and(waits) {
                    self.push(BatchEvent::TestsConfirmed { plan });
                }
            }
            BatchInput::RepositoryChanged { change } => self.push(BatchEvent::RepositoryChanged { change }),
            BatchInput::TaskEnded { plan, result } => self.apply_result(plan, result),
            BatchInput::JobReported { plan, news } => {
                let known = self.batch.plan(&plan);
                if known.is_some_and(|known| known.phase == PlanPhase::Running) {
                    self.push(match news {
                        JobNews::Submitted { name, id } => BatchEvent::JobSubmitted { plan, name, id },
                        JobNews::Began => BatchEvent::JobBegan { plan },
                        JobNews::Silent { why } => BatchEvent::EngineSilent { plan, why },
                    });
                }
            }
            BatchInput::Change { mut changes } => {
                changes.added.retain(|plan| self.batch.plan(&plan.name).is_none());
                if changes != BatchChanges::default() && self.batch.stopped.is_none() {
                    self.push(BatchEvent::BatchChanged { changes });
                }
            }
            BatchInput::Cancel { plan } => {
                let chosen = |known: &&BatchPlan| plan.as_ref().is_none_or(|plan| *plan == known.name);
                let chosen = self
                    .batch
                    .plans
                    .iter()
                    .filter(chosen)
                    .filter(|plan| can_be_cancelled(plan));
                let names: Vec<PlanName> = chosen.map(|plan| plan.name.clone()).collect();
                for plan in names {
                    self.push(BatchEvent::CancelRequested { plan });
                }
            }
            BatchInput::Stop { by } if self.batch.stopped.is_none() => self.push(BatchEvent::StopRequested { by }),
            BatchInput::Idle => {
                let by_budget = self.batch.spent.map(|_| StoppedBy::Budget);
                if let (Some(by), None) = (self.batch.stopped.or(by_budget), self.batch.end) {
                    let end = self.end_of_all().unwrap_or(BatchEnd::Stopped { by });
                    self.push(BatchEvent::BatchEnded { end });
                }
            }
            BatchInput::Stop { .. } => {}
        }
    }

    fn used(&mut self, usage: &Usage) {
        let spent = self.batch.limits.spent(usage);
        let continues = self.batch.spent.is_none() && self.batch.stopped.is_none() && self.batch.end.is_none();
        if let Some(limit) = spent.filter(|_| continues) {
            self.push(BatchEvent::BudgetUsedUp { limit });
        }
        for (limit, percent) in self.batch.limits.near(usage) {
            if continues && !self.batch.warned.contains(&limit) {
                self.push(BatchEvent::BudgetNear { limit, percent });
            }
        }
    }

    fn apply_result(&mut self, plan: PlanName, result: TaskResult) {
        let Some(known) = self.batch.plan(&plan).cloned() else {
            return;
        };
        let cancelled = known.cancelled;
        self.apply_to_phase(plan.clone(), known, result);
        // The task of the cancelled plan has ended, and no other one follows.
        let is_over = self.batch.plan(&plan).is_none_or(is_over_or_merged);
        if cancelled && !is_over {
            let why = KeptReason::Cancelled;
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    fn apply_to_phase(&mut self, plan: PlanName, known: BatchPlan, result: TaskResult) {
        let keep = |why| BatchEvent::PlanKept {
            plan: plan.clone(),
            why,
        };
        match (known.phase.clone(), result) {
            (PlanPhase::Preparing, TaskResult::WorkTreeAdded { base, tree }) => {
                self.push(BatchEvent::WorkTreeAdded { plan, base, tree });
            }
            (PlanPhase::Running, TaskResult::JobEnded { end, calls }) => {
                let stops = self.batch.stops(&known);
                let again = end.is_crash() && (end.has_progress() || known.crashes + 1 < CRASHES);
                let kept = (!end.is_done() && !stops && !again).then(|| keep(KeptReason::NotDone { end: end.clone() }));
                self.push(BatchEvent::JobEnded { plan, end, calls });
                if let Some(kept) = kept {
                    self.push(kept);
                }
            }
            (PlanPhase::Merging, TaskResult::MergeMade { commit, onto, with }) => {
                self.push(BatchEvent::MergeMade {
                    plan,
                    commit,
                    onto,
                    with,
                });
            }
            (PlanPhase::Merging, TaskResult::MergeUnneeded { commit }) => {
                let with = Vec::new();
                self.push(BatchEvent::TargetMoved { plan, commit, with });
            }
            (PlanPhase::Moving { commit, .. }, TaskResult::TargetMoved) => {
                let with = known.group;
                self.push(BatchEvent::TargetMoved { plan, commit, with });
            }
            // Each of the plans can be the cause.
            (PlanPhase::Verifying { .. }, TaskResult::GoalsFailed { output } | TaskResult::Failed { why: output })
                if !known.group.is_empty() =>
            {
                let (with, trouble) = (known.group, MergeTrouble::Goals { output });
                self.push(BatchEvent::GroupRefused { plan, with, trouble });
            }
            (PlanPhase::Verifying { .. }, TaskResult::TestsRefused { troubles }) if !known.group.is_empty() => {
                let (with, trouble) = (known.group, MergeTrouble::Tests { troubles });
                self.push(BatchEvent::GroupRefused { plan, with, trouble });
            }
            (PlanPhase::Merging, TaskResult::MergeRefused { trouble, onto, branch }) => {
                self.refused(plan, trouble, onto, branch);
            }
            (PlanPhase::Verifying { onto, .. }, TaskResult::GoalsFailed { output }) => {
                self.refused(plan, MergeTrouble::Goals { output }, onto, String::new());
            }
            (PlanPhase::Verifying { onto, .. }, TaskResult::TestsRefused { troubles }) => {
                self.refused(plan, MergeTrouble::Tests { troubles }, onto, String::new());
            }
            (PlanPhase::Verifying { .. }, TaskResult::GoalsPassed { proof }) => {
                self.push(BatchEvent::MergeVerified { plan, proof });
            }
            (PlanPhase::Moving { .. }, TaskResult::TargetHadMoved) => self.push(BatchEvent::TargetHadMoved { plan }),
            (PlanPhase::Moving { .. } | PlanPhase::Merging, TaskResult::TargetInUse { why }) => {
                self.target_in_use(known, why);
            }
            (PlanPhase::Delivering, TaskResult::Delivered { commit, request }) => {
                self.push(BatchEvent::Delivered { plan, commit, request });
            }
            (PlanPhase::Delivering | PlanPhase::Delivered, TaskResult::MergeRefused { trouble, onto, branch }) => {
                self.refused(plan, trouble, onto, branch);
            }
            (PlanPhase::Delivering | PlanPhase::Delivered, TaskResult::RequestMerged { commit }) => {
                let with = Vec::new();
                self.push(BatchEvent::TargetMoved { plan, commit, with });
            }
            (PlanPhase::Delivering | PlanPhase::Delivered, TaskResult::RequestClosed { request }) => {
                self.push(keep(KeptReason::Closed { request }));
            }
            (
                PlanPhase::Delivering | PlanPhase::Delivered | PlanPhase::Repairing,
                TaskResult::ForgeSilent { why, .. },
            ) => {
                if known.forge_silent.as_ref() != Some(&why) {
                    let why = Some(why);
                    self.push(BatchEvent::ForgeSilent { plan, why });
                }
            }
            (PlanPhase::Delivered, TaskResult::RequestUnchanged) if known.forge_silent.is_some() => {
                let why = None;
                self.push(BatchEvent::ForgeSilent { plan, why });
            }
            (PlanPhase::Repairing, TaskResult::TaskAdded) => self.push(BatchEvent::TaskAdded { plan }),
            (
                PlanPhase::Merged { .. } | PlanPhase::Delivered | PlanPhase::Kept { .. },
                TaskResult::WorkTreeRemoved { kept },
            ) => {
                self.push(BatchEvent::WorkTreeRemoved { plan, kept });
            }
            (PlanPhase::Delivered, TaskResult::Failed { why }) if known.is_watched() => {
                self.push(keep(KeptReason::Failed { why }));
            }
            (
                PlanPhase::Merged { .. } | PlanPhase::Delivered | PlanPhase::Kept { .. },
                TaskResult::WorkTreeKept { why } | TaskResult::Failed { why },
            ) => {
                self.push(BatchEvent::WorkTreeKept { plan, why });
            }
            (PlanPhase::Running, TaskResult::Failed { why }) => {
                let end = JobEnd::Refused { code: None, said: why };
                self.push(keep(KeptReason::NotDone { end }));
            }
            (
                PlanPhase::Preparing
                | PlanPhase::Merging
                | PlanPhase::Verifying { .. }
                | PlanPhase::Moving { .. }
                | PlanPhase::Repairing
                | PlanPhase::Delivering,
                TaskResult::Failed { why },
            ) => self.push(keep(KeptReason::Failed { why })),
            // The result of a task that was given up in the meantime.
            (_, _) => {}
        }
    }

    /// Lets the merge of `known` wait for the target. Leaves all plans that wait for it once that has taken
    /// too long.
    fn target_in_use(&mut self, known: BatchPlan, why: String) {
        let plan = known.name.clone();
        if known.target_in_use.as_ref() != Some(&why) {
            let why = why.clone();
            self.push(BatchEvent::TargetInUse { plan, why });
        }
        let waits = |plan: &BatchPlan| plan.name == known.name || plan.phase == PlanPhase::Finished;
        let plans = || self.batch.included();
        let works = plans().any(|plan| !waits(plan) && self.is_at_work(plan));
        let changed_ms = plans().map(|plan| plan.since_ms).max().unwrap_or_default();
        if works || self.at_ms < changed_ms.saturating_add(TARGET_MS) {
            return;
        }
        let waiting: Vec<PlanName> = plans()
            .filter(|plan| waits(plan))
            .map(|plan| plan.name.clone())
            .collect();
        for plan in waiting {
            let why = KeptReason::TargetInUse { why: why.clone() };
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    /// Whether work for a plan is in progress, or will begin without the target.
    fn is_at_work(&self, plan: &BatchPlan) -> bool {
        match plan.phase {
            PlanPhase::Waiting => self.can_start(plan) && self.batch.spent.is_none(),
            PlanPhase::Ready => self.batch.spent.is_none(),
            PlanPhase::Preparing | PlanPhase::Running | PlanPhase::Repairing => true,
            PlanPhase::Merging | PlanPhase::Verifying { .. } | PlanPhase::Moving { .. } | PlanPhase::Delivering => true,
            PlanPhase::Finished | PlanPhase::Delivered | PlanPhase::Merged { .. } | PlanPhase::Kept { .. } => false,
        }
    }

    fn refused(&mut self, plan: PlanName, trouble: MergeTrouble, onto: String, branch: String) {
        self.push(BatchEvent::MergeRefused {
            plan: plan.clone(),
            trouble: trouble.clone(),
            onto,
            branch,
        });
        let rounds = self.batch.delivery.as_ref().map_or(0, |delivery| delivery.rounds);
        let is_exhausted = |plan: &BatchPlan| match trouble.is_of_request() {
            true => plan.rounds > rounds,
            false => plan.tasks_given >= TASKS_GIVEN,
        };
        if self.batch.plan(&plan).is_some_and(is_exhausted) {
            let why = KeptReason::NotMerged { trouble };
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    /// Adds events that need no further input, until no more follow.
    fn settle(&mut self) {
        while let Some(event) = self.next() {
            self.push(event);
        }
    }

    fn next(&self) -> Option<BatchEvent> {
        let plans = &self.batch.plans;
        if self.batch.end.is_some() || plans.is_empty() {
            return None;
        }
        // A plan that is being merged with another one is in its commit already.
        let ends = |plan: &&BatchPlan| plan.cancelled && is_idle(plan) && self.batch.merged_with(&plan.name).is_none();
        if let Some(plan) = plans.iter().find(ends) {
            return Some(BatchEvent::PlanKept {
                plan: plan.name.clone(),
                why: KeptReason::Cancelled,
            });
        }
        if self.batch.stopped.is_some() {
            return None;
        }
        if let Some((plan, dependency)) = plans.iter().find_map(|plan| Some((plan, self.lost_dependency(plan)?))) {
            return Some(BatchEvent::PlanKept {
                plan: plan.name.clone(),
                why: KeptReason::Waits { dependency },
            });
        }
        let mut finished = self.batch.included().filter(|plan| plan.phase == PlanPhase::Finished);
        if let Some(plan) = finished.next().filter(|_| self.batch.delivery.is_some()) {
            return Some(BatchEvent::DeliveryStarted {
                plan: plan.name.clone(),
            });
        }
        let merges = self.batch.included().any(is_merging);
        let holds = self.batch.repairing(self.at_ms).is_some();
        let is_next = |plan: &&BatchPlan| !merges && (!holds || plan.repairs_since_ms.is_some());
        if let Some(plan) = self.batch.first_finished().filter(is_next) {
            return Some(BatchEvent::MergeStarted {
                plan: plan.name.clone(),
                with: self.batch.group_of(plan),
            });
        }
        let started = self.next_start();
        started.or_else(|| {
            self.end_of_all()
                .filter(|_| !self.batch.watches)
                .map(|end| BatchEvent::BatchEnded { end })
        })
    }

    /// Returns the start of the next run, or the hold on it.
    fn next_start(&self) -> Option<BatchEvent> {
        let plans = || self.batch.included();
        let running = plans().filter(|plan| occupies_slot(plan)).count();
        let is_full = running >= self.batch.runs_at_a_time() as usize;
        if is_full || self.batch.paused || self.batch.spent.is_some() {
            return None;
        }
        // Work that was begun comes first, since the target waits for it; a repair comes before other work.
        let ready = plans().filter(|plan| plan.phase == PlanPhase::Ready);
        let ready = ready.min_by_key(|plan| plan.repairs_since_ms.is_none());
        let next = ready.or_else(|| plans().find(|plan| self.can_start(plan)))?;
        if let Some(held) = self.batch.held(self.at_ms) {
            let is_told = self
                .batch
                .announced_hold
                .as_ref()
                .is_some_and(|(_, told)| *told == held);
            return (!is_told).then_some(BatchEvent::StartsHeld { held });
        }
        let plan = next.name.clone();
        Some(match next.phase == PlanPhase::Ready {
            true => BatchEvent::JobStarted { plan },
            false => BatchEvent::PlanStarted { plan },
        })
    }

    /// Returns the end of the batch if all plans are over.
    fn end_of_all(&self) -> Option<BatchEnd> {
        let plans = &self.batch.plans;
        let are_merged = plans
            .iter()
            .all(|plan| matches!(plan.phase, PlanPhase::Merged { .. } | PlanPhase::Delivered));
        self.batch.included().all(is_over).then_some(match are_merged {
            true => BatchEnd::Merged,
            false => BatchEnd::Incomplete,
        })
    }

    fn can_start(&self, plan: &BatchPlan) -> bool {
        let is_merged = |name: &PlanName| {
            let plan = self.batch.plan(name);
            plan.is_some_and(|plan| matches!(plan.phase, PlanPhase::Merged { .. }))
        };
        plan.phase == PlanPhase::Waiting && plan.after.iter().all(is_merged)
    }

    /// Returns a plan that `plan` depends on and that will not be merged.
    fn lost_dependency(&self, plan: &BatchPlan) -> Option<PlanName> {
        let is_lost = |name: &&PlanName| {
            let plan = self.batch.plan(name);
            plan.is_none_or(|plan| match plan.phase {
                PlanPhase::Kept { .. } => true,
                PlanPhase::Merged { .. } => false,
                _ => !self.batch.includes(plan),
            })
        };
        let waits = plan.phase == PlanPhase::Waiting && self.batch.includes(plan);
        plan.after.iter().find(is_lost).filter(|_| waits).cloned()
    }
}

/// Whether no task is in progress for it, so that it can be cancelled at once.
fn is_idle(plan: &BatchPlan) -> bool {
    let is_watched = plan.is_watched();
    is_watched || matches!(plan.phase, PlanPhase::Waiting | PlanPhase::Ready | PlanPhase::Finished)
}

fn can_be_cancelled(plan: &BatchPlan) -> bool {
    !plan.cancelled && !is_over_or_merged(plan)
}

fn is_over_or_merged(plan: &BatchPlan) -> bool {
    matches!(plan.phase, PlanPhase::Merged { .. }) || is_over(plan)
}

/// Whether no work is left for it.
fn is_over(plan: &BatchPlan) -> bool {
    match plan.phase {
        PlanPhase::Delivered => !plan.is_watched() && plan.work_tree != WorkTree::There,
        PlanPhase::Merged { .. }
        | PlanPhase::Kept {
            why: KeptReason::Closed { .. },
        } => plan.work_tree != WorkTree::There,
        PlanPhase::Kept { .. } => true,
        _ => false,
    }
}
