//! Builds a helper, runs it to its end and keeps its output.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tracing::{debug, warn};

use super::{
    capture::{CapturedOutput, OutputPipe},
    direct,
    guarded::Helpers,
    order::{HelperError, HelperProcess, HelperSpec},
};
use crate::proc::{Confinement, launch::REPOSITORY_VARS, system};

/// Enough for a list of every file of a very large tree.
const STDOUT_CAP_BYTES: usize = 64 << 20;
const STDERR_CAP_BYTES: usize = 64 << 10;
const DEADLINE: Duration = Duration::from_secs(10);
/// How often to check whether a helper has ended, if no descriptor tells.
const LOOK: Duration = Duration::from_millis(5);
const ROUND_UP: Duration = Duration::from_millis(1);

/// A builder for a short program. It gets ralph's environment with the changes made here, an empty stdin unless
/// [`Helper::input`] is called, and ten seconds.
#[derive(Debug)]
pub struct Helper {
    helpers: Arc<Helpers>,
    /// Its environment, and its directory unless one is set, are determined when it is run.
    spec: HelperSpec,
    /// Changes of the environment, in the order they were made; `None` removes the variable.
    changes: Vec<(OsString, Option<OsString>)>,
    /// The bytes for its stdin.
    input: Vec<u8>,
    deadline: Duration,
    stdout_cap_bytes: usize,
    guarded: bool,
}

/// A helper that has ended.
#[derive(Debug, Clone)]
pub struct HelperOutput {
    pub status: ExitStatus,
    pub stdout: CapturedOutput,
    pub stderr: CapturedOutput,
}

impl Helper {
    /// Makes a helper. `program` is looked for in `PATH` unless it has a slash in it.
    pub(in crate::proc) fn new(helpers: &Arc<Helpers>, program: impl Into<OsString>) -> Helper {
        Helper {
            helpers: Arc::clone(helpers),
            spec: HelperSpec {
                program: program.into(),
                ..HelperSpec::default()
            },
            changes: Vec::new(),
            input: Vec::new(),
            deadline: DEADLINE,
            stdout_cap_bytes: STDOUT_CAP_BYTES,
            guarded: true,
        }
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Helper {
        self.spec
            .args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Helper {
        self.changes.push((name.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Helper {
        self.changes.push((name.into(), None));
        self
    }

    #[must_use]
    pub fn current_dir(mut self, directory: &Path) -> Helper {
        self.spec.cwd = directory.to_owned();
        self
    }

    /// Sets the bytes that it reads from stdin.
    #[must_use]
    pub fn input(mut self, bytes: Vec<u8>) -> Helper {
        self.input = bytes;
        self
    }

    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Helper {
        self.deadline = deadline;
        self
    }

    /// Sets how many bytes of its stdout are kept. Of stderr it is always 64 KiB.
    #[must_use]
    pub fn output_cap(mut self, bytes: usize) -> Helper {
        self.stdout_cap_bytes = bytes;
        self
    }

    /// Limits the memory that it and each process that it starts may allocate; has no effect without a guard. Files
    /// mapped for reading do not count.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Helper {
        self.spec.memory_bytes = Some(bytes);
        self
    }

    /// Confines it and everything that it starts, and sets the variables of the confinement.
    #[must_use]
    pub fn confined(mut self, confinement: Arc<Confinement>) -> Helper {
        self.changes.extend(confinement.variables.iter().map(|(name, value)| {
            let value = value.as_ref().map(OsString::from);
            (OsString::from(name), value)
        }));
        self.spec.confinement = Some(Confinement::clone(&confinement));
        self
    }

    /// Runs it without a guard, for commands that are meant to start daemons: processes that it leaves behind go on,
    /// unless it does not end in time.
    #[must_use]
    pub fn unguarded(mut self) -> Helper {
        self.guarded = false;
        self
    }

    /// Runs it to its end, and then ends the processes that it leaves behind. A failing exit status is not an error.
    ///
    /// # Errors
    /// [`HelperError`] if it cannot be started or does not end in time.
    pub fn run(self) -> Result<HelperOutput, HelperError> {
        let begun = Instant::now();
        let program = self.spec.program.clone();
        let result = self.run_until(begun);
        let elapsed_ms = begun.elapsed().as_millis();
        match &result {
            Ok(finished) => debug!(?program, elapsed_ms, end = %finished.status, "helper ended"),
            Err(error) => warn!(?program, elapsed_ms, %error, "helper failed"),
        }
        result
    }

    fn run_until(mut self, begun: Instant) -> Result<HelperOutput, HelperError> {
        let until = begun + self.deadline;
        self.complete();
        let stdin = self.stdin().map_err(HelperError::Start)?;
        let (stdout, stdout_end) = OutputPipe::new(self.stdout_cap_bytes).map_err(HelperError::Start)?;
        let (stderr, stderr_end) = OutputPipe::new(STDERR_CAP_BYTES).map_err(HelperError::Start)?;
        let mut outlets = [stdout, stderr];
        let readers: Vec<_> = outlets.iter().filter_map(OutputPipe::fd).collect();
        let mut process = self
            .start_with([stdin, stdout_end.into(), stderr_end.into()], &readers)
            .map_err(HelperError::Start)?;
        match follow(&mut *process, &mut outlets, until) {
            Ok(Some(status)) => {
                let [stdout, stderr] = outlets.map(OutputPipe::into_captured);
                Ok(HelperOutput { status, stdout, stderr })
            }
            Ok(None) => {
                process.kill();
                Err(HelperError::TimedOut {
                    deadline: self.deadline,
                })
            }
            Err(error) => {
                process.kill();
                Err(error)
            }
        }
    }

    /// Starts it with three files; `readers` are the other ends of its outputs, which the guard keeps open.
    fn start_with(&self, stdio: [OwnedFd; 3], readers: &[BorrowedFd<'_>]) -> io::Result<Box<dyn HelperProcess>> {
        let files = stdio.iter().map(AsFd::as_fd);
        let files: Vec<_> = files.chain(readers.iter().copied()).collect();
        let submitted = match self.guarded {
            true => self.helpers.submit(&self.spec, &files)?,
            false => None,
        };
        match submitted {
            Some(process) => Ok(process),
            None => direct::start(self.helpers.children(), &self.spec, stdio, self.guarded),
        }
    }

    /// Determines what the helper gets of this process.
    fn complete(&mut self) {
        let spec = &mut self.spec;
        spec.environment = env::vars_os().collect();
        spec.environment
            .retain(|(name, _)| !REPOSITORY_VARS.iter().any(|local| name == local));
        for (name, value) in self.changes.drain(..) {
            spec.environment.retain(|(known, _)| *known != name);
            spec.environment.extend(value.map(|value| (name, value)));
        }
        if spec.cwd.as_os_str().is_empty() {
            spec.cwd = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        }
    }

    fn stdin(&self) -> io::Result<OwnedFd> {
        match self.input.is_empty() {
            true => File::open("/dev/null").map(OwnedFd::from),
            // A file, not a pipe: a pipe would have to be written while the helper reads.
            false => system::anonymous_file(&self.input).map(OwnedFd::from),
        }
    }
}

/// Reads until the helper has ended; `None` if that does not happen before `until`.
fn follow(
    process: &mut dyn HelperProcess,
    outlets: &mut [OutputPipe; 2],
    until: Instant,
) -> Result<Option<ExitStatus>, HelperError> {
    loop {
        let Some(left) = until.checked_duration_since(Instant::now()) else {
            return Ok(None);
        };
        wait(process, outlets, left);
        for outlet in &mut *outlets {
            outlet.read().map_err(HelperError::Start)?;
        }
        if let Some(status) = process.ended()? {
            drain(outlets, until).map_err(HelperError::Start)?;
            return Ok(Some(status));
        }
    }
}

/// Waits until there is something to read or the helper has ended, at most for `left`.
fn wait(process: &dyn HelperProcess, outlets: &[OutputPipe], left: Duration) {
    let descriptor = process.descriptor();
    let longest = if descriptor.is_some() { left } else { left.min(LOOK) };
    // Rounded up: a last fraction of a millisecond is waited for, not spun through.
    let timeout = PollTimeout::try_from((longest + ROUND_UP).as_millis()).unwrap_or(PollTimeout::MAX);
    let outlets = outlets.iter().filter_map(OutputPipe::fd);
    let mut watched: Vec<PollFd> = descriptor
        .into_iter()
        .chain(outlets)
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // An interrupted wait counts as one that ended early.
    _ = poll(&mut watched, timeout);
}

/// Reads what is left. A process that still writes now has escaped and is not waited for.
fn drain(outlets: &mut [OutputPipe], until: Instant) -> io::Result<()> {
    for outlet in outlets {
        while outlet.read()? && Instant::now() < until {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::{
        fd::AsFd,
        unix::{fs::OpenOptionsExt, process::ExitStatusExt},
    };

    use nix::{fcntl::OFlag, sys::stat::Mode, unistd::mkfifo};

    use super::*;
    use crate::proc::Supervisor;

    fn shell(script: &str) -> Helper {
        Supervisor::default().helper("sh").args(["-c", script])
    }

    #[test]
    fn what_is_written_and_how_it_ends_is_told() {
        let finished = shell("cat; echo $NAME; echo oops >&2; exit 3")
            .input(b"read\n".to_vec())
            .env("NAME", "value")
            .run()
            .unwrap();
        assert_eq!(finished.stdout.bytes, b"read\nvalue\n");
        assert_eq!(finished.stderr.bytes, b"oops\n");
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(shell("kill -9 $$").run().unwrap().status.signal(), Some(9));
    }

    #[test]
    fn a_flood_on_stderr_is_cut_and_does_not_change_the_end() {
        let flood = "head -c 20000000 /dev/zero >&2; echo done";
        let finished = shell(flood).deadline(Duration::from_secs(60)).run().unwrap();
        assert_eq!(finished.stdout.bytes, b"done\n");
        assert_eq!(finished.stderr.bytes.len(), STDERR_CAP_BYTES);
        assert!(finished.stderr.cut && finished.status.success());
    }

    #[test]
    fn a_flood_on_stdout_is_cut_at_the_cap() {
        let flood = shell("head -c 20000000 /dev/zero; exit 4").output_cap(1000);
        let finished = flood.deadline(Duration::from_secs(60)).run().unwrap();
        assert_eq!(finished.stdout.bytes.len(), 1000);
        assert!(finished.stdout.cut);
        assert_eq!(finished.status.code(), Some(4));
    }

    #[test]
    fn a_helper_that_hangs_is_killed_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("held");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let held = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(&fifo)
            .unwrap();
        let result = shell("exec 3>held; sleep 600 & wait")
            .current_dir(directory.path())
            .deadline(Duration::from_secs(1))
            .run();
        assert!(matches!(result, Err(HelperError::TimedOut { .. })), "{result:?}");
        // Hung up once the last process with the other end open is gone.
        let mut watched = [PollFd::new(held.as_fd(), PollFlags::empty())];
        assert_eq!(poll(&mut watched, PollTimeout::from(30_000_u16)).unwrap(), 1);
    }

    #[test]
    fn a_program_that_is_not_there_says_so() {
        let error = Supervisor::default()
            .helper("no-such-program-at-all")
            .run()
            .unwrap_err();
        assert!(matches!(error, HelperError::Start(source) if source.kind() == io::ErrorKind::NotFound));
    }
}
