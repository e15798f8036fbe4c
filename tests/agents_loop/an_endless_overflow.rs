//! opencode compacts a session that is too long for its model, and asks again, and compacts again, without end. It is
//! ended, and the next session starts fresh.

use ralph::event::{Event, Outcome, ProblemKind};
use serde_json::json;

use super::{PATIENCE, outcomes, ralph};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, http},
};

fn scenario(agent: Agent) {
    let too_long = json!({ "error": {
        "message": "This model's maximum context length is 200000 tokens.",
        "type": "invalid_request_error", "code": "context_length_exceeded",
    } });
    let model = StandIn::start(http(400).body(too_long));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox)
        .args(["--session", "resume", "--max-iterations", "2"])
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let records = finished.records();
    for outcome in outcomes(&records) {
        assert!(
            matches!(&outcome, Outcome::Failed { problem } if problem.kind == ProblemKind::ContextOverflow),
            "{outcome:?}"
        );
    }
    let fresh = |event: &Event| {
        matches!(
            event,
            Event::IterationStarted {
                iteration: 2,
                resume: None,
                ..
            }
        )
    };
    assert!(records.iter().any(|record| fresh(&record.event)), "{}", finished.stdout);
    sandbox.assert_nothing_runs();
}

each_agent!(scenario: opencode Opencode, opencode_server OpencodeServer);
