//! Waiting for a condition, with an end to it.

use std::{
    thread,
    time::{Duration, Instant},
};

/// For what takes milliseconds when all is well. Long, because it is only used up by a failure, and machines are slow.
pub const SOON: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(5);

/// Waits until `condition` has an answer, asking for it every few milliseconds: it has to be cheap.
///
/// # Panics
/// If it has none within `deadline`; `what` is in the message.
#[track_caller]
pub fn wait_until<T>(deadline: Duration, what: &str, condition: impl FnMut() -> Option<T>) -> T {
    poll(deadline, condition).unwrap_or_else(|| panic!("no {what} within {deadline:?}"))
}

/// Like [`wait_until`], for callers with more to say about a deadline that has passed.
pub fn poll<T>(deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + deadline;
    loop {
        // Looked at first: a thread that was not scheduled in time still asks once more.
        let late = Instant::now() >= end;
        match condition() {
            None if !late => thread::sleep(INTERVAL),
            answer => return answer,
        }
    }
}
