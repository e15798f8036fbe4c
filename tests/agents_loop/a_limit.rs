//! A model that uses tools without end: a token limit ends the turn that reaches it.

use ralph_core::event::StopReason;

use super::{PATIENCE, ralph, stopped};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, shell},
};

const LIMIT: u64 = 8_000;

fn scenario(agent: Agent) {
    let model = StandIn::start(shell("true"));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let channels: &[&str] = match agent {
        Agent::Claude => &["one-way", "live"],
        _ => &["auto"],
    };
    for channel in channels {
        let before = model.main_request_count();
        let finished = ralph(agent, &sandbox)
            .args(["--max-tokens", &LIMIT.to_string(), "--channel", channel])
            .run(PATIENCE);
        let (reason, _, totals) = stopped(&finished);
        assert_eq!(finished.code(), Some(6), "{channel}: {reason:?}");
        assert!(
            matches!(reason, StopReason::LimitReached { .. }),
            "{channel}: {reason:?}"
        );
        let tokens = totals.usage.tokens().expect("what a cut-off turn used");
        assert!(tokens >= LIMIT, "{channel}: {:?}", totals.usage);
        // The stand-in reports more than a thousand tokens for each request.
        let requests = (model.main_request_count() - before) as u64;
        assert!(requests <= LIMIT / 1_000 + 2, "{channel}: {requests} requests");
        sandbox.assert_nothing_runs();
    }
}

// gemini reports usage only at the end of a turn, as codex does one-way. opencode reports no tokens on its live
// channel.
each_agent!(scenario: claude Claude, native Native; codex Codex, native_messages NativeMessages, opencode Opencode, opencode_server OpencodeServer);
