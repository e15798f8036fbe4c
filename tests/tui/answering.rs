//! A finished run is continued by a message while its end is on the screen.

use ralph_core::event::{Event, LimitKind, Proof, RunEvent, StopReason};

use super::{Terminal, reason, screen, watching};
use crate::{
    harness::{SOON, Sandbox, Script, events},
    loop_behaviour::continuing::interrupted,
};

/// Blocked at first; works once it has an answer.
const ASKS: &str =
    r#"if [ "$n" = 1 ]; then echo "RALPH BLOCKED: Which key do I use?"; else echo "working $n"; work; fi"#;

fn reopened(sandbox: &Sandbox) -> usize {
    events(&sandbox.journal())
        .filter(|event| matches!(event, Event::Run(RunEvent::Reopened { .. })))
        .count()
}

#[test]
fn a_blocked_run_is_answered_where_its_question_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let mut terminal = watching(&sandbox, &Script::terminal(ASKS));
    terminal.sees("blocked: needs your answer");
    terminal.sees("the run resumes with your answer");
    terminal.press("the blue one\r");
    terminal.sees(" · 1 task · ");
    assert!(sandbox.prompt(2).contains("the blue one"), "{}", sandbox.prompt(2));
    assert_eq!(reopened(&sandbox), 1, "in the same journal");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::done(Proof::Nothing)));
    sandbox.assert_nothing_runs();
}

#[test]
fn a_run_on_whose_end_somebody_looks_is_answered_from_another_terminal() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let mut terminal = watching(&sandbox, &Script::terminal(ASKS));
    terminal.sees("needs your answer");
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("; screen still open (pid "), "{status}");
    let steered = sandbox.ralph(["steer", "the blue one"]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{steered:?}");
    assert!(
        steered
            .stdout
            .contains("message 1: the run resumes, and iteration 2 starts with it"),
        "{steered:?}"
    );
    terminal.sees(" · 1 task · ");
    assert!(sandbox.prompt(2).contains("the blue one"));
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_run_that_is_done_takes_one_more_wish() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let mut terminal = watching(
        &sandbox,
        &Script::terminal(r#"if [ "$n" = 1 ]; then work; else echo "extra $n"; echo x > extra.txt; await "go$n"; fi"#),
    );
    terminal.sees(" · 1 task · ");
    terminal.press(":add a licence\r");
    terminal.sees("extra 2");
    let prompt = sandbox.prompt(2);
    assert!(
        prompt.contains("the user has sent the message below") && prompt.contains("add a licence"),
        "{prompt}"
    );
    terminal.press("q");
    terminal.sees("leave the run?");
    terminal.press("n");
    sandbox.release("go2");
    terminal.sees(" · 1 task · ");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_run_that_has_used_up_a_limit_says_so_instead_of_going_on() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("work"));
    let program = screen(&sandbox).args(["--max-iterations", "1"]);
    let mut terminal = Terminal::start(&program, 100, 30);
    terminal.sees("iteration limit reached");
    terminal.press(":");
    terminal.sees("the run has reached its iteration limit");
    let steered = sandbox.ralph(["steer", "go on"]).run(SOON);
    assert_eq!(steered.code(), Some(1), "{steered:?}");
    assert!(
        steered.stderr.contains("the run has reached its iteration limit"),
        "{steered:?}"
    );
    terminal.press("q");
    assert_eq!(terminal.ends(), 6);
    let limit = LimitKind::MaxIterations;
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::LimitReached { limit }));
}

#[test]
fn stop_from_another_terminal_closes_the_screen_of_a_run_that_is_over() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let mut terminal = watching(&sandbox, &Script::terminal("work"));
    terminal.sees(" · 1 task · ");
    let stopped = sandbox.ralph(["stop"]).run(SOON);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_run_that_was_interrupted_is_continued_by_a_yes_at_the_terminal_and_left_by_a_no() {
    for (answer, runs) in [
        ("\r", 1),
        ("YES\r", 1),
        ("n\r", 2),
        ("continue\rno\r", 2),
        ("new\ry\r", 1),
    ] {
        let sandbox = interrupted();
        let mut terminal = Terminal::start(&screen(&sandbox), 100, 30);
        terminal.sees(": interrupted (1 of 3 tasks done)");
        terminal.sees("Continue it? `n` starts a new run. [Y/n]");
        terminal.press(answer);
        terminal.sees(" · 3 tasks · ");
        terminal.press("q");
        assert_eq!(terminal.ends(), 0);
        assert_eq!(sandbox.paths().run_ids().len(), runs, "{answer:?}");
    }
}
