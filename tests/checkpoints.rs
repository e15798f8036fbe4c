//! Checkpoints of the real binary: when they are made, what they contain, and what a restore leaves alone.

mod collections;
mod nested;
mod places;
mod processes;
mod reviews;
mod state;
mod store;

use ralph_core::event::{Event, IterationEvent};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished, warnings};

/// Ticks one box and commits nothing.
const TICK: &str = "sed -i '0,/- \\[ \\]/s//- [x]/' PLAN.md; over done";

/// An agent that runs `does` and ticks one box.
fn agent(does: &str) -> Script {
    Script::jsonl(&format!("{does}\n{TICK}"))
}

#[track_caller]
fn assert_warns(finished: &Finished, words: &[&str]) {
    let warnings = warnings(&finished.records());
    let has_all = |text: &&String| words.iter().all(|word| text.contains(word));
    assert!(warnings.iter().any(|text| has_all(&text)), "{words:?}: {warnings:#?}");
}

/// How many iterations had a checkpoint at their end.
fn checkpointed(finished: &Finished) -> usize {
    let settled = |event: &&Event| {
        matches!(
            event,
            Event::Iteration(IterationEvent::Settled {
                checkpoint: Some(_),
                ..
            })
        )
    };
    events(&finished.records()).filter(settled).count()
}

#[track_caller]
fn finishes(sandbox: &Sandbox) -> Finished {
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}
