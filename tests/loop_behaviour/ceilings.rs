//! Limits on what the processes of an agent, a goal or a background task use together.

use ralph_core::event::{Event, GateEvent, GoalFailure, Outcome, ProblemKind};

use super::outcomes;
use crate::harness::{SOON, Sandbox, Script, events};

/// Takes 400 MB, in a child of a child, and waits.
const HOG: &str = "sh -c 'head -c 400000000 /dev/zero | tail | sleep 1000'";

fn limited(sandbox: &Sandbox, limit: &str) -> crate::harness::Program {
    let (name, value) = limit.split_once('=').expect("a variable");
    sandbox.looping(["--sandbox", "off"]).env(name, value)
}

#[test]
fn an_agent_that_takes_too_much_memory_dies_alone_and_the_next_one_is_told() {
    let sandbox = Sandbox::new();
    let agent = format!("if [ \"$n\" = 1 ]; then {HOG}; fi; work; over done");
    sandbox.install(&Script::jsonl(&agent));
    sandbox.plan(1);
    let neighbour = sandbox.program("sleep").arg("1000").start();
    let finished = limited(&sandbox, "RALPH_LIMITS_MEMORY=150MiB").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let Outcome::Failed { problem } = outcomes(&records)[0] else {
        panic!("{:?}", outcomes(&records));
    };
    assert_eq!(problem.kind, ProblemKind::TooLarge, "{problem:?}");
    assert!(
        problem.text.contains("more than 150 MiB (`limits.memory`): tail "),
        "{problem:?}"
    );
    let prompt = sandbox.prompt(2);
    let told = prompt
        .lines()
        .find(|line| line.contains("All processes of the last session were killed"));
    assert!(told.is_some_and(|line| line.contains("tail")), "{prompt}");
    assert_eq!(outcomes(&records)[1..], [&Outcome::Completed]);
    drop(neighbour);
}

#[test]
fn an_agent_with_too_many_processes_is_ended() {
    let sandbox = Sandbox::new();
    let agent = "if [ \"$n\" = 1 ]; then for i in $(seq 60); do sleep 1000 & done; wait; fi; work; over done";
    sandbox.install(&Script::jsonl(agent));
    sandbox.plan(1);
    let finished = limited(&sandbox, "RALPH_LIMITS_PROCESSES=40").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let Outcome::Failed { problem } = outcomes(&records)[0] else {
        panic!("{:?}", outcomes(&records));
    };
    assert!(
        problem.text.contains("more than 40 (`limits.processes`)"),
        "{problem:?}"
    );
}

#[test]
fn a_goal_that_takes_too_much_memory_fails_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("work; over done"));
    sandbox.plan(1);
    let goal = format!("tests=test -e ok || {{ touch ok; {HOG}; }}");
    let finished = limited(&sandbox, "RALPH_LIMITS_MEMORY=150MiB")
        .args(["--goal", &goal])
        .run(SOON);
    let records = finished.records();
    let failures: Vec<&GoalFailure> = events(&records)
        .filter_map(|event| match event {
            Event::Gate(GateEvent::GoalChecked { result, .. }) => result.why.as_ref(),
            _ => None,
        })
        .collect();
    assert!(
        matches!(failures[..], [GoalFailure::Exceeded { .. }, ..]),
        "{failures:?} {finished:?}"
    );
}
