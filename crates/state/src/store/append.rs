//! An append-only file of lines, for journals.
//!
//! A line is written whole or not at all, and only this process writes: a change by another process is noticed before
//! the next line and removed, so that a reader does not treat it as a record.

use std::{
    fs::File,
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use ralph_system::faults::{self, DiskOperation};

/// Why a line was not appended; the file has the lines from before.
#[derive(Debug)]
pub enum AppendError {
    Write(io::Error),
    /// The file is gone, or another process has changed its length.
    ChangedExternally,
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
    /// The system's error, also if the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        faults::check(DiskOperation::Create)?;
        let file = File::options().append(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { file, length: 0 })
    }

    /// Opens a file whose whole lines have `length` bytes.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path, length: u64) -> io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        Ok(Self { file, length })
    }

    /// Cuts off bytes behind the whole lines: part of a line that a crash left.
    ///
    /// # Errors
    /// The system's error.
    pub fn cut_torn(&self) -> io::Result<()> {
        faults::check(DiskOperation::Cut)?;
        self.file.set_len(self.length)
    }

    /// Appends a line, its end included. When it returns, the line survives the end of this process.
    ///
    /// # Errors
    /// [`AppendError`]; a line written only in part is removed, so that a later reader does not treat it as a crash.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        self.check_untouched()?;
        if let Err(error) = faults::write_all(&mut self.file, line, DiskOperation::Append) {
            _ = self.cut_torn(); // the write error is reported
            return Err(error.into());
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Fails if the file was deleted or its length has changed. Cuts off bytes that another process has added.
    fn check_untouched(&self) -> Result<(), AppendError> {
        let meta = self.file.metadata()?;
        if meta.len() > self.length {
            _ = self.file.set_len(self.length); // foreign bytes must not be read; the error reports them
        }
        match meta.nlink() == 0 || meta.len() != self.length {
            true => Err(AppendError::ChangedExternally),
            false => Ok(()),
        }
    }
}
