//! Events that follow from an input.

use ralph_core::event::{BreakerCause, Usage};

use super::{
    Batch, BatchEnd, BatchEvent, BatchLimits, BatchRecord, JobEnd, JobNews, Kept, MergeProof, Phase, Plan, PlanName,
    Planned, RepositoryChange, Resumption, StoppedBy, TestTrouble, Trouble, WorkTree, state::has_a_slot,
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
pub enum Input {
    Start {
        target: String,
        base: String,
        jobs: u32,
        engine: String,
        arguments: Vec<String>,
        plans: Vec<Planned>,
        limits: BatchLimits,
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
        why: Option<BreakerCause>,
    },
    /// Usage of all runs together. Sent repeatedly, which also lets the batch notice the time.
    Used {
        usage: Usage,
    },
    /// The result of a plan's task.
    Found {
        plan: PlanName,
        finding: Finding,
    },
    /// News about a plan's job before its end.
    Heard {
        plan: PlanName,
        news: JobNews,
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
    /// A trial that a killed process left in the scratch work tree was undone.
    TrialUndone {
        files: Vec<String>,
    },
    /// The repository was changed by others.
    RepositoryChanged {
        change: RepositoryChange,
    },
    /// No task is in progress.
    Idle,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
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
    },
    /// The target contains the work already.
    MergeUnneeded {
        commit: String,
    },
    MergeRefused {
        trouble: Trouble,
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
    WorkTreeRemoved,
    WorkTreeKept {
        why: String,
    },
    /// The task cannot be done.
    Failed {
        why: String,
    },
}

/// Returns the events that follow from `input`, in order, including those that it makes possible.
pub fn step(batch: &Batch, at_ms: u64, input: Input) -> Vec<BatchEvent> {
    let mut steps = Steps {
        batch: batch.clone(),
        at_ms,
        events: Vec::new(),
    };
    steps.take(input);
    steps.go_on();
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

    fn take(&mut self, input: Input) {
        match input {
            Input::Start {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
            } => self.push(BatchEvent::BatchStarted {
                target,
                base,
                jobs,
                engine,
                arguments,
                plans,
                limits,
            }),
            Input::Resume { changes, usage } => {
                self.push(BatchEvent::BatchResumed { changes });
                self.used(&usage);
            }
            Input::Limited {
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
            Input::Stalled { plan, why } => {
                let is_news = |known: &Plan| known.phase == Phase::Running && known.stalled != why.is_some();
                if self.batch.plan(&plan).is_some_and(is_news) {
                    self.push(BatchEvent::PlanStalled { plan, why });
                }
            }
            Input::Used { usage } => self.used(&usage),
            Input::TargetPutBack { from, to } => self.push(BatchEvent::TargetPutBack { from, to }),
            Input::TrialUndone { files } => self.push(BatchEvent::TrialUndone { files }),
            Input::RepositoryChanged { change } => self.push(BatchEvent::RepositoryChanged { change }),
            Input::Found { plan, finding } => self.found(plan, finding),
            Input::Heard { plan, news } => {
                let known = self.batch.plan(&plan);
                if known.is_some_and(|known| known.phase == Phase::Running) {
                    self.push(match news {
                        JobNews::Submitted { name, id } => BatchEvent::JobSubmitted { plan, name, id },
                        JobNews::Began => BatchEvent::JobBegan { plan },
                        JobNews::Silent { why } => BatchEvent::EngineSilent { plan, why },
                    });
                }
            }
            Input::Cancel { plan } => {
                let chosen = |known: &&Plan| plan.as_ref().is_none_or(|plan| *plan == known.name);
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
            Input::Stop { by } if self.batch.stopped.is_none() => self.push(BatchEvent::StopRequested { by }),
            Input::Idle => {
                let by_budget = self.batch.spent.map(|_| StoppedBy::Budget);
                if let (Some(by), None) = (self.batch.stopped.or(by_budget), self.batch.end) {
                    let end = self.end_of_all().unwrap_or(BatchEnd::Stopped { by });
                    self.push(BatchEvent::BatchEnded { end });
                }
            }
            Input::Stop { .. } => {}
        }
    }

    fn used(&mut self, usage: &Usage) {
        let spent = self.batch.limits.spent(usage);
        let goes_on = self.batch.spent.is_none() && self.batch.stopped.is_none() && self.batch.end.is_none();
        if let Some(limit) = spent.filter(|_| goes_on) {
            self.push(BatchEvent::BudgetUsedUp { limit });
        }
    }

    fn found(&mut self, plan: PlanName, finding: Finding) {
        let Some(known) = self.batch.plan(&plan).cloned() else {
            return;
        };
        let cancelled = known.cancelled;
        self.found_of(plan.clone(), known, finding);
        // The task of the cancelled plan has ended, and no other one follows.
        let is_over = self.batch.plan(&plan).is_none_or(is_over_or_merged);
        if cancelled && !is_over {
            let why = Kept::Cancelled;
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    fn found_of(&mut self, plan: PlanName, known: Plan, finding: Finding) {
        let keep = |why| BatchEvent::PlanKept {
            plan: plan.clone(),
            why,
        };
        match (known.phase.clone(), finding) {
            (Phase::Preparing, Finding::WorkTreeAdded { base, tree }) => {
                self.push(BatchEvent::WorkTreeAdded { plan, base, tree });
            }
            (Phase::Running, Finding::JobEnded { end, calls }) => {
                let stops = self.batch.stops(&known);
                let again = end.is_crash() && (end.has_progress() || known.crashes + 1 < CRASHES);
                let kept = (!end.is_done() && !stops && !again).then(|| keep(Kept::NotDone { end: end.clone() }));
                self.push(BatchEvent::JobEnded { plan, end, calls });
                if let Some(kept) = kept {
                    self.push(kept);
                }
            }
            (Phase::Merging, Finding::MergeMade { commit, onto }) => {
                self.push(BatchEvent::MergeMade { plan, commit, onto });
            }
            (Phase::Merging, Finding::MergeUnneeded { commit })
            | (Phase::Moving { commit, .. }, Finding::TargetMoved) => {
                self.push(BatchEvent::TargetMoved { plan, commit });
            }
            (Phase::Merging, Finding::MergeRefused { trouble, onto, branch }) => {
                self.refused(plan, trouble, onto, branch);
            }
            (Phase::Verifying { onto, .. }, Finding::GoalsFailed { output }) => {
                self.refused(plan, Trouble::Goals { output }, onto, String::new());
            }
            (Phase::Verifying { onto, .. }, Finding::TestsRefused { troubles }) => {
                self.refused(plan, Trouble::Tests { troubles }, onto, String::new());
            }
            (Phase::Verifying { .. }, Finding::GoalsPassed { proof }) => {
                let has_goals = proof.is_some();
                self.push(BatchEvent::MergeVerified { plan, has_goals, proof });
            }
            (Phase::Moving { .. }, Finding::TargetHadMoved) => self.push(BatchEvent::TargetHadMoved { plan }),
            (Phase::Moving { .. } | Phase::Merging, Finding::TargetInUse { why }) => {
                self.target_in_use(known, why);
            }
            (Phase::Repairing, Finding::TaskAdded) => self.push(BatchEvent::TaskAdded { plan }),
            (Phase::Merged { .. }, Finding::WorkTreeRemoved) => self.push(BatchEvent::WorkTreeRemoved { plan }),
            (Phase::Merged { .. }, Finding::WorkTreeKept { why } | Finding::Failed { why }) => {
                self.push(BatchEvent::WorkTreeKept { plan, why });
            }
            (Phase::Running, Finding::Failed { why }) => {
                let end = JobEnd::Refused { code: None, said: why };
                self.push(keep(Kept::NotDone { end }));
            }
            (
                Phase::Preparing | Phase::Merging | Phase::Verifying { .. } | Phase::Moving { .. } | Phase::Repairing,
                Finding::Failed { why },
            ) => self.push(keep(Kept::Failed { why })),
            // The result of a task that was given up in the meantime.
            (_, _) => {}
        }
    }

    /// Lets the merge of `known` wait for the target. Leaves all plans that wait for it once that has taken
    /// too long.
    fn target_in_use(&mut self, known: Plan, why: String) {
        let plan = known.name.clone();
        if known.target_in_use.as_ref() != Some(&why) {
            let why = why.clone();
            self.push(BatchEvent::TargetInUse { plan, why });
        }
        let waits = |plan: &Plan| plan.name == known.name || plan.phase == Phase::Finished;
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
            let why = Kept::TargetInUse { why: why.clone() };
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    /// Whether work for a plan is in progress, or will begin without the target.
    fn is_at_work(&self, plan: &Plan) -> bool {
        match plan.phase {
            Phase::Waiting => self.can_start(plan) && self.batch.spent.is_none(),
            Phase::Ready => self.batch.spent.is_none(),
            Phase::Preparing | Phase::Running | Phase::Repairing => true,
            Phase::Merging | Phase::Verifying { .. } | Phase::Moving { .. } => true,
            Phase::Finished | Phase::Merged { .. } | Phase::Kept { .. } => false,
        }
    }

    fn refused(&mut self, plan: PlanName, trouble: Trouble, onto: String, branch: String) {
        self.push(BatchEvent::MergeRefused {
            plan: plan.clone(),
            trouble: trouble.clone(),
            onto,
            branch,
        });
        let in_vain = |plan: &Plan| plan.tasks_given >= TASKS_GIVEN;
        if self.batch.plan(&plan).is_some_and(in_vain) {
            let why = Kept::NotMerged { trouble };
            self.push(BatchEvent::PlanKept { plan, why });
        }
    }

    /// Adds events that need no further input, until no more follow.
    fn go_on(&mut self) {
        while let Some(event) = self.next() {
            self.push(event);
        }
    }

    fn next(&self) -> Option<BatchEvent> {
        let plans = &self.batch.plans;
        if self.batch.end.is_some() || plans.is_empty() {
            return None;
        }
        if let Some(plan) = plans.iter().find(|plan| plan.cancelled && is_idle(plan)) {
            return Some(BatchEvent::PlanKept {
                plan: plan.name.clone(),
                why: Kept::Cancelled,
            });
        }
        if self.batch.stopped.is_some() {
            return None;
        }
        if let Some((plan, dependency)) = plans.iter().find_map(|plan| Some((plan, self.lost_dependency(plan)?))) {
            return Some(BatchEvent::PlanKept {
                plan: plan.name.clone(),
                why: Kept::Waits { dependency },
            });
        }
        let merges = self.batch.included().any(is_in_the_queue_head);
        let holds = self.batch.repairing(self.at_ms).is_some();
        let is_next = |plan: &&Plan| !merges && (!holds || plan.repairs_since_ms.is_some());
        if let Some(plan) = self.batch.first_finished().filter(is_next) {
            return Some(BatchEvent::MergeStarted {
                plan: plan.name.clone(),
            });
        }
        let started = self.next_start();
        started.or_else(|| self.end_of_all().map(|end| BatchEvent::BatchEnded { end }))
    }

    /// Returns the start of the next run, or the hold on it.
    fn next_start(&self) -> Option<BatchEvent> {
        let plans = || self.batch.included();
        let running = plans().filter(|plan| has_a_slot(plan)).count();
        if running >= self.batch.runs_at_a_time() as usize || self.batch.spent.is_some() {
            return None;
        }
        // Work that was begun comes first, since the target waits for it; a repair comes before other work.
        let ready = plans().filter(|plan| plan.phase == Phase::Ready);
        let ready = ready.min_by_key(|plan| plan.repairs_since_ms.is_none());
        let next = ready.or_else(|| plans().find(|plan| self.can_start(plan)))?;
        if let Some(held) = self.batch.held(self.at_ms) {
            let is_told = self.batch.told_hold.as_ref().is_some_and(|(_, told)| *told == held);
            return (!is_told).then_some(BatchEvent::StartsHeld { held });
        }
        let plan = next.name.clone();
        Some(match next.phase == Phase::Ready {
            true => BatchEvent::JobStarted { plan },
            false => BatchEvent::PlanStarted { plan },
        })
    }

    /// Returns the end of the batch if all plans are over.
    fn end_of_all(&self) -> Option<BatchEnd> {
        let plans = &self.batch.plans;
        let are_merged = plans.iter().all(|plan| matches!(plan.phase, Phase::Merged { .. }));
        self.batch.included().all(is_over).then_some(match are_merged {
            true => BatchEnd::Merged,
            false => BatchEnd::Incomplete,
        })
    }

    fn can_start(&self, plan: &Plan) -> bool {
        let is_merged = |name: &PlanName| {
            let plan = self.batch.plan(name);
            plan.is_some_and(|plan| matches!(plan.phase, Phase::Merged { .. }))
        };
        plan.phase == Phase::Waiting && plan.after.iter().all(is_merged)
    }

    /// Returns a plan that `plan` depends on and that will not be merged.
    fn lost_dependency(&self, plan: &Plan) -> Option<PlanName> {
        let is_lost = |name: &&PlanName| {
            let plan = self.batch.plan(name);
            plan.is_none_or(|plan| match plan.phase {
                Phase::Kept { .. } => true,
                Phase::Merged { .. } => false,
                Phase::Waiting
                | Phase::Preparing
                | Phase::Ready
                | Phase::Running
                | Phase::Finished
                | Phase::Merging
                | Phase::Verifying { .. }
                | Phase::Moving { .. }
                | Phase::Repairing => !self.batch.includes(plan),
            })
        };
        let waits = plan.phase == Phase::Waiting && self.batch.includes(plan);
        plan.after.iter().find(is_lost).filter(|_| waits).cloned()
    }
}

/// Whether it is being merged into the target, which happens to one plan at a time.
fn is_in_the_queue_head(plan: &Plan) -> bool {
    matches!(
        plan.phase,
        Phase::Merging | Phase::Verifying { .. } | Phase::Moving { .. }
    )
}

/// Whether no task is in progress for it, so that it can be cancelled at once.
fn is_idle(plan: &Plan) -> bool {
    matches!(plan.phase, Phase::Waiting | Phase::Ready | Phase::Finished)
}

fn can_be_cancelled(plan: &Plan) -> bool {
    !plan.cancelled && !is_over_or_merged(plan)
}

fn is_over_or_merged(plan: &Plan) -> bool {
    matches!(plan.phase, Phase::Merged { .. }) || is_over(plan)
}

/// Whether no work is left for it.
fn is_over(plan: &Plan) -> bool {
    match plan.phase {
        Phase::Merged { .. } => plan.work_tree != WorkTree::There,
        Phase::Kept { .. } => true,
        Phase::Waiting
        | Phase::Preparing
        | Phase::Ready
        | Phase::Running
        | Phase::Finished
        | Phase::Merging
        | Phase::Verifying { .. }
        | Phase::Moving { .. }
        | Phase::Repairing => false,
    }
}
