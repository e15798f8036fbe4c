//! The current time and time zone, for parsing times such as "resets at 6:40 PM".

use std::fmt;

use jiff::{Timestamp, tz::TimeZone};

/// The time at which bytes arrived, and the time zones that agents name. Dialects have no other clock.
#[derive(Clone)]
pub struct ZonedClock {
    /// Milliseconds since 1970.
    pub now_ms: u64,
    /// The zone of times that are given without one.
    pub zone: TimeZone,
    /// Looks up a zone by name, so that parsers need not read the zone database.
    pub named: fn(&str) -> Option<TimeZone>,
}

impl ZonedClock {
    /// The current time; `None` if outside the calendar's range.
    pub(super) fn now(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(i64::try_from(self.now_ms).ok()?).ok()
    }

    /// The zone called `name`. `None` stands for an unknown name.
    pub(super) fn zone_called(&self, name: &str) -> Option<TimeZone> {
        match name {
            "UTC" | "utc" | "GMT" | "gmt" | "Z" | "z" => Some(TimeZone::UTC),
            name => (self.named)(name),
        }
    }
}

impl fmt::Debug for ZonedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now_ms", &self.now_ms)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl ZonedClock {
    /// A clock that stands at `time`, as `2026-11-20T10:00:00Z`, in a zone two hours ahead of UTC.
    pub(crate) fn at(time: &str) -> Self {
        let now: Timestamp = time.parse().expect("a time");
        let hours = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        Self {
            now_ms: u64::try_from(now.as_millisecond()).expect("after 1970"),
            zone: hours(2),
            named: |name| match name {
                "Asia/Shanghai" => Some(TimeZone::fixed(jiff::tz::offset(8))),
                "Asia/Tokyo" => Some(TimeZone::fixed(jiff::tz::offset(9))),
                "America/Los_Angeles" => Some(TimeZone::fixed(jiff::tz::offset(-8))),
                _ => None,
            },
        }
    }
}
