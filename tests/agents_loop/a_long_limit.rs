//! A server that wants to be asked again in an hour. Some agents give up and some sleep, without a word, for as long as
//! that takes: either way the agent is gone soon, and ralph itself waits, where everybody can see it.

use std::time::Duration;

use nix::sys::signal::Signal;
use ralph::event::{Event, Outcome, ProblemKind, StopReason, Wait};
use serde_json::json;

use super::{PATIENCE, outcomes, ralph, stopped};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{Scenario, StandIn, http},
};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTES: Duration = Duration::from_secs(120);

fn scenario(agent: Agent) {
    let mut limited = http(429).header("retry-after", "3600");
    if agent == Agent::Gemini {
        let retry = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s" });
        limited = limited.body(json!({ "error": {
            "code": 429, "message": "Too much at once.", "status": "RESOURCE_EXHAUSTED", "details": [retry],
        } }));
    }
    let model = StandIn::start(Scenario::from(limited.clone()).side(limited));
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    let running = ralph(agent, &sandbox).args(["--idle-timeout", "5s"]).start();
    let wait = running.wait_for_record(PATIENCE, |event| matches!(event, Event::WaitStarted { .. }));
    if agent != Agent::OpencodeServer {
        // A server of one's own goes on to serve the next session.
        let others = sandbox.processes().into_iter().filter(|process| {
            // The guard of git is there for as long as ralph is.
            process.pid != running.pid() && !process.command.ends_with("__guard --helpers")
        });
        assert_eq!(others.collect::<Vec<_>>(), [], "nobody sleeps beside ralph");
    }
    running.signal(Signal::SIGINT);
    let finished = running.wait(PATIENCE);

    let Event::WaitStarted {
        wait: kind, until_ms, ..
    } = wait.event
    else {
        unreachable!("it was waited for");
    };
    assert_eq!(kind, Wait::LimitReset, "{}", finished.stdout);
    let ended = outcomes(&finished.records());
    let Outcome::Failed { problem } = &ended[0] else {
        panic!("{ended:?}")
    };
    let ProblemKind::RateLimited { until_ms: told } = problem.kind else {
        panic!("{problem:?}")
    };
    // The others do not say when, not even opencode, whose server does.
    let tells = matches!(agent, Agent::Gemini | Agent::OpencodeServer);
    assert_eq!(told.is_some(), tells, "{problem:?}");
    let waits = Duration::from_millis(until_ms - wait.at_ms);
    let about_an_hour = waits > HOUR - MINUTES && waits < HOUR + MINUTES;
    assert!(!tells || about_an_hour, "{waits:?}");
    assert_eq!(stopped(&finished).0, StopReason::Interrupted);
    assert_eq!(finished.code(), Some(130));
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
