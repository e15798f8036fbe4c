//! The patterns of an adapter: regular expressions over the plain lines of a terminal.
//!
//! For agents without structured output. Only lines after the last sign of progress count: earlier lines may be a
//! tool's output, or a failure that was overcome.

use ralph_core::event::{Problem, ProblemKind, Usage, clip};
use regex_lite::{Captures, Regex};

use super::{classify::with_time, clock::ZonedClock, one_line, reset::until_in_text};

/// Most bytes of a line that are matched.
const LINE_CAP_BYTES: usize = 4096;

/// A regular expression with matching time linear in the input.
#[derive(Debug, Clone)]
pub struct LinePattern(Regex);

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for LinePattern {}

impl LinePattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// The error message of the regex compiler.
    pub fn new(text: &str) -> Result<Self, String> {
        Regex::new(text).map(Self).map_err(|error| error.to_string())
    }

    /// Whether it has a capture group with one of these names.
    pub fn has_group(&self, names: &[&str]) -> bool {
        self.0.capture_names().flatten().any(|name| names.contains(&name))
    }

    fn fits(&self, line: &str) -> bool {
        self.0.is_match(&clip(line, LINE_CAP_BYTES))
    }
}

/// The patterns of an adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinePatterns {
    /// Patterns of failures; the first that matches a line decides its kind.
    pub problems: Vec<(ProblemKind, LinePattern)>,
    /// The line that reports the usage of a request, with groups `input`, `cached` and `output`.
    pub usage: Option<LinePattern>,
    /// The line that reports the cost of a request, with a group `cost` in dollars.
    pub cost: Option<LinePattern>,
    /// A line with which the agent asks the user a question.
    pub asks: Option<LinePattern>,
    /// The line with which the agent's last message begins.
    pub message: Option<LinePattern>,
    /// A sign of progress: lines before it are ignored.
    pub after: Option<LinePattern>,
}

impl LinePatterns {
    /// The usage that `line` reports.
    pub(super) fn usage(&self, line: &str) -> Option<Usage> {
        let line = clip(line, LINE_CAP_BYTES);
        let tokens = self.usage.as_ref().and_then(|pattern| pattern.0.captures(&line));
        let cost = self.cost.as_ref().and_then(|pattern| pattern.0.captures(&line));
        let count = |name| group(tokens.as_ref()?, name).and_then(count_in);
        let usage = Usage {
            input_tokens: count("input"),
            cached_tokens: count("cached"),
            output_tokens: count("output"),
            cost_usd: cost.and_then(|cost| group(&cost, "cost")?.replace(',', "").parse().ok()),
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
    }

    /// The lines after the last sign of progress.
    pub(super) fn last_words<'l>(&self, lines: &'l [String]) -> &'l [String] {
        let sign = self.after.as_ref();
        let last = sign.and_then(|sign| lines.iter().rposition(|line| sign.fits(line)));
        last.map_or(lines, |last| &lines[last + 1..])
    }

    /// The failure reported by the last line that matches a problem pattern.
    pub(super) fn problem(&self, lines: &[String], clock: &ZonedClock) -> Option<Problem> {
        lines.iter().rev().find_map(|line| {
            let (kind, _) = self.problems.iter().find(|(_, pattern)| pattern.fits(line))?;
            let kind = with_time(*kind, || until_in_text(line, clock));
            Some(Problem::said(kind, one_line(line)))
        })
    }

    /// The last of `lines` that asks a question.
    pub(super) fn question<'l>(&self, lines: &'l [String]) -> Option<&'l str> {
        let asks = self.asks.as_ref()?;
        lines.iter().rfind(|line| asks.fits(line)).map(String::as_str)
    }

    /// The lines of the last message; all lines if none matches its beginning.
    pub(super) fn message<'l>(&self, lines: &'l [String]) -> &'l [String] {
        let start = self.message.as_ref();
        let start = start.and_then(|start| lines.iter().rposition(|line| start.fits(line)));
        &lines[start.unwrap_or(0)..]
    }
}

fn group<'l>(found: &Captures<'l>, name: &str) -> Option<&'l str> {
    found.name(name).map(|found| found.as_str())
}

/// Parses `812`, `1,204`, `2.3k`, `1.1M`.
fn count_in(text: &str) -> Option<u64> {
    let text = text.replace([',', '_'], "");
    let (number, thousands) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 2),
            None => (text.as_str(), 0),
        },
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = 3 * thousands;
    let part: String = part.chars().chain(std::iter::repeat('0')).take(digits).collect();
    whole.bytes().next()?;
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        for (text, count) in [
            ("812", Some(812)),
            ("1,204", Some(1_204)),
            ("2.3k", Some(2_300)),
            ("12k", Some(12_000)),
            ("1.1M", Some(1_100_000)),
            ("k", None),
            ("many", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(count_in(text), count, "{text}");
        }
    }

    #[test]
    fn a_pattern_takes_no_more_time_than_its_text_is_long() {
        let patterns = LinePatterns {
            asks: Some(LinePattern::new("^(a+)+$").expect("a pattern")),
            ..LinePatterns::default()
        };
        let lines = vec![format!("{}b", "a".repeat(100_000))];
        assert_eq!(patterns.question(&lines), None);
    }
}
