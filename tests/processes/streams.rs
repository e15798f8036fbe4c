//! Input and output of a session.

use std::{
    fs,
    sync::mpsc::{self, Receiver},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use ralph_core::event::Exit;
use ralph_system::proc::{
    ChildEnd, InputRefused, Launch, OutputSink, RUN_ID_VAR, Size, Stdin, StdoutMode, StopSpeed, Supervisor,
};

use super::{DEADLINE, GUARD, ProcessSandbox, alive_in, wait_until};

const DONE: ChildEnd = ChildEnd::Exited(Exit::Code { code: 0 });

fn piped(launch: Launch) -> Launch {
    Launch {
        stdout: StdoutMode::Piped,
        ..launch
    }
}

#[test]
fn the_prompt_arrives_byte_for_byte_and_ends() {
    let sandbox = ProcessSandbox::new();
    let prompt: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(sandbox.path("prompt"), &prompt).unwrap();
    let launch = Launch {
        stdin: Stdin::File(sandbox.path("prompt")),
        ..sandbox.launch(&["save-prompt copy"])
    };
    assert_eq!(sandbox.start(launch).end().end, DONE);
    assert_eq!(fs::read(sandbox.path("copy")).unwrap(), prompt);
}

#[test]
fn what_is_written_to_a_piped_stdin_arrives_in_order_until_it_is_closed() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        stdin: Stdin::Piped,
        ..sandbox.launch(&["save-prompt copy", "say over"])
    };
    let running = sandbox.start(launch);
    // Far more than a pipe holds, so most of it waits.
    let pieces: Vec<Vec<u8>> = (0..40_u8).map(|piece| vec![piece; 100_000]).collect();
    for piece in &pieces {
        assert_eq!(running.child.as_ref().unwrap().write_input(piece), Ok(()));
    }
    running.child.as_ref().unwrap().close_input();
    assert_eq!(running.child.as_ref().unwrap().write_input(b"late"), Err(InputRefused));
    assert_eq!(running.end().terminal, "over\r\n");
    assert!(fs::read(sandbox.path("copy")).unwrap() == pieces.concat());
}

#[test]
fn a_piped_stdin_that_nobody_closes_ends_with_the_child() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        stdin: Stdin::Piped,
        ..sandbox.launch(&["say ready", "sleep 3600"])
    };
    let running = sandbox.start(launch);
    assert_eq!(
        running.child.as_ref().unwrap().write_input(&vec![b'x'; 1 << 20]),
        Ok(())
    );
    running.child.as_ref().unwrap().stop(StopSpeed::Immediate);
    assert_ne!(running.end().end, DONE);
}

#[test]
fn an_empty_stdin_is_at_its_end() {
    let sandbox = ProcessSandbox::new();
    assert_eq!(sandbox.run(&["save-prompt copy", "say over"]).terminal, "over\r\n");
    assert_eq!(sandbox.read("copy"), "");
}

#[test]
fn piped_stdout_is_clean_and_stderr_stays_on_the_terminal() {
    let sandbox = ProcessSandbox::new();
    let ended = sandbox
        .start(piped(sandbox.launch(&["jsonl {\"a\":1}", "err oops", "say end"])))
        .end();
    assert_eq!(ended.end, DONE);
    assert_eq!(ended.stdout, b"{\"a\":1}\nend\n");
    assert_eq!(ended.terminal, "oops\r\n");
}

#[test]
fn a_large_pipe_arrives_completely() {
    let sandbox = ProcessSandbox::new();
    let ended = sandbox
        .start(piped(sandbox.launch(&["garbage 5000000", "long-line 1000000"])))
        .end();
    assert_eq!(ended.stdout.len(), 6_000_000);
    assert!(ended.stdout[..4096].contains(&0) && std::str::from_utf8(&ended.stdout).is_err());
    assert!(ended.stdout[5_000_000..].iter().all(|&byte| byte == b'l'));
}

#[test]
fn typing_before_the_guard_has_opened_the_pipe_costs_nothing_of_it() {
    let sandbox = ProcessSandbox::new();
    let slow = "#!/bin/sh\necho early\nwhile ! [ -e go ]; do sleep 0.01; done\nexec \"$GUARD\" \"$@\"\n";
    let guard = sandbox.script("slow-guard", slow);
    let launch = Launch {
        guard: Some(guard),
        env: vec![("GUARD".to_owned(), GUARD.to_owned())],
        ..piped(sandbox.launch(&["jsonl {\"a\":1}"]))
    };
    let mut session = sandbox.start(launch);
    session.until("early");
    // The echo arrives after another look at the pipe, which no process has opened for writing yet.
    session.child().type_bytes(b"typed");
    session.until("typed");
    fs::write(sandbox.path("go"), "").unwrap();
    let ended = session.end();
    assert_eq!((ended.end, ended.stdout), (DONE, b"{\"a\":1}\n".to_vec()));
}

#[test]
fn a_program_whose_output_cannot_be_opened_is_not_a_missing_program() {
    let sandbox = ProcessSandbox::new();
    let careless = "#!/bin/sh\nrm \"${3%/*}/stdout\"\nexec \"$GUARD\" \"$@\"\n";
    let launch = Launch {
        guard: Some(sandbox.script("careless-guard", careless)),
        env: vec![("GUARD".to_owned(), GUARD.to_owned())],
        ..piped(sandbox.launch(&["say x"]))
    };
    let ended = sandbox.start(launch).end();
    assert!(
        matches!(ended.end, ChildEnd::NotStarted { missing: false, .. }),
        "{ended:?}"
    );
}

#[test]
fn a_stdout_that_the_program_blocks_on_is_one_that_blocks() {
    // A program that gets `EAGAIN` from its stdout, because a flag was left on the FIFO, would fail here.
    let sandbox = ProcessSandbox::new();
    let ended = sandbox
        .start(piped(sandbox.launch(&["flood 20000000", "err all written"])))
        .end();
    assert_eq!((ended.end, ended.stdout.len()), (DONE, 20_000_000));
    assert_eq!(ended.terminal, "all written\r\n");
}

#[test]
fn the_terminal_has_the_size_it_was_given_and_the_agent_sees_it_change() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        size: Size { cols: 123, rows: 45 },
        ..sandbox.launch(&[
            "log-signals signals",
            "size",
            "wait-size 77x11",
            "wait-file signals",
            "size",
        ])
    };
    let mut session = sandbox.start(launch);
    session.until("123x45");
    session.child().resize(Size { cols: 77, rows: 11 });
    assert!(session.end().terminal.ends_with("77x11\r\n"));
    assert_eq!(sandbox.read("signals"), "SIGWINCH\n");
}

#[test]
fn a_typed_interrupt_reaches_the_agent_and_spares_the_guard() {
    let sandbox = ProcessSandbox::new();
    let mut session = sandbox.start(sandbox.launch(&["exit-on SIGINT 9", "say ready", "hang"]));
    session.until("ready");
    session.child().type_bytes(b"\x03");
    assert_eq!(session.end().end, ChildEnd::Exited(Exit::Code { code: 9 }));
}

#[test]
fn typed_lines_are_read() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        stdin: Stdin::Terminal,
        ..sandbox.launch(&["say ready", "read-line", "read-line"])
    };
    let mut session = sandbox.start(launch);
    session.until("ready");
    session.child().type_bytes("first ä\r".as_bytes());
    session.until("got first ä");
    session.child().type_bytes(b"second\r");
    assert!(session.end().terminal.contains("got second"));
}

#[test]
fn typing_never_blocks_whoever_types() {
    let sandbox = ProcessSandbox::new();
    let mut session = sandbox.start(sandbox.launch(&["say ready", "hang"]));
    session.until("ready");
    for _ in 0..40 {
        session.child().type_bytes(&[b'x'; 100_000]);
    }
    session.child().stop(StopSpeed::Immediate);
    session.end();
    // Commands to an ended child have no effect.
}

#[test]
fn a_handle_outlives_its_child_without_harm() {
    let sandbox = ProcessSandbox::new();
    let (sender, ended) = mpsc::channel();
    let child = Supervisor::default()
        .spawn(sandbox.launch(&["say x"]), Box::new(EndOnly(sender)))
        .unwrap();
    assert_eq!(ended.recv_timeout(DEADLINE).unwrap(), DONE);
    child.stop(StopSpeed::Graceful);
    child.resize(Size { cols: 9, rows: 9 });
    child.type_bytes(b"x");
    assert_eq!(child.activity().output_bytes, 3);
}

struct EndOnly(mpsc::Sender<ChildEnd>);

impl OutputSink for EndOnly {
    fn terminal(&mut self, _: &[u8]) {}

    fn stdout(&mut self, _: &[u8]) {}

    fn ended(&mut self, end: ChildEnd) {
        _ = self.0.send(end);
    }
}

#[test]
fn garbage_arrives_as_it_was_written() {
    let sandbox = ProcessSandbox::new();
    let ended = sandbox.run(&["garbage 200000", "say \\", "say end"]);
    assert_eq!(ended.end, DONE);
    assert!(ended.terminal.ends_with("end\r\n"));
    assert!(ended.terminal.contains('\0'));
}

#[test]
fn an_agent_that_closes_its_terminal_is_not_taken_for_ended() {
    let sandbox = ProcessSandbox::new();
    let session = sandbox.start(piped(sandbox.launch(&[
        "say x",
        "close-output",
        "write closed x",
        "wait-file go",
        "exit 4",
    ])));
    sandbox.wait_for("closed");
    fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(session.end().end, ChildEnd::Exited(Exit::Code { code: 4 }));
}

#[test]
fn the_environment_is_ralphs_own_with_what_was_asked_for() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        program: "/usr/bin/env".into(),
        args: Vec::new(),
        env: vec![
            ("GIVEN".to_owned(), "yes".to_owned()),
            ("COLORTERM".to_owned(), "no".to_owned()),
        ],
        env_remove: vec!["PATH".to_owned()],
        ..sandbox.launch(&[])
    };
    let ended = sandbox.start(launch).end();
    let has = |line: &str| ended.terminal.lines().any(|other| other == line);
    assert!(
        has("GIVEN=yes") && has("TERM=xterm-256color") && has("COLORTERM=no"),
        "{}",
        ended.terminal
    );
    assert!(has(&format!("RALPH_RUN_ID=run-{}", sandbox.dir.path().display())));
    assert!(!ended.terminal.contains("\nPATH="));
}

#[test]
fn a_program_that_must_not_see_its_run_has_no_variable_that_marks_it_as_one_of_ralphs() {
    let sandbox = ProcessSandbox::new();
    let launch = Launch {
        program: "/usr/bin/env".into(),
        args: Vec::new(),
        env_remove: vec![RUN_ID_VAR.to_owned()],
        ..sandbox.launch(&[])
    };
    let ended = sandbox.start(launch).end();
    assert!(ended.terminal.contains("PATH="), "{}", ended.terminal);
    assert!(!ended.terminal.contains(RUN_ID_VAR), "{}", ended.terminal);
    assert!(!ended.terminal.contains("RALPH_CHILD_ID"), "{}", ended.terminal);
    assert!(
        !ended.terminal.contains(&sandbox.launch(&[]).run_id),
        "{}",
        ended.terminal
    );
}

/// Blocks at the first bytes until it is released.
struct Stuck {
    stuck: mpsc::Sender<()>,
    go_on: Receiver<()>,
    bytes: usize,
    ended: mpsc::Sender<(ChildEnd, usize)>,
}

impl OutputSink for Stuck {
    fn terminal(&mut self, bytes: &[u8]) {
        if self.bytes == 0 {
            _ = self.stuck.send(());
            _ = self.go_on.recv();
        }
        self.bytes += bytes.len();
    }

    fn stdout(&mut self, _: &[u8]) {}

    fn ended(&mut self, end: ChildEnd) {
        _ = self.ended.send((end, self.bytes));
    }
}

/// Starts an agent whose output is stuck. Dropping the sender frees it.
fn stuck(launch: Launch) -> (ralph_system::proc::Child, mpsc::Sender<()>, Receiver<(ChildEnd, usize)>) {
    let (stuck, is_stuck) = mpsc::channel();
    let (go_on, gone_on) = mpsc::channel();
    let (ended, end) = mpsc::channel();
    let output = Stuck {
        stuck,
        go_on: gone_on,
        bytes: 0,
        ended,
    };
    let child = Supervisor::default().spawn(launch, Box::new(output)).unwrap();
    is_stuck.recv_timeout(DEADLINE).unwrap();
    (child, go_on, end)
}

#[test]
fn an_output_that_is_stuck_does_not_keep_the_agent_from_being_stopped() {
    let sandbox = ProcessSandbox::new();
    let (child, go_on, end) = stuck(sandbox.launch(&["ignore-signals", "spawn daemon", "flood 100000000"]));
    child.stop(StopSpeed::Immediate);
    // The guard ends, too: it is waited for while the output is stuck.
    wait_until("everything ends", || alive_in(&sandbox.path("")).is_empty());
    assert!(end.try_recv().is_err());
    drop(go_on);
    assert_eq!(
        end.recv_timeout(DEADLINE).unwrap().0,
        ChildEnd::Exited(Exit::Signal { signal: 9 })
    );
}

#[test]
fn a_guard_that_is_lost_while_the_output_is_stuck_is_made_up_for() {
    let sandbox = ProcessSandbox::new();
    let (child, go_on, end) = stuck(sandbox.launch(&["ignore-signals", "spawn setsid", "flood 100000000"]));
    kill(Pid::from_raw(child.guard_pid().cast_signed()), Signal::SIGKILL).unwrap();
    wait_until("everything ends", || alive_in(&sandbox.path("")).is_empty());
    drop(go_on);
    assert_eq!(end.recv_timeout(DEADLINE).unwrap().0, ChildEnd::GuardLost);
}

struct Panicking;

impl OutputSink for Panicking {
    fn terminal(&mut self, _: &[u8]) {
        panic!("an output that panics, on purpose");
    }

    fn stdout(&mut self, _: &[u8]) {}

    fn ended(&mut self, _: ChildEnd) {}
}

#[test]
fn an_output_that_panics_stops_the_agent() {
    let sandbox = ProcessSandbox::new();
    let _child = Supervisor::default()
        .spawn(sandbox.launch(&["spawn setsid", "say x", "hang"]), Box::new(Panicking))
        .unwrap();
    sandbox.wait_for("setsid.pid");
    wait_until("everything ends", || alive_in(&sandbox.path("")).is_empty());
}

#[test]
fn an_output_that_is_stuck_makes_the_agent_wait_and_loses_nothing() {
    let sandbox = ProcessSandbox::new();
    let (child, go_on, end) = stuck(sandbox.launch(&["flood 100000000", "write written x"]));
    // Only one buffer is read ahead; a terminal holds a few kilobytes more.
    assert!(child.activity().output_bytes <= 64 * 1024);
    assert!(!sandbox.path("written").exists());
    drop(go_on);
    // Each line has 79 letters and a line end, which the terminal turns into two bytes.
    assert_eq!(end.recv_timeout(DEADLINE).unwrap(), (DONE, 101_250_000));
}

#[test]
fn activity_counts_bytes_and_the_work_of_every_process() {
    let sandbox = ProcessSandbox::new();
    let script = format!(
        "{:?} 'cpu 60' 'say worked' 'read-line' 'cpu 60' 'say again' hang | cat",
        super::AGENT
    );
    let mut launch = sandbox.launch(&[]);
    launch.program = "/bin/sh".into();
    launch.args = ["-c", &script].map(Into::into).to_vec();
    launch.stdin = Stdin::Terminal;
    let mut session = sandbox.start(launch);
    session.until("worked");
    let first = session.child().activity();
    assert!(first.output_bytes >= 8 && !first.cpu.is_zero(), "{first:?}");
    session.child().type_bytes(b"\r");
    session.until("again");
    let second = session.child().activity();
    assert!(
        second.output_bytes > first.output_bytes && second.cpu > first.cpu,
        "{first:?} {second:?}"
    );
    session.child().stop(StopSpeed::Immediate);
    session.end();
}
