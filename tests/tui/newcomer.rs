//! A newcomer's first run with keys alone: the screen offers enough to read, find, copy, steer, answer, leave and come
//! back.

use ralph_core::event::{Proof, StopReason};

use super::{Terminal, reason, screen};
use crate::{
    bad_input::asking::{asking, decided},
    harness::{SOON, wait_until},
};

/// Two iterations: the first asks whether it may push, the second writes a file and waits.
const WORK: &str = r#"
says() { printf '{"type":"assistant","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$1" "$2"; }
if [ "$RALPH_ITERATION" = 1 ]; then
    says 1 "The tests come first: a parser without them is a guess."
    says 2 "Now the parser is pushed."
    asks "git push origin parser" 1
    "$FAKE_AGENT" "wait-file $HOME/go1"
    works
else
    echo 'fn nested() {}' > nested.rs
    says 3 "Nested tables are parsed."
    "$FAKE_AGENT" "wait-file $HOME/go2"
    works
fi
"#;

/// Escape in a form that cannot be the beginning of another key.
const ESCAPE: &str = "\x1b[27u";

#[test]
fn a_newcomer_reads_finds_copies_answers_steers_pauses_leaves_returns_and_reads_why_it_ended() {
    let (sandbox, _agent) = asking(r#"{ "ask": ["Bash(git push *)"] }"#, WORK);
    sandbox.plan(2);
    let program = screen(&sandbox).args(["--goal", "parser=test -e nested.rs"]);
    let mut terminal = Terminal::start(&program, 100, 30);

    // The agent asks; the box names the command and the key that allows it.
    terminal.sees("git push origin parser");
    wait_until(SOON, "an answer", || {
        // For its first moments a box accepts no key.
        terminal.press("y");
        decided(&sandbox.journal()).first().map(|(allowed, _)| assert!(allowed))
    });
    terminal.sees_no("matches your rule");
    // A surplus press opens the choice of what to copy; this closes it.
    terminal.press(ESCAPE);

    // Events are visible in the agent's pane, and line by line in the log.
    terminal.sees("a parser without them is a guess");
    terminal.press("2");
    terminal.sees("iteration 1: Task 1");
    terminal.press("1");
    terminal.sees("Now the parser is pushed");
    terminal.press("/guess\r");
    let before = terminal.written().len();
    terminal.press("yl");
    terminal.writes("\x1b]52;c;", before);

    terminal.press(":Mind the gap\r");
    terminal.sees("message 1");
    sandbox.release("go1");
    terminal.sees("Nested tables are parsed.");
    assert!(sandbox.prompt(2).contains("Mind the gap"));
    terminal.press("3");
    terminal.sees("fn nested() {}");

    terminal.press("p");
    terminal.sees("pauses after this");
    terminal.press("qd");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.text().contains("the run continues"), "{}", terminal.text());
    let mut terminal = Terminal::start(&sandbox.ralph(["attach"]), 100, 30);
    terminal.sees("pauses after this");
    terminal.press("p");
    terminal.sees_no("pauses after this");
    sandbox.release("go2");

    // The end says what was verified, and stays until a key is pressed.
    terminal.sees("all goals passed");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::done(Proof::ExitCodes)));
    sandbox.waits_until_nothing_runs();
}
