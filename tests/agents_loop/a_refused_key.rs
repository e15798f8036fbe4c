//! A refused key ends the run even if the agent would retry for long.

use ralph_core::event::{ProblemKind, StopReason};

use super::{PATIENCE, a_failing_server::login, ralph, stopped};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{Scenario, StandIn, http},
};

/// On its own, claude retries eleven times within three minutes.
fn scenario(agent: Agent) {
    let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
    let Some(sandbox) = agent.sandbox(&model, 10) else {
        return;
    };
    let finished = ralph(agent, &sandbox).run(PATIENCE);
    let (reason, hints, totals) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::Auth),
        "{reason:?}"
    );
    assert_eq!(totals.iterations, 1, "{}", finished.stdout);
    assert!(hints.iter().any(|hint| hint.contains(login(agent))), "{hints:?}");
    assert_eq!(finished.code(), Some(1));
    let asked = model.main_request_count();
    assert!(asked <= 4, "it was let ask {asked} times:\n{}", finished.stdout);
    sandbox.assert_nothing_runs();
}

each_agent!(scenario: codex Codex, claude Claude; native Native, native_responses NativeResponses, native_messages NativeMessages, copilot Copilot, kilo Kilo, kimi Kimi, pi Pi, cline Cline);
