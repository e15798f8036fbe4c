//! Counts of tests, block by block; a runner prints a block at the end of each session.

use serde::{
    Deserialize,
    de::{IntoDeserializer as _, value},
};

use super::manifest::{CountingPattern, OutputPatterns};

/// The kind of tests that a number in a closing line, or the line of a single test, counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CountKind {
    Passed,
    Failed,
    Skipped,
    Expected,
    /// Tests that were announced and belong to no other kind, such as benchmarks.
    Other,
    /// All tests.
    Total,
}

impl CountKind {
    pub(super) const ALL: [CountKind; CountKind::COUNT] = [
        CountKind::Passed,
        CountKind::Failed,
        CountKind::Skipped,
        CountKind::Expected,
        CountKind::Other,
        CountKind::Total,
    ];
    pub(super) const COUNT: usize = 6;

    /// Returns the kind that a group counts: `failed`, or `failed_errors` in a pattern with two numbers of a kind.
    ///
    /// # Errors
    /// The known kinds.
    pub(super) fn from_group(group: &str) -> Result<CountKind, value::Error> {
        let name = group.split('_').next().unwrap_or(group);
        CountKind::deserialize(name.into_deserializer())
    }
}

/// The sums of numbers in closing lines that belong together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Figures([Option<u32>; CountKind::COUNT]);

impl Figures {
    /// Adds the counts of a line, if the pattern matches it: the numbers of named groups, and the items of the group `list`.
    /// Returns whether it does.
    pub(super) fn add_line(&mut self, counting: &CountingPattern, line: &str, lines: &OutputPatterns) -> bool {
        let Some(captures) = counting.pattern.captures(line) else {
            return false;
        };
        for (group, kind) in &counting.groups {
            if let Some(text) = captures.name(group) {
                // A word in the place of a number stands for one test.
                self.add(*kind, number(text.as_str()).unwrap_or(1));
            }
        }
        if let Some(list) = captures.name("list") {
            for (word, count) in items(list.as_str()) {
                if let Some(kind) = lines.kind_of_word(&word) {
                    self.add(kind, count);
                }
            }
        }
        true
    }

    pub(super) fn add(&mut self, kind: CountKind, count: u32) {
        let sum = &mut self.0[kind as usize];
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }

    pub(super) fn add_all(&mut self, other: &Figures) {
        for kind in CountKind::ALL {
            if kind != CountKind::Total {
                self.add(kind, other.count(kind));
            }
        }
    }

    /// Returns the number of tests of a kind. If only the total is known, tests of no other kind count as passed.
    pub(super) fn count(&self, kind: CountKind) -> u32 {
        match (kind, self.0[kind as usize], self.0[CountKind::Total as usize]) {
            (CountKind::Passed, None, Some(total)) => total.saturating_sub(self.sum_without_passed()),
            (_, count, _) => count.unwrap_or_default(),
        }
    }

    /// Returns the number of tests of all kinds.
    pub(super) fn sum(&self) -> u32 {
        self.count(CountKind::Passed).saturating_add(self.sum_without_passed())
    }

    fn sum_without_passed(&self) -> u32 {
        [
            CountKind::Failed,
            CountKind::Skipped,
            CountKind::Expected,
            CountKind::Other,
        ]
        .into_iter()
        .fold(0, |sum, kind| {
            sum.saturating_add(self.0[kind as usize].unwrap_or_default())
        })
    }
}

/// Parses the number of a group; too large numbers become the largest one.
pub(super) fn number(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u32::MAX))
}

/// Splits a list such as `1 failed, 2 passed (1 slow)`, `failures=1, expected failures=2` or `Tests: 3, Errors: 1`.
fn items(list: &str) -> Vec<(String, u32)> {
    let mut depth = 0_usize;
    let outside = list.chars().filter(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    let outside: String = outside.collect();
    outside.split([',', '|', ';']).filter_map(item).collect()
}

fn item(text: &str) -> Option<(String, u32)> {
    let start = text.find(|character: char| character.is_ascii_digit())?;
    let digits: &str = &text[start..];
    let end = digits
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(digits.len());
    let (digits, after) = digits.split_at(end);
    let punctuation = |character: char| character.is_whitespace() || matches!(character, ':' | '=' | '.');
    let before = text[..start].trim_matches(punctuation);
    let word = if before.is_empty() {
        after.trim_matches(punctuation)
    } else {
        before
    };
    Some((word.to_lowercase(), number(digits)?))
}

/// Most sessions that are open at a time; others are ignored.
const OPEN_CAP: usize = 1000;

/// The sessions of one runner in an output, opened and closed.
///
/// Sessions may be nested, if a test runs the same runner and shows its output. An inner session that is never closed
/// is no error: tests start copies of themselves that end early.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    open: Vec<Option<u32>>,
    has_opened: bool,
    sum: Figures,
    closed: bool,
    last: Option<(Option<u32>, Figures)>,
}

impl Tally {
    pub(super) fn open(&mut self, planned: Option<u32>) {
        self.has_opened = true;
        if self.open.len() < OPEN_CAP {
            self.open.push(planned);
        }
    }

    pub(super) fn close(&mut self, figures: Figures) {
        let fits = |planned: &Option<u32>| planned.is_none_or(|planned| planned == figures.sum());
        if !self.has_opened {
            self.closed = true;
            self.sum.add_all(&figures);
        } else if let Some(place) = self.open.iter().rposition(fits) {
            self.keep_last();
            self.closed = true;
            self.last = Some((self.open[place], figures));
            self.open.truncate(place);
        } else if self.open.is_empty()
            && let Some((planned, last)) = &mut self.last
            && fits(planned)
        {
            // The runner closes a session once, after everything that its tests print.
            *last = figures;
        }
    }

    fn keep_last(&mut self) {
        if let Some((_, last)) = self.last.take() {
            self.sum.add_all(&last);
        }
    }

    /// Returns the sum of all sessions, `None` if no session was closed, and the inconsistency, if any.
    pub(super) fn finish(mut self) -> (Option<Figures>, Option<String>) {
        self.keep_last();
        let unclosed = self.open.first().map(|planned| match planned {
            Some(1) => "1 test was announced, and no closing line accounts for it".to_owned(),
            Some(planned) => format!("{planned} tests were announced, and no closing line accounts for them"),
            None => "the runner began, and its closing line is missing".to_owned(),
        });
        (self.closed.then_some(self.sum), unclosed)
    }
}
