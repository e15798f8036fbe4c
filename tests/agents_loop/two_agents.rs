//! Two tasks, each for a different agent.

use ralph_core::event::{Event, IterationEvent};

use super::{PATIENCE, assert_done, in_order, ralph, work_on};
use crate::{
    harness::{agent::Agent, events},
    stand_in::StandIn,
};

#[test]
fn each_of_two_real_agents_works_on_the_task_that_asks_for_it() {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(mut sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    if Agent::Claude.join(&mut sandbox, &model, 0).is_none() {
        return;
    }
    sandbox.write(
        "PLAN.md",
        "- [ ] Write hello.txt {adapter=claude model=opus}\n- [ ] Write world.txt\n",
    );
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan for two"]);
    let finished = ralph(Agent::Codex, &sandbox).run(PATIENCE);
    assert_done(&finished, 2, 2);
    let records = finished.records();
    let worked = events(&records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started {
            adapter, model, task, ..
        }) => Some((adapter.as_str(), model.as_deref(), task.as_deref())),
        _ => None,
    });
    assert_eq!(
        worked.collect::<Vec<_>>(),
        [
            ("claude", Some("opus"), Some("Write hello.txt")),
            ("codex", None, Some("Write world.txt"))
        ]
    );
    let plan = sandbox.read("PLAN.md").unwrap_or_default();
    assert!(
        plan.starts_with("- [x] Write hello.txt {adapter=claude model=opus}\n"),
        "{plan}"
    );
    sandbox.assert_nothing_runs();
}
