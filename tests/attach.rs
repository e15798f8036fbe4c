//! A run outlives its terminal, and has any number of screens.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    sync::{Arc, Mutex},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::event::{Event, IterationEvent, Record, RequestedBy, RunEvent, StopReason};

use crate::{
    api::http::{address, token},
    harness::{SOON, Sandbox, Script, wait_until},
    tui::{PATIENT, Terminal, ending::broken, pane, screen, watching},
};

/// Another terminal with the same run.
fn attached(sandbox: &Sandbox, cols: u16, rows: u16) -> Terminal {
    Terminal::start(&sandbox.ralph(["attach"]), cols, rows)
}

fn stop_reason(records: &[Record]) -> Option<&StopReason> {
    records.iter().find_map(|record| match &record.event {
        Event::Run(RunEvent::Stopped { reason, .. }) => Some(reason),
        _ => None,
    })
}

#[test]
fn closing_the_terminal_detaches_attach_shows_the_whole_run_and_wait_tells_its_end() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".ralph/config.json",
        r#"{"notify": "echo \"$RALPH_REASON\" >> \"$HOME/told\""}"#,
    );
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Configure"]);
    sandbox.install(&Script::terminal(PATIENT));
    let shell = screen(&sandbox).under(&["sh", "-c", "\"$@\"; :", "sh"]);
    let closed = Terminal::start(&shell, 100, 30);
    closed.sees("ready 1");
    let run = sandbox.loop_pid();
    // The terminal hangs up when the leader of its session dies.
    kill(Pid::from_raw(closed.pid()), Signal::SIGKILL).unwrap();
    wait_until(SOON, "the end of the screen", || {
        let screens = sandbox.processes();
        let is_screen = |command: &str| command.starts_with(env!("CARGO_BIN_EXE_ralph"));
        (!screens.iter().any(|process| is_screen(&process.command))).then_some(())
    });
    sandbox.release("go1");
    let mut terminal = attached(&sandbox, 120, 40);
    terminal.sees("ready 2");
    terminal.press("l");
    terminal.sees("iteration 1: Write hello.txt");
    terminal.press("t");
    terminal.sees("ready 2");
    terminal.press("q");
    terminal.sees("leave the run?");
    terminal.press("d");
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.on_other_screen());
    assert!(terminal.text().contains("the run continues"), "{}", terminal.text());
    assert_eq!(sandbox.loop_pid(), run, "it is the same process all the time");
    // The run may end before `ralph wait` looks at it.
    let waiting = sandbox.ralph(["wait", &running_id(&sandbox)]).start();
    sandbox.release("go2");
    let waited = waiting.wait(SOON);
    assert_eq!(waited.code(), Some(0), "{waited:?}");
    assert!(waited.stdout.contains("is over: "), "{waited:?}");
    sandbox.waits_until_nothing_runs();
    let told = sandbox.read_home("told").expect("what the user's command was told");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_run_whose_end_is_shown_is_over_for_wait_for_a_watch_and_for_the_next_run() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal("work; promise"));
    let while_it_works = sandbox.ralph(["status", "--watch"]).start();
    terminal.sees(" · 2 tasks · ");
    terminal.sees("done (not verified)");
    for args in [&["wait"][..], &["status", "--watch"]] {
        let waited = sandbox.ralph(args).run(SOON);
        assert_eq!(waited.code(), Some(0), "{args:?}: {waited:?}");
        assert!(waited.stdout.contains("done (not verified)"), "{args:?}: {waited:?}");
    }
    let watched = while_it_works.wait(SOON);
    assert_eq!(watched.code(), Some(0), "{watched:?}");
    assert!(terminal.on_other_screen(), "the end is shown until another run begins");
    sandbox.write("PLAN.md", "- [ ] One more\n");
    let next = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(next.code(), Some(0), "{next:?}");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.text().contains("2 of 2 tasks done"), "{}", terminal.text());
    sandbox.waits_until_nothing_runs();
}

#[test]
fn two_terminals_have_their_own_sizes_and_none_of_them_takes_the_run_along() {
    let sandbox = Sandbox::new();
    let (one, other) = (pane(100, 30), pane(120, 40));
    let body = format!(
        r#"if [ "$n" = 1 ]; then
               "$FAKE_AGENT" size 'wait-size {}x{}' 'say wide now' 'wait-size {}x{}' 'say narrow again'
               await go
           fi
           work"#,
        other.cols, other.rows, one.cols, one.rows
    );
    let first = watching(&sandbox, &Script::terminal(&body));
    first.sees(&format!("{}x{}", one.cols, one.rows));
    let mut second = attached(&sandbox, 120, 40);
    second.sees(&format!("{}x{}", one.cols, one.rows));
    second.press("i");
    second.sees("you type to the agent");
    second.press("x");
    first.sees("wide now");
    second.sees("wide now");
    kill(Pid::from_raw(second.pid()), Signal::SIGKILL).unwrap();
    first.sees("narrow again");
    kill(Pid::from_raw(first.pid()), Signal::SIGKILL).unwrap();
    let mut third = attached(&sandbox, 100, 30);
    third.sees("narrow again");
    sandbox.release("go");
    third.sees(" · 2 tasks · ");
    third.press("q");
    assert_eq!(third.ends(), 0);
    assert!(third.text().contains("2 of 2 tasks done"), "{}", third.text());
    sandbox.waits_until_nothing_runs();
    assert_eq!(sandbox.commits(), 3);
}

#[test]
fn a_loop_that_is_killed_is_told_from_one_that_has_ended_and_can_be_resumed() {
    let sandbox = Sandbox::new();
    let mut terminal = watching(&sandbox, &Script::terminal(PATIENT));
    terminal.sees("ready 1");
    let mut visitor = attached(&sandbox, 80, 24);
    visitor.sees("ready 1");
    kill(Pid::from_raw(sandbox.loop_pid()), Signal::SIGKILL).unwrap();
    for terminal in [&mut terminal, &mut visitor] {
        assert_eq!(terminal.ends(), 1);
        assert!(!terminal.on_other_screen());
        let text = terminal.text();
        assert!(
            text.contains("the run was interrupted") && text.contains("`ralph continue` resumes it"),
            "{text}"
        );
    }
    sandbox.waits_until_nothing_runs();
    let mut terminal = Terminal::start(&screen(&sandbox), 100, 30);
    terminal.sees("iteration 2");
    kill(Pid::from_raw(terminal.pid()), Signal::SIGTERM).unwrap();
    assert_eq!(
        terminal.ends(),
        143,
        "whoever ends what they have started means the run"
    );
    assert_eq!(stop_reason(&sandbox.journal()), Some(&StopReason::Terminated));
}

#[test]
fn what_is_wrong_before_the_start_is_said_as_without_a_process_of_its_own() {
    let sandbox = Sandbox::new();
    let said = |args: &[&str]| {
        let mut terminal = Terminal::start(&screen(&sandbox).args(args), 100, 30);
        (terminal.ends(), terminal.text())
    };
    sandbox.install(&Script::terminal(PATIENT));
    for wrong in [
        &["--adapter", "nobody"][..],
        &["--plan", "NONE.md"],
        &["--max-iterations", "many"],
    ] {
        let (code, text) = said(wrong);
        assert!(code > 1 && text.contains("error: "), "{code}: {text}");
        let foreground: Vec<&str> = wrong.iter().copied().chain(["--foreground"]).collect();
        assert_eq!(said(&foreground), (code, text));
    }
    let mut terminal = Terminal::start(&screen(&sandbox).env("TMPDIR", "/nowhere"), 100, 30);
    assert_eq!(terminal.ends(), 1);
    assert!(
        terminal.text().contains("no temporary directory"),
        "{}",
        terminal.text()
    );
    sandbox.assert_nothing_runs(); // no unwatched run is left
    let mut terminal = Terminal::start(&screen(&sandbox), 100, 30);
    terminal.sees("ready 1");
    let (code, text) = said(&[]);
    assert!(
        code == 5 && text.contains("another ralph is already running in this project"),
        "{text}"
    );
    terminal.press("qy");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn a_loop_that_fails_says_why_on_the_terminal_of_its_screen() {
    let sandbox = Sandbox::new();
    let body = r#"echo "ready $n"; await go; for f in "$XDG_STATE_HOME"/ralph/*/runs/*/events.jsonl; do echo x >> "$f"; done; work"#;
    let mut terminal = watching(&sandbox, &Script::terminal(body));
    terminal.sees("ready 1");
    sandbox.release("go");
    assert_eq!(terminal.ends(), 1);
    let text = terminal.text();
    assert!(
        text.contains("events.jsonl") && text.contains("the run was interrupted"),
        "{text}"
    );
    sandbox.waits_until_nothing_runs();
}

#[test]
fn an_interrupt_stops_the_run_where_its_screen_has_become_text() {
    let sandbox = Sandbox::new();
    let mut terminal = broken(&sandbox);
    kill(Pid::from_raw(terminal.pid()), Signal::SIGINT).unwrap();
    assert_eq!(terminal.ends(), 130);
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_screen_ends_with_its_terminal_which_fails_and_continues_it_at_once() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(PATIENT));
    let mut program = Terminal::closed_after(&screen(&sandbox), "ready");
    // The system continues the processes of a terminal that hangs up.
    let status = wait_until(SOON, "the end of the screen", || {
        program.try_wait().expect("the state of a child")
    });
    assert_eq!(status.exit_code(), 129);
    let mut visitor = Terminal::closed_after(&sandbox.ralph(["attach"]), "ready");
    let status = wait_until(SOON, "the end of the screen", || {
        visitor.try_wait().expect("the state of a child")
    });
    assert_eq!(status.exit_code(), 129);
    assert_eq!(sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_run_in_the_foreground_ends_with_its_terminal_whoever_else_looks() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(PATIENT));
    let mut terminal = Terminal::start(&screen(&sandbox).arg("--foreground"), 100, 30);
    terminal.sees("ready 1");
    let mut visitor = attached(&sandbox, 80, 24);
    visitor.sees("ready 1");
    terminal.press("q");
    terminal.sees("stop the run?");
    terminal.press("n");
    kill(Pid::from_raw(terminal.pid()), Signal::SIGHUP).unwrap();
    assert_eq!(terminal.ends(), 129);
    assert_eq!(visitor.ends(), 129, "{}", visitor.text());
    let by = RequestedBy::Hangup;
    let hung_up =
        |record: &Record| matches!(record.event, Event::Run(RunEvent::StopRequested { by: asked, .. }) if asked == by);
    assert!(sandbox.journal().iter().any(hung_up));
    sandbox.assert_nothing_runs();
}

#[test]
fn attach_and_wait_say_what_to_type_where_there_is_nothing_to_show() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("work; promise"));
    for command in ["attach", "wait"] {
        let said = sandbox.ralph([command]).run(SOON);
        assert_eq!(said.code(), Some(1));
        assert!(said.stderr.contains("ralph is not running in this project"), "{said:?}");
        assert!(said.stderr.contains("hint: "), "{said:?}");
    }
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let run = sandbox.paths().latest_run().expect("a run").0;
    let said = sandbox.ralph(["attach", &run]).run(SOON);
    assert!(
        said.stderr.contains("is over") && said.stderr.contains("ralph report"),
        "{said:?}"
    );
    let said = sandbox.ralph(["wait", &run]).run(SOON);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let said = sandbox.ralph(["attach", "no-such-run"]).run(SOON);
    assert_eq!(said.code(), Some(2), "{said:?}");
    let said = sandbox.ralph(["--__loop"]).run(SOON);
    assert_eq!(said.code(), Some(2), "nobody has started it: {said:?}");
}

#[test]
fn a_wait_whose_stream_is_cut_waits_on_while_the_loop_runs() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said working; await go; work; promise"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let (socket, moved) = (
        sandbox.paths().socket(),
        sandbox.paths().socket().with_extension("moved"),
    );
    fs::rename(&socket, &moved).expect("the run's socket");
    let listener = UnixListener::bind(&socket).expect("a socket in its place");
    listener.set_nonblocking(true).expect("a socket that is polled");
    let comes = || wait_until(SOON, "the wait to connect", || listener.accept().ok()).0;
    let waiting = sandbox.ralph(["wait"]).start();
    let mut near = comes();
    let mut far = UnixStream::connect(&moved).expect("the run");
    // Lets through the head of the answer and the first frame, and nothing more.
    let mut asked = [0; 4096];
    let count = near.read(&mut asked).expect("a request");
    far.write_all(&asked[..count]).expect("the run listens");
    let mut passed = Vec::new();
    while !String::from_utf8_lossy(&passed).contains(&running_id(&sandbox)) {
        let mut bytes = [0; 4096];
        let count = far.read(&mut bytes).expect("an answer");
        near.write_all(&bytes[..count]).expect("the wait listens");
        passed.extend_from_slice(&bytes[..count]);
    }
    near.shutdown(Shutdown::Both).expect("it is there");
    // The client asks again and finds the run.
    drop(comes());
    drop(listener);
    fs::rename(&moved, &socket).expect("the run's socket");
    sandbox.release("go");
    let waited = waiting.wait(SOON);
    assert_eq!(waited.code(), Some(0), "{waited:?}");
    assert!(waited.stdout.contains("is over: "), "{waited:?}");
    assert_eq!(running.wait(SOON).code(), Some(0));
}

fn running_id(sandbox: &Sandbox) -> String {
    sandbox.paths().latest_run().expect("a run").0
}

/// A network between a screen and its run that a test can cut.
#[derive(Clone)]
struct Network(Arc<Mutex<Wires>>);

struct Wires {
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Network {
    /// Forwards connections at the returned address to `run`.
    fn to(run: SocketAddr) -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("an address");
        let network = Network(Arc::new(Mutex::new(Wires {
            is_cut: false,
            streams: Vec::new(),
        })));
        let passing = network.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let mut wires = passing.0.lock().expect("nobody panics with it");
                if let Ok(far) = TcpStream::connect(run)
                    .map_err(drop)
                    .and_then(|far| match wires.is_cut {
                        true => Err(()),
                        false => Ok(far),
                    })
                {
                    for (from, to) in [(&near, &far), (&far, &near)] {
                        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                        thread::spawn(move || {
                            _ = io::copy(&mut from, &mut to); // it was cut
                            _ = to.shutdown(Shutdown::Write);
                        });
                    }
                    wires.streams.extend([near, far]);
                }
            }
        });
        (network, at)
    }

    fn cut(&self) {
        let mut wires = self.0.lock().unwrap();
        wires.is_cut = true;
        for stream in wires.streams.drain(..) {
            _ = stream.shutdown(Shutdown::Both); // it may have ended
        }
    }

    fn mend(&self) {
        self.0.lock().unwrap().is_cut = false;
    }
}

#[test]
fn a_screen_whose_network_is_lost_says_so_and_comes_back_without_a_gap_or_a_double() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(PATIENT));
    let running = sandbox.looping(["--listen", "127.0.0.1:0"]).start();
    let (network, at) = Network::to(address(&running));
    let url = format!("http://{at}");
    let file = sandbox.home().join("token");
    let attach = |token: &str| {
        std::fs::write(&file, token).unwrap();
        let program = sandbox.ralph(["attach", "--url", &url, "--token-file"]).arg(&file);
        Terminal::start(&program, 100, 30)
    };
    let mut refused = attach("not-the-token");
    assert_eq!(refused.ends(), 1);
    assert!(refused.text().contains("the token is wrong"), "{}", refused.text());

    let mut terminal = attach(&format!("{}\n", token(&sandbox, &[])));
    terminal.sees("ready 1");
    network.cut();
    terminal.sees("the connection is lost");
    sandbox.release("go1");
    wait_until(SOON, "the next iteration", || {
        sandbox.recording(2).contains("ready 2").then_some(())
    });
    network.mend();
    terminal.sees("ready 2");
    terminal.press("l");
    terminal.sees("iteration 2: Write world.txt");
    let log = terminal.text();
    assert_eq!(log.matches("iteration 1: Write hello.txt").count(), 1, "{log}");
    assert_eq!(log.matches("iteration 2: Write world.txt").count(), 1, "{log}");
    terminal.press("p");
    terminal.sees("pauses after this");
    terminal.press("qd");
    assert_eq!(terminal.ends(), 0);
    drop(running);
}
