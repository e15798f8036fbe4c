//! A session is continued by its id if `--session resume` is set: the model sees the first prompt again. If the session
//! is gone or too long for its model, the next one starts fresh and ralph says so.

use std::fs;

use ralph_core::event::{AgentSignal, Event, IterationEvent, Outcome, ProblemKind, Record, SessionId, TimeEvent};
use serde_json::json;

use super::{PATIENCE, assert_done, in_order, outcomes, ralph, signals, work_on};
use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
    },
    stand_in::{StandIn, Step, UNTIL_GO, http, say, shell},
};

fn scenario(agent: Agent) {
    on_channel(agent, "auto");
}

fn on_channel(agent: Agent, channel: &str) {
    // The user pauses the run in the second session: agents save their sessions at no known time.
    let tick = "awk '!t && sub(/- \\[ \\]/, \"- [x]\") { t = 1 } { print }' PLAN.md > P && mv P PLAN.md";
    let pausing: [Step; 2] = [shell(&format!("{tick}; {UNTIL_GO}")).into(), say("Ticked.").into()];
    let model = StandIn::start(in_order([&work_on("hello"), &pausing, &work_on("more")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    sandbox.write(
        "PLAN.md",
        "# Plan\n\n- [ ] Write hello.txt\n- [ ] Write world.txt\n- [ ] Write more.txt\n",
    );
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan more"]);
    // Uses the plain sandbox; `a_plan` uses the strict one.
    let running = ralph(agent, &sandbox)
        .args(["--session", "resume", "--sandbox", "on", "--channel", channel])
        .start();
    running.wait_for_record(PATIENCE, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { iteration: 2, .. }))
    });
    sandbox.write(".ralph-pause", "");
    sandbox.write("go", "");
    running.wait_for_record(PATIENCE, |event| matches!(event, Event::Time(TimeEvent::Held)));
    forget(agent, &sandbox);
    fs::remove_file(sandbox.project().join(".ralph-pause")).expect("the run is paused");
    let finished = running.wait(PATIENCE);

    assert_done(&finished, 3, 4);
    let records = finished.records();
    assert_second_is_resumed(agent, &records, &model);
    let ended = outcomes(&records);
    assert!(
        matches!(
            &ended[..],
            [Outcome::Completed, Outcome::Completed, Outcome::Failed { problem }, Outcome::Completed]
                if problem.kind == ProblemKind::SessionLost
        ),
        "{ended:#?}"
    );
    assert_eq!(
        resumed(&records).iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, true, true, false]
    );
    let said = |event: &Event| event.notice().is_some_and(|notice| notice.code == "session-lost");
    assert!(records.iter().any(|record| said(&record.event)), "{}", finished.stdout);
    assert_eq!(libraries(&sandbox), [""; 0], "each start would leave one more");
}

/// Libraries that agents have unpacked and left behind.
fn libraries(sandbox: &Sandbox) -> Vec<String> {
    let files = fs::read_dir(sandbox.temporary()).expect("the sandbox has one");
    let names = files
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".so")).collect()
}

/// Removes every session that the agent has saved.
fn forget(agent: Agent, sandbox: &Sandbox) {
    let kept = match agent {
        Agent::Codex => sandbox.codex_home().join("sessions"),
        Agent::Claude => sandbox.home().join(".claude/projects"),
        Agent::Gemini => sandbox.home().join(".gemini/tmp"),
        Agent::Opencode => sandbox.data().join("opencode"),
        Agent::Copilot => sandbox.home().join(".copilot/session-state"),
        Agent::Kilo => sandbox.data().join("kilo"),
        Agent::Kimi => sandbox.home().join(".kimi-code/sessions"),
        Agent::Pi => sandbox.home().join(".pi/agent/sessions"),
        Agent::Native | Agent::NativeResponses | Agent::NativeMessages => sandbox.state().join("ralph-native"),
        Agent::Cline => unreachable!("it does not report its sessions"),
        Agent::OpencodeServer => unreachable!("a server keeps its sessions for as long as it runs"),
    };
    fs::remove_dir_all(&kept).unwrap_or_else(|error| panic!("{}: {error}", kept.display()));
}

each_agent!(
    scenario: codex Codex, claude Claude, native Native; gemini Gemini, opencode Opencode, native_responses NativeResponses, native_messages NativeMessages,
    copilot Copilot, kilo Kilo, kimi Kimi, pi Pi
);

#[test]
#[ignore = "part of the full matrix"]
fn pi_on_its_live_channel() {
    on_channel(Agent::Pi, "live");
}

/// opencode compacts a session that is too long for its model and retries, again and again. ralph ends it.
#[test]
#[ignore = "part of the full matrix"]
fn opencode_server() {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world"), &[too_long()]]));
    let agent = Agent::OpencodeServer;
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    sandbox.write(
        "PLAN.md",
        "# Plan\n\n- [ ] Write hello.txt\n- [ ] Write world.txt\n- [ ] Write more.txt\n",
    );
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan more"]);
    let finished = ralph(agent, &sandbox)
        .args(["--session", "resume", "--max-iterations", "4"])
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let records = finished.records();
    assert_second_is_resumed(agent, &records, &model);
    assert_overflows(&outcomes(&records)[2..], 2);
    let resumed = resumed(&records);
    assert!(resumed[2].is_some(), "{resumed:?}");
    assert_eq!(resumed[3], None, "the next session starts fresh");
    sandbox.assert_nothing_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn opencode_after_an_endless_overflow() {
    let model = StandIn::start(in_order([&[too_long()]]));
    let agent = Agent::Opencode;
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox)
        .args(["--session", "resume", "--max-iterations", "2"])
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let records = finished.records();
    assert_overflows(&outcomes(&records), 2);
    assert_eq!(resumed(&records)[1], None, "the next session starts fresh");
    sandbox.assert_nothing_runs();
}

fn too_long() -> Step {
    let body = json!({ "error": {
        "message": "This model's maximum context length is 200000 tokens.",
        "type": "invalid_request_error", "code": "context_length_exceeded",
    } });
    http(400).body(body).into()
}

#[track_caller]
fn assert_overflows(outcomes: &[Outcome], count: usize) {
    let overflows = |outcome: &Outcome| matches!(outcome, Outcome::Failed { problem } if problem.kind == ProblemKind::ContextOverflow);
    assert!(
        outcomes.len() == count && outcomes.iter().all(overflows),
        "{outcomes:?}"
    );
}

/// The session that each iteration should continue.
fn resumed(records: &[Record]) -> Vec<Option<SessionId>> {
    let started = records.iter().filter_map(|record| match &record.event {
        Event::Iteration(IterationEvent::Started { resume, .. }) => Some(resume.clone()),
        _ => None,
    });
    started.collect()
}

/// Checks that the second iteration continued the session of the first, by the agent's reports and the model's
/// requests.
#[track_caller]
fn assert_second_is_resumed(agent: Agent, records: &[Record], model: &StandIn) {
    let second = resumed(records).swap_remove(1);
    assert!(second.is_some(), "it is told which session to go on with");
    let end = records
        .iter()
        .position(|record| {
            matches!(
                record.event,
                Event::Iteration(IterationEvent::Ended { iteration: 2, .. })
            )
        })
        .expect("a second iteration");
    let told = signals(&records[..end]);
    let opened: Vec<_> = told
        .iter()
        .filter_map(|signal| match signal {
            // copilot tells its model at the beginning, and its session at the end.
            AgentSignal::Opened { session: None, .. } if agent == Agent::Copilot => None,
            AgentSignal::Opened { session, .. } => Some(session),
            _ => None,
        })
        .collect();
    assert!(opened[0].is_some(), "{told:#?}");
    assert!(
        opened.iter().all(|&session| session == opened[0]),
        "it went on with its session: {opened:?}"
    );
    assert_eq!(&second, opened[0]);

    let third = &model.main_requests()[2];
    assert!(third.prompt().contains("Write world.txt"), "{}", third.prompt());
    let remembered = third
        .user_texts
        .iter()
        .filter(|text| text.contains("Write hello.txt"))
        .count();
    assert!(
        remembered > 0,
        "the first prompt is remembered: {:#?}",
        third.user_texts
    );
}
