//! Pausing and resuming: by file, from another terminal, and by both.

use ralph_core::event::{Event, IterationEvent, PausedBy, Record, TimeEvent, UserCommand};
use serde_json::Value;

use super::{notices, said, started};
use crate::harness::{
    SOON, Sandbox, Script, events, in_process,
    in_process::{FunctionAgent, LoopProject},
    running::Running,
};

fn held(event: &Event) -> bool {
    matches!(event, Event::Time(TimeEvent::Held))
}

fn paused(by: PausedBy) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Time(TimeEvent::Paused { by: found }) if *found == by)
}

fn unpaused(by: PausedBy) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Time(TimeEvent::Unpaused { by: found }) if *found == by)
}

/// A loop over two tasks, whose first iteration is running and waits for `release("go")`.
fn running(sandbox: &Sandbox) -> Running {
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    running
}

fn remove_pause_file(sandbox: &Sandbox) {
    std::fs::remove_file(sandbox.project().join(".ralph-pause")).unwrap();
}

#[track_caller]
fn type_command(sandbox: &Sandbox, args: &[&str]) {
    let finished = sandbox.ralph(args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_ne!(finished.stdout, "", "it says what comes of it");
}

#[track_caller]
fn finishes(running: Running) -> crate::harness::running::Finished {
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

/// As [`running`], in process.
async fn running_here(project: &LoopProject) -> in_process::RunningLoop {
    let running = project.looping(&waiting_to_go()).start();
    running.wait_for_record(said("ready")).await;
    running
}

/// An agent that works after `release("go")`.
fn waiting_to_go() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        turn.wait_for("go").await;
        turn.work();
        turn.over("done");
    })
}

async fn make_pause_file(project: &LoopProject, running: &in_process::RunningLoop) {
    project.write(".ralph-pause", "");
    running.pause_file(true).await;
}

async fn take_pause_file_away(project: &LoopProject, running: &in_process::RunningLoop) {
    remove_pause_file(project);
    running.pause_file(false).await;
}

async fn records_of(running: in_process::RunningLoop) -> Vec<Record> {
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished.records()
}

#[test]
fn the_files_that_pause_and_claim_end_in_no_commit_and_in_no_prompt() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "said ready; await go; work\n[ $n = 1 ] || { touch .ralph-done; git add --all; git commit --quiet -m Claim; }\nover done",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    sandbox.write(".ralph-pause", "");
    running.wait_for_record(SOON, paused(PausedBy::File));
    sandbox.release("go");
    running.wait_for_record(SOON, held);
    remove_pause_file(&sandbox);
    finishes(running);
    let committed = sandbox.git(["log", "--format=", "--name-only", "HEAD"]);
    assert!(!committed.contains(".ralph-"), "{committed}");
    assert!(!sandbox.prompt(2).contains(".ralph-pause"), "{}", sandbox.prompt(2));
    sandbox.assert_clean();
    let excluded = sandbox.read(".git/info/exclude").unwrap();
    assert!(excluded.ends_with("\n.ralph-pause\n.ralph-done\n"), "{excluded}");
    sandbox.write("PLAN.md", "- [ ] Another\n");
    assert_eq!(sandbox.looping(["--max-iterations", "1"]).run(SOON).code(), Some(0));
    assert_eq!(sandbox.read(".git/info/exclude").as_ref(), Some(&excluded), "only once");
}

#[tokio::test(start_paused = true)]
async fn a_pause_file_at_start_holds_the_run_says_so_and_its_removal_starts_it() {
    let project = LoopProject::new();
    project.write(".ralph-pause", "");
    let running = project.looping(&FunctionAgent::worker()).start();
    running.wait_for_record(held).await;
    take_pause_file_away(&project, &running).await;
    let records = records_of(running).await;
    assert!(notices(&records).iter().any(|text| text.contains(".ralph-pause")));
    let held_at = events(&records).position(held).unwrap();
    let started_at = events(&records).position(started(1)).unwrap();
    assert!(held_at < started_at);
}

#[test]
fn a_pause_file_that_appears_lets_the_iteration_finish_and_starts_no_other() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox);
    sandbox.write(".ralph-pause", "");
    running.wait_for_record(SOON, paused(PausedBy::File));
    sandbox.release("go");
    running.wait_for_record(SOON, held);
    remove_pause_file(&sandbox);
    let records = finishes(running).records();
    let order: Vec<usize> = [
        events(&records)
            .position(|event| matches!(event, Event::Iteration(IterationEvent::Settled { iteration: 1, .. }))),
        events(&records).position(held),
        events(&records).position(unpaused(PausedBy::File)),
        events(&records).position(started(2)),
    ]
    .into_iter()
    .map(Option::unwrap)
    .collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_file_that_comes_and_goes_during_an_iteration_holds_nothing() {
    let project = LoopProject::new();
    let running = running_here(&project).await;
    make_pause_file(&project, &running).await;
    running.wait_for_record(paused(PausedBy::File)).await;
    take_pause_file_away(&project, &running).await;
    running.wait_for_record(unpaused(PausedBy::File)).await;
    project.release("go");
    let records = records_of(running).await;
    assert!(!events(&records).any(held));
}

#[test]
fn another_terminal_pauses_and_resumes() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox);
    type_command(&sandbox, &["pause"]);
    running.wait_for_record(SOON, paused(PausedBy::User));
    sandbox.release("go");
    running.wait_for_record(SOON, held);
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("paused"), "{status}");
    let status: Value = serde_json::from_str(&sandbox.ralph(["status", "--json"]).run(SOON).stdout).expect("JSON");
    assert_eq!(status["phase"], "paused", "{status:#}");
    assert_eq!(status["view"]["phase"]["type"], "paused", "{status:#}");
    assert_eq!(status["view"]["run"], status["run"], "{status:#}");
    type_command(&sandbox, &["resume"]);
    finishes(running);
}

#[tokio::test(start_paused = true)]
async fn resuming_from_another_terminal_takes_the_pause_file_away() {
    let project = LoopProject::new();
    let running = running_here(&project).await;
    make_pause_file(&project, &running).await;
    running.wait_for_record(paused(PausedBy::File)).await;
    project.release("go");
    running.wait_for_record(held).await;
    running.command(UserCommand::Resume).await.unwrap();
    records_of(running).await;
    assert_eq!(project.read(".ralph-pause"), None);
}

#[tokio::test(start_paused = true)]
async fn a_loop_paused_by_both_goes_on_when_both_are_gone() {
    let project = LoopProject::new();
    let running = running_here(&project).await;
    running.command(UserCommand::Pause).await.unwrap();
    make_pause_file(&project, &running).await;
    running.wait_for_record(paused(PausedBy::File)).await;
    project.release("go");
    running.wait_for_record(held).await;
    take_pause_file_away(&project, &running).await;
    running.wait_for_record(unpaused(PausedBy::File)).await;
    assert!(running.status().await.paused);
    running.command(UserCommand::Resume).await.unwrap();
    records_of(running).await;
}

#[test]
fn resume_now_ends_a_pause_as_well_as_a_wait() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox);
    type_command(&sandbox, &["pause"]);
    sandbox.release("go");
    running.wait_for_record(SOON, held);
    type_command(&sandbox, &["resume", "--now"]);
    finishes(running);
}

#[tokio::test(start_paused = true)]
async fn a_pause_survives_ralph_and_is_said_again() {
    let project = LoopProject::new();
    let first = running_here(&project).await;
    first.command(UserCommand::Pause).await.unwrap();
    project.release("go");
    first.wait_for_record(held).await;
    first.kill().await;
    let second = project.looping(&waiting_to_go()).start();
    second.wait_for_record(held).await;
    second.command(UserCommand::Resume).await.unwrap();
    records_of(second).await;
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox);
    for (args, why) in [
        (&["resume"][..], "neither paused"),
        (&["resume", "--now"], "neither paused nor waiting"),
        (&["steer", "--withdraw", "7"], "no queued message 7"),
    ] {
        let finished = sandbox.ralph(args).run(SOON);
        assert_eq!(finished.code(), Some(1), "{args:?}: {finished:?}");
        assert!(
            finished.stderr.starts_with("error: ") && finished.stderr.contains(why),
            "{finished:?}"
        );
    }
    sandbox.release("go");
    finishes(running);
    let finished = sandbox.ralph(["pause"]).run(SOON);
    assert_eq!(finished.code(), Some(1));
    assert!(
        finished.stderr.contains("ralph is not running in this project"),
        "{finished:?}"
    );
}

#[test]
fn a_state_directory_too_deep_for_a_socket_is_reached_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let deep = sandbox.state().join("deep/".repeat(20));
    let in_it = |program: crate::harness::Program| {
        program
            .env("RALPH_STATE_DIR", &deep)
            // As on a system without a login session.
            .env("XDG_RUNTIME_DIR", "")
    };
    let running = in_it(sandbox.looping([] as [&str; 0])).start();
    running.wait_for_record(SOON, said("ready"));
    let finished = in_it(sandbox.ralph(["stop"])).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(running.wait(SOON).code(), Some(130));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_taken_out_while_the_loop_is_held_is_given_up_and_named() {
    let project = LoopProject::new();
    project.plan(2);
    let running = running_here(&project).await;
    running.command(UserCommand::Pause).await.unwrap();
    project.release("go");
    running.wait_for_record(held).await;
    project.write("PLAN.md", "- [x] Task 1\n- [ ] Another task\n");
    running.command(UserCommand::Resume).await.unwrap();
    let records = records_of(running).await;
    let said = notices(&records).join("\n");
    assert!(
        said.contains("removed from the plan since it was last read") && said.contains("\"Task 2\""),
        "{said}"
    );
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("removed from the plan"), "{report}");
}
