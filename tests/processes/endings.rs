//! Every way to end a session: no process is left after any of them.

use std::time::Duration;

use ralph_core::event::Exit;
use ralph_system::proc::{ChildEnd, Launch, Stdin, StopSignal, StopSpeed, Supervisor};

use super::{ChildSession, ProcessSandbox, Recorder, SHORT, STUBBORN};

/// Long enough for an agent to record which signal it got.
const NOTICEABLE: Duration = Duration::from_secs(1);

fn code(code: i32) -> ChildEnd {
    ChildEnd::Exited(Exit::Code { code })
}

fn signal(signal: i32) -> ChildEnd {
    ChildEnd::Exited(Exit::Signal { signal })
}

/// Starts an agent with every kind of stubborn child, and returns once all of them run.
fn surrounded(sandbox: &ProcessSandbox, before: &[&str], after: &[&str]) -> ChildSession {
    let steps = [before, &STUBBORN[..], &["say ready"], after].concat();
    let mut launch = sandbox.launch(&steps);
    launch.ladder.grace = SHORT;
    let mut session = sandbox.start(launch);
    session.until("ready");
    session
}

#[test]
fn no_child_survives_an_agent_that_exits() {
    let sandbox = ProcessSandbox::new();
    let ended = surrounded(&sandbox, &[], &["exit 3"]).end();
    assert_eq!(ended.end, code(3));
}

#[test]
fn what_a_program_unpacks_goes_with_it() {
    let sandbox = ProcessSandbox::new();
    let unpack = "printf x > \"$UNPACKED/library.so\" && ls \"$UNPACKED\"";
    let ended = sandbox.start(Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), unpack.into()],
        unpacks_to: Some("UNPACKED".to_owned()),
        ..sandbox.launch(&[])
    });
    let ended = ended.end();
    assert_eq!((ended.end, ended.terminal.trim()), (code(0), "library.so"));
    assert_eq!(sandbox.scratch_files(), 0);
}

#[test]
fn no_child_survives_an_agent_that_is_killed() {
    let sandbox = ProcessSandbox::new();
    let ended = surrounded(&sandbox, &[], &["kill-self SIGKILL"]).end();
    assert_eq!(ended.end, signal(9));
}

#[test]
fn no_child_survives_a_stop_in_order() {
    let sandbox = ProcessSandbox::new();
    let session = surrounded(&sandbox, &["ignore-signals"], &["hang"]);
    session.child().stop(StopSpeed::Graceful);
    assert_eq!(session.end().end, signal(9));
}

#[test]
fn no_child_survives_a_stop_at_once() {
    let sandbox = ProcessSandbox::new();
    let mut launch = sandbox.launch(&[&["ignore-signals"], &STUBBORN[..], &["say ready", "hang"]].concat());
    launch.ladder.grace = super::LONG;
    let mut session = sandbox.start(launch);
    session.until("ready");
    session.child().stop(StopSpeed::Immediate);
    assert_eq!(session.end().end, signal(9));
}

#[test]
fn no_child_survives_a_dropped_handle() {
    let sandbox = ProcessSandbox::new();
    let mut session = surrounded(&sandbox, &["ignore-signals"], &["hang"]);
    session.child = None;
    assert_eq!(session.end().end, signal(9));
}

#[test]
fn at_once_overrides_a_ladder_in_progress() {
    let sandbox = ProcessSandbox::new();
    let mut session = sandbox.start(sandbox.launch(&["log-signals signals", "say ready", "hang"]));
    session.until("ready");
    session.child().stop(StopSpeed::Graceful);
    sandbox.wait_for("signals");
    session.child().stop(StopSpeed::Graceful);
    session.child().stop(StopSpeed::Immediate);
    assert_eq!(session.end().end, signal(9));
    assert_eq!(sandbox.read("signals"), "SIGINT\n");
}

#[test]
fn the_ladder_is_interrupt_then_terminate_then_kill() {
    let sandbox = ProcessSandbox::new();
    let mut launch = sandbox.launch(&["log-signals signals", "say ready", "hang"]);
    launch.ladder.grace = NOTICEABLE;
    let mut session = sandbox.start(launch);
    session.until("ready");
    session.child().stop(StopSpeed::Graceful);
    assert_eq!(session.end().end, signal(9));
    assert_eq!(sandbox.read("signals"), "SIGINT\nSIGTERM\n");
}

#[test]
fn a_ladder_that_begins_with_terminate_sends_it_once() {
    let sandbox = ProcessSandbox::new();
    let mut launch = sandbox.launch(&["log-signals signals", "say ready", "hang"]);
    launch.ladder.first = StopSignal::Terminate;
    launch.ladder.grace = NOTICEABLE;
    let mut session = sandbox.start(launch);
    session.until("ready");
    session.child().stop(StopSpeed::Graceful);
    assert_eq!(session.end().end, signal(9));
    assert_eq!(sandbox.read("signals"), "SIGTERM\n");
}

#[test]
fn an_agent_that_obeys_ends_as_it_likes_without_waiting_for_the_grace() {
    let sandbox = ProcessSandbox::new();
    // The grace period is longer than the test may take.
    let mut session = sandbox.start(sandbox.launch(&["exit-on SIGINT 7", "say ready", "hang"]));
    session.until("ready");
    session.child().stop(StopSpeed::Graceful);
    assert_eq!(session.end().end, code(7));
}

#[test]
fn what_an_agent_leaves_behind_may_clean_up() {
    let sandbox = ProcessSandbox::new();
    let script = format!(
        "{:?} 'log-signals leftover' 'exit-on SIGTERM 0' 'write ready x' hang & exec {0:?} 'wait-file ready'",
        super::AGENT
    );
    let mut launch = sandbox.launch(&[]);
    launch.program = "/bin/sh".into();
    launch.args = ["-c", &script].map(Into::into).to_vec();
    assert_eq!(sandbox.start(launch).end().end, code(0));
}

#[test]
fn a_stopped_agent_can_still_be_ended_in_order() {
    let sandbox = ProcessSandbox::new();
    let mut session = sandbox.start(sandbox.launch(&["spawn stopped", "say ready", "kill-self SIGSTOP", "hang"]));
    session.until("ready");
    session.child().stop(StopSpeed::Graceful);
    assert_eq!(session.end().end, signal(2));
}

#[test]
fn a_stopped_guard_can_still_be_told_to_stop() {
    let sandbox = ProcessSandbox::new();
    let mut session = sandbox.start(sandbox.launch(&["kill-parent SIGSTOP", "say ready", "hang"]));
    session.until("ready");
    session.child().stop(StopSpeed::Immediate);
    assert_eq!(session.end().end, signal(9));
}

#[test]
fn a_group_that_signals_itself_does_not_end_the_guard() {
    let sandbox = ProcessSandbox::new();
    let steps = [
        "log-signals signals",
        "kill-group SIGTERM",
        "kill-group SIGHUP",
        "wait-file signals",
        "exit 5",
    ];
    assert_eq!(sandbox.run(&steps).end, code(5));
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let sandbox = ProcessSandbox::new();
    for number in [0, 1, 2, 125, 127, 137, 143, 255] {
        assert_eq!(sandbox.run(&[&format!("exit {number}")]).end, code(number));
    }
    for (name, number) in [("SIGTERM", 15), ("SIGKILL", 9), ("SIGABRT", 6), ("SIGHUP", 1)] {
        assert_eq!(sandbox.run(&[&format!("kill-self {name}")]).end, signal(number));
    }
}

#[test]
fn an_agent_that_exits_at_once_is_heard_completely() {
    let sandbox = ProcessSandbox::new();
    for round in 0..20 {
        let ended = sandbox.run(&[&format!("say last words {round}")]);
        assert_eq!(ended.end, code(0));
        assert_eq!(ended.terminal, format!("last words {round}\r\n"));
    }
    assert_eq!(sandbox.scratch_files(), 0);
}

#[test]
fn a_file_that_cannot_be_executed_is_not_started_and_says_why() {
    let sandbox = ProcessSandbox::new();
    let script = sandbox.path("script");
    let end_of = |text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(mode)).unwrap();
        let launch = Launch {
            program: script.clone(),
            ..sandbox.launch(&[])
        };
        match sandbox.start(launch).end().end {
            ChildEnd::NotStarted { why, missing } => (why.replace(&*script.to_string_lossy(), "SCRIPT"), missing),
            end => panic!("{end:?}"),
        }
    };
    let refused = |why: &str, missing: bool| (why.to_owned(), missing);
    assert_eq!(end_of("#!/bin/sh\n", 0o600), refused("SCRIPT: Permission denied", true));
    assert_eq!(
        end_of("#!/no/such/interpreter -x\n", 0o700),
        refused(
            "SCRIPT: No such file or directory (its interpreter is `/no/such/interpreter`)",
            true
        )
    );
    assert_eq!(
        end_of("\0\x01\x02 not a program", 0o700),
        refused("SCRIPT: Exec format error", true)
    );
    assert_eq!(sandbox.scratch_files(), 0);
}

#[test]
fn what_is_missing_is_an_error_before_anything_runs() {
    let sandbox = ProcessSandbox::new();
    let error_of = |launch: Launch| {
        let output = Recorder {
            sender: std::sync::mpsc::channel().0,
            sandbox: sandbox.path(""),
        };
        let error = Supervisor::default()
            .spawn(launch, Box::new(output))
            .unwrap_err()
            .to_string();
        error.replace(sandbox.path("").to_str().unwrap(), "SANDBOX/")
    };
    let launch = || sandbox.launch(&["write started x"]);
    let missing = || sandbox.path("missing");
    assert_eq!(
        error_of(Launch {
            program: missing(),
            ..launch()
        }),
        "SANDBOX/missing: no such program"
    );
    assert_eq!(
        error_of(Launch {
            cwd: missing(),
            ..launch()
        }),
        "SANDBOX/missing: no such directory to work in"
    );
    assert_eq!(
        error_of(Launch {
            stdin: Stdin::File(missing()),
            ..launch()
        }),
        "SANDBOX/missing: not readable as standard input"
    );
    assert_eq!(
        error_of(Launch {
            scratch: missing(),
            ..launch()
        }),
        "SANDBOX/missing: not usable for the files of a child"
    );
    assert_eq!(
        error_of(Launch {
            guard: Some(missing()),
            ..launch()
        }),
        "SANDBOX/missing: not startable as guard"
    );
    assert!(!sandbox.path("started").exists());
    assert_eq!(sandbox.scratch_files(), 0);
}

#[test]
fn a_child_that_is_dropped_while_it_starts_leaves_nothing() {
    let sandbox = ProcessSandbox::new();
    for _ in 0..20 {
        let mut session = sandbox.start(sandbox.launch(&["spawn daemon", "hang"]));
        session.child = None;
        assert!(matches!(session.end().end, ChildEnd::Exited(Exit::Signal { .. })));
    }
    assert_eq!(sandbox.scratch_files(), 0);
}
