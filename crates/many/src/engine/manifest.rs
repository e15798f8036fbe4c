//! The manifest of an engine: complete and checked, with placeholders only where they have a value. Programs
//! are not looked for here.

use std::time::Duration;

use ralph_policy::settings::{LayerError, Merged, PlaceholderSet, SettingOrigin, TextTemplate, parse_template};
use regex_lite::Regex;
use thiserror::Error;

use super::written::WrittenEngine;

/// A placeholder in an engine's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnginePlaceholder {
    Args,
    Cores,
    /// The engine's id of the job.
    Job,
    Log,
    MemoryMib,
    Minutes,
    /// ralph's name of the job.
    Name,
    Script,
    /// The minutes in seconds, for engines that count in seconds.
    Seconds,
    /// The work tree.
    Tree,
}

impl PlaceholderSet for EnginePlaceholder {
    fn name(self) -> &'static str {
        match self {
            EnginePlaceholder::Args => "args",
            EnginePlaceholder::Cores => "cores",
            EnginePlaceholder::Job => "job",
            EnginePlaceholder::Log => "log",
            EnginePlaceholder::MemoryMib => "memory_mib",
            EnginePlaceholder::Minutes => "minutes",
            EnginePlaceholder::Name => "name",
            EnginePlaceholder::Script => "script",
            EnginePlaceholder::Seconds => "seconds",
            EnginePlaceholder::Tree => "tree",
        }
    }
}

pub(super) type CommandTemplate = TextTemplate<EnginePlaceholder>;

/// An error in the file of an engine, with its location.
#[derive(Debug, Clone, Error)]
pub enum EngineManifestError {
    #[error(transparent)]
    Layer(#[from] LayerError),
    #[error("{at}: `{key}` is missing")]
    Missing { at: SettingOrigin, key: &'static str },
    #[error("{at}: `{{args}}` in `{key}` must be an element of its own: it stands for all of `submit.args`")]
    ListNotAlone { at: SettingOrigin, key: &'static str },
    #[error("{at}: `{key}` is not a regular expression: {why}")]
    NotARegex {
        at: SettingOrigin,
        key: &'static str,
        why: String,
    },
    #[error("{at}: `{key}` needs a group named `{group}`, as in `(?<{group}>...)`")]
    NoGroup {
        at: SettingOrigin,
        key: &'static str,
        group: &'static str,
    },
    #[error("{at}: `state.means` has the word \"{word}\" twice")]
    WordTwice { at: SettingOrigin, word: String },
}

impl EngineManifestError {
    /// Returns hints for the user, one sentence each.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            EngineManifestError::Layer(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// A complete engine.
#[derive(Debug, Clone)]
pub struct EngineManifest {
    pub(crate) id: String,
    pub title: String,
    pub verified: Option<String>,
    pub(crate) install: Option<String>,
    pub(super) timeout: Duration,
    /// How long the engine and a run may contradict each other.
    pub(super) patience: Duration,
    pub(super) cores: u32,
    pub(super) memory_mib: u32,
    pub(super) minutes: u32,
    pub(super) setup: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) submit: Vec<CommandTemplate>,
    pub(super) args: Vec<String>,
    pub(super) submitted: AnswerFormat,
    pub(super) find: Option<(Vec<CommandTemplate>, AnswerFormat)>,
    pub(super) state: Vec<CommandTemplate>,
    pub(super) every: Duration,
    pub(super) stated: AnswerFormat,
    pub(super) unknown: Option<AnswerPattern>,
    pub(super) words: Vec<(String, StateMeaning)>,
    pub(super) cancel: Vec<CommandTemplate>,
}

/// The meaning of a state that the engine reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateMeaning {
    Queued,
    Running,
    Ended,
    CutOff,
    Cancelled,
}

/// The location of a value in the output of a command: a group of a regular expression.
#[derive(Debug, Clone)]
pub(super) struct AnswerFormat {
    pub(super) pattern: AnswerPattern,
    pub(super) group: &'static str,
}

/// A regular expression with placeholders for the job and its name.
#[derive(Debug, Clone)]
pub(super) struct AnswerPattern(CommandTemplate);

impl AnswerPattern {
    fn new(
        merged: &Merged,
        key: &'static str,
        text: &str,
        allowed: &[EnginePlaceholder],
    ) -> Result<AnswerPattern, EngineManifestError> {
        let pattern = AnswerPattern(parse_template(merged, key, text, allowed)?);
        match pattern.filled(|_| Some("x".to_owned())) {
            Ok(_) => Ok(pattern),
            Err(error) => Err(EngineManifestError::NotARegex {
                at: merged.origin(key),
                key,
                why: error.to_string(),
            }),
        }
    }

    /// Returns the expression for one job; the values are escaped.
    pub(super) fn filled(
        &self,
        value: impl Fn(EnginePlaceholder) -> Option<String>,
    ) -> Result<Regex, regex_lite::Error> {
        let text = self.0.fill(|slot| Some(regex_lite::escape(&value(slot)?)));
        // Without a value the expression matches nothing.
        Regex::new(text.as_deref().unwrap_or("[^\\s\\S]"))
    }
}

impl EngineManifest {
    /// Returns the program that submits jobs.
    pub fn program(&self) -> Option<String> {
        self.submit.first()?.fill(|_| None)
    }

    /// Makes the manifest of engine `id` from its merged layers.
    ///
    /// # Errors
    /// The first error in it.
    pub(crate) fn from_merged(
        id: &str,
        merged: &Merged,
        written: WrittenEngine,
    ) -> Result<EngineManifest, EngineManifestError> {
        use EnginePlaceholder::{Args, Cores, Job, Log, MemoryMib, Minutes, Name, Script, Seconds, Tree};
        let reader = EngineManifestReader { merged };
        let named = [Name, Cores, MemoryMib, Minutes, Seconds, Log, Script, Tree];
        let submitting = [&named[..], &[Args]].concat();
        let known = [Name, Job, Log, Script, Tree];
        let milliseconds = |value: u32| Duration::from_millis(u64::from(value));
        let find = match &written.find.command {
            None => None,
            Some(command) => Some((
                reader.command("find.command", command, &named)?,
                reader.reading("find.job", written.find.job.as_deref(), "job", &[Name])?,
            )),
        };
        let means = written.state.means;
        let words = [
            (means.queued, StateMeaning::Queued),
            (means.running, StateMeaning::Running),
            (means.ended, StateMeaning::Ended),
            (means.cut_off, StateMeaning::CutOff),
            (means.cancelled, StateMeaning::Cancelled),
        ];
        let words: Vec<(String, StateMeaning)> = words
            .into_iter()
            .flat_map(|(words, meaning)| words.into_iter().map(move |word| (word, meaning)))
            .collect();
        let repeats =
            |(at, (word, _)): &(usize, &(String, StateMeaning))| words[..*at].iter().any(|(known, _)| known == word);
        if let Some((_, (word, _))) = words.iter().enumerate().find(repeats) {
            return Err(EngineManifestError::WordTwice {
                at: merged.origin("state"),
                word: word.clone(),
            });
        }
        let required = |key: &'static str, command: &Option<Vec<String>>, allowed: &[EnginePlaceholder]| match command {
            Some(command) => reader.command(key, command, allowed),
            None => Err(reader.missing(key)),
        };
        Ok(EngineManifest {
            submit: required("submit.command", &written.submit.command, &submitting)?,
            submitted: reader.reading("submit.job", written.submit.job.as_deref(), "job", &[Name])?,
            find,
            state: required("state.command", &written.state.command, &known)?,
            stated: reader.reading("state.state", written.state.state.as_deref(), "state", &[Name, Job])?,
            unknown: match &written.state.unknown {
                Some(text) => Some(AnswerPattern::new(merged, "state.unknown", text, &[Name, Job])?),
                None => None,
            },
            cancel: required("cancel.command", &written.cancel.command, &known)?,
            words,
            timeout: milliseconds(written.timeout_ms),
            patience: milliseconds(written.patience_ms),
            every: milliseconds(written.state.every_ms),
            cores: written.job.cores,
            memory_mib: written.job.memory_mib,
            minutes: written.job.minutes,
            setup: written.job.setup,
            env: written.job.env.into_iter().collect(),
            args: written.submit.args,
            title: written.title.unwrap_or_else(|| id.to_owned()),
            verified: written.verified,
            install: written.install.hint,
            id: id.to_owned(),
        })
    }

    pub(super) fn meaning(&self, word: &str) -> Option<StateMeaning> {
        let found = self.words.iter().find(|(known, _)| known == word);
        found.map(|(_, meaning)| *meaning)
    }
}

struct EngineManifestReader<'a> {
    merged: &'a Merged,
}

impl EngineManifestReader<'_> {
    fn missing(&self, key: &'static str) -> EngineManifestError {
        let section = key.split('.').next().unwrap_or(key);
        EngineManifestError::Missing {
            at: self.merged.origin(section),
            key,
        }
    }

    fn command(
        &self,
        key: &'static str,
        words: &[String],
        allowed: &[EnginePlaceholder],
    ) -> Result<Vec<CommandTemplate>, EngineManifestError> {
        if words.first().is_none_or(String::is_empty) {
            return Err(LayerError::empty(self.merged, key).into());
        }
        let templates = words.iter().map(|word| parse_template(self.merged, key, word, allowed));
        let templates = templates.collect::<Result<Vec<_>, _>>()?;
        let mut holding = templates
            .iter()
            .filter(|text| text.placeholders().any(|slot| slot == EnginePlaceholder::Args));
        if holding.any(|text| text.whole().is_none()) {
            return Err(EngineManifestError::ListNotAlone {
                at: self.merged.origin(key),
                key,
            });
        }
        Ok(templates)
    }

    fn reading(
        &self,
        key: &'static str,
        pattern: Option<&str>,
        group: &'static str,
        allowed: &[EnginePlaceholder],
    ) -> Result<AnswerFormat, EngineManifestError> {
        let text = pattern.ok_or_else(|| self.missing(key))?;
        let pattern = AnswerPattern::new(self.merged, key, text, allowed)?;
        let filled = pattern.filled(|_| Some("x".to_owned()));
        let has_group = filled.is_ok_and(|regex| regex.capture_names().flatten().any(|name| name == group));
        match has_group {
            true => Ok(AnswerFormat { pattern, group }),
            false => Err(EngineManifestError::NoGroup {
                at: self.merged.origin(key),
                key,
                group,
            }),
        }
    }
}
