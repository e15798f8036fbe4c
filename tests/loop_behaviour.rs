//! Behaviour of the loop. Most of these tests run it in process, with agents that are functions. Tests about processes,
//! signals, git or the command line run the real binary, with agents that are shell scripts.

mod awake;
mod beside;
mod blocks;
mod breaker;
mod ceilings;
mod channels;
mod claims;
mod clocks;
pub mod continuing;
mod disk;
mod edits;
mod environment;
mod failures;
mod fallback;
mod headroom;
mod limits;
mod one_task;
mod pausing;
mod plan_lines;
mod plans;
mod review;
mod sessions;
mod steering;
mod stopping;
mod task_settings;

use ralph_core::event::{AgentEvent, AgentSignal, Event, IterationEvent, Outcome, Record, RunEvent, StopReason};

use crate::harness::events;
pub use crate::harness::notices;

/// How the run ended.
#[track_caller]
fn reason(records: &[Record]) -> &StopReason {
    match records.last().map(|record| &record.event) {
        Some(Event::Run(RunEvent::Stopped { reason, .. })) => reason,
        other => panic!("the last record is no end: {other:?}"),
    }
}

/// How each iteration ended, in order.
fn outcomes(records: &[Record]) -> Vec<&Outcome> {
    events(records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome),
            _ => None,
        })
        .collect()
}

/// Matches a statement of the agent, for waiting until it was made.
pub fn said(wanted: &str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Agent(AgentEvent::Reported { signal: AgentSignal::Said { text }, .. }) if text == wanted)
}

/// Matches the start of iteration `n`.
pub fn started(n: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Iteration(IterationEvent::Started { iteration, .. }) if *iteration == n)
}
