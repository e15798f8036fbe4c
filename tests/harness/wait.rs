//! Waiting for a condition, with a deadline.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Deadline for events that normally take milliseconds. It is long because only a failure uses it up, and machines are
/// slow.
pub const SOON: Duration = Duration::from_secs(60);

/// Shortest and longest pause between two looks. It grows with the time waited: an event that takes seconds may be seen
/// some milliseconds late, and a waiting test leaves the processors to others.
const INTERVALS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Waits until `condition` returns a value, by polling it.
///
/// # Panics
/// If it returns none within `deadline`; `what` is in the message.
#[track_caller]
pub fn wait_until<T>(deadline: Duration, what: &str, condition: impl FnMut() -> Option<T>) -> T {
    poll(deadline, condition).unwrap_or_else(|| panic!("no {what} within {deadline:?}"))
}

/// Like [`wait_until`], for callers that handle a passed deadline themselves.
pub fn poll<T>(deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        // The time is read before the condition: a thread that was scheduled late still looks once more.
        let waited = start.elapsed();
        match condition() {
            None if waited < deadline => thread::sleep((waited / 50).clamp(INTERVALS[0], INTERVALS[1])),
            answer => return answer,
        }
    }
}
