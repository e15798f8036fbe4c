//! The breaker, through the loop.

use ralph::event::{BreakerState, Event, Record, StopReason, Wait, WaitEnd};

use super::{reason, said, started};
use crate::harness::{SOON, Sandbox, Script, events};

/// The moves of the breaker, in order.
fn moves(records: &[Record]) -> Vec<BreakerState> {
    events(records)
        .filter_map(|event| match event {
            Event::BreakerMoved { to, .. } => Some(*to),
            _ => None,
        })
        .collect()
}

#[track_caller]
fn status(sandbox: &Sandbox) -> String {
    let status = sandbox.ralph(["status"]).run(SOON);
    assert_eq!(status.code(), Some(0), "{status:?}");
    status.stdout
}

#[test]
fn half_open_it_tells_the_agent_and_progress_closes_it() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        "if [ $n -lt 5 ]; then over 'Nothing.'; else work; over done; fi",
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = sandbox.prompt(4);
    assert!(prompt.contains("3 iterations running changed nothing"), "{prompt}");
    assert!(!sandbox.prompt(3).contains("changed nothing"), "{}", sandbox.prompt(3));
    assert_eq!(moves(&finished.records()), [BreakerState::HalfOpen]);
}

#[test]
fn a_box_or_a_new_tree_closes_a_half_open_breaker() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(
        "case $n in 4) date +%N > notes; over ok;; 5|6) work; over done;; *) over 'Nothing.';; esac",
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        moves(&finished.records()),
        [BreakerState::HalfOpen, BreakerState::Closed]
    );
}

#[test]
fn resetting_it_while_a_loop_runs_begins_the_count_anew_and_status_shows_both() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "[ $n = 4 ] && { said ready; await go; }; over 'Nothing.'",
    ));
    let running = sandbox.looping(["--max-iterations", "20"]).start();
    running.wait_for_record(SOON, said("ready"));
    let before = status(&sandbox);
    assert!(
        before.contains("breaker   half-open: 3 iterations running changed nothing"),
        "{before}"
    );
    assert_eq!(sandbox.ralph(["reset-circuit"]).run(SOON).code(), Some(0));
    let after = status(&sandbox);
    assert!(!after.contains("breaker"), "{after}");
    let again = sandbox.ralph(["--reset-circuit"]).run(SOON);
    assert_eq!(again.code(), Some(1), "{again:?}");
    sandbox.let_go("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    let records = finished.records();
    use BreakerState::{Closed, HalfOpen, Open};
    assert_eq!(moves(&records), [HalfOpen, Closed, HalfOpen, Open]);
    // Three before, and six of which the reset knew nothing.
    assert!(events(&records).any(started(9)) && !events(&records).any(started(10)));
    let stopped = status(&sandbox);
    assert!(
        stopped.contains("breaker   open: 6 iterations running changed nothing"),
        "{stopped}"
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    for line in [
        "after iteration 3: breaker half-open: 3 iterations running changed nothing",
        "after iteration 4: breaker closed: reset by the user",
        "after iteration 9: breaker open: 6 iterations running changed nothing",
    ] {
        assert!(report.contains(line), "{line} is not in {report}");
    }
}

#[test]
fn failures_wait_once_before_the_last_try_and_a_reset_ends_that_wait() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        "if [ $n -lt 11 ]; then failed '{\"kind\":\"other\"}' broken; else work; over done; fi",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::WaitStarted {
                wait: Wait::Cooldown,
                ..
            }
        )
    });
    let waiting = status(&sandbox);
    assert!(
        waiting.contains("waiting before one last try") && waiting.contains("left      "),
        "{waiting}"
    );
    assert_eq!(sandbox.ralph(["reset-circuit"]).run(SOON).code(), Some(0));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let cause = WaitEnd::RetriedNow;
    assert!(events(&finished.records()).any(|event| *event == Event::WaitEnded { cause }));
}

#[test]
fn where_no_loop_runs_there_is_nothing_to_reset_but_in_a_run_that_was_cut_off() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "[ $n = 5 ] && { said ready; await go; }; over 'Nothing.'",
    ));
    let nothing = |sandbox: &Sandbox| {
        for args in [["reset-circuit"], ["--reset-circuit"]] {
            let reset = sandbox.ralph(args).run(SOON);
            assert_eq!(reset.code(), Some(0), "{reset:?}");
            assert!(reset.stdout.contains("begins with a closed breaker"), "{reset:?}");
        }
    };
    nothing(&sandbox);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    running.kill();
    running.wait(SOON);
    assert!(status(&sandbox).contains("breaker   half-open"), "{}", status(&sandbox));
    let reset = sandbox.ralph(["reset-circuit"]).run(SOON);
    assert!(reset.stdout.starts_with("the breaker is closed"), "{reset:?}");
    assert!(!status(&sandbox).contains("breaker"), "{}", status(&sandbox));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    let records = finished.records();
    assert!(matches!(reason(&records), StopReason::BreakerOpen { .. }));
    // The one that was cut off says nothing about progress; six that did nothing follow.
    assert!(events(&records).any(started(11)) && !events(&records).any(started(12)));
    nothing(&sandbox);
}

#[test]
fn without_git_it_goes_by_the_files_themselves() {
    for (does, iterations) in [
        ("true", 6),
        // What was there before is no progress, however often it changes.
        ("if [ -f t ]; then rm t; else echo t > t; fi", 7),
    ] {
        let sandbox = Sandbox::new();
        std::fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
        sandbox.install(&Script::jsonl(&format!("{does}; over ok")));
        let finished = sandbox.looping(["--max-iterations", "20"]).run(SOON);
        assert_eq!(finished.code(), Some(7), "{does}: {finished:?}");
        let records = finished.records();
        assert!(events(&records).any(started(iterations)), "{does}");
        assert!(!events(&records).any(started(iterations + 1)), "{does}");
    }
}
