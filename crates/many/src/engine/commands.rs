//! Runs the commands of an engine, each with a deadline, and parses their answers.

use std::path::PathBuf;

use ralph_system::proc::{
    Supervisor,
    helper::{HelperError, HelperOutput},
};
use ralph_text::one_line;

use super::manifest::{AnswerFormat, CommandTemplate, EngineManifest, EnginePlaceholder, StateMeaning};

/// Most bytes of an answer.
const ANSWER_CAP_BYTES: usize = 4 << 20;
/// Most characters of an answer that are quoted in errors.
const REPEATED: usize = 200;

/// One job, as the commands of an engine refer to it.
#[derive(Debug, Clone)]
pub(super) struct JobReference {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) script: PathBuf,
    pub(super) log: PathBuf,
    pub(super) tree: PathBuf,
}

/// An engine's answer about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EngineAnswer {
    /// The engine was not asked yet, or does not answer.
    Nothing,
    /// The engine does not know the job.
    Unknown,
    Word {
        word: String,
        meaning: StateMeaning,
    },
}

/// The commands of one engine.
#[derive(Debug, Clone)]
pub(super) struct EngineCommands {
    pub(super) manifest: EngineManifest,
    pub(super) supervisor: Supervisor,
}

/// The reason why a command failed, as a clause.
pub(super) type CommandFailure = String;

impl EngineCommands {
    /// Submits a job, and returns the engine's id of it.
    ///
    /// # Errors
    /// The reason why no id is known; the engine may have accepted the job nevertheless.
    pub(super) fn submit(&self, subject: &JobReference) -> Result<String, CommandFailure> {
        let finished = self.run(&self.manifest.submit, subject)?;
        succeeded(&self.manifest.submit, &finished)?;
        self.extract(&self.manifest.submitted, subject, &finished)?
            .ok_or_else(|| unexpected(&self.manifest.submit, "no job id", &finished))
    }

    /// Looks for a job by its name. `None` if there is no such job, or if the engine has no command for it.
    ///
    /// # Errors
    /// The reason why the answer is unknown.
    pub(super) fn find(&self, subject: &JobReference) -> Result<Option<String>, CommandFailure> {
        let Some((command, answer_format)) = &self.manifest.find else {
            return Ok(None);
        };
        let finished = self.run(command, subject)?;
        succeeded(command, &finished)?;
        self.extract(answer_format, subject, &finished)
    }

    /// Asks the engine for the state of a job.
    ///
    /// # Errors
    /// The reason why the state is unknown.
    pub(super) fn state(&self, subject: &JobReference) -> Result<EngineAnswer, CommandFailure> {
        let command = &self.manifest.state;
        let finished = self.run(command, subject)?;
        if let Some(unknown) = &self.manifest.unknown
            && let Ok(regex) = unknown.filled(|slot| self.value(slot, subject))
            && [&finished.stdout, &finished.stderr]
                .into_iter()
                .any(|output| regex.is_match(&text(&output.bytes)))
        {
            return Ok(EngineAnswer::Unknown);
        }
        succeeded(command, &finished)?;
        match self.extract(&self.manifest.stated, subject, &finished)? {
            Some(word) => match self.manifest.meaning(&word) {
                Some(meaning) => Ok(EngineAnswer::Word { word, meaning }),
                None => Err(format!(
                    "reports state {}, which `state.means` does not list",
                    quoted(&word)
                )),
            },
            // Some engines answer with nothing about a job that they do not know.
            None if text(&finished.stdout.bytes).trim().is_empty() => Ok(EngineAnswer::Unknown),
            None => Err(unexpected(command, "no state", &finished)),
        }
    }

    /// Has the engine end a job.
    ///
    /// # Errors
    /// The reason why the job may continue.
    pub(super) fn cancel(&self, subject: &JobReference) -> Result<(), CommandFailure> {
        let finished = self.run(&self.manifest.cancel, subject)?;
        succeeded(&self.manifest.cancel, &finished)
    }

    fn run(&self, command: &[CommandTemplate], subject: &JobReference) -> Result<HelperOutput, CommandFailure> {
        let mut words = Vec::new();
        for text in command {
            match text.whole() {
                Some(EnginePlaceholder::Args) => words.extend(self.manifest.args.iter().cloned()),
                _ => words.push(
                    text.fill(|slot| self.value(slot, subject))
                        .ok_or("did not report the job's id")?,
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
        helper.run().map_err(|error| match error {
            HelperError::Start(error) => format!("cannot be reached: `{program}`: {error}"),
            error @ HelperError::TimedOut { .. } => format!("does not answer: `{program}`: {error}"),
            error @ HelperError::GuardLost => format!("cannot be reached: `{program}`: {error}"),
        })
    }

    fn value(&self, slot: EnginePlaceholder, subject: &JobReference) -> Option<String> {
        let path = |path: &PathBuf| path.to_str().map(str::to_owned);
        match slot {
            EnginePlaceholder::Args => None,
            EnginePlaceholder::Cores => Some(self.manifest.cores.to_string()),
            EnginePlaceholder::Job => subject.id.clone(),
            EnginePlaceholder::Log => path(&subject.log),
            EnginePlaceholder::MemoryMib => Some(self.manifest.memory_mib.to_string()),
            EnginePlaceholder::Minutes => Some(self.manifest.minutes.to_string()),
            EnginePlaceholder::Name => Some(subject.name.clone()),
            EnginePlaceholder::Seconds => Some((u64::from(self.manifest.minutes) * 60).to_string()),
            EnginePlaceholder::Script => path(&subject.script),
            EnginePlaceholder::Tree => path(&subject.tree),
        }
    }

    fn extract(
        &self,
        answer_format: &AnswerFormat,
        subject: &JobReference,
        finished: &HelperOutput,
    ) -> Result<Option<String>, CommandFailure> {
        let output = text(&finished.stdout.bytes);
        let output = output.trim_end();
        let regex = answer_format.pattern.filled(|slot| self.value(slot, subject));
        let regex = regex.map_err(|error| error.to_string())?;
        let found = regex
            .captures(output)
            .and_then(|found| found.name(answer_format.group))
            .map(|found| found.as_str().to_owned());
        Ok(found.filter(|found| !found.is_empty()))
    }
}

fn program(command: &[CommandTemplate]) -> String {
    command.first().and_then(|text| text.fill(|_| None)).unwrap_or_default()
}

fn succeeded(command: &[CommandTemplate], finished: &HelperOutput) -> Result<(), CommandFailure> {
    if finished.status.success() {
        return Ok(());
    }
    let output = [&finished.stderr, &finished.stdout].map(|output| text(&output.bytes));
    let output = output
        .iter()
        .find_map(|output| output.lines().map(str::trim).rfind(|line| !line.is_empty()));
    let program = program(command);
    Err(match (output, finished.status.code()) {
        (Some(output), _) => format!("refused the command: {}", clipped(output)),
        (None, Some(code)) => format!("refused the command: `{program}` exited with {code} and printed nothing"),
        (None, None) => format!("does not answer: `{program}` was killed"),
    })
}

fn unexpected(command: &[CommandTemplate], lacking: &str, finished: &HelperOutput) -> CommandFailure {
    let output = quoted(&text(&finished.stdout.bytes));
    format!("reported {lacking}: `{}` printed {output}", program(command))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn quoted(output: &str) -> String {
    format!("“{}”", clipped(output))
}

fn clipped(output: &str) -> String {
    let output = one_line(output.trim()).replace('`', "'");
    match output.char_indices().nth(REPEATED) {
        Some((at, _)) => format!("{}…", &output[..at]),
        None => output,
    }
}
