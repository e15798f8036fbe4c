//! ralph waits and retries when a server fails. A limit of an hour makes ralph itself wait, visibly and with the agent
//! ended: some agents would sleep silently for that long. A refused key ends the run at once, with a hint.

use std::time::Duration;

use ralph_core::event::{Event, Outcome, ProblemKind, Record, StopReason, TimeEvent, Wait};
use serde_json::json;

use super::{PATIENCE, outcomes, ralph, stopped};
use crate::{
    harness::{
        SOON, Sandbox,
        agent::{Agent, each_agent},
        running::Running,
    },
    stand_in::{Scenario, StandIn, http, scenario::HttpError},
};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTES: Duration = Duration::from_secs(120);

fn scenario(agent: Agent) {
    let model = StandIn::start(http(500).retry_at_once());
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    let running = ralph(agent, &sandbox)
        .args(["--idle-timeout", "8s"])
        // Long enough for the next answer to be another one.
        .env("RALPH_BACKOFF_BASE", "1s")
        .start();
    let pause = wait(&running, Wait::Backoff);
    model.play(Scenario::from(limited(agent)).side(limited(agent)));
    let hour = wait(&running, Wait::LimitReset);
    assert_nobody_sleeps_beside_ralph(agent, &sandbox, &running);
    model.play(Scenario::from(http(401)).side(http(401)));
    let resumed = sandbox.ralph(["resume", "--now"]).run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    let finished = running.wait(PATIENCE);

    assert!(
        matches!(pause.event, Event::Time(TimeEvent::WaitStarted { attempt: 1, .. })),
        "{pause:?}"
    );
    let ended = outcomes(&finished.records());
    let kinds: Vec<&ProblemKind> = ended
        .iter()
        .map(|outcome| match outcome {
            Outcome::Failed { problem } => &problem.kind,
            other => panic!("{other:?}"),
        })
        .collect();
    let [
        ProblemKind::Overloaded,
        ProblemKind::RateLimited { until_ms },
        ProblemKind::Auth,
    ] = kinds[..]
    else {
        panic!("{kinds:?}\n{}", finished.stdout)
    };
    assert_waits_as_told(agent, *until_ms, &hour);
    let (reason, hints, totals) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::Auth),
        "{reason:?}"
    );
    assert_eq!(totals.iterations, 3, "trying again would fail the same way");
    assert!(hints.iter().any(|hint| hint.contains(login(agent))), "{hints:?}");
    assert_eq!(finished.code(), Some(1));
    sandbox.assert_nothing_runs();
}

// kimi and cline repeat a failed request silently for longer than a test waits, and cline sleeps through a limit of an hour.
each_agent!(
    scenario: native Native;
    codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer,
    native_responses NativeResponses, native_messages NativeMessages, copilot Copilot, kilo Kilo, pi Pi
);

fn wait(running: &Running, wanted: Wait) -> Record {
    running.wait_for_record(
        PATIENCE,
        |event| matches!(event, Event::Time(TimeEvent::WaitStarted { wait, .. }) if *wait == wanted),
    )
}

/// A rate limit that ends in an hour.
fn limited(agent: Agent) -> HttpError {
    let limited = http(429).header("retry-after", "3600");
    if agent != Agent::Gemini {
        return limited;
    }
    let retry = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s" });
    limited.body(json!({ "error": {
        "code": 429, "message": "Too much at once.", "status": "RESOURCE_EXHAUSTED", "details": [retry],
    } }))
}

#[track_caller]
fn assert_nobody_sleeps_beside_ralph(agent: Agent, sandbox: &Sandbox, running: &Running) {
    if agent == Agent::OpencodeServer {
        // An opencode server that ralph started keeps running for the next session.
        return;
    }
    let others = sandbox.processes().into_iter().filter(|process| {
        // The guard of git lives as long as ralph.
        process.pid != running.pid() && !process.command.ends_with("__guard --helpers")
    });
    assert_eq!(others.collect::<Vec<_>>(), [], "nobody sleeps beside ralph");
}

#[track_caller]
fn assert_waits_as_told(agent: Agent, told: Option<u64>, wait: &Record) {
    // The other agents do not report the end of the limit. opencode does not either, though its server does.
    let tells = matches!(agent, Agent::Gemini | Agent::OpencodeServer) || agent.is_native();
    assert_eq!(told.is_some(), tells, "{told:?}");
    let Event::Time(TimeEvent::WaitStarted { until_ms, .. }) = wait.event else {
        unreachable!("it was waited for");
    };
    let waits = Duration::from_millis(until_ms - wait.at_ms);
    let about_an_hour = waits > HOUR - MINUTES && waits < HOUR + MINUTES;
    assert!(!tells || about_an_hour, "{waits:?}");
}

/// The command or key with which a user logs in.
pub(super) fn login(agent: Agent) -> &'static str {
    match agent {
        Agent::Codex => "`codex login`",
        Agent::Claude => "`/login`",
        Agent::Gemini => "GEMINI_API_KEY",
        Agent::Opencode | Agent::OpencodeServer => "`opencode auth login`",
        Agent::Copilot => "`copilot login`",
        Agent::Kilo => "`kilo auth login`",
        Agent::Kimi => "`kimi login`",
        Agent::Pi => "/login",
        Agent::Cline => "`cline auth`",
        Agent::Native | Agent::NativeResponses | Agent::NativeMessages => "OPENAI_API_KEY",
    }
}
