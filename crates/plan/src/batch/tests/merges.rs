//! Merges that are refused because of tests, and plans whose changed tests wait for the user.

use super::*;

#[test]
fn changed_tests_that_are_not_confirmed_leave_a_plan_until_they_are() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let ended = |end| TaskResult::JobEnded { end, calls: 1 };
    world.end_task("api", ended(UNCONFIRMED));
    assert!(matches!(world.phase("api"), PlanPhase::Kept { why } if why.is_unconfirmed()));
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    // Another run would treat the changed tests as the ones that count.
    world.take(RESUME);
    assert!(matches!(world.phase("api"), PlanPhase::Kept { .. }));
    let changes = Resumption {
        confirmed: vec![name("api")],
        ..Resumption::default()
    };
    world.take(BatchInput::Resume {
        changes,
        usage: NOTHING,
    });
    assert_eq!(world.phase("api"), &PlanPhase::Merging);
    assert_eq!(world.batch.plans[0].proof, Some(Proof::Tests));
}

#[test]
fn a_plan_with_unconfirmed_tests_runs_again_if_it_is_named() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    world.end_task(
        "api",
        TaskResult::JobEnded {
            end: UNCONFIRMED,
            calls: 1,
        },
    );
    world.take(alone(&["api"]));
    assert_eq!(world.phase("api"), &PlanPhase::Running);
}

#[test]
fn tests_of_a_merge_that_do_not_count_give_tasks_and_the_evidence_of_one_that_does_is_kept() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    let made = |commit: &str| TaskResult::MergeMade {
        commit: commit.to_owned(),
        onto: "c0".to_owned(),
    };
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", made("c1"));
    world.end_task("api", fewer_tests());
    assert!(matches!(
        &world.batch.plans[0].trouble,
        Some(MergeTrouble::Tests { .. })
    ));
    assert_eq!(world.phase("api"), &PlanPhase::Repairing);
    world.end_task("api", TaskResult::TaskAdded);
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", made("c2"));
    world.end_task("api", passed());
    assert_eq!(world.batch.target_proof, None, "it is not in the target yet");
    world.end_task("api", TaskResult::TargetMoved);
    let proof = world.batch.target_proof.as_ref().map(|merge| merge.proof);
    assert_eq!(proof, Some(Proof::Tests));
    assert_eq!(world.batch.plans[0].proof, Some(Proof::Tests));
}

#[test]
fn files_in_conflict_keep_the_commit_before_the_first_one() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    for branch in ["b1", "b2"] {
        world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
        let refused = TaskResult::MergeRefused {
            trouble: MergeTrouble::Conflict {
                files: vec!["a.test.js".to_owned()],
            },
            onto: "c0".to_owned(),
            branch: branch.to_owned(),
        };
        world.end_task("api", refused);
        world.end_task("api", TaskResult::TaskAdded);
    }
    assert_eq!(world.batch.plans[0].conflicts["a.test.js"].0, "b1");
}
