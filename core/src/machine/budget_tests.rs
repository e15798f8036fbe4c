//! Tests of the limits on the reports in the journal.

use crate::{
    event::{AgentEvent, AgentSignal, CancelReason, Event, Exit, IterationEvent, Outcome, Problem, ProblemKind, Usage},
    run::Phase,
};

use super::{
    Input, LoopState, Step,
    enumeration::inputs::{plan, started},
    step, testing,
};

const NOW_MS: u64 = 5_000;

/// The state of a running iteration.
fn running() -> LoopState {
    let ready = Input::Prepared {
        iteration: 1,
        result: Ok(testing::preparation(plan(true))),
    };
    step(started(), NOW_MS, &ready).state
}

fn reports(state: LoopState, signal: AgentSignal) -> Step {
    step(state, NOW_MS, &Input::Agent { iteration: 1, signal })
}

/// Reports `times` signals, and returns the final state and all events.
fn reports_often(mut state: LoopState, times: usize, signal: impl Fn(usize) -> AgentSignal) -> (LoopState, Vec<Event>) {
    let mut all = Vec::new();
    for n in 0..times {
        let Step {
            state: next, events, ..
        } = reports(state, signal(n));
        state = next;
        all.extend(events);
    }
    (state, all)
}

fn bytes(events: &[Event]) -> usize {
    events
        .iter()
        .map(|event| serde_json::to_vec(event).unwrap().len())
        .sum()
}

fn said(n: usize) -> AgentSignal {
    AgentSignal::Said {
        text: format!("number {n} {}", "x".repeat(n % 5_000)),
    }
}

#[test]
fn an_agent_that_talks_without_end_fills_its_budget_and_no_more() {
    let (state, events) = reports_often(running(), 20_000, said);
    assert!(bytes(&events) < 200 * 1024, "{} bytes", bytes(&events));
    let omissions = events
        .iter()
        .filter(|event| matches!(event, Event::Agent(AgentEvent::DetailsOmitted { .. })));
    assert_eq!(omissions.count(), 1, "it is said once");
    assert!(matches!(state.view.phase, Phase::Running { .. }));
    // Signals that affect the state are still recorded.
    let usage = AgentSignal::Usage {
        usage: Usage {
            output_tokens: Some(7),
            ..Usage::default()
        },
    };
    let after = reports(state, usage);
    assert_eq!((after.events.len(), after.state.view.usage.output_tokens), (1, Some(7)));
}

#[test]
fn two_hundred_chatty_iterations_leave_less_than_sixteen_megabytes_of_details() {
    let mut state = running();
    let mut total = 0;
    for _ in 0..200 {
        let (after, events) = reports_often(state, 400, |_| said(4_000));
        total += bytes(&events);
        state = after;
        state.internal.budget.begin_iteration();
    }
    assert!(total < 16 << 20, "{total} bytes");
}

#[test]
fn what_an_agent_waits_for_is_known_however_much_it_said_before() {
    let (state, _) = reports_often(running(), 5_000, |_| said(1));
    let retrying = AgentSignal::Retrying {
        attempt: None,
        of: None,
        why: "overloaded".to_owned(),
        kind: Some(ProblemKind::Overloaded),
    };
    let waiting = reports(state, retrying.clone());
    assert!(waiting.state.internal.pending_error.is_some());
    let again = reports(waiting.state, retrying);
    assert_eq!(again.events, [], "the same is not news");
    let moved_on = reports(again.state, said(1));
    assert!(
        moved_on.state.internal.pending_error.is_none(),
        "that it got on is needed"
    );
}

#[test]
fn reports_that_must_be_kept_and_never_end_fail_the_iteration() {
    let asks = |n: usize| AgentSignal::PermissionAsked {
        allowed: false,
        id: n.to_string(),
        text: "x".repeat(1_000),
    };
    let (state, events) = reports_often(running(), 20_000, asks);
    assert!(bytes(&events) < 2 << 20, "{} bytes", bytes(&events));
    let flooded = Event::Iteration(IterationEvent::CancelRequested {
        iteration: 1,
        reason: CancelReason::Flooded,
    });
    assert_eq!(events.last(), Some(&flooded), "nothing is kept after it");
    let exit = Some(Exit::Signal { signal: 15 });
    let gone = AgentSignal::Ended { exit, output_bytes: 0 };
    let ended = reports(state, gone);
    let is_flood = |outcome: &Outcome| {
        matches!(
            outcome,
            Outcome::Failed {
                problem: Problem {
                    kind: ProblemKind::Flood,
                    ..
                }
            }
        )
    };
    assert!(
        matches!(&ended.state.view.phase, Phase::Settling { outcome, .. } if is_flood(outcome)),
        "{:?}",
        ended.state.view.phase
    );
}

#[test]
fn an_agent_that_tries_again_and_gets_on_for_hours_is_no_flood() {
    let (state, events) = reports_often(running(), 40_000, |n| match n % 2 {
        0 => AgentSignal::Retrying {
            attempt: None,
            of: None,
            why: format!("overloaded {n}"),
            kind: Some(ProblemKind::Overloaded),
        },
        _ => said(1),
    });
    assert!(
        matches!(state.view.phase, Phase::Running { .. }),
        "{:?}",
        state.view.phase
    );
    assert!(state.internal.pending_error.is_none());
    assert!(bytes(&events) < 2 << 20, "{} bytes", bytes(&events));
}
