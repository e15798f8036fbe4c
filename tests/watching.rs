//! `ralph status --watch`: a reader of a run that may detach and return.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::event::{Event, IterationEvent};
use serde_json::{Value, json};

use crate::{
    harness::{SOON, Sandbox, Script, wait_until},
    tui::Terminal,
};

#[test]
fn a_watch_waits_for_a_run_shows_each_change_outlives_a_kill_and_ends_with_the_runs_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "said working; [ $n = 1 ] || await go-$n; work; over 'One task less.'",
    ));
    sandbox.plan(3);
    let plain = sandbox.ralph(["status", "--watch"]).start();
    let json = sandbox.ralph(["status", "--watch", "--json"]).start();
    let terminal = Terminal::start(&sandbox.ralph(["status", "--watch"]), 100, 30);
    terminal.sees("waiting for one to start");
    wait_until(SOON, "both to wait", || {
        [&plain, &json]
            .iter()
            .all(|watch| watch.so_far().contains("waiting"))
            .then_some(())
    });

    let limited = ["--max-iterations", "3"];
    let first = sandbox.looping(limited).start();
    first.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { iteration: 2, .. }))
    });
    plain.wait_for_line(SOON, |line| line.contains("1 of 3 tasks · Task 2"));
    json.wait_for_line(SOON, |line| line.contains(r#""tasksDone":1"#));
    terminal.sees("1 of 3 done");
    assert!(!terminal.text().contains("0 of 3 done"), "{}", terminal.text());
    first.kill();
    first.wait_for_exit(SOON);
    terminal.sees("the run was interrupted");

    let resumed = sandbox.looping(limited).start();
    resumed.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { iteration: 3, .. }))
    });
    terminal.sees(&format!("running (pid {})", resumed.pid()));
    let of_resumed = format!(r#""pid":{},"#, resumed.pid());
    json.wait_for_line(SOON, |line| line.contains(&of_resumed));
    plain.wait_for_line(SOON, |line| line.starts_with("running iteration 3"));
    sandbox.release("go-3");
    assert_eq!(resumed.wait(SOON).code(), Some(6));
    let (plain, json) = (plain.wait(SOON), json.wait(SOON));
    assert_eq!((plain.code(), json.code()), (Some(6), Some(6)), "{plain:?} {json:?}");
    let last = plain.stdout.lines().last().expect("a line");
    assert!(last.contains("2 of 3 tasks"), "{}", plain.stdout);
    let states: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object in each line"))
        .collect();
    assert_eq!(states.last().expect("a line")["over"], true);
    assert!(
        states
            .iter()
            .all(|state| state["asks"].is_array() && state.get("view").is_none()),
        "{states:?}"
    );
    assert!(states.windows(2).all(|two| two[0] != two[1]), "only changes are told");
    terminal.sees("2 of 3 done");
}

/// Imitates a loop that has ended `run` but has not exited: it holds the lock and answers every request with `status`.
fn ending(sandbox: &Sandbox, run: &str, status: &'static str) -> File {
    let paths = sandbox.paths();
    let mut lock = File::create(paths.lock()).expect("the lock");
    lock.lock().expect("nobody has it");
    let holder = json!({"pid": std::process::id(), "run": run});
    write!(lock, "{holder}").expect("the lock takes a line");
    _ = fs::remove_file(paths.socket()); // a loop that ends takes it along
    let listener = UnixListener::bind(paths.socket()).expect("a socket");
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            refuse(&mut client, status);
        }
    });
    lock
}

fn refuse(client: &mut UnixStream, status: &str) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count > 0) {
        head.extend(byte);
    }
    let body = r#"{"detail": "the stand-in says no"}"#;
    let length = body.len();
    // The client may have closed the connection.
    _ = write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}

#[test]
fn a_watch_that_is_refused_reads_the_end_of_a_run_from_its_journal_or_says_what_it_was_told() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said working; work; over 'One task less.'"));
    sandbox.plan(3);
    let limited = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(limited.code(), Some(6), "{limited:?}");
    let run = sandbox.paths().latest_run().expect("a run").0;

    let lock = ending(&sandbox, &run, "409 Conflict");
    let watch = sandbox.ralph(["status", "--watch"]).run(SOON);
    assert_eq!(watch.code(), Some(6), "{watch:?}");
    assert!(watch.stdout.contains("1 of 3 tasks"), "{watch:?}");
    assert!(!watch.stderr.contains("interrupted"), "{watch:?}");
    drop(lock);

    let _lock = ending(&sandbox, &run, "403 Forbidden");
    let watch = sandbox.ralph(["status", "--watch"]).run(SOON);
    assert_eq!(watch.code(), Some(1), "{watch:?}");
    assert!(watch.stderr.contains("the stand-in says no"), "{watch:?}");
}

#[test]
fn a_watch_says_that_a_stopped_ralph_does_not_answer() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said working; await go; work; over 'One task less.'"));
    sandbox.plan(1);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let pid = Pid::from_raw(sandbox.loop_pid());
    kill(pid, Signal::SIGSTOP).expect("it runs");
    let watch = sandbox.ralph(["status", "--watch"]).start();
    wait_until(SOON, "the watch to give up", || {
        watch.so_far().contains("does not answer").then_some(())
    });
    kill(pid, Signal::SIGCONT).expect("it is there");
    watch.wait_for_line(SOON, |line| line.contains("0 of 1 tasks"));
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
    assert_eq!(watch.wait(SOON).code(), Some(0));
}
