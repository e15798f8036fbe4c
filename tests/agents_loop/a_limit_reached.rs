//! A server that fails for good is asked again after a pause, until the limit on iterations is reached.

use ralph::event::{Event, LimitKind, Outcome, ProblemKind, StopReason, Wait};

use super::{PATIENCE, outcomes, ralph, stopped};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, http},
};

fn scenario(agent: Agent) {
    let model = StandIn::start(http(500).retry_at_once());
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox).args(["--max-iterations", "2"]).run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    let limit = LimitKind::MaxIterations;
    assert_eq!(reason, StopReason::LimitReached { limit }, "{}", finished.stdout);
    assert_eq!(totals.iterations, 2);
    assert_eq!(finished.code(), Some(6));
    let records = finished.records();
    for outcome in outcomes(&records) {
        let Outcome::Failed { problem } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(problem.kind, ProblemKind::Overloaded, "{problem:?}");
    }
    let waits = |event: &Event| {
        matches!(
            event,
            Event::WaitStarted {
                wait: Wait::Backoff,
                attempt: 1,
                ..
            }
        )
    };
    assert_eq!(
        records.iter().filter(|record| waits(&record.event)).count(),
        1,
        "{}",
        finished.stdout
    );
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
