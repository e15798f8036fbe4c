//! For any command line the program ends by itself with a documented exit code, says why, and leaves nothing running.
//!
//! The unit tests try far more command lines, but start nothing.

use std::{
    ffi::{OsStr, OsString},
    os::unix::{ffi::OsStrExt as _, net::UnixListener},
    time::{Duration, Instant},
};

use crate::{
    chaos::random::Random,
    harness::{SOON, Sandbox},
};

/// The codes of `docs/reference/exit-codes.md`, except those for interrupts: nothing here is interrupted.
const DOCUMENTED: [i32; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const LINES: usize = 90;
/// Time after which no more command lines are tried.
const CAP: Duration = Duration::from_secs(20);

/// Commands that end by themselves in a project without a run and without a plan.
const COMMANDS: &[&str] = &[
    "",
    "run",
    "init --dry-run",
    "import",
    "status",
    "attach",
    "wait",
    "steer",
    "steer --withdraw",
    "asks",
    "answer",
    "pause",
    "resume",
    "skip",
    "stop",
    "reset-circuit",
    "goals",
    "goals check",
    "goals add",
    "permissions",
    "permissions test",
    "permissions forget",
    "report",
    "runs",
    "diff",
    "restore",
    "replay",
    "sandbox",
    "sandbox explain",
    "sandbox allow",
    "adapters",
    "adapters add",
    "adapters show",
    "adapters check",
    "config",
    "config schema",
    "trust",
    "token",
    "completions",
    "man",
    "nothing-of-that-name",
];
const FLAGS: &[&str] = &[
    "--plan",
    "--config",
    "--state-dir",
    "--adapter",
    "--prompt-file",
    "--goal",
    "--max-time",
    "-n",
    "-m",
    "--run",
    "--format",
    "--url",
    "--token-file",
    "--server",
    "--sandbox",
    "--log",
    "--json",
    "--stat",
    "--yes",
    "--headless",
    "--trust-project",
    "--",
];

/// Texts, and paths of all kinds of entries that are not readable files.
fn values(sandbox: &Sandbox) -> Vec<OsString> {
    let made = sandbox.program("mkfifo").arg("pipe").run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    drop(UnixListener::bind(sandbox.project().join("socket")).expect("a socket"));
    sandbox.write("directory/file", "");
    sandbox.write("binary", "\u{0}\u{1}\u{fffd}\u{1b}[2J");
    sandbox.write("unreadable", "");
    let closed = sandbox.program("chmod").args(["000", "unreadable"]).run(SOON);
    assert_eq!(closed.code(), Some(0), "{closed:?}");
    let texts = [
        "pipe",
        "socket",
        "directory",
        "binary",
        "unreadable",
        "/dev/null",
        "/proc/self/mem",
        "not/there",
        "",
        "-",
        "-1",
        "0",
        "3",
        "99999999999999999999",
        "1e400",
        "=",
        "a=b",
        "http://127.0.0.1:9",
        "a\nb",
        "\u{202e}\u{1b}[31m",
        "codex",
    ];
    let bytes = OsStr::from_bytes(b"caf\xe9\xff").to_owned();
    let texts = texts.iter().map(OsString::from);
    texts.chain([bytes, "x".repeat(100_000).into()]).collect()
}

#[test]
fn no_command_line_makes_the_program_panic_hang_or_end_in_a_way_that_is_not_documented() {
    let sandbox = Sandbox::new();
    std::fs::remove_file(sandbox.project().join("PLAN.md")).expect("a plan");
    let values = values(&sandbox);
    let mut random = Random::new(14);
    let began = Instant::now();
    for round in 0..LINES {
        let command = COMMANDS[round % COMMANDS.len()];
        let mut line: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
        for _ in 0..random.below(4) {
            match random.below(3) {
                0 => line.push(random.of(FLAGS).into()),
                _ => line.push(values[random.below(values.len())].clone()),
            }
        }
        let finished = sandbox.untrusting_ralph(&line).run(SOON);
        let code = finished.code();
        assert!(
            code.is_some_and(|code| DOCUMENTED.contains(&code)),
            "{line:?}: {finished:?}"
        );
        assert!(!finished.stderr.contains("panicked"), "{line:?}: {finished:?}");
        let is_explained = finished.stderr.contains("error: ") || !finished.stdout.is_empty();
        assert!(code == Some(0) || is_explained, "{line:?}: {finished:?}");
        if began.elapsed() > CAP {
            break;
        }
    }
    sandbox.assert_nothing_runs();
}
