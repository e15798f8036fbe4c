//! Every key of the help does what it says.

use ralph_ui::tui::{
    keys::{self, KeyAction},
    model::Pane,
};

use crate::harness::{Sandbox, Script};

use super::{Terminal, watching};

/// The bytes that a terminal sends for the key.
pub(super) fn bytes(chord: keys::Chord) -> String {
    use crossterm::event::{KeyCode, KeyModifiers};
    match chord.code {
        KeyCode::Char(character) if chord.modifiers.contains(KeyModifiers::CONTROL) => {
            char::from(character as u8 & 0x1f).to_string()
        }
        KeyCode::Char(character) => character.to_string(),
        KeyCode::Up => "\x1b[A".to_owned(),
        KeyCode::Down => "\x1b[B".to_owned(),
        KeyCode::Left => "\x1b[D".to_owned(),
        KeyCode::Right => "\x1b[C".to_owned(),
        KeyCode::PageUp => "\x1b[5~".to_owned(),
        KeyCode::PageDown => "\x1b[6~".to_owned(),
        KeyCode::Home => "\x1b[H".to_owned(),
        KeyCode::End => "\x1b[F".to_owned(),
        KeyCode::F(1) => "\x1bOP".to_owned(),
        KeyCode::BackTab => "\x1b[Z".to_owned(),
        KeyCode::Tab => "\t".to_owned(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Esc => "\x1b".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Presses `key` where it has an effect, checks that effect, and returns the screen to the terminal pane.
fn check(terminal: &mut Terminal, action: KeyAction, key: &str) {
    match action {
        KeyAction::Steer => {
            terminal.press(key);
            terminal.sees("Enter sends");
            terminal.press("\x1b");
            terminal.sees_no("Enter sends");
        }
        KeyAction::PauseOrResume => {
            terminal.press(key);
            terminal.sees("pauses after this");
            terminal.press(key);
            terminal.sees_no("pauses after this");
        }
        KeyAction::Restore => {
            terminal.press(&format!("h{key}"));
            terminal.sees("ralph is working on these files");
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::RetryNow => {
            terminal.press(key);
            terminal.sees("not waiting");
        }
        KeyAction::Answer => {
            terminal.press(key);
            terminal.sees("no open questions");
        }
        KeyAction::Type => {
            terminal.press(key);
            terminal.sees("Ctrl-] leaves");
            terminal.press("\x1d");
            terminal.sees_no("Ctrl-] leaves");
        }
        KeyAction::NextFocus | KeyAction::FocusPlan => {
            terminal.press(key);
            terminal.press("z");
            terminal.sees_no("line 299");
            terminal.press("z1");
            terminal.sees("line 299");
        }
        KeyAction::Zoom => {
            terminal.press(key);
            terminal.sees_no("─ plan ─");
            terminal.press(key);
            terminal.sees("─ plan ─");
        }
        KeyAction::Show(pane) => {
            terminal.press(key);
            terminal.sees(match pane {
                Pane::Terminal => "line 299",
                Pane::Log => "iteration 1: Write hello.txt",
                Pane::Diff => "new of the agent",
                Pane::History => "outcome",
                Pane::Messages => "No messages.",
                Pane::Asks => "No questions of the agent.",
                Pane::Limits => "calls per hour",
                Pane::Background => "No background tasks.",
                Pane::Report => "still running · ",
            });
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Comment => {
            terminal.press("d");
            terminal.sees("new of the agent");
            terminal.press(key);
            terminal.sees("C comments on it");
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Comments => {
            terminal.press(key);
            terminal.sees("No comments.");
            terminal.press("\x1b");
            terminal.sees_no("No comments.");
        }
        KeyAction::SetAside => {
            terminal.press("0");
            terminal.press(key);
            terminal.sees("- Write hello.txt");
            terminal.sees("running · Write hello.txt");
            terminal.press(key);
            terminal.sees_no("- Write hello.txt");
        }
        KeyAction::RaiseLimit | KeyAction::ChooseWorker => {
            let asked = match action {
                KeyAction::RaiseLimit => "raise a limit?",
                _ => "another agent or model?",
            };
            terminal.press(&format!("c{key}"));
            terminal.sees(asked);
            terminal.press("n");
            terminal.sees_no(asked);
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Skip => {
            terminal.press(key);
            terminal.sees("skip iteration 1?");
            terminal.press("n");
            terminal.sees_no("skip iteration 1?");
        }
        KeyAction::Unfold(_) => {
            terminal.press(key);
            terminal.sees("nothing is folded");
        }
        KeyAction::Prompt => {
            terminal.press(key);
            terminal.sees("prompt of iteration 1");
            terminal.sees("PLAN.md");
            terminal.press("\x1b");
            terminal.sees("line 299");
        }
        KeyAction::NextMatch | KeyAction::PreviousMatch => {
            terminal.press("/line 12\r");
            terminal.sees("11/11");
            terminal.press("n");
            terminal.sees("10/11");
            if action == KeyAction::PreviousMatch {
                terminal.press(key);
                terminal.sees("11/11");
            }
            terminal.press("G");
            terminal.sees_no(" below");
        }
        KeyAction::Copy => {
            let before = terminal.written().len();
            terminal.press(key);
            terminal.sees("the visible text");
            terminal.press("l");
            // "line 299"
            terminal.writes("\x1b]52;c;bGluZSAyOTk=\x07", before);
            terminal.sees("copied 1 line");
        }
        KeyAction::Filter => {
            terminal.press("l");
            terminal.press(key);
            terminal.sees("only problems");
            terminal.press("ffff");
            terminal.sees("iteration 1: Write hello.txt");
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Search => {
            terminal.press(key);
            terminal.sees("Enter keeps it");
            terminal.press("\x1b");
            terminal.sees_no("Enter keeps it");
        }
        KeyAction::LineUp | KeyAction::PageUp | KeyAction::Top => {
            terminal.press(key);
            terminal.sees(" below");
            terminal.press("G");
            terminal.sees_no(" below");
        }
        KeyAction::LineDown | KeyAction::PageDown | KeyAction::Bottom => {
            let up = match action {
                KeyAction::LineDown => "\x1b[A",
                _ => "\x1b[5~",
            };
            terminal.press(up);
            terminal.sees(" below");
            terminal.press(key);
            terminal.sees_no(" below");
        }
        KeyAction::Open => {
            terminal.press("h");
            terminal.press(key);
            terminal.sees("Esc leaves");
            terminal.press("\x1b");
            terminal.sees_no("Esc leaves");
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Back => {
            terminal.press("c");
            terminal.sees("calls per hour");
            terminal.press(key);
            terminal.sees("line 299");
        }
        KeyAction::Help => {
            terminal.press(key);
            terminal.sees("─ keys: ");
            terminal.press("\x1b");
            terminal.sees_no("─ keys: ");
        }
        KeyAction::Palette => {
            terminal.press(key);
            terminal.press("go to log");
            terminal.press("\r");
            terminal.sees("iteration 1: Write hello.txt");
            for (command, seen) in [("glyphs: a", "- plan -"), ("glyphs: u", "─ plan ─")] {
                terminal.press(key);
                terminal.press(command);
                terminal.press("\r");
                terminal.sees(seen);
            }
            terminal.press("t");
            terminal.sees("line 299");
        }
        KeyAction::Redraw => {
            let before = terminal.written().len();
            terminal.press(key);
            terminal.writes("\x1b[1;1H\x1b[J", before);
            terminal.sees("line 299");
        }
        KeyAction::Quit => {
            terminal.press(key);
            terminal.sees("leave the run?");
            terminal.press("n");
            terminal.sees_no("leave the run?");
        }
        // These keys have tests of their own; those of replays are tested in `replaying`.
        KeyAction::Detach
        | KeyAction::CopyContinue
        | KeyAction::Look(_)
        | KeyAction::StopAfterIteration
        | KeyAction::Withdraw
        | KeyAction::CancelTask
        | KeyAction::Fold
        | KeyAction::Edit
        | KeyAction::Suspend
        | KeyAction::Interrupt
        | KeyAction::NextPart
        | KeyAction::PreviousPart
        | KeyAction::SeekForward
        | KeyAction::SeekBackward
        | KeyAction::NextFile
        | KeyAction::PreviousFile
        | KeyAction::Wrap
        | KeyAction::Split
        | KeyAction::Leftwards
        | KeyAction::Rightwards
        | KeyAction::CompareEarlier
        | KeyAction::CompareLater
        | KeyAction::PreviousIteration
        | KeyAction::NextIteration
        | KeyAction::Slower
        | KeyAction::Faster => {}
    }
}

#[test]
fn every_key_does_what_the_help_says() {
    let sandbox = Sandbox::new();
    let body = r#"echo "new of the agent" > new.txt; i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); done; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("line 299");
    for binding in keys::TABLE
        .iter()
        .filter(|binding| binding.when != keys::BindingScope::Replay)
    {
        for key in binding.keys {
            check(&mut terminal, binding.action, &bytes(*key));
        }
    }
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}
