//! The agent that `docs/guide/adapters.md` adds as an example, with only the file given there.

use nix::sys::signal::Signal;
use ralph_core::event::{AgentSignal, Event, IterationEvent, ProblemKind, StopReason};

use super::{PATIENCE, assert_done, in_order, signals, stopped, work_on};
use crate::{
    harness::{Program, Sandbox, agents, wait_until},
    stand_in::{Scenario, StandIn, http, say, shell},
};

const README: &str = include_str!("../../docs/guide/adapters.md");

/// A sandbox with the agent, which uses `model`, and with its adapter; `None` if the agent cannot be installed.
fn sandbox(model: &StandIn) -> Option<Sandbox> {
    let program = agents::example("qwen")?;
    let mut sandbox = Sandbox::new();
    sandbox.add_agent(&program);
    sandbox.install_adapter("qwen", adapter());
    for (name, value) in [
        ("OPENAI_API_KEY", "sk-stand-in".to_owned()),
        ("OPENAI_BASE_URL", model.base_url()),
        ("OPENAI_MODEL", "stand-in".to_owned()),
        // The agent would use a proxy even for addresses of this machine.
        ("HTTP_PROXY", String::new()),
        ("HTTPS_PROXY", String::new()),
    ] {
        sandbox.set_variable(name, value);
    }
    Some(sandbox)
}

/// The TOML block of the page, which begins with the name of its file.
fn adapter() -> &'static str {
    let (_, rest) = README
        .split_once("```toml\n# ~/.config/ralph/adapters/qwen.toml\n")
        .expect("the example");
    rest.split_once("```").expect("the end of the example").0
}

fn ralph(sandbox: &Sandbox) -> Program {
    sandbox
        .ralph(["--adapter", "qwen", "--headless", "--format", "jsonl"])
        .env("RALPH_BACKOFF_BASE", "10ms")
}

#[test]
fn works_off_a_plan_in_a_session_that_is_continued() {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = sandbox(&model) else { return };
    let finished = ralph(&sandbox).args(["--session", "resume"]).run(PATIENCE);
    assert_done(&finished, 2, 2);
    assert_eq!(sandbox.commits(), 3, "one commit for each task");
    sandbox.assert_nothing_runs();
    let records = finished.records();
    let told = signals(&records);
    let sessions: Vec<_> = told
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::Opened { session, .. } => session.as_ref(),
            _ => None,
        })
        .collect();
    assert!(
        sessions.len() >= 2 && sessions.iter().all(|id| *id == sessions[0]),
        "{told:#?}"
    );
    let unknown: Vec<_> = told
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Unknown { .. }))
        .collect();
    assert!(unknown.is_empty(), "it speaks the dialect: {unknown:#?}");
    let requests = model.main_requests();
    let remembers = |text: &String| text.contains("Write hello.txt");
    assert!(
        requests[2].user_texts.iter().any(remembers),
        "{:#?}",
        requests[2].user_texts
    );
    let one = model.main_request_count() as u64;
    assert_eq!(one, 4);
    let used = stopped(&finished).2.usage.output_tokens;
    assert_eq!(used, Some(one * 50), "every turn is counted once: {}", finished.stdout);
}

#[test]
#[ignore = "part of the full matrix"]
fn a_key_that_is_refused_ends_the_run() {
    let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
    let Some(sandbox) = sandbox(&model) else { return };
    let finished = ralph(&sandbox).run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::Auth),
        "{reason:?}"
    );
    assert_eq!(totals.iterations, 1);
}

#[test]
#[ignore = "part of the full matrix"]
fn an_interrupt_leaves_nothing_running() {
    // The agent refuses to run a command that only sleeps.
    let model = StandIn::start(
        Scenario::new()
            .then(shell("echo begun && sleep 300"))
            .then(say("Slept.")),
    );
    let Some(sandbox) = sandbox(&model) else { return };
    let running = ralph(&sandbox).start();
    running.wait_for_record(PATIENCE, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let sleeps = || {
        let processes = sandbox.processes().into_iter();
        processes.into_iter().find(|process| process.command == "sleep 300")
    };
    wait_until(PATIENCE, "tool call", sleeps);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(PATIENCE).code(), Some(130));
    sandbox.assert_nothing_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn is_looked_at_by_adapters_check() {
    let model = StandIn::start(say("the-check-works"));
    let Some(sandbox) = sandbox(&model) else { return };
    let checked = sandbox.ralph(["adapters", "check", "qwen"]).run(PATIENCE);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    assert!(
        checked.stdout.contains("with this version") && checked.stdout.contains("OPENAI_API_KEY is set"),
        "{checked:?}"
    );
}
