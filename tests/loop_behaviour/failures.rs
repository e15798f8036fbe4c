//! Agents that fail, and the waits of the loop.

use nix::sys::signal::Signal;
use ralph_core::event::{
    Event, Exit, LimitKind, Outcome, ProblemKind, Record, RunEvent, StopReason, TimeEvent, UserCommand, Wait,
    WaitCause, WaitEnd,
};
use serde_json::json;

use super::{outcomes, reason};
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FunctionAgent, LoopProject},
    write_program,
};

/// The waits of a run: their kind, length, and number of consecutive failures.
fn waits(records: &[Record]) -> Vec<(Wait, u64, u32)> {
    records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Time(TimeEvent::WaitStarted {
                wait,
                until_ms,
                attempt,
                ..
            }) => Some((*wait, until_ms - record.at_ms, *attempt)),
            _ => None,
        })
        .collect()
}

fn waiting(wanted: Wait) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Time(TimeEvent::WaitStarted { wait, .. }) if *wait == wanted)
}

const FAILED: Exit = Exit::Code { code: 1 };
const HOUR_MS: u64 = 60 * 60 * 1000;

#[tokio::test(start_paused = true)]
async fn waits_after_failures_double_up_to_their_limit_and_success_starts_them_anew() {
    let project = LoopProject::new();
    project.plan(2);
    let agent = FunctionAgent::terminal(|turn| async move {
        match turn.n {
            5 | 7 => turn.work(),
            _ => turn.exits(FAILED),
        }
    });
    let looping = project.looping(&agent);
    let finished = looping.with(|settings| settings.backoff.jitter = 0.0).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let found = waits(&finished.records());
    let expected = [(10, 1), (20, 2), (40, 3), (40, 4), (10, 1)].map(|(ms, attempt)| (Wait::Backoff, ms, attempt));
    assert_eq!(found, expected);
}

#[tokio::test(start_paused = true)]
async fn the_next_prompt_tells_of_a_session_that_was_cut_off() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::terminal(|turn| async move {
        match turn.n {
            1 => turn.exits(Exit::Signal { signal: 9 }),
            _ => turn.work(),
        }
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert!(
        matches!(outcomes(&records)[0], Outcome::Failed { problem } if problem.kind == ProblemKind::Crashed),
        "{:?}",
        outcomes(&records)
    );
    assert!(project.prompt(2).contains("cut off"), "{}", project.prompt(2));
}

#[tokio::test(start_paused = true)]
async fn resume_now_cuts_a_wait_short() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::terminal(|turn| async move {
        match turn.n {
            1 => turn.exits(FAILED),
            _ => turn.work(),
        }
    });
    let looping = project.looping(&agent).with(|settings| {
        settings.backoff.base_ms = HOUR_MS;
        settings.backoff.max_ms = HOUR_MS;
    });
    let running = looping.start();
    running.wait_for_record(waiting(Wait::Backoff)).await;
    let phase = running.status().await.phase;
    assert!(phase.starts_with("waiting before the next try: the agent"), "{phase}");
    running.command(UserCommand::RetryNow).await.unwrap();
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let cause = WaitEnd::RetriedNow;
    assert!(events(&finished.records()).any(|event| *event == Event::Time(TimeEvent::WaitEnded { cause })));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_out_and_its_iteration_does_not_count() {
    let project = LoopProject::new();
    project.plan(1);
    let until_ms = project.now_ms() + 3_000;
    let agent = FunctionAgent::jsonl(move |turn| async move {
        if turn.n == 1 {
            return turn.failed(&json!({"kind": "rate-limited", "untilMs": until_ms}), "slow down");
        }
        turn.work();
        turn.over("done");
    });
    let finished = project.looping(&agent).max_iterations(1).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let waited = events(&records).find(|event| waiting(Wait::LimitReset)(event));
    // One second is added for clocks that differ.
    assert!(
        matches!(waited, Some(Event::Time(TimeEvent::WaitStarted { until_ms: until, why, .. })) if *until == until_ms + 1_000 && matches!(why, WaitCause::Failure { problem } if problem.text == "slow down")),
        "{waited:?}"
    );
    let started = records.iter().find(|record| super::started(2)(&record.event)).unwrap();
    assert!(started.at_ms >= until_ms, "it began before the limit was over");
    assert_eq!(outcomes(&records).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_without_an_end_waits_a_minute_at_least() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.failed(&json!({"kind": "quota-exhausted", "untilMs": null}), "no more");
    });
    let running = project.looping(&agent).start();
    let record = running.wait_for_record(waiting(Wait::LimitReset)).await;
    let found = waits(&[record]);
    assert!(found[0].1 >= 60_000, "{found:?}");
    running.interrupt().await;
    assert_eq!(running.wait().await.code(), Some(130));
}

#[tokio::test(start_paused = true)]
async fn what_would_fail_the_same_way_again_stops_the_run_at_once_with_a_hint() {
    for (kind, code, hint) in [
        ("auth", 1, "ralph adapters check script"),
        ("model-unknown", 1, "--model"),
        ("usage", 1, "ralph adapters check script"),
        ("not-installed", 4, "ralph adapters check script"),
    ] {
        let project = LoopProject::new();
        let agent = FunctionAgent::jsonl(move |turn| async move { turn.failed(&json!({"kind": kind}), "it said so") });
        let finished = project.looping(&agent).run().await;
        assert_eq!(finished.code(), Some(code), "{kind}: {finished:?}");
        let records = finished.records();
        let Some(Event::Run(RunEvent::Stopped { reason, hints, .. })) = records.last().map(|record| &record.event)
        else {
            panic!("no end")
        };
        let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
        assert!(
            matches!(reason, StopReason::AgentFailed { problem, .. } if problem.text == "it said so"),
            "{kind}: {reason:?}"
        );
        assert!(hints.iter().any(|text| text.contains(hint)), "{kind}: {hints:?}");
        assert!(waits(&records).is_empty(), "{kind}");
    }
}

#[test]
fn a_refused_login_ends_in_a_short_sentence_with_the_agents_words_and_the_next_step_in_lines_of_their_own() {
    let sandbox = Sandbox::new();
    let said = "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:1/v1/responses";
    sandbox.install(&Script::jsonl(&format!(r#"failed '{{"kind":"auth"}}' '{said}'"#)));
    let hint = "run `script login`";
    let config = format!(r#"{{ "adapters": {{ "script": {{ "login": {{ "hint": "{hint}" }} }} }} }}"#);
    std::fs::write(sandbox.config().join("ralph/config.json"), config).unwrap();
    let finished = sandbox.ralph(["--adapter", "script", "--headless"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let end: Vec<&str> = finished
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("ralph: "))
        .collect();
    assert_eq!(
        end[..2],
        ["ralph: failed: script is not logged in", &format!("  it said: {said}")],
        "{finished:?}"
    );
    assert!(end.contains(&format!("hint: {hint}").as_str()), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains(hint), "the journal knows what to type: {report}");
}

#[test]
fn a_program_that_vanishes_during_the_run_stops_it_with_code_4() {
    let sandbox = Sandbox::new();
    let program = sandbox.home().join("vanishing");
    let script = "#!/bin/sh\nsed -i '0,/- \\[ \\]/s//- [x]/' PLAN.md; rm \"$0\"\n";
    write_program(&program, script);
    let manifest = format!(
        "id = \"script\"\ndialect = \"terminal\"\n[command]\nprogram = \"{}\"\nargs = []\nprompt = \"stdin\"\n",
        program.display()
    );
    sandbox.install_adapter("script", &manifest);
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(4), "{finished:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_always_fails_stops_at_the_limit_of_iterations() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move { turn.exits(Exit::Code { code: 3 }) });
    let finished = project.looping(&agent).max_iterations(3).run().await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let limit = LimitKind::MaxIterations;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit });
    // No wait precedes the end at the limit.
    assert_eq!(waits(&records).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_fails_stops_at_the_limit_of_iterations() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move { turn.failed(&json!({"kind": "overloaded"}), "status 500") });
    let finished = project.looping(&agent).max_iterations(2).run().await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let limit = LimitKind::MaxIterations;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit });
    let is_overloaded =
        |outcome: &&Outcome| matches!(outcome, Outcome::Failed { problem } if problem.kind == ProblemKind::Overloaded);
    assert!(outcomes(&records).iter().all(is_overloaded), "{finished:?}");
    assert_eq!(waits(&records).len(), 1);
}

#[test]
fn an_interrupt_ends_the_wait_of_an_hour_at_once_and_leaves_nothing_running() {
    let sandbox = Sandbox::new();
    let until_ms = ralph_system::os::now_ms() + HOUR_MS;
    let limited = format!(r#"failed '{{"kind":"rate-limited","untilMs":{until_ms}}}' 'too much'"#);
    sandbox.install(&Script::jsonl(&limited));
    let running = sandbox.looping([] as [&str; 0]).start();
    let waiting = running.wait_for_record(SOON, waiting(Wait::LimitReset));
    assert!(waits(&[waiting])[0].1 > HOUR_MS / 2);
    running.signal(Signal::SIGINT);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(130), "{finished:?}");
    assert_eq!(*reason(&finished.records()), StopReason::Interrupted);
    sandbox.assert_nothing_runs();
}

#[tokio::test(start_paused = true)]
async fn an_exit_code_0_without_the_verdict_its_dialect_promises_is_a_failure() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            return turn.said("All done!");
        }
        turn.work();
        turn.over("done");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(matches!(outcomes(&finished.records())[0], Outcome::Failed { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_only_announced_ends_nothing() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        let until_ms = 99_999_999_999_999_u64;
        let kind = json!({"kind": "rate-limited", "untilMs": until_ms});
        turn.signal(&json!({"type": "limit-hit", "kind": kind, "untilMs": until_ms, "text": "soon"}));
        turn.work();
        turn.over("done");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(waits(&finished.records()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_denied_permission_goes_on_at_once_and_the_next_prompt_names_it() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            return turn.failed(&json!({"kind": "permission-denied"}), "rm -rf");
        }
        turn.work();
        turn.over("done");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(waits(&finished.records()).is_empty());
    assert!(
        project.prompt(2).contains("denied a permission (rm -rf)"),
        "{}",
        project.prompt(2)
    );
}
