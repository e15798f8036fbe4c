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
fn a_plan_that_asks_is_left_until_it_is_answered_or_named() {
    let reason = StopReason::Blocked {
        question: "which colour?".into(),
    };
    let answered = Resumption {
        answered: vec![name("api")],
        ..Resumption::default()
    };
    let answered = BatchInput::Resume {
        changes: answered,
        usage: NOTHING,
    };
    for input in [answered, alone(&["api"])] {
        let mut world = SimulatedBatch::start(&[("api", &[])], 1);
        world.end_task("api", added("c0"));
        let end = JobEnd::Over { reason: reason.clone() };
        world.end_task("api", TaskResult::JobEnded { end, calls: 1 });
        world.take(RESUME);
        assert!(world.batch.plans[0].is_question());
        assert_eq!(world.batch.end, Some(BatchEnd::Incomplete));
        world.take(input);
        assert_eq!(world.phase("api"), &PlanPhase::Running);
    }
}

#[test]
fn tests_of_a_merge_that_do_not_count_give_tasks_and_the_evidence_of_one_that_does_is_kept() {
    let mut world = SimulatedBatch::start(&[("api", &[])], 1);
    world.end_task("api", added("c0"));
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", made("c1", "c0"));
    world.end_task("api", fewer_tests());
    assert!(matches!(
        &world.batch.plans[0].trouble,
        Some(MergeTrouble::Tests { .. })
    ));
    assert_eq!(world.phase("api"), &PlanPhase::Repairing);
    world.end_task("api", TaskResult::TaskAdded);
    world.end_task("api", TaskResult::JobEnded { end: DONE, calls: 1 });
    world.end_task("api", made("c2", "c0"));
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

/// Returns a batch whose plans have all finished while the first one is being verified.
fn all_finished(names: &[&str]) -> SimulatedBatch {
    let plans: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, &[][..])).collect();
    let mut world = SimulatedBatch::start(&plans, u32::try_from(names.len()).unwrap());
    for plan in names {
        world.end_task(plan, added("c0"));
    }
    for plan in names {
        world.end_task(plan, TaskResult::JobEnded { end: DONE, calls: 1 });
    }
    world
}

/// Answers the tasks of the queue: a merged tree passes unless it has the work of `culprit`. Returns the plans of each
/// tree.
fn merge_all(world: &mut SimulatedBatch, culprit: &str) -> Vec<Vec<String>> {
    let mut trees = Vec::new();
    while let Some((plan, task)) = world.in_flight.first().cloned() {
        let with = world.batch.plan(&plan).unwrap().group.clone();
        let result = match task {
            WorkerTask::Merge => {
                world.commits += 1;
                TaskResult::MergeMade {
                    commit: format!("c{}", world.commits),
                    onto: world.target.clone(),
                    with,
                }
            }
            WorkerTask::CheckGoals { .. } => {
                let tree: Vec<String> = [&plan].into_iter().chain(&with).map(|name| name.0.clone()).collect();
                let fails = tree.iter().any(|name| name == culprit);
                trees.push(tree);
                match fails {
                    true => TaskResult::GoalsFailed {
                        output: "no".to_owned(),
                    },
                    false => passed(),
                }
            }
            WorkerTask::MoveTarget { commit, .. } => {
                world.target = commit;
                TaskResult::TargetMoved
            }
            WorkerTask::RemoveWorkTree => TaskResult::WorkTreeRemoved { kept: None },
            // The culprit is given a task, and cannot do it.
            WorkerTask::GiveTask { .. } => TaskResult::Failed { why: "no".to_owned() },
            WorkerTask::AddWorkTree | WorkerTask::RunJob | WorkerTask::Deliver | WorkerTask::LookAtRequest => {
                unreachable!("{task:?}")
            }
        };
        world.end_task(&plan.0, result);
    }
    trees
}

#[test]
fn plans_that_finish_during_a_merge_are_verified_together() {
    let mut world = all_finished(&["a", "b", "c", "d"]);
    let trees = merge_all(&mut world, "");
    assert_eq!(trees, [vec!["a"], vec!["b", "c", "d"]]);
    assert_eq!(world.batch.end, Some(BatchEnd::Merged));
    let merged_as: Vec<&String> = world.batch.plans.iter().filter_map(BatchPlan::merged_as).collect();
    assert_eq!(merged_as, ["c1", "c2", "c2", "c2"]);
    assert!(world.batch.plans.iter().all(|plan| plan.merge_proof.is_some()));
}

#[test]
fn a_group_that_fails_is_divided_until_the_plan_that_fails_is_found() {
    let mut world = all_finished(&["a", "b", "c", "d", "e"]);
    let trees = merge_all(&mut world, "d");
    let expected = [
        vec!["a"],
        vec!["b", "c", "d", "e"],
        vec!["b", "c"],
        vec!["d"],
        vec!["e"],
    ];
    assert_eq!(trees, expected);
    let failing = world.batch.plan(&name("d")).unwrap();
    assert_eq!(failing.refusals, 1);
    let merged = world.batch.plans.iter().filter(|plan| plan.merged_as().is_some());
    assert_eq!(merged.count(), 4);
}

#[test]
fn plans_are_left_out_of_a_group_that_they_conflict_with_and_come_next() {
    let mut world = all_finished(&["a", "b", "c", "d"]);
    world.end_task("a", made("c1", "c0"));
    world.end_task("a", passed());
    world.end_task("a", TaskResult::TargetMoved);
    assert_eq!(world.batch.plan(&name("b")).unwrap().group, [name("c"), name("d")]);
    assert_eq!(world.batch.merged_with(&name("c")), Some(&name("b")));
    world.end_task(
        "b",
        TaskResult::MergeMade {
            commit: "c2".to_owned(),
            onto: "c1".to_owned(),
            with: vec![name("d")],
        },
    );
    assert_eq!(world.batch.merged_with(&name("c")), None);
    world.end_task("b", passed());
    world.end_task("b", TaskResult::TargetMoved);
    assert_eq!(
        world.phase("d"),
        &PlanPhase::Merged {
            commit: "c2".to_owned()
        }
    );
    assert_eq!(world.phase("c"), &PlanPhase::Merging);
}

#[test]
fn a_plan_that_is_cancelled_while_it_is_verified_with_others_is_left_if_they_fail() {
    for passes in [true, false] {
        let mut world = all_finished(&["a", "b", "c"]);
        world.end_task("a", made("c1", "c0"));
        world.end_task("a", passed());
        world.end_task("a", TaskResult::TargetMoved);
        let with = vec![name("c")];
        let (commit, onto) = ("c2".to_owned(), "c1".to_owned());
        world.end_task("b", TaskResult::MergeMade { commit, onto, with });
        world.take(BatchInput::Cancel { plan: Some(name("c")) });
        assert_eq!(world.phase("c"), &PlanPhase::Finished);
        if passes {
            world.end_task("b", passed());
            world.end_task("b", TaskResult::TargetMoved);
            assert!(matches!(world.phase("c"), PlanPhase::Merged { .. }));
        } else {
            world.end_task(
                "b",
                TaskResult::GoalsFailed {
                    output: "no".to_owned(),
                },
            );
            let why = KeptReason::Cancelled;
            assert_eq!(world.phase("c"), &PlanPhase::Kept { why });
            assert_eq!(world.phase("b"), &PlanPhase::Merging);
        }
    }
}

#[test]
fn a_batch_that_is_resumed_for_one_plan_of_a_group_merges_it_alone() {
    let mut world = all_finished(&["a", "b", "c"]);
    world.end_task("a", made("c1", "c0"));
    world.end_task("a", passed());
    world.end_task("a", TaskResult::TargetMoved);
    world.take(BatchInput::Stop { by: StoppedBy::User });
    world.in_flight.clear();
    world.take(alone(&["c"]));
    assert_eq!(world.phase("b"), &PlanPhase::Finished);
    assert_eq!(world.phase("c"), &PlanPhase::Merging);
    assert!(world.batch.plan(&name("c")).unwrap().group.is_empty());
}
