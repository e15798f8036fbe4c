//! Patterns of lines, with a plain text that excludes most lines before the regular expression runs.

use memchr::memmem::Finder;
use regex_lite::{Captures, Regex};
use serde::Deserialize;

/// The bytes that occur in a text; all outside of ASCII are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bytes(u128);

impl Bytes {
    pub(super) fn of(text: &str) -> Bytes {
        Bytes(text.bytes().fold(0, |seen, byte| seen | 1 << byte.min(127)))
    }

    pub(super) fn have(self, needed: Bytes) -> bool {
        self.0 & needed.0 == needed.0
    }
}

/// A pattern that is tested against every line of an output.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct LinePattern {
    regex: Regex,
    /// Every matching line begins with it.
    start: String,
    /// Every matching line contains it.
    literal: Finder<'static>,
    /// Every matching line has all of one of these.
    pub(super) needs: Vec<Bytes>,
}

impl LinePattern {
    pub(super) fn new(text: &str) -> Result<LinePattern, String> {
        let wrong =
            |error| format!("`{text}` is not a pattern: {error}; write one of the syntax of the crate `regex-lite`");
        let regex = Regex::new(text).map_err(wrong)?;
        let chars: Vec<char> = text.chars().collect();
        // Flags change the meaning of plain characters.
        let plain = !text.contains("(?i") && !text.contains("(?x") && !text.contains("(?s");
        Ok(LinePattern {
            regex,
            start: if plain { start(&chars) } else { String::new() },
            literal: Finder::new(&if plain { literal(&chars) } else { String::new() }).into_owned(),
            needs: if plain { needs(&chars) } else { vec![Bytes::default()] },
        })
    }

    /// Parses a pattern without other groups than these.
    pub(super) fn with_groups(text: &str, known: &[&str]) -> Result<LinePattern, String> {
        let pattern = LinePattern::new(text)?;
        let instead = match known {
            [] => "leave its name out".to_owned(),
            known => format!("name it `{}`", known.join("` or `")),
        };
        let unknown = pattern.groups().find(|group| !known.contains(group));
        let unknown = unknown.map(|group| format!("the group `{group}` has no meaning here; {instead}"));
        unknown.map_or(Ok(pattern), Err)
    }

    pub(super) fn is_match(&self, line: &str) -> bool {
        self.may_match(line) && self.regex.is_match(line)
    }

    pub(super) fn captures<'l>(&self, line: &'l str) -> Option<Captures<'l>> {
        if self.may_match(line) {
            self.regex.captures(line)
        } else {
            None
        }
    }

    fn may_match(&self, line: &str) -> bool {
        line.starts_with(&self.start) && self.literal.find(line.as_bytes()).is_some()
    }

    /// Returns the names of its groups.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.regex.capture_names().flatten()
    }
}

/// A pattern without named groups.
impl TryFrom<String> for LinePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        LinePattern::with_groups(&text, &[])
    }
}

/// Returns the plain text with which every match begins.
fn start(pattern: &[char]) -> String {
    let Some(('^', rest)) = pattern.split_first().map(|(first, rest)| (*first, rest)) else {
        return String::new();
    };
    if has_alternatives(rest) {
        return String::new();
    }
    let end = rest.iter().position(|character| "([.$".contains(*character));
    runs(&rest[..end.unwrap_or(rest.len())], true)
        .into_iter()
        .next()
        .unwrap_or_default()
}

/// Returns the longest plain text that every match contains.
fn literal(pattern: &[char]) -> String {
    let runs = runs(pattern, false);
    runs.into_iter().max_by_key(String::len).unwrap_or_default()
}

/// Returns sets of bytes, of which every match has at least one as a whole.
fn needs(pattern: &[char]) -> Vec<Bytes> {
    let alternatives = alternatives(pattern);
    if alternatives.len() > 1 {
        return alternatives.into_iter().flat_map(needs).collect();
    }
    let plain = Bytes::of(&runs(pattern, false).concat());
    if plain != Bytes::default() {
        return vec![plain];
    }
    // One of the words of the first group.
    let start = pattern
        .iter()
        .position(|character| *character != '^')
        .unwrap_or_default();
    let end = end_of_item(pattern, start);
    let is_optional = pattern.get(end).is_some_and(|quantifier| "*?{".contains(*quantifier));
    match pattern.get(start..end) {
        Some(['(', inner @ .., ')']) if !is_optional => needs(without_name(inner)),
        _ => vec![plain],
    }
}

/// Returns the runs of plain characters that every match contains, in order; only the first one if it `starts`.
fn runs(pattern: &[char], starts: bool) -> Vec<String> {
    let mut runs = Vec::new();
    if has_alternatives(pattern) {
        return runs;
    }
    let mut run = String::new();
    let mut place = 0;
    while let Some(character) = pattern.get(place) {
        let end = end_of_item(pattern, place);
        let quantifier = pattern
            .get(end)
            .copied()
            .filter(|character| "*?{+".contains(*character));
        let is_optional = quantifier.is_some_and(|quantifier| quantifier != '+');
        let plain = match character {
            '\\' => pattern
                .get(place + 1)
                .filter(|character| character.is_ascii_punctuation()),
            '(' | '[' | '.' | '^' | '$' => None,
            other => Some(other),
        };
        if let Some(plain) = plain.filter(|_| !is_optional) {
            run.push(*plain);
        }
        if plain.is_none() || quantifier.is_some() {
            runs.push(std::mem::take(&mut run));
            if starts {
                break;
            }
        }
        if *character == '(' && !is_optional {
            let inner = pattern.get(place + 1..end.saturating_sub(1)).unwrap_or_default();
            runs.extend(self::runs(without_name(inner), false));
        }
        place = match quantifier {
            Some('{') => pattern
                .iter()
                .skip(end)
                .position(|character| *character == '}')
                .map_or(pattern.len(), |length| end + length + 1),
            Some(_) => end + 1,
            None => end,
        };
        // The mark of a lazy quantifier.
        if quantifier.is_some() && pattern.get(place) == Some(&'?') {
            place += 1;
        }
    }
    runs.push(run);
    runs
}

/// Whether there is a `|` outside of groups.
fn has_alternatives(pattern: &[char]) -> bool {
    alternatives(pattern).len() > 1
}

/// Splits a pattern at each `|` outside of groups.
fn alternatives(pattern: &[char]) -> Vec<&[char]> {
    let (mut found, mut start, mut place) = (Vec::new(), 0, 0);
    while let Some(character) = pattern.get(place) {
        if *character == '|' {
            found.push(&pattern[start..place]);
            start = place + 1;
        }
        place = end_of_item(pattern, place);
    }
    found.push(pattern.get(start..).unwrap_or_default());
    found
}

/// Returns the end of the character, class or group that begins at `place`.
fn end_of_item(pattern: &[char], place: usize) -> usize {
    let rest = pattern.get(place + 1..).unwrap_or_default();
    match pattern.get(place) {
        Some('\\') => place + 2,
        Some('[') => {
            let mut end = place + 1 + usize::from(rest.first() == Some(&'^'));
            // A bracket in first position belongs to the class.
            end += usize::from(pattern.get(end) == Some(&']'));
            while let Some(character) = pattern.get(end) {
                match character {
                    ']' => return end + 1,
                    '\\' => end += 2,
                    _ => end += 1,
                }
            }
            end
        }
        Some('(') => {
            let mut end = place + 1;
            while let Some(character) = pattern.get(end) {
                if *character == ')' {
                    return end + 1;
                }
                end = end_of_item(pattern, end);
            }
            end
        }
        Some(_) | None => place + 1,
    }
}

/// Returns the content of a group without its name.
fn without_name(group: &[char]) -> &[char] {
    match group {
        ['?', ':', rest @ ..] => rest,
        ['?', ..] => {
            let end = group.iter().position(|character| *character == '>');
            end.and_then(|end| group.get(end + 1..)).unwrap_or_default()
        }
        _ => group,
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, LinePattern};

    #[test]
    fn a_pattern_knows_the_bytes_of_all_that_it_matches() {
        for (pattern, needed) in [
            (r"^running (?<planned>\d+) tests?$", &["running test"][..]),
            (r"^(?:OK|FAILED)(?: \((?<list>.*)\))?$", &["OK", "FAILED"]),
            (r"^ok|FAILED", &["ok", "FAILED"]),
            (r"^(?:[+-]\d|OK)$", &["", "OK"]),
            (r"^(?:a|b)?$", &[""]),
            (r"(?i)passed", &[""]),
            (r"✓", &["é"]),
        ] {
            let needed: Vec<_> = needed.iter().map(|text| Bytes::of(text)).collect();
            assert_eq!(LinePattern::new(pattern).unwrap().needs, needed, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_knows_what_is_in_all_that_it_matches() {
        for (pattern, start, literal) in [
            (r"^running (?<planned>\d+) tests?$", "running ", "running "),
            (
                r"^test result: \S+\. (?<passed>\d+) passed; ",
                "test result: ",
                "test result: ",
            ),
            (r"^test (?<id>\S+) \.\.\. ok$", "test ", " ... ok"),
            (r"^ +Tests  (?<list>\d.*)$", " ", "Tests  "),
            (r"^(?<failed>FAIL)\t\S+\t[\d.]+s$", "", "FAIL"),
            (r"^(?<list>(?:\d+ tests, )*\d+ failures?(?:, .*)?)$", "", " failure"),
            (r"^= (ok|FAILED) in", "= ", " in"),
            (r"^ok|FAILED", "", ""),
            (r"^=+ (?<list>.*) in [\d.]+s =+$", "=", " in "),
            (r"a{2}bc?", "", "b"),
            (r"^a{2,3}?bc?d", "", "d"),
            (r"^ab+?c", "ab", "ab"),
            (r"[^]x]abc\.d", "", "abc.d"),
            (r"[)(|\]]abc(?:x)?", "", "abc"),
            (r"(?i)passed", "", ""),
            (r"\d+ passing", "", " passing"),
        ] {
            let known = LinePattern::new(pattern).unwrap();
            assert_eq!(
                (known.start.as_str(), known.literal.needle()),
                (start, literal.as_bytes()),
                "{pattern}"
            );
        }
    }
}
