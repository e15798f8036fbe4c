//! `ralph replay`.

use ralph_ui::tui::keys::{self, BindingScope, KeyAction};

use crate::harness::{SOON, Sandbox, Script};

use super::{Terminal, keys::bytes, pane, watching};

/// A finished run of two iterations.
fn past() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(r#"echo "here is $n"; work; promise"#));
    terminal.sees(" · 2 tasks · ");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    sandbox
}

#[test]
fn a_past_run_is_played_and_one_moves_in_it_by_iterations() {
    let sandbox = past();
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.sees("here is 2");
    terminal.sees("… done (not verified)");
    terminal.press("[p");
    terminal.press("[");
    terminal.sees("─ plan ─");
    terminal.sees("replay · paused");
    terminal.press("p");
    terminal.sees("here is 2");
    terminal.press("l");
    terminal.sees("iteration 2 · completed");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.on_other_screen());
}

#[test]
fn a_transcript_of_the_history_is_read_from_its_recording() {
    let sandbox = past();
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("h\x1b[A\r");
    terminal.sees("here is 1");
    terminal.press("\x1b");
    terminal.sees("outcome");
    terminal.press("d");
    terminal.sees("work of iteration 1");
    terminal.press("q");
    terminal.ends();
}

#[test]
fn a_replay_shows_what_an_iteration_changed_and_not_what_has_changed_since() {
    let sandbox = past();
    sandbox.write("later.txt", "written after the run\n");
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("[[");
    terminal.press("p");
    terminal.sees("replay · paused");
    terminal.press("[[");
    terminal.sees("iteration 1");
    terminal.press("d");
    terminal.sees("+work of iteration 1");
    let shown = terminal.text();
    assert!(
        !shown.contains("work of iteration 2") && !shown.contains("later.txt"),
        "{shown}"
    );
    terminal.press("q");
    terminal.ends();
}

#[test]
fn without_a_terminal_a_replay_says_where_the_recordings_are() {
    let sandbox = past();
    let finished = sandbox.ralph(["replay"]).run(SOON);
    assert_eq!(finished.code(), Some(2));
    assert!(finished.stderr.contains("needs a terminal") && finished.stderr.contains("iterations"));
}

/// Presses `key` in a replay that is paused at its first iteration, and checks the effect.
fn check(terminal: &mut Terminal, action: KeyAction, key: &str) {
    match action {
        KeyAction::PauseOrResume => {
            terminal.press(key);
            terminal.sees("replay · end");
            // Returns to the first iteration and pauses again.
            terminal.press("[[");
            terminal.press(key);
            terminal.sees("replay · paused");
            terminal.press("[[");
        }
        KeyAction::Faster => {
            terminal.press(key);
            terminal.sees("paused · 64×");
            terminal.press("-");
        }
        KeyAction::Slower => {
            terminal.press(key);
            terminal.sees("paused · 16×");
            terminal.press("+");
        }
        KeyAction::NextIteration => {
            terminal.press(key);
            terminal.sees("iteration 2");
            terminal.press("[");
        }
        KeyAction::PreviousIteration => {
            terminal.press("]");
            terminal.sees("iteration 2");
            terminal.press(key);
        }
        // The run is shorter than the seek distance, so seeking ends at its end or its beginning.
        KeyAction::SeekForward => {
            terminal.press(key);
            terminal.sees("replay · end");
            terminal.press("[[");
        }
        KeyAction::SeekBackward => {
            terminal.press(key);
            terminal.sees("before the first of 2");
            terminal.press("]");
        }
        other => panic!("{other:?} is not of a replay"),
    }
    terminal.sees("iteration 1");
    terminal.sees("paused · 32×");
}

#[test]
fn every_key_of_a_replay_does_what_the_help_says() {
    let sandbox = past();
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "32"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("[[");
    terminal.press("p");
    terminal.sees("paused · 32×");
    terminal.press("[[");
    terminal.sees("iteration 1");
    for binding in keys::TABLE
        .iter()
        .filter(|binding| binding.when == BindingScope::Replay)
    {
        for key in binding.keys {
            check(&mut terminal, binding.action, &bytes(*key));
        }
    }
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_terminal_that_was_resized_is_played_in_the_sizes_it_had() {
    let sandbox = Sandbox::new();
    let (before, after) = (pane(100, 30), pane(80, 24));
    let script = format!(
        r#"echo ready; "$FAKE_AGENT" "wait-size {}x{}"; echo "told"; work"#,
        after.cols, after.rows
    );
    let mut terminal = watching(&sandbox, &Script::terminal(&script));
    terminal.sees("ready");
    terminal.resize(80, 24);
    terminal.sees("… done (not verified)");
    terminal.press("q");
    terminal.ends();
    let recording = std::fs::read_to_string(sandbox.the_run().recording(1)).expect("a recording");
    let first = format!("\"width\":{}", before.cols);
    assert!(
        recording.lines().next().expect("a header").contains(&first),
        "{recording}"
    );
    let resized = format!("\"r\", \"{}x{}\"]", after.cols, after.rows);
    let at = recording.find(&resized).expect("its new size");
    assert!(
        recording[..at].contains("ready") && recording[at..].contains("told"),
        "{recording}"
    );
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.sees("told");
    terminal.press("q");
    terminal.ends();
}
