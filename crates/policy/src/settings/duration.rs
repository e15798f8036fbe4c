//! Durations in the syntax `500ms`, `90s`, `10m`, `8h`, `1h30m`, `2d`.

use thiserror::Error;

/// Units, longest first, with their length in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Ten years: enough for any limit, and small enough that adding it to a clock does not overflow.
const LONGEST_MS: u64 = 3_650 * 86_400_000;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DurationError {
    #[error("no number before a unit")]
    NoNumber,
    #[error("no unit")]
    NoUnit,
    #[error("unknown unit `{0}`")]
    UnknownUnit(String),
    #[error("`{0}` after a unit that is not longer")]
    OutOfOrder(&'static str),
    #[error("not longer than nothing")]
    Zero,
    #[error("longer than 3650d")]
    TooLong,
}

/// Parses a duration into milliseconds: whole numbers with units, each unit at most once and longer ones first.
///
/// The result is from 1 ms to 3650 days.
///
/// # Errors
/// A `DurationError` that says which part is wrong.
pub fn parse_duration(text: &str) -> Result<u64, DurationError> {
    let mut rest = text;
    let mut total_ms: u64 = 0;
    let mut longer = &UNITS[..];
    while !rest.is_empty() || text.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (name, after) = split(after, |c| !c.is_ascii_digit());
        if number.is_empty() {
            return Err(DurationError::NoNumber);
        }
        if name.is_empty() {
            return Err(DurationError::NoUnit);
        }
        let Some(&(unit, unit_ms)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
            return Err(DurationError::UnknownUnit(name.to_owned()));
        };
        let Some(place) = longer.iter().position(|(known, _)| *known == unit) else {
            return Err(DurationError::OutOfOrder(unit));
        };
        longer = &longer[place + 1..];
        let number: u64 = number.parse().map_err(|_| DurationError::TooLong)?;
        total_ms = total_ms.saturating_add(number.saturating_mul(unit_ms));
        rest = after;
    }
    match total_ms {
        0 => Err(DurationError::Zero),
        1..=LONGEST_MS => Ok(total_ms),
        _ => Err(DurationError::TooLong),
    }
}

/// Formats milliseconds in the syntax of [`parse_duration`], without parts that are zero. Zero itself is `0s`.
pub fn format_duration(duration_ms: u64) -> String {
    let mut rest_ms = duration_ms;
    let mut text = String::new();
    for (unit, unit_ms) in UNITS {
        let number = rest_ms / unit_ms;
        if number > 0 {
            text.push_str(&format!("{number}{unit}"));
        }
        rest_ms %= unit_ms;
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_add_up() {
        for (text, ms) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("8h", 28_800_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0h5m", 300_000),
            ("3650d", LONGEST_MS),
        ] {
            assert_eq!(parse_duration(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, error) in [
            ("", DurationError::NoNumber),
            ("h", DurationError::NoNumber),
            ("-5m", DurationError::NoNumber),
            (" 5m", DurationError::NoNumber),
            ("300", DurationError::NoUnit),
            ("1h30", DurationError::NoUnit),
            ("8hours", DurationError::UnknownUnit("hours".to_owned())),
            ("1.5h", DurationError::UnknownUnit(".".to_owned())),
            ("5 m", DurationError::UnknownUnit(" m".to_owned())),
            ("5M", DurationError::UnknownUnit("M".to_owned())),
            ("30m1h", DurationError::OutOfOrder("h")),
            ("1m1m", DurationError::OutOfOrder("m")),
            ("0s", DurationError::Zero),
            ("3651d", DurationError::TooLong),
            ("99999999999999999999999h", DurationError::TooLong),
            ("18446744073709551615d", DurationError::TooLong),
        ] {
            assert_eq!(parse_duration(text), Err(error), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ms in [1, 999, 1_000, 61_000, 5_400_000, 86_400_001, LONGEST_MS] {
            assert_eq!(parse_duration(&format_duration(ms)), Ok(ms));
        }
        assert_eq!(format_duration(5_400_000), "1h30m");
        assert_eq!(format_duration(0), "0s");
    }
}
