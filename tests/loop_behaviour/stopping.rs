//! Signals and `ralph stop`: the agent is ended by its preferred signal, its work is kept, and the exit code tells who
//! stopped it.

use nix::sys::signal::Signal;
use ralph_core::event::{
    CancelReason, Event, Exit, IterationEvent, Outcome, RequestedBy, RunEvent, StopReason, StopRequest, TimeEvent,
    UserCommand,
};

use super::{outcomes, reason, said};
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FunctionAgent, LoopProject},
    running::{Finished, Running},
};

const STOPPED: Outcome = Outcome::Cancelled {
    reason: CancelReason::Stopped,
};
/// Cleans up when interrupted, which takes a while.
const CLEANS_UP: &str = r#"trap 'echo cleaned > cleaned.txt; git add --all; git commit --quiet --message Cleaned; exit 0' INT
said ready; while :; do sleep 0.02; done"#;
/// Ignores every signal except `SIGKILL`.
const STUBBORN: &str = r#"said ready; exec "$FAKE_AGENT" ignore-signals hang"#;

fn running(sandbox: &Sandbox, script: &Script) -> Running {
    sandbox.install(script);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    running
}

fn stop_requested(stop: StopRequest, by: RequestedBy) -> impl Fn(&Event) -> bool {
    move |event| *event == Event::Run(RunEvent::StopRequested { stop, by })
}

#[track_caller]
fn ended(running: Running, code: i32) -> Finished {
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(code), "{finished:?}");
    finished
}

#[test]
fn one_interrupt_lets_the_agent_clean_up_and_keeps_its_result() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, &Script::jsonl(CLEANS_UP).stopped_by("interrupt", 20_000));
    running.signal(Signal::SIGINT);
    let finished = ended(running, 130);
    let records = finished.records();
    assert_eq!(*reason(&records), StopReason::Interrupted);
    assert_eq!(outcomes(&records), [&STOPPED]);
    assert_eq!(sandbox.read("cleaned.txt").as_deref(), Some("cleaned\n"));
    let settled = events(&records).find_map(|event| match event {
        Event::Iteration(IterationEvent::Settled { changes, .. }) => *changes,
        _ => None,
    });
    assert_eq!(settled.map(|changes| (changes.commits, changes.files)), Some((1, 1)));
    sandbox.assert_clean();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    let sandbox = Sandbox::new();
    let script = Script::jsonl(STUBBORN).stopped_by("interrupt", 60_000);
    let running = running(&sandbox, &script);
    running.signal(Signal::SIGINT);
    running.wait_for_record(SOON, stop_requested(StopRequest::Graceful, RequestedBy::Interrupt));
    running.signal(Signal::SIGINT);
    let records = ended(running, 130).records();
    assert!(events(&records).any(stop_requested(StopRequest::Immediate, RequestedBy::Interrupt)));
    sandbox.assert_nothing_runs();
}

#[test]
fn signals_have_the_exit_codes_that_shells_expect() {
    for (signal, code, wanted) in [
        (Signal::SIGTERM, 143, StopReason::Terminated),
        (Signal::SIGHUP, 129, StopReason::HungUp),
    ] {
        let sandbox = Sandbox::new();
        let running = running(&sandbox, &Script::jsonl("said ready; exec sleep 600"));
        running.signal(signal);
        let records = ended(running, code).records();
        assert_eq!(*reason(&records), wanted);
        assert_eq!(outcomes(&records), [&STOPPED]);
        assert!(events(&records).any(|event| matches!(event, Event::Iteration(IterationEvent::Settled { .. }))));
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn nohup_keeps_ralph_running_when_the_terminal_goes() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).under(&["nohup"]).start();
    running.wait_for_record(SOON, said("ready"));
    running.signal(Signal::SIGHUP);
    // Signals are handled before commands, so they were when this one is answered.
    assert_eq!(sandbox.ralph(["status"]).run(SOON).code(), Some(0));
    sandbox.release("go");
    ended(running, 0);
}

#[test]
fn ralph_stop_ends_the_agent_in_order() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, &Script::jsonl(CLEANS_UP).stopped_by("interrupt", 20_000));
    assert_eq!(sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    let records = ended(running, 130).records();
    assert_eq!(*reason(&records), StopReason::Requested);
    assert!(sandbox.read("cleaned.txt").is_some());
}

#[tokio::test(start_paused = true)]
async fn ralph_stop_after_the_iteration_lets_it_finish() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        turn.wait_for("go").await;
        turn.work();
        turn.over("done");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready")).await;
    let stop = StopRequest::AfterIteration;
    running.command(UserCommand::Stop { stop }).await.unwrap();
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(130), "{finished:?}");
    assert_eq!(outcomes(&finished.records()), [&Outcome::Completed]);
    // The next command continues at the same place.
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()).len(), 1);
}

#[test]
fn ralph_stop_at_once_kills_an_agent_that_takes_no_signal() {
    let sandbox = Sandbox::new();
    let running = running(&sandbox, &Script::jsonl(STUBBORN).stopped_by("interrupt", 60_000));
    assert_eq!(sandbox.ralph(["stop", "--at-once"]).run(SOON).code(), Some(0));
    ended(running, 130);
    sandbox.assert_nothing_runs();
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_during_a_wait_or_a_pause_ends_the_run_at_once() {
    const HOUR_MS: u64 = 60 * 60 * 1000;
    let failing = FunctionAgent::terminal(|turn| async move { turn.exits(Exit::Code { code: 1 }) });
    for (name, agent, pause) in [("wait", failing, false), ("pause", FunctionAgent::worker(), true)] {
        let project = LoopProject::new();
        if pause {
            project.write(".ralph-pause", "");
        }
        let looping = project.looping(&agent).with(|settings| {
            settings.backoff.base_ms = HOUR_MS;
            settings.backoff.max_ms = HOUR_MS;
        });
        let running = looping.start();
        running
            .wait_for_record(|event| {
                matches!(
                    event,
                    Event::Time(TimeEvent::WaitStarted { .. }) | Event::Time(TimeEvent::Held)
                )
            })
            .await;
        running.interrupt().await;
        let finished = running.wait().await;
        assert_eq!(finished.code(), Some(130), "{finished:?}");
        assert_eq!(*reason(&finished.records()), StopReason::Interrupted, "{name}");
    }
}

#[test]
fn an_agent_that_finishes_all_while_it_is_interrupted_is_done() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let script = Script::jsonl("trap 'work; over done; exit 0' INT; said ready; while :; do sleep 0.02; done");
    let running = running(&sandbox, &script.stopped_by("interrupt", 20_000));
    running.signal(Signal::SIGINT);
    // The boxes are ticked, but the interrupted iteration was not verified: the next run does that.
    let records = ended(running, 130).records();
    assert_eq!(outcomes(&records), [&STOPPED]);
}

#[test]
fn what_to_type_next_is_said_at_the_end() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(": > \"$HOME/ready\"; exec sleep 600"));
    let running = sandbox.ralph(["--adapter", "script"]).start();
    crate::harness::wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.signal(Signal::SIGINT);
    let finished = ended(running, 130);
    assert!(finished.stdout.contains("ralph: interrupted"), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("hint: `ralph continue` continues this run"),
        "{}",
        finished.stdout
    );
}
