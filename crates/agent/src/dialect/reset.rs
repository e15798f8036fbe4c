//! Finds the end of a limit in an agent's message: `resets 7pm (Asia/Tokyo)`, `try again in 2 h 13 m`, `retry after 3600s`.
//!
//! A sentence with a word of its own for the end of a limit is searched for a time of the [grammar]: behind that word first.
//! A time without a zone has several readings; the first one that lies within the window that the text names is taken, and no
//! wait is longer than that window. A time that has just passed is kept as it is, since waiting a whole day for it would do
//! more harm.

mod chinese;
mod grammar;
mod window;

use jiff::tz::{TimeZone, offset};
use serde_json::Value;

use super::clock::ZonedClock;

use grammar::{
    JUST_PASSED_MS, TimeExpression, after_fillers, clock_at, duration_at, expression_at, ms_of, named_zone_at,
    token_starts, word_at,
};

pub(crate) use grammar::epoch_ms;

const DAY_MS: u64 = 24 * 3_600_000;
/// Longer waits are treated as a misunderstanding: the longest windows are months.
const MAX_WAIT_MS: u64 = 62 * DAY_MS;

/// Words for the end of a limit. The first one in the text whose sentence has a time decides.
const MARKERS: [&str; 15] = [
    "limit reached|",
    "reset",
    "renew",
    "refresh",
    "try again",
    "trying again",
    "retry after",
    "retry-after",
    "retry in ",
    "retry at ",
    "retrying in",
    "retrydelay",
    "available",
    "come back",
    "until",
];

/// Words that name what follows as a time.
const INTRODUCES: [&str; 12] = [
    "at",
    "on",
    "in",
    "after",
    "until",
    "about",
    "around",
    "by",
    "from",
    "within",
    "approximately",
    "roughly",
];

/// Zones of vendors, for times without a zone that make no sense in the local one.
const VENDORS: [&str; 2] = ["Asia/Shanghai", "America/Los_Angeles"];

/// The time that `text` names as the end of a limit, in milliseconds since 1970.
pub(crate) fn until_in_text(text: &str, clock: &ZonedClock) -> Option<u64> {
    let text = &*chinese::translated(text);
    // ASCII lowercase keeps every byte position.
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<_> = MARKERS
        .iter()
        .flat_map(|marker| lower.match_indices(marker))
        .map(|(at, marker)| (at + marker.len(), marker))
        .collect();
    found.sort_unstable();
    found.into_iter().find_map(|(end, marker)| {
        let sentence = Sentence::around(text, end - marker.len(), end);
        let expression = sentence.time(marker, clock)?;
        let window = window::named_window(sentence.text()).or_else(|| window::named_window(text));
        until(&expression, sentence.zone(clock), window, clock)
    })
}

/// A sentence with a marker.
struct Sentence<'t> {
    whole: &'t str,
    start: usize,
    marker: usize,
    after: usize,
    end: usize,
}

impl<'t> Sentence<'t> {
    fn around(whole: &'t str, marker: usize, after: usize) -> Self {
        let ends_at = |at: &usize| {
            let rest = &whole[*at..];
            let next = rest[1..].trim_start_matches([' ', '\t']);
            rest.starts_with('\n')
                || rest.starts_with(['.', '!', '?', ';'])
                    && next.len() < rest.len() - 1
                    && next.starts_with(char::is_uppercase)
        };
        let ends = |from: usize, to: usize| {
            let bytes = whole.as_bytes()[from..to].iter().enumerate();
            let ends = bytes.filter(|(_, byte)| matches!(byte, b'.' | b'!' | b'?' | b';' | b'\n'));
            ends.map(move |(at, _)| from + at).filter(ends_at)
        };
        Self {
            whole,
            start: ends(0, marker).next_back().map_or(0, |end| end + 1),
            marker,
            after,
            end: ends(after, whole.len()).next().unwrap_or(whole.len()),
        }
    }

    fn text(&self) -> &'t str {
        &self.whole[self.start..self.end]
    }

    /// The time in the sentence: directly behind the marker, then anywhere behind it, then before it.
    fn time(&self, marker: &str, clock: &ZonedClock) -> Option<TimeExpression> {
        // The rest of the word: `resets`, `reset_at`.
        let is_part = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        let behind = &self.whole[self.after..];
        let rest = behind.trim_start_matches(is_part);
        let bare = marker.starts_with("retry") || behind[..behind.len() - rest.len()].ends_with("seconds");
        expression_at(after_fillers(rest), bare, clock)
            .or_else(|| self.time_between(self.after, self.end, clock))
            .or_else(|| self.time_between(self.start, self.marker, clock))
    }

    /// A wait has to be named as one: other durations are those of windows, or of what was done.
    fn time_between(&self, from: usize, to: usize, clock: &ZonedClock) -> Option<TimeExpression> {
        let is_behind = from == self.after;
        let mut before = "";
        for at in token_starts(&self.whole[from..to]) {
            let rest = &self.whole[from + at..];
            let is_introduced = INTRODUCES.iter().any(|word| before.eq_ignore_ascii_case(word));
            if let Some((wait_ms, rest)) = duration_at(rest) {
                let is_later = ["later", "from"].contains(&word_at(rest.trim_start()));
                if is_introduced || is_later {
                    return Some(TimeExpression::Wait(wait_ms));
                }
            } else if let Some(time) = clock_at(rest, clock).filter(|_| is_behind || is_introduced) {
                return Some(TimeExpression::Clock(time));
            }
            let word = word_at(rest);
            let is_part = word.eq_ignore_ascii_case("time") || named_zone_at(rest, clock).is_some();
            before = if is_part { before } else { word };
        }
        None
    }

    /// A zone that is named apart from the time.
    fn zone(&self, clock: &ZonedClock) -> Option<TimeZone> {
        let text = self.text();
        token_starts(text).find_map(|at| named_zone_at(&text[at..], clock))
    }
}

/// The moment of an expression: the first of its readings that is not past, and within the window.
fn until(
    expression: &TimeExpression,
    zone: Option<TimeZone>,
    window_ms: Option<f64>,
    clock: &ZonedClock,
) -> Option<u64> {
    let readings: Vec<u64> = match expression {
        TimeExpression::Wait(wait_ms) => in_ms(*wait_ms, clock).into_iter().collect(),
        TimeExpression::Moment(moment) => vec![*moment],
        TimeExpression::Clock(time) => {
            let named = time.zone().cloned().or(zone);
            let vendors = VENDORS.iter().filter_map(|name| clock.zone_called(name));
            let beijing = TimeZone::fixed(offset(8));
            let possible = [clock.zone.clone(), TimeZone::UTC, beijing].into_iter().chain(vendors);
            let zones: Vec<_> = match named {
                Some(zone) => vec![zone],
                None if time.is_day() => vec![clock.zone.clone()],
                None => possible.collect(),
            };
            zones.iter().filter_map(|zone| time.moment_in(zone, clock)).collect()
        }
    };
    let latest = window_ms.and_then(|window_ms| in_ms(window_ms, clock));
    let bound = latest.unwrap_or_else(|| clock.now_ms.saturating_add(MAX_WAIT_MS));
    let earliest = clock.now_ms.saturating_sub(JUST_PASSED_MS);
    let fitting = readings.iter().find(|reading| (earliest..=bound).contains(reading));
    let is_later = readings.iter().any(|reading| *reading > bound);
    match (fitting, latest) {
        (Some(fitting), _) => Some(*fitting),
        (None, Some(latest)) if is_later => Some(latest),
        (None, _) => readings.first().copied().filter(|reading| *reading <= bound),
    }
}

/// The time that the fields of an error name as the end of a limit, in milliseconds since 1970.
pub(super) fn until_in_fields(body: &Value, clock: &ZonedClock) -> Option<u64> {
    let moment = ["/error/resets_at", "/resets_at", "/resetsAt", "/error/reset_at"]
        .iter()
        .find_map(|path| body.pointer(path)?.as_u64());
    if let Some(moment) = moment {
        return until(&TimeExpression::Moment(epoch_ms(moment)), None, None, clock);
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
    until(&expression_at(delay, true, clock)?, None, None, clock)
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

/// The next midnight in the zone called `name`.
pub(super) fn next_midnight(name: &str, clock: &ZonedClock) -> Option<u64> {
    let now = clock.now()?.to_zoned(clock.zone_called(name)?);
    ms_of(&now.tomorrow().ok()?.start_of_day().ok()?)
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

#[cfg(test)]
#[path = "reset/tests.rs"]
mod tests;
