//! Parses the end of a limit from an agent's message: `resets 7pm (Asia/Tokyo)`, `try again at 6:40 PM`, `retry after
//! 3600s`.
//!
//! A date without a time of day means the beginning of that day. A time of day, or a date without a year, means its
//! next occurrence. A time that has just passed is kept as it is, since waiting a whole day for it would do more harm.

use jiff::{
    Zoned,
    civil::{Date, Time},
    tz::TimeZone,
};
use serde_json::Value;

use super::clock::ZonedClock;

const DAY_MS: u64 = 24 * 3_600_000;
/// Longer waits are treated as a misunderstanding.
const MAX_WAIT_MS: u64 = 400 * DAY_MS;
/// Tolerance for a time in the past: agents round to minutes, and server clocks differ from ours.
const JUST_PASSED_MS: u64 = 5 * 60_000;

/// Words that precede a time. The first marker in the text that is followed by a time decides.
const MARKERS: [&str; 10] = [
    "limit reached|",
    "resets",
    "reset",
    "try again",
    "retry after",
    "retry-after",
    "retry in",
    "retrying in",
    "retrydelay",
    "available again",
];

/// Words that may stand between a marker and its time.
const FILLERS: [&str; 8] = ["at", "on", "in", "after", "is", "until", "about", "around"];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The time that `text` names as the end of a limit, in milliseconds since 1970.
pub(crate) fn until_in_text(text: &str, clock: &ZonedClock) -> Option<u64> {
    // ASCII lowercase keeps every byte position.
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<_> = MARKERS
        .iter()
        .flat_map(|marker| {
            lower
                .match_indices(marker)
                .map(|(at, marker)| (at + marker.len(), marker))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().find_map(|(at, marker)| {
        let rest = after_fillers(&text[at..]);
        let bare = if marker.starts_with("retry") {
            BareNumber::Seconds
        } else {
            BareNumber::Nothing
        };
        in_a_while(rest, bare, clock)
            .or_else(|| instant(rest))
            .or_else(|| on_the_clock(rest, clock))
    })
}

/// The time that the fields of an error name as the end of a limit, in milliseconds since 1970.
pub(super) fn until_in_fields(body: &Value, clock: &ZonedClock) -> Option<u64> {
    let moment = ["/error/resets_at", "/resets_at", "/resetsAt", "/error/reset_at"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_u64());
    if let Some(moment) = moment {
        return Some(epoch_ms(moment));
    }
    let paths = [
        "/error/resets_in_seconds",
        "/resets_in_seconds",
        "/error/retry_after",
        "/retry_after",
    ];
    if let Some(seconds) = paths.iter().find_map(|path| body.pointer(path)?.as_f64()) {
        return in_ms(seconds * 1000.0, clock);
    }
    let details = body.pointer("/error/details").and_then(Value::as_array);
    let delay = details
        .into_iter()
        .flatten()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    in_a_while(delay, BareNumber::Seconds, clock)
}

/// Parses the value of a `retry-after` header: seconds, or a date.
pub(super) fn until_in_header(value: &str, clock: &ZonedClock) -> Option<u64> {
    match value.trim().parse::<f64>() {
        Ok(seconds) => in_ms(seconds * 1000.0, clock),
        Err(_) => jiff::fmt::rfc2822::parse(value.trim())
            .ok()
            .and_then(|moment| ms_of(&moment)),
    }
}

/// Converts seconds or milliseconds since 1970 to milliseconds. Numbers below 10¹¹ count as seconds, which lasts until
/// the year 5138.
pub(crate) fn epoch_ms(number: u64) -> u64 {
    if number < 100_000_000_000 {
        number.saturating_mul(1000)
    } else {
        number
    }
}

/// The next midnight in the zone called `name`.
pub(super) fn next_midnight(name: &str, clock: &ZonedClock) -> Option<u64> {
    let now = clock.now()?.to_zoned(clock.zone_called(name)?);
    ms_of(&now.tomorrow().ok()?.start_of_day().ok()?)
}

fn after_fillers(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|character: char| {
            character.is_whitespace() || matches!(character, ':' | '=' | '"' | ',' | '(' | '~' | '\u{b7}')
        });
        let word = word_at(text);
        if !FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler)) {
            return text;
        }
        text = &text[word.len()..];
    }
}

/// The ASCII letters at the beginning of `text`.
fn word_at(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_ascii_alphabetic());
    &text[..end.unwrap_or(text.len())]
}

/// The number at the beginning of `text`, and the rest.
fn number_at(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|character: char| !(character.is_ascii_digit() || character == '.'));
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    // A trailing full stop ends the sentence.
    let kept = number.trim_end_matches('.');
    Some((kept.parse().ok()?, if kept.len() < number.len() { "" } else { rest }))
}

/// The meaning of a number without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BareNumber {
    Seconds,
    Nothing,
}

/// Parses a duration: `3600s`, `1m30s`, `3 days 3 hours 5 minutes`.
fn in_a_while(text: &str, bare: BareNumber, clock: &ZonedClock) -> Option<u64> {
    let mut rest = text;
    let mut sum_ms = None;
    while let Some((number, after)) = number_at(rest) {
        let after = after.trim_start();
        let unit = word_at(after);
        let Some(unit_ms) = unit_ms(unit) else {
            if sum_ms.is_none() && bare == BareNumber::Seconds && unit.is_empty() && !after.starts_with([':', '-']) {
                sum_ms = Some(number * 1000.0);
            }
            break;
        };
        sum_ms = Some(sum_ms.unwrap_or(0.0) + number * unit_ms);
        rest = after[unit.len()..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    in_ms(sum_ms?, clock)
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ms" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        "w" | "week" | "weeks" => 604_800_000.0,
        _ => return None,
    })
}

/// The time after a wait; `None` if the wait is too long to be plausible.
pub(super) fn in_ms(wait_ms: f64, clock: &ZonedClock) -> Option<u64> {
    // The bound is far below the maximum of either type.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let wait_ms = (0.0..=MAX_WAIT_MS as f64)
        .contains(&wait_ms)
        .then_some(wait_ms.ceil() as u64)?;
    Some(clock.now_ms.saturating_add(wait_ms))
}

/// Parses a number of seconds since 1970, or `2026-11-20T18:40:00Z`.
fn instant(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if (10..=13).contains(&digits) {
        return text[..digits].parse().ok().map(epoch_ms);
    }
    let end = text.find(|character: char| character.is_whitespace() || matches!(character, ',' | ')' | '"'));
    let word = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    let moment: jiff::Timestamp = word.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// Parses a local time: `6:40pm (UTC)`, `Oct 3, 9am`, `Nov 21st, 2026 6:40 PM`. Returns its next occurrence.
fn on_the_clock(text: &str, clock: &ZonedClock) -> Option<u64> {
    let (date, rest) = match month_day(text).or_else(|| date_in_numbers(text)) {
        Some((date, rest)) => (Some(date), rest),
        None => (None, text),
    };
    let told = time_of_day(after_fillers(rest));
    let (time, rest) = match told {
        Some(found) => found,
        None => (Time::midnight(), date.as_ref().map(|_| rest)?),
    };
    let zone = zone_after(rest, clock);
    let now = clock.now()?.to_zoned(zone.clone());
    let earliest_ms = clock.now_ms.saturating_sub(JUST_PASSED_MS);
    let upcoming = |candidates: [Option<Date>; 2]| {
        let moments = candidates
            .into_iter()
            .flatten()
            .filter_map(|date| ms_of(&date.to_datetime(time).to_zoned(zone.clone()).ok()?));
        moments.into_iter().find(|ms| *ms >= earliest_ms)
    };
    match date {
        None => upcoming([Some(now.date()), now.date().tomorrow().ok()]),
        // The limit ends today at an unknown time.
        Some(MonthDay { month, day, year: None }) if told.is_none() && (month, day) == (now.month(), now.day()) => None,
        Some(MonthDay { month, day, year: None }) => {
            let in_year = |year| Date::new(year, month, day).ok();
            upcoming([in_year(now.year()), in_year(now.year().saturating_add(1))])
        }
        Some(MonthDay {
            month,
            day,
            year: Some(year),
        }) => {
            let date = Date::new(year, month, day).ok()?;
            ms_of(&date.to_datetime(time).to_zoned(zone.clone()).ok()?)
        }
    }
}

struct MonthDay {
    month: i8,
    day: i8,
    year: Option<i16>,
}

/// Parses `Oct 3,` or `Nov 21st, 2026`; returns the date and the rest.
fn month_day(text: &str) -> Option<(MonthDay, &str)> {
    let word = word_at(text);
    let name = word.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)?;
    let (day, rest) = number_at(text[word.len()..].trim_start_matches(['.', ' ']))?;
    let rest = rest
        .trim_start_matches(|character: char| character.is_ascii_alphabetic())
        .trim_start_matches([' ', ',']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (year, rest) = match digits {
        4 => (rest[..4].parse().ok(), rest[4..].trim_start_matches([' ', ','])),
        _ => (None, rest),
    };
    let whole = |number: f64| format!("{number}").parse::<i8>().ok();
    let month = i8::try_from(month + 1).ok()?;
    Some((
        MonthDay {
            month,
            day: whole(day)?,
            year,
        },
        rest,
    ))
}

/// Smaller numbers are not years.
const FIRST_YEAR: i16 = 1970;

/// Parses `12/24/2026` or `2026-12-24`; returns the date and the rest. The month comes first, as in the US, unless that
/// number is above 12.
fn date_in_numbers(text: &str) -> Option<(MonthDay, &str)> {
    let end = text.find(|character: char| !(character.is_ascii_digit() || matches!(character, '/' | '-')));
    let (date, rest) = text.split_at(end.unwrap_or(text.len()));
    let numbers: Option<Vec<i16>> = date.split(['/', '-']).map(|number| number.parse().ok()).collect();
    let [one, two, three] = numbers?[..] else { return None };
    let (year, first, second) = match one >= FIRST_YEAR {
        true => (one, two, three),
        false => (three, one, two),
    };
    if year < FIRST_YEAR {
        return None;
    }
    let (month, day) = if first > 12 { (second, first) } else { (first, second) };
    let date = MonthDay {
        month: i8::try_from(month).ok()?,
        day: i8::try_from(day).ok()?,
        year: Some(year),
    };
    Some((date, rest))
}

/// Parses `6:40 PM`, `7pm`, `18:40`; returns the time and the rest. A bare number does not count as a time.
fn time_of_day(text: &str) -> Option<(Time, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (hour, mut rest) = text.split_at(digits(text).min(2));
    let mut hour: i8 = hour.parse().ok()?;
    let mut minute: Option<i8> = None;
    if let Some(after) = rest.strip_prefix(':') {
        minute = Some(after.get(..2)?.parse().ok()?);
        rest = &after[2..];
        if let Some(seconds) = rest.strip_prefix(':').filter(|seconds| digits(seconds) == 2) {
            rest = &seconds[2..];
        }
    }
    let half = word_at(rest.trim_start()).to_ascii_lowercase();
    if matches!(half.as_str(), "am" | "pm") {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if half == "pm" { 12 } else { 0 };
        rest = &rest.trim_start()[2..];
    } else if minute.is_none() {
        return None;
    }
    Some((Time::new(hour, minute.unwrap_or(0), 0, 0).ok()?, rest))
}

/// The zone in brackets, or `UTC`. An unknown or missing zone is the local one, which the agent shares.
fn zone_after(text: &str, clock: &ZonedClock) -> TimeZone {
    let text = text.trim_start();
    let name = match text.strip_prefix('(') {
        Some(inner) => inner.split(')').next().unwrap_or_default().trim(),
        None => word_at(text),
    };
    clock.zone_called(name).unwrap_or_else(|| clock.zone.clone())
}

fn ms_of(moment: &Zoned) -> Option<u64> {
    u64::try_from(moment.timestamp().as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    /// The end of the limit in `text`, for a local clock at `now`, two hours ahead of UTC.
    fn until(now: &str, text: &str) -> Option<String> {
        shown(until_in_text(text, &ZonedClock::at(now)))
    }

    fn shown(until_ms: Option<u64>) -> Option<String> {
        let moment = Timestamp::from_millisecond(i64::try_from(until_ms?).expect("a time")).expect("a time");
        Some(moment.to_string())
    }

    #[test]
    fn times_are_found_in_what_agents_say() {
        let now = "2026-11-20T10:00:00Z";
        for (text, expected) in [
            (
                "You've hit your session limit · resets 6:40pm (UTC)",
                "2026-11-20T18:40:00Z",
            ),
            ("5-hour limit reached ∙ resets 6pm (Asia/Tokyo)", "2026-11-21T09:00:00Z"),
            ("limit · resets 8pm (Asia/Tokyo)", "2026-11-20T11:00:00Z"),
            (
                "You've hit your weekly limit · resets Dec 3, 9am",
                "2026-12-03T07:00:00Z",
            ),
            (
                "You've hit your weekly limit · resets Dec 3 at 9am (UTC)",
                "2026-12-03T09:00:00Z",
            ),
            ("resets Oct 3, 9am", "2027-10-03T07:00:00Z"),
            ("Visit https://x/usage or try again at 6:40 PM.", "2026-11-20T16:40:00Z"),
            ("or try again at Nov 21st, 2026 6:40 PM.", "2026-11-21T16:40:00Z"),
            ("try again at 18:40", "2026-11-20T16:40:00Z"),
            ("resets 12am", "2026-11-20T22:00:00Z"),
            ("resets 12pm (UTC)", "2026-11-20T12:00:00Z"),
            ("Suggested retry after 3600s.", "2026-11-20T11:00:00Z"),
            (
                "Rate limit reached. Please try again in 1m30.5s. Visit",
                "2026-11-20T10:01:30.5Z",
            ),
            ("try again in 3 days 3 hours 5 minutes.", "2026-11-23T13:05:00Z"),
            ("Your quota will reset after 2h30m5s.", "2026-11-20T12:30:05Z"),
            ("Retry-After: 120", "2026-11-20T10:02:00Z"),
            ("usage limit reached|1795200000", "2026-11-20T18:40:00Z"),
            ("resets at 2026-11-20T18:40:00Z.", "2026-11-20T18:40:00Z"),
            ("Retrying in 8.0 seconds...", "2026-11-20T10:00:08Z"),
            ("Your limit will reset on 12/24/2026.", "2026-12-23T22:00:00Z"),
            ("reset on 24/12/2026 at 9am (UTC)", "2026-12-24T09:00:00Z"),
            ("available again on 2026-12-24", "2026-12-23T22:00:00Z"),
            ("available again on Dec 24.", "2026-12-23T22:00:00Z"),
            (
                "reset the counter, then try again in 20 seconds",
                "2026-11-20T10:00:20Z",
            ),
        ] {
            assert_eq!(until(now, text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "resets",
            "resets soon",
            "resets 99pm",
            "resets 0pm",
            "resets 7:99pm",
            "resets Oct 99, 9am",
            "resets Oct",
            "try again later",
            "try again 3 times",
            "resets 7",
            "retry after 99999999999999999999s",
            "version 6:40 PM",
            "resets ü 7pm é",
            "resets 5:é",
            "resets Nov 20",
            "reset on 13/13/2026",
            "reset on 12/24",
            "reset on 1/2/3/2026",
            "reset 2026-99-99",
        ] {
            assert_eq!(until("2026-11-20T10:00:00Z", text), None, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one_and_one_that_has_just_passed_is_not_put_off_for_a_day() {
        assert_eq!(
            until("2026-11-20T23:59:00Z", "resets 12:10am (UTC)").as_deref(),
            Some("2026-11-21T00:10:00Z")
        );
        assert_eq!(
            until("2026-11-20T18:41:00Z", "resets 6:40pm (UTC)").as_deref(),
            Some("2026-11-20T18:40:00Z")
        );
        assert_eq!(
            until("2026-11-20T18:50:00Z", "resets 6:40pm (UTC)").as_deref(),
            Some("2026-11-21T18:40:00Z")
        );
        assert_eq!(
            until("2026-12-31T12:00:00Z", "resets Jan 2, 9am (UTC)").as_deref(),
            Some("2027-01-02T09:00:00Z")
        );
    }

    #[test]
    fn a_zone_nobody_knows_is_the_local_one() {
        assert_eq!(
            until("2026-11-20T10:00:00Z", "resets 8pm (Mars/Olympus)").as_deref(),
            Some("2026-11-20T18:00:00Z")
        );
    }

    #[test]
    fn fields_name_moments_and_delays() {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        for (body, expected) in [
            (json!({"error": {"resets_at": 1_795_200_000}}), "2026-11-20T18:40:00Z"),
            (json!({"resetsAt": 1_795_200_000_000_u64}), "2026-11-20T18:40:00Z"),
            (json!({"error": {"resets_in_seconds": 60}}), "2026-11-20T10:01:00Z"),
            (
                json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "3600s"}]}}),
                "2026-11-20T11:00:00Z",
            ),
        ] {
            assert_eq!(
                shown(until_in_fields(&body, &clock)).as_deref(),
                Some(expected),
                "{body}"
            );
        }
        assert_eq!(until_in_fields(&json!({"error": {"resets_at": "soon"}}), &clock), None);
    }

    #[test]
    fn a_header_is_a_number_of_seconds_or_a_moment() {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        for (value, expected) in [
            ("3600", Some("2026-11-20T11:00:00Z")),
            ("Fri, 20 Nov 2026 18:40:00 GMT", Some("2026-11-20T18:40:00Z")),
            ("soon", None),
            ("-5", None),
        ] {
            assert_eq!(shown(until_in_header(value, &clock)).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn midnight_is_that_of_its_zone() {
        let clock = ZonedClock::at("2026-11-20T10:00:00Z");
        assert_eq!(
            shown(next_midnight("America/Los_Angeles", &clock)).as_deref(),
            Some("2026-11-21T08:00:00Z")
        );
        assert_eq!(next_midnight("No/Where", &clock), None);
    }
}
