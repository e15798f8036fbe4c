//! Suspends, and changes of the system clock.

use std::time::Duration;

use ralph_core::event::{Event, Outcome, RunEvent, TimeEvent};

use super::{outcomes, said};
use crate::harness::in_process::{FunctionAgent, LoopProject};

#[tokio::test(start_paused = true)]
async fn an_agent_is_not_called_idle_for_the_time_in_which_ralph_was_stopped() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        turn.wait_for("go").await;
        turn.work();
        turn.over("done");
    });
    let looping = project.looping(&agent).with(|settings| {
        settings.limits.idle_timeout_ms = Some(8_000);
        settings.limits.max_time_ms = Some(20_000);
    });
    let running = looping.start();
    running.wait_for_record(said("ready")).await;
    // The agent is silent for longer than the limit, and the loop does not run during that time.
    tokio::time::advance(Duration::from_secs(9)).await;
    let moved = running
        .wait_for_record(|event| matches!(event, Event::Time(TimeEvent::ClockMoved { .. })))
        .await;
    assert!(
        matches!(moved.event, Event::Time(TimeEvent::ClockMoved { gap_ms }) if gap_ms > 4_000),
        "{moved:?}"
    );
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
    let Some(Event::Run(RunEvent::Stopped { totals, .. })) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    assert!(totals.elapsed_ms < 9_000, "{} ms", totals.elapsed_ms);
}
