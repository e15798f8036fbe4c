//! The window of a limit that a text names: `5-hour limit`, `weekly limit`, `reached for 5 hour`.

use super::grammar::{duration_at, token_starts, word_at};

/// Shorter windows are rates: a wait may last several of them.
const LEAST_MS: f64 = 3_600_000.0;
const DAY_MS: f64 = 24.0 * 3_600_000.0;

/// Words before the length of a window.
const BEFORE: [&str; 6] = ["for", "per", "every", "each", "last", "past"];
/// Words after the length of a window.
const AFTER: [&str; 8] = [
    "limit",
    "limits",
    "window",
    "quota",
    "period",
    "cap",
    "usage",
    "allowance",
];

/// The length of the longest window in `text`, in milliseconds.
pub(super) fn named_window(text: &str) -> Option<f64> {
    let mut before = "";
    let mut longest: Option<f64> = None;
    for at in token_starts(text) {
        let rest = &text[at..];
        let length = of_word(rest, before).or_else(|| of_number(rest, before));
        let length = length.filter(|length| *length >= LEAST_MS);
        longest = longest.into_iter().chain(length).reduce(f64::max);
        before = word_at(rest);
    }
    longest
}

fn of_word(text: &str, before: &str) -> Option<f64> {
    let word = word_at(text).to_ascii_lowercase();
    let is_each = ["per", "every", "each"]
        .iter()
        .any(|each| before.eq_ignore_ascii_case(each));
    let days = match word.as_str() {
        "hourly" => 1.0 / 24.0,
        "daily" => 1.0,
        "weekly" => 7.0,
        "monthly" => 31.0,
        "hour" if is_each => 1.0 / 24.0,
        "day" if is_each => 1.0,
        "week" if is_each => 7.0,
        "month" if is_each => 31.0,
        _ => return None,
    };
    Some(days * DAY_MS)
}

fn of_number(text: &str, before: &str) -> Option<f64> {
    let (length, rest) = duration_at(&text.replacen('-', " ", 1)).map(|(length, rest)| (length, rest.to_owned()))?;
    let is_joined = text
        .split([' ', '\u{a0}'])
        .next()
        .is_some_and(|word| word.contains('-'));
    let is_one_of = |words: &[&str], word: &str| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_window = is_joined || is_one_of(&BEFORE, before) || is_one_of(&AFTER, word_at(rest.trim_start()));
    is_window.then_some(length)
}
