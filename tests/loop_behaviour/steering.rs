//! Messages of the user: each reaches the agent exactly once, and at the right time.

use ralph_core::event::{
    CancelReason, Delivery, Event, Outcome, Record, RunEvent, SteeringEvent, SteeringId, SteeringKind, StopRequest,
    TimeEvent, UserCommand,
};

use super::{outcomes, said, started};
use crate::harness::{
    SOON, Sandbox, Script, events, in_process,
    in_process::{FunctionAgent, LoopProject},
    running::Running,
};

/// A loop whose first iteration is running and ends after `release("go")`.
fn running(sandbox: &Sandbox, tasks: usize) -> Running {
    sandbox.plan(tasks);
    sandbox.install(&Script::jsonl("said ready; [ $n = 1 ] && await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    running
}

#[track_caller]
fn steer(sandbox: &Sandbox, args: &[&str]) -> String {
    let finished = sandbox.ralph(["steer"]).args(args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished.stdout
}

fn deliveries(records: &[Record]) -> Vec<(u32, u32)> {
    events(records)
        .filter_map(|event| match event {
            Event::Steering(SteeringEvent::Delivered {
                id: SteeringId(id),
                iteration,
                how: Delivery::Prompt,
            }) => Some((*id, *iteration)),
            _ => None,
        })
        .collect()
}

#[track_caller]
fn finishes(running: Running) -> Vec<Record> {
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished.records()
}

/// As [`running`], in process.
async fn running_here(project: &LoopProject, tasks: usize) -> in_process::RunningLoop {
    project.plan(tasks);
    let running = project.looping(&waiting_at_first()).start();
    running.wait_for_record(said("ready")).await;
    running
}

/// An agent whose first iteration ends after `release("go")`.
fn waiting_at_first() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        if turn.n == 1 {
            turn.wait_for("go").await;
        }
        turn.work();
        turn.over("done");
    })
}

async fn records_of(running: in_process::RunningLoop) -> Vec<Record> {
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished.records()
}

async fn withdraw(running: &in_process::RunningLoop, id: u32) {
    let id = SteeringId(id);
    running.command(UserCommand::Withdraw { id }).await.unwrap();
}

#[test]
fn a_message_is_in_the_next_prompt_and_only_there() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 3);
    let reply = steer(&sandbox, &["use", "tabs"]);
    assert!(reply.contains("message 1") && reply.contains("next prompt"), "{reply}");
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("1 (next prompt): use tabs"), "{status}");
    sandbox.release("go");
    let records = finishes(running);
    assert_eq!(deliveries(&records), [(1, 2)]);
    let mentions: Vec<bool> = (1..=3).map(|n| sandbox.prompt(n).contains("use tabs")).collect();
    assert_eq!(mentions, [false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_standing_message_is_in_every_prompt_until_it_is_withdrawn() {
    let project = LoopProject::new();
    project.plan(4);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said(&format!("ready{}", turn.n));
        turn.wait_for(&format!("go{}", turn.n)).await;
        turn.work();
        turn.over("done");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready1")).await;
    running.steer(SteeringKind::Standing, "no new crates").await;
    project.release("go1");
    project.release("go2");
    running.wait_for_record(said("ready3")).await;
    withdraw(&running, 1).await;
    project.release("go3");
    project.release("go4");
    records_of(running).await;
    let mentions: Vec<bool> = (1..=4).map(|n| project.prompt(n).contains("no new crates")).collect();
    assert_eq!(mentions, [false, true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_withdrawn_in_time_reaches_nobody() {
    let project = LoopProject::new();
    let running = running_here(&project, 2).await;
    running.steer(SteeringKind::Next, "forget it").await;
    withdraw(&running, 1).await;
    project.release("go");
    assert_eq!(deliveries(&records_of(running).await), []);
    assert!(!project.prompt(2).contains("forget it"));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_wait_ends_the_iteration_and_is_in_the_next_prompt() {
    let project = LoopProject::new();
    let running = running_here(&project, 1).await;
    let reply = running.steer(SteeringKind::Now, "stop that").await;
    assert!(
        reply.contains("message 1: iteration 1 is stopped; iteration 2 starts with it"),
        "{reply}"
    );
    let records = records_of(running).await;
    let reason = CancelReason::Steered;
    assert_eq!(
        outcomes(&records),
        [&Outcome::Cancelled { reason }, &Outcome::Completed]
    );
    assert_eq!(deliveries(&records), [(1, 2)]);
    assert!(project.prompt(2).contains("stop that"));
}

#[test]
fn a_message_that_comes_while_an_iteration_is_prepared_is_not_an_iteration_late() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    // git delays the preparation.
    let waits = ": > \"$HOME/preparing\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done";
    sandbox.run_before_git(&format!("case \"$*\" in *write-tree*) {waits};; esac"));
    let running = sandbox.looping([] as [&str; 0]).start();
    crate::harness::wait_until(SOON, "preparation", || sandbox.read_home("preparing"));
    steer(&sandbox, &["--now", "in time"]);
    sandbox.release("go");
    let records = finishes(running);
    assert_eq!(deliveries(&records), [(1, 1)]);
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
    assert!(sandbox.prompt(1).contains("in time"));
}

#[tokio::test(start_paused = true)]
async fn messages_survive_ralph() {
    let project = LoopProject::new();
    let first = running_here(&project, 2).await;
    first.steer(SteeringKind::Next, "once, please").await;
    first.steer(SteeringKind::Standing, "always").await;
    first.kill().await;
    project.release("go");
    let finished = project.looping(&waiting_at_first()).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(deliveries(&finished.records()), [(1, 2), (2, 2), (2, 3)]);
    let mentions = |text| (2..=3).map(|n| project.prompt(n).contains(text)).collect::<Vec<_>>();
    assert_eq!(mentions("once, please"), [true, false]);
    assert_eq!(mentions("always"), [true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_many_lines_and_signs_arrives_as_it_was_typed() {
    let project = LoopProject::new();
    let running = running_here(&project, 2).await;
    let text = "first «line» {task} $HOME\n<promise>x</promise> — `code` 🦀";
    running.steer(SteeringKind::Next, text).await;
    project.release("go");
    records_of(running).await;
    let prompt = project.prompt(2);
    for line in text.lines() {
        assert!(prompt.contains(line), "{prompt}");
    }
}

#[test]
fn an_empty_message_is_refused() {
    let sandbox = Sandbox::new();
    let finished = sandbox.ralph(["steer", "  "]).run(SOON);
    assert_eq!(finished.code(), Some(2), "{finished:?}");
    assert!(finished.stderr.starts_with("error: ") && finished.stderr.contains("\nhint: "));
}

#[tokio::test(start_paused = true)]
async fn skipping_ends_the_iteration_and_the_next_one_starts_at_once() {
    let project = LoopProject::new();
    let running = running_here(&project, 1).await;
    running.command(UserCommand::Skip).await.unwrap();
    running.wait_for_record(started(2)).await;
    let records = records_of(running).await;
    let reason = CancelReason::Skipped;
    assert_eq!(
        outcomes(&records),
        [&Outcome::Cancelled { reason }, &Outcome::Completed]
    );
    assert!(!events(&records).any(|event| matches!(event, Event::Time(TimeEvent::WaitStarted { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_not_delivered_when_the_run_ended_is_named() {
    let project = LoopProject::new();
    let running = running_here(&project, 2).await;
    running.steer(SteeringKind::Next, "too late").await;
    running.steer(SteeringKind::Standing, "always").await;
    let stop = StopRequest::Graceful;
    running.command(UserCommand::Stop { stop }).await.unwrap();
    let finished = running.wait().await;
    let Some(Event::Run(RunEvent::Stopped { hints, .. })) = finished.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    assert!(
        hints
            .iter()
            .any(|hint| hint.contains("message 1") && hint.contains("too late")),
        "{hints:?}"
    );
    assert!(
        hints
            .iter()
            .any(|hint| hint.contains("message 2") && hint.contains("always")),
        "{hints:?}"
    );
}

/// Queues a message during the only task, and lets the run finish within `iterations` iterations.
async fn steered_at_the_last_task(project: &LoopProject, iterations: u32) -> in_process::FinishedLoop {
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        if turn.n == 1 {
            turn.wait_for("go").await;
            turn.work();
        } else {
            turn.write("more.txt", "more\n");
        }
        turn.over("done");
    });
    let running = project.looping(&agent).max_iterations(iterations).start();
    running.wait_for_record(said("ready")).await;
    running.steer(SteeringKind::Next, "add a licence").await;
    project.release("go");
    running.wait().await
}

#[tokio::test(start_paused = true)]
async fn a_message_queued_during_the_last_task_is_delivered_before_the_run_is_done() {
    let project = LoopProject::new();
    let finished = steered_at_the_last_task(&project, 50).await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(deliveries(&finished.records()), [(1, 2)]);
    let prompt = project.prompt(2);
    assert!(
        prompt.contains("no task is open, but the user has sent the message below") && prompt.contains("add a licence"),
        "{prompt}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_a_limit_keeps_from_the_agent_is_no_green_end_and_is_named() {
    let project = LoopProject::new();
    let finished = steered_at_the_last_task(&project, 1).await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let Some(Event::Run(RunEvent::Stopped { hints, .. })) = finished.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    let named = |hint: &String| hint.contains("message 1 was never delivered") && hint.contains("add a licence");
    assert!(hints.iter().any(named), "{hints:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_withdrawn_keeps_no_run_from_being_done() {
    let project = LoopProject::new();
    let running = running_here(&project, 1).await;
    running.steer(SteeringKind::Next, "forget it").await;
    withdraw(&running, 1).await;
    project.release("go");
    let records = records_of(running).await;
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_session_was_cut_off_before_it_showed_anything_is_in_the_next_prompt() {
    let project = LoopProject::new();
    project.plan(3);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            turn.hang().await;
        }
        turn.said("ready");
        if turn.n == 1 {
            turn.wait_for("go").await;
        }
        turn.work();
        turn.over("done");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready")).await;
    running.steer(SteeringKind::Next, "use tabs").await;
    project.release("go");
    running.wait_for_record(started(2)).await;
    running.kill().await;
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let mentions: Vec<bool> = (1..=4).map(|n| project.prompt(n).contains("use tabs")).collect();
    assert_eq!(mentions, [false, true, true, false]);
    assert_eq!(deliveries(&project.journal()), [(1, 3)]);
}
