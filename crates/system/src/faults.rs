//! Faults of the disk, for simulations: a disk that is full, that can only be read, or that fails when it is flushed.
//!
//! The writers of ralph's own files report each operation here before it is done. Without the feature `testing`, which no
//! installed ralph has, every operation goes on.

use std::io::{self, Write};

/// An operation on a file of ralph's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation {
    Create,
    /// A line is added to a journal.
    Append,
    /// Part of a line is cut off.
    Cut,
    Write,
    Flush,
}

/// Fails if a simulation wants `operation` to fail.
///
/// # Errors
/// The error that the system would report.
pub fn check(operation: DiskOperation) -> io::Result<()> {
    planned::fault(operation).map_or(Ok(()), |fault| Err(fault.error()))
}

/// Writes all bytes, or as many as a simulation lets pass.
///
/// # Errors
/// The system's error, or that of a simulation.
pub fn write_all(file: &mut impl Write, bytes: &[u8], operation: DiskOperation) -> io::Result<()> {
    match planned::fault(operation) {
        None => file.write_all(bytes),
        Some(fault) => {
            file.write_all(&bytes[..fault.written_bytes(bytes.len())])?;
            Err(fault.error())
        }
    }
}

/// The way in which an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// No space is left once this share of the bytes is written, in percent.
    Full {
        written_percent: u8,
    },
    ReadOnly,
    /// The disk reports an error.
    Failed,
}

impl DiskFault {
    fn written_bytes(self, bytes: usize) -> usize {
        match self {
            DiskFault::Full { written_percent } => bytes * usize::from(written_percent.min(100)) / 100,
            DiskFault::ReadOnly | DiskFault::Failed => 0,
        }
    }

    fn error(self) -> io::Error {
        match self {
            DiskFault::Full { .. } => io::ErrorKind::StorageFull.into(),
            DiskFault::ReadOnly => io::ErrorKind::ReadOnlyFilesystem.into(),
            DiskFault::Failed => io::Error::other("input/output error"),
        }
    }
}

#[cfg(not(feature = "testing"))]
mod planned {
    use super::{DiskFault, DiskOperation};

    pub(super) fn fault(_operation: DiskOperation) -> Option<DiskFault> {
        None
    }
}

#[cfg(feature = "testing")]
pub use planned::{FaultyDisk, use_disk};

#[cfg(feature = "testing")]
mod planned {
    use std::{cell::RefCell, sync::Arc};

    use super::{DiskFault, DiskOperation};

    /// A disk that decides which operations fail.
    pub trait FaultyDisk: Send + Sync {
        fn fault(&self, operation: DiskOperation) -> Option<DiskFault>;
    }

    thread_local! {
        static DISK: RefCell<Option<Arc<dyn FaultyDisk>>> = const { RefCell::new(None) };
    }

    /// Has the operations of this thread fail as `disk` decides.
    pub fn use_disk(disk: Option<Arc<dyn FaultyDisk>>) {
        DISK.set(disk);
    }

    pub(super) fn fault(operation: DiskOperation) -> Option<DiskFault> {
        DISK.with_borrow(|disk| disk.as_ref()?.fault(operation))
    }
}
