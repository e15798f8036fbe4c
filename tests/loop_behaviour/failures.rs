//! Agents that fail, and how long the loop waits.

use ralph::event::{Event, LimitKind, Outcome, ProblemKind, Record, StopReason, Wait, WaitEnd};

use super::{outcomes, reason};
use crate::harness::{SOON, Sandbox, Script, events};

/// The waits of a run: what for, how long, after how many failures.
fn waits(records: &[Record]) -> Vec<(Wait, u64, u32)> {
    records
        .iter()
        .filter_map(|record| match &record.event {
            Event::WaitStarted {
                wait,
                until_ms,
                attempt,
                ..
            } => Some((*wait, until_ms - record.at_ms, *attempt)),
            _ => None,
        })
        .collect()
}

fn waiting(wanted: Wait) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::WaitStarted { wait, .. } if *wait == wanted)
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

#[test]
fn waits_after_failures_double_up_to_their_limit_and_success_starts_them_anew() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::terminal("case $n in 5|7) work;; *) exit 1;; esac"));
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_BACKOFF_JITTER", "0")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let found = waits(&finished.records());
    let expected = [(10, 1), (20, 2), (40, 3), (40, 4), (10, 1)].map(|(ms, attempt)| (Wait::Backoff, ms, attempt));
    assert_eq!(found, expected);
}

#[test]
fn the_next_prompt_tells_of_a_session_that_was_cut_off() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::terminal("[ $n = 1 ] && kill -9 $$; work"));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert!(
        matches!(outcomes(&records)[0], Outcome::Failed { problem } if problem.kind == ProblemKind::Crashed),
        "{:?}",
        outcomes(&records)
    );
    assert!(sandbox.prompt(2).contains("cut off"), "{}", sandbox.prompt(2));
}

#[test]
fn resume_now_cuts_a_wait_short() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::terminal("[ $n = 1 ] && exit 1; work"));
    let running = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_BACKOFF_BASE", "1h")
        .env("RALPH_BACKOFF_MAX", "1h")
        .start();
    running.wait_for_record(SOON, waiting(Wait::Backoff));
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("waiting before the next try"), "{status}");
    assert_eq!(sandbox.ralph(["resume", "--now"]).run(SOON).code(), Some(0));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let cause = WaitEnd::RetriedNow;
    assert!(events(&finished.records()).any(|event| *event == Event::WaitEnded { cause }));
}

#[test]
fn a_rate_limit_is_waited_out_and_its_iteration_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let until_ms = now_ms() + 3_000;
    let limited = format!(r#"failed '{{"kind":"rate-limited","untilMs":{until_ms}}}' 'slow down'"#);
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then {limited}; else work; over done; fi"
    )));
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let waited = events(&records).find(|event| waiting(Wait::LimitReset)(event));
    // A second is added for clocks that differ.
    assert!(
        matches!(waited, Some(Event::WaitStarted { until_ms: until, why, .. }) if *until == until_ms + 1_000 && why == "slow down"),
        "{waited:?}"
    );
    let started = records.iter().find(|record| super::started(2)(&record.event)).unwrap();
    assert!(started.at_ms >= until_ms, "it began before the limit was over");
    assert_eq!(outcomes(&records).len(), 2);
}

#[test]
fn a_rate_limit_without_an_end_waits_a_minute_at_least() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        r#"failed '{"kind":"quota-exhausted","untilMs":null}' 'no more'"#,
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    let record = running.wait_for_record(SOON, waiting(Wait::LimitReset));
    let found = waits(&[record]);
    assert!(found[0].1 >= 60_000, "{found:?}");
    running.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(running.wait(SOON).code(), Some(130));
}

#[test]
fn what_would_fail_the_same_way_again_stops_the_run_at_once_with_a_hint() {
    for (kind, code, hint) in [
        ("auth", 1, "ralph adapters check script"),
        ("model-unknown", 1, "--model"),
        ("usage", 1, "ralph adapters check script"),
        ("not-installed", 4, "ralph adapters check script"),
    ] {
        let sandbox = Sandbox::new();
        let script = format!(r#"failed '{{"kind":"{kind}"}}' 'it said so'"#);
        sandbox.install(&Script::jsonl(&script));
        let finished = sandbox.looping([] as [&str; 0]).run(SOON);
        assert_eq!(finished.code(), Some(code), "{kind}: {finished:?}");
        let records = finished.records();
        let Some(Event::RunStopped { reason, hints, .. }) = records.last().map(|record| &record.event) else {
            panic!("no end")
        };
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
        ["ralph: stopped, script is not logged in", &format!("  it said: {said}")],
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
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let manifest = format!(
        "id = \"script\"\ndialect = \"terminal\"\n[command]\nprogram = \"{}\"\nargs = []\nprompt = \"stdin\"\n",
        program.display()
    );
    sandbox.install_adapter("script", &manifest);
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(4), "{finished:?}");
}

#[test]
fn an_agent_that_always_fails_stops_at_the_limit_of_iterations() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("exit 3"));
    let finished = sandbox.looping(["--max-iterations", "3"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let limit = LimitKind::MaxIterations;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit });
    // No wait that could only end in the bad news.
    assert_eq!(waits(&records).len(), 2);
}

#[test]
fn an_exit_code_0_without_the_verdict_its_dialect_promises_is_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        "if [ $n = 1 ]; then said 'All done!'; else work; over done; fi",
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(matches!(outcomes(&finished.records())[0], Outcome::Failed { .. }));
}

#[test]
fn a_limit_that_is_only_announced_ends_nothing() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        r#"echo '{"type":"limit-hit","kind":{"kind":"rate-limited","untilMs":99999999999999},"untilMs":99999999999999,"text":"soon"}'
        work; over done"#,
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(waits(&finished.records()).is_empty());
}

#[test]
fn a_denied_permission_goes_on_at_once_and_the_next_prompt_names_it() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        r#"if [ $n = 1 ]; then failed '{"kind":"permission-denied"}' 'rm -rf'; else work; over done; fi"#,
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(waits(&finished.records()).is_empty());
    assert!(
        sandbox.prompt(2).contains("denied a permission (rm -rf)"),
        "{}",
        sandbox.prompt(2)
    );
}
