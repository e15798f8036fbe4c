//! Spending by time.

use serde::{Deserialize, Serialize};

use super::Usage;

/// The usage within a quarter of an hour. Days of every time zone begin at such a quarter.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// Start of the quarter, in milliseconds since the Unix epoch.
    pub from_ms: u64,
    pub usage: Usage,
}

/// A day of the user's time zone, from midnight to midnight, in milliseconds since the Unix epoch. Not always 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    pub from_ms: u64,
    /// The start of the next day.
    pub until_ms: u64,
}

impl Day {
    pub fn contains(&self, at_ms: u64) -> bool {
        (self.from_ms..self.until_ms).contains(&at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_lasts_from_midnight_until_before_the_next() {
        let day = Day {
            from_ms: 100,
            until_ms: 200,
        };
        let times = [99, 100, 199, 200];
        assert_eq!(times.map(|at_ms| day.contains(at_ms)), [false, true, true, false]);
    }
}
