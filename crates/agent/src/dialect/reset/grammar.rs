//! The grammar of times: waits, moments, days and times of day, with and without a zone.

use jiff::{
    Timestamp, Zoned,
    civil::{Date, Time, Weekday},
    tz::{self, TimeZone},
};

use super::super::clock::ZonedClock;

/// Tolerance for a time in the past: agents round to minutes, and server clocks differ from ours.
pub(super) const JUST_PASSED_MS: u64 = 5 * 60_000;

/// Words that may stand before a time.
const FILLERS: [&str; 18] = [
    "at",
    "on",
    "in",
    "after",
    "is",
    "until",
    "about",
    "around",
    "by",
    "for",
    "from",
    "next",
    "the",
    "this",
    "within",
    "approximately",
    "roughly",
    "be",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [(&str, Weekday); 8] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("weds", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// Names of zones that the zone database does not have, with one of the zones that they mean.
const ZONES: [(&str, &str); 17] = [
    ("PT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("Pacific", "America/Los_Angeles"),
    ("MT", "America/Denver"),
    ("MST", "America/Denver"),
    ("MDT", "America/Denver"),
    ("CDT", "America/Chicago"),
    ("ET", "America/New_York"),
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("Eastern", "America/New_York"),
    ("BST", "Europe/London"),
    ("CET", "Europe/Berlin"),
    ("CEST", "Europe/Berlin"),
    ("JST", "Asia/Tokyo"),
    ("Beijing", "Asia/Shanghai"),
];

/// A time as it is written.
#[derive(Debug, Clone)]
pub(super) enum TimeExpression {
    /// A number of milliseconds from now on.
    Wait(f64),
    /// A moment, in milliseconds since 1970.
    Moment(u64),
    Clock(ClockTime),
}

/// A day, a time of day, or both.
#[derive(Debug, Clone)]
pub(super) struct ClockTime {
    day: NamedDay,
    time: Option<Time>,
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone, Copy)]
enum NamedDay {
    /// Whichever comes first.
    None,
    Today,
    Tomorrow,
    Weekday(Weekday),
    Date {
        month: i8,
        day: i8,
        year: Option<i16>,
    },
}

impl ClockTime {
    pub(super) fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// Whether it has no time of day.
    pub(super) fn is_day(&self) -> bool {
        self.time.is_none()
    }

    /// The moment that it is in `zone`; `None` if it names none.
    ///
    /// A day without a time of day means its beginning, and today without one means nothing. A time without a date, or a date
    /// without a year, means its next occurrence.
    pub(super) fn moment_in(&self, zone: &TimeZone, clock: &ZonedClock) -> Option<u64> {
        let today = clock.now()?.to_zoned(zone.clone()).date();
        let time = self.time.unwrap_or_default();
        let earliest_ms = clock.now_ms.saturating_sub(JUST_PASSED_MS);
        let at = |date: Date| ms_of(&date.to_datetime(time).to_zoned(zone.clone()).ok()?);
        let later = |days: i64| today.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
        let next = |dates: &mut dyn Iterator<Item = Date>| dates.filter_map(at).find(|ms| *ms >= earliest_ms);
        match self.day {
            NamedDay::None => next(&mut (0..=1).filter_map(later)),
            NamedDay::Today => self.time.and_then(|_| at(today)),
            NamedDay::Tomorrow => at(later(1)?),
            NamedDay::Weekday(weekday) if self.time.is_none() && today.weekday() == weekday => None,
            NamedDay::Weekday(weekday) => next(&mut (0..=7).filter_map(later).filter(|date| date.weekday() == weekday)),
            NamedDay::Date { month, day, year: None } => {
                let years = [today.year(), today.year().saturating_add(1)];
                let is_today = (month, day) == (today.month(), today.day());
                match is_today && self.time.is_none() {
                    true => None,
                    false => next(&mut years.into_iter().filter_map(|year| Date::new(year, month, day).ok())),
                }
            }
            NamedDay::Date {
                month,
                day,
                year: Some(year),
            } => at(Date::new(year, month, day).ok()?),
        }
    }
}

/// The time at the beginning of `text`, and the rest. `bare` is whether a number without a unit counts as seconds.
pub(super) fn expression_at(text: &str, bare: bool, clock: &ZonedClock) -> Option<TimeExpression> {
    let seconds = || number_at(text).filter(|(_, rest)| bare && !rest.trim_start().starts_with([':', '-', '/', '月']));
    let is_bare = |rest: &str| word_at(rest.trim_start()).is_empty();
    if let Some((wait_ms, _)) = duration_at(text) {
        return Some(TimeExpression::Wait(wait_ms));
    }
    if let Some(moment) = moment_at(text) {
        return Some(TimeExpression::Moment(moment));
    }
    if let Some(found) = clock_at(text, clock) {
        return Some(TimeExpression::Clock(found));
    }
    let (seconds, _) = seconds().filter(|(_, rest)| is_bare(rest))?;
    Some(TimeExpression::Wait(seconds * 1000.0))
}

/// Parses a duration: `3600s`, `1m30s`, `3 days 3 hours 5 minutes`, `an hour`. Returns milliseconds and the rest.
pub(super) fn duration_at(text: &str) -> Option<(f64, &str)> {
    let mut rest = text.strip_prefix("PT").unwrap_or(text);
    let mut sum_ms = None;
    while let Some((number, after)) = number_at(rest).or_else(|| number_word_at(rest)) {
        let after = after.trim_start();
        let unit = word_at(after);
        let Some(unit_ms) = unit_ms(unit) else { break };
        sum_ms = Some(sum_ms.unwrap_or(0.0) + number * unit_ms);
        rest = after[unit.len()..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    Some((sum_ms?, rest))
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

/// The ASCII letters at the beginning of `text`.
pub(super) fn word_at(text: &str) -> &str {
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

fn number_word_at(text: &str) -> Option<(f64, &str)> {
    let word = word_at(text);
    let place = NUMBERS.iter().position(|number| number.eq_ignore_ascii_case(word));
    let is_article = ["a", "an"].iter().any(|article| article.eq_ignore_ascii_case(word));
    let number = place.map(|place| place + 1).or(is_article.then_some(1))?;
    Some((f64::from(u8::try_from(number).ok()?), &text[word.len()..]))
}

/// The places at which a word or a number of `text` begins.
pub(super) fn token_starts(text: &str) -> impl Iterator<Item = usize> {
    let is_border = |character: char| {
        character.is_whitespace()
            || matches!(
                character,
                '(' | '"' | '\'' | ',' | '=' | '\u{b7}' | '\u{2219}' | '\u{2014}'
            )
    };
    let before = std::iter::once(' ').chain(text.chars());
    let starts = before.zip(text.char_indices());
    starts.filter_map(move |(before, (at, character))| (is_border(before) && !is_border(character)).then_some(at))
}

/// `text` after the words and signs that may stand before a time.
pub(super) fn after_fillers(mut text: &str) -> &str {
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

/// Parses a number of seconds since 1970, or `2026-11-20T18:40:00Z`.
fn moment_at(text: &str) -> Option<u64> {
    let digits = digits_at(text);
    if (10..=13).contains(&digits) {
        return text[..digits].parse().ok().map(epoch_ms);
    }
    let end = text.find(|character: char| character.is_whitespace() || matches!(character, ',' | ')' | '"'));
    let word = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    let moment: Timestamp = word.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// Parses `6:40pm (UTC)`, `Oct 3, 9am`, `9am on Oct 3`, `Monday 9am`, `2026-11-29 04:52:07`.
pub(super) fn clock_at(text: &str, clock: &ZonedClock) -> Option<ClockTime> {
    let (mut day, mut rest) = day_at(text).unwrap_or((NamedDay::None, text));
    let separated = rest.strip_prefix(['T', 't']).filter(|time| digits_at(time) > 0);
    let told = time_of_day(after_fillers(separated.unwrap_or(rest)));
    let time = told.map(|(time, after)| {
        rest = after;
        time
    });
    let zone = zone_at(rest, clock).map(|(zone, after)| {
        rest = after;
        zone
    });
    if matches!(day, NamedDay::None) {
        time?;
        if let Some((found, after)) = day_at(after_fillers(rest)) {
            (day, rest) = (found, after);
        }
    }
    let zone = zone.or_else(|| Some(zone_at(rest, clock)?.0));
    Some(ClockTime { day, time, zone })
}

fn day_at(text: &str) -> Option<(NamedDay, &str)> {
    let word = word_at(text);
    let rest = &text[word.len()..];
    let is_short = |full: &str| {
        word.len() >= 3
            && full
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    if let Some((_, weekday)) = WEEKDAYS.iter().find(|(name, _)| is_short(name)) {
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let after = rest.trim_start_matches([',', ' ']);
        return Some(date_at(after).unwrap_or((NamedDay::Weekday(*weekday), rest)));
    }
    match word.to_ascii_lowercase().as_str() {
        "today" | "tonight" => Some((NamedDay::Today, rest)),
        "tomorrow" => Some((NamedDay::Tomorrow, rest)),
        _ => date_at(text),
    }
}

fn date_at(text: &str) -> Option<(NamedDay, &str)> {
    month_day(text)
        .or_else(|| day_month(text))
        .or_else(|| date_in_numbers(text))
}

/// The month whose name is at the beginning of `text`, and the rest.
fn month_at(text: &str) -> Option<(i8, &str)> {
    let word = word_at(text);
    let is_short = |month: &&str| {
        word.len() >= 3
            && month
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let place = MONTHS
        .iter()
        .position(|month| is_short(month) || (*month == "september" && word.eq_ignore_ascii_case("sept")));
    Some((i8::try_from(place? + 1).ok()?, &text[word.len()..]))
}

/// The number of a day at the beginning of `text`, with or without `st` and the like, and the rest.
fn day_number_at(text: &str) -> Option<(i8, &str)> {
    let (day, rest) = text.split_at(digits_at(text).min(2));
    let suffix = word_at(rest).to_ascii_lowercase();
    let suffix = if matches!(suffix.as_str(), "st" | "nd" | "rd" | "th") {
        2
    } else {
        0
    };
    Some((day.parse().ok()?, &rest[suffix..]))
}

/// The year at the beginning of `text`, if any, and the rest.
fn year_at(text: &str) -> (Option<i16>, &str) {
    let year = text.trim_start_matches([' ', ',']);
    match digits_at(year) {
        4 => (year[..4].parse().ok(), &year[4..]),
        _ => (None, text),
    }
}

/// Parses `Oct 3` or `Nov 21st, 2026`.
fn month_day(text: &str) -> Option<(NamedDay, &str)> {
    let (month, rest) = month_at(text)?;
    let (day, rest) = day_number_at(rest.trim_start_matches(['.', ' ']))?;
    let (year, rest) = year_at(rest);
    Some((NamedDay::Date { month, day, year }, rest))
}

/// Parses `3 Oct` or `21st of November 2026`.
fn day_month(text: &str) -> Option<(NamedDay, &str)> {
    let (day, rest) = day_number_at(text)?;
    let rest = rest.strip_prefix([' ', '-'])?;
    let (month, rest) = month_at(rest.strip_prefix("of ").unwrap_or(rest))?;
    let (year, rest) = year_at(rest.trim_start_matches(['.', '-']));
    Some((NamedDay::Date { month, day, year }, rest))
}

/// Smaller numbers are not years.
const FIRST_YEAR: i16 = 1970;

/// Parses `12/24/2026`, `2026-12-24` or `12月24`. The month comes first, as in the US, unless that number is above 12.
fn date_in_numbers(text: &str) -> Option<(NamedDay, &str)> {
    let end = text.find(|character: char| !(character.is_ascii_digit() || matches!(character, '/' | '-' | '月')));
    let (date, rest) = text.split_at(end.unwrap_or(text.len()));
    let numbers: Option<Vec<i16>> = date.split(['/', '-', '月']).map(|number| number.parse().ok()).collect();
    let (year, first, second) = match numbers?[..] {
        [year, first, second] if year >= FIRST_YEAR => (Some(year), first, second),
        [first, second, year] if year >= FIRST_YEAR => (Some(year), first, second),
        [first, second] if date.contains('月') => (None, first, second),
        _ => return None,
    };
    let (month, day) = if first > 12 { (second, first) } else { (first, second) };
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Some((NamedDay::Date { month, day, year }, rest))
}

/// Parses `6:40 PM`, `7pm`, `7 p.m.`, `18:40`, `noon`. A bare number does not count as a time.
fn time_of_day(text: &str) -> Option<(Time, &str)> {
    let word = word_at(text);
    let named = match word.to_ascii_lowercase().as_str() {
        "noon" => Some(12),
        "midnight" => Some(0),
        _ => None,
    };
    if let Some(hour) = named {
        return Some((Time::constant(hour, 0, 0, 0), &text[word.len()..]));
    }
    // Chinese names the half of the day before.
    let first = half_at(text);
    let text = first.map_or(text, |(_, rest)| rest.trim_start());
    let (hour, mut rest) = text.split_at(digits_at(text).min(2));
    let mut hour: i8 = hour.parse().ok()?;
    let (mut minute, mut second): (Option<i8>, i8) = (None, 0);
    if let Some(after) = rest.strip_prefix(':') {
        minute = Some(after.get(..2)?.parse().ok()?);
        rest = &after[2..];
        if let Some(after) = rest.strip_prefix(':').filter(|seconds| digits_at(seconds) == 2) {
            second = after[..2].parse().ok()?;
            rest = &after[2..];
            let fraction = rest.strip_prefix('.').filter(|fraction| digits_at(fraction) > 0);
            rest = fraction.map_or(rest, |fraction| &fraction[digits_at(fraction)..]);
        }
    }
    let last = half_at(rest.trim_start());
    rest = last.map_or(rest, |(_, rest)| rest);
    match last.or(first) {
        Some(_) if !(1..=12).contains(&hour) && last.is_some() => return None,
        Some((DayHalf::Afternoon, _)) if hour <= 12 => hour = hour % 12 + 12,
        Some((DayHalf::Morning, _)) => hour %= 12,
        Some((DayHalf::Afternoon, _)) => {}
        None if minute.is_none() => return None,
        None => {}
    }
    Some((Time::new(hour, minute.unwrap_or(0), second, 0).ok()?, rest))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayHalf {
    Morning,
    Afternoon,
}

/// Parses `am`, `a.m.`, `pm`, `p.m.`.
fn half_at(text: &str) -> Option<(DayHalf, &str)> {
    let is_it = |name: &str| {
        text.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let ends = |name: &&str| !text[name.len()..].starts_with(|next: char| next.is_ascii_alphabetic());
    let found = ["a.m.", "p.m.", "am", "pm"]
        .into_iter()
        .filter(|name| is_it(name))
        .find(ends)?;
    let half = if found.starts_with('a') {
        DayHalf::Morning
    } else {
        DayHalf::Afternoon
    };
    Some((half, &text[found.len()..]))
}

/// The zone at the beginning of `text`, in brackets or not, and the rest.
fn zone_at<'t>(text: &'t str, clock: &ZonedClock) -> Option<(TimeZone, &'t str)> {
    let start = text.trim_start();
    let start = start.strip_prefix('(').unwrap_or(start);
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '/' | '_' | '+' | '-' | ':');
    let end = start.find(|character| !is_part(character)).unwrap_or(start.len());
    let (name, rest) = start.split_at(end);
    let name = name.trim_end_matches(':');
    let rest = rest.strip_prefix(')').unwrap_or(rest);
    let offset = ["UTC", "GMT", "utc", "gmt", ""]
        .into_iter()
        .find_map(|prefix| offset(name.strip_prefix(prefix)?));
    let known = || ZONES.iter().find(|(abbreviation, _)| *abbreviation == name);
    let zone = offset
        .or_else(|| clock.zone_called(name))
        .or_else(|| clock.zone_called(known()?.1))?;
    Some((zone, rest))
}

/// The zone at the beginning of `text`, if it is unmistakably one: some in the database have names like `GB` or `MET`.
pub(super) fn named_zone_at(text: &str, clock: &ZonedClock) -> Option<TimeZone> {
    let name = &text[..text.find([' ', ')', ',']).unwrap_or(text.len())];
    let is_named = name.contains('/') || name.starts_with("UTC") || name.starts_with("GMT");
    let is_known = is_named || ZONES.iter().any(|(known, _)| *known == name);
    zone_at(text, clock).filter(|_| is_known).map(|(zone, _)| zone)
}

/// Parses `+08:00`, `-0500` or `+8`.
fn offset(text: &str) -> Option<TimeZone> {
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = match text[1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == 5 => text[1..].split_at_checked(2)?,
        None => (&text[1..], "0"),
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_one = (0..=14).contains(&hours) && (0..60).contains(&minutes);
    let offset = is_one.then(|| tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok());
    Some(TimeZone::fixed(offset??))
}

fn digits_at(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
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

pub(super) fn ms_of(moment: &Zoned) -> Option<u64> {
    u64::try_from(moment.timestamp().as_millisecond()).ok()
}
