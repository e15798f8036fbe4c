//! A connection that is cut in the middle of an answer costs a repetition: the agent's own, or another iteration.

use ralph::event::{Outcome, ProblemKind};

use super::{PATIENCE, assert_done, in_order, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, say},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&[say("I was about to").cut().into()], &work_on("hello")]));
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    plan_one_task(&sandbox);
    let finished = ralph(agent, &sandbox).run(PATIENCE);
    let ends = outcomes(&finished.records());
    if agent == Agent::Gemini {
        // It does not ask again once it has read the first words.
        assert_done(&finished, 1, 2);
        assert!(
            matches!(&ends[0], Outcome::Failed { problem } if problem.kind == ProblemKind::Network),
            "{ends:?}"
        );
    } else {
        assert_done(&finished, 1, 1);
    }
    assert_eq!(ends.last(), Some(&Outcome::Completed));
    let requests = model.main_requests();
    assert_eq!(requests.len(), 3);
    if agent == Agent::Claude {
        assert_ne!(
            requests[1].body["stream"], true,
            "it asks again for an answer in one piece"
        );
    }
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
