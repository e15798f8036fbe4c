//! What an agent finds in its environment, and what nobody else does.

use std::os::unix::fs::chown;

use ralph::event::Outcome;

use super::{outcomes, said};
use crate::harness::{SOON, Sandbox, Script};

#[test]
fn keys_reach_the_agent_and_neither_goals_nor_git() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    // The agent's own git is run by the same program.
    let seen = sandbox.home().join("git");
    sandbox.run_before_git(&format!(
        "[ -n \"$RALPH_ITERATION\" ] || {{ env > {0}.$$ && mv {0}.$$ {0}; }}",
        seen.display()
    ));
    sandbox.install(&Script::jsonl("env > \"$HOME/agent\"; work; over Done."));
    let run = sandbox.looping(["--goal", "spy=env > \"$HOME/goal\""]);
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-one"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "sk-two"),
        ("OPENCODE_SERVER_PASSWORD", "sk-three"),
    ];
    let run = secrets.iter().fold(run, |run, (name, value)| run.env(name, value));
    let finished = run.env("HARMLESS", "sk-less").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let seen = |who: &str| {
        let environment = sandbox.read_home(who).unwrap_or_else(|| panic!("{who} did not run"));
        assert!(environment.contains("HARMLESS=sk-less"), "{environment}");
        secrets.map(|(name, value)| environment.contains(&format!("{name}={value}")))
    };
    assert_eq!(seen("agent"), [true; 3]);
    assert_eq!(seen("goal"), [false; 3]);
    assert_eq!(seen("git"), [false; 3]);
    let alone = sandbox
        .ralph(["--goal", "spy=env > \"$HOME/alone\"", "goals", "check"])
        .env("ANTHROPIC_API_KEY", "sk-one")
        .run(SOON);
    assert_eq!(alone.code(), Some(0), "{alone:?}");
    assert!(!sandbox.read_home("alone").unwrap().contains("sk-one"));
}

#[test]
fn an_agent_does_not_take_itself_for_one_that_runs_inside_of_another() {
    for (adapter, marks) in [
        (
            "claude",
            &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"][..],
        ),
        ("gemini", &["GEMINI_CLI"]),
        ("opencode-run", &["OPENCODE", "OPENCODE_PID"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        let config = format!(
            r#"{{ "adapters": {{ "{adapter}": {{ "command": {{ "program": "sh", "args": ["-c", "env > $HOME/seen"] }} }} }} }}"#
        );
        sandbox.write(".ralph/config.json", &config);
        let run = sandbox.looping(["--adapter", adapter, "--max-iterations", "1"]);
        let run = marks.iter().fold(run, |run, name| run.env(name, "1"));
        let finished = run.run(SOON);
        assert_eq!(outcomes(&finished.records()).len(), 1, "{finished:?}");
        let seen = sandbox.read_home("seen").expect("the agent ran");
        for mark in marks {
            assert!(!seen.contains(&format!("{mark}=1")), "{adapter}: {seen}");
        }
    }
}

/// A user of whom there is no process.
const NOBODY: u32 = 54_321;

/// Gives everything below `path` to `owner`.
fn give(path: &std::path::Path, owner: u32) {
    chown(path, Some(owner), Some(owner)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_symlink() {
                give(&path, owner);
            }
        }
    }
}

#[test]
fn a_run_goes_on_when_no_thread_is_to_be_had() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    // Longer than threads without work are kept that are not needed for certain.
    sandbox.install(&Script::jsonl("sleep 11; said ready; await go; work; over done"));
    let (mut program, mut limit) = (sandbox.looping([] as [&str; 0]), sandbox.program("prlimit"));
    if nix::unistd::geteuid().is_root() {
        // The limit does not hold for root.
        give(sandbox.home().parent().unwrap(), NOBODY);
        let user = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        let setpriv = ["setpriv", &user[0], &user[1], "--clear-groups", "--"];
        (program, limit) = (program.under(&setpriv), limit.under(&setpriv));
    }
    let running = program.start();
    running.wait_for_record(SOON, said("ready"));
    let limited = limit
        .args(["--nproc=1:1", "--pid", &running.pid().to_string()])
        .run(SOON);
    assert_eq!(limited.code(), Some(0), "{limited:?}");
    sandbox.let_go("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&Outcome::Completed]);
}
