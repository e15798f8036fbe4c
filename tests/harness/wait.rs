//! Waiting for a condition, with an end to it.

use std::{
    thread,
    time::{Duration, Instant},
};

/// For what takes milliseconds when all is well. Long, because it is only used up by a failure, and machines are slow.
pub const SOON: Duration = Duration::from_secs(60);

/// Between two questions: short at first, and longer the longer it takes. What comes after seconds may come some
/// milliseconds late, and a test that waits leaves the processors to those that compute.
const INTERVALS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Waits until `condition` has an answer, asking for it again and again.
///
/// # Panics
/// If it has none within `deadline`; `what` is in the message.
#[track_caller]
pub fn wait_until<T>(deadline: Duration, what: &str, condition: impl FnMut() -> Option<T>) -> T {
    poll(deadline, condition).unwrap_or_else(|| panic!("no {what} within {deadline:?}"))
}

/// Like [`wait_until`], for callers with more to say about a deadline that has passed.
pub fn poll<T>(deadline: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        // Looked at first: a thread that was not scheduled in time still asks once more.
        let waited = start.elapsed();
        match condition() {
            None if waited < deadline => thread::sleep((waited / 50).clamp(INTERVALS[0], INTERVALS[1])),
            answer => return answer,
        }
    }
}
