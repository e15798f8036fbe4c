//! A key that is refused ends the run at once, with a hint; also where the agent would ask again and again.

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
    let StopReason::AgentFailed { problem, .. } = reason else {
        panic!("{}", finished.stdout)
    };
    assert_eq!(problem.kind, ProblemKind::Auth, "{problem:?}");
    assert_eq!(totals.iterations, 1, "trying again would fail the same way");
    assert!(hints.iter().any(|hint| hint.contains(login(agent))), "{hints:?}");
    assert_eq!(finished.code(), Some(1));
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);

/// What a person types to log in.
fn login(agent: Agent) -> &'static str {
    match agent {
        Agent::Codex => "`codex login`",
        Agent::Claude => "`/login`",
        Agent::Gemini => "GEMINI_API_KEY",
        Agent::Opencode | Agent::OpencodeServer => "`opencode auth login`",
    }
}

mod again_and_again {
    use super::*;

    /// Left alone, claude asks eleven times within three minutes.
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
        assert_eq!(totals.iterations, 1);
        assert!(hints.iter().any(|hint| hint.contains(login(agent))), "{hints:?}");
        assert_eq!(finished.code(), Some(1));
        let asked = model.main_requests().len();
        assert!(asked <= 4, "it was let ask {asked} times:\n{}", finished.stdout);
        sandbox.assert_nothing_runs();
    }

    each_agent!(scenario: codex Codex, claude Claude);
}
