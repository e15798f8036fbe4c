//! `ralph.log`: its content, what it must never contain, and where ralph mentions it.

use std::{fs, os::unix::fs::PermissionsExt};

use ralph_core::event::{Event, IterationEvent, TimeEvent};

use crate::harness::{SOON, Sandbox, Script, wait_until};

fn log_of(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.the_run().log()).expect("a log")
}

#[test]
fn a_run_logs_its_phases_and_agents_in_a_private_file() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let log = log_of(&sandbox);
    for wanted in [
        "ralph started",
        "phase=Running iteration=1",
        "agent started adapter=\"script\"",
        "agent ended",
        "run ended reason=Done code=0",
    ] {
        assert!(log.contains(wanted), "no {wanted} in {log}");
    }
    assert!(log.lines().count() < 40, "info is to be little: {log}");
    assert!(
        !log.contains("DEBUG") && finished.stderr.is_empty(),
        "{}",
        finished.stderr
    );
    let mode = fs::metadata(sandbox.the_run().log()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_verbose_run_without_a_screen_logs_helpers_and_effects_to_stderr_as_well() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let finished = sandbox.looping(["--verbose"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let log = log_of(&sandbox);
    for wanted in [
        "effect=StartSession",
        "git{command=",
        "helper ended program=",
        "/git\"",
        "input=Settled",
    ] {
        assert!(log.contains(wanted), "no {wanted} in {log}");
        assert!(finished.stderr.contains(wanted), "no {wanted} in {}", finished.stderr);
    }
}

#[test]
fn no_log_holds_a_key_a_prompt_a_message_or_what_an_agent_or_a_goal_prints() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.set_variable("ANTHROPIC_API_KEY", "canary-key");
    sandbox.set_variable("SOME_TOKEN", "canary-token");
    let answer = "said canary-answer; echo canary-stderr >&2; work; over canary-last-word";
    sandbox.install(&Script::jsonl(answer));
    sandbox.write(".ralph-pause", "");
    let running = sandbox
        .looping(["--prompt", "canary-prompt {task}", "--goal", "tests=echo canary-goal"])
        .env("RALPH_LOG", "trace")
        .start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Time(TimeEvent::Paused { .. })));
    let steered = sandbox.ralph(["steer", "canary-message"]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{steered:?}");
    fs::remove_file(sandbox.project().join(".ralph-pause")).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(sandbox.prompt(1).contains("canary-message"), "{}", sandbox.prompt(1));
    let log = log_of(&sandbox);
    assert!(log.contains("TRACE") && log.contains("goal started"), "{log}");
    assert!(!log.contains("canary"), "{log}");
}

#[test]
fn a_run_that_ends_badly_names_its_log_and_one_that_ends_well_does_not() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("failed '{\"kind\":\"auth\"}' 'no login'"));
    let failed = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    let log = sandbox.the_run().log();
    let last = failed.stdout.lines().last().unwrap_or_default();
    assert_eq!(last.trim(), format!("log: {}", log.display()), "{}", failed.stdout);
    assert!(fs::read_to_string(log).unwrap().contains("problem=Auth"));

    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let done = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(!done.stdout.contains("ralph.log"), "{}", done.stdout);
}

#[test]
fn a_log_that_is_taken_away_costs_the_run_nothing() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    let taken = "log=$(echo \"$XDG_STATE_HOME\"/ralph/*/runs/*/ralph.log); rm \"$log\"; mkfifo \"$log\"";
    sandbox.install(&Script::jsonl(&format!("[ $n = 1 ] && {{ {taken}; }}; work; over")));
    let finished = sandbox.looping(["--verbose"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_filter_that_is_none_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let refused = sandbox.looping([] as [&str; 0]).env("RALPH_LOG", "debgu").run(SOON);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("`debgu` is neither a level") && refused.stderr.contains("RALPH_LOG"),
        "{}",
        refused.stderr
    );
    assert_eq!(sandbox.paths().run_ids(), []);
}

#[test]
fn what_a_silent_agent_said_last_is_in_its_recording() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(
        "printf 'first'; sleep 0.02; printf 'last words'; until [ -e \"$HOME/go\" ]; do sleep 0.02; done; work; promise",
    ));
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    wait_until(SOON, "the last words", || {
        sandbox.recording(1).contains("last words").then_some(())
    });
    fs::write(sandbox.home().join("go"), "").unwrap();
    running.wait(SOON);
}
