//! The environment of an agent, and variables that other processes must not get.

use std::os::unix::fs::chown;

use ralph_core::event::Outcome;

use super::{outcomes, said};
use crate::harness::{SOON, Sandbox, Script};

#[test]
fn keys_reach_the_agent_and_neither_goals_nor_git() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    // The agent's own git runs through the same wrapper, and is left out.
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
        .env("GEMINI_API_KEY", "sk-two")
        .env("RALPH_KEYS_GOALS", "GEMINI_API_KEY")
        .run(SOON);
    assert_eq!(alone.code(), Some(0), "{alone:?}");
    let alone = sandbox.read_home("alone").unwrap();
    assert!(!alone.contains("sk-one") && alone.contains("sk-two"), "{alone}");
}

/// One variable with an API key for each of several agents.
const KEYS: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "GEMINI_API_KEY",
    "OPENCODE_SERVER_PASSWORD",
];

/// The variables of `KEYS` that are set in the output of `env`.
fn keys_in(environment: &str) -> Vec<&'static str> {
    let is_set = |name: &&str| environment.contains(&format!("{name}=sk-{name}"));
    KEYS.into_iter().filter(is_set).collect()
}

#[test]
fn a_probe_and_what_is_tried_in_the_sandbox_get_no_keys_of_others_and_the_list_says_so() {
    let sandbox = Sandbox::new();
    sandbox.install_adapter(
        "spy",
        "dialect = \"terminal\"\n[command]\nprogram = \"sh\"\nargs = [\"-c\", \"cat\"]\nprompt = \"stdin\"\n\
         [probe]\nargs = [\"-c\", \"env > $HOME/probe; echo 1\"]\n[login]\nkeys = [\"CODEX_API_KEY\"]\n",
    );
    let ralph = |args: &str| {
        let ralph = sandbox.ralph(args.split_whitespace());
        let ralph = KEYS
            .iter()
            .fold(ralph, |ralph, name| ralph.env(name, format!("sk-{name}")));
        ralph.run(SOON)
    };
    let checked = ralph("adapters check spy");
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    assert_eq!(keys_in(&sandbox.read_home("probe").unwrap()), [""; 0]);
    let shown = ralph("--adapter spy sandbox").stdout;
    let listed = "passed on: CODEX_API_KEY; withheld: ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN, GEMINI_API_KEY, \
                  OPENCODE_SERVER_PASSWORD";
    assert!(shown.contains(listed), "{shown}");
    assert!(ralph("sandbox").stdout.contains("passed on: none;"));
    // Without Landlock `sandbox run` refuses to run anything.
    let tried = ralph("--adapter spy sandbox run env");
    if tried.code() == Some(0) {
        assert_eq!(keys_in(&tried.stdout), ["CODEX_API_KEY"]);
    }
}

#[test]
fn an_agent_gets_its_own_keys_and_does_not_take_itself_for_one_inside_of_another() {
    for (adapter, marks, keys) in [
        (
            "claude",
            &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"][..],
            &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY"][..],
        ),
        ("gemini", &["GEMINI_CLI"], &["CODEX_API_KEY", "GEMINI_API_KEY"]),
        (
            "opencode-run",
            &["OPENCODE", "OPENCODE_PID"],
            &["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"],
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        let config = format!(
            r#"{{ "adapters": {{ "{adapter}": {{ "command": {{ "program": "sh", "args": ["-c", "env > $HOME/seen"] }} }} }} }}"#
        );
        sandbox.write(".ralph/config.json", &config);
        let run = sandbox.looping(["--adapter", adapter, "--max-iterations", "1"]);
        let run = marks.iter().fold(run, |run, name| run.env(name, "1"));
        let run = KEYS.iter().fold(run, |run, name| run.env(name, format!("sk-{name}")));
        // A setting passes this key to every agent.
        let finished = run.env("RALPH_KEYS_AGENTS", "CODEX_API_KEY").run(SOON);
        assert_eq!(outcomes(&finished.records()).len(), 1, "{finished:?}");
        let seen = sandbox.read_home("seen").expect("the agent ran");
        assert_eq!(keys_in(&seen), keys, "{adapter}");
        for mark in marks {
            assert!(!seen.contains(&format!("{mark}=1")), "{adapter}: {seen}");
        }
    }
}

/// A user id without any process.
const NOBODY: u32 = 54_321;

/// Gives `path` and everything below it to `owner`.
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
    // Idle threads that are not always needed have ended after this time.
    sandbox.install(&Script::jsonl("sleep 11; said ready; await go; work; over done"));
    let (mut program, mut limit) = (sandbox.looping([] as [&str; 0]), sandbox.program("prlimit"));
    if nix::unistd::geteuid().is_root() {
        // The limit does not apply to root.
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
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&Outcome::Completed]);
}
