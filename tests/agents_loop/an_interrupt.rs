//! An interrupt in the middle of a tool call leaves nothing running, wherever the agent put its command.

use nix::sys::signal::Signal;
use ralph::event::{Event, StopReason};

use super::{PATIENCE, ralph, stopped};
use crate::{
    harness::{
        agent::{Agent, each_agent},
        wait_until,
    },
    stand_in::{Scenario, StandIn, say, shell},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(Scenario::new().then(shell("sleep 300")).then(say("Slept.")));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let running = ralph(agent, &sandbox).start();
    running.wait_for_record(PATIENCE, |event| matches!(event, Event::IterationStarted { .. }));
    wait_until(PATIENCE, "tool call", || {
        sandbox
            .processes()
            .into_iter()
            .find(|process| process.command == "sleep 300")
    });
    running.signal(Signal::SIGINT);
    let finished = running.wait(PATIENCE);
    let (reason, _, _) = stopped(&finished);
    assert_eq!(reason, StopReason::Interrupted);
    assert_eq!(finished.code(), Some(130), "{}", finished.stderr);
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
