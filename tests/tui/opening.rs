//! The content of a pane, opened in the user's editor.

use std::{fs, path::Path};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{Terminal, screen};
use crate::harness::{Sandbox, Script};

/// Finishes one task per iteration, once released.
const AGENT: &str = r#"echo "ready $n"; : > "$HOME/began$n"; await "go$n"; work"#;

/// Shows its file and appends a line typed on its terminal; `after 2` waits until the second iteration has begun.
const EDITOR: &str = r#"
trap 'echo "interrupted, not ralph"' INT
stat -c 'mode %a' "$1"
cat "$1"
echo "editing $1"
while ! read -r line; do :; done
[ "$line" != "after 2" ] || "$FAKE_AGENT" "wait-file $HOME/began2"
echo "$line" >> "$1"
echo "$1" > "$HOME/edited"
"#;

fn watching(sandbox: &Sandbox) -> Terminal {
    let editor = sandbox.home().join("editor");
    fs::write(&editor, EDITOR).expect("an editor");
    sandbox.install(&Script::terminal(AGENT));
    Terminal::start(
        &screen(sandbox).env("VISUAL", format!("sh {}", editor.display())),
        100,
        30,
    )
}

#[test]
fn what_is_shown_opens_in_the_editor_while_the_run_goes_on_and_its_file_is_deleted() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox);
    terminal.sees("ready 1");
    terminal.press("e");
    terminal.sees("editing ");
    terminal.sees("mode 600");
    assert!(terminal.text().contains("ready 1") && !terminal.on_other_screen());
    // Keys and signals go to the editor.
    terminal.press_until("\x03", "interrupted, not ralph");
    sandbox.release("go1");
    terminal.press("after 2\r");
    terminal.sees("ready 2");
    assert!(terminal.on_other_screen());
    terminal.sees("1/2 · iteration 2");
    let edited = sandbox.read_home("edited").expect("it was edited");
    assert!(edited.trim().ends_with("-transcript.txt"), "{edited}");
    assert!(!Path::new(edited.trim()).exists(), "{edited}");
    // The screen reads keys again.
    terminal.press("h");
    terminal.sees("outcome");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn ctrl_z_in_the_editor_leads_to_the_shell_and_back_and_the_plan_is_edited_itself() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox);
    terminal.sees("ready 1");
    terminal.press("0e");
    terminal.sees("editing ");
    terminal.press("\x1a");
    terminal.is_stopped();
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).expect("it is there");
    terminal.press("- [ ] One more task\r");
    terminal.sees("changes to the plan apply from the next iteration");
    assert!(
        sandbox
            .read("PLAN.md")
            .expect("a plan")
            .ends_with("- [ ] One more task\n")
    );
    assert!(terminal.on_other_screen());
    sandbox.release("go1");
    terminal.sees("1/3 · iteration 2");
    // The editor's stop is over, and this one is another.
    kill(Pid::from_raw(terminal.pid()), Signal::SIGTSTP).expect("it is there");
    terminal.is_stopped();
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).expect("it is there");
    terminal.sees("back after");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}
