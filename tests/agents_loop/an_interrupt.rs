//! An interrupt in the middle of a tool call leaves nothing running, wherever the agent started its command. The agent
//! uses ralph's own tools before.

use nix::sys::signal::Signal;
use ralph_core::event::{AgentSignal, CancelReason, Event, Finding, IterationEvent, StopReason};

use super::{
    PATIENCE, assert_background_task_used, assert_own_tools_answered, ralph, signals, stopped, use_a_background_task,
    use_own_tools,
};
use crate::{
    harness::{
        agent::{Agent, each_agent},
        wait_until,
    },
    stand_in::{Scenario, StandIn, say, shell},
};

fn scenario(agent: Agent) {
    // gemini learns of MCP servers only on its live channel (see `live_channel`); pi and cline have none for one run.
    let has_tools = !matches!(agent, Agent::Gemini | Agent::Pi | Agent::Cline);
    let scenario = match has_tools {
        true => use_a_background_task(agent, Scenario::new().then(use_own_tools(agent))),
        false => Scenario::new(),
    };
    let model = StandIn::start(scenario.then(shell("echo begun && sleep 300")).then(say("Slept.")));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let running = ralph(agent, &sandbox).args(["--goal", "g=true"]).start();
    running.wait_for_record(PATIENCE, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
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
    for signal in signals(&finished.records()) {
        if let AgentSignal::Problem { problem } = signal {
            let reason = CancelReason::Stopped;
            assert_eq!(problem.finding, Some(Finding::EndedByRalph { reason }), "{problem:?}");
        }
    }
    if has_tools {
        let requests = model.main_requests();
        assert_own_tools_answered(&requests[1], &finished.records());
        assert_background_task_used(&requests, &finished.records());
    }
}

each_agent!(
    scenario: native Native;
    codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer,
    native_responses NativeResponses, native_messages NativeMessages, copilot Copilot, kilo Kilo, kimi Kimi, pi Pi, cline Cline
);
