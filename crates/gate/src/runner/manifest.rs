//! A runner as described in its file.

use std::collections::BTreeMap;

use ralph_text::path_glob::PathGlob;
use serde::Deserialize;
use toml::Spanned;

use super::{
    pattern::{Bytes, LinePattern},
    tally::CountKind,
};
use crate::data_file::{DataFile, DataFileError};

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
    /// How to find tests in source files; `None` if it has none there.
    pub blocks: Option<InlineTests>,
    pub(super) command: Vec<LinePattern>,
    /// The arguments with which it runs only some tests: `{files}` stands for their files, `{names}` for their names and
    /// `{any_name}` for an expression that matches these. `None` if it cannot be told.
    pub(super) narrow: Option<String>,
    /// `None` for a runner that only starts others, such as `make`.
    pub(super) output: Option<ResultFormat>,
    /// Its output is only considered if no other runner's is recognised.
    pub(super) fallback: bool,
    /// Command lines with which it prints nothing about passed tests, so that its output cannot be counted.
    pub(super) silent: Vec<LinePattern>,
    /// How projects with certain files start it; the first that fits is used.
    pub start: Vec<StartCommand>,
}

/// The command that runs the tests of projects with certain files.
#[derive(Debug, Clone)]
pub struct StartCommand {
    /// Files or directories of which the project has to have each.
    pub files: Vec<PathGlob>,
    pub command: String,
    /// The command that installs the packages of the project.
    pub install: Option<String>,
    says: Vec<LinePattern>,
    missing: Vec<LinePattern>,
}

impl StartCommand {
    /// Whether the text of the first file says that there are tests.
    pub fn is_said_by(&self, text: &str) -> bool {
        self.says
            .iter()
            .all(|pattern| text.lines().any(|line| pattern.is_match(line)))
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

/// The format of a runner's output.
#[derive(Debug, Clone)]
pub(super) enum ResultFormat {
    Lines(Box<OutputPatterns>),
    Tap,
}

/// Patterns of output lines.
#[derive(Debug, Clone)]
pub(super) struct OutputPatterns {
    pub(super) open: Vec<LinePattern>,
    pub(super) line: Vec<CountingPattern>,
    pub(super) first: Vec<CountingPattern>,
    pub(super) part: Vec<CountingPattern>,
    pub(super) last: Vec<CountingPattern>,
    pub(super) none: Vec<LinePattern>,
    pub(super) count: CountSource,
    words: BTreeMap<String, CountKind>,
    pub(super) test: Vec<(CountKind, LinePattern)>,
    /// Every line that matters has all bytes of one of these.
    pub(super) needs: Vec<Bytes>,
}

/// A pattern, with its groups that count tests.
#[derive(Debug, Clone)]
pub(super) struct CountingPattern {
    pub(super) pattern: LinePattern,
    pub(super) groups: Vec<(String, CountKind)>,
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
        let plain = self.open.iter().chain(&self.none);
        let patterns = counting
            .chain(plain)
            .chain(self.test.iter().map(|(_, pattern)| pattern));
        let mut needed: Vec<Bytes> = patterns.flat_map(|pattern| pattern.needs.clone()).collect();
        needed.dedup();
        let fewer = |all: &[Bytes], of: &Bytes| all.iter().any(|other| other != of && of.have(*other));
        let all = needed.clone();
        needed.retain(|set| !fewer(&all, set));
        needed
    }

    pub(super) fn kind_of_word(&self, word: &str) -> Option<CountKind> {
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
    /// [`DataFileError`] names the line, the key and the allowed values of the first error.
    pub fn parse(id: &str, text: &str) -> Result<Runner, DataFileError> {
        let parser = RunnerParser(DataFile {
            name: format!("runner `{id}`"),
            text,
        });
        let written: WrittenRunner = parser.0.parse()?;
        Ok(Runner {
            id: id.to_owned(),
            title: written.title,
            tests: written.tests,
            config: written.config,
            shadows: written.shadows,
            blocks: written.blocks,
            command: parser.patterns("command", &written.command, &[])?,
            narrow: written.narrow,
            output: written.output.map(|output| parser.output(output)).transpose()?,
            fallback: written.fallback,
            silent: parser.patterns("silent", &written.silent, &[])?,
            start: parser.start(written.start)?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRunner {
    title: String,
    #[serde(default)]
    command: Vec<Spanned<String>>,
    narrow: Option<String>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    config: Vec<String>,
    #[serde(default)]
    shadows: Vec<String>,
    blocks: Option<InlineTests>,
    #[serde(default)]
    fallback: bool,
    #[serde(default)]
    silent: Vec<Spanned<String>>,
    #[serde(default)]
    start: Vec<WrittenStart>,
    output: Option<WrittenOutput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStart {
    files: Vec<Spanned<String>>,
    says: Option<Spanned<String>>,
    command: String,
    install: Option<String>,
    #[serde(default)]
    missing: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOutput {
    form: Option<OutputForm>,
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
    count: CountSource,
    #[serde(default)]
    words: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    test: WrittenTest,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OutputForm {
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

/// The file being parsed.
struct RunnerParser<'t>(DataFile<'t>);

impl RunnerParser<'_> {
    fn start(&self, written: Vec<WrittenStart>) -> Result<Vec<StartCommand>, DataFileError> {
        let commands = written.into_iter().map(|start| {
            let says = self.patterns("start.says", start.says.as_slice(), &[])?;
            let files = start.files.iter().map(|glob| {
                let wrong = |why| self.0.error_at(glob, format!("`start.files`: {why}"));
                PathGlob::new(glob.get_ref()).map_err(wrong)
            });
            Ok(StartCommand {
                files: files.collect::<Result<_, _>>()?,
                command: start.command,
                install: start.install,
                says,
                missing: self.patterns("start.missing", &start.missing, &[])?,
            })
        });
        commands.collect()
    }

    fn output(&self, written: WrittenOutput) -> Result<ResultFormat, DataFileError> {
        if let Some(OutputForm::Tap) = written.form {
            return Ok(ResultFormat::Tap);
        }
        let mut test = Vec::new();
        for (key, kind, patterns) in [
            ("output.test.passed", CountKind::Passed, &written.test.passed),
            ("output.test.failed", CountKind::Failed, &written.test.failed),
            ("output.test.skipped", CountKind::Skipped, &written.test.skipped),
            ("output.test.expected", CountKind::Expected, &written.test.expected),
        ] {
            for (spanned, pattern) in patterns.iter().zip(self.patterns(key, patterns, &["id"])?) {
                if pattern.groups().next().is_none() {
                    let message = format!("`{key}`: the pattern names no test; write a group `(?<id>…)`");
                    return Err(self.0.error_at(spanned, message));
                }
                test.push((kind, pattern));
            }
        }
        let mut lines = OutputPatterns {
            open: self.patterns("output.open", &written.open, &["planned"])?,
            line: self.counting("output.line", &written.line)?,
            first: self.counting("output.first", &written.first)?,
            part: self.counting("output.part", &written.part)?,
            last: self.counting("output.last", &written.last)?,
            none: self.patterns("output.none", &written.none, &[])?,
            count: written.count,
            words: self.words(&written.words)?,
            test,
            needs: Vec::new(),
        };
        lines.needs = lines.needed();
        Ok(ResultFormat::Lines(Box::new(lines)))
    }

    fn words(&self, written: &BTreeMap<String, Spanned<String>>) -> Result<BTreeMap<String, CountKind>, DataFileError> {
        let words = written.iter().map(|(word, name)| {
            let kind = CountKind::ALL.into_iter().find(|kind| kind.name() == name.get_ref());
            let kind = kind.ok_or_else(|| {
                let message = format!(
                    "`output.words`: unknown kind `{}`; use one of {}",
                    name.get_ref(),
                    kinds()
                );
                self.0.error_at(name, message)
            })?;
            Ok((word.to_lowercase(), kind))
        });
        words.collect()
    }

    fn counting(&self, key: &str, written: &[Spanned<String>]) -> Result<Vec<CountingPattern>, DataFileError> {
        let patterns = written.iter().map(|text| {
            let pattern = self.pattern(key, text)?;
            let mut groups = Vec::new();
            for group in pattern.groups().filter(|group| *group != "list") {
                let kind = CountKind::from_group(group).ok_or_else(|| {
                    let message = format!(
                        "`{key}`: unknown kind `{group}` of a group; use one of {}, or `list`",
                        kinds()
                    );
                    self.0.error_at(text, message)
                })?;
                groups.push((group.to_owned(), kind));
            }
            Ok(CountingPattern { pattern, groups })
        });
        patterns.collect()
    }

    fn patterns(
        &self,
        key: &str,
        written: &[Spanned<String>],
        known: &[&str],
    ) -> Result<Vec<LinePattern>, DataFileError> {
        let patterns = written.iter().map(|text| {
            let pattern = self.pattern(key, text)?;
            if let Some(group) = pattern.groups().find(|group| !known.contains(group)) {
                let instead = match known {
                    [] => "leave its name out".to_owned(),
                    known => format!("name it `{}`", known.join("` or `")),
                };
                let message = format!("`{key}`: the group `{group}` has no meaning here; {instead}");
                return Err(self.0.error_at(text, message));
            }
            Ok(pattern)
        });
        patterns.collect()
    }

    fn pattern(&self, key: &str, text: &Spanned<String>) -> Result<LinePattern, DataFileError> {
        LinePattern::new(text.get_ref()).map_err(|error| {
            let message = format!("`{key}`: not a pattern: {error}; write one of the syntax of the crate `regex-lite`");
            self.0.error_at(text, message)
        })
    }
}

fn kinds() -> String {
    CountKind::ALL.map(|kind| format!("`{}`", kind.name())).join(", ")
}
