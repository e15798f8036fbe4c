//! Patterns of lines, with a plain text that spares most lines the pattern.

use regex_lite::{Captures, Regex};

/// A pattern that is asked of every line of an output.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    /// Every line that matches has it.
    literal: String,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Pattern, regex_lite::Error> {
        Ok(Pattern {
            regex: Regex::new(text)?,
            literal: literal(text),
        })
    }

    pub(super) fn is_match(&self, line: &str) -> bool {
        line.contains(&self.literal) && self.regex.is_match(line)
    }

    pub(super) fn captures<'l>(&self, line: &'l str) -> Option<Captures<'l>> {
        if line.contains(&self.literal) {
            self.regex.captures(line)
        } else {
            None
        }
    }

    /// The names of its groups.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.regex.capture_names().flatten()
    }
}

/// The longest text that every match of a pattern contains, as far as it is seen without parsing the pattern.
fn literal(pattern: &str) -> String {
    if pattern.contains("(?i") || pattern.contains("(?x") {
        return String::new();
    }
    let mut longest = String::new();
    let mut run = String::new();
    let mut depth = 0_usize;
    let mut chars = pattern.chars();
    while let Some(character) = chars.next() {
        let plain = match character {
            '\\' => chars.next().filter(char::is_ascii_punctuation),
            '[' => {
                skip_class(&mut chars);
                None
            }
            '(' => {
                depth += 1;
                None
            }
            ')' => {
                depth = depth.saturating_sub(1);
                None
            }
            '|' if depth == 0 => return String::new(),
            '*' | '?' | '{' => {
                // The character before may be missing.
                run.pop();
                if character == '{' {
                    chars.by_ref().find(|character| *character == '}');
                }
                None
            }
            '.' | '^' | '$' | '+' | '|' => None,
            other => Some(other),
        };
        match plain.filter(|_| depth == 0) {
            Some(plain) => run.push(plain),
            None => keep_longest(&mut longest, &mut run),
        }
    }
    keep_longest(&mut longest, &mut run);
    longest
}

/// Leaves out the rest of a class of characters such as `[\d\]]`.
fn skip_class(chars: &mut std::str::Chars) {
    let mut first = true;
    while let Some(character) = chars.next() {
        match character {
            '\\' => _ = chars.next(),
            ']' if !first => return,
            '^' if first => continue,
            _ => {}
        }
        first = false;
    }
}

fn keep_longest(longest: &mut String, run: &mut String) {
    if run.len() > longest.len() {
        std::mem::swap(longest, run);
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn the_literal_of_a_pattern_is_in_all_that_matches() {
        for (pattern, expected) in [
            (r"^running (?<planned>\d+) tests?$", "running "),
            (r"^test result: \S+\. (?<passed>\d+) passed; ", "test result: "),
            (r"(ok|FAILED) in", " in"),
            (r"ok|FAILED", ""),
            (r"^=+ (?<list>.*) in [\d.]+s =+$", " in "),
            (r"a{2}bc?", "b"),
            (r"[^]x]abc\.d", "abc.d"),
            (r"(?i)passed", ""),
            (r"\d+ passing", " passing"),
        ] {
            assert_eq!(literal(pattern), expected, "{pattern}");
        }
    }
}
