//! Controlling the run from the screen.

use ralph_core::event::{CancelReason, Event, IterationEvent, Outcome, PausedBy, StopReason, TimeEvent};

use super::{PATIENT, reason, watching};
use crate::harness::{SOON, Sandbox, Script, events};

#[test]
fn a_message_is_queued_shown_and_in_the_next_prompt() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press(":Mind the gap");
    terminal.sees("next: in the next prompt, once");
    terminal.press("\r");
    terminal.sees("(message 1)");
    terminal.press("m");
    terminal.sees("queued");
    sandbox.release("go1");
    terminal.sees("in the prompt of 2");
    assert!(sandbox.prompt(2).contains("Mind the gap"));
    assert!(!sandbox.prompt(1).contains("Mind the gap"));
    sandbox.release("go2");
    terminal.sees(" · 2 tasks · ");
}

#[test]
fn a_message_for_now_ends_the_iteration_and_begins_the_next_with_it() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press(":!Stop that");
    terminal.sees("now: iteration 1 is stopped; the next starts with it");
    terminal.press("\r");
    terminal.sees("ready 2");
    assert!(sandbox.prompt(2).contains("Stop that"));
}

#[test]
fn a_standing_message_is_in_every_prompt_until_it_is_taken_back() {
    let sandbox = Sandbox::new();
    sandbox.plan(4);
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press(":+Use tabs");
    terminal.sees("standing: in every prompt until you withdraw it");
    terminal.press("\r");
    terminal.sees("(message 1)");
    for n in ["1", "2"] {
        sandbox.release(&format!("go{n}"));
    }
    terminal.sees("ready 3");
    assert!(sandbox.prompt(2).contains("Use tabs") && sandbox.prompt(3).contains("Use tabs"));
    terminal.press("mx");
    terminal.sees("withdraw standing message 1?");
    terminal.press("y");
    terminal.sees("withdrawn");
    sandbox.release("go3");
    terminal.press("t");
    terminal.sees("ready 4");
    assert!(!sandbox.prompt(4).contains("Use tabs"));
}

#[test]
fn a_message_of_many_lines_is_typed_pasted_and_recalled_in_the_next_run() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    // Alt-Enter, then a paste that contains a line end and a key.
    terminal.press(":one\x1b\rtwo ");
    terminal.press("\x1b[200~three\nq four\x1b[201~");
    terminal.sees("q four");
    terminal.press("\r");
    terminal.sees("(message 1)");
    sandbox.release("go1");
    terminal.sees("ready 2");
    assert!(sandbox.prompt(2).contains("one\n"), "{}", sandbox.prompt(2));
    assert!(sandbox.prompt(2).contains("q four"), "{}", sandbox.prompt(2));
    terminal.press("qy");
    terminal.ends();
    // The iteration was released already. It may be over by now, and messages are accepted then as well.
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    // The previous run ended with an open task, so it could be continued.
    terminal.sees(": stopped by user (1 of 2 tasks done)");
    terminal.sees("Continue it?");
    terminal.press("n\r");
    terminal.sees("─ plan ");
    terminal.press(":\x1b[A");
    terminal.sees("q four");
    // Ctrl-R
    terminal.press("\x12three");
    terminal.sees("/three  1/1");
}

#[test]
fn the_run_is_paused_and_goes_on_by_key() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("p");
    terminal.sees("pauses after this");
    sandbox.release("go1");
    terminal.sees("… paused");
    sandbox.release("go2");
    terminal.press("p");
    terminal.sees(" · 2 tasks · ");
    let paused = Event::Time(TimeEvent::Paused { by: PausedBy::User });
    assert!(events(&sandbox.journal()).any(|event| *event == paused));
}

#[test]
fn the_pause_file_pauses_and_the_key_takes_it_away() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    sandbox.write(".ralph-pause", "");
    terminal.sees("pauses after this");
    sandbox.release("go1");
    terminal.sees("paused by `.ralph-pause`");
    sandbox.release("go2");
    terminal.press("p");
    terminal.sees(" · 2 tasks · ");
    assert_eq!(sandbox.read(".ralph-pause"), None);
}

#[test]
fn an_iteration_is_skipped() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("S");
    terminal.sees("skip iteration 1?");
    terminal.press("y");
    terminal.sees("ready 2");
    let skipped = Outcome::Cancelled {
        reason: CancelReason::Skipped,
    };
    let ended =
        |event: &Event| matches!(event, Event::Iteration(IterationEvent::Ended { outcome, .. }) if *outcome == skipped);
    assert!(events(&sandbox.journal()).any(ended));
}

#[test]
fn the_run_stops_after_the_iteration() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("s");
    terminal.sees("stops after this");
    // A second press takes it back, and so does `ralph resume`.
    terminal.press("s");
    terminal.sees_no("stops after this");
    terminal.press("s");
    terminal.sees("stops after this");
    let resumed = sandbox.ralph(["resume"]).run(SOON);
    assert!(
        resumed.stdout.contains("does not stop after this iteration"),
        "{resumed:?}"
    );
    terminal.sees_no("stops after this");
    terminal.press("s");
    terminal.sees("stops after this");
    sandbox.release("go1");
    assert_eq!(terminal.ends(), 130);
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::Requested));
    assert_eq!(sandbox.commits(), 2);
}

#[test]
fn a_wait_is_ended_by_key() {
    let sandbox = Sandbox::new();
    let script =
        Script::jsonl(r#"if [ "$n" = 1 ]; then failed '{"kind":"overloaded"}' busy; else said "again"; await go; fi"#);
    sandbox.install(&script);
    let program = super::screen(&sandbox)
        .env("RALPH_BACKOFF_BASE", "10m")
        .env("RALPH_BACKOFF_MAX", "10m");
    let mut terminal = super::Terminal::start(&program, 100, 30);
    terminal.sees("trying again in ");
    terminal.press("r");
    terminal.sees("again");
    terminal.sees("iteration 2/50 · ");
}

#[test]
fn keys_are_typed_to_the_agent_and_mean_nothing_else() {
    let sandbox = Sandbox::new();
    let script = Script::terminal(r#"echo "ready $n"; read -r line < /dev/tty; echo "got <$line>"; await go"#);
    let mut terminal = watching(&sandbox, &script);
    terminal.sees("ready 1");
    terminal.press("i");
    terminal.sees("you type to the agent");
    terminal.press("quit?\r");
    terminal.sees("got <quit?>");
    terminal.press("\x1d");
    terminal.sees_no("you type to the agent");
    terminal.press("?");
    terminal.sees("─ keys: ");
}
