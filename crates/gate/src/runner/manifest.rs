//! A runner as described in its file.

use std::{collections::BTreeMap, error::Error, fmt};

use serde::Deserialize;
use toml::Spanned;

use super::{pattern::Pattern, tally::Kind};

/// A test runner: the files that decide the results of its tests, and the patterns of its output.
#[derive(Debug, Clone)]
pub struct Runner {
    pub id: String,
    /// Display name.
    pub title: String,
    /// Globs of files that contain tests.
    pub tests: Vec<String>,
    /// Globs of files that configure it as a whole.
    pub config: Vec<String>,
    /// Globs of file names that shadow its own modules.
    pub shadows: Vec<String>,
    /// Guarded sections, as dotted keys, of files that also configure other things.
    pub sections: BTreeMap<String, Vec<String>>,
    /// How to find tests in source files; `None` if it has none there.
    pub blocks: Option<Blocks>,
    pub(super) command: Vec<Pattern>,
    /// `None` for a runner that only starts others, such as `make`.
    pub(super) output: Option<Output>,
    /// Its output is only considered if no other runner's is recognised.
    pub(super) fallback: bool,
    /// Command lines with which it prints nothing about passed tests, so that its output cannot be counted.
    pub(super) silent: Vec<Pattern>,
}

/// The kind of tests inside source files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocks {
    /// `#[cfg(test)]`, `#[test]` and documentation.
    Rust,
}

/// The format of a runner's output.
#[derive(Debug, Clone)]
pub(super) enum Output {
    Lines(Box<Lines>),
    Tap,
}

/// Patterns of output lines.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    pub(super) open: Vec<Pattern>,
    pub(super) line: Vec<Counting>,
    pub(super) first: Vec<Counting>,
    pub(super) part: Vec<Counting>,
    pub(super) last: Vec<Counting>,
    pub(super) none: Vec<Pattern>,
    pub(super) count: Count,
    words: BTreeMap<String, Kind>,
    pub(super) test: Vec<(Kind, Pattern)>,
}

/// A pattern, with its groups that count tests.
#[derive(Debug, Clone)]
pub(super) struct Counting {
    pub(super) pattern: Pattern,
    pub(super) groups: Vec<(String, Kind)>,
}

/// The lines that counts are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Count {
    #[default]
    Closing,
    /// The lines of single tests, if there are any for passed ones.
    Tests,
}

impl Lines {
    pub(super) fn kind_of_word(&self, word: &str) -> Option<Kind> {
        self.words.get(word).copied()
    }
}

impl Runner {
    /// Whether its output tells which tests ran; false for runners that only start others, such as `make`.
    pub fn counts_tests(&self) -> bool {
        self.output.is_some()
    }

    /// Parses the file of the runner `id`.
    ///
    /// # Errors
    /// [`RunnerError`] names the line, the key and the allowed values of the first error.
    pub fn parse(id: &str, text: &str) -> Result<Runner, RunnerError> {
        let reading = Reading { id, text };
        let written: Written = toml::from_str(text).map_err(|error| {
            let offset = error.span().map(|span| span.start);
            reading.error(offset, error.message().to_owned())
        })?;
        Ok(Runner {
            id: id.to_owned(),
            title: written.title,
            tests: written.tests,
            config: written.config,
            shadows: written.shadows,
            sections: written.sections,
            blocks: written.blocks,
            command: reading.patterns("command", &written.command, &[])?,
            output: written.output.map(|output| reading.output(output)).transpose()?,
            fallback: written.fallback,
            silent: reading.patterns("silent", &written.silent, &[])?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    #[serde(default)]
    command: Vec<Spanned<String>>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    config: Vec<String>,
    #[serde(default)]
    shadows: Vec<String>,
    #[serde(default)]
    sections: BTreeMap<String, Vec<String>>,
    blocks: Option<Blocks>,
    #[serde(default)]
    fallback: bool,
    #[serde(default)]
    silent: Vec<Spanned<String>>,
    output: Option<WrittenOutput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOutput {
    form: Option<Form>,
    #[serde(default)]
    open: Vec<Spanned<String>>,
    #[serde(default)]
    line: Vec<Spanned<String>>,
    #[serde(default)]
    first: Vec<Spanned<String>>,
    #[serde(default)]
    part: Vec<Spanned<String>>,
    #[serde(default)]
    last: Vec<Spanned<String>>,
    #[serde(default)]
    none: Vec<Spanned<String>>,
    #[serde(default)]
    count: Count,
    #[serde(default)]
    words: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    test: WrittenTest,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Tap,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WrittenTest {
    passed: Vec<Spanned<String>>,
    failed: Vec<Spanned<String>>,
    skipped: Vec<Spanned<String>>,
    expected: Vec<Spanned<String>>,
}

/// The file being parsed, for errors.
struct Reading<'t> {
    id: &'t str,
    text: &'t str,
}

impl Reading<'_> {
    fn error(&self, offset: Option<usize>, message: String) -> RunnerError {
        let line = offset.and_then(|offset| Some(self.text.get(..offset)?.matches('\n').count() + 1));
        RunnerError {
            id: self.id.to_owned(),
            line,
            message,
        }
    }

    fn output(&self, written: WrittenOutput) -> Result<Output, RunnerError> {
        if let Some(Form::Tap) = written.form {
            return Ok(Output::Tap);
        }
        let mut test = Vec::new();
        for (key, kind, patterns) in [
            ("output.test.passed", Kind::Passed, &written.test.passed),
            ("output.test.failed", Kind::Failed, &written.test.failed),
            ("output.test.skipped", Kind::Skipped, &written.test.skipped),
            ("output.test.expected", Kind::Expected, &written.test.expected),
        ] {
            for (spanned, pattern) in patterns.iter().zip(self.patterns(key, patterns, &["id"])?) {
                if pattern.groups().next().is_none() {
                    let message = format!("`{key}`: the pattern names no test; write a group `(?<id>…)`");
                    return Err(self.error(Some(spanned.span().start), message));
                }
                test.push((kind, pattern));
            }
        }
        Ok(Output::Lines(Box::new(Lines {
            open: self.patterns("output.open", &written.open, &["planned"])?,
            line: self.counting("output.line", &written.line)?,
            first: self.counting("output.first", &written.first)?,
            part: self.counting("output.part", &written.part)?,
            last: self.counting("output.last", &written.last)?,
            none: self.patterns("output.none", &written.none, &[])?,
            count: written.count,
            words: self.words(&written.words)?,
            test,
        })))
    }

    fn words(&self, written: &BTreeMap<String, Spanned<String>>) -> Result<BTreeMap<String, Kind>, RunnerError> {
        let words = written.iter().map(|(word, name)| {
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name.get_ref());
            let kind = kind.ok_or_else(|| {
                let message = format!(
                    "`output.words`: `{}` is nothing to count; write one of {}",
                    name.get_ref(),
                    kinds()
                );
                self.error(Some(name.span().start), message)
            })?;
            Ok((word.to_lowercase(), kind))
        });
        words.collect()
    }

    fn counting(&self, key: &str, written: &[Spanned<String>]) -> Result<Vec<Counting>, RunnerError> {
        let patterns = written.iter().map(|text| {
            let pattern = self.pattern(key, text)?;
            let mut groups = Vec::new();
            for group in pattern.groups().filter(|group| *group != "list") {
                let kind = Kind::of_group(group).ok_or_else(|| {
                    let message = format!(
                        "`{key}`: the group `{group}` is nothing to count; name it {}, or `list`",
                        kinds()
                    );
                    self.error(Some(text.span().start), message)
                })?;
                groups.push((group.to_owned(), kind));
            }
            Ok(Counting { pattern, groups })
        });
        patterns.collect()
    }

    fn patterns(&self, key: &str, written: &[Spanned<String>], known: &[&str]) -> Result<Vec<Pattern>, RunnerError> {
        let patterns = written.iter().map(|text| {
            let pattern = self.pattern(key, text)?;
            if let Some(group) = pattern.groups().find(|group| !known.contains(group)) {
                let instead = match known {
                    [] => "leave its name out".to_owned(),
                    known => format!("name it `{}`", known.join("` or `")),
                };
                let message = format!("`{key}`: the group `{group}` means nothing here; {instead}");
                return Err(self.error(Some(text.span().start), message));
            }
            Ok(pattern)
        });
        patterns.collect()
    }

    fn pattern(&self, key: &str, text: &Spanned<String>) -> Result<Pattern, RunnerError> {
        Pattern::new(text.get_ref()).map_err(|error| {
            let message = format!("`{key}`: not a pattern: {error}; write one of the syntax of the crate `regex-lite`");
            self.error(Some(text.span().start), message)
        })
    }
}

fn kinds() -> String {
    Kind::ALL.map(|kind| format!("`{}`", kind.name())).join(", ")
}

/// An error in the file of a runner: its location, and the allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerError {
    pub id: String,
    /// Counted from 1.
    pub line: Option<usize>,
    message: String,
}

impl fmt::Display for RunnerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "runner `{}`", self.id)?;
        if let Some(line) = self.line {
            write!(formatter, ", line {line}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl Error for RunnerError {}
