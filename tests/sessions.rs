//! Sessions of agents that are programs, from the request to the last signal.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use ralph_agent::{
    AgentAdapter, Display, SessionRequest,
    catalog::{AdapterSources, Catalog},
    subprocess::SubprocessAdapter,
};
use ralph_core::event::{AgentSignal, CancelReason, Exit, Finding, ProblemKind, RunId, ToolKinds};
use ralph_policy::settings::{Node, SettingOrigin};
use ralph_system::{
    proc::Supervisor,
    proc::{Size, StopSpeed},
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::harness::write_program;

/// Far longer than anything here takes: a test that hangs fails.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
struct CapturedDisplay(Arc<Mutex<Vec<u8>>>);

impl Display for CapturedDisplay {
    fn show(&mut self, bytes: &[u8]) {
        self.0.lock().expect("unpoisoned").extend_from_slice(bytes);
    }
}

impl CapturedDisplay {
    fn clear(&self) {
        self.0.lock().expect("unpoisoned").clear();
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("unpoisoned")).into_owned()
    }
}

/// A project directory with room for one session's files.
struct SessionProject {
    dir: tempfile::TempDir,
    shown: CapturedDisplay,
}

impl SessionProject {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("scratch")).expect("a directory");
        Self {
            dir,
            shown: CapturedDisplay::default(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        write_program(&path, text);
        path
    }

    fn request(&self, prompt: &str) -> SessionRequest {
        let path = self.path().join("scratch/prompt.md");
        fs::write(&path, prompt).expect("a prompt");
        SessionRequest {
            run: RunId("test".to_owned()),
            iteration: 1,
            prompt: path,
            cwd: self.path().to_owned(),
            model: None,
            agent: None,
            resume: None,
            size: Size { cols: 80, rows: 24 },
            asks: ToolKinds::NONE,
            subagents: ralph_core::event::SubagentLimits::default(),
            one_way: false,
            env: vec![(
                "RALPH_PLAN".to_owned(),
                self.path().join("PLAN.md").to_string_lossy().into_owned(),
            )],
            scratch: self.path().join("scratch"),
            display: Box::new(self.shown.clone()),
        }
    }
}

fn adapter(id: &str, settings: serde_json::Value) -> SubprocessAdapter {
    guarded_adapter(id, settings, PathBuf::from(env!("CARGO_BIN_EXE_ralph")))
}

fn guarded_adapter(id: &str, settings: serde_json::Value, guard: PathBuf) -> SubprocessAdapter {
    let adapters = serde_json::json!({ id: settings });
    let config = vec![Node::from_value(adapters, &SettingOrigin::Default)];
    let catalog = Catalog::load(&AdapterSources {
        config,
        ..AdapterSources::default()
    });
    let manifest = catalog.manifest(id).expect("an adapter");
    SubprocessAdapter::new(manifest, &Supervisor::default().guarded_by(guard))
}

/// An agent that is a shell script.
fn script(dialect: &str, script: &str) -> SubprocessAdapter {
    adapter("script", script_settings(dialect, script))
}

fn script_settings(dialect: &str, script: &str) -> serde_json::Value {
    json!({"dialect": dialect, "command": {"program": "sh", "args": ["-c", script], "prompt": "stdin"},
           "stop": {"first": "terminate", "grace_ms": 200}})
}

async fn next(signals: &mut mpsc::Receiver<AgentSignal>) -> Option<AgentSignal> {
    let signal = tokio::time::timeout(DEADLINE, signals.recv()).await;
    signal.unwrap_or_else(|_| panic!("a signal in time; what is there:\n{}", processes()))
}

/// The processes of this machine and what each waits for, to find what keeps a session from its end.
fn processes() -> String {
    let columns = "pid,ppid,pgid,sid,stat,wchan:24,pending,blocked,args";
    let listed = std::process::Command::new("ps").args(["-eHo", columns]).output();
    listed.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

async fn until(mut reached: impl FnMut() -> bool) {
    let wait = async {
        while !reached() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, wait)
        .await
        .expect("it comes to that in time");
}

/// Collects signals until the channel closes; only the last one may be `Ended`.
async fn rest(mut signals: mpsc::Receiver<AgentSignal>) -> Vec<AgentSignal> {
    let mut all = Vec::new();
    while let Some(signal) = next(&mut signals).await {
        all.push(signal);
    }
    let ended = all
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Ended { .. }))
        .count();
    assert_eq!(ended, 1, "{all:?}");
    assert!(matches!(all.last(), Some(AgentSignal::Ended { .. })), "{all:?}");
    all
}

async fn ran(adapter: &SubprocessAdapter, request: SessionRequest) -> Vec<AgentSignal> {
    let (out, signals) = mpsc::channel(4);
    let session = adapter.start(request, out);
    let all = rest(signals).await;
    drop(session);
    all
}

fn problem(signals: &[AgentSignal]) -> Option<ProblemKind> {
    signals.iter().find_map(|signal| match signal {
        AgentSignal::Problem { problem } => Some(problem.kind),
        _ => None,
    })
}

fn verdict(signals: &[AgentSignal]) -> Option<(bool, Option<&str>)> {
    signals.iter().find_map(|signal| match signal {
        AgentSignal::TurnEnded { ok, message } => Some((*ok, message.as_deref())),
        _ => None,
    })
}

fn exit(signals: &[AgentSignal]) -> Option<Exit> {
    match signals.last() {
        Some(AgentSignal::Ended { exit, .. }) => *exit,
        _ => None,
    }
}

const OK: Exit = Exit::Code { code: 0 };

#[tokio::test]
async fn a_structured_agent_reads_its_prompt_and_reports_signals() {
    let place = SessionProject::new();
    let agent = script(
        "ralph-jsonl",
        r#"read -r line; echo "on stderr" >&2
        printf '{"type":"said","text":"%s"}\n{"type":"turn-ended","ok":true,"message":null}\n' "$line""#,
    );
    let signals = ran(&agent, place.request("the prompt\n")).await;
    assert_eq!(
        signals[0],
        AgentSignal::Said {
            text: "the prompt".to_owned()
        }
    );
    assert_eq!(verdict(&signals), Some((true, Some("the prompt"))));
    assert_eq!(exit(&signals), Some(OK));
    let shown = place.shown.text();
    assert!(
        shown.contains("on stderr\r\n") && shown.contains("the prompt\r\n"),
        "{shown:?}"
    );
    assert!(
        !shown.contains("turn-ended"),
        "signals are rendered, not shown: {shown:?}"
    );
}

#[tokio::test]
async fn a_recording_of_codex_passes_through_a_real_process() {
    let place = SessionProject::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex/success.jsonl");
    let agent = script("codex-json", &format!("cat '{}'", fixture.display()));
    let signals = ran(&agent, place.request("")).await;
    assert!(
        verdict(&signals).is_some_and(|(ok, message)| ok && message.is_some_and(|text| text.contains("RALPH_STATUS")))
    );
    assert!(place.shown.text().contains("echo hello > made_by_shell.txt"));
}

#[tokio::test]
async fn an_agent_that_ends_without_a_verdict_failed_and_its_stderr_says_why() {
    let place = SessionProject::new();
    let agent = script(
        "codex-json",
        "echo 'Error: no rollout found for thread id x' >&2; exit 1",
    );
    let signals = ran(&agent, place.request("")).await;
    assert_eq!(problem(&signals), Some(ProblemKind::SessionLost));
    assert_eq!(verdict(&signals), Some((false, None)));
    assert_eq!(exit(&signals), Some(Exit::Code { code: 1 }));
}

#[tokio::test]
async fn a_program_that_would_repeat_itself_for_ever_is_ended() {
    let place = SessionProject::new();
    let overflow = r#"{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}"#;
    let agent = script(
        "opencode-json",
        &format!("while :; do echo '{overflow}'; sleep 0.01; done"),
    );
    let signals = ran(&agent, place.request("")).await;
    assert_eq!(problem(&signals), Some(ProblemKind::ContextOverflow));
    assert_eq!(verdict(&signals), Some((false, None)));
    assert_eq!(exit(&signals), Some(Exit::Signal { signal: 15 }));
}

#[tokio::test]
async fn what_an_agent_says_beside_its_signals_is_heard_while_it_works() {
    let place = SessionProject::new();
    let says = "echo 'Attempt 1 failed with status 429. Retrying with backoff...' >&2";
    let agent = script("gemini-stream-json", &format!("{says}; read -r line </dev/tty"));
    let (out, mut signals) = mpsc::channel(4);
    let session = agent.start(place.request(""), out);
    let kind = Some(ProblemKind::RateLimited { until_ms: None });
    assert!(
        matches!(next(&mut signals).await, Some(AgentSignal::Retrying { attempt: Some(1), kind: found, .. }) if found == kind)
    );
    session.type_bytes(b"\r");
    assert_eq!(problem(&rest(signals).await), Some(ProblemKind::Crashed));
}

#[tokio::test]
async fn what_was_left_without_a_line_end_is_not_run_into() {
    let place = SessionProject::new();
    let say = r#"printf 'Progress 1%%' >/dev/tty; echo '{"type":"said","text":"hello"}'"#;
    ran(&script("ralph-jsonl", &format!("{say}; {say}")), place.request("")).await;
    let shown = place.shown.text();
    assert!(!shown.contains("%hello") && shown.contains("Progress 1%"), "{shown:?}");
}

#[tokio::test]
async fn any_program_will_do_for_the_terminal_dialect() {
    let place = SessionProject::new();
    let agent = script("terminal", r"printf '\033[32mgreen\033[0m\n'; cat; exit 0");
    let signals = ran(&agent, place.request("last line")).await;
    assert_eq!(verdict(&signals), Some((true, Some("green\nlast line"))));
    assert!(
        place.shown.text().contains("\x1b[32mgreen\x1b[0m\r\n"),
        "{:?}",
        place.shown.text()
    );
    let Some(AgentSignal::Ended { output_bytes, .. }) = signals.last() else {
        panic!("an end")
    };
    assert_eq!(*output_bytes, place.shown.text().len() as u64);
}

#[tokio::test]
async fn a_program_that_asks_its_terminal_gets_an_answer() {
    let place = SessionProject::new();
    let asks =
        r"exec </dev/tty; stty -echo -icanon min 1; printf 'abc\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c";
    let signals = ran(&script("terminal", asks), place.request("")).await;
    let (_, message) = verdict(&signals).expect("a verdict");
    assert!(
        message.is_some_and(|text| text.contains("033   [   1   ;   4   R")),
        "{message:?}"
    );
}

#[tokio::test]
async fn a_missing_program_is_reported_like_any_other_end() {
    let place = SessionProject::new();
    let agent = adapter("codex", json!({"command": {"program": "no-such-agent"}}));
    let hints = agent.check(place.path()).expect_err("it is missing").hints();
    assert!(hints[0].contains("npm install -g @openai/codex"), "{hints:?}");
    let signals = ran(&agent, place.request("")).await;
    assert_eq!(problem(&signals), Some(ProblemKind::NotInstalled));
    assert_eq!(signals.len(), 2);
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_reported_like_any_other_end() {
    let place = SessionProject::new();
    place.program("agent", "#!/no/such/interpreter\n");
    let agent = adapter("codex", json!({"command": {"program": "./agent"}}));
    let signals = ran(&agent, place.request("")).await;
    assert_eq!(problem(&signals), Some(ProblemKind::NotInstalled), "{signals:?}");
}

#[tokio::test]
async fn a_stop_gets_through_while_nobody_takes_the_signals() {
    let place = SessionProject::new();
    let agent = script(
        "ralph-jsonl",
        r#"while :; do echo '{"type":"said","text":"more"}'; done"#,
    );
    let (out, mut signals) = mpsc::channel(1);
    let room = out.downgrade();
    let session = agent.start(place.request(""), out);
    assert!(next(&mut signals).await.is_some());
    // The channel is not read from here on, so the next signal waits for ever.
    until(|| room.upgrade().is_none_or(|out| out.capacity() == 0)).await;
    session.stop(StopSpeed::Graceful);
    let all = rest(signals).await;
    assert!(matches!(exit(&all), Some(Exit::Signal { .. })), "{:?}", all.last());
    assert_eq!(problem(&all), Some(ProblemKind::Crashed));
}

#[tokio::test]
async fn an_end_that_ralph_makes_is_told_and_shown_with_its_reason_and_is_no_crash() {
    let place = SessionProject::new();
    let agent = script(
        "ralph-jsonl",
        r#"echo '{"type":"said","text":"busy"}'; exec sleep 1000"#,
    );
    let (out, signals) = mpsc::channel(4);
    let session = agent.start(place.request(""), out);
    until(|| place.shown.text().contains("busy")).await;
    session.ends_for(CancelReason::Skipped);
    session.stop(StopSpeed::Graceful);
    let findings: Vec<_> = rest(signals)
        .await
        .into_iter()
        .filter_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.finding),
            _ => None,
        })
        .collect();
    let reason = CancelReason::Skipped;
    assert_eq!(findings, [Some(Finding::EndedByRalph { reason })]);
    let shown = place.shown.text();
    assert!(shown.contains("● ended by ralph: skipped by the user"), "{shown}");
    assert!(!shown.contains('✗') && !shown.contains("signal"), "{shown}");
}

#[tokio::test]
async fn an_agent_that_ignores_the_first_signals_is_ended_all_the_same() {
    let place = SessionProject::new();
    for (dialect, ready) in [
        ("ralph-jsonl", r#"{"type":"said","text":"deaf"}"#),
        ("terminal", "deaf"),
    ] {
        let agent = script(
            dialect,
            &format!("trap '' TERM INT HUP; echo '{ready}'; while :; do sleep 1000; done"),
        );
        let (out, signals) = mpsc::channel(4);
        let session = agent.start(place.request(""), out);
        until(|| place.shown.text().contains("deaf")).await;
        session.stop(StopSpeed::Graceful);
        assert_eq!(
            exit(&rest(signals).await),
            Some(Exit::Signal { signal: 9 }),
            "{dialect}"
        );
        place.shown.clear();
    }
}

#[tokio::test]
async fn a_session_that_is_stopped_while_it_starts_ends_like_any_other() {
    let place = SessionProject::new();
    for stop in [StopSpeed::Graceful, StopSpeed::Immediate] {
        let agent = script("ralph-jsonl", "sleep 1000");
        let (out, signals) = mpsc::channel(4);
        let session = agent.start(place.request(""), out);
        session.stop(stop);
        let all = rest(signals).await;
        assert!(matches!(verdict(&all), Some((false, _)) | None), "{all:?}");
    }
}

#[tokio::test]
async fn a_session_is_stopped_although_its_guard_ignored_the_signals_while_it_started() {
    let place = SessionProject::new();
    for (stop, name) in [(StopSpeed::Graceful, "graceful"), (StopSpeed::Immediate, "immediate")] {
        let [starts, go] = ["starts", "go"].map(|file| place.path().join(format!("{name}-{file}")));
        let wrapper = format!(
            "#!/bin/sh\ntrap '' USR1 USR2\n: > '{}'\nuntil [ -e '{}' ]; do sleep 0.01; done\nexec '{}' \"$@\"\n",
            starts.display(),
            go.display(),
            env!("CARGO_BIN_EXE_ralph"),
        );
        let guard = place.program(&format!("{name}-guard"), &wrapper);
        let agent = guarded_adapter("script", script_settings("ralph-jsonl", "sleep 1000"), guard);
        let (out, signals) = mpsc::channel(4);
        let session = agent.start(place.request(""), out);
        until(|| starts.exists()).await;
        session.stop(stop);
        fs::write(&go, "").expect("a file");
        let all = rest(signals).await;
        assert!(matches!(verdict(&all), Some((false, _)) | None), "{all:?}");
    }
}

#[tokio::test]
async fn a_turn_that_was_said_to_be_over_counts_whatever_comes_after_it() {
    let place = SessionProject::new();
    let over = r#"{"type":"turn-ended","ok":true,"message":"over"}"#;
    let signals = ran(
        &script(
            "ralph-jsonl",
            &format!("echo '{over}'; printf '{{\"type\":\"sa'; kill -9 $$"),
        ),
        place.request(""),
    )
    .await;
    assert_eq!(verdict(&signals), Some((true, Some("over"))));
    assert_eq!(problem(&signals), None);
    assert_eq!(exit(&signals), Some(Exit::Signal { signal: 9 }));
}

#[tokio::test]
async fn a_flood_is_shown_whole_and_its_end_is_kept() {
    let place = SessionProject::new();
    let signals = ran(
        &script("terminal", "yes 0123456789 | head -n 200000; echo the end"),
        place.request(""),
    )
    .await;
    let (ok, message) = verdict(&signals).expect("a verdict");
    assert!(ok && message.is_some_and(|text| text.ends_with("0123456789\nthe end") && text.len() < 100_000));
    let Some(AgentSignal::Ended { output_bytes, .. }) = signals.last() else {
        panic!("an end")
    };
    assert_eq!(*output_bytes, 200_000 * 12 + 9);
}

#[tokio::test]
async fn the_turns_of_a_continued_session_are_counted_one_by_one() {
    let place = SessionProject::new();
    let agent = script(
        "codex-json",
        r#"n=$(cat total 2>/dev/null || echo 0); n=$((n + 100)); echo $n >total
        echo '{"type":"thread.started","thread_id":"t"}'
        echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":$n}}""#,
    );
    for turn in 1..=3 {
        let signals = ran(&agent, place.request("")).await;
        let used = signals.iter().find_map(|signal| match signal {
            AgentSignal::Usage { usage } => usage.input_tokens,
            _ => None,
        });
        assert_eq!(used, Some(100), "turn {turn}");
    }
}

#[tokio::test]
async fn dropping_a_session_ends_the_agent_and_a_dropped_receiver_harms_nobody() {
    let place = SessionProject::new();
    let agent = script("ralph-jsonl", r#"echo '{"type":"said","text":"on it"}'; sleep 1000"#);
    let (out, mut signals) = mpsc::channel(1);
    let session = agent.start(place.request(""), out);
    assert!(next(&mut signals).await.is_some());
    drop(session);
    let all = rest(signals).await;
    assert!(matches!(exit(&all), Some(Exit::Signal { signal: 9 })), "{all:?}");

    let (out, signals) = mpsc::channel(1);
    drop(signals);
    let session = agent.start(place.request(""), out.clone());
    session.stop(StopSpeed::Immediate);
    drop(session);
    // The reporter holds the other sender; a count of one means that it is gone.
    until(|| out.strong_count() == 1).await;
}

#[tokio::test]
async fn a_display_that_panics_ends_the_session_like_any_other() {
    struct Panics;
    impl Display for Panics {
        fn show(&mut self, _bytes: &[u8]) {
            panic!("on purpose");
        }
    }
    let place = SessionProject::new();
    let agent = script("terminal", "echo x; sleep 1000");
    let signals = ran(
        &agent,
        SessionRequest {
            display: Box::new(Panics),
            ..place.request("")
        },
    )
    .await;
    assert_eq!(problem(&signals), Some(ProblemKind::Crashed));
}

#[tokio::test]
async fn broken_bytes_and_lines_without_end_stop_nothing() {
    let place = SessionProject::new();
    let agent = script(
        "ralph-jsonl",
        r#"printf '\0\377\n'; head -c 20000000 /dev/zero | tr '\0' 'x'
        printf '\n{"type":"turn-ended","ok":true,"message":"fine"}'"#,
    );
    let signals = ran(&agent, place.request("")).await;
    assert_eq!(verdict(&signals), Some((true, Some("fine"))), "{signals:?}");
    assert!(
        signals
            .iter()
            .any(|signal| matches!(signal, AgentSignal::Noted { text } if text.contains("20000000 bytes")))
    );
}

#[tokio::test]
async fn the_demo_agent_works_under_a_terminal_of_its_own() {
    let place = SessionProject::new();
    fs::write(place.path().join("PLAN.md"), "- [ ] Write `greet.sh`\n").expect("a plan");
    let agent = adapter(
        "demo",
        json!({"command": {"program": env!("CARGO_BIN_EXE_ralph"), "env": {"RALPH_DEMO_SPEED": "0"}}}),
    );
    let signals = ran(&agent, place.request("End with <promise>p-1</promise>\n")).await;
    let (ok, message) = verdict(&signals).expect("a verdict");
    assert!(ok, "{signals:?}");
    assert!(
        message.is_some_and(|text| text.contains("write .ralph-done")),
        "{message:?}"
    );
    assert!(place.path().join(".ralph-done").exists());
    assert_eq!(
        fs::read_to_string(place.path().join("PLAN.md")).expect("the plan"),
        "- [x] Write `greet.sh`\n"
    );
    assert!(place.shown.text().contains("\x1b["));
}
