//! Helper processes that ralph runs for itself, git above all: what they leave behind, which processes end with them,
//! and what they inherit.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::event::{Event, IterationEvent};

use crate::{
    harness::{
        SOON, Sandbox, Script, events,
        processes::is_running,
        running::{Program, Running},
        wait_until,
    },
    loop_behaviour::{notices, said},
};

const AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");

/// Children that ignore every signal they can and have left the process group of git.
const KINDS: [&str; 5] = ["own-group", "setsid", "double-fork", "env-clear-setsid", "daemon"];

/// Shell code that starts, once, children that claim to be ralph's own.
fn surrounding() -> String {
    let spawn: String = KINDS.iter().map(|kind| format!("'spawn {kind}' ")).collect();
    format!(
        "[ -e \"$HOME/daemon.pid\" ] || (cd \"$HOME\" && RALPH_HELPER=1 {AGENT} {spawn}) </dev/null >/dev/null 2>&1"
    )
}

#[track_caller]
fn assert_all_were_ended(sandbox: &Sandbox) {
    let pid = |kind: &str| sandbox.read_home(&format!("{kind}.pid"));
    for kind in KINDS {
        let pid = pid(kind).unwrap_or_else(|| panic!("{kind} was never there"));
        assert!(!is_running(pid.trim().parse().unwrap()), "{kind} survived");
    }
    sandbox.assert_nothing_runs();
}

#[test]
fn nothing_that_git_leaves_behind_survives_a_run_that_is_done() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.run_before_git_of_ralph(&surrounding());
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_all_were_ended(&sandbox);
}

#[test]
fn what_git_may_allocate_is_bounded() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.run_before_git_of_ralph("ulimit -S -d >> \"$HOME/limits\"");
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let limits = sandbox.read_home("limits").expect("git was started");
    let four_gib_in_kib = "4194304";
    assert!(limits.lines().all(|limit| limit == four_gib_in_kib), "{limits}");
}

#[test]
fn nothing_that_git_leaves_behind_survives_a_restore() {
    let mut sandbox = Sandbox::new();
    sandbox.write("old.txt", "as it was\n");
    sandbox.git(["add", "--all"]);
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("rm old.txt; work; over done"));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    sandbox.run_before_git_of_ralph(&surrounding());
    let finished = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("old.txt").as_deref(), Some("as it was\n"));
    assert_all_were_ended(&sandbox);
}

#[test]
fn a_process_that_calls_itself_a_helper_of_ralph_is_ended_with_its_killed_guard() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    // The process loses its parent, session and environment before the guard dies: nothing leads to it.
    let body = "(env -i RALPH_HELPER=1 setsid sleep 999 </dev/null >/dev/null 2>&1 & echo $! > \"$HOME/forger\")
        until [ \"$(cat /proc/$(cat \"$HOME/forger\")/comm)\" = sleep ]; do :; done
        kill -9 $PPID";
    sandbox.install(&Script::terminal(body));
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let pid = sandbox.read_home("forger").expect("it was there");
    assert!(!is_running(pid.trim().parse().unwrap()), "it survived");
    sandbox.assert_nothing_runs();
}

/// Starts the loop and waits until git hangs, after the agent has changed a file.
fn hanging(sandbox: &mut Sandbox) -> Running {
    sandbox.plan(1);
    sandbox.run_before_git_of_ralph("[ -e \"$HOME/hang\" ] && { echo $$ > \"$HOME/hangs\"; sleep 999; }");
    sandbox.install(&Script::jsonl("echo more > more.txt; touch \"$HOME/hang\"; over done"));
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    wait_until(SOON, "git hangs", || sandbox.read_home("hangs"));
    running
}

fn helper_guard(sandbox: &Sandbox) -> Option<i32> {
    let guard = |command: &str| command.ends_with(" __guard --helpers");
    let processes = sandbox.processes();
    Some(processes.iter().find(|process| guard(&process.command))?.pid)
}

#[test]
fn git_that_hangs_does_not_survive_two_interrupts() {
    let mut sandbox = Sandbox::new();
    let running = hanging(&mut sandbox);
    running.signal(Signal::SIGINT);
    running.wait_for_line(SOON, |line| line.contains("stop-requested"));
    running.signal(Signal::SIGINT);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(130), "{finished:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn git_that_hangs_does_not_survive_ralph_that_is_killed() {
    let mut sandbox = Sandbox::new();
    let running = hanging(&mut sandbox);
    running.kill();
    drop(running);
    wait_until(SOON, "end of all processes", || {
        sandbox.processes().is_empty().then_some(())
    });
}

#[test]
fn a_run_after_a_kill_waits_for_git_of_the_one_before() {
    let mut sandbox = Sandbox::new();
    let running = hanging(&mut sandbox);
    running.kill();
    running.wait(SOON);
    fs::remove_file(sandbox.home().join("hang")).unwrap();
    let body = "kill -0 $(cat \"$HOME/hangs\") 2>/dev/null && touch early; work; over done";
    sandbox.install(&Script::jsonl(body));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(sandbox.read("early").is_none(), "git was still there");
}

#[test]
fn git_that_hangs_does_not_survive_its_guard_and_the_run_goes_on() {
    let mut sandbox = Sandbox::new();
    let running = hanging(&mut sandbox);
    fs::remove_file(sandbox.home().join("hang")).unwrap();
    let guard = helper_guard(&sandbox).expect("helpers are guarded");
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn a_guard_of_helpers_that_was_killed_is_replaced() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    let guard = helper_guard(&sandbox).expect("helpers are guarded");
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(notices(&records), Vec::<&str>::new());
    assert!(events(&records).any(is_checkpointed), "{finished:?}");
    sandbox.assert_nothing_runs();
}

/// Runs an agent that does not commit its work, and checks that ralph makes checkpoints without a message.
#[track_caller]
fn assert_checkpoints(sandbox: &Sandbox, change: impl FnOnce(Program) -> Program) {
    sandbox.plan(1);
    let body = "echo more > more.txt; sed -i 's/- \\[ \\]/- [x]/' PLAN.md; over done";
    sandbox.install(&Script::jsonl(body));
    let finished = change(sandbox.looping([] as [&str; 0])).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(notices(&records), Vec::<&str>::new());
    assert!(events(&records).any(is_checkpointed), "{finished:?}");
}

fn is_checkpointed(event: &Event) -> bool {
    matches!(
        event,
        Event::Iteration(IterationEvent::Settled {
            checkpoint: Some(_),
            ..
        })
    )
}

#[test]
fn checkpoints_are_made_although_whoever_started_ralph_ignores_the_end_of_children() {
    let ignoring = ["env", "--ignore-signal=CHLD"];
    assert_checkpoints(&Sandbox::new(), |program| program.under(&ignoring));
}

#[test]
fn checkpoints_are_made_although_there_is_no_directory_for_temporary_files() {
    assert_checkpoints(&Sandbox::new(), |program| program.env("TMPDIR", "/no/such/directory"));
}

#[test]
fn a_ralph_that_was_started_with_all_signals_blocked_is_terminated_by_one() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; exec sleep 600"));
    let blocked = sandbox.looping([] as [&str; 0]).under(&["env", "--block-signal"]);
    let running = blocked.start();
    running.wait_for_record(SOON, said("ready"));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait(SOON).code(), Some(143));
    sandbox.assert_nothing_runs();
}

#[test]
fn agents_and_helpers_start_with_no_signal_blocked_or_ignored() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    let masks = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
    sandbox.run_before_git_of_ralph(&format!("{masks} > \"$HOME/helper\""));
    sandbox.install(&Script::jsonl(&format!(
        "{masks} > \"$HOME/agent\"; echo more > more.txt; sed -i 's/- \\[ \\]/- [x]/' PLAN.md; over done"
    )));
    let finished = sandbox
        .looping([] as [&str; 0])
        .under(&["env", "--block-signal", "--ignore-signal=CHLD,USR1,ALRM,XFSZ,INT,QUIT"])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for name in ["agent", "helper"] {
        let masks = sandbox.read_home(name).expect("it ran");
        let masks = masks.split_ascii_whitespace().filter(|word| !word.ends_with(':'));
        for mask in masks {
            // Higher bits are the C library's own signals, which it ignores in every process that it spawns.
            let mask = u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff;
            assert_eq!(mask, 0, "{name}: {mask:x}");
        }
    }
}

#[test]
fn a_child_that_ralph_was_given_at_its_start_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let server = "sleep 999 </dev/null >/dev/null 2>&1 & echo $! > \"$HOME/server\"; exec \"$@\"";
    let finished = sandbox
        .looping([] as [&str; 0])
        .under(&["sh", "-c", server, "sh"])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let pid: i32 = sandbox.read_home("server").unwrap().trim().parse().unwrap();
    assert!(is_running(pid));
}
