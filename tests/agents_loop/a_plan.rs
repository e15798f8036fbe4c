//! A plan of two tasks is completed in the sandbox, each task in a session of its own.

use ralph_core::event::AgentSignal;

use super::{PATIENCE, assert_done, in_order, ralph, signals, stopped, work_on};
use crate::{
    confinement::can_be_strict,
    harness::agent::{Agent, each_agent},
    stand_in::StandIn,
};

fn scenario(agent: Agent) {
    on_channel(agent, "auto");
}

fn on_channel(agent: Agent, channel: &str) {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = agent.sandbox_as_installed(&model, 0) else {
        return;
    };
    // The strict sandbox is used only if the kernel supports it; elsewhere it would not start.
    let strict = can_be_strict(&sandbox);
    let host = model.origin().replace("http://", "");
    let finished = ralph(agent, &sandbox)
        .args(["--channel", channel, "--sandbox", if strict { "strict" } else { "on" }])
        .env("RALPH_SANDBOX_HOSTS", host)
        .run(PATIENCE);
    assert_done(&finished, 2, 2);
    assert_eq!(sandbox.commits(), 3, "one commit for each task");
    sandbox.assert_clean();
    assert_eq!(sandbox.read("hello.txt").as_deref(), Some("hello\n"));
    assert_eq!(sandbox.read("world.txt").as_deref(), Some("world\n"));
    sandbox.assert_nothing_runs();

    let requests = model.main_requests();
    assert_eq!(requests.len(), 4);
    assert!(
        requests[0].prompt().contains("Write hello.txt"),
        "{}",
        requests[0].prompt()
    );
    assert!(
        requests[2].prompt().contains("Write world.txt"),
        "{}",
        requests[2].prompt()
    );
    let told = signals(&finished.records());
    let said = |wanted: &str| {
        told.iter()
            .any(|signal| matches!(signal, AgentSignal::Said { text } if text == wanted))
    };
    assert!(said("Wrote hello.txt.") && said("Wrote world.txt."), "{told:#?}");
    let calls = |ended: &&AgentSignal| matches!(ended, AgentSignal::ToolEnded { ok: true, .. });
    assert_eq!(told.iter().filter(calls).count(), 2, "{told:#?}");

    // An agent of another version may tell of more: what a dialect does not know is named here.
    let unknown = |signal: &&AgentSignal| matches!(signal, AgentSignal::Unknown { text, .. } if text.starts_with("unknown event"));
    assert_eq!(
        told.iter().filter(unknown).collect::<Vec<_>>(),
        Vec::<&AgentSignal>::new()
    );

    let (_, _, totals) = stopped(&finished);
    if !agent.tells_tokens() {
        assert_eq!(totals.usage.input_tokens, None);
        return;
    }
    assert!(totals.usage.input_tokens >= Some(4_000), "{:?}", totals.usage);
    assert!(totals.usage.output_tokens >= Some(200), "{:?}", totals.usage);
    assert!(totals.usage.cost_usd > Some(0.0), "{:?}", totals.usage);
    // The settings have prices for agents that report no cost.
    assert_eq!(totals.usage.estimated, !agent.tells_cost(), "{:?}", totals.usage);
}

// Every agent completes a plan for each change.
each_agent!(
    scenario: codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer, native Native,
              native_responses NativeResponses, native_messages NativeMessages;
    copilot Copilot, kilo Kilo, kimi Kimi, pi Pi, cline Cline
);

#[test]
#[ignore = "part of the full matrix"]
fn pi_on_its_live_channel() {
    on_channel(Agent::Pi, "live");
}
