//! Every key of the help does what it says.

use ralph::ui::tui::{
    keys::{self, Action},
    model::Pane,
};

use super::{Terminal, watching};
use crate::harness::{Sandbox, Script};

/// As a terminal sends it.
pub(super) fn bytes(chord: keys::Chord) -> String {
    use crossterm::event::{KeyCode, KeyModifiers};
    match chord.code {
        KeyCode::Char(character) if chord.modifiers.contains(KeyModifiers::CONTROL) => {
            char::from(character as u8 & 0x1f).to_string()
        }
        KeyCode::Char(character) => character.to_string(),
        KeyCode::Up => "\x1b[A".to_owned(),
        KeyCode::Down => "\x1b[B".to_owned(),
        KeyCode::PageUp => "\x1b[5~".to_owned(),
        KeyCode::PageDown => "\x1b[6~".to_owned(),
        KeyCode::Home => "\x1b[H".to_owned(),
        KeyCode::End => "\x1b[F".to_owned(),
        KeyCode::F(1) => "\x1bOP".to_owned(),
        KeyCode::Tab => "\t".to_owned(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Esc => "\x1b".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Presses `key` where it has something to do and checks that it was done; brings the screen back to the terminal.
fn check(terminal: &mut Terminal, action: Action, key: &str) {
    match action {
        Action::Steer => {
            terminal.press(key);
            terminal.sees("Enter sends");
            terminal.press("\x1b");
            terminal.sees_no("Enter sends");
        }
        Action::PauseOrResume => {
            terminal.press(key);
            terminal.sees("will pause after it");
            terminal.press(key);
            terminal.sees_no("will pause after it");
        }
        Action::RetryNow => {
            terminal.press(key);
            terminal.sees("not waiting");
        }
        Action::Answer => {
            terminal.press(key);
            terminal.sees("the agent asks nothing");
        }
        Action::Type => {
            terminal.press(key);
            terminal.sees("Ctrl-] leaves");
            terminal.press("\x1d");
            terminal.sees_no("Ctrl-] leaves");
        }
        Action::NextPane => {
            terminal.press(key);
            terminal.sees("iteration 1: Write hello.txt");
            terminal.press(key);
            terminal.sees("line 299");
        }
        Action::Show(pane) => {
            terminal.press(key);
            terminal.sees(match pane {
                Pane::Terminal => "line 299",
                Pane::Log => "iteration 1: Write hello.txt",
                Pane::Diff => "new of the agent",
                Pane::History => "outcome",
                Pane::Messages => "No messages.",
                Pane::Asks => "No agent has asked anything.",
                Pane::Limits => "calls per hour",
            });
            terminal.press("t");
            terminal.sees("line 299");
        }
        Action::Skip => {
            terminal.press(key);
            terminal.sees("skip iteration 1?");
            terminal.press("n");
            terminal.sees_no("skip iteration 1?");
        }
        Action::NextMatch | Action::PreviousMatch => {
            terminal.press("/line 12\r");
            terminal.sees("line 129");
            terminal.press("n");
            terminal.sees_no("line 129");
            if action == Action::PreviousMatch {
                terminal.press(key);
                terminal.sees("line 120");
            }
            terminal.press("G");
            terminal.sees_no("rows below");
        }
        Action::Search => {
            terminal.press(key);
            terminal.sees("Enter older");
            terminal.press("\x1b");
            terminal.sees_no("Enter older");
        }
        Action::LineUp | Action::PageUp | Action::Top => {
            terminal.press(key);
            terminal.sees("rows below");
            terminal.press("G");
            terminal.sees_no("rows below");
        }
        Action::LineDown | Action::PageDown | Action::Bottom => {
            let up = match action {
                Action::LineDown => "\x1b[A",
                _ => "\x1b[5~",
            };
            terminal.press(up);
            terminal.sees("rows below");
            terminal.press(key);
            terminal.sees_no("rows below");
        }
        Action::Open => {
            terminal.press("h");
            terminal.press(key);
            terminal.sees("Esc leaves");
            terminal.press("\x1b");
            terminal.sees_no("Esc leaves");
            terminal.press("t");
            terminal.sees("line 299");
        }
        Action::Back => {
            terminal.press("c");
            terminal.sees("calls per hour");
            terminal.press(key);
            terminal.sees("line 299");
        }
        Action::Help => {
            terminal.press(key);
            terminal.sees("these keys");
            terminal.press("\x1b");
            terminal.sees_no("these keys");
        }
        Action::Redraw => {
            let before = terminal.written().len();
            terminal.press(key);
            terminal.writes("\x1b[2J", before);
            terminal.sees("line 299");
        }
        Action::Quit => {
            terminal.press(key);
            terminal.sees("leave the run?");
            terminal.press("n");
            terminal.sees_no("leave the run?");
        }
        // Tested on their own, where they end something; those of replays there.
        Action::StopAfterIteration
        | Action::Withdraw
        | Action::Suspend
        | Action::Interrupt
        | Action::PreviousIteration
        | Action::NextIteration
        | Action::Slower
        | Action::Faster => {}
    }
}

#[test]
fn every_key_does_what_the_help_says() {
    let sandbox = Sandbox::new();
    let body = r#"echo "new of the agent" > new.txt; i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); done; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("line 299");
    for binding in keys::bindings(false) {
        for key in binding.keys {
            check(&mut terminal, binding.action, &bytes(*key));
        }
    }
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}
