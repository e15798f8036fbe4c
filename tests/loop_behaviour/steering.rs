//! Messages of the user: when they reach the agent, and that they do once.

use ralph::event::{CancelReason, Delivery, Event, Outcome, Record, SteeringId};

use super::{outcomes, said, started};
use crate::harness::{SOON, Sandbox, Script, events, running::Running, wait_until};

/// A loop whose first iteration is running and ends after `let_go("go")`.
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
            Event::SteeringDelivered {
                id: SteeringId(id),
                iteration,
                how: Delivery::Prompt,
            } => Some((*id, *iteration)),
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

#[test]
fn a_message_is_in_the_next_prompt_and_only_there() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 3);
    let reply = steer(&sandbox, &["use", "tabs"]);
    assert!(reply.contains("message 1") && reply.contains("next prompt"), "{reply}");
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("1 (next prompt): use tabs"), "{status}");
    sandbox.let_go("go");
    let records = finishes(running);
    assert_eq!(deliveries(&records), [(1, 2)]);
    let mentions: Vec<bool> = (1..=3).map(|n| sandbox.prompt(n).contains("use tabs")).collect();
    assert_eq!(mentions, [false, true, false]);
}

#[test]
fn a_standing_message_is_in_every_prompt_until_it_is_withdrawn() {
    let sandbox = Sandbox::new();
    sandbox.plan(4);
    sandbox.install(&Script::jsonl("said ready$n; await go$n; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready1"));
    steer(&sandbox, &["--standing", "no new crates"]);
    sandbox.let_go("go1");
    sandbox.let_go("go2");
    running.wait_for_record(SOON, said("ready3"));
    let withdrawn = sandbox.ralph(["withdraw", "1"]).run(SOON);
    assert_eq!(withdrawn.code(), Some(0), "{withdrawn:?}");
    sandbox.let_go("go3");
    sandbox.let_go("go4");
    finishes(running);
    let mentions: Vec<bool> = (1..=4).map(|n| sandbox.prompt(n).contains("no new crates")).collect();
    assert_eq!(mentions, [false, true, true, false]);
}

#[test]
fn a_message_that_is_withdrawn_in_time_reaches_nobody() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 2);
    steer(&sandbox, &["forget it"]);
    assert_eq!(sandbox.ralph(["withdraw", "1"]).run(SOON).code(), Some(0));
    sandbox.let_go("go");
    assert_eq!(deliveries(&finishes(running)), []);
    assert!(!sandbox.prompt(2).contains("forget it"));
}

#[test]
fn a_message_that_cannot_wait_ends_the_iteration_and_is_in_the_next_prompt() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 1);
    let reply = steer(&sandbox, &["--now", "stop that"]);
    assert!(
        reply.contains("message 1: iteration 1 is stopped; iteration 2 starts with it"),
        "{reply}"
    );
    let records = finishes(running);
    let reason = CancelReason::Steered;
    assert_eq!(
        outcomes(&records),
        [&Outcome::Cancelled { reason }, &Outcome::Completed]
    );
    assert_eq!(deliveries(&records), [(1, 2)]);
    assert!(sandbox.prompt(2).contains("stop that"));
}

#[test]
fn a_message_that_comes_while_an_iteration_is_prepared_is_not_an_iteration_late() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    // Preparation takes as long as git does.
    let slow = "#!/bin/sh\ncase \"$*\" in *write-tree*) : > \"$HOME/preparing\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done;; esac\n\
                exec /usr/bin/git \"$@\"\n";
    let git = sandbox.home().join("bin/git");
    std::fs::create_dir(git.parent().unwrap()).unwrap();
    std::fs::write(&git, slow).unwrap();
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", git.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let running = sandbox.looping([] as [&str; 0]).env("PATH", path).start();
    crate::harness::wait_until(SOON, "preparation", || sandbox.read_home("preparing"));
    steer(&sandbox, &["--now", "in time"]);
    sandbox.let_go("go");
    let records = finishes(running);
    assert_eq!(deliveries(&records), [(1, 1)]);
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
    assert!(sandbox.prompt(1).contains("in time"));
}

#[test]
fn messages_survive_ralph() {
    let sandbox = Sandbox::new();
    let first = running(&sandbox, 2);
    steer(&sandbox, &["once, please"]);
    steer(&sandbox, &["--standing", "always"]);
    first.kill();
    first.wait(SOON);
    sandbox.let_go("go");
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(deliveries(&finished.records()), [(1, 2), (2, 2), (2, 3)]);
    let mentions = |text| (2..=3).map(|n| sandbox.prompt(n).contains(text)).collect::<Vec<_>>();
    assert_eq!(mentions("once, please"), [true, false]);
    assert_eq!(mentions("always"), [true, true]);
}

#[test]
fn a_message_of_many_lines_and_signs_arrives_as_it_was_typed() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 2);
    let text = "first «line» {task} $HOME\n<promise>x</promise> — `code` 🦀";
    steer(&sandbox, &[text]);
    sandbox.let_go("go");
    finishes(running);
    let prompt = sandbox.prompt(2);
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

#[test]
fn skipping_ends_the_iteration_and_the_next_one_starts_at_once() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 1);
    assert_eq!(sandbox.ralph(["skip"]).run(SOON).code(), Some(0));
    running.wait_for_record(SOON, started(2));
    let records = finishes(running);
    let reason = CancelReason::Skipped;
    assert_eq!(
        outcomes(&records),
        [&Outcome::Cancelled { reason }, &Outcome::Completed]
    );
    assert!(!events(&records).any(|event| matches!(event, Event::WaitStarted { .. })));
}

#[test]
fn a_message_that_was_not_delivered_when_the_run_ended_is_named() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 2);
    steer(&sandbox, &["too late"]);
    steer(&sandbox, &["--standing", "always"]);
    assert_eq!(sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    let finished = running.wait(SOON);
    let Some(Event::RunStopped { hints, .. }) = finished.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
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

/// Queues a message while the only task is worked on, and lets that finish.
fn steered_at_the_last_task(sandbox: &Sandbox, args: &[&str]) -> crate::harness::running::Finished {
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        "said ready; if [ $n = 1 ]; then await go; work; else echo more > more.txt; fi; over done",
    ));
    let running = sandbox.looping(args).start();
    running.wait_for_record(SOON, said("ready"));
    steer(sandbox, &["add", "a", "licence"]);
    sandbox.let_go("go");
    running.wait(SOON)
}

#[test]
fn a_message_queued_during_the_last_task_is_delivered_before_the_run_is_done() {
    let sandbox = Sandbox::new();
    let finished = steered_at_the_last_task(&sandbox, &[]);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(deliveries(&finished.records()), [(1, 2)]);
    let prompt = sandbox.prompt(2);
    assert!(
        prompt.contains("no task is open, but the user has sent the message below") && prompt.contains("add a licence"),
        "{prompt}"
    );
}

#[test]
fn a_message_that_a_limit_keeps_from_the_agent_is_no_green_end_and_is_named() {
    let sandbox = Sandbox::new();
    let finished = steered_at_the_last_task(&sandbox, &["--max-iterations", "1"]);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let Some(Event::RunStopped { hints, .. }) = finished.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
    let named = |hint: &String| hint.contains("message 1 was never delivered") && hint.contains("add a licence");
    assert!(hints.iter().any(named), "{hints:?}");
}

#[test]
fn a_message_that_was_withdrawn_keeps_no_run_from_being_done() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, 1);
    steer(&sandbox, &["forget it"]);
    assert_eq!(sandbox.ralph(["withdraw", "1"]).run(SOON).code(), Some(0));
    sandbox.let_go("go");
    let records = finishes(running);
    assert_eq!(outcomes(&records), [&Outcome::Completed]);
}

#[test]
fn a_message_whose_session_was_cut_off_before_it_showed_anything_is_in_the_next_prompt() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl(
        "[ $n = 2 ] && { : > $HOME/second; exec sleep 600; }; said ready; [ $n = 1 ] && await go; work; over done",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    steer(&sandbox, &["use", "tabs"]);
    sandbox.let_go("go");
    wait_until(SOON, "second session", || sandbox.read_home("second"));
    running.kill();
    running.wait(SOON);
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let mentions: Vec<bool> = (1..=4).map(|n| sandbox.prompt(n).contains("use tabs")).collect();
    assert_eq!(mentions, [false, true, true, false]);
    assert_eq!(deliveries(&sandbox.journal()), [(1, 3)]);
}
