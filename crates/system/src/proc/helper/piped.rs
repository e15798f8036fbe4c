//! A helper that runs beside ralph, with pipes to its stdin and from its stdout.
//!
//! Dropping it ends it. Every read and every write has a deadline: the other end of a connection may be gone without a
//! word.

use std::{
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    process::ExitStatus,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::order::HelperProcess;

/// Most bytes of stderr that are kept.
const STDERR_CAP_BYTES: usize = 64 << 10;
/// Interval between two looks at a process without a descriptor that tells of its end.
const LOOK: Duration = Duration::from_millis(5);

/// How long the last words of a helper that has ended are waited for: a process that it left behind may have its stderr
/// open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running helper.
pub struct PipedHelper {
    process: Option<Box<dyn HelperProcess>>,
    stdin: Option<PipeWriter>,
    stdout: PipeReader,
    stderr: Arc<KeptErrors>,
}

/// The beginning of a helper's stderr.
#[derive(Default)]
struct KeptErrors {
    kept: Mutex<(Vec<u8>, StderrState)>,
    ended: Condvar,
}

#[derive(Default, PartialEq, Eq)]
enum StderrState {
    #[default]
    Open,
    Ended,
}

impl KeptErrors {
    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, StderrState)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PipedHelper {
    pub(super) fn new(
        process: Box<dyn HelperProcess>,
        stdin: PipeWriter,
        stdout: PipeReader,
        stderr: PipeReader,
    ) -> io::Result<PipedHelper> {
        for pipe in [stdin.as_fd(), stdout.as_fd()] {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let kept = Arc::new(KeptErrors::default());
        let helper = PipedHelper {
            process: Some(process),
            stdin: Some(stdin),
            stdout,
            stderr: Arc::clone(&kept),
        };
        // Ends with the last process that has the pipe open.
        let read = move || {
            keep(stderr, &kept);
            kept.lock().1 = StderrState::Ended;
            kept.ended.notify_all();
        };
        thread::Builder::new().name("stderr".to_owned()).spawn(read)?;
        Ok(helper)
    }

    /// Reads from its stdout: `Ok(0)` at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if nothing arrives within `patience`.
    pub fn read(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        let until = Instant::now() + patience;
        loop {
            match self.stdout.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => return read,
            }
            wait(self.stdout.as_fd(), PollFlags::POLLIN, until)?;
        }
    }

    /// Writes some of `bytes` to its stdin, and returns how many.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if it takes none of them within `patience`; the error of the pipe if it has ended.
    pub fn write(&mut self, bytes: &[u8], patience: Duration) -> io::Result<usize> {
        let Some(stdin) = &mut self.stdin else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let until = Instant::now() + patience;
        loop {
            match stdin.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => return written,
            }
            wait(stdin.as_fd(), PollFlags::POLLOUT, until)?;
        }
    }

    /// Writes all of `bytes` to its stdin.
    ///
    /// # Errors
    /// As [`PipedHelper::write`]; some of them may have been written.
    pub fn write_all(&mut self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.write(bytes, patience)?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits up to `patience` for its end, and ends it otherwise. Returns how it ended if it did so by itself.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        let mut process = self.process.take()?;
        loop {
            match process.ended() {
                Ok(None) if Instant::now() < until => {}
                Ok(None) => {
                    process.kill();
                    return None;
                }
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
            match process.descriptor() {
                // A wait that ends early is repeated.
                Some(descriptor) => _ = wait(descriptor, PollFlags::POLLIN, until),
                None => thread::sleep(LOOK),
            }
        }
    }

    /// Returns what it has written to stderr so far; all of it once its end was waited for.
    pub fn errors(&self) -> String {
        let mut kept = self.stderr.lock();
        if self.process.is_none() {
            let waited = self
                .stderr
                .ended
                .wait_timeout_while(kept, LAST_WORDS, |(_, state)| *state == StderrState::Open);
            kept = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        String::from_utf8_lossy(&kept.0).into_owned()
    }
}

/// The descriptor of its stdout, to poll.
impl AsFd for PipedHelper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }
}

impl Drop for PipedHelper {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take()
            && !matches!(process.ended(), Ok(Some(_)) | Err(_))
        {
            process.kill();
        }
    }
}

/// Waits until a pipe is ready.
fn wait(pipe: BorrowedFd<'_>, events: PollFlags, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // Rounded up: a last fraction of a millisecond is waited for, not spun through.
    let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
    _ = poll(&mut [PollFd::new(pipe, events)], timeout); // an error shows at the next read
    Ok(())
}

fn keep(mut stderr: PipeReader, kept: &KeptErrors) {
    let mut buffer = [0; 4096];
    loop {
        match stderr.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let (kept, _) = &mut *kept.lock();
                let room = STDERR_CAP_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..length.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::Supervisor;

    const SOON: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> PipedHelper {
        Supervisor::default().helper("sh").args(["-c", script]).start().unwrap()
    }

    fn line(helper: &mut PipedHelper) -> String {
        let mut bytes = [0; 100];
        let length = helper.read(&mut bytes, SOON).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn it_answers_while_it_runs_and_its_end_is_told() {
        let mut helper = shell("while read -r line; do echo \"<$line>\"; done; echo oops >&2; exit 3");
        for word in ["one", "two"] {
            helper.write_all(format!("{word}\n").as_bytes(), SOON).unwrap();
            assert_eq!(line(&mut helper), format!("<{word}>\n"));
        }
        helper.close_stdin();
        assert_eq!(helper.read(&mut [0; 10], SOON).unwrap(), 0);
        assert_eq!(helper.wait(SOON).and_then(|status| status.code()), Some(3));
        assert_eq!(helper.errors(), "oops\n");
    }

    #[test]
    fn silence_and_a_full_pipe_are_waited_for_only_so_long() {
        let mut helper = shell("exec sleep 600");
        let short = Duration::from_millis(20);
        let silent = helper.read(&mut [0; 10], short).unwrap_err();
        let full = helper.write_all(&vec![0; 1 << 20], short).unwrap_err();
        assert_eq!(
            [silent.kind(), full.kind()],
            [io::ErrorKind::TimedOut, io::ErrorKind::TimedOut]
        );
        // Ended by ralph, so it has no status of its own.
        assert_eq!(helper.wait(short), None);
    }
}
