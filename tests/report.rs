//! Commands for the morning after: report, list of runs, diffs, and pruning.

use serde_json::Value;

use crate::harness::{SOON, Sandbox, Script, running::Finished};

fn ran(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.looping(args).run(SOON)
}

fn report(sandbox: &Sandbox, format: &str) -> String {
    let finished = sandbox.ralph(["report", "--format", format]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished.stdout
}

fn json(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&report(sandbox, "json")).expect("JSON")
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn the_report_tells_tasks_iterations_commits_refusals_goals_and_the_end() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("work; touch .ralph-done"));
    assert_eq!(ran(&sandbox, &["--goal", "files=ls work-2.txt"]).code(), Some(0));
    let text = report(&sandbox, "text");
    assert_has(
        &text,
        &[
            "DONE, PASSED · 2 tasks · ",
            "2 of 2 tasks done · 2 iterations",
            "Unverified\n  whether tests ran: all goals passed, by exit code alone\n",
            "✔ Write hello.txt (iteration 1)\n",
            "files passed in ",
            "    1  refused    ",
            "    2  completed  ",
            "Work of iteration 1\n",
            "refused: one task is still open: Write world.txt\n",
            "tokens and cost: unknown\n",
            "confidence 100",
        ],
    );
    assert!(!text.contains("Needs you"), "nothing does:\n{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn an_end_without_goals_is_unverified_and_wants_a_look() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    ran(&sandbox, &[]);
    let report = json(&sandbox);
    assert_eq!(report["end"]["reason"]["type"], "done");
    assert_eq!(report["end"]["exitCode"], 0);
    assert_eq!(
        report["unverified"][0],
        "everything: no goals are configured, so nothing was checked"
    );
    assert_eq!(report["needsPerson"][0], "review the result: nothing has verified it");
    let iterations = &report["view"]["iterations"]["rows"]["kept"];
    assert_eq!(iterations.as_array().map(Vec::len), Some(2));
    assert_eq!(report["commits"][0][0]["subject"], "Work of iteration 1");
    assert_eq!(iterations[0]["usage"]["costUsd"], Value::Null);
}

#[test]
fn a_run_that_a_limit_ended_says_what_is_open_and_which_goal_was_never_run() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let finished = ran(&sandbox, &["--max-iterations", "1", "--goal", "tests=true"]);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let text = report(&sandbox, "text");
    assert_has(
        &text,
        &[
            "decide whether to continue (1 task open)\n",
            "goal tests: not run\n",
            "○ Write world.txt\n",
        ],
    );
}

#[test]
fn a_blocked_task_is_what_needs_a_person_who_is_told_at_once() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        r"over '---RALPH_STATUS---\nSTATUS: BLOCKED\nRECOMMENDATION: Which key do I use?\n---END_RALPH_STATUS---'",
    ));
    let told = r#"printf '%s\n' "$RALPH_REASON" "$RALPH_URL" >> "$HOME/told""#;
    let finished = sandbox
        .looping(["--max-iterations", "5"])
        .env("RALPH_NOTIFY", told)
        .env("RALPH_PAGE", "https://ralph.example.org/")
        .run(SOON);
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    let told = sandbox.read_home("told").unwrap_or_default();
    let run = &sandbox.paths().run_ids()[0];
    assert_has(
        &told,
        &[
            "ralph project: blocked: Which key do I use? · ralph answer 1 \"…\"\n",
            &format!("\nhttps://ralph.example.org/#/runs/{run}/asks/1\n"),
        ],
    );
    assert!(!told.contains("· 0 of 2 tasks"), "the end is told once: {told}");
    let report = json(&sandbox);
    assert_eq!(report["end"]["exitCode"], 8);
    assert_eq!(report["tasks"][0]["state"], "blocked");
    assert_eq!(
        report["needsPerson"][0],
        "an answer for the task \"Write hello.txt\": Which key do I use?"
    );
}

#[test]
fn markdown_has_a_table_and_no_words_of_an_agent_as_markup() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] Mend `a|b` <script>\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::worker());
    ran(&sandbox, &[]);
    let text = report(&sandbox, "markdown");
    assert!(text.starts_with("# ralph: done (not verified)\n"), "{text}");
    assert_has(
        &text,
        &[
            "| # | task | outcome | time | changes | cost |\n",
            "\n- [x] Mend ",
            "\\<script\\>",
            "\n## Needs you\n",
        ],
    );
}

#[test]
fn messages_are_reported_with_what_became_of_them() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "said working; [ $n = 1 ] && await go; work; over Ready.",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("working"));
    let sent = sandbox.ralph(["steer", "mind the gap"]).run(SOON);
    assert_eq!(sent.code(), Some(0), "{sent:?}");
    let text = report(&sandbox, "text");
    assert_has(&text, &["still running · 0 of 2 tasks · ", "running for "]);
    sandbox.release("go");
    running.wait(SOON);
    assert_has(
        &report(&sandbox, "text"),
        &["Messages\n  1 (once, delivered in iteration 2): mind the gap\n"],
    );
}

#[test]
fn the_summary_at_the_end_has_the_table_the_totals_and_the_hints_of_the_report() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let finished = sandbox
        .ralph(["--adapter", "script", "--headless"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .run(SOON);
    let at = finished.stdout.find("    #  outcome").expect("a summary");
    let (end, others): (Vec<&str>, Vec<&str>) = finished.stdout[at..]
        .lines()
        .partition(|line| line.starts_with("ralph: "));
    assert_eq!(end, ["ralph: done (not verified)"]);
    let report = report(&sandbox, "text");
    others
        .iter()
        .for_each(|line| assert!(report.lines().any(|of_report| of_report == *line), "{line}: {report}"));
}

#[test]
fn runs_are_listed_the_latest_first() {
    let sandbox = Sandbox::new();
    let finished = sandbox.ralph(["runs"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    sandbox.install(&Script::worker());
    ran(&sandbox, &["--max-iterations", "1"]);
    ran(&sandbox, &[]);
    let finished = sandbox.ralph(["runs"]).run(SOON);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{finished:?}");
    let (head, lines) = lines.split_first().expect("a header");
    assert_has(head, &["run", "started", "tasks", "iterations", "state"]);
    let ids = sandbox.paths().run_ids();
    assert!(
        lines[0].trim_start().starts_with(&format!("2  {}", ids[1].0)) && lines[0].ends_with("  done (not verified)"),
        "{}",
        lines[0]
    );
    assert_has(
        lines[1],
        &[&ids[0].0, "PLAN.md", "1/2           1", "iteration limit reached"],
    );
}

#[test]
fn diff_shows_what_one_iteration_changed() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    ran(&sandbox, &[]);
    let patch = sandbox.ralph(["diff", "2"]).run(SOON);
    assert_eq!(patch.code(), Some(0), "{patch:?}");
    assert_has(
        &patch.stdout,
        &[
            "+++ b/work-2.txt\n",
            "+work of iteration 2\n",
            "+- [x] Write world.txt\n",
        ],
    );
    assert!(!patch.stdout.contains("work-1.txt"), "{}", patch.stdout);
    let stat = sandbox.ralph(["diff", "2", "--stat"]).run(SOON);
    assert_has(&stat.stdout, &["work-2.txt", "2 files changed"]);
    let both = sandbox.ralph(["diff", "2", "--since", "1"]).run(SOON);
    assert_has(&both.stdout, &["+work of iteration 1\n", "+work of iteration 2\n"]);
    let later = sandbox.ralph(["diff", "1", "--since", "2"]).run(SOON);
    assert_has(
        &later.stderr,
        &["iteration 2 is later than iteration 1", "`ralph diff 2 --since 1`"],
    );
    let list = sandbox.ralph(["restore"]).run(SOON);
    assert_eq!(list.code(), Some(0), "{list:?}");
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert_has(lines[1], &["iteration", "before", "after", "started", "+", "−", "task"]);
    assert!(
        lines[3].trim_start().starts_with("2  ") && lines[3].ends_with("  Write world.txt"),
        "{list:?}"
    );
    let status = sandbox.ralph(["status"]).run(SOON);
    assert_has(&status.stdout, &["\nlimits    50 iterations · "]);
    let none = sandbox.ralph(["diff", "9"]).run(SOON);
    assert_eq!(none.code(), Some(1), "{none:?}");
    assert_has(&none.stderr, &["there is no checkpoint before iteration", "hint: "]);
}

#[test]
fn runs_beyond_those_to_keep_lose_their_files_and_their_checkpoints() {
    assert_only_the_last_run_is_kept("RALPH_KEEP_RUNS", "1");
}

#[test]
fn so_do_runs_that_are_too_old() {
    assert_only_the_last_run_is_kept("RALPH_KEEP_AGE", "1ms");
}

fn assert_only_the_last_run_is_kept(variable: &str, value: &str) {
    let sandbox = Sandbox::new();
    sandbox.plan(4);
    sandbox.install(&Script::worker());
    for _ in 0..3 {
        ran(&sandbox, &["--max-iterations", "1"]);
    }
    let before = sandbox.paths().run_ids();
    assert_eq!(before.len(), 3);
    let finished = sandbox.looping([] as [&str; 0]).env(variable, value).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let left = sandbox.paths().run_ids();
    assert_eq!(left[0], before[2], "the last one that ended is kept: {left:?}");
    assert_eq!(left.len(), 2);
    let references = sandbox.store_git(["for-each-ref", "--format=%(refname)", "refs/ralph/"]);
    for run in &before[..2] {
        assert!(!references.contains(&run.0), "{references}");
    }
    assert!(references.contains(&before[2].0), "{references}");
}

#[test]
fn a_permission_that_was_given_is_no_failure_and_needs_nobody_and_a_denied_one_does() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "work; [ $n = 1 ] && given=true || given=false
        printf '{\"type\":\"permission-asked\",\"id\":\"%s\",\"text\":\"bash (touch %s)\",\"allowed\":%s}\\n' $n $n $given
        over done",
    ));
    sandbox.plan(3);
    let finished = sandbox
        .ralph(["--adapter", "script", "--headless", "--max-iterations", "2"])
        .run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    assert_has(
        &finished.stdout,
        &[
            "· the agent asks for permission: bash (touch 1)",
            "✖ the agent asks for permission: bash (touch 2)",
        ],
    );
    let report = report(&sandbox, "text");
    assert!(
        report.contains("the agent asked in iteration 2: bash (touch 2)"),
        "{report}"
    );
    assert!(!report.contains("the agent asked in iteration 1"), "{report}");
}

#[test]
fn of_a_long_result_the_lines_that_are_not_shown_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "work
        lines=$(seq 1 250 | sed 's/$/\\\\n/' | tr -d '\\n')
        printf '{\"type\":\"tool-started\",\"call\":\"1\",\"tool\":\"shell\",\"input\":\"seq 1 250\"}\\n'
        printf '{\"type\":\"tool-ended\",\"call\":\"1\",\"tool\":\"shell\",\"ok\":true,\"output\":\"%s\"}\\n' \"$lines\"
        over done",
    ));
    let finished = sandbox.ralph(["--adapter", "script", "--headless"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_has(&finished.stdout, &["  8\n", "… 242 more lines"]);
    assert!(!finished.stdout.contains("1 more line\n"), "{}", finished.stdout);
}

/// The lines for the morning are above all else, and `--short` prints nothing but them.
#[test]
fn the_report_begins_with_what_to_read_first() {
    let sandbox = Sandbox::new();
    for (file, text) in [
        ("LICENSE", "MIT\n"),
        ("Makefile", "all:\n"),
        ("docs/guide.md", "A guide\n"),
    ] {
        sandbox.write(file, text);
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "more files"]);
    let first = "git rm -rq LICENSE docs; echo rules > CLAUDE.md; echo evil >> Makefile; work";
    let second =
        "sed -i 's/- \\[ \\]/- [x]/' PLAN.md; setsid sleep 1000 & until grep -aq ^sleep /proc/$!/cmdline; do :; done";
    sandbox.install(&Script::terminal(&format!(
        "[ $n = 1 ] && {{ {first}; }}; [ $n = 2 ] && {{ {second}; }}; true"
    )));
    ran(&sandbox, &[]);
    let short = sandbox.ralph(["report", "--short"]).run(SOON).stdout;
    assert_has(
        &short,
        &[
            "DONE, NOT VERIFIED · 2 tasks · ",
            "\n  review first  deleted: LICENSE (iteration 1), docs/guide.md (iteration 1)\n",
            "configuration, CI, hooks, instructions, data: CLAUDE.md (new, iteration 1), Makefile (iteration 1)\n",
            "ticked without a change: \"Write world.txt\" (iteration 2)\n",
            "\n  ended         processes that sessions left: `sleep 1000`",
            "\n  cost          unknown",
        ],
    );
    assert!(short.starts_with("DONE, ") && short.lines().count() <= 12, "{short}");
    let whole = report(&sandbox, "text");
    let above = whole.find("    #  outcome").expect("a table");
    assert!(whole[..above].contains(&short), "{whole}");
    assert_eq!(json(&sandbox)["first"][1]["subject"], "review");
}
