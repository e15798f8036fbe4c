//! Work that goes to a remote: pushed, watched, sent back, merged or closed there.

use super::*;

fn request() -> PullRequest {
    PullRequest {
        number: 7,
        url: "https://h/o/r/pull/7".to_owned(),
    }
}

fn delivery(kind: DeliveryKind) -> Delivery {
    Delivery {
        kind,
        remote: "https://h/o/r".to_owned(),
        base: "main".to_owned(),
        rounds: 2,
    }
}

fn delivering(kind: DeliveryKind, plans: &[(&str, &[&str])]) -> SimulatedBatch {
    SimulatedBatch::begun(plans, 2, BatchLimits::default(), Some(delivery(kind)))
}

fn delivered(commit: &str) -> TaskResult {
    TaskResult::Delivered {
        commit: commit.to_owned(),
        request: Some(request()),
    }
}

fn refused(trouble: MergeTrouble) -> TaskResult {
    TaskResult::MergeRefused {
        trouble,
        onto: "c0".to_owned(),
        branch: "b".to_owned(),
    }
}

fn red() -> TaskResult {
    refused(MergeTrouble::Checks {
        failed: vec![FailedCheck {
            name: "build".to_owned(),
            log: "no".to_owned(),
        }],
    })
}

/// Returns a random result of a task that reaches the forge.
pub(super) fn answer(task: &WorkerTask, dice: &mut Dice) -> TaskResult {
    let silent = || TaskResult::ForgeSilent {
        why: "down".to_owned(),
        after_ms: None,
    };
    let closed = || TaskResult::RequestClosed { request: request() };
    let merged = || TaskResult::RequestMerged {
        commit: "had".to_owned(),
    };
    let conflict = || MergeTrouble::Conflict {
        files: vec!["a".to_owned()],
    };
    match (task, dice.index(8)) {
        (_, 0) => silent(),
        (_, 1) => closed(),
        (_, 2) => merged(),
        (WorkerTask::Deliver, 3) => refused(conflict()),
        (WorkerTask::Deliver, _) => delivered("d"),
        (_, 3) => red(),
        (_, 4) => refused(conflict()),
        (_, _) => TaskResult::RequestUnchanged,
    }
}

/// Runs a plan to its verified end.
fn run(world: &mut SimulatedBatch, plan: &str) {
    if *world.phase(plan) == PlanPhase::Preparing {
        world.end_task(plan, added("c0"));
    }
    world.end_task(plan, TaskResult::JobEnded { end: DONE, calls: 1 });
}

#[test]
fn verified_work_is_delivered_and_watched_until_it_is_merged_there() {
    let mut world = delivering(DeliveryKind::Pr, &[("api", &[]), ("ui", &["api"])]);
    run(&mut world, "api");
    assert_eq!(*world.phase("api"), PlanPhase::Delivering);
    world.end_task("api", delivered("d1"));
    let looks = |world: &SimulatedBatch| world.in_flight.contains(&(name("api"), WorkerTask::LookAtRequest));
    assert!(looks(&world) && world.batch.end.is_none());
    world.end_task("api", TaskResult::RequestUnchanged);
    assert!(looks(&world), "it is watched on");
    assert_eq!(
        *world.phase("ui"),
        PlanPhase::Waiting,
        "the other plan waits for the merge"
    );
    let commit = "m1".to_owned();
    world.end_task("api", TaskResult::RequestMerged { commit });
    assert!(world.in_flight.contains(&(name("api"), WorkerTask::RemoveWorkTree)));
    assert_eq!(*world.phase("ui"), PlanPhase::Preparing);
    world.end_task("api", TaskResult::WorkTreeRemoved { kept: None });
    run(&mut world, "ui");
    world.end_task("ui", delivered("d2"));
    world.end_task("ui", TaskResult::RequestClosed { request: request() });
    assert!(world.in_flight.contains(&(name("ui"), WorkerTask::RemoveWorkTree)));
    world.end_task("ui", TaskResult::WorkTreeRemoved { kept: None });
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
}

#[test]
fn a_pull_request_sends_its_agent_back_as_often_as_allowed() {
    let mut world = delivering(DeliveryKind::Pr, &[("api", &[])]);
    for round in 1..=3 {
        run(&mut world, "api");
        world.end_task("api", delivered(&format!("d{round}")));
        world.end_task("api", red());
        if round < 3 {
            assert_eq!(*world.phase("api"), PlanPhase::Repairing, "round {round}");
            world.end_task("api", TaskResult::TaskAdded);
            assert_eq!(world.batch.plans[0].tasks_given, 0, "a check is no attempt to merge");
        }
    }
    let is_left = |phase: &PlanPhase| {
        matches!(
            phase,
            PlanPhase::Kept {
                why: KeptReason::NotMerged { .. }
            }
        )
    };
    assert!(is_left(world.phase("api")), "{:?}", world.phase("api"));
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    world.take(RESUME);
    assert_eq!(
        *world.phase("api"),
        PlanPhase::Delivering,
        "it is found again, and watched on"
    );
}

#[test]
fn a_silent_forge_is_told_once_and_asked_again() {
    let mut world = delivering(DeliveryKind::Pr, &[("api", &[])]);
    run(&mut world, "api");
    let silent = |why: &str| TaskResult::ForgeSilent {
        why: why.to_owned(),
        after_ms: None,
    };
    for why in ["down", "down", "limited", "limited"] {
        world.end_task("api", silent(why));
        assert_eq!(world.batch.task_for(&world.batch.plans[0]), Some(WorkerTask::Deliver));
    }
    let told = world
        .records
        .iter()
        .filter(|record| matches!(record.event, BatchEvent::ForgeSilent { .. }));
    assert_eq!(told.count(), 2);
    world.end_task("api", delivered("d"));
    assert_eq!(world.batch.plans[0].forge_silent, None);
    world.end_task("api", silent("down"));
    world.end_task("api", TaskResult::RequestUnchanged);
    assert_eq!(world.batch.plans[0].forge_silent, None, "it answers again");
    let why = "the token has expired".to_owned();
    world.end_task("api", TaskResult::Failed { why: why.clone() });
    let why = KeptReason::Failed { why };
    assert_eq!(*world.phase("api"), PlanPhase::Kept { why });
}

#[test]
fn a_batch_that_watches_goes_on_until_it_is_stopped() {
    let mut world = delivering(DeliveryKind::Branch, &[("api", &[])]);
    world.batch.watches = true;
    let events = [
        BatchInput::TaskEnded {
            plan: name("api"),
            result: added("c0"),
        },
        BatchInput::TaskEnded {
            plan: name("api"),
            result: TaskResult::JobEnded { end: DONE, calls: 1 },
        },
        BatchInput::TaskEnded {
            plan: name("api"),
            result: TaskResult::Delivered {
                commit: "d".to_owned(),
                request: None,
            },
        },
        BatchInput::TaskEnded {
            plan: name("api"),
            result: TaskResult::WorkTreeRemoved { kept: None },
        },
        BatchInput::Idle,
    ];
    let mut batch = world.batch;
    let mut take = |input| {
        for event in step(&batch, 1, input) {
            batch.apply(&BatchRecord {
                seq: 0,
                at_ms: 1,
                event,
            });
        }
        batch.clone()
    };
    let ends: Vec<Option<BatchEnd>> = events.into_iter().map(|input| take(input).end).collect();
    assert_eq!(ends, [None; 5]);
    let changes = BatchChanges {
        added: planned(&[("ui", &[])]),
        ..BatchChanges::default()
    };
    assert_eq!(
        take(BatchInput::Change { changes }).plans[1].phase,
        PlanPhase::Preparing
    );
    take(BatchInput::Stop {
        by: StoppedBy::Interrupt,
    });
    let by = StoppedBy::Interrupt;
    assert_eq!(take(BatchInput::Idle).end, Some(BatchEnd::Stopped { by }));
    assert!(!take(RESUME).watches, "nobody adds plans to it any more");
}

#[test]
fn a_pushed_branch_ends_its_plan() {
    let mut world = delivering(DeliveryKind::Branch, &[("api", &[])]);
    run(&mut world, "api");
    let commit = "d".to_owned();
    world.end_task("api", TaskResult::Delivered { commit, request: None });
    world.end_task("api", TaskResult::WorkTreeRemoved { kept: None });
    assert_eq!(world.batch.end, Some(BatchEnd::Merged));
}

#[test]
fn whatever_a_forge_answers_and_whenever_the_batch_is_interrupted_every_plan_is_over_in_the_end() {
    for seed in 1..=rounds(60) {
        let mut dice = Dice::new(seed as u64);
        let mut world = delivering(DeliveryKind::Pr, &[("a", &[]), ("b", &["a"]), ("c", &[])]);
        for _ in 0..400 {
            if world.batch.end.is_some() {
                break;
            }
            if dice.roll(40) == 0 {
                // Killed: nothing is in flight after the resumption.
                world.in_flight.clear();
                world.take(RESUME);
            }
            let Some(at) = (!world.in_flight.is_empty()).then(|| dice.index(world.in_flight.len())) else {
                world.take(BatchInput::Idle);
                continue;
            };
            let (plan, task) = world.in_flight[at].clone();
            let result = world.answer(&plan, &task, &mut dice);
            world.end_task(&plan.0, result);
        }
        assert!(world.batch.end.is_some(), "seed {seed}: {:?}", world.batch.plans);
    }
}
