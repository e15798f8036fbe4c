//! Measurements and their statistics.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// A measured value with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    Milliseconds(f64),
    MegabytesPerSecond(f64),
    Megabytes(f64),
    Bytes(f64),
    Count(f64),
    Percent(f64),
}

impl Quantity {
    /// Returns the bare number; two quantities of a row have the same unit.
    pub fn number(self) -> f64 {
        match self {
            Quantity::Milliseconds(number)
            | Quantity::MegabytesPerSecond(number)
            | Quantity::Megabytes(number)
            | Quantity::Bytes(number)
            | Quantity::Count(number)
            | Quantity::Percent(number) => number,
        }
    }

    /// Returns a quantity with another number and the same unit.
    #[must_use]
    pub fn with(self, number: f64) -> Quantity {
        match self {
            Quantity::Milliseconds(_) => Quantity::Milliseconds(number),
            Quantity::MegabytesPerSecond(_) => Quantity::MegabytesPerSecond(number),
            Quantity::Megabytes(_) => Quantity::Megabytes(number),
            Quantity::Bytes(_) => Quantity::Bytes(number),
            Quantity::Count(_) => Quantity::Count(number),
            Quantity::Percent(_) => Quantity::Percent(number),
        }
    }
}

impl From<Duration> for Quantity {
    fn from(duration: Duration) -> Quantity {
        Quantity::Milliseconds(duration.as_secs_f64() * 1e3)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Quantity::Milliseconds(number) if number.abs() < 10.0 => format!("{number:.2} ms"),
            Quantity::Milliseconds(number) => format!("{number:.1} ms"),
            Quantity::MegabytesPerSecond(number) => format!("{number:.1} MB/s"),
            Quantity::Megabytes(number) => format!("{number:.2} MB"),
            Quantity::Bytes(number) => format!("{number:.0} B"),
            Quantity::Count(number) => format!("{number:.0}"),
            Quantity::Percent(number) => format!("{number:.2} %"),
        };
        f.pad(&text)
    }
}

/// Returns the rate of `bytes` in `time`.
pub fn rate(bytes: u64, time: Duration) -> Quantity {
    #[allow(clippy::cast_precision_loss)] // less than a byte in a petabyte
    let megabytes = bytes as f64 / 1e6;
    Quantity::MegabytesPerSecond(megabytes / time.as_secs_f64())
}

/// Returns an amount of memory or disk.
pub fn megabytes(bytes: u64) -> Quantity {
    #[allow(clippy::cast_precision_loss)]
    let megabytes = bytes as f64 / 1e6;
    Quantity::Megabytes(megabytes)
}

/// Returns the number of rounds: `usual`, or fewer if `RALPH_BENCH_ROUNDS` is set.
pub fn rounds(usual: usize) -> usize {
    let most = std::env::var("RALPH_BENCH_ROUNDS")
        .ok()
        .and_then(|most| most.parse().ok());
    most.map_or(usual, |most: usize| usual.min(most.max(1)))
}

/// Repeated measurements of one time.
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Measures `action` in so many rounds, after one that does not count.
    pub fn of(rounds: usize, mut action: impl FnMut()) -> Times {
        action();
        let round = |_| {
            let start = Instant::now();
            action();
            start.elapsed()
        };
        (0..rounds).map(round).collect()
    }

    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// Returns the time that so many per cent of the rounds did not exceed; zero without any round.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Times {
        Times(times.into_iter().collect())
    }
}
