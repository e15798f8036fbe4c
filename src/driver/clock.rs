//! Time and chance, the two things the machine is given.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::event::RunId;

/// Returns the wall clock in milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns 64 bits nobody can guess: the standard library keys its hashers from the system's random source.
pub(super) fn random_bits() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(now_ms());
    hasher.finish()
}

/// Returns a number in 0..1.
pub(super) fn random_share() -> f64 {
    // The upper 53 bits are what a f64 holds exactly.
    #[allow(clippy::cast_precision_loss)]
    let share = (random_bits() >> 11) as f64 / (1_u64 << 53) as f64;
    share
}

/// Makes the id of a run that starts now: sortable by time, told apart from another of the same second.
pub(super) fn new_run_id() -> RunId {
    let now_ms = now_ms();
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now_ms).unwrap_or(i64::MAX)).unwrap_or_default();
    // Milliseconds, so that runs which follow each other within a second are in order as well.
    let within_second_ms = now_ms % 1000;
    RunId(format!(
        "{}-{within_second_ms:03}{:02x}",
        now.strftime("%Y%m%d-%H%M%S"),
        random_bits() & 0xff
    ))
}

/// Makes the token of a run's promise line.
pub(super) fn new_promise() -> String {
    format!("DONE-{:08x}", random_bits() & 0xffff_ffff)
}
