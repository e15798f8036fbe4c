//! An unreachable model is a network problem and tried again later. codex would wait for it for ever.

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

// opencode retries for half a minute, and shows nothing then that other tests do not cover.
each_agent!(scenario: codex Codex; claude Claude, gemini Gemini, native Native);
