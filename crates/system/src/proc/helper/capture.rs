//! The output of a helper: read as it arrives, kept up to a cap.

use std::{
    io::{self, PipeReader, PipeWriter, Read},
    os::fd::{AsFd, BorrowedFd},
};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Most bytes read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The beginning of a helper's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    pub bytes: Vec<u8>,
    /// Whether more was written than is kept; the rest was read and discarded.
    pub cut: bool,
}

/// ralph's end of the pipe that is a helper's stdout or stderr.
pub(super) struct OutputPipe {
    /// `None` after its end.
    pipe: Option<PipeReader>,
    captured: CapturedOutput,
    cap_bytes: usize,
}

impl OutputPipe {
    /// Makes a pipe. Returns the helper's end as well.
    pub(super) fn new(cap_bytes: usize) -> io::Result<(OutputPipe, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let outlet = OutputPipe {
            pipe: Some(reader),
            captured: CapturedOutput::default(),
            cap_bytes,
        };
        Ok((outlet, writer))
    }

    /// Returns the descriptor to poll; `None` after the end.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is available, one buffer at most. Returns whether there was anything.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else { return Ok(false) };
        let mut buffer = [0; BUFFER_BYTES];
        match pipe.read(&mut buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(false)
            }
            Ok(length) => {
                self.keep(&buffer[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap_bytes - self.captured.bytes.len();
        let kept = bytes.len().min(room);
        self.captured.bytes.extend_from_slice(&bytes[..kept]);
        self.captured.cut |= kept < bytes.len();
    }

    pub(super) fn into_captured(self) -> CapturedOutput {
        self.captured
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn captured(cap_bytes: usize, chunks: &[&[u8]]) -> CapturedOutput {
        let (mut outlet, mut writer) = OutputPipe::new(cap_bytes).unwrap();
        for chunk in chunks {
            writer.write_all(chunk).unwrap();
            assert!(outlet.read().unwrap());
            assert!(!outlet.read().unwrap());
        }
        drop(writer);
        // A process that another test starts at this moment has the writer as well until it calls `exec`.
        let mut watched = [PollFd::new(outlet.fd().unwrap(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut watched, PollTimeout::from(30_000_u16)).unwrap(), 1);
        assert!(!outlet.read().unwrap());
        assert!(outlet.fd().is_none());
        outlet.into_captured()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let kept = captured(6, &[b"abc", b"def"]);
        assert_eq!((kept.bytes.as_slice(), kept.cut), (&b"abcdef"[..], false));
    }

    #[test]
    fn what_does_not_fit_is_cut_and_said() {
        let kept = captured(5, &[b"abc", b"def", b"ghi"]);
        assert_eq!((kept.bytes.as_slice(), kept.cut), (&b"abcde"[..], true));
    }
}
