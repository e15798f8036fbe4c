//! Behaviour that does not depend on the agent, tested with one of them: output, counts and retries.

use ralph_core::event::{Changes, Event, IterationEvent, Outcome};
use ralph_state::store::journal;
use ralph_system::paths::ProjectPaths;

use super::{in_order, ralph, work_on};
use crate::{
    harness::{SOON, agent::Agent},
    stand_in::{Scenario, StandIn, http},
};

fn two_tasks() -> Scenario {
    in_order([&work_on("hello"), &work_on("world")])
}

#[test]
fn what_is_printed_is_the_journal() {
    let model = StandIn::start(two_tasks());
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(Agent::Codex, &sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let records = finished.records();
    let paths = ProjectPaths::new(&sandbox.project(), Some(&sandbox.state().join("ralph"))).unwrap();
    let (journalled, _) = journal::read(&paths.run(&paths.latest_run().expect("a run")).journal()).unwrap();
    assert_eq!(
        records, journalled,
        "stdout has the records of the journal and nothing else"
    );
}

#[test]
fn people_read_what_codex_did_and_what_came_of_it() {
    let model = StandIn::start(two_tasks());
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let finished = sandbox.ralph(["--adapter", "codex", "--headless"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    for expected in [
        "iteration 1: Write hello.txt",
        "Wrote hello.txt.",
        "ralph: done (not verified)",
        "2 of 2 tasks done",
    ] {
        assert!(
            finished.stdout.contains(expected),
            "`{expected}` is missing in:\n{}",
            finished.stdout
        );
    }
    assert!(
        !finished.stdout.contains('\u{1b}'),
        "no escape sequences without a terminal"
    );
}

#[test]
fn an_overloaded_model_is_tried_again_later() {
    let model = StandIn::start(in_order([&[http(500).into()], &work_on("hello"), &work_on("world")]));
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(Agent::Codex, &sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let records = finished.records();
    let failed = records.iter().any(|record| {
        matches!(
            &record.event,
            Event::Iteration(IterationEvent::Ended {
                outcome: Outcome::Failed { .. },
                iteration: 1,
                ..
            })
        )
    });
    assert!(failed, "{}", finished.stdout);
    assert_eq!(sandbox.commits(), 3);
}

#[test]
fn statistics_are_those_of_git() {
    let model = StandIn::start(two_tasks());
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(Agent::Codex, &sandbox).run(SOON);
    let changes: Vec<Changes> = finished
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            Event::Iteration(IterationEvent::Settled { changes, progress, .. }) => {
                assert_eq!(*progress, Some(true));
                *changes
            }
            _ => None,
        })
        .collect();
    // One line of a new file, and one replaced line of the plan.
    let each = Changes {
        commits: 1,
        files: 2,
        added: 2,
        removed: 1,
    };
    assert_eq!(changes, [each, each]);
    let refs = sandbox.store_git(["for-each-ref", "--format=%(refname)", "refs/ralph/"]);
    let is_checkpoint = |name: &&str| !name.contains("/heads/") && !name.ends_with("/settings");
    assert_eq!(refs.lines().filter(is_checkpoint).count(), 4, "{refs}");
}
