//! The real codex alone against the stand-in model server: its own behaviour that the other tests rely on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    harness::{Program, SOON, Sandbox, agents, running::Finished, wait_until},
    stand_in::{ExchangeOutcome, Scenario, StandIn, Step, answer, decide, drop_connection, http, say, shell, silence},
};

/// How often codex retries a failed request, unless a test is about retries.
const NO_RETRY: u32 = 0;

#[test]
#[ignore = "part of the full matrix"]
fn codex_fails_its_turn_when_the_key_is_refused() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(http(401));
    sandbox.connect_codex(&model, NO_RETRY);
    let finished = ask(&sandbox, codex, "Anything.");
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let failure = last_event(&finished);
    assert_eq!(failure["type"], "turn.failed");
    assert!(
        failure["error"]["message"]
            .as_str()
            .unwrap()
            .contains("401 Unauthorized"),
        "{failure}"
    );
    assert_eq!(model.main_request_count(), 1);
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_waits_out_two_rate_limits() {
    let Some((sandbox, codex)) = codex() else { return };
    let limited = || http(429).header("retry-after", "0");
    let model = StandIn::start(Scenario::new().then(limited()).then(limited()).then(say("At last.")));
    sandbox.connect_codex(&model, 5);
    let finished = ask(&sandbox, codex, "Anything.");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("At last."), "{finished:?}");
    assert_eq!(model.main_request_count(), 3);
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_waits_for_ever_on_a_silent_server() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(silence());
    sandbox.connect_codex(&model, NO_RETRY);
    let running = start(&sandbox, codex, "Anything.").start();
    model.wait_for_request(1, SOON);
    assert_eq!(model.exchanges()[0].outcome, None);
    // The launcher dies and leaves the native codex; the sandbox finds both.
    drop(running);
    drop(sandbox);
    model.wait_for(SOON, "client that goes", |exchanges| {
        exchanges
            .iter()
            .any(|exchange| exchange.outcome == Some(ExchangeOutcome::ClientGone))
            .then_some(())
    });
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_repeats_a_request_whose_answer_was_cut() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(
        Scenario::new()
            .then(say("Cut h").cut())
            .then(drop_connection())
            .then(say("Whole.")),
    );
    sandbox.connect_codex(&model, 5);
    let finished = ask(&sandbox, codex, "Anything.");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("Whole."), "{finished:?}");
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_fails_its_turn_when_the_stream_reports_an_error() {
    let Some((sandbox, codex)) = codex() else { return };
    let overflow = answer().error("context_length_exceeded", "too much (stand-in)");
    let model = StandIn::start(overflow);
    sandbox.connect_codex(&model, NO_RETRY);
    let finished = ask(&sandbox, codex, "Anything.");
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("ran out of room"), "{finished:?}");
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_takes_words_that_come_slowly_and_late() {
    let Some((sandbox, codex)) = codex() else { return };
    let word = Duration::from_millis(1);
    let model = StandIn::start(Step::from(say("one two three").drip(word)).after(word));
    sandbox.connect_codex(&model, NO_RETRY);
    let finished = ask(&sandbox, codex, "Count.");
    assert!(finished.stdout.contains("one two three"), "{finished:?}");
}

#[test]
#[ignore = "part of the full matrix"]
fn a_step_may_depend_on_the_prompt() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(
        Scenario::new()
            .then(decide(|request| {
                shell(&format!("echo '{}' > asked.txt", request.prompt()))
            }))
            .then(say("Done.")),
    );
    sandbox.connect_codex(&model, NO_RETRY);
    ask(&sandbox, codex, "Which prompt?");
    assert_eq!(sandbox.read("asked.txt").as_deref(), Some("Which prompt?\n"));
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_tells_the_model_of_a_tool_that_is_not_there() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(
        Scenario::new()
            .then(answer().call("teleport", json!({})))
            .then(say("Done.")),
    );
    sandbox.connect_codex(&model, NO_RETRY);
    ask(&sandbox, codex, "Anything.");
    let results = model.main_requests().pop().unwrap().tool_results;
    assert!(results[0].contains("teleport"), "{results:?}");
}

#[test]
#[ignore = "part of the full matrix"]
fn a_command_of_codex_that_outlives_it_is_found_in_the_sandbox() {
    let Some((sandbox, codex)) = codex() else { return };
    let model = StandIn::start(shell("exec sleep 600"));
    sandbox.connect_codex(&model, NO_RETRY);
    let _running = start(&sandbox, codex, "Anything.").start();
    wait_until(SOON, "codex's command", || {
        sandbox
            .processes()
            .into_iter()
            .find(|process| process.command == "sleep 600")
    });
}

/// A sandbox and the installed codex; `None` if codex is not installed.
fn codex() -> Option<(Sandbox, Program)> {
    let path = agents::codex()?;
    let sandbox = Sandbox::new();
    let program = sandbox.program(path);
    Some((sandbox, program))
}

fn start(sandbox: &Sandbox, codex: Program, prompt: &str) -> Program {
    let file = sandbox.home().join("prompt.txt");
    std::fs::write(&file, prompt).unwrap();
    codex
        .args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"])
        .stdin_from(&file)
}

fn ask(sandbox: &Sandbox, codex: Program, prompt: &str) -> Finished {
    start(sandbox, codex, prompt).run(SOON)
}

fn last_event(finished: &Finished) -> Value {
    serde_json::from_str(finished.stdout.lines().last().expect("some output")).expect("an event")
}
