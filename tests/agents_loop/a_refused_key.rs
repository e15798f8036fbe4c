//! A key that is refused ends the run at once, with a hint.

use ralph::event::{ProblemKind, StopReason};

use super::{PATIENCE, ralph, stopped};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{Scenario, StandIn, http},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox).run(PATIENCE);
    let (reason, hints, totals) = stopped(&finished);
    let StopReason::AgentFailed { problem } = reason else {
        panic!("{}", finished.stdout)
    };
    assert_eq!(problem.kind, ProblemKind::Auth, "{problem:?}");
    assert_eq!(totals.iterations, 1, "trying again would fail the same way");
    let check = format!("ralph adapters check {}", agent.adapter());
    assert!(hints.iter().any(|hint| hint.contains(&check)), "{hints:?}");
    assert_eq!(finished.code(), Some(1));
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
