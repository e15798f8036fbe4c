//! Runs the commands of an engine, each with a deadline, and parses their answers.

use std::path::PathBuf;

use ralph_system::proc::{
    Supervisor,
    helper::{Finished, HelperError},
};
use ralph_text::one_line;
use serde_json::Value;

use super::manifest::{Manifest, Meaning, Placeholder, Reading, Text};

/// Most bytes of an answer.
const ANSWER_CAP_BYTES: usize = 4 << 20;
/// Most characters of an answer that are quoted in errors.
const REPEATED: usize = 200;

/// One job, as the commands of an engine refer to it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) script: PathBuf,
    pub(super) log: PathBuf,
    pub(super) tree: PathBuf,
}

/// An engine's answer about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// The engine was not asked yet, or does not answer.
    Nothing,
    /// The engine does not know the job.
    Unknown,
    Word {
        word: String,
        meaning: Meaning,
    },
}

/// The commands of one engine.
#[derive(Debug, Clone)]
pub(super) struct Commands {
    pub(super) manifest: Manifest,
    pub(super) supervisor: Supervisor,
}

/// The reason why a command failed, as a clause.
pub(super) type Failed = String;

impl Commands {
    /// Submits a job, and returns the engine's id of it.
    ///
    /// # Errors
    /// The reason why no id is known; the engine may have accepted the job nevertheless.
    pub(super) fn submit(&self, subject: &Subject) -> Result<String, Failed> {
        let input = self.manifest.stdin.as_ref();
        let input = input.and_then(|text| text.fill(|slot| self.value(slot, subject)));
        let finished = self.run(&self.manifest.submit, subject, input)?;
        succeeded(&self.manifest.submit, &finished)?;
        self.read(&self.manifest.submitted, subject, &finished)?
            .ok_or_else(|| odd(&self.manifest.submit, "no id of a job", &finished))
    }

    /// Looks for a job by its name. `None` if there is no such job, or if the engine has no command for it.
    ///
    /// # Errors
    /// The reason why the answer is unknown.
    pub(super) fn find(&self, subject: &Subject) -> Result<Option<String>, Failed> {
        let Some((command, reading)) = &self.manifest.find else {
            return Ok(None);
        };
        let finished = self.run(command, subject, None)?;
        succeeded(command, &finished)?;
        self.read(reading, subject, &finished)
    }

    /// Asks the engine for the state of a job.
    ///
    /// # Errors
    /// The reason why the state is unknown.
    pub(super) fn state(&self, subject: &Subject) -> Result<Told, Failed> {
        let command = &self.manifest.state;
        let finished = self.run(command, subject, None)?;
        if let Some(unknown) = &self.manifest.unknown
            && let Ok(regex) = unknown.filled(|slot| self.value(slot, subject))
            && [&finished.stdout, &finished.stderr]
                .into_iter()
                .any(|said| regex.is_match(&text(&said.bytes)))
        {
            return Ok(Told::Unknown);
        }
        succeeded(command, &finished)?;
        match self.read(&self.manifest.stated, subject, &finished)? {
            Some(word) => match self.manifest.meaning(&word) {
                Some(meaning) => Ok(Told::Word { word, meaning }),
                None => Err(format!("says {}, which is in no list of `state.means`", quoted(&word))),
            },
            // Some engines answer with nothing about a job that they do not know.
            None if text(&finished.stdout.bytes).trim().is_empty() => Ok(Told::Unknown),
            None => Err(odd(command, "no state", &finished)),
        }
    }

    /// Has the engine end a job.
    ///
    /// # Errors
    /// The reason why the job may continue.
    pub(super) fn cancel(&self, subject: &Subject) -> Result<(), Failed> {
        let finished = self.run(&self.manifest.cancel, subject, None)?;
        succeeded(&self.manifest.cancel, &finished)
    }

    /// Returns the job's output as kept by the engine, if it has a command for it.
    pub(super) fn log(&self, subject: &Subject) -> Option<String> {
        let finished = self.run(self.manifest.log.as_ref()?, subject, None).ok()?;
        Some(text(&finished.stdout.bytes)).filter(|said| !said.trim().is_empty())
    }

    fn run(&self, command: &[Text], subject: &Subject, input: Option<String>) -> Result<Finished, Failed> {
        let mut words = Vec::new();
        for text in command {
            match text.whole() {
                Some(Placeholder::Args) => words.extend(self.manifest.args.iter().cloned()),
                _ => words.push(
                    text.fill(|slot| self.value(slot, subject))
                        .ok_or("was never heard to say the id of the job")?,
                ),
            }
        }
        let (program, args) = words.split_first().ok_or("has an empty command")?;
        let helper = self.supervisor.helper(program).args(args);
        // Unguarded, because it may start the daemon that runs the job.
        let helper = helper
            .unguarded()
            .deadline(self.manifest.timeout)
            .output_cap(ANSWER_CAP_BYTES)
            .current_dir(&subject.tree);
        let helper = match input {
            Some(input) => helper.input(input.into_bytes()),
            None => helper,
        };
        helper.run().map_err(|error| match error {
            HelperError::Start(error) => format!("cannot be asked: `{program}`: {error}"),
            error @ HelperError::TimedOut { .. } => format!("does not answer: `{program}`: {error}"),
            error @ HelperError::GuardLost => format!("cannot be asked: `{program}`: {error}"),
        })
    }

    fn value(&self, slot: Placeholder, subject: &Subject) -> Option<String> {
        let path = |path: &PathBuf| path.to_str().map(str::to_owned);
        match slot {
            Placeholder::Args => None,
            Placeholder::Cores => Some(self.manifest.cores.to_string()),
            Placeholder::Job => subject.id.clone(),
            Placeholder::Log => path(&subject.log),
            Placeholder::MemoryMib => Some(self.manifest.memory_mib.to_string()),
            Placeholder::Minutes => Some(self.manifest.minutes.to_string()),
            Placeholder::Name => Some(subject.name.clone()),
            Placeholder::Seconds => Some((u64::from(self.manifest.minutes) * 60).to_string()),
            Placeholder::Script => path(&subject.script),
            Placeholder::Tree => path(&subject.tree),
        }
    }

    fn read(&self, reading: &Reading, subject: &Subject, finished: &Finished) -> Result<Option<String>, Failed> {
        let said = text(&finished.stdout.bytes);
        let said = said.trim_end();
        let found = match reading {
            Reading::Group { pattern, group } => {
                let regex = pattern.filled(|slot| self.value(slot, subject));
                let regex = regex.map_err(|error| error.to_string())?;
                regex
                    .captures(said)
                    .and_then(|found| found.name(group))
                    .map(|found| found.as_str().to_owned())
            }
            Reading::Pointer(pointer) => {
                let value: Value = serde_json::from_str(said)
                    .map_err(|error| format!("answers in no JSON: {error}: {}", quoted(said)))?;
                match value.pointer(pointer) {
                    Some(Value::String(text)) => Some(text.clone()),
                    Some(Value::Number(number)) => Some(number.to_string()),
                    Some(_) | None => None,
                }
            }
        };
        Ok(found.filter(|found| !found.is_empty()))
    }
}

fn program(command: &[Text]) -> String {
    command.first().and_then(|text| text.fill(|_| None)).unwrap_or_default()
}

fn succeeded(command: &[Text], finished: &Finished) -> Result<(), Failed> {
    if finished.status.success() {
        return Ok(());
    }
    let said = [&finished.stderr, &finished.stdout].map(|said| text(&said.bytes));
    let said = said
        .iter()
        .find_map(|said| said.lines().map(str::trim).rfind(|line| !line.is_empty()));
    let program = program(command);
    Err(match (said, finished.status.code()) {
        (Some(said), _) => format!("refuses: {}", clipped(said)),
        (None, Some(code)) => format!("refuses: `{program}` ended with exit code {code} and said nothing"),
        (None, None) => format!("does not answer: `{program}` was killed"),
    })
}

fn odd(command: &[Text], lacking: &str, finished: &Finished) -> Failed {
    let said = quoted(&text(&finished.stdout.bytes));
    format!("answers with {lacking}: `{}` printed {said}", program(command))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn quoted(said: &str) -> String {
    format!("“{}”", clipped(said))
}

fn clipped(said: &str) -> String {
    let said = one_line(said.trim()).replace('`', "'");
    match said.char_indices().nth(REPEATED) {
        Some((at, _)) => format!("{}…", &said[..at]),
        None => said,
    }
}
