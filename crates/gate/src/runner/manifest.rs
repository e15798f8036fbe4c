//! A runner as described in its file.

use std::collections::BTreeMap;

use ralph_text::path_glob::PathGlob;
use regex_lite::Captures;
use serde::{Deserialize, Deserializer, de::Error as _};
use thiserror::Error;

use super::{
    pattern::{Bytes, LinePattern},
    tally::CountKind,
};

/// A test runner: the files that decide the results of its tests, and the patterns of its output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    #[serde(skip)]
    pub id: String,
    /// Display name.
    pub title: String,
    #[serde(default)]
    pub(super) command: Vec<LinePattern>,
    /// The arguments with which it runs only some tests: `{files}` stands for their files, `{names}` for their names and
    /// `{any_name}` for an expression that matches these. `None` if it cannot be told.
    pub(super) narrow: Option<String>,
    /// Globs of files that contain tests.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Globs of files that configure it as a whole.
    #[serde(default)]
    pub config: Vec<String>,
    /// Globs of file names that shadow its own modules.
    #[serde(default)]
    pub shadows: Vec<String>,
    /// How to find tests in source files; `None` if it has none there.
    pub blocks: Option<InlineTests>,
    /// Its output is only considered if no other runner's is recognised.
    #[serde(default)]
    pub(super) fallback: bool,
    /// Command lines with which it prints nothing about passed tests, so that its output cannot be counted.
    #[serde(default)]
    pub(super) silent: Vec<LinePattern>,
    /// How projects with certain files start it; the first that fits is used.
    #[serde(default)]
    pub start: Vec<StartCommand>,
    /// `None` for a runner that only starts others, such as `make`.
    pub(super) output: Option<OutputPatterns>,
}

/// The command that runs the tests of projects with certain files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartCommand {
    /// Files or directories of which the project has to have each.
    #[serde(deserialize_with = "globs")]
    pub files: Vec<PathGlob>,
    says: Option<LinePattern>,
    pub command: String,
    /// The command that installs the packages of the project.
    pub install: Option<String>,
    #[serde(default)]
    missing: Vec<LinePattern>,
}

fn globs<'de, D: Deserializer<'de>>(written: D) -> Result<Vec<PathGlob>, D::Error> {
    let written = Vec::<String>::deserialize(written)?;
    let globs = written.iter().map(|glob| PathGlob::new(glob).map_err(D::Error::custom));
    globs.collect()
}

impl StartCommand {
    /// Whether the text of the first file says that there are tests.
    pub fn is_said_by(&self, text: &str) -> bool {
        let mut says = self.says.iter();
        says.all(|pattern| text.lines().any(|line| pattern.is_match(line)))
    }

    /// The command that installs the packages that are missing, as the output says.
    pub fn installs_missing(&self, output: &str) -> Option<&str> {
        let is_missing = |line: &str| self.missing.iter().any(|pattern| pattern.is_match(line));
        self.install.as_deref().filter(|_| output.lines().any(is_missing))
    }
}

/// The kind of tests inside source files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InlineTests {
    /// `#[cfg(test)]`, `#[test]` and documentation.
    Rust,
}

/// Patterns of output lines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OutputPatterns {
    /// The format; `None` for that of the patterns.
    pub(super) form: Option<OutputForm>,
    pub(super) open: Vec<OpenPattern>,
    pub(super) line: Vec<CountingPattern>,
    pub(super) first: Vec<CountingPattern>,
    pub(super) part: Vec<CountingPattern>,
    pub(super) last: Vec<CountingPattern>,
    pub(super) none: Vec<LinePattern>,
    pub(super) count: CountSource,
    words: BTreeMap<String, CountKind>,
    test: TestPatterns,
    /// Every line that matters has all bytes of one of these.
    #[serde(skip)]
    pub(super) needs: Vec<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OutputForm {
    Tap,
}

/// Patterns of lines about single tests.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TestPatterns {
    passed: Vec<NamingPattern>,
    failed: Vec<NamingPattern>,
    skipped: Vec<NamingPattern>,
    expected: Vec<NamingPattern>,
}

/// A pattern whose only group is a number of tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct OpenPattern(pub(super) LinePattern);

impl TryFrom<String> for OpenPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        LinePattern::with_groups(&text, &["planned"]).map(OpenPattern)
    }
}

/// A pattern whose only group is the name of a test.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct NamingPattern(LinePattern);

impl TryFrom<String> for NamingPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let pattern = LinePattern::with_groups(&text, &["id"])?;
        let names_tests = pattern.groups().next().is_some();
        let unnamed = "the pattern names no test; write a group `(?<id>…)`";
        names_tests
            .then_some(NamingPattern(pattern))
            .ok_or_else(|| unnamed.to_owned())
    }
}

/// A pattern, with its groups that count tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct CountingPattern {
    pub(super) pattern: LinePattern,
    pub(super) groups: Vec<(String, CountKind)>,
}

impl TryFrom<String> for CountingPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let pattern = LinePattern::new(&text)?;
        let counting = pattern.groups().filter(|group| *group != "list").map(|group| {
            let kind = CountKind::from_group(group).map_err(|error| format!("{error}, or `list`"))?;
            Ok((group.to_owned(), kind))
        });
        let groups = counting.collect::<Result<_, String>>()?;
        Ok(CountingPattern { groups, pattern })
    }
}

/// The lines that counts are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CountSource {
    #[default]
    Closing,
    /// The lines of single tests, if there are any for passed ones.
    Tests,
}

impl OutputPatterns {
    fn needed(&self) -> Vec<Bytes> {
        let counting = [&self.line, &self.first, &self.part, &self.last];
        let counting = counting.into_iter().flatten().map(|counting| &counting.pattern);
        let open = self.open.iter().map(|OpenPattern(pattern)| pattern);
        let tests = self.tests().map(|(_, pattern)| pattern);
        let patterns = counting.chain(open).chain(&self.none).chain(tests);
        let mut needed: Vec<Bytes> = patterns.flat_map(|pattern| pattern.needs.clone()).collect();
        needed.dedup();
        let fewer = |all: &[Bytes], of: &Bytes| all.iter().any(|other| other != of && of.have(*other));
        let all = needed.clone();
        needed.retain(|set| !fewer(&all, set));
        needed
    }

    fn tests(&self) -> impl Iterator<Item = (CountKind, &LinePattern)> {
        let TestPatterns {
            passed,
            failed,
            skipped,
            expected,
        } = &self.test;
        of_kind(CountKind::Passed, passed)
            .chain(of_kind(CountKind::Failed, failed))
            .chain(of_kind(CountKind::Skipped, skipped))
            .chain(of_kind(CountKind::Expected, expected))
    }

    /// Returns the result and the name of the test that a line is about.
    pub(super) fn test<'l>(&self, line: &'l str) -> Option<(CountKind, Captures<'l>)> {
        self.tests()
            .find_map(|(kind, pattern)| Some((kind, pattern.captures(line)?)))
    }

    pub(super) fn kind_of_word(&self, word: &str) -> Option<CountKind> {
        self.words.get(word).copied()
    }
}

fn of_kind(kind: CountKind, patterns: &[NamingPattern]) -> impl Iterator<Item = (CountKind, &LinePattern)> {
    patterns.iter().map(move |NamingPattern(pattern)| (kind, pattern))
}

impl Runner {
    /// Whether its output tells which tests ran; false for runners that only start others, such as `make`.
    pub fn counts_tests(&self) -> bool {
        self.output.is_some()
    }

    /// Parses the file of the runner `id`.
    ///
    /// # Errors
    /// [`RunnerError`] names the line and the allowed values of the first error.
    pub fn parse(id: &str, text: &str) -> Result<Runner, RunnerError> {
        let mut runner: Runner = toml::from_str(text).map_err(|error| RunnerError {
            runner: id.to_owned(),
            line: error.span().map_or_else(String::new, |span| {
                format!(", line {}", text[..span.start].matches('\n').count() + 1)
            }),
            message: error.message().to_owned(),
        })?;
        runner.id = id.to_owned();
        if let Some(output) = &mut runner.output {
            let words = std::mem::take(&mut output.words).into_iter();
            output.words = words.map(|(word, kind)| (word.to_lowercase(), kind)).collect();
            output.needs = output.needed();
        }
        Ok(runner)
    }
}

/// An error in the file of a runner: its location, and the allowed values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("runner `{runner}`{line}: {message}")]
pub struct RunnerError {
    runner: String,
    /// In words, if it is known.
    line: String,
    message: String,
}
