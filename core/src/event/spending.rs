//! What was spent when.

use serde::{Deserialize, Serialize};

use super::Usage;

/// What was spent within a quarter of an hour. Every time zone begins its days with one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// When the quarter began, in milliseconds since the Unix epoch.
    pub from_ms: u64,
    pub usage: Usage,
}

/// A day of the user's, from midnight to midnight on their clock: not always of 24 hours. In milliseconds since the Unix
/// epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Day {
    pub from_ms: u64,
    /// When the next one begins.
    pub until_ms: u64,
}

impl Day {
    pub fn contains(&self, at_ms: u64) -> bool {
        (self.from_ms..self.until_ms).contains(&at_ms)
    }
}
