//! The windows of accounts that the user lets runs use in spite of `headroom` and `pace`.

use crate::{
    event::{Event, TimeEvent, Wait, WaitEnd},
    run::{Phase, RunView},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// Until when the windows are ignored.
    pub(super) waived_until_ms: Option<u64>,
}

impl Windows {
    /// Applies an event; `view` is the state before it.
    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        if let Event::Time(TimeEvent::WaitEnded {
            cause: WaitEnd::RetriedNow,
        }) = event
            && let Phase::Waiting {
                wait: Wait::Headroom,
                until_ms,
                ..
            } = view.phase
        {
            self.waived_until_ms = Some(until_ms);
        }
    }
}
