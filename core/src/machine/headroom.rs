//! Starts no iteration while a part of the account's windows is to stay free.

use crate::event::{Event, Wait, WaitCause, WindowSample};

use super::{decision::StepDecision, policy, settle};

/// The room that the account's windows leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// Another adapter is prepared, or the loop waits.
    Held,
}

/// Holds the prepared iteration back if more of the account's windows is used than runs may use.
///
/// A fallback takes over, as with a limit that was reached. The user may end the wait; the windows are then ignored
/// until it would have ended.
pub(super) fn check(decision: &mut StepDecision, now_ms: u64, samples: &[WindowSample]) -> Room {
    let state = &decision.state;
    let waived_until_ms = state.internal.windows.waived_until_ms;
    let Some(hold) = state.view.settings.headroom.hold(samples, now_ms) else {
        return Room::Free;
    };
    if waived_until_ms.is_some_and(|until_ms| until_ms > now_ms) {
        return Room::Free;
    }
    let adapter = state.view.adapter.clone();
    let mut until_ms = hold.until_ms;
    let is_work = state.view.role.is_work();
    if !is_work || !state.view.settings.fallback.is_empty() {
        decision.push(Event::AdapterLimited {
            adapter: adapter.clone(),
            until_ms,
        });
        match policy::worker_at(&decision.state, now_ms) {
            Err(first_free_ms) if is_work => until_ms = first_free_ms,
            // A fallback takes over, or the review is left out.
            Ok(_) | Err(_) => {
                settle::next(decision, now_ms);
                return Room::Held;
            }
        }
    }
    decision.push(Event::WaitStarted {
        wait: Wait::Headroom,
        until_ms,
        attempt: 0,
        why: WaitCause::WindowUsed {
            adapter,
            window: hold.kind,
            used_percent: hold.used_percent,
            most_percent: hold.most_percent,
        },
    });
    Room::Held
}
