//! Restoring files from the history of the screen.

use std::fs;

use crate::harness::{SOON, Sandbox, Script, wait_until};

use super::{Terminal, watching};

/// An agent that leaves the number of its iteration in a file.
const COUNTS: &str = r#"echo "iteration $n" > count.txt; work; promise"#;

fn count(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.project().join("count.txt")).unwrap_or_default()
}

#[test]
fn files_are_restored_and_put_back_from_the_history_of_a_run_that_has_ended() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(COUNTS));
    terminal.sees("DONE, NOT VERIFIED · 2 tasks · ");
    terminal.press("hku");
    terminal.sees("restore the files?");
    terminal.sees("as they were before iteration 1");
    assert_eq!(
        count(&sandbox),
        "iteration 2\n",
        "nothing is restored without an answer"
    );
    terminal.press("a");
    terminal.sees("the files are restored");
    terminal.sees("files written");
    assert_eq!(count(&sandbox), "iteration 1\n");
    assert!(
        sandbox.read("PLAN.md").is_some_and(|plan| plan.contains("- [ ] ")),
        "the second task is open again"
    );
    terminal.press("u");
    wait_until(SOON, "the files of iteration 2", || {
        (count(&sandbox) == "iteration 2\n").then_some(())
    });
    terminal.sees("the files are restored");
    terminal.press("\r");
    terminal.sees_no("the files are restored");
    terminal.press("ua");
    terminal.sees("the files are restored");
    terminal.press("\r:Once more\r");
    terminal.sees("3 iterations");
    assert_eq!(
        count(&sandbox),
        "iteration 3\n",
        "the run goes on from the restored files"
    );
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_replay_restores_no_files_while_another_run_works_on_them() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(COUNTS));
    terminal.sees("DONE, NOT VERIFIED · 2 tasks · ");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    sandbox.write("PLAN.md", "- [ ] Another task\n");
    let mut live = watching(&sandbox, &Script::terminal(r#"echo "ready"; await go"#));
    live.sees("ready");
    let mut replay = Terminal::start(&sandbox.ralph(["replay", "1", "--speed", "64"]), 100, 30);
    replay.sees("replay · end");
    replay.press("hkua");
    replay.sees("nothing was restored");
    replay.sees("ralph is working on these files");
    assert_eq!(count(&sandbox), "iteration 2\n");
    live.press("qy");
    assert_eq!(live.ends(), 130);
}
