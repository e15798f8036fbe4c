//! A model that says nothing is given up after the idle limit, whatever the agent thinks of it.

use ralph::event::{CancelReason, Outcome};

use super::{PATIENCE, assert_done, in_order, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, silence},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&[silence()], &work_on("hello")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let finished = ralph(agent, &sandbox).args(["--idle-timeout", "3s"]).run(PATIENCE);
    assert_done(&finished, 1, 2);
    let reason = CancelReason::IdleTimeout;
    assert_eq!(
        outcomes(&finished.records()),
        [Outcome::Cancelled { reason }, Outcome::Completed]
    );
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
