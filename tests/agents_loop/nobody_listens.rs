//! A model that cannot be reached: a problem of the network, tried again later. codex would wait for it for ever.

use ralph_core::event::{Outcome, ProblemKind};

use super::{PATIENCE, outcomes, ralph};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, say},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(say("Nobody hears this."));
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    drop(model);
    let finished = ralph(agent, &sandbox)
        .args(["--idle-timeout", "8s", "--max-iterations", "1"])
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let ended = outcomes(&finished.records());
    assert!(
        matches!(&ended[..], [Outcome::Failed { problem }] if problem.kind == ProblemKind::Network),
        "{ended:?}\n{}",
        finished.stdout
    );
    sandbox.assert_nothing_runs();
}

// opencode repeats its request for half a minute, in which nothing happens that other tests do not see.
each_agent!(scenario: codex Codex; claude Claude, gemini Gemini, native Native);
