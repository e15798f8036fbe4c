//! Patterns of lines, with a plain text that excludes most lines before the regular expression runs.

use memchr::memmem::Finder;
use regex_lite::{Captures, Regex};

/// A pattern that is tested against every line of an output.
#[derive(Debug, Clone)]
pub(super) struct LinePattern {
    regex: Regex,
    /// Every matching line begins with it.
    start: String,
    /// Every matching line contains it.
    literal: Finder<'static>,
}

impl LinePattern {
    pub(super) fn new(text: &str) -> Result<LinePattern, regex_lite::Error> {
        let regex = Regex::new(text)?;
        let chars: Vec<char> = text.chars().collect();
        // Flags change the meaning of plain characters.
        let plain = !text.contains("(?i") && !text.contains("(?x") && !text.contains("(?s");
        Ok(LinePattern {
            regex,
            start: if plain { start(&chars) } else { String::new() },
            literal: Finder::new(&if plain { literal(&chars) } else { String::new() }).into_owned(),
        })
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
    let mut place = 0;
    while let Some(character) = pattern.get(place) {
        if *character == '|' {
            return true;
        }
        place = end_of_item(pattern, place);
    }
    false
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
    use super::LinePattern;

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
