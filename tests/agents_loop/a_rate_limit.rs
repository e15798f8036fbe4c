//! A rate limit that soon ends is waited out by the agent, within the iteration.

use ralph::event::Outcome;

use super::{PATIENCE, assert_done, in_order, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, http},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&[http(429).retry_at_once().into()], &work_on("hello")]));
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    plan_one_task(&sandbox);
    let finished = ralph(agent, &sandbox).run(PATIENCE);
    assert_done(&finished, 1, 1);
    assert_eq!(outcomes(&finished.records()), [Outcome::Completed]);
    assert_eq!(model.main_requests().len(), 3);
}

each_agent!(scenario);
