//! One git process: cut off from the user's configuration where that could touch anything, bounded in time.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, ErrorKind, Read, Seek, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};

use super::{DEADLINE, GitError};

/// Configuration that must not act in ralph's name: no daemons, no clean-up in the background, no hooks, no log of
/// ralph's references, no shared index beside the user's.
const SETTINGS: [&str; 9] = [
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

/// How often to look whether git has ended, while its pipes are open and silent.
const LOOK: Duration = Duration::from_millis(50);
const ROUND_UP: Duration = Duration::from_millis(1);

/// Inherited variables of git that may stay: where its configuration is, and how far it looks for a repository.
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

/// A git command being put together.
pub(super) struct Git {
    command: Command,
    /// How many of the arguments are ralph's settings, which are not shown.
    settings: usize,
    input: Vec<u8>,
    deadline: Duration,
}

/// What a git process left.
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    status: ExitStatus,
    command: String,
}

impl Git {
    /// Looks for the repository from `directory` on.
    pub(super) fn at(directory: &Path) -> Git {
        let mut command = Command::new("git");
        for (name, _) in env::vars_os() {
            if is_foreign(&name) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(directory)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            // Its own group, so that Ctrl-C leaves it alone, and filters end with it.
            .process_group(0);
        let git = Git {
            command,
            settings: 0,
            input: Vec::new(),
            deadline: DEADLINE,
        };
        SETTINGS.into_iter().fold(git, Git::setting)
    }

    /// Overrides the user's configuration; to be called before [`Git::args`].
    pub(super) fn setting(mut self, setting: &str) -> Git {
        self.command.args(["-c", setting]);
        self.settings += 1;
        self
    }

    pub(super) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Git {
        self.command.args(args);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Git {
        self.command.env(name, value);
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Git {
        self.input = bytes;
        self
    }

    pub(super) fn deadline(mut self, deadline: Duration) -> Git {
        self.deadline = deadline;
        self
    }

    /// Runs git to its end.
    ///
    /// # Errors
    /// [`GitError::Refused`] unless it exits with 0.
    pub(super) fn run(self) -> Result<Output, GitError> {
        let output = self.run_any()?;
        if output.success() {
            Ok(output)
        } else {
            Err(output.refusal())
        }
    }

    /// Runs git to its end, whatever it exits with.
    pub(super) fn run_any(mut self) -> Result<Output, GitError> {
        let command = self.shown();
        let failed = |source| GitError::Start {
            command: command.clone(),
            source,
        };
        let stdin = if self.input.is_empty() {
            Stdio::null()
        } else {
            file_of(&self.input).map_err(failed)?.into()
        };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(failed)?;
        match collect(&mut child, self.deadline) {
            Ok(Some((status, stdout, stderr))) => Ok(Output {
                stdout,
                stderr: String::from_utf8_lossy(&stderr).into_owned(),
                status,
                command,
            }),
            Ok(None) => {
                end(&mut child);
                Err(GitError::TimedOut {
                    command,
                    seconds: self.deadline.as_secs(),
                })
            }
            Err(source) => {
                end(&mut child);
                Err(GitError::Start { command, source })
            }
        }
    }

    /// The command as a user would type it.
    fn shown(&self) -> String {
        let args = self.command.get_args().skip(2 * self.settings);
        let words = args.map(|arg| arg.to_string_lossy().into_owned());
        std::iter::once("git".to_owned())
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Output {
    pub(super) fn success(&self) -> bool {
        self.status.success()
    }

    /// The one line that was printed.
    pub(super) fn line(&self) -> Result<String, GitError> {
        match str::from_utf8(&self.stdout).map(str::trim_end) {
            Ok(line) if !line.is_empty() && !line.contains('\n') => Ok(line.to_owned()),
            _ => Err(self.unexpected()),
        }
    }

    /// The error that a failed command is.
    pub(super) fn refusal(&self) -> GitError {
        let said = self.stderr.lines().map(str::trim).find(|line| !line.is_empty());
        let said = said.map_or_else(|| self.status.to_string(), str::to_owned);
        GitError::Refused {
            command: self.command.clone(),
            said,
        }
    }

    /// The error that output in an unknown form is.
    pub(super) fn unexpected(&self) -> GitError {
        let output = String::from_utf8_lossy(&self.stdout);
        GitError::Output {
            command: self.command.clone(),
            output: output.chars().take(200).collect(),
        }
    }
}

/// How variables end that hold what lets somebody in: git's filters and helpers are not told.
const KEYS: [&str; 4] = ["_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_SERVER_PASSWORD"];

/// Whether an inherited variable would point git somewhere else or make it behave in another way, or is a secret.
fn is_foreign(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if KEYS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let numbered = name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_");
    name.starts_with("GIT_") && !numbered && !KEPT.contains(&name)
}

/// A file without a name: unlike a pipe, it never makes the writer wait for the reader.
fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

type Collected = (ExitStatus, Vec<u8>, Vec<u8>);

/// Reads both pipes until they end, or until git has ended and they are empty: a filter may leave somebody behind who keeps
/// them open. Ends whom git left behind. None when the deadline has passed.
fn collect(child: &mut Child, deadline: Duration) -> io::Result<Option<Collected>> {
    let end = Instant::now() + deadline;
    let mut pipes = [
        Pipe::new(child.stdout.take().map(OwnedFd::from)),
        Pipe::new(child.stderr.take().map(OwnedFd::from)),
    ];
    while pipes.iter().any(|pipe| pipe.file.is_some()) {
        let Some(left) = end.checked_duration_since(Instant::now()) else {
            return Ok(None);
        };
        // Rounded up: a last fraction of a millisecond is waited for, not spun through.
        let timeout = PollTimeout::try_from((left + ROUND_UP).min(LOOK).as_millis()).unwrap_or(PollTimeout::MAX);
        let mut watched: Vec<PollFd> = pipes
            .iter()
            .filter_map(|pipe| Some(PollFd::new(pipe.file.as_ref()?.as_fd(), PollFlags::POLLIN)))
            .collect();
        match poll(&mut watched, timeout) {
            Ok(0) if has_ended(child)? => break,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = watched.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        for (pipe, ready) in pipes.iter_mut().filter(|pipe| pipe.file.is_some()).zip(ready) {
            if ready {
                pipe.read_some()?;
            }
        }
    }
    let [stdout, stderr] = pipes;
    loop {
        // The pipes close a moment before the process can be waited for.
        if has_ended(child)? {
            // Nobody can have its number while it is not waited for.
            _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL); // nobody is left, usually
            return Ok(Some((child.wait()?, stdout.bytes, stderr.bytes)));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(Duration::from_micros(50));
    }
}

/// Tells whether the process has ended, and leaves it to be waited for.
fn has_ended(child: &Child) -> io::Result<bool> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    let status = waitid(Id::Pid(Pid::from_raw(child.id().cast_signed())), flags)?;
    Ok(status != WaitStatus::StillAlive)
}

struct Pipe {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new(fd: Option<OwnedFd>) -> Pipe {
        Pipe {
            file: fd.map(File::from),
            bytes: Vec::new(),
        }
    }

    /// Reads what is there; the end of the pipe closes it.
    fn read_some(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut buffer = [0; 1 << 16];
        match file.read(&mut buffer) {
            Ok(0) => self.file = None,
            Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Kills git and what it started.
fn end(child: &mut Child) {
    _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL); // gone already is as good
    _ = child.wait();
}

/// Splits output that has NUL after each item.
pub(super) fn nul_separated(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == 0).filter(|item| !item.is_empty())
}

/// A path as git prints it.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use nix::{fcntl::OFlag, sys::stat::Mode, unistd::mkfifo};

    use super::*;

    #[test]
    fn a_git_that_hangs_is_killed_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("held");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let held = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(&fifo)
            .unwrap();
        let git = Git::at(directory.path()).args(["-c", "alias.hang=!exec 3>held; sleep 600 & wait", "hang"]);
        let result = git.deadline(Duration::from_secs(1)).run();
        assert!(matches!(result, Err(GitError::TimedOut { seconds: 1, .. })));
        // Hung up when the last process that held the other end is gone.
        let mut watched = [PollFd::new(held.as_fd(), PollFlags::empty())];
        assert_eq!(poll(&mut watched, PollTimeout::from(30_000_u16)).unwrap(), 1);
    }

    #[test]
    fn who_is_left_behind_by_a_git_that_has_ended_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        // One in its group, which is ended, and one that goes by itself, after the deadline.
        let alias = "alias.leave=!echo done; (sleep 600 &); (setsid sleep 40 &)";
        let git = Git::at(directory.path()).args(["-c", alias, "leave"]);
        let output = git.deadline(Duration::from_secs(20)).run().unwrap();
        assert_eq!(output.line().unwrap(), "done");
    }

    #[test]
    fn an_error_names_the_command_and_the_first_line_of_what_git_said() {
        let error = Git::at(&env::temp_dir())
            .args(["cat-file", "-t"])
            .run()
            .err()
            .unwrap()
            .to_string();
        assert!(error.starts_with("`git cat-file -t`: "), "{error}");
    }

    #[test]
    fn input_larger_than_a_pipe_is_read_whole() {
        let bytes = vec![b'x'; 1 << 20];
        let output = Git::at(&env::temp_dir())
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
