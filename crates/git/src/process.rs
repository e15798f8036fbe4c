//! One git process: shielded from dangerous configuration, bounded in time and memory.

use std::{
    env,
    ffi::OsStr,
    io, iter,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use ralph_system::proc::{
    Confinement, GIT_AS_IT_IS, Supervisor,
    helper::{Helper, HelperError},
};
use tracing::debug_span;

use super::{GitError, blocking_file};

/// Default deadline of a git process. Long, because the first checkpoint of a large tree reads all of it.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);

/// Deadline for finding a repository: it reads only a few small files, and the user sees nothing until it is done.
pub(super) const DISCOVERY_DEADLINE: Duration = Duration::from_secs(10);

/// Most memory of a git process. A status of millions of files takes less than one GiB, and git reads no file above 512
/// MiB whole; a process that needs more reads something without end, such as a device in the place of a reference.
const MEMORY_BYTES: u64 = 4 << 30;

/// Overrides of configuration that must not apply to ralph's commands: no daemons, no background maintenance, no hooks,
/// no reflog of ralph's references, no split index beside the user's, no cache of commits that may tell of other trees.
const SETTINGS: [&str; 10] = [
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.logAllRefUpdates=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
];

/// Inherited git variables that may stay: places of its configuration and programs, and how far it looks for a
/// repository.
const KEPT: [&str; 8] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_TEMPLATE_DIR",
];

/// A git command under construction.
pub(super) struct Git {
    helper: Helper,
    directory: PathBuf,
    /// The command as a user would type it, without ralph's settings.
    shown: String,
    /// Most bytes of output that are kept; `None` if all of it is needed.
    output_cap_bytes: Option<usize>,
}

/// The result of a git process.
pub(super) struct GitOutput {
    pub(super) stdout: Vec<u8>,
    /// The output was longer than the cap.
    pub(super) cut: bool,
    pub(super) stderr: String,
    status: ExitStatus,
    command: String,
}

impl Git {
    /// Makes a command that looks for the repository from `directory` upwards.
    pub(super) fn at(supervisor: &Supervisor, directory: &Path) -> Git {
        let foreign = env::vars_os().map(|(name, _)| name).filter(|name| is_foreign(name));
        let helper = foreign.fold(supervisor.git_helper(directory), Helper::env_remove);
        let helper = helper
            .current_dir(directory)
            .deadline(DEADLINE)
            .memory(MEMORY_BYTES)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1");
        let git = Git {
            helper,
            directory: directory.to_owned(),
            shown: "git".to_owned(),
            output_cap_bytes: None,
        };
        SETTINGS.into_iter().fold(git, Git::setting)
    }

    /// Runs it in another directory.
    pub(super) fn current_dir(mut self, directory: &Path) -> Git {
        self.helper = self.helper.current_dir(directory);
        self.directory = directory.to_owned();
        self
    }

    /// Overrides the user's configuration; call it before [`Git::args`].
    pub(super) fn setting(mut self, setting: &str) -> Git {
        self.helper = self.helper.args(["-c", setting]);
        self
    }

    pub(super) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Git {
        for arg in args {
            self.shown.push(' ');
            self.shown.push_str(&arg.as_ref().to_string_lossy());
            self.helper = self.helper.args([arg]);
        }
        self
    }

    pub(super) fn confined(mut self, confinement: Arc<Confinement>) -> Git {
        self.helper = self.helper.confined(confinement);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Git {
        self.helper = self.helper.env(name, value.as_ref());
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Git {
        self.helper = self.helper.input(bytes);
        self
    }

    /// Makes the command remove paths from its index.
    pub(super) fn removing(self, paths: &[PathBuf]) -> Git {
        let remove = ["update-index", "--force-remove", "-z", "--stdin"];
        self.args(remove).input(listed(paths))
    }

    pub(super) fn deadline(mut self, deadline: Duration) -> Git {
        self.helper = self.helper.deadline(deadline);
        self
    }

    /// Keeps only the beginning of the output; [`GitOutput::cut`] tells whether there was more. Without a cap, more than
    /// 64 MiB are an error.
    pub(super) fn output_cap(mut self, bytes: usize) -> Git {
        self.helper = self.helper.output_cap(bytes);
        self.output_cap_bytes = Some(bytes);
        self
    }

    /// Runs git to its end.
    ///
    /// # Errors
    /// [`GitError::Refused`] unless it exits with 0.
    pub(super) fn run(self) -> Result<GitOutput, GitError> {
        let output = self.run_any()?;
        if output.success() {
            Ok(output)
        } else {
            Err(output.refusal())
        }
    }

    /// Runs git to its end, with any exit status.
    pub(super) fn run_any(self) -> Result<GitOutput, GitError> {
        let command = self.shown;
        // Only the subcommand: later words may name files.
        let span = debug_span!("git", command = command.split(' ').nth(1));
        let finished = match span.in_scope(|| self.helper.run()) {
            Ok(finished) => finished,
            Err(HelperError::Start(source)) => return Err(GitError::Start { command, source }),
            Err(HelperError::TimedOut { deadline }) => {
                let seconds = deadline.as_secs();
                // A search for the cause costs as much as git's own walk, so nothing is searched before.
                return Err(match blocking_file::find(&self.directory) {
                    Some(path) => GitError::Blocked { command, seconds, path },
                    None => GitError::TimedOut { command, seconds },
                });
            }
            Err(error @ HelperError::GuardLost) => {
                let source = io::Error::other(error);
                return Err(GitError::Start { command, source });
            }
        };
        if finished.stdout.cut && self.output_cap_bytes.is_none() {
            return Err(GitError::TooMuch { command });
        }
        Ok(GitOutput {
            stdout: finished.stdout.bytes,
            cut: finished.stdout.cut,
            stderr: String::from_utf8_lossy(&finished.stderr.bytes).into_owned(),
            status: finished.status,
            command,
        })
    }
}

impl GitOutput {
    pub(super) fn success(&self) -> bool {
        self.status.success()
    }

    /// Returns the only line of the output.
    pub(super) fn line(&self) -> Result<String, GitError> {
        match str::from_utf8(&self.stdout).map(str::trim_end) {
            Ok(line) if !line.is_empty() && !line.contains('\n') => Ok(line.to_owned()),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns the output as one path.
    pub(super) fn path(&self) -> Result<PathBuf, GitError> {
        match self.stdout.strip_suffix(b"\n") {
            Some(printed) if self.success() && !printed.is_empty() => Ok(path(printed)),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns the error for a failed command.
    pub(super) fn refusal(&self) -> GitError {
        let said = reason(&self.stderr).unwrap_or_else(|| self.status.to_string());
        GitError::Refused {
            command: self.command.clone(),
            said,
        }
    }

    /// Returns the error for output in an unknown form.
    pub(super) fn unexpected(&self) -> GitError {
        let output = String::from_utf8_lossy(&self.stdout);
        GitError::Output {
            command: self.command.clone(),
            output: output.chars().take(200).collect(),
        }
    }
}

/// Returns the reason of a failure: the first line that git marks as an error, and the last if that says why git ended.
/// Programs that git starts, such as filters, print their progress before it. Without such a line, the last one counts.
fn reason(stderr: &str) -> Option<String> {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let is_error = |line: &str| line.starts_with("error:") || line.starts_with("fatal:");
    let Some(first) = lines.iter().position(|line| is_error(line)) else {
        let is_said = |line: &&&str| !line.starts_with("hint:") && !line.starts_with("warning:");
        let last = lines
            .iter()
            .rposition(|line| is_said(&line))
            .or(lines.len().checked_sub(1))?;
        // The words of a program that git started follow on the next line.
        let from = if last > 0 && lines[last - 1].ends_with(':') {
            last - 1
        } else {
            last
        };
        return Some(lines[from..=last].join(" "));
    };
    let continues = lines[first].ends_with(':') && first + 1 < lines.len();
    let mut said = lines[first..=first + usize::from(continues)].join(" ");
    let fatal = lines[first + 1..].iter().rfind(|line| line.starts_with("fatal:"));
    if let Some(fatal) = fatal.filter(|_| !continues) {
        said += &format!("; {fatal}");
    }
    Some(said)
}

/// Suffixes of variables that hold credentials, which git's filters and helpers must not see.
const KEYS: [&str; 4] = ["_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_SERVER_PASSWORD"];

/// Whether an inherited variable is a secret, or would point git elsewhere or change its behaviour.
fn is_foreign(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if KEYS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let numbered = name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_");
    let is_own = GIT_AS_IT_IS.iter().any(|(own, _)| *own == name);
    name.starts_with("GIT_") && !numbered && !is_own && !KEPT.contains(&name)
}

/// Splits output with a NUL after each item.
pub(super) fn nul_separated(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == 0).filter(|item| !item.is_empty())
}

/// Formats paths for git's standard input, with a NUL after each.
pub(super) fn listed(paths: &[PathBuf]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}

/// The command that compares two trees. Its output is for [`raw_changes`].
pub(super) const COMPARE: [&str; 6] = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];

/// A changed file in the output of `git diff --raw -z`, with its modes and blobs before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawChange<'a> {
    pub(super) modes: [&'a str; 2],
    pub(super) blob_before: &'a str,
    pub(super) blob_after: &'a str,
    pub(super) path: &'a [u8],
}

/// Parses `:MODE MODE BLOB BLOB STATUS NUL PATH NUL` for each changed file; `None` for an entry of another form.
pub(super) fn raw_changes(output: &[u8]) -> impl Iterator<Item = Option<RawChange<'_>>> {
    let mut items = nul_separated(output);
    iter::from_fn(move || {
        let (about, path) = (items.next()?, items.next()?);
        Some(raw_change(about, path))
    })
}

fn raw_change<'a>(about: &'a [u8], path: &'a [u8]) -> Option<RawChange<'a>> {
    let mut words = str::from_utf8(about).ok()?.strip_prefix(':')?.split(' ');
    Some(RawChange {
        modes: [words.next()?, words.next()?],
        blob_before: words.next()?,
        blob_after: words.next()?,
        path,
    })
}

/// Converts a path from git's output.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_hangs_is_ended_and_said_to_have_taken_too_long() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(&Supervisor::default(), directory.path()).args(["-c", "alias.hang=!sleep 600", "hang"]);
        let result = git.deadline(Duration::from_secs(1)).run();
        assert!(matches!(result, Err(GitError::TimedOut { seconds: 1, .. })));
    }

    #[test]
    fn a_filter_that_floods_stderr_takes_no_memory_and_changes_nothing() {
        let alias = "alias.flood=!head -c 50000000 /dev/zero >&2; echo done";
        let output = Git::at(&Supervisor::default(), &env::temp_dir())
            .args(["-c", alias, "flood"])
            .run()
            .unwrap();
        assert_eq!(output.line().unwrap(), "done");
        assert!(output.stderr.len() < 100_000, "{}", output.stderr.len());
    }

    #[test]
    fn output_above_its_cap_is_cut_where_that_was_asked_for() {
        let git = Git::at(&Supervisor::default(), &env::temp_dir()).args([
            "-c",
            "alias.flood=!head -c 50000 /dev/zero",
            "flood",
        ]);
        let output = git.output_cap(1000).run().unwrap();
        assert_eq!((output.stdout.len(), output.cut), (1000, true));
    }

    #[test]
    fn who_is_left_behind_by_a_git_that_has_ended_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        // One descendant in git's process group, which is killed, and one outside of it, which ends by itself after the
        // deadline.
        let alias = "alias.leave=!echo done; (sleep 600 &); (setsid sleep 40 &)";
        let git = Git::at(&Supervisor::default(), directory.path()).args(["-c", alias, "leave"]);
        let output = git.deadline(Duration::from_secs(20)).run().unwrap();
        assert_eq!(output.line().unwrap(), "done");
    }

    #[test]
    fn an_error_names_the_command_and_the_first_line_of_what_git_said() {
        let error = Git::at(&Supervisor::default(), &env::temp_dir())
            .args(["cat-file", "-t"])
            .run()
            .err()
            .unwrap()
            .to_string();
        assert!(error.starts_with("`git cat-file -t`: "), "{error}");
    }

    #[test]
    fn the_reason_of_a_failure_is_what_git_marks_as_an_error_and_not_what_a_filter_prints_before() {
        for (stderr, said) in [
            (
                "Downloading big.bin (12 KB)\nerror: external filter 'lfs' failed 2\nfatal: big.bin: smudge filter lfs failed\n",
                "error: external filter 'lfs' failed 2; fatal: big.bin: smudge filter lfs failed",
            ),
            ("Preparing\nfatal: 'x' already exists\n", "fatal: 'x' already exists"),
            (
                "error: Your local changes to the following files would be overwritten by merge:\n\tkept\nPlease commit them\n",
                "error: Your local changes to the following files would be overwritten by merge: kept",
            ),
            ("checking\nthe hook says:\nno\n", "the hook says: no"),
            ("Checking\nno\nhint: try again\n", "no"),
            ("warning: only this\n", "warning: only this"),
        ] {
            assert_eq!(reason(stderr).as_deref(), Some(said));
        }
        assert_eq!(reason("\n"), None);
    }

    #[test]
    fn input_larger_than_a_pipe_is_read_whole() {
        let bytes = vec![b'x'; 1 << 20];
        let output = Git::at(&Supervisor::default(), &env::temp_dir())
            .args(["-c", "alias.cat=!cat", "cat"])
            .input(bytes.clone())
            .run()
            .unwrap();
        assert_eq!(output.stdout.len(), bytes.len());
    }

    #[test]
    fn only_harmless_variables_of_git_are_inherited() {
        let foreign = [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_WORK_TREE",
            "GIT_TRACE",
            "GIT_EXTERNAL_DIFF",
            "GIT_AUTHOR_DATE",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ];
        assert!(foreign.iter().all(|name| is_foreign(OsStr::new(name))));
        let harmless = [
            "HOME",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_VALUE_0",
        ];
        assert!(!harmless.iter().any(|name| is_foreign(OsStr::new(name))));
    }
}
