//! The stuck detector (breaker) in the loop.

use ralph_core::{
    event::{BreakerState, Event, Record, StopReason, TimeEvent, UserCommand, Wait, WaitEnd},
    run::Phase,
};
use ralph_words::breaker_cause_in_words;
use serde_json::json;

use super::{reason, said, started};
use crate::harness::{
    SOON, events,
    in_process::{FunctionAgent, LoopProject},
};

/// The transitions of the breaker, in order.
fn moves(records: &[Record]) -> Vec<BreakerState> {
    events(records)
        .filter_map(|event| match event {
            Event::BreakerMoved { to, .. } => Some(*to),
            _ => None,
        })
        .collect()
}

/// The output of `ralph status` without a running loop.
#[track_caller]
fn status(project: &LoopProject) -> String {
    let status = project.ralph(["status"]).run(SOON);
    assert_eq!(status.code(), Some(0), "{status:?}");
    status.stdout
}

#[tokio::test(start_paused = true)]
async fn half_open_it_tells_the_agent_and_progress_closes_it() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n < 5 {
            return turn.over("Nothing.");
        }
        turn.work();
        turn.over("done");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = project.prompt(4);
    assert!(prompt.contains("The last 3 sessions changed nothing"), "{prompt}");
    assert!(!project.prompt(3).contains("changed nothing"), "{}", project.prompt(3));
    assert_eq!(moves(&finished.records()), [BreakerState::HalfOpen]);
}

#[tokio::test(start_paused = true)]
async fn a_box_or_a_new_tree_closes_a_half_open_breaker() {
    let project = LoopProject::new();
    project.plan(2);
    let agent = FunctionAgent::jsonl(|turn| async move {
        match turn.n {
            4 => turn.write("notes", "something new"),
            5 | 6 => turn.work(),
            _ => return turn.over("Nothing."),
        }
        turn.over("ok");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        moves(&finished.records()),
        [BreakerState::HalfOpen, BreakerState::Closed]
    );
}

#[tokio::test(start_paused = true)]
async fn resetting_it_while_a_loop_runs_begins_the_count_anew_and_status_shows_both() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 4 {
            turn.said("ready");
            turn.wait_for("go").await;
        }
        turn.over("Nothing.");
    });
    let running = project.looping(&agent).max_iterations(20).start();
    running.wait_for_record(said("ready")).await;
    let before = running.view().breaker;
    assert_eq!(before.state, BreakerState::HalfOpen);
    let why = before.why.as_ref().map(breaker_cause_in_words);
    assert_eq!(why.as_deref(), Some("3 consecutive iterations without changes"));
    running.command(UserCommand::ResetCircuit).await.unwrap();
    assert_eq!(running.view().breaker.state, BreakerState::Closed);
    let again = running.command(UserCommand::ResetCircuit).await;
    assert!(again.is_err(), "{again:?}");
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    let records = finished.records();
    use BreakerState::{Closed, HalfOpen, Open};
    assert_eq!(moves(&records), [HalfOpen, Closed, HalfOpen, Open]);
    // Three iterations before the reset, and six after it.
    assert!(events(&records).any(started(9)) && !events(&records).any(started(10)));
    let stopped = status(&project);
    assert!(
        stopped.contains("stuck     yes: 6 consecutive iterations without changes"),
        "{stopped}"
    );
    let report = project.ralph(["report"]).run(SOON).stdout;
    for line in [
        "after iteration 3: perhaps stuck: 3 consecutive iterations without changes",
        "after iteration 4: no longer stuck: requested by the user",
        "after iteration 9: stuck: 6 consecutive iterations without changes",
    ] {
        assert!(report.contains(line), "{line} is not in {report}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_wait_once_before_the_last_try_and_a_reset_ends_that_wait() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n < 11 {
            return turn.failed(&json!({"kind": "other"}), "broken");
        }
        turn.work();
        turn.over("done");
    });
    let running = project.looping(&agent).start();
    running
        .wait_for_record(|event| {
            matches!(
                event,
                Event::Time(TimeEvent::WaitStarted {
                    wait: Wait::Cooldown,
                    ..
                })
            )
        })
        .await;
    let waiting = running.status().await;
    assert_eq!(waiting.phase, "waiting before one last try");
    assert!(
        matches!(running.view().phase, Phase::Waiting { until_ms, .. } if until_ms > project.now_ms()),
        "{waiting:?}"
    );
    running.command(UserCommand::ResetCircuit).await.unwrap();
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let cause = WaitEnd::RetriedNow;
    assert!(events(&finished.records()).any(|event| *event == Event::Time(TimeEvent::WaitEnded { cause })));
}

#[tokio::test(start_paused = true)]
async fn where_no_loop_runs_there_is_nothing_to_reset_but_in_a_run_that_was_cut_off() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 5 {
            turn.said("ready");
            turn.hang().await;
        }
        turn.over("Nothing.");
    });
    let nothing = || {
        let reset = project.ralph(["reset-circuit"]).run(SOON);
        assert_eq!(reset.code(), Some(0), "{reset:?}");
        assert!(reset.stdout.contains("nothing to reset: no run is active"), "{reset:?}");
    };
    nothing();
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready")).await;
    running.kill().await;
    assert!(status(&project).contains("stuck     perhaps"), "{}", status(&project));
    let reset = project.ralph(["reset-circuit"]).run(SOON);
    assert!(reset.stdout.starts_with("the stuck detector is reset"), "{reset:?}");
    assert!(!status(&project).contains("stuck"), "{}", status(&project));
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    let records = finished.records();
    assert!(matches!(reason(&records), StopReason::BreakerOpen { .. }));
    // The iteration that was cut off does not count; six without progress follow.
    assert!(events(&records).any(started(11)) && !events(&records).any(started(12)));
    nothing();
}

#[tokio::test(start_paused = true)]
async fn without_git_it_goes_by_the_files_themselves() {
    let idle = FunctionAgent::jsonl(|turn| async move { turn.over("ok") });
    // Changing only a file that existed before is no progress, however often it changes.
    let toggling = FunctionAgent::jsonl(|turn| async move {
        let file = turn.project().join("t");
        if std::fs::remove_file(&file).is_err() {
            turn.write("t", "t\n");
        }
        turn.over("ok");
    });
    for (name, agent, iterations) in [("idle", idle, 6), ("toggling", toggling, 7)] {
        let project = LoopProject::new();
        let finished = project.looping(&agent).max_iterations(20).run().await;
        assert_eq!(finished.code(), Some(7), "{name}: {finished:?}");
        let records = finished.records();
        assert!(events(&records).any(started(iterations)), "{name}");
        assert!(!events(&records).any(started(iterations + 1)), "{name}");
    }
}
