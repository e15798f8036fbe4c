//! `ralph adapters check ID`: one turn of the agent with its user's own model.

use std::time::Duration;

use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
        running::Finished,
        write_program,
    },
    stand_in::{StandIn, say},
};

const PATIENCE: Duration = Duration::from_secs(150);

/// The line `turn` of a check, and the whole output for messages.
fn checked(sandbox: &Sandbox, args: &[&str]) -> (Option<String>, Finished) {
    let finished = sandbox.ralph(["adapters", "check"]).args(args).run(PATIENCE);
    let mut lines = finished.stdout.lines();
    let turn = lines.find_map(|line| line.strip_prefix("  turn     "));
    (turn.map(str::to_owned), finished)
}

each_agent!(
    a_check_asks_the_users_model_once: native Native;
    codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer, copilot Copilot,
    kilo Kilo, kimi Kimi, pi Pi, cline Cline
);

fn a_check_asks_the_users_model_once(agent: Agent) {
    let model = StandIn::start(say("the-check-works"));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let (turn, finished) = checked(&sandbox, &[agent.adapter()]);
    assert!(
        turn.is_some_and(|turn| turn.starts_with("works: answered after ")),
        "{finished:?}"
    );
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(model.main_request_count() >= 1, "{finished:?}");
    sandbox.assert_clean();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_check_of_all_adapters_asks_no_model() {
    let sandbox = Sandbox::new();
    let (turn, finished) = checked(&sandbox, &[]);
    assert_eq!(turn, None, "{finished:?}");
    assert!(finished.stdout.contains("\nnative: "), "{finished:?}");
    let (turn, finished) = checked(&sandbox, &["demo"]);
    assert_eq!((turn, finished.code()), (None, Some(0)), "it has no model");
}

#[test]
fn a_check_says_why_an_agent_does_not_work() {
    let sandbox = Sandbox::new();
    let check = |script: &str| {
        write_program(&sandbox.project().join("agent.sh"), &format!("#!/bin/sh\n{script}\n"));
        sandbox.install_adapter(
            "mine",
            "dialect = \"terminal\"\n[command]\nprogram = \"./agent.sh\"\nargs = []\nprompt = \"stdin\"\n\
             [sandbox]\nwrite = [\"~/.mine\"]\n",
        );
        checked(&sandbox, &["mine"])
    };
    let (turn, finished) = check("echo 'Error: no such option' >&2; exit 2");
    assert!(
        turn.is_some_and(|turn| turn.starts_with("does not work: ") && turn.contains("no such option")),
        "{finished:?}"
    );
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    let (turn, finished) = check("echo 'Good morning.'");
    assert!(
        turn.is_some_and(|turn| turn.starts_with("does not work: it succeeded without the answer")),
        "{finished:?}"
    );
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    let (turn, finished) = check("mkdir -p ~/.mine; pwd >~/.mine/where; cat");
    assert!(turn.is_some_and(|turn| turn.starts_with("works: ")), "{finished:?}");
    let place = sandbox.read_home(".mine/where").expect("what the turn wrote");
    assert_ne!(
        place.trim(),
        sandbox.project().to_string_lossy(),
        "a directory of its own"
    );
    sandbox.assert_nothing_runs();
}
