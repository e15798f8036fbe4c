//! Output for terminals of all kinds: colours, characters, the mouse.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{PATIENT, Terminal, screen, watching};
use crate::harness::{Sandbox, Script};

/// An agent that prints in colours: one of 16 million, one of 256, one of 16.
const COLOURFUL: &str = r#"printf '\033[38;2;250;20;20mred\033[0m \033[38;5;208morange\033[0m \033[32mgreen\033[0m\n'; echo "ready"; await go"#;

/// Watches the colourful agent with these arguments and this environment until it is ready. Returns the terminal
/// output.
fn written(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(COLOURFUL));
    let mut program = screen(&sandbox);
    for argument in arguments {
        program = program.arg(argument);
    }
    for (name, value) in environment {
        program = program.env(name, value);
    }
    let mut terminal = Terminal::start(&program, 100, 30);
    terminal.sees("ready");
    let written = terminal.written();
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
    written
}

/// The parameters of every colour sequence in a text.
fn colours(written: &str) -> Vec<String> {
    let sequences = written.split("\x1b[").skip(1);
    let parameters = sequences.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    let is_colour = |parameters: &String| {
        let first = parameters.split(';').next().and_then(|first| first.parse().ok());
        matches!(first, Some(30..=38 | 40..=48 | 90..=97 | 100..=107))
    };
    parameters.filter(is_colour).collect()
}

#[test]
fn a_terminal_of_many_colours_gets_the_agents_own() {
    let all = colours(&written(&["--theme", "dark"], &[("COLORTERM", "truecolor")]));
    assert!(
        all.iter().any(|colour| colour.starts_with("38;2;250;20;20;")),
        "{all:?}"
    );
    assert!(all.iter().any(|colour| colour.starts_with("38;5;208;")), "{all:?}");
}

#[test]
fn a_light_terminal_gets_other_colours_than_a_dark_one() {
    let [dark, light] = ["dark", "light"].map(|theme| colours(&written(&["--theme", theme], &[])));
    assert!(light.iter().any(|colour| colour.starts_with("38;5;25;")), "{light:?}");
    assert!(!dark.iter().any(|colour| colour.starts_with("38;5;25;")), "{dark:?}");
}

#[test]
fn a_terminal_of_sixteen_colours_gets_no_other() {
    let all = colours(&written(&[], &[("TERM", "xterm")]));
    assert!(!all.is_empty());
    // Such a terminal would misread the longer forms, for example as blinking.
    assert!(
        all.iter()
            .all(|colour| !colour.contains("8;5;") && !colour.contains("8;2;")),
        "{all:?}"
    );
}

#[test]
fn no_color_means_none() {
    assert_eq!(colours(&written(&[], &[("NO_COLOR", "1")])), Vec::<String>::new());
}

#[test]
fn a_terminal_without_unicode_gets_plain_signs() {
    let text = written(&[], &[("LANG", "C")]);
    let others: String = text.chars().filter(|character| !character.is_ascii()).collect();
    assert_eq!(others, "");
}

#[test]
fn the_wheel_scrolls_and_a_click_shows_a_pane() {
    let sandbox = Sandbox::new();
    let body = r#"i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); done; await go"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("line 299");
    terminal.press("\x1b[<64;20;15M");
    terminal.sees("3 rows below");
    terminal.press("\x1b[<65;20;15M");
    terminal.sees_no("rows below");
    let (row, line) = terminal
        .text()
        .lines()
        .map(str::to_owned)
        .enumerate()
        .find(|(_, line)| line.contains("2 log"))
        .expect("the panes' names");
    let column = line[..line.find("2 log").expect("found")].chars().count();
    terminal.press(&format!("\x1b[<0;{};{}M", column + 1, row + 1));
    terminal.sees("iteration 1: Write hello.txt");
}

#[test]
fn without_the_mouse_selecting_is_left_to_the_terminal() {
    assert!(written(&[], &[]).contains("\x1b[?1000h"));
    assert!(!written(&["--no-mouse"], &[]).contains("\x1b[?1000h"));
}

#[test]
fn a_setting_says_how_the_screen_looks_and_flags_override_it() {
    let variables = [("RALPH_SCREEN_THEME", "light")];
    let written = written(&["--theme", "dark", "--ascii", "--no-mouse"], &variables);
    let colours = colours(&written);
    assert!(
        colours.iter().any(|colour| colour.starts_with("38;5;81;")),
        "{colours:?}"
    );
    assert!(written.is_ascii() && !written.contains("\x1b[?1000h"));
}

#[test]
fn who_stops_it_with_a_signal_gets_the_terminal_back_until_it_is_continued() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    let before = terminal.written().len();
    kill(Pid::from_raw(terminal.pid()), Signal::SIGTSTP).unwrap();
    terminal.writes("\x1b[?1049l", before);
    terminal.is_stopped();
    // The terminal is smaller when the screen returns.
    terminal.resize(60, 20);
    let stopped = terminal.written().len();
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).unwrap();
    terminal.writes("\x1b[?1049h", stopped);
    terminal.sees("ready 1");
    terminal.sees("the run continued");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn a_key_pressed_at_the_moment_of_a_resize_is_taken_and_the_screen_has_the_new_size() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    let ralph = Pid::from_raw(terminal.pid());
    for (cols, rows) in [(60, 20), (100, 30), (70, 24), (90, 30)].repeat(8) {
        // Both arrive at once after the stop.
        kill(ralph, Signal::SIGSTOP).unwrap();
        terminal.is_stopped();
        terminal.resize(cols, rows);
        terminal.press("?");
        kill(ralph, Signal::SIGCONT).unwrap();
        terminal.sees("─ keys: ");
        terminal.press("\x1b");
        terminal.sees_no("─ keys: ");
        terminal.sees(&"─".repeat(usize::from(cols) - 40));
    }
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn keys_work_after_a_stop_in_which_the_shell_used_the_terminal() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    let ralph = Pid::from_raw(terminal.pid());
    kill(ralph, Signal::SIGSTOP).unwrap();
    terminal.is_stopped();
    terminal.end_raw_mode();
    let stopped = terminal.written().len();
    kill(ralph, Signal::SIGCONT).unwrap();
    terminal.writes("\x1b[?1049h", stopped);
    terminal.press("?");
    terminal.sees("─ keys: ");
    terminal.press("\x1b");
    terminal.sees_no("─ keys: ");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn a_terminal_is_asked_for_its_background_and_what_is_typed_meanwhile_is_no_answer() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(COLOURFUL));
    terminal.writes("\x1b]11;?\x1b\\", 0);
    // `l` for the log comes before the answer, `?` for the help behind it.
    terminal.press("l\x1b]11;rgb:ffff/ffff/ffff\x1b\\?");
    terminal.sees("─ keys: ");
    terminal.press("\x1b");
    terminal.sees("iteration 1: Write hello.txt");
    let light = colours(&terminal.written());
    assert!(light.iter().any(|colour| colour.starts_with("38;5;25;")), "{light:?}");
    assert!(
        !light.iter().any(|colour| colour.starts_with("36")),
        "no frame was drawn before: {light:?}"
    );
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn an_answer_that_comes_late_changes_the_colours_and_presses_no_key() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(COLOURFUL));
    terminal.sees("ready");
    let before = terminal.written().len();
    // `:` would open the message box, and `g` would scroll.
    terminal.press("\x1b]11;rgb:1111/1111/1111\x07");
    terminal.writes("\x1b[38;5;81;", before);
    terminal.press("?");
    terminal.sees("─ keys: ");
    terminal.press("\x1b");
    terminal.sees_no("─ keys: ");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn a_terminal_gets_the_notification_that_is_tried() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox.ralph(["notify"]), 100, 30);
    terminal.writes("\x1b]9;ralph project: this is a test\x1b\\", 0);
    terminal.sees("sent a notification to this terminal");
    assert_eq!(terminal.ends(), 0);
    let mut terminal = Terminal::start(&sandbox.ralph(["notify"]).env("RALPH_NOTIFY", "bell"), 100, 30);
    terminal.writes("\x07rang the bell", 0);
    assert_eq!(terminal.ends(), 0);
}
