//! A model that uses tools without end: a limit on tokens or on cost ends the turn that reaches it.

use ralph_core::event::{LimitKind, StopReason};

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

/// The limit on cost of an agent that reports tokens only, with prices of one dollar for a million tokens of input and
/// two of output.
const LIMIT_USD: f64 = 0.008;

fn bounded_cost(agent: Agent) {
    let model = StandIn::start(shell("true"));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox)
        .args(["--max-cost-usd", &LIMIT_USD.to_string()])
        .run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    assert_eq!(finished.code(), Some(6), "{reason:?}");
    let limit = LimitKind::MaxCost;
    assert!(
        matches!(&reason, StopReason::LimitReached { limit: reached } if *reached == limit),
        "{reason:?}"
    );
    let usage = totals.usage;
    assert!(usage.cost_usd >= Some(LIMIT_USD) && usage.estimated, "{usage:?}");
    // The stand-in reports more than a thousand tokens for each request.
    let requests = model.main_request_count();
    assert!(requests <= 10, "{requests} requests");
    let report = sandbox.ralph(["report"]).run(PATIENCE);
    assert!(report.stdout.contains("≈$0.0"), "{report:?}");
    sandbox.assert_nothing_runs();
}

// gemini reports usage only at the end of a turn, as codex does one-way. opencode reports no tokens on its live
// channel.
each_agent!(scenario: claude Claude, native Native; codex Codex, native_responses NativeResponses, native_messages NativeMessages, opencode Opencode, opencode_server OpencodeServer, kilo Kilo, pi Pi, cline Cline);

each_agent!(bounded_cost: codex_by_prices Codex, native_by_prices Native);
