//! Time in which ralph did not run, and clocks that are set.

use nix::sys::signal::Signal;
use ralph::event::{Event, Outcome};

use super::{outcomes, said};
use crate::harness::{SOON, Sandbox, Script, wait_until};

#[test]
fn an_agent_is_not_called_idle_for_the_time_in_which_ralph_was_stopped() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    // Silent for longer than the limit, and all that time ralph is stopped. What ends it is the agent's own clock.
    sandbox.install(&Script::jsonl(
        "said ready; sleep 9; : > $HOME/later; await go; work; over done",
    ));
    let running = sandbox.looping(["--idle-timeout", "8s", "--max-time", "20s"]).start();
    running.wait_for_record(SOON, said("ready"));
    running.signal(Signal::SIGSTOP);
    wait_until(SOON, "silence that is long enough", || {
        sandbox.home().join("later").exists().then_some(())
    });
    running.signal(Signal::SIGCONT);
    let moved = running.wait_for_record(SOON, |event| matches!(event, Event::ClockMoved { .. }));
    assert!(
        matches!(moved.event, Event::ClockMoved { gap_ms } if gap_ms > 4_000),
        "{moved:?}"
    );
    sandbox.let_go("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
    let Some(Event::RunStopped { totals, .. }) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    assert!(totals.elapsed_ms < 9_000, "{} ms", totals.elapsed_ms);
}
