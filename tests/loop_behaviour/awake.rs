//! The machine stays awake while a run works, by a program that holds a lock.

use ralph_core::event::{Event, TimeEvent};

use super::{notices, said, started};
use crate::harness::{SOON, Sandbox, Script, running::Running, wait_until};

/// Notes its arguments, and runs the program that it is given, as `systemd-inhibit` does.
const HOLDER: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/held\"\nshift 4\nexec \"$@\"\n";

fn awake(holder: &str) -> (Sandbox, Running) {
    let mut sandbox = Sandbox::new();
    sandbox.add_program("systemd-inhibit", holder);
    sandbox.plan(2);
    sandbox.install(&Script::jsonl("said ready; await go-$n; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).env("RALPH_KEEP_AWAKE", "true").start();
    running.wait_for_record(SOON, said("ready"));
    (sandbox, running)
}

fn is_held(sandbox: &Sandbox) -> bool {
    let mut processes = sandbox.processes().into_iter();
    processes.any(|process| process.command == "sleep 2147483647")
}

#[test]
fn the_machine_is_kept_awake_until_the_run_is_paused_and_again_after_it() {
    let (sandbox, running) = awake(HOLDER);
    wait_until(SOON, "the lock", || is_held(&sandbox).then_some(()));
    let how = sandbox.read_home("held").expect("the lock's arguments");
    assert!(how.starts_with("--what=idle:sleep\n--who=ralph\n"), "{how}");
    assert_eq!(sandbox.ralph(["pause"]).run(SOON).code(), Some(0));
    sandbox.release("go-1");
    running.wait_for_record(SOON, |event| matches!(event, Event::Time(TimeEvent::Held)));
    wait_until(SOON, "the end of the lock", || (!is_held(&sandbox)).then_some(()));
    assert_eq!(sandbox.ralph(["resume"]).run(SOON).code(), Some(0));
    running.wait_for_record(SOON, started(2));
    wait_until(SOON, "the lock", || is_held(&sandbox).then_some(()));
    sandbox.release("go-2");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn the_lock_goes_with_a_killed_run() {
    let (sandbox, running) = awake(HOLDER);
    wait_until(SOON, "the lock", || is_held(&sandbox).then_some(()));
    running.kill();
    running.wait(SOON);
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_run_that_cannot_keep_the_machine_awake_says_so_once_and_goes_on() {
    let (sandbox, running) = awake("#!/bin/sh\necho 'Access denied' >&2\nexit 1\n");
    let refused = |event: &Event| {
        event
            .notice()
            .is_some_and(|notice| notice.code == "not-kept-awake" && notice.text.contains("Access denied"))
    };
    running.wait_for_record(SOON, refused);
    sandbox.release("go-1");
    sandbox.release("go-2");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said = notices(&finished.records());
    let said = said.iter().filter(|notice| notice.contains("may fall asleep"));
    assert_eq!(said.count(), 1);
}
