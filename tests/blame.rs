//! `ralph blame`: the iteration that wrote a line.

use std::{fs, time::Duration};

use serde_json::Value;

use crate::{
    harness::{SOON, Sandbox, Script, running::Finished},
    many,
    tui::{self, Terminal},
};

/// Longest time of a night of iterations on a busy machine.
const NIGHT: Duration = Duration::from_secs(300);

const ITERATIONS: usize = 200;

/// An agent that adds a line in each iteration and rewrites an earlier one. Each line names the iteration that wrote it. In
/// half of the iterations it commits its work and what was left before.
fn scribe() -> Script {
    Script::jsonl(
        "n=$RALPH_ITERATION\n\
         echo \"by $n\" >> lines\n\
         [ $n -lt 2 ] || sed -i \"$((n / 2))s/.*/by $n/\" lines\n\
         [ $((n / 10 % 2)) = 0 ] || { git add --all && git commit --quiet --message \"Work of $n\"; }\n\
         said nothing; over 'Some work.'",
    )
}

#[track_caller]
fn json_of(finished: &Finished) -> Value {
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn a_night_of_200_iterations_half_of_them_uncommitted_is_told_exactly() {
    let sandbox = Sandbox::new();
    sandbox.install(&scribe());
    sandbox.write("PLAN.md", "- [ ] Never done\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    let night = sandbox
        .looping(["--max-iterations", &ITERATIONS.to_string()])
        .run(NIGHT);
    assert!(night.stdout.contains("200"), "{night:?}");
    let text = sandbox.read("lines").unwrap();
    assert_eq!(text.lines().count(), ITERATIONS);

    let blamed = json_of(&sandbox.ralph(["blame", "lines", "--json"]).run(NIGHT));
    for (line, text) in blamed.as_array().unwrap().iter().zip(text.lines()) {
        assert_eq!(line["text"], text);
        assert_eq!(format!("by {}", line["iteration"]), text, "{line}");
    }
    let shown = sandbox.ralph(["blame", "lines:3"]).run(SOON);
    let iteration = text.lines().nth(2).unwrap().strip_prefix("by ").unwrap();
    assert!(
        shown.stdout.contains(&format!("in iteration {iteration} of run 1 ")),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("Never done"), "{shown:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn lines_of_people_and_of_earlier_commits_are_told_from_those_of_agents() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("echo agent >> lines; work; over done"));
    sandbox.write("PLAN.md", "- [ ] Write a line\n");
    sandbox.write("lines", "begin\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.write("lines", "begin\nby hand\n");
    let finished = sandbox.looping(["--goal", "g=grep agent lines"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    sandbox.write("lines", "begin\nby hand\nagent\nnow\n");
    let blamed = json_of(&sandbox.ralph(["blame", "lines", "--json"]).run(SOON));
    let by: Vec<&str> = blamed
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["commit", "hand", "iteration", "now"], "{blamed:#}");
    assert_eq!(blamed[2]["verified"]["passed"], serde_json::json!(["g"]));
    assert_eq!(blamed[2]["task"], "Write a line");
    assert!(
        fs::read_to_string(blamed[2]["prompt"].as_str().unwrap())
            .unwrap()
            .contains("Write a line")
    );
    let table = sandbox.ralph(["blame", "lines"]).run(SOON);
    let last = table.stdout.lines().last().unwrap();
    assert!(
        last.starts_with("by hand, since") && last.ends_with("  4  now"),
        "{table:?}"
    );

    for (target, said) in [
        ("missing", "there is no such file"),
        ("lines:9", "has only 4 lines"),
        ("lines:0", "there is no such file"),
    ] {
        let refused = sandbox.ralph(["blame", target]).run(SOON);
        assert_ne!(refused.code(), Some(0), "{refused:?}");
        assert!(refused.stderr.contains(said), "{target}: {}", refused.stderr);
    }
    sandbox.write(".gitignore", "secret\n");
    sandbox.write("secret", "x\n");
    let ignored = sandbox.ralph(["blame", "secret"]).run(SOON);
    assert!(ignored.stderr.contains("no checkpoint holds it"), "{ignored:?}");
}

#[test]
fn enter_on_a_line_of_the_diff_shows_who_wrote_it_as_the_iteration_left_it() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "case $n in\n\
         1) printf 'one\\ntwo\\n' > lines; work; over done;;\n\
         *) printf 'new\\none\\nthree\\n' > lines; work; said ready; await go; over done;;\n\
         esac",
    ));
    sandbox.plan(2);
    let mut screen = Terminal::start(&tui::screen(&sandbox), 100, 40);
    screen.sees("ready");
    let blamed = json_of(&sandbox.ralph(["blame", "lines:3", "--json"]).run(SOON));
    assert_eq!(blamed[0]["iteration"], 2, "it still runs: {blamed:#}");
    sandbox.release("go");
    screen.sees(" · 2 tasks · ");
    sandbox.write("lines", "rewritten by hand\n");
    screen.press("d");
    screen.sees("+three");
    // The first Enter chooses a line, the first one of PLAN.md.
    screen.press("\r");
    screen.sees("Enter shows who wrote it");
    for (file, iteration) in [
        ("PLAN.md:1", 1),
        ("PLAN.md:2", 2),
        ("lines:1", 2),
        ("lines:2", 1),
        ("lines:3", 2),
    ] {
        screen.press("\r");
        screen.sees(&format!("{file} "));
        screen.sees(&format!("in iteration {iteration} of run 1"));
        screen.press("\x1b");
        screen.sees("+three");
        screen.press("\x1b[B");
    }
    screen.press("q");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn a_line_that_a_batch_merged_is_told_with_the_iteration_that_wrote_it() {
    let sandbox = many::sandbox_in(
        Sandbox::new(),
        "echo \"$plan $n\" >> \"$plan.txt\"; tick; commit \"Work of $plan\"; over done",
        &["api", "ui"],
    );
    let finished = sandbox.ralph(["many", "api.md", "ui.md", "--headless"]).run(NIGHT);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let target = sandbox.git(["branch", "--list", "ralph/*", "--format=%(refname:short)"]);
    sandbox.git(["checkout", "--quiet", target.lines().next().unwrap()]);
    let blamed = json_of(&sandbox.ralph(["blame", "ui.txt", "--json"]).run(SOON));
    assert_eq!(blamed[0]["by"], "iteration", "{blamed:#}");
    assert_eq!(blamed[0]["task"], "One of ui");
    assert!(blamed[0]["commit"].is_string(), "{blamed:#}");
}
