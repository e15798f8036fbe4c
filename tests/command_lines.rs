//! Answers of commands, one command line a row: the exit code and the required text on stdout and stderr. Command lines
//! with a test of their own are not repeated here.

use crate::harness::{SOON, Sandbox, Script};

/// A command line, its exit code, and the parts that stdout and stderr must contain.
type CommandCase = (
    &'static [&'static str],
    i32,
    &'static [&'static str],
    &'static [&'static str],
);

#[track_caller]
fn check(sandbox: &Sandbox, rows: &[CommandCase]) {
    for (args, code, stdout, stderr) in rows {
        let finished = sandbox.ralph(*args).run(SOON);
        assert_eq!(finished.code(), Some(*code), "{args:?}: {finished:?}");
        for (text, parts) in [(&finished.stdout, stdout), (&finished.stderr, stderr)] {
            for part in *parts {
                assert!(text.contains(part), "{args:?}: no `{part}` in {finished:?}");
            }
        }
        if *code != 0 {
            assert_eq!(finished.stdout, "", "{args:?}: stdout is for what was asked for");
            assert_eq!(finished.stderr.matches("error: ").count(), 1, "{args:?}: {finished:?}");
            assert!(finished.stderr.contains("\nhint: "), "{args:?}: {finished:?}");
        }
    }
}

#[test]
fn without_a_verb_with_a_wrong_value_or_before_the_first_run_it_is_said_what_to_type() {
    const NO_RUN: &[&str] = &["no runs in this project yet", "hint: `ralph PLAN.md` starts one"];
    let sandbox = Sandbox::new();
    sandbox.write("odd/PLAN.md/file", "");
    check(
        &sandbox,
        &[
            // A command group without a verb shows its content.
            (&["goals"], 0, &["no goals: ", "ralph --goal tests="], &[]),
            (&["config"], 0, &["limits.maxIterations", "default"], &[]),
            (&["adapters"], 0, &["adapter ", "codex"], &[]),
            (&["permissions"], 0, &["mode ", "no answer "], &[]),
            (&["sandbox"], 0, &["sandbox: "], &[]),
            (&["plan"], 0, &["PLAN.md: 0 of 2 tasks done"], &[]),
            // An error in a flag's value names the flag.
            (
                &["--max-time", "8"],
                3,
                &[],
                &[
                    "--max-time is \"8\" (no unit); expected a duration",
                    "see `ralph --help`",
                ],
            ),
            (&["--server", "foo"], 3, &[], &["--server is \"foo\" (missing port)"]),
            (
                &["--mode", "refctor"],
                3,
                &[],
                &["(did you mean \"refactor\"?)", "\"refactor\" or \"fix\"\n"],
            ),
            (
                &["--mode", "fix", "--mode", "refactor"],
                2,
                &[],
                &[
                    "two modes at once: `--mode fix` and `--mode refactor`",
                    "hint: a run has one",
                ],
            ),
            (
                &["--theme", "blue"],
                2,
                &[],
                &["'blue' for '--theme <THEME>' [possible values: auto, dark"],
            ),
            (
                &["answer", "x", "yes"],
                2,
                &[],
                &["expected a whole number", "see `ralph answer --help`"],
            ),
            (
                &["import", "spec.md", "-a", "codex"],
                2,
                &[],
                &["type it before `import`", "see `ralph import --help`"],
            ),
            (
                &["import", "spec.md"],
                1,
                &[],
                &["spec.md: there is no such file", "`ralph import -`"],
            ),
            (
                &["attach", "--url", "http://127.0.0.1:1", "--token-file", "nope"],
                2,
                &[],
                &["nope: ", "`ralph token`"],
            ),
            // A command of another tool, and extra words.
            (
                &["logs"],
                2,
                &[],
                &["`logs` is not a command", "`ralph status --watch`"],
            ),
            (
                &["PLAN.md", "and", "more"],
                2,
                &[],
                &["`PLAN.md and more` is not a command"],
            ),
            // Commands that ralph had once.
            (
                &["bisect", "tests"],
                2,
                &[],
                &["`ralph bisect` was removed", "`git bisect run COMMAND`"],
            ),
            (
                &["bisect", "tests", "--add-task"],
                2,
                &[],
                &["`ralph bisect` was removed"],
            ),
            (
                &["blame", "PLAN.md:1"],
                2,
                &[],
                &["`ralph blame` was removed", "`git blame FILE`"],
            ),
            (
                &["comment", "--export", "comments.sarif"],
                2,
                &[],
                &["`ralph comment --export` was removed", "`ralph comment --json`"],
            ),
            (
                &["goals", "assay", "--list"],
                2,
                &[],
                &["`ralph goals assay` was removed", "`ralph goals check`"],
            ),
            // Before the first run the message is that there is no run, not that a checkpoint is missing.
            (&["report"], 1, &[], NO_RUN),
            (&["replay"], 1, &[], NO_RUN),
            (&["diff"], 1, &[], NO_RUN),
            (&["restore", "1"], 1, &[], NO_RUN),
            (
                &["wait"],
                1,
                &[],
                &["ralph is not running in this project", "`ralph status`"],
            ),
        ],
    );
    let help = sandbox.ralph(["skip", "-h"]).run(SOON).stdout;
    assert!(
        help.ends_with("Example:\n    ralph skip\n") && !help.contains("--theme"),
        "{help}"
    );
    let odd = sandbox
        .ralph(["init", "--yes", "--no-check"])
        .current_dir(sandbox.project().join("odd"))
        .run(SOON);
    assert_eq!(odd.code(), Some(3), "{odd:?}");
    assert!(
        odd.stderr.contains("PLAN.md: not a file, but in the place of a plan"),
        "{odd:?}"
    );
}

#[test]
fn after_a_run_the_latest_is_meant_sums_are_whole_and_warnings_have_a_sign_of_their_own() {
    let sandbox = Sandbox::new();
    let costs = r#"[ $n = 1 ] && cost=0.1 || cost=0.2
printf '{"type":"usage","usage":{"costUsd":%s}}\n' $cost; work; over done"#;
    sandbox.install(&Script::jsonl(costs));
    sandbox.install_adapter(
        "gone",
        "id = \"gone\"\ndialect = \"terminal\"\n[command]\nprogram = \"no-such-program\"\nprompt = \"stdin\"\nargs = []\n",
    );
    let run = sandbox
        .looping_as("text", [] as [&str; 0])
        .env("RALPH_FALLBACK", "gone")
        .run(SOON);
    assert_eq!(run.code(), Some(0), "{run:?}");
    assert!(
        run.stdout.contains(" ! ") && !run.stdout.contains('✖'),
        "{}",
        run.stdout
    );
    check(
        &sandbox,
        &[
            (&["diff"], 0, &["+work of iteration 2\n"], &[]),
            (&["diff", "9"], 1, &[], &["iteration 9 of run "]),
            (
                &["status"],
                0,
                &["not running; the last run: done (not verified)", "$0.30"],
                &[],
            ),
            (
                &["status", "--json"],
                0,
                &["\"paused\": false", "\"costUsd\": 0.3\n"],
                &[],
            ),
            (&["report"], 0, &["DONE, NOT VERIFIED · "], &[]),
        ],
    );
    // On a terminal the output is coloured.
    for args in [
        "status",
        "runs",
        "restore",
        "adapters",
        "config",
        "report",
        "frobnicate",
    ] {
        let command = format!("exec {} {args}", env!("CARGO_BIN_EXE_ralph"));
        let shown = sandbox
            .program("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .run(SOON)
            .stdout;
        assert!(shown.contains("\u{1b}["), "{args}: {shown}");
    }
}

/// A sandbox whose plan was completed in one run, and the id of that run.
fn finished() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let run = sandbox.ralph(["-a", "script"]).run(SOON);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let id = sandbox.paths().run_ids()[0].0.clone();
    (sandbox, id)
}

#[test]
fn a_finished_plan_begins_no_run_or_none_that_hides_the_last() {
    let (sandbox, id) = finished();
    let again = sandbox.ralph(["-a", "script"]).run(SOON);
    assert_eq!(again.code(), Some(0), "{again:?}");
    assert_eq!(
        again.stderr,
        "nothing to do: all 2 tasks of PLAN.md are done\nnext: add one with `ralph plan add \"…\"`\n"
    );
    assert_eq!(sandbox.paths().run_ids().len(), 1);

    // Without open tasks, the run only runs the goals.
    let verified = sandbox.ralph(["-a", "script", "--goal", "tests=true"]).run(SOON);
    assert_eq!(verified.code(), Some(0), "{verified:?}");
    assert_eq!(sandbox.paths().run_ids().len(), 2);
    for command in ["diff", "report", "restore"] {
        let shown = sandbox.ralph([command]).run(SOON);
        assert_eq!(shown.code(), Some(0), "{shown:?}");
        let note = format!("since its plan was finished: this is the one before, {id}\n");
        assert!(shown.stderr.ends_with(&note), "{shown:?}");
    }
    check(
        &sandbox,
        &[(
            &["diff", "--run", "-1"],
            1,
            &[],
            &["had no iterations, so it changed nothing", "`ralph runs`"],
        )],
    );
}

#[test]
fn a_run_is_named_by_its_number_by_a_part_of_its_id_or_counted_from_the_latest() {
    let (sandbox, id) = finished();
    let runs = sandbox.ralph(["runs"]).run(SOON).stdout;
    assert!(
        runs.lines()
            .nth(1)
            .is_some_and(|row| row.trim_start().starts_with(&format!("1  {id}"))),
        "{runs}"
    );
    let (first, last) = (&id[..id.len() - 2], &id[id.len() - 4..]);
    for name in [&id[..], first, last, "1", "-1"] {
        let report = sandbox.ralph(["report", name, "--json"]).run(SOON);
        assert_eq!(report.code(), Some(0), "{name}: {report:?}");
        assert!(report.stdout.contains(&id), "{name}: {report:?}");
        let diff = sandbox.ralph(["diff", "--run", name, "--stat"]).run(SOON);
        assert_eq!(diff.code(), Some(0), "{name}: {diff:?}");
    }
    check(
        &sandbox,
        &[
            (&["report", "-2"], 2, &[], &["there is no run `-2`", "the latest are: "]),
            (&["report", "7"], 2, &[], &["there is no run `7`"]),
            (&["report", "nope"], 2, &[], &["there is no run `nope`"]),
            (&["status", "--format", "json"], 0, &["\"paused\": false"], &[]),
            (&["resume"], 1, &[], &["ralph is not running in this project"]),
        ],
    );
}

#[test]
fn a_restore_is_undone_and_done_again() {
    let (sandbox, _) = finished();
    let worked = sandbox.read("work-2.txt");
    let restore = |args: &[&str]| sandbox.ralph(["restore", "--yes"]).args(args).run(SOON);
    let nothing = restore(&["--undo"]);
    assert_eq!(nothing.code(), Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("so there is nothing to undo"), "{nothing:?}");
    let back = restore(&["1"]);
    assert_eq!(back.code(), Some(0), "{back:?}");
    assert!(
        back.stdout
            .contains("`ralph restore --undo` restores the previous state"),
        "{back:?}"
    );
    assert_eq!(sandbox.read("work-2.txt"), None);
    for expected in [&worked, &None, &worked] {
        let undone = restore(&["--undo"]);
        assert_eq!(undone.code(), Some(0), "{undone:?}");
        assert_eq!(sandbox.read("work-2.txt"), *expected);
    }
}

#[test]
fn what_is_wrong_with_the_command_line_is_said_alone_and_a_run_that_ended_is_continued_and_not_resumed() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let run = sandbox.ralph(["-a", "script", "-n", "1"]).run(SOON);
    assert_eq!(run.code(), Some(6), "{run:?}");
    for args in [["--max-time", "8"], ["-a", "nope"], ["-g", "tests"]] {
        let refused = sandbox.ralph(args).run(SOON);
        assert!(refused.stderr.starts_with("error: "), "{refused:?}");
    }
    check(
        &sandbox,
        &[(
            &["resume"],
            1,
            &[],
            &["ralph is not running", "`ralph continue` continues the last run"],
        )],
    );
}

#[test]
fn a_notification_is_tried_and_what_was_done_or_is_missing_is_said() {
    let sandbox = Sandbox::new();
    let tried = |notify: &str| {
        let ralph = sandbox.ralph(["notify"]);
        ralph.env("RALPH_NOTIFY", notify).run(SOON)
    };
    let done = tried("printf %s \"$RALPH_REASON\" > told.txt; echo some words");
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_eq!(
        sandbox.read("told.txt").as_deref(),
        Some("ralph project: this is a test")
    );
    assert!(
        done.stdout.contains("ran `printf ") && done.stderr.contains("│ some words"),
        "{done:?}"
    );
    let cases = [
        ("echo no network >&2; exit 7", 1, ["│ no network", "exit status: 7"]),
        ("none", 3, ["`notify` is \"none\"", "osc9"]),
        (
            "osc9",
            2,
            ["a terminal shows the notification", "a command in `notify`"],
        ),
    ];
    for (notify, code, said) in cases {
        let failed = tried(notify);
        assert_eq!((failed.code(), failed.stdout.as_str()), (Some(code), ""), "{failed:?}");
        for words in said {
            assert!(failed.stderr.contains(words), "{failed:?}");
        }
    }
}
