//! Time and randomness, the two things that the machine is given.
//!
//! There are two clocks. The wall clock tells the date: it stamps records and says when an announced limit ends. It may
//! be set, and runs on while the computer sleeps. The monotonic clock measures durations. When the two diverge,
//! [`RunClock::look`] says by how much, and the machine moves every time that stands for a duration.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, Instant},
};

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::event::{Day, RunId};
use ralph_system::os::now_ms;

/// Longest interval between two looks at the clocks.
pub(super) const LOOK: Duration = Duration::from_secs(5);
/// Smallest divergence that counts: reading two clocks one after the other, or synchronising one with a server, causes
/// less.
const DIVERGENCE_MS: i64 = 2_000;
const DAY_MS: u64 = 86_400_000;
/// Lateness of a wait from which the loop counts as not having run: it was stopped, or its machine was.
const STANDSTILL: Duration = Duration::from_secs(3);

/// The readings of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    pub wall_ms: u64,
    /// Time since an arbitrary moment; never goes back.
    pub monotonic: Duration,
}

/// The clocks of a run.
pub struct RunClock {
    read: Box<dyn Fn() -> ClockReading + Send + Sync>,
    /// The user's time zone, which says when days begin.
    zone: TimeZone,
    looked: ClockReading,
    /// Monotonic time in which the loop did not run.
    stood_still: Duration,
}

impl RunClock {
    pub fn system() -> Self {
        let start = Instant::now();
        Self::read_by(move || ClockReading {
            wall_ms: now_ms(),
            monotonic: start.elapsed(),
        })
    }

    /// Makes the clocks that `read` reads.
    pub fn read_by(read: impl Fn() -> ClockReading + Send + Sync + 'static) -> Self {
        Self {
            looked: read(),
            zone: TimeZone::system(),
            read: Box::new(read),
            stood_still: Duration::ZERO,
        }
    }

    /// Returns the current day in the user's time zone.
    pub(super) fn today(&self) -> Day {
        day_of(self.now_ms(), &self.zone)
    }

    /// Returns the wall clock, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        (self.read)().wall_ms
    }

    /// Returns how long the loop has run; durations are measured by it.
    pub(super) fn running_time(&self) -> Duration {
        (self.read)().monotonic.saturating_sub(self.stood_still)
    }

    /// Returns by how many milliseconds the wall clock has moved beyond the time lived since the last look, if that is
    /// significant. The loop waits for [`LOOK`] at most between two looks.
    pub(super) fn look(&mut self) -> Option<i64> {
        let now = (self.read)();
        let passed = now.monotonic.saturating_sub(self.looked.monotonic);
        let late = passed.saturating_sub(LOOK);
        let stood_still = if late >= STANDSTILL { late } else { Duration::ZERO };
        self.stood_still += stood_still;
        let lived_ms = i64::try_from((passed - stood_still).as_millis()).unwrap_or(i64::MAX);
        let moved_ms = now
            .wall_ms
            .cast_signed()
            .saturating_sub(self.looked.wall_ms.cast_signed());
        self.looked = now;
        let gap_ms = moved_ms.saturating_sub(lived_ms);
        (gap_ms.abs() > DIVERGENCE_MS).then_some(gap_ms)
    }
}

/// Returns the day in `zone` that contains a moment.
fn day_of(at_ms: u64, zone: &TimeZone) -> Day {
    let bounds = || {
        let at = Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()?;
        let midnight = at.to_zoned(zone.clone()).start_of_day().ok()?;
        let next = midnight.date().tomorrow().ok()?.to_zoned(zone.clone()).ok()?;
        let ms = |at: Timestamp| u64::try_from(at.as_millisecond()).ok();
        Some((ms(midnight.timestamp())?, ms(next.start_of_day().ok()?.timestamp())?))
    };
    // A moment outside of the calendar's range gets days in UTC.
    let (from_ms, until_ms) = bounds().unwrap_or((at_ms - at_ms % DAY_MS, at_ms - at_ms % DAY_MS + DAY_MS));
    Day { from_ms, until_ms }
}

impl fmt::Debug for RunClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunClock")
            .field("looked", &self.looked)
            .finish_non_exhaustive()
    }
}

/// Returns 64 unpredictable bits: the standard library keys its hashers from the system's random source.
pub(super) fn random_bits() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(now_ms());
    hasher.finish()
}

/// Returns a random number in 0..1.
pub(super) fn random_share() -> f64 {
    // The upper 53 bits are what a f64 holds exactly.
    #[allow(clippy::cast_precision_loss)]
    let share = (random_bits() >> 11) as f64 / (1_u64 << 53) as f64;
    share
}

/// Makes the id of a run that starts now: sortable by time, and unique within a second.
pub(super) fn new_run_id() -> RunId {
    let now_ms = now_ms();
    let now = Timestamp::from_millisecond(i64::try_from(now_ms).unwrap_or(i64::MAX)).unwrap_or_default();
    // Milliseconds, so that runs which follow each other within a second are in order as well.
    let within_second_ms = now_ms % 1000;
    RunId(format!(
        "{}-{within_second_ms:03}{:016x}",
        now.strftime("%Y%m%d-%H%M%S"),
        random_bits()
    ))
}

/// Returns a name for a batch that begins now, short enough for branch names: the time to the second, in UTC.
pub fn batch_time() -> String {
    let now = Timestamp::from_millisecond(i64::try_from(now_ms()).unwrap_or(i64::MAX)).unwrap_or_default();
    now.strftime("%Y%m%d-%H%M%S").to_string()
}

/// Makes the token of a run's promise line.
pub(super) fn new_promise() -> String {
    format!("DONE-{:08x}", random_bits() & 0xffff_ffff)
}

#[cfg(test)]
pub(super) mod testing {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Clocks that a test sets.
    #[derive(Clone)]
    pub(crate) struct TestClock(Arc<Mutex<ClockReading>>);

    impl TestClock {
        pub(crate) fn at(wall_ms: u64) -> Self {
            Self(Arc::new(Mutex::new(ClockReading {
                wall_ms,
                monotonic: Duration::from_secs(100),
            })))
        }

        pub(crate) fn clock(&self) -> RunClock {
            let hands = self.0.clone();
            RunClock::read_by(move || *hands.lock().unwrap())
        }

        pub(crate) fn pass(&self, time: Duration) {
            let mut hands = self.0.lock().unwrap();
            hands.monotonic += time;
            hands.wall_ms += u64::try_from(time.as_millis()).unwrap();
        }

        /// Moves the wall clock alone, forward or back.
        pub(crate) fn set(&self, by_ms: i64) {
            let mut hands = self.0.lock().unwrap();
            hands.wall_ms = hands.wall_ms.saturating_add_signed(by_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::TestClock, *};

    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn ids_of_runs_are_in_the_order_of_their_starts_and_nobody_can_guess_them() {
        let ids: Vec<String> = (0..1000).map(|_| new_run_id().0).collect();
        let chance = |id: &String| id[id.len() - 16..].to_owned();
        let distinct: std::collections::HashSet<String> = ids.iter().map(chance).collect();
        assert_eq!(distinct.len(), 1000);
        let start = |id: &String| id[..id.len() - 16].to_owned();
        assert!(ids.iter().map(start).is_sorted());
        assert_eq!(ids[0].len(), "20261120-102835-042".len() + 16);
    }

    #[test]
    fn a_day_goes_from_midnight_to_midnight_on_the_users_clock_however_long_it_is() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let hours = |text: &str| {
            let at: Timestamp = text.parse().unwrap();
            let day = day_of(u64::try_from(at.as_millisecond()).unwrap(), &zone);
            assert!(day.contains(u64::try_from(at.as_millisecond()).unwrap()), "{text}");
            (day.until_ms - day.from_ms) / 3_600_000
        };
        assert_eq!(hours("2026-03-28T23:00:00Z"), 23, "the clock goes forward");
        assert_eq!(hours("2026-10-25T22:59:59Z"), 25, "and back");
        assert_eq!(hours("2026-10-25T23:00:00Z"), 24);
        let day = day_of(1_795_384_800_000, &TimeZone::fixed(jiff::tz::offset(-3)));
        assert_eq!(day.from_ms % DAY_MS, 3 * 3_600_000);
        // A clock with a nonsensical value has days, too.
        assert!(day_of(u64::MAX - DAY_MS, &zone).contains(u64::MAX - DAY_MS));
    }

    #[test]
    fn clocks_that_go_on_together_have_not_moved() {
        let hands = TestClock::at(1_000_000);
        let mut clock = hands.clock();
        for _ in 0..1000 {
            hands.pass(LOOK);
            assert_eq!(clock.look(), None);
        }
        assert_eq!(clock.running_time(), Duration::from_secs(100) + LOOK * 1000);
    }

    #[test]
    fn a_clock_that_is_set_has_moved_by_that_and_is_told_once() {
        let hands = TestClock::at(1_000_000_000);
        let mut clock = hands.clock();
        for by_ms in [-2 * HOUR_MS, 2 * HOUR_MS, -3_000] {
            hands.pass(LOOK);
            hands.set(by_ms);
            assert_eq!(clock.look(), Some(by_ms));
            assert_eq!(clock.look(), None);
        }
        assert_eq!(
            clock.running_time(),
            Duration::from_secs(100) + LOOK * 3,
            "nothing was not lived"
        );
    }

    #[test]
    fn a_clock_that_is_kept_in_step_has_not_moved() {
        let hands = TestClock::at(1_000_000_000);
        let mut clock = hands.clock();
        hands.set(-900);
        assert_eq!(clock.look(), None);
    }

    #[test]
    fn a_loop_that_was_stopped_did_not_live_meanwhile() {
        let hands = TestClock::at(1_000_000_000);
        let mut clock = hands.clock();
        hands.pass(LOOK + Duration::from_secs(60));
        assert_eq!(clock.look(), Some(60_000));
        assert_eq!(clock.running_time(), Duration::from_secs(100) + LOOK);
    }
}
