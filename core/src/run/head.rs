//! The place of HEAD, as sessions and checkpoints leave it.

use crate::event::{Checkpoint, Event, HeadPlace, IterationEvent, Leftover};

/// Returns where HEAD is after `event`; `None` if it is on the branch that the run began with.
pub(super) fn after(known: Option<Box<HeadPlace>>, event: &Event) -> Option<Box<HeadPlace>> {
    match event {
        Event::Iteration(IterationEvent::LeftoverFound {
            leftover: Leftover::Head { place },
            ..
        }) => (!place.is_as_begun()).then(|| place.clone()),
        // Commits on no branch are told once; those that follow are on none either.
        Event::Iteration(IterationEvent::Settled {
            checkpoint: Some(Checkpoint { head: Some(head), .. }),
            ..
        }) => known.map(|mut place| {
            if place.branch.is_none() && place.tip.is_some() {
                place.tip = Some(head.into());
            }
            place
        }),
        _ => known,
    }
}
