//! Leaving the screen, and the text left on the terminal.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::event::StopReason;

use super::{PATIENT, Terminal, reason, screen, watching};
use crate::harness::{SOON, Sandbox, Script, wait_until};

const BACK: &str = "\x1b[?1049l";

#[test]
fn an_end_stays_on_the_screen_until_it_was_seen_and_leaves_a_summary() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    terminal.sees("DONE, NOT VERIFIED · 2 tasks · ");
    terminal.sees("Work of iteration 1");
    assert!(terminal.on_other_screen());
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.on_other_screen());
    let text = terminal.text();
    assert!(text.contains("2 of 2 tasks done · 2 iterations"), "{text}");
    assert!(text.contains("recordings: ") && text.contains("ralph replay"), "{text}");
    sandbox.assert_nothing_runs();
}

#[test]
fn every_end_is_a_page_that_says_what_to_type_and_what_nobody_has_checked() {
    let works = || Script::terminal("work; promise");
    let login = Script::jsonl(r#"failed '{"kind":"auth"}' 'unexpected status 401 Unauthorized'"#);
    type Case<'c> = (Script, &'c [&'c str], &'c [&'c str], u32);
    let cases: [Case<'_>; 4] = [
        (
            works(),
            &["--goal", "tests=true"],
            &["DONE, PASSED · 2 tasks", "all goals passed"],
            0,
        ),
        (
            works(),
            &[],
            &["DONE, NOT VERIFIED", "so nothing was checked", "--goal"],
            0,
        ),
        (
            login,
            &[],
            &[
                "FAILED: script is not logged in",
                "it said: unexpected status 401",
                "run script login",
            ],
            1,
        ),
        (
            Script::terminal("work"),
            &["--max-iterations", "1"],
            &["iteration limit reached", "decide whether to continue"],
            6,
        ),
    ];
    for (script, args, words, code) in cases {
        let sandbox = Sandbox::new();
        let hint = r#"{ "adapters": { "script": { "login": { "hint": "run `script login`" } } } }"#;
        sandbox.install(&script);
        std::fs::write(sandbox.config().join("ralph/config.json"), hint).expect("written");
        let mut terminal = Terminal::start(&screen(&sandbox).args(args), 100, 40);
        for words in words.iter().chain(&["Unverified", "Write hello.txt"]) {
            terminal.sees(words);
        }
        terminal.press("\x1b");
        terminal.sees_no("Unverified");
        terminal.press("R");
        terminal.sees("Unverified");
        terminal.press("q");
        assert_eq!(terminal.ends(), code, "{args:?}");
    }
}

#[test]
fn leaving_asks_while_the_run_is_not_over() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("q");
    terminal.sees("leave the run?");
    terminal.press("n");
    terminal.sees_no("leave the run?");
    terminal.press("q");
    terminal.sees("leave the run?");
    terminal.press("y");
    assert_eq!(terminal.ends(), 130);
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::Requested));
    assert!(terminal.text().contains("stopped by user"));
    sandbox.assert_nothing_runs();
}

#[test]
fn leaving_after_the_iteration_lets_it_finish() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    terminal.press("qa");
    terminal.sees("stops after this");
    sandbox.release("go1");
    assert_eq!(terminal.ends(), 130);
    assert_eq!(sandbox.commits(), 2, "the iteration did its work");
}

#[test]
fn one_ctrl_c_asks_the_second_stops_in_order_and_a_third_one_at_once() {
    let sandbox = Sandbox::new();
    let stubborn =
        Script::terminal(r#"echo ready; exec "$FAKE_AGENT" ignore-signals hang"#).stopped_by("interrupt", 60_000);
    let mut terminal = watching(&sandbox, &stubborn);
    terminal.sees("ready");
    terminal.press("\x03");
    terminal.sees("leave the run?");
    terminal.press("\x03");
    terminal.sees("ending the iteration · stopping");
    terminal.press("\x03");
    assert_eq!(terminal.ends(), 130);
    assert_eq!(reason(&sandbox.journal()), Some(&StopReason::Interrupted));
    assert!(!terminal.on_other_screen());
    sandbox.assert_nothing_runs();
}

#[test]
fn a_signal_that_ends_the_run_gives_the_terminal_back() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    kill(Pid::from_raw(terminal.pid()), Signal::SIGTERM).unwrap();
    assert_eq!(terminal.ends(), 143);
    assert!(!terminal.on_other_screen());
    assert!(terminal.text().contains("terminated"), "{}", terminal.text());
}

#[test]
fn a_signal_ends_a_screen_that_only_shows_the_end() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    terminal.sees(" · 2 tasks · ");
    kill(Pid::from_raw(terminal.pid()), Signal::SIGTERM).unwrap();
    assert_eq!(terminal.ends(), 0, "the run was done all the same");
    assert!(!terminal.on_other_screen());
}

/// A terminal whose screen has failed, so that the run is shown as text.
pub fn broken(sandbox: &Sandbox) -> Terminal {
    sandbox.install(&Script::terminal(PATIENT));
    let program = screen(sandbox).env("RALPH_TEST_BREAK_SCREEN", "1");
    let mut terminal = Terminal::start(&program, 100, 30);
    terminal.sees("ready 1");
    terminal.press("\x1b[24~");
    terminal.sees("the screen broke; the run continues as text");
    terminal
}

#[test]
fn a_screen_that_breaks_becomes_text_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let mut terminal = broken(&sandbox);
    assert!(!terminal.on_other_screen());
    sandbox.release("go1");
    sandbox.release("go2");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.written().contains("finished 2"));
    assert_eq!(sandbox.commits(), 3);
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_the_run_is_continued() {
    let sandbox = Sandbox::new();
    let body = r#"echo "ready $n"; await "go$n"; "$FAKE_AGENT" 'flood-color 3000000'; work"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("ready 1");
    let before = terminal.written().len();
    terminal.press("\x1a");
    terminal.writes(BACK, before);
    terminal.is_stopped();
    let stopped = terminal.written().len();
    // Only the screen is stopped. The run continues and does not wait for a client that reads nothing.
    sandbox.release("go1");
    wait_until(SOON, "the work of an iteration", || {
        (sandbox.commits() == 2).then_some(())
    });
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).unwrap();
    terminal.writes("\x1b[?1049h", stopped);
    terminal.sees("ready 2");
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn the_window_is_named_after_the_run_and_gets_its_name_back() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    terminal.writes("\x1b]2;project · 2/2 · done", 0);
    terminal.writes("\x1b]9;ralph project: done", 0);
    terminal.press("q");
    terminal.ends();
    let written = terminal.written();
    assert!(written.contains("\x1b[22;2t") && written.contains("\x1b[23;2t"));
}

#[test]
fn a_command_is_told_why_the_run_ended() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".ralph/config.json",
        r#"{"notify": "printf %s \"$RALPH_REASON, ${ANTHROPIC_API_KEY-no key}\" > \"$HOME/told\""}"#,
    );
    sandbox.set_variable("ANTHROPIC_API_KEY", "sk-one");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Configure"]);
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    let told = wait_until(SOON, "the command", || {
        sandbox.read_home("told").filter(|told| !told.is_empty())
    });
    assert!(
        told.starts_with("ralph project: done") && told.ends_with(", no key"),
        "{told}"
    );
    // The screen is another process, and may be behind.
    terminal.sees("done (not verified)");
    terminal.press("q");
    terminal.ends();
}

#[test]
fn a_command_that_tells_the_end_is_waited_for_and_leaves_nobody_behind() {
    let sandbox = Sandbox::new();
    let command = r#"{"notify": "setsid sleep 999 & touch told; until [ -e go ]; do sleep 0.01; done; touch ended"}"#;
    sandbox.write(".ralph/config.json", command);
    sandbox.write(".gitignore", "/told\n/go\n/ended\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Configure"]);
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    wait_until(SOON, "the command", || sandbox.read("told"));
    terminal.sees("done (not verified)");
    terminal.press("q");
    sandbox.write("go", "");
    terminal.ends();
    assert!(sandbox.read("ended").is_some(), "it was cut off");
    sandbox.assert_nothing_runs();
}

#[test]
fn the_demo_works_on_a_screen() {
    let sandbox = Sandbox::new();
    let program = sandbox.ralph(["demo"]).env("RALPH_DEMO_SPEED", "0");
    let mut terminal = Terminal::start(&program, 80, 24);
    terminal.sees(" · 4 tasks · ");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.text().contains("The repository is in"));
}

#[test]
fn a_run_that_ended_at_its_limit_is_continued_on_its_screen() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let mut terminal = Terminal::start(&screen(&sandbox).args(["--max-iterations", "1"]), 100, 30);
    terminal.sees("iteration limit reached");
    terminal.press("r");
    terminal.sees("continue the run?");
    terminal.sees("`ralph continue --iterations 1`");
    terminal.press("y");
    terminal.sees(" · 2 tasks · ");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(sandbox.paths().run_ids().len(), 1, "the same run");
    sandbox.waits_until_nothing_runs();
}
