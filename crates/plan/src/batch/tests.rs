//! Random findings in random order, with interruptions at random places: the rules of a batch hold.

mod delivery;
mod merges;

use std::collections::BTreeMap;

use ralph_core::{
    event::{BreakerCause, Proof, StopReason, TestCounts, Usage, WaitCause},
    testing::{Dice, rounds},
};

use super::*;

const DONE: JobEnd = JobEnd::Over {
    reason: StopReason::done(Proof::Tests),
};

const UNCONFIRMED: JobEnd = JobEnd::Over {
    reason: StopReason::done(Proof::Unconfirmed),
};

const RESUME: BatchInput = BatchInput::Resume {
    changes: Resumption {
        limits: None,
        arguments: None,
        jobs: None,
        plans: Vec::new(),
        confirmed: Vec::new(),
        answered: Vec::new(),
    },
    usage: NOTHING,
};

const NOTHING: Usage = Usage {
    input_tokens: None,
    cached_tokens: None,
    output_tokens: None,
    cost_usd: None,
    estimated: false,
};

/// A batch, with the tasks in flight that a driver would know.
struct SimulatedBatch {
    records: Vec<BatchRecord>,
    batch: Batch,
    in_flight: Vec<(PlanName, WorkerTask)>,
    commits: u32,
    target: String,
    now_ms: u64,
}

fn name(text: &str) -> PlanName {
    PlanName(text.to_owned())
}

fn added(base: &str) -> TaskResult {
    TaskResult::WorkTreeAdded {
        base: base.to_owned(),
        tree: "/trees/a".to_owned(),
    }
}

/// Returns the finding that a plan was merged alone.
fn made(commit: &str, onto: &str) -> TaskResult {
    TaskResult::MergeMade {
        commit: commit.to_owned(),
        onto: onto.to_owned(),
        with: Vec::new(),
    }
}

/// Returns the finding that the goals passed with counted tests.
fn passed() -> TaskResult {
    let proof = MergeProof {
        proof: Proof::Tests,
        tests: GoalTests::new(),
        forgiven: FailedTests::new(),
        confirmed: ConfirmedChanges::default(),
    };
    TaskResult::GoalsPassed { proof: Some(proof) }
}

/// Returns the finding that the goals ran fewer tests than on the target.
fn fewer_tests() -> TaskResult {
    let before = TestCounts {
        passed: 5,
        ..TestCounts::default()
    };
    let troubles = vec![TestTrouble::Fewer {
        side: Side::Target,
        goal: "tests".to_owned(),
        before,
        now: None,
    }];
    TaskResult::TestsRefused { troubles }
}

/// Returns a resumption that confirms a random part of the unconfirmed tests.
fn resumed_with(batch: &Batch, dice: &mut Dice) -> BatchInput {
    let mut confirmed = Vec::new();
    for plan in &batch.plans {
        if matches!(&plan.phase, PlanPhase::Kept { why } if why.is_unconfirmed()) && dice.roll(2) == 0 {
            confirmed.push(plan.name.clone());
        }
    }
    let changes = Resumption {
        confirmed,
        ..Resumption::default()
    };
    BatchInput::Resume {
        changes,
        usage: NOTHING,
    }
}

fn planned(plans: &[(&str, &[&str])]) -> Vec<Planned> {
    let plans = plans.iter().map(|(plan, after)| Planned {
        name: name(plan),
        file: format!("{plan}.md"),
        section: None,
        after: after.iter().map(|after| name(after)).collect(),
        issue: None,
    });
    plans.collect()
}

impl SimulatedBatch {
    fn start(plans: &[(&str, &[&str])], jobs: u32) -> SimulatedBatch {
        SimulatedBatch::limited(plans, jobs, BatchLimits::default())
    }

    fn limited(plans: &[(&str, &[&str])], jobs: u32, limits: BatchLimits) -> SimulatedBatch {
        SimulatedBatch::begun(plans, jobs, limits, None)
    }

    fn begun(plans: &[(&str, &[&str])], jobs: u32, limits: BatchLimits, delivery: Option<Delivery>) -> SimulatedBatch {
        let id = BatchId("b".to_owned());
        let mut world = SimulatedBatch {
            records: Vec::new(),
            batch: Batch::opened(id.clone()),
            in_flight: Vec::new(),
            commits: 0,
            target: "c0".to_owned(),
            now_ms: 0,
        };
        world.record(BatchEvent::BatchOpened {
            format: "ralph-batch".to_owned(),
            version: 1,
            ralph: "0".to_owned(),
            batch: id.clone(),
        });
        world.take(BatchInput::Start {
            target: id.target(),
            base: "c0".to_owned(),
            jobs,
            engine: LOCAL.to_owned(),
            arguments: Vec::new(),
            plans: planned(plans),
            limits,
            delivery,
            watches: false,
        });
        world
    }

    fn record(&mut self, event: BatchEvent) {
        let record = BatchRecord {
            seq: self.records.len() as u64,
            at_ms: self.now_ms,
            event,
        };
        self.batch.apply(&record);
        self.records.push(record);
    }

    fn take(&mut self, input: BatchInput) {
        for event in step(&self.batch, self.now_ms, input) {
            self.record(event);
        }
        self.begin();
        self.check();
    }

    /// Starts tasks as a driver does.
    fn begin(&mut self) {
        for plan in &self.batch.plans {
            if self.in_flight.iter().any(|(name, _)| *name == plan.name) {
                continue;
            }
            let task = self.batch.task_for(plan);
            self.in_flight.extend(task.map(|task| (plan.name.clone(), task)));
        }
    }

    fn phase(&self, plan: &str) -> &PlanPhase {
        &self.batch.plan(&name(plan)).unwrap().phase
    }

    fn end_task(&mut self, plan: &str, result: TaskResult) {
        self.in_flight.retain(|(name, _)| name.0 != plan);
        self.take(BatchInput::TaskEnded {
            plan: name(plan),
            result,
        });
    }

    /// Checks what holds after every record.
    fn check(&self) {
        assert_eq!(
            Batch::from_records(&self.records).as_ref(),
            Some(&self.batch),
            "the state is the fold"
        );
        let plans = &self.batch.plans;
        let count = |is: fn(&PlanPhase) -> bool| plans.iter().filter(|plan| is(&plan.phase)).count();
        assert!(count(|phase| matches!(phase, PlanPhase::Preparing | PlanPhase::Running)) <= self.batch.jobs as usize);
        let merging = |phase: &PlanPhase| {
            matches!(
                phase,
                PlanPhase::Merging | PlanPhase::Verifying { .. } | PlanPhase::Moving { .. }
            )
        };
        assert!(count(merging) <= 1, "{plans:?}");
        for plan in plans {
            let begun = !matches!(plan.phase, PlanPhase::Waiting | PlanPhase::Kept { .. });
            let is_merged = |name: &PlanName| matches!(self.batch.plan(name).unwrap().phase, PlanPhase::Merged { .. });
            assert!(
                !begun || plan.after.iter().all(is_merged),
                "{plan:?} began before what it waits for"
            );
            assert!(plan.tasks_given <= TASKS_GIVEN);
        }
        let mut verified: Option<(&PlanName, &String)> = None;
        let mut merged = Vec::new();
        for record in &self.records {
            match &record.event {
                BatchEvent::MergeMade { plan, commit, .. } => verified = Some((plan, commit)),
                BatchEvent::TargetHadMoved { .. }
                | BatchEvent::MergeRefused { .. }
                | BatchEvent::GroupRefused { .. } => verified = None,
                BatchEvent::TargetMoved { plan, commit, with } => {
                    for plan in [plan].into_iter().chain(with) {
                        assert!(!merged.contains(plan), "{plan} was merged twice");
                        merged.push(plan.clone());
                    }
                    if commit != "had" && self.batch.delivery.is_none() {
                        assert_eq!(verified, Some((plan, commit)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns a random result of a task.
    fn answer(&mut self, plan: &PlanName, task: &WorkerTask, dice: &mut Dice) -> TaskResult {
        if dice.roll(25) == 0 {
            return TaskResult::Failed {
                why: "no space".to_owned(),
            };
        }
        let conflict = MergeTrouble::Conflict {
            files: vec!["a".to_owned()],
        };
        match task {
            WorkerTask::AddWorkTree => added(&self.target),
            WorkerTask::RunJob => TaskResult::JobEnded {
                end: match dice.index(8) {
                    0 => JobEnd::Crashed,
                    1 => JobEnd::Over {
                        reason: StopReason::Interrupted,
                    },
                    2 => UNCONFIRMED,
                    _ => DONE,
                },
                calls: 1,
            },
            WorkerTask::Merge => match dice.index(6) {
                0 => TaskResult::MergeRefused {
                    trouble: conflict,
                    onto: self.target.clone(),
                    branch: "b1".to_owned(),
                },
                1 => TaskResult::MergeUnneeded {
                    commit: "had".to_owned(),
                },
                2 => TaskResult::TargetInUse {
                    why: "dirty".to_owned(),
                },
                _ => {
                    self.commits += 1;
                    let group = self.batch.plan(plan).unwrap().group.iter();
                    TaskResult::MergeMade {
                        commit: format!("c{}", self.commits),
                        onto: self.target.clone(),
                        // Some of them conflict.
                        with: group.filter(|_| dice.roll(4) > 0).cloned().collect(),
                    }
                }
            },
            WorkerTask::CheckGoals { .. } => match dice.index(6) {
                0 => TaskResult::GoalsFailed {
                    output: "no".to_owned(),
                },
                2 => fewer_tests(),
                1 if self.batch.stopped.is_some() => TaskResult::GoalsUnknown,
                _ => passed(),
            },
            WorkerTask::MoveTarget { commit, .. } => match dice.index(5) {
                0 => TaskResult::TargetHadMoved,
                _ => {
                    self.target.clone_from(commit);
                    TaskResult::TargetMoved
                }
            },
            WorkerTask::GiveTask { .. } => TaskResult::TaskAdded,
            WorkerTask::RemoveWorkTree => TaskResult::WorkTreeRemoved { kept: None },
            WorkerTask::Deliver | WorkerTask::LookAtRequest => delivery::answer(task, dice),
        }
    }
}

#[test]
fn plans_run_side_by_side_and_are_merged_one_after_the_other_in_the_order_they_finish() {
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[]), ("docs", &[])], 2);
    assert_eq!(
        (world.phase("ui"), world.phase("docs")),
        (&PlanPhase::Preparing, &PlanPhase::Waiting)
    );
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.end_task("ui", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert_eq!(
        (world.phase("ui"), world.phase("docs")),
        (&PlanPhase::Merging, &PlanPhase::Preparing)
    );
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert_eq!(world.phase("api"), &PlanPhase::Finished);
    let (commit, onto) = ("c1".to_owned(), "c0".to_owned());
    world.end_task("ui", made(&commit, &onto));
    world.end_task("ui", passed());
    assert_eq!(world.phase("api"), &PlanPhase::Finished, "the target is not moved yet");
    world.end_task("ui", TaskResult::TargetMoved);
    assert_eq!(world.phase("api"), &PlanPhase::Merging);
}

#[test]
fn a_merge_that_fails_gives_two_tasks_and_then_leaves_the_plan_as_it_is() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let trouble = MergeTrouble::Conflict {
        files: vec!["a".to_owned()],
    };
    for _ in 0..TASKS_GIVEN {
        world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
        world.end_task(
            "api",
            TaskResult::MergeRefused {
                trouble: trouble.clone(),
                onto: "c0".to_owned(),
                branch: "b1".to_owned(),
            },
        );
        assert_eq!(world.phase("api"), &PlanPhase::Repairing);
        world.end_task("api", TaskResult::TaskAdded);
        assert_eq!(world.phase("api"), &PlanPhase::Running);
    }
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task(
        "api",
        TaskResult::MergeRefused {
            trouble: trouble.clone(),
            onto: "c0".to_owned(),
            branch: "b1".to_owned(),
        },
    );
    let why = KeptReason::NotMerged { trouble };
    assert_eq!(world.phase("api"), &PlanPhase::Kept { why });
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    world.take(RESUME);
    assert_eq!(world.phase("api"), &PlanPhase::Merging, "it may be resolved by now");
}

fn conflict(onto: &str) -> TaskResult {
    TaskResult::MergeRefused {
        trouble: MergeTrouble::Conflict {
            files: vec!["a".to_owned()],
        },
        onto: onto.to_owned(),
        branch: "b1".to_owned(),
    }
}

#[test]
fn plans_that_touch_one_place_are_all_merged_whichever_ends_first() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let plans: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, &[][..])).collect();
    for seed in 1..=rounds(50) {
        let mut dice = Dice::new(seed as u64);
        let mut world = SimulatedBatch::start(&plans, 1 + u32::try_from(dice.index(8)).unwrap());
        // The commit of the target with which each plan has resolved its conflict.
        let mut resolved: BTreeMap<PlanName, String> = BTreeMap::new();
        while !world.in_flight.is_empty() {
            let at = dice.index(world.in_flight.len());
            let (plan, task) = world.in_flight[at].clone();
            let result = match task {
                WorkerTask::AddWorkTree => added("c0"),
                WorkerTask::RunJob => TaskResult::JobEnded { end: DONE, calls: 1 },
                WorkerTask::Merge if world.target != "c0" && resolved.get(&plan) != Some(&world.target) => {
                    conflict(&world.target)
                }
                WorkerTask::Merge => {
                    world.commits += 1;
                    let (commit, onto) = (format!("c{}", world.commits), world.target.clone());
                    made(&commit, &onto)
                }
                WorkerTask::CheckGoals { .. } => passed(),
                WorkerTask::MoveTarget { commit, .. } => {
                    world.target = commit;
                    TaskResult::TargetMoved
                }
                WorkerTask::GiveTask { .. } => {
                    resolved.insert(plan.clone(), world.target.clone());
                    TaskResult::TaskAdded
                }
                WorkerTask::RemoveWorkTree => TaskResult::WorkTreeRemoved { kept: None },
                WorkerTask::Deliver | WorkerTask::LookAtRequest => unreachable!("nothing is delivered"),
            };
            world.end_task(&plan.0, result);
        }
        assert_eq!(
            world.batch.end,
            Some(BatchEnd::Merged),
            "seed {seed}: {:?}",
            world.batch
        );
        let given = world.batch.plans.iter().map(|plan| plan.refusals).max();
        assert!(given <= Some(1), "seed {seed}: a repaired plan is merged next");
    }
}

/// Makes two finished plans, of which `api` repairs its conflict.
fn one_repairs() -> SimulatedBatch {
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[])], 2);
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", conflict("c0"));
    world.end_task("ui", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", TaskResult::TaskAdded);
    assert_eq!(
        (world.phase("api"), world.phase("ui")),
        (&PlanPhase::Running, &PlanPhase::Finished)
    );
    world
}

#[test]
fn merges_wait_for_a_repair_unless_it_gives_up_or_waits_itself() {
    let mut world = one_repairs();
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert_eq!(
        (world.phase("api"), world.phase("ui")),
        (&PlanPhase::Merging, &PlanPhase::Finished)
    );
    let is_merging = |world: &SimulatedBatch| *world.phase("ui") == PlanPhase::Merging;

    let mut cancelled = one_repairs();
    let plan = Some(name("api"));
    cancelled.take(BatchInput::Cancel { plan });
    assert!(!is_merging(&cancelled), "its run still ends");
    let end = JobEnd::Over {
        reason: StopReason::Interrupted,
    };
    cancelled.end_task("api", TaskResult::JobEnded { end, calls: 1 });
    assert!(is_merging(&cancelled));

    let mut failed = one_repairs();
    let end = JobEnd::Over {
        reason: StopReason::Requested,
    };
    failed.end_task("api", TaskResult::JobEnded { end, calls: 1 });
    assert!(is_merging(&failed));

    let mut limited = one_repairs();
    limited.take(BatchInput::Limited {
        plan: name("api"),
        adapter: "codex".to_owned(),
        until_ms: 100,
        workers: vec!["codex".to_owned()],
    });
    assert!(is_merging(&limited), "it can do nothing until then");

    let mut spent = one_repairs().batch;
    spent.limits = TEN_TOKENS;
    let events = step(&spent, 0, BatchInput::Used { usage: tokens(10) });
    let plan = name("ui");
    assert!(
        events.contains(&BatchEvent::MergeStarted { plan, with: Vec::new() }),
        "{events:?}"
    );

    let mut slow = one_repairs();
    slow.now_ms = 3_599_999;
    slow.take(BatchInput::Used { usage: NOTHING });
    assert!(!is_merging(&slow));
    slow.now_ms = 3_600_000;
    slow.take(BatchInput::Used { usage: NOTHING });
    assert!(is_merging(&slow), "an hour is enough");
}

#[test]
fn a_conflict_with_another_commit_of_the_target_is_no_attempt_in_vain() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let again = |world: &mut SimulatedBatch, result| {
        world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
        world.end_task("api", result);
        if *world.phase("api") == PlanPhase::Repairing {
            world.end_task("api", TaskResult::TaskAdded);
        }
    };
    for onto in ["c1", "c2", "c3", "c4"] {
        again(&mut world, conflict(onto));
        assert_eq!(world.batch.plans[0].tasks_given, 1, "{onto}");
    }
    let trouble = MergeTrouble::Markers {
        files: vec!["a".to_owned()],
    };
    let onto = "c5".to_owned();
    again(
        &mut world,
        TaskResult::MergeRefused {
            trouble,
            onto,
            branch: String::new(),
        },
    );
    assert_eq!(
        world.batch.plans[0].tasks_given, 2,
        "what was left is an attempt in vain"
    );
    again(&mut world, conflict("c4"));
    assert!(matches!(
        world.phase("api"),
        PlanPhase::Kept {
            why: KeptReason::NotMerged { .. }
        }
    ));
}

/// Returns the finding that the target has uncommitted changes.
fn dirty() -> TaskResult {
    TaskResult::TargetInUse {
        why: "dirty".to_owned(),
    }
}

#[test]
fn a_target_with_changes_is_waited_for_and_said_once() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", dirty());
    let said = world.records.len();
    for _ in 0..3 {
        world.now_ms += 1_000;
        world.end_task("api", dirty());
        assert_eq!(world.in_flight, [(name("api"), WorkerTask::Merge)], "it is tried again");
    }
    assert_eq!(world.records.len(), said);
    let (commit, onto) = ("c1".to_owned(), "c0".to_owned());
    world.end_task("api", made(&commit, &onto));
    assert_eq!(world.batch.plans[0].target_in_use, None);
    world.end_task("api", passed());
    world.end_task("api", dirty());
    assert!(
        matches!(world.phase("api"), PlanPhase::Moving { .. }),
        "it stays verified"
    );
    world.end_task("api", TaskResult::TargetMoved);
    assert!(matches!(world.phase("api"), PlanPhase::Merged { .. }));
}

#[test]
fn a_target_with_changes_is_given_up_once_nothing_else_is_left_for_a_while() {
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[]), ("docs", &["api"])], 2);
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", dirty());
    world.now_ms = 86_400_000;
    world.end_task("api", dirty());
    assert_eq!(world.phase("api"), &PlanPhase::Merging, "another plan still runs");
    world.end_task("ui", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.now_ms += 899_999;
    world.end_task("api", dirty());
    assert_eq!(world.phase("api"), &PlanPhase::Merging);
    world.now_ms += 1;
    world.end_task("api", dirty());
    let why = "dirty".to_owned();
    let kept = PlanPhase::Kept {
        why: KeptReason::TargetInUse { why },
    };
    assert_eq!((world.phase("api"), world.phase("ui")), (&kept, &kept));
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    world.take(RESUME);
    assert_eq!(world.phase("api"), &PlanPhase::Merging);
}

/// Returns a resumption for these plans only.
fn alone(plans: &[&str]) -> BatchInput {
    let changes = Resumption {
        plans: plans.iter().map(|plan| name(plan)).collect(),
        ..Resumption::default()
    };
    BatchInput::Resume {
        changes,
        usage: NOTHING,
    }
}

#[test]
fn a_plan_is_resumed_alone_whatever_the_others_were_at() {
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[]), ("docs", &["ui"])], 2);
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.take(BatchInput::Cancel {
        plan: Some(name("api")),
    });
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert_eq!(
        world.phase("api"),
        &PlanPhase::Kept {
            why: KeptReason::Cancelled
        }
    );
    // The batch is killed while `ui` runs.
    world.in_flight.clear();
    world.take(alone(&["api"]));
    assert_eq!(world.phase("api"), &PlanPhase::Merging, "it was done, and is named");
    assert_eq!(world.in_flight, [(name("api"), WorkerTask::Merge)]);
    world.end_task(
        "api",
        TaskResult::MergeUnneeded {
            commit: "had".to_owned(),
        },
    );
    world.end_task("api", TaskResult::WorkTreeRemoved { kept: None });
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    assert_eq!(
        (world.phase("ui"), world.phase("docs")),
        (&PlanPhase::Running, &PlanPhase::Waiting)
    );
    world.take(alone(&["docs"]));
    let why = KeptReason::Waits { dependency: name("ui") };
    assert_eq!(world.phase("docs"), &PlanPhase::Kept { why });
    assert_eq!(world.in_flight, []);
    world.take(RESUME);
    assert_eq!(world.in_flight, [(name("ui"), WorkerTask::RunJob)]);
    assert_eq!(world.phase("docs"), &PlanPhase::Waiting);
}

#[test]
fn options_at_resume_count_from_then_on() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    let arguments = vec!["--model".to_owned(), "small".to_owned()];
    let changes = Resumption {
        arguments: Some(arguments.clone()),
        jobs: Some(7),
        ..Resumption::default()
    };
    world.take(BatchInput::Resume {
        changes,
        usage: NOTHING,
    });
    world.take(RESUME);
    assert_eq!((&world.batch.arguments, world.batch.jobs), (&arguments, 7));
}

#[test]
fn a_plan_whose_dependency_is_not_merged_is_left_alone_and_comes_back_with_it() {
    let mut world = SimulatedBatch::start(&[("ui", &["api"]), ("api", &[]), ("docs", &["ui"])], 4);
    world.end_task("api", added("c0"));
    let end = JobEnd::Over {
        reason: StopReason::Requested,
    };
    world.end_task("api", TaskResult::JobEnded { end, calls: 1 });
    assert_eq!(
        world.phase("docs"),
        &PlanPhase::Kept {
            why: KeptReason::Waits { dependency: name("ui") }
        }
    );
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    world.take(RESUME);
    assert_eq!(
        (world.phase("api"), world.phase("docs")),
        (&PlanPhase::Running, &PlanPhase::Waiting)
    );
}

#[test]
fn what_is_cancelled_while_something_is_done_for_it_ends_with_that_and_stays_cancelled() {
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[])], 1);
    world.take(BatchInput::Cancel { plan: None });
    assert_eq!(world.phase("api"), &PlanPhase::Preparing);
    let cancelled = PlanPhase::Kept {
        why: KeptReason::Cancelled,
    };
    assert_eq!(world.phase("ui"), &cancelled);
    world.end_task("api", added("c0"));
    assert_eq!(world.phase("api"), &cancelled);
    world.take(RESUME);
    assert_eq!(
        (world.phase("api"), world.batch.end),
        (&cancelled, Some(BatchEnd::Incomplete))
    );
}

#[test]
fn the_target_that_was_verified_counts_before_a_cancel() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    let (commit, onto) = ("c1".to_owned(), "c0".to_owned());
    world.end_task("api", made(&commit, &onto));
    world.end_task("api", passed());
    world.take(BatchInput::Cancel { plan: None });
    world.end_task("api", TaskResult::TargetMoved);
    assert!(matches!(world.phase("api"), PlanPhase::Merged { .. }));
}

fn tokens(output_tokens: u64) -> Usage {
    Usage {
        output_tokens: Some(output_tokens),
        ..NOTHING
    }
}

const TEN_TOKENS: BatchLimits = BatchLimits {
    max_cost_usd: None,
    max_tokens: Some(10),
    calls_per_hour: None,
};

#[test]
fn a_budget_is_told_of_once_before_it_is_used_up() {
    let mut world = SimulatedBatch::limited(&[("api", &[])], 1, TEN_TOKENS);
    let near = |world: &SimulatedBatch, used| {
        let usage = tokens(used);
        let events = step(&world.batch, 0, BatchInput::Used { usage });
        let near = events.into_iter().filter_map(|event| match event {
            BatchEvent::BudgetNear { limit, percent } => Some((limit, percent)),
            _ => None,
        });
        near.collect::<Vec<_>>()
    };
    assert_eq!(near(&world, 7), []);
    assert_eq!(near(&world, 9), [(BatchLimit::MaxTokens, 90)]);
    world.take(BatchInput::Used { usage: tokens(9) });
    assert_eq!(near(&world, 9), []);
    assert_eq!(near(&world, 10), [], "it is used up, which is told of");
}

#[test]
fn a_budget_that_is_used_up_ends_runs_and_merges_what_is_done_until_there_is_a_larger_one() {
    let mut world = SimulatedBatch::limited(&[("api", &[]), ("ui", &[]), ("docs", &[])], 2, TEN_TOKENS);
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.take(BatchInput::Used { usage: tokens(9) });
    assert_eq!(world.batch.spent, None);
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.take(BatchInput::Used { usage: tokens(10) });
    assert_eq!(world.batch.spent, Some(BatchLimit::MaxTokens));
    let stops = |world: &SimulatedBatch, plan: &str| world.batch.stops(world.batch.plan(&name(plan)).unwrap());
    assert_eq!((stops(&world, "ui"), stops(&world, "api")), (true, false));
    let end = JobEnd::Over {
        reason: StopReason::Interrupted,
    };
    world.end_task("ui", TaskResult::JobEnded { end, calls: 1 });
    assert_eq!(
        (world.phase("ui"), world.phase("docs")),
        (&PlanPhase::Ready, &PlanPhase::Preparing)
    );
    world.end_task("docs", added("c0"));
    let (commit, onto) = ("c1".to_owned(), "c0".to_owned());
    world.end_task("api", made(&commit, &onto));
    world.end_task("api", passed());
    world.end_task("api", TaskResult::TargetMoved);
    world.end_task("api", TaskResult::WorkTreeRemoved { kept: None });
    assert_eq!(world.in_flight, []);
    world.take(BatchInput::Idle);
    let by = StoppedBy::Budget;
    assert_eq!(world.batch.end, Some(BatchEnd::Stopped { by }));
    let limits = BatchLimits {
        max_tokens: Some(20),
        ..TEN_TOKENS
    };
    world.take(BatchInput::Resume {
        changes: Resumption::default(),
        usage: tokens(10),
    });
    assert_eq!(world.in_flight, [], "the budget is the same");
    world.take(BatchInput::Idle);
    world.take(BatchInput::Resume {
        changes: Resumption {
            limits: Some(limits),
            ..Resumption::default()
        },
        usage: tokens(10),
    });
    assert_eq!(
        (world.phase("ui"), world.phase("docs")),
        (&PlanPhase::Running, &PlanPhase::Running)
    );
}

#[test]
fn a_limit_that_one_run_met_holds_the_starts_of_all_until_it_resets_unless_another_can_stand_in() {
    let limited = |adapter: &str, until_ms, workers: &[&str]| BatchInput::Limited {
        plan: name("api"),
        adapter: adapter.to_owned(),
        until_ms,
        workers: workers.iter().map(|worker| (*worker).to_owned()).collect(),
    };
    let done = || TaskResult::JobEnded { end: DONE, calls: 1 };
    let mut world = SimulatedBatch::start(&[("api", &[]), ("ui", &[]), ("docs", &[])], 2);
    for plan in ["api", "ui"] {
        world.end_task(plan, added("c0"));
    }
    world.take(limited("codex", 100, &["codex", "claude"]));
    assert_eq!(world.batch.held(0), None, "claude stands in");
    world.take(limited("claude", 80, &["codex", "claude"]));
    world.end_task("ui", done());
    assert_eq!(world.phase("docs"), &PlanPhase::Waiting);
    assert_eq!(world.phase("ui"), &PlanPhase::Merging, "no agent is needed for a merge");
    let held = StartHold {
        until_ms: 80,
        why: HoldReason::AdapterLimited {
            adapter: "codex".to_owned(),
        },
    };
    assert_eq!(world.batch.announced_hold, Some((0, held)));
    let records = world.records.len();
    world.now_ms = 79;
    world.take(BatchInput::Used { usage: NOTHING });
    world.take(limited("claude", 80, &["codex", "claude"]));
    assert_eq!(world.records.len(), records, "it is told once");
    world.now_ms = 80;
    world.take(BatchInput::Used { usage: NOTHING });
    assert_eq!(world.phase("docs"), &PlanPhase::Preparing);
}

#[test]
fn calls_of_an_hour_are_kept_for_the_runs_that_go_on() {
    let limits = BatchLimits {
        calls_per_hour: Some(2),
        ..BatchLimits::default()
    };
    let mut world = SimulatedBatch::limited(&[("api", &[]), ("ui", &[]), ("docs", &[])], 3, limits);
    assert_eq!(world.phase("docs"), &PlanPhase::Waiting, "two runs at a time");
    world.end_task("api", added("c0"));
    world.now_ms = 1_000;
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert_eq!(world.phase("docs"), &PlanPhase::Waiting);
    world.now_ms = 3_600_999;
    world.take(BatchInput::Used { usage: NOTHING });
    assert_eq!(world.phase("docs"), &PlanPhase::Waiting);
    world.now_ms = 3_601_000;
    world.take(BatchInput::Used { usage: NOTHING });
    assert_eq!(world.phase("docs"), &PlanPhase::Preparing);
}

#[test]
fn whatever_is_found_and_wherever_it_is_cut_off_a_batch_ends_by_its_rules() {
    for seed in 1..=rounds(300) {
        let mut dice = Dice::new(seed as u64);
        let plans: &[(&str, &[&str])] = &[("a", &[]), ("b", &[]), ("c", &["a"]), ("d", &[]), ("e", &["c", "d"])];
        let jobs = 1 + u32::try_from(dice.index(3)).unwrap();
        let mut world = SimulatedBatch::limited(plans, jobs, TEN_TOKENS);
        let mut steps = 0;
        loop {
            steps += 1;
            // After that, no more interruptions, so that it ends.
            let is_wild = steps < 60;
            if world.in_flight.is_empty() {
                world.take(BatchInput::Idle);
                let stopped = matches!(world.batch.end, Some(BatchEnd::Stopped { .. }));
                assert!(
                    world.batch.end.is_some(),
                    "seed {seed}: it stands still: {:?}",
                    world.batch
                );
                if !(stopped || is_wild && dice.roll(2) == 0) {
                    break;
                }
                world.take(resumed_with(&world.batch, &mut dice));
                continue;
            }
            match dice.index(if is_wild { 40 } else { 1_000_000 }) {
                4 => world.take(BatchInput::Used { usage: tokens(11) }),
                0 => world.take(BatchInput::Cancel {
                    plan: Some(name(["a", "b", "c", "d", "e"][dice.index(5)])),
                }),
                1 => world.take(BatchInput::Stop {
                    by: StoppedBy::Interrupt,
                }),
                // The batch is killed: tasks in flight are forgotten, and may have been done.
                2 | 3 => {
                    world.in_flight.clear();
                    world.batch = Batch::from_records(&world.records).unwrap();
                    world.take(RESUME);
                }
                _ => {
                    let at = dice.index(world.in_flight.len());
                    let (plan, task) = world.in_flight.remove(at);
                    let result = world.answer(&plan, &task, &mut dice);
                    world.take(BatchInput::TaskEnded { plan, result });
                }
            }
            assert!(steps < 5_000, "seed {seed}: it never ends: {:?}", world.batch);
        }
    }
}

#[test]
fn a_job_that_was_cut_off_goes_on_as_long_as_it_gets_somewhere() {
    let end = |progress| JobEnd::Engine {
        engine: "slurm".to_owned(),
        end: EngineEnd::CutOff {
            state: "TIMEOUT".to_owned(),
            progress,
        },
    };
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let is_running = |world: &SimulatedBatch| world.batch.plans[0].phase == PlanPhase::Running;
    for progress in [true, true, true, true, false, false] {
        world.end_task(
            "api",
            TaskResult::JobEnded {
                end: end(progress),
                calls: 0,
            },
        );
        assert!(is_running(&world), "{progress}");
    }
    world.end_task(
        "api",
        TaskResult::JobEnded {
            end: end(false),
            calls: 0,
        },
    );
    let kept = PlanPhase::Kept {
        why: KeptReason::NotDone { end: end(false) },
    };
    assert_eq!(world.batch.plans[0].phase, kept);
}

#[test]
fn a_plan_that_stalls_is_told_once_and_again_when_it_makes_progress() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let stalled = |why| BatchInput::Stalled { plan: name("api"), why };
    let cause = || {
        let why = BreakerCause::NoProgress { iterations: 2 };
        Some(WaitCause::Breaker { why })
    };
    let records = world.records.len();
    for _ in 0..2 {
        world.take(stalled(cause()));
    }
    assert!(world.batch.plans[0].stalled);
    for _ in 0..2 {
        world.take(stalled(None));
    }
    assert_eq!(world.records.len(), records + 2);
    world.take(stalled(cause()));
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    assert!(!world.batch.plans[0].stalled);
    world.take(stalled(cause()));
    assert!(!world.batch.plans[0].stalled, "it does not run");
}
