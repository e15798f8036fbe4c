//! Output of agents: shown unchanged, and kept inside of its pane.

use std::fs;

use super::{PATIENT, pane, watching};
use crate::harness::{SOON, Sandbox, Script, wait_until};

#[test]
fn the_agent_has_the_size_of_its_pane_and_gets_the_new_one_in_the_middle_of_a_flood() {
    let sandbox = Sandbox::new();
    let (before, after) = (pane(100, 30), pane(120, 40));
    let body = format!(
        r#"exec "$FAKE_AGENT" size 'wait-file '"$HOME"/flood 'flood-color 8000000' 'wait-size {}x{}' 'say new size:' size hang"#,
        after.cols, after.rows
    );
    let mut terminal = watching(&sandbox, &Script::terminal(&body));
    terminal.sees(&format!("{}x{}", before.cols, before.rows));
    sandbox.release("flood");
    terminal.sees("step ");
    terminal.resize(120, 40);
    terminal.sees("new size:");
    terminal.sees(&format!("{}x{}", after.cols, after.rows));
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn keys_work_while_the_agent_floods() {
    let sandbox = Sandbox::new();
    let body = r#"while :; do "$FAKE_AGENT" 'flood-color 1000000' || exit; done"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("step ");
    terminal.press("?");
    terminal.sees("─ keys: ");
    terminal.press("\x1b");
    terminal.sees_no("─ keys: ");
    terminal.press("l");
    terminal.sees("iteration 1: Write hello.txt");
    terminal.press("\x03");
    terminal.sees("leave the run?");
    terminal.press("\x03");
    assert_eq!(terminal.ends(), 130);
    sandbox.assert_nothing_runs();
}

#[test]
fn broken_bytes_break_nothing() {
    let sandbox = Sandbox::new();
    let body = r#""$FAKE_AGENT" 'garbage 200000'; printf '\033c\n'; echo "after it"; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("after it");
    terminal.sees("─ plan ─");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn titles_clipboards_and_modes_of_an_agent_stay_inside() {
    let sandbox = Sandbox::new();
    let body = r#"printf '\033]0;stolen title\007\033]52;c;c3RvbGVu\007\033[?1049hon its screen\033[?1000h\033[?1003h\033]9;stolen notice\007'
echo; echo ready; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("ready");
    terminal.press("qy");
    terminal.ends();
    let written = terminal.written();
    for stolen in ["stolen", "]52;", "c3RvbGVu", "?1003h"] {
        assert!(!written.contains(stolen), "{stolen} got out");
    }
}

#[test]
fn a_tiny_terminal_shows_the_agent_and_a_larger_one_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(PATIENT));
    let mut terminal = super::Terminal::start(&super::screen(&sandbox), 20, 6);
    terminal.sees("ready 1");
    terminal.resize(200, 60);
    terminal.sees("─ plan ─");
    terminal.sees("ready 1");
    terminal.resize(2, 1);
    terminal.resize(80, 24);
    terminal.sees("Write world.txt");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn what_has_scrolled_away_is_found_again() {
    let sandbox = Sandbox::new();
    let body =
        r#"echo "the needle"; i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); done; echo ready; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("ready");
    terminal.sees_no("the needle");
    terminal.press("/need");
    terminal.sees("the needle");
    terminal.sees("1/1");
    terminal.press("\x1b");
    terminal.sees("ready");
    terminal.press("g");
    terminal.sees("the needle");
    terminal.press("G/nothing of the kind\r");
    terminal.sees("not found");
}

#[test]
fn what_a_transcript_folds_is_shown_whole_in_its_place() {
    let sandbox = Sandbox::new();
    let body = r#"
        echo '{"type":"tool-started","call":"1","tool":"shell","input":"seq 40"}'
        printf '%s\n' '{"type":"tool-ended","call":"1","tool":"shell","ok":true,"output":"'"$(seq -f 'result-%g' -s '\n' 40)"'"}'
        said ready; await go"#;
    let mut terminal = watching(&sandbox, &Script::jsonl(body));
    terminal.sees("ready");
    terminal.sees("… 32 more lines");
    wait_until(SOON, "the log of the signals", || {
        let log = fs::read_to_string(sandbox.the_run().signals(1)).ok()?;
        log.contains("result-40").then_some(())
    });
    terminal.press("o");
    terminal.sees("result-9");
    terminal.sees_no("ready");
    terminal.press("/result-40\r");
    terminal.sees("result-40");
    terminal.press("\x1b");
    terminal.sees("… 32 more lines");
    terminal.press("O");
    terminal.sees("result-40");
    terminal.sees("ready");
}

#[test]
fn each_iteration_is_shown_as_its_own_agent_is() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] one\n- [ ] two {adapter=second}\n- [ ] three\n");
    sandbox.install_as(
        "second",
        &Script::jsonl(r#"said "ready $n"; await "go$n"; work; over done"#),
    );
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("i");
    terminal.sees("you type to the agent");
    sandbox.release("go1");
    terminal.sees("ready 2");
    terminal.sees_no("you type to the agent");
    terminal.press("i");
    terminal.sees("second does not read its terminal");
    sandbox.release("go2");
    terminal.sees("ready 3");
    terminal.press("i");
    terminal.sees("you type to the agent");
    terminal.press("\x1d");
    terminal.sees_no("you type to the agent");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}
