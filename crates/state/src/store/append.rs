//! A file that only grows, a line at a time: what journals are written to.
//!
//! A line is there as a whole or not at all, and only this process writes: what somebody else did to the file is noticed before the
//! next line, and nothing of it is left for a reader to take for a record.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// Why a line was not appended; the file is as it was.
#[derive(Debug)]
pub enum AppendError {
    Write(io::Error),
    /// The file is gone, or its length is another's doing.
    Meddled,
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        AppendError::Write(error)
    }
}

#[derive(Debug)]
pub struct AppendOnly {
    file: File,
    /// Bytes of all whole lines. Not the file's position, which is 0 in an appending file until it is written to.
    length: u64,
}

impl AppendOnly {
    /// Creates a file that only its user can read.
    ///
    /// # Errors
    /// Whatever the system says, also if the file is there already.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { file, length: 0 })
    }

    /// Opens a file whose whole lines have `length` bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(path: &Path, length: u64) -> io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        Ok(Self { file, length })
    }

    /// Cuts off what is behind the whole lines: part of one that a crash left.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn cut_torn(&self) -> io::Result<()> {
        self.file.set_len(self.length)
    }

    /// Appends a line, its end included. When it returns, the line survives the end of this process.
    ///
    /// # Errors
    /// [`AppendError`]; what could be written only in part is taken back, so that a later reader does not take it for a crash.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        self.check_untouched()?;
        if let Err(error) = self.file.write_all(line) {
            _ = self.file.set_len(self.length); // the write error is what is reported
            return Err(error.into());
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Fails if nobody could read what would be written.
    fn check_untouched(&self) -> Result<(), AppendError> {
        let meta = self.file.metadata()?;
        if meta.len() > self.length {
            _ = self.file.set_len(self.length); // what is not ours must not be read as ours; that it was there is said
        }
        match meta.nlink() == 0 || meta.len() != self.length {
            true => Err(AppendError::Meddled),
            false => Ok(()),
        }
    }
}
