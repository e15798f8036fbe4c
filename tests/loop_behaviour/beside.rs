//! Several loops in one process.

use ralph_core::event::StopReason;

use super::{outcomes, reason, said};
use crate::harness::in_process::{FunctionAgent, LoopProject};

#[tokio::test(start_paused = true)]
async fn two_loops_in_one_process_know_nothing_of_each_other() {
    let [one, other] = [LoopProject::new(), LoopProject::new()];
    one.plan(2);
    other.plan(3);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        turn.wait_for("go").await;
        turn.work();
        turn.over("done");
    });
    let first = one.looping(&agent).start();
    let second = other.looping(&agent).start();
    first.wait_for_record(said("ready")).await;
    second.wait_for_record(said("ready")).await;
    assert_ne!(first.status().await.run, second.status().await.run);
    // Both loops wait: the interrupted one ends, and the other continues.
    first.interrupt().await;
    let stopped = first.wait().await;
    assert_eq!(*reason(&stopped.records()), StopReason::Interrupted);
    other.release("go");
    let finished = second.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()).len(), 3);
    assert_eq!(one.read("PLAN.md").as_deref(), Some("- [ ] Task 1\n- [ ] Task 2\n"));
}
