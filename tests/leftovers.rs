//! Children of an agent that resist their end in every way: none survives any end of an iteration.

use nix::sys::signal::Signal;

use crate::harness::{SOON, Sandbox, Script, processes::is_running, running::Running, wait_until};

/// Children that ignore every signal they can; some have left the agent's group, session, parents and environment.
const KINDS: [&str; 7] = [
    "plain",
    "nohup",
    "own-group",
    "setsid",
    "double-fork",
    "env-clear-setsid",
    "daemon",
];

/// An agent that starts the children, says `ready` and continues with `rest`.
fn surrounded(rest: &str) -> Script {
    let spawn: String = KINDS.iter().map(|kind| format!("'spawn {kind}' ")).collect();
    // The pid files are written to the agent's current directory; a child with a pid file is running.
    let script = format!(
        "[ $n = 1 ] && (cd \"$HOME\" && \"$FAKE_AGENT\" {spawn}) </dev/null >/dev/null 2>&1; said ready; {rest}"
    );
    Script::jsonl(&script).stopped_by("interrupt", 50)
}

/// Starts the loop with such an agent and waits until all its children run. Returns the loop and their pids.
fn running(sandbox: &Sandbox, rest: &str, args: &[&str]) -> (Running, Vec<i32>) {
    sandbox.plan(1);
    sandbox.install(&surrounded(rest));
    let running = sandbox.looping(args).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let pids: Vec<i32> = KINDS
        .iter()
        .map(|kind| {
            sandbox
                .read_home(&format!("{kind}.pid"))
                .unwrap()
                .trim()
                .parse()
                .unwrap()
        })
        .collect();
    (running, pids)
}

/// Ends the loop, and checks that no child survives.
#[track_caller]
fn takes_all_with_it(rest: &str, args: &[&str], code: i32, end: impl Fn(&Sandbox, &Running)) {
    let sandbox = Sandbox::new();
    let (running, pids) = running(&sandbox, rest, args);
    end(&sandbox, &running);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(code), "{finished:?}");
    let left: Vec<_> = KINDS.iter().zip(&pids).filter(|(_, pid)| is_running(**pid)).collect();
    assert_eq!(left, [], "survived");
    sandbox.assert_nothing_runs();
}

const HANG: &str = "exec sleep 600";

#[test]
fn nothing_survives_an_agent_that_is_done() {
    takes_all_with_it("await go; work; over done", &[], 0, |sandbox, _| sandbox.release("go"));
}

#[test]
fn nothing_survives_the_time_limit_of_an_iteration() {
    // The limit of one iteration keeps the loop from starting another one.
    let limits = ["--iteration-timeout", "5s", "--max-iterations", "1"];
    takes_all_with_it(HANG, &limits, 6, |_, _| {});
}

#[test]
fn nothing_survives_an_interrupt() {
    takes_all_with_it(HANG, &[], 130, |_, running| running.signal(Signal::SIGINT));
}

#[test]
fn nothing_survives_two_interrupts() {
    takes_all_with_it(HANG, &[], 130, |_, running| {
        running.signal(Signal::SIGINT);
        running.wait_for_line(SOON, |line| line.contains("stop-requested"));
        running.signal(Signal::SIGINT);
    });
}

#[test]
fn nothing_survives_a_termination() {
    takes_all_with_it(HANG, &[], 143, |_, running| running.signal(Signal::SIGTERM));
}

#[test]
fn nothing_survives_the_loss_of_the_terminal() {
    takes_all_with_it(HANG, &[], 129, |_, running| running.signal(Signal::SIGHUP));
}

#[test]
fn nothing_survives_a_stop_at_once() {
    takes_all_with_it(HANG, &[], 130, |sandbox, _| {
        assert_eq!(sandbox.ralph(["stop", "--at-once"]).run(SOON).code(), Some(0));
    });
}

#[test]
fn nothing_survives_ralph_that_is_killed() {
    let sandbox = Sandbox::new();
    let (running, pids) = running(&sandbox, HANG, &[]);
    running.kill();
    drop(running);
    wait_until(SOON, "end of all children", || {
        (!pids.iter().any(|pid| is_running(*pid)) && sandbox.processes().is_empty()).then_some(())
    });
}

#[test]
fn nothing_of_an_iteration_survives_into_the_next() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    let look = r#"if [ $n = 2 ]; then
        for file in "$HOME"/*.pid; do [ -d /proc/$(cat "$file") ] && : > "$file.alive"; done
        work; over done; exit
    fi"#;
    sandbox.install(&surrounded(&format!("{look}\nwork; over done")));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for kind in KINDS {
        assert!(
            sandbox.read_home(&format!("{kind}.pid")).is_some(),
            "{kind} was never there"
        );
        assert_eq!(sandbox.read_home(&format!("{kind}.pid.alive")), None, "{kind} survived");
    }
}
