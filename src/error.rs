//! Failures as users see them: a line with the error, hints about what to type, and an exit code.

use std::{error::Error, fmt, io, path::Path};

use ralph_agent::AgentError;
use ralph_driver::{DriverError, OpenError};
use ralph_git::{GitError, NoRepository};
use ralph_plan::NoPlan;
use ralph_policy::settings::Mistakes;
use ralph_review::DifferenceError;
use ralph_state::{
    control::ControlError,
    store::{
        journal::JournalError, lock::LockError, state_file::StateFileError, tokens::TokensError, trust::TrustError,
    },
};
use ralph_system::{paths::PathsError, proc::is_below_a_run};
use ralph_text::with_causes;

use crate::{config::NO_HINT, host::HostError, ui::restorer::RestoreError};

/// The kind of a failure, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// ralph or an agent failed for good.
    Failed,
    Usage,
    /// Configuration, plan or prompt are invalid.
    Configuration,
    AgentUnavailable,
    Locked,
    /// A command that answers a question could not find the answer. The exit code of [`FailureKind::Failed`] would mean
    /// no.
    Unanswered,
}

impl FailureKind {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            FailureKind::Failed => 1,
            FailureKind::Usage | FailureKind::Unanswered => 2,
            FailureKind::Configuration => 3,
            FailureKind::AgentUnavailable => 4,
            FailureKind::Locked => 5,
        }
    }
}

/// Quotes a word of a hint for a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The hint for a machine without git.
pub(crate) const INSTALL_GIT: &str = "install git with the package manager of your system";

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub kind: FailureKind,
    /// The error, in one line.
    pub message: String,
    /// The texts of the hints: commands to type.
    pub hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Creates a failure with the texts of an error and its causes.
    pub(crate) fn of(kind: FailureKind, error: &dyn Error) -> Self {
        Self::new(kind, with_causes(error))
    }

    /// Creates the failure of a file of ralph's state, with hints for a file that cannot be used.
    fn of_state_file(error: &StateFileError, unusable: &[&str]) -> Self {
        let hints = match error {
            StateFileError::Read { .. } | StateFileError::Garbled { .. } => unusable,
            StateFileError::Write { .. } => &["name a writable directory with `--state-dir DIR`"],
        };
        Self::of(FailureKind::Failed, error).hints(hints.iter().map(ToString::to_string))
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }
}

/// Formats the `error: …` and `hint: …` lines for stderr. Line breaks in a text become blanks.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", on_one_line(&self.message))?;
        for hint in &self.hints {
            write!(f, "\nhint: {}", on_one_line(hint))?;
        }
        Ok(())
    }
}

fn on_one_line(text: &str) -> String {
    text.trim_end().replace(['\n', '\r'], " ")
}

impl From<Mistakes> for Failure {
    fn from(error: Mistakes) -> Self {
        let hints = error.hints(NO_HINT);
        let failure = Failure::of(FailureKind::Configuration, &error);
        if hints.is_empty() && error.first().is_on_command_line() {
            return failure.hint("see `ralph --help`");
        }
        if hints.is_empty() {
            return failure.hint("`ralph config` lists the files, `ralph config schema` shows their format");
        }
        failure.hints(hints)
    }
}

impl From<NoPlan> for Failure {
    fn from(error: NoPlan) -> Self {
        Failure::of(FailureKind::Configuration, &error).hints(error.hints())
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let kind = match error {
            AgentError::Catalog(_)
            | AgentError::Registry(_)
            | AgentError::NoPlaceFor { .. }
            | AgentError::ProviderMissing { .. } => FailureKind::Configuration,
            AgentError::NotInstalled { .. } | AgentError::Server { .. } => FailureKind::AgentUnavailable,
        };
        Failure::of(kind, &error).hints(error.hints())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        let move_run = |path: &Path| {
            let run = path.parent().unwrap_or(path).display();
            format!("move {run} away to begin a new run")
        };
        match &error {
            JournalError::Version { .. } => {
                failure.hint("use that version, or start over elsewhere with `--state-dir DIR`")
            }
            JournalError::Unknown { path, ralph, .. } => failure
                .hint(format!(
                    "use ralph {ralph} to resume this run; `ralph report` shows what it did"
                ))
                .hint(format!("or {}", move_run(path))),
            JournalError::Foreign { path }
            | JournalError::Broken { path, .. }
            | JournalError::TooLong { path, .. }
            | JournalError::Gap { path, .. } => failure.hint(move_run(path)),
            JournalError::Refused { .. } => failure.hint("shorten what it holds: the plan, or the settings"),
            JournalError::ChangedExternally { .. } => failure.hint("`ralph runs` shows what is left of the runs"),
            JournalError::Open { .. } | JournalError::Write { .. } | JournalError::Read { .. } => failure
                .hint("make the state directory writable, free some space, or name another with `--state-dir DIR`"),
        }
    }
}

impl From<PathsError> for Failure {
    fn from(error: PathsError) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            PathsError::NotPrivate { path, .. } => failure
                .hint(format!("if it is yours, close it: chmod go-w {}", path.display()))
                .hint("or name a directory that only you can write to with `--state-dir DIR`"),
            PathsError::NoHome | PathsError::Create { .. } => {
                failure.hint("name a writable directory with `--state-dir DIR`")
            }
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Journal(error) => error.into(),
            OpenError::Paths(error) => error.into(),
            OpenError::Rules(error) => error.into(),
            OpenError::Lock(error @ LockError::Held { .. }) => Failure::of(FailureKind::Locked, &error).hint(
                "`ralph attach` shows it on this terminal, `ralph status` what it is doing; `ralph stop` stops it",
            ),
            OpenError::Helpers { ref source, .. } if source.kind() == io::ErrorKind::TimedOut => {
                Failure::of(FailureKind::Locked, &error).hint("wait until it has ended, and try again")
            }
            OpenError::MessageWaits { id, .. } => Failure::of(FailureKind::Failed, &error).hint(format!(
                "`ralph continue` delivers it, `ralph steer --withdraw {}` drops it",
                id.0
            )),
            error @ (OpenError::Lock(LockError::Unusable { .. })
            | OpenError::Helpers { .. }
            | OpenError::Originals(_)
            | OpenError::Store(_)
            | OpenError::State { .. }) => {
                Failure::of(FailureKind::Failed, &error).hint("name a writable directory with `--state-dir DIR`")
            }
        }
    }
}

/// The rules of answers; other files of the state have hints of their own.
impl From<StateFileError> for Failure {
    fn from(error: StateFileError) -> Self {
        Failure::of_state_file(&error, &["delete it; ralph then asks again about what it allowed"])
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match error {
            // An agent in the sandbox cannot read it.
            TrustError::File(error @ StateFileError::Read { .. }) if is_below_a_run() => {
                Failure::of_state_file(&error, &["agents may not do this: say in your report what you need"])
            }
            TrustError::File(error) => Failure::of_state_file(
                &error,
                &[
                    "`ralph trust --revoke` removes it, and ralph asks again",
                    "`--trust-project` does not need it",
                ],
            ),
            TrustError::TooLarge => {
                Failure::of(FailureKind::Configuration, &error).hint("`--trust-project` trusts them for one command")
            }
            TrustError::Paths(error) => error.into(),
        }
    }
}

impl From<TokensError> for Failure {
    fn from(error: TokensError) -> Self {
        match &error {
            TokensError::Open { path, .. } => Failure::of(FailureKind::Failed, &error)
                .hint("`ralph token --revoke` creates new tokens, which nobody has read")
                .hint(format!(
                    "or, if nobody can have read them: chmod 600 {}",
                    path.display()
                )),
            TokensError::File(error) => Failure::of_state_file(error, &["`ralph token --revoke` creates new tokens"]),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            DriverError::Journal(JournalError::ChangedExternally { .. }) => {
                failure.hint("an agent, or something it ran, changed ralph's state: check what the last iteration did")
            }
            DriverError::Journal(JournalError::Refused { .. }) => {
                failure.hint("shorten what it holds: the plan, or the settings")
            }
            DriverError::Journal(_) => {
                failure.hint("free some space or make it writable, then run the same command to resume")
            }
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Driver(error) => error.into(),
            HostError::Signals(_) | HostError::Abandoned(_) => Failure::of(FailureKind::Failed, &error),
            HostError::Unreachable { .. } => Failure::of(FailureKind::Failed, &error)
                .hint("`ralph --foreground` runs the loop in the process of its screen, which needs no socket"),
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            ControlError::NotRunning => failure.hint("`ralph status` shows how the last run ended"),
            ControlError::NoAnswer { .. } | ControlError::Garbled { .. } | ControlError::Refused { .. } => failure,
        }
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            GitError::NoCheckpoint { .. } => failure.hint("`ralph restore` lists the checkpoints"),
            GitError::NothingRestored { .. } => {
                failure.hint("`ralph restore --undo --run ID` undoes the restore of another run")
            }
            GitError::Later { since, n } => failure.hint(format!("`ralph diff {since} --since {n}` shows both")),
            _ => failure,
        }
    }
}

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Working => {
                Failure::of(FailureKind::Locked, &error).hint("stop it with `ralph stop`, or wait until it is done")
            }
            RestoreError::NoRepository(error) => error.into(),
            RestoreError::Processes(error) => error.into(),
            RestoreError::Git(error) => error.into(),
        }
    }
}

impl From<DifferenceError> for Failure {
    fn from(error: DifferenceError) -> Self {
        match error {
            DifferenceError::Scratch(_) => Failure::of(FailureKind::Failed, &error),
            DifferenceError::NoRepository(error) => error.into(),
            DifferenceError::Git(error) => error.into(),
        }
    }
}

impl From<NoRepository> for Failure {
    fn from(error: NoRepository) -> Self {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            NoRepository::NoGit => failure.hint(INSTALL_GIT),
            NoRepository::WorkTreeElsewhere { .. } => {
                failure.hint("`git config --unset core.worktree` leaves the files where the repository is")
            }
            NoRepository::ReferencesElsewhere { git_dir, .. } => failure.hint(format!(
                "`rm {}`, unless it is needed",
                git_dir.join("commondir").display()
            )),
            NoRepository::ForeignGitDirectory { root, .. } => failure
                .hint("if you moved the project: `git worktree repair`")
                .hint(format!(
                    "if its own git directory is kept there: `git config core.worktree {}`",
                    root.display()
                )),
            NoRepository::Unreadable(_) => failure.hint("`git status` has to work here"),
            NoRepository::NotARepository { .. }
            | NoRepository::Bare { .. }
            | NoRepository::InsideGitDirectory { .. }
            | NoRepository::Ignored { .. }
            | NoRepository::Home { .. } => failure.hint("checkpoints need a git repository: `git init` creates one"),
        }
    }
}
