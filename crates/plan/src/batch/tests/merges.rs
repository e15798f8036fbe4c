//! Merges that are refused because of tests, and plans whose changed tests wait for the user.

use super::*;

#[test]
fn changed_tests_that_are_not_confirmed_leave_a_plan_until_they_are() {
    let mut world = World::start(&[("api", &[])], 1);
    world.find("api", added("c0"));
    let ended = |end| Finding::JobEnded { end, calls: 1 };
    world.find("api", ended(UNCONFIRMED));
    assert!(matches!(world.phase("api"), Phase::Kept { why } if why.is_unconfirmed()));
    assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
    // Another run would treat the changed tests as the ones that count.
    world.take(RESUME);
    assert!(matches!(world.phase("api"), Phase::Kept { .. }));
    let changes = Resumption {
        confirmed: vec![name("api")],
        ..Resumption::default()
    };
    world.take(Input::Resume {
        changes,
        usage: NOTHING,
    });
    assert_eq!(world.phase("api"), &Phase::Merging);
    assert_eq!(world.batch.plans[0].proof, Some(Proof::Tests));
}

#[test]
fn a_plan_with_unconfirmed_tests_runs_again_if_it_is_named() {
    let mut world = World::start(&[("api", &[])], 1);
    world.find("api", added("c0"));
    world.find(
        "api",
        Finding::JobEnded {
            end: UNCONFIRMED,
            calls: 1,
        },
    );
    world.take(alone(&["api"]));
    assert_eq!(world.phase("api"), &Phase::Running);
}

#[test]
fn tests_of_a_merge_that_do_not_count_give_tasks_and_the_evidence_of_one_that_does_is_kept() {
    let mut world = World::start(&[("api", &[])], 1);
    world.find("api", added("c0"));
    let made = |commit: &str| Finding::MergeMade {
        commit: commit.to_owned(),
        onto: "c0".to_owned(),
    };
    world.find("api", Finding::JobEnded { end: DONE, calls: 1 });
    world.find("api", made("c1"));
    world.find("api", fewer_tests());
    assert!(matches!(&world.batch.plans[0].trouble, Some(Trouble::Tests { .. })));
    assert_eq!(world.phase("api"), &Phase::Repairing);
    world.find("api", Finding::TaskAdded);
    world.find("api", Finding::JobEnded { end: DONE, calls: 1 });
    world.find("api", made("c2"));
    world.find("api", passed());
    assert_eq!(world.batch.target_proof, None, "it is not in the target yet");
    world.find("api", Finding::TargetMoved);
    let proof = world.batch.target_proof.as_ref().map(|merge| merge.proof);
    assert_eq!(proof, Some(Proof::Tests));
    assert_eq!(world.batch.plans[0].proof, Some(Proof::Tests));
}

#[test]
fn files_in_conflict_keep_the_commit_before_the_first_one() {
    let mut world = World::start(&[("api", &[])], 1);
    world.find("api", added("c0"));
    for branch in ["b1", "b2"] {
        world.find("api", Finding::JobEnded { end: DONE, calls: 1 });
        let refused = Finding::MergeRefused {
            trouble: Trouble::Conflict {
                files: vec!["a.test.js".to_owned()],
            },
            onto: "c0".to_owned(),
            branch: branch.to_owned(),
        };
        world.find("api", refused);
        world.find("api", Finding::TaskAdded);
    }
    assert_eq!(world.batch.plans[0].conflicts["a.test.js"].0, "b1");
}
