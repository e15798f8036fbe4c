//! An agent would sleep through a limit of an hour: another one works meanwhile, long before the idle limit.

use ralph_core::event::{Event, IterationEvent};

use super::{PATIENCE, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::{
        agent::{Agent, each_agent},
        events,
    },
    stand_in::{Scenario, StandIn, http},
};

fn scenario(agent: Agent) {
    let limited = http(429).header("retry-after", "3600");
    let worked = work_on("hello").into_iter();
    let model = StandIn::start(worked.fold(Scenario::from(limited), Scenario::then));
    let Some(mut sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    if Agent::Claude.join(&mut sandbox, &model, 0).is_none() {
        return;
    }
    plan_one_task(&sandbox);
    let finished = ralph(agent, &sandbox)
        .env("RALPH_FALLBACK", "claude")
        .args(["--idle-timeout", "1h"])
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let adapters = events(&records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { adapter, .. }) => Some(adapter.as_str()),
        _ => None,
    });
    assert_eq!(adapters.collect::<Vec<_>>(), [agent.adapter(), "claude"]);
    let ended = outcomes(&records);
    assert!(ended[0].was_limited(), "{ended:?}");
    sandbox.assert_nothing_runs();
}

each_agent!(scenario: codex Codex, opencode Opencode; opencode_server OpencodeServer);
