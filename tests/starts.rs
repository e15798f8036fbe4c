//! Starts that the system denies something: each ends with a clear message or goes on without, and never panics.
//!
//! `RALPH_TEST_ROUNDS=N` tries more of the limits, `RALPH_TEST_SEED` others.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use ralph_core::testing::rounds;

use crate::{
    crash::{for_each, seeded_cuts},
    harness::{SOON, Sandbox, Script, agents::skipped, running::Finished},
};

/// The exit codes that ralph documents, except those for signals.
const CODES: std::ops::RangeInclusive<i32> = 0..=8;

#[track_caller]
fn assert_ended_in_order(sandbox: &Sandbox, finished: &Finished, what: &str) {
    let code = finished.code();
    assert!(code.is_some_and(|code| CODES.contains(&code)), "{what}: {finished:?}");
    assert!(!finished.stderr.contains("panicked"), "{what}: {finished:?}");
    let is_explained =
        code == Some(0) || finished.stdout.contains("run-stopped") || finished.stderr.contains("error: ");
    assert!(is_explained, "{what}: {finished:?}");
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_start_without_descriptors_ends_with_a_sentence() {
    let cuts = seeded_cuts(60, rounds(4));
    for_each(cuts.len(), |n| {
        let sandbox = Sandbox::new();
        sandbox.install(&Script::worker());
        let limit = format!("--nofile={}", cuts[n] + 4);
        let finished = sandbox.looping([] as [&str; 0]).under(&["prlimit", &limit]).run(SOON);
        assert_ended_in_order(&sandbox, &finished, &limit);
    });
}

/// No other test has processes of this user.
const OTHER_USER: &str = "61235";

#[test]
fn a_start_without_threads_ends_with_a_sentence() {
    // The limit does not apply to root.
    if !nix::unistd::geteuid().is_root() {
        return skipped("a start without threads: only root can start ralph as a user who has no other process");
    }
    let cuts = seeded_cuts(28, rounds(4));
    for cut in cuts {
        let sandbox = Sandbox::in_tmp();
        let ralph = sandbox.home().join("ralph");
        fs::copy(env!("CARGO_BIN_EXE_ralph"), &ralph).expect("a ralph that the other user can start");
        let root = sandbox.home().parent().expect("the sandbox's directory").to_owned();
        let given = sandbox.program("chown").args(["-R", OTHER_USER]).arg(root).run(SOON);
        assert_eq!(given.code(), Some(0), "{given:?}");
        let limit = format!("--nproc={}", cut + 2);
        let finished = sandbox
            .program("setpriv")
            .args([
                "--reuid",
                OTHER_USER,
                "--regid",
                OTHER_USER,
                "--clear-groups",
                "prlimit",
                &limit,
            ])
            .arg(&ralph)
            .args([
                "--adapter",
                "demo",
                "--plan",
                "PLAN.md",
                "--headless",
                "--format",
                "jsonl",
            ])
            .args(["--max-iterations", "4"])
            .env("RALPH_DEMO_SPEED", "0")
            .env("RALPH_BACKOFF_BASE", "10ms")
            .env("RALPH_BACKOFF_MAX", "10ms")
            .run(SOON);
        assert_ended_in_order(&sandbox, &finished, &limit);
    }
}

/// Entries that a start creates in the state directory.
const MADE: [&str; 7] = [
    "control.sock",
    "helpers.lock",
    "latest",
    "lock",
    "runs",
    "tokens.json",
    "trees",
];

#[test]
fn a_start_with_something_in_its_way_ends_with_a_sentence() {
    type Obstacle = (&'static str, fn(&Path));
    let in_the_way: [Obstacle; 3] = [
        ("a directory", |path| {
            fs::create_dir_all(path.join("x")).expect("a directory")
        }),
        ("a file", |path| fs::write(path, "x").expect("a file")),
        ("a link to nothing", |path| {
            std::os::unix::fs::symlink("/nowhere/at/all", path).expect("a link");
        }),
    ];
    for_each(MADE.len(), |n| {
        let sandbox = Sandbox::new();
        sandbox.install(&Script::worker());
        let plan = sandbox.read("PLAN.md").expect("a plan");
        let state = sandbox.paths().state().to_owned();
        fs::create_dir_all(&state).expect("the state directory");
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).expect("it is ours");
        for (what, put) in in_the_way {
            let path = state.join(MADE[n]);
            put(&path);
            let finished = sandbox.looping(["--listen", "127.0.0.1:0"]).run(SOON);
            assert_ended_in_order(&sandbox, &finished, &format!("{what} at {}", MADE[n]));
            fs::remove_dir_all(&state).expect("the state directory");
            fs::create_dir_all(&state).expect("the state directory");
            sandbox.write("PLAN.md", &plan);
        }
    });
}
