//! The stashes that were made in the run and are still there.

use crate::event::{Event, IterationEvent, Leftover, StashEntry};

/// Most stashes that are named.
const MOST: usize = 10;

/// Applies an event.
pub(super) fn apply(stashes: &mut Vec<StashEntry>, event: &Event) {
    if let Event::Iteration(IterationEvent::LeftoverFound {
        leftover: Leftover::Stashes { made, gone },
        ..
    }) = event
    {
        stashes.retain(|stash| !gone.contains(stash));
        stashes.extend(made.iter().cloned());
        stashes.truncate(MOST);
    }
}
