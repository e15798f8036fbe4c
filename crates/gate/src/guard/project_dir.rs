//! Reads and writes files of the project without following symlinks: each directory is opened relative to its parent.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps},
    io::Errno,
};
use serde::{Deserialize, Serialize};

/// Most bytes of a guarded file.
pub(super) const FILE_CAP_BYTES: u64 = 16 << 20;
/// Most seconds by which a file's time may be ahead of the clock.
const AHEAD_CAP_SECONDS: i64 = 3600;
const LINK_CAP_BYTES: usize = 4096;

/// The directory of a project, kept open.
#[derive(Debug)]
pub(super) struct ProjectDir(OwnedFd);

/// Metadata that changes with every write. Only the system's administrator can set the time of the last status
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WriteStamp {
    size: i64,
    inode: u64,
    modified: (i64, i64),
    status_changed: (i64, i64),
}

/// The type of the file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathState {
    Nothing,
    File(FileMetadata),
    Link(Vec<u8>),
    /// A directory, a pipe, a device, or a path through something that is not a directory.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileMetadata {
    pub(super) identity: WriteStamp,
    pub(super) mode: u32,
    pub(super) len: u64,
    /// Seconds since the Unix epoch.
    pub(super) modified: i64,
}

/// The present or future content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileContent {
    Nothing,
    /// `mode` has the permissions, such as 0o644.
    File {
        #[serde(with = "as_text")]
        bytes: Vec<u8>,
        mode: u32,
    },
    /// The target of a symlink.
    Link(#[serde(with = "as_text")] Vec<u8>),
}

/// Writes each byte as the character of its number: most files are text, so they take as many bytes as before.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        text.chars()
            .map(|char| u8::try_from(char).map_err(D::Error::custom))
            .collect()
    }
}

impl WriteStamp {
    /// Whether a later change could leave the identity the same, because the file system's clock has not advanced
    /// yet.
    pub(super) fn is_too_new(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_secs()).is_ok_and(|now| self.status_changed.0 >= now - 1)
    }
}

impl FileContent {
    /// Whether both are the same to a reader: the same bytes and executability, or the same link.
    pub(super) fn is_like(&self, other: &FileContent) -> bool {
        match (self, other) {
            (
                FileContent::File { bytes, mode },
                FileContent::File {
                    bytes: others,
                    mode: of_other,
                },
            ) => bytes == others && (mode & 0o111 == 0) == (of_other & 0o111 == 0),
            (one, other) => one == other,
        }
    }
}

impl ProjectDir {
    pub(super) fn open(project: &Path) -> io::Result<ProjectDir> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(ProjectDir(fs::open(project, flags, Mode::empty())?))
    }

    pub(super) fn inspect(&self, path: &str) -> io::Result<PathState> {
        let (parent, name) = match self.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(PathState::Nothing),
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(PathState::Other),
            Err(error) => return Err(error.into()),
        };
        let stat = match fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(PathState::Nothing),
            Err(error) => return Err(error.into()),
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => PathState::File(metadata(&stat)),
            FileType::Symlink => PathState::Link(link(&parent, name)?),
            _ => PathState::Other,
        })
    }

    /// Reads the content of a path; `None` for [`PathState::Other`], and for files above the cap.
    pub(super) fn read(&self, path: &str) -> io::Result<Option<FileContent>> {
        Ok(match self.inspect(path)? {
            PathState::Nothing => Some(FileContent::Nothing),
            PathState::Other => None,
            PathState::Link(target) => Some(FileContent::Link(target)),
            PathState::File(metadata) if metadata.len > FILE_CAP_BYTES => None,
            PathState::File(_) => {
                let (metadata, bytes) = self.read_file(path)?;
                (bytes.len() as u64 <= FILE_CAP_BYTES).then_some(FileContent::File {
                    bytes,
                    mode: metadata.mode,
                })
            }
        })
    }

    /// Reads a regular file, up to one byte more than the cap.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a regular file any more.
    pub(super) fn read_file(&self, path: &str) -> io::Result<(FileMetadata, Vec<u8>)> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = fs::openat(&parent, name, flags, Mode::empty())?;
        let stat = fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        File::from(file).take(FILE_CAP_BYTES + 1).read_to_end(&mut bytes)?;
        Ok((metadata(&stat), bytes))
    }

    /// Replaces the content of a path atomically, through a temporary file named `beside`. Creates missing
    /// directories.
    pub(super) fn put(&self, path: &str, content: &FileContent, beside: &str, durable: Durable) -> io::Result<()> {
        if *content == FileContent::Nothing {
            return self.remove(path);
        }
        self.make_parents(path)?;
        let replaced = match self.inspect(path)? {
            PathState::File(metadata) => Some(metadata.modified),
            PathState::Nothing | PathState::Link(_) | PathState::Other => None,
        };
        let (parent, name) = self.parent(path)?;
        match content {
            FileContent::Nothing => {}
            FileContent::File { bytes, mode } => {
                before_change()?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(fs::openat(&parent, beside, flags, Mode::from_raw_mode(0o600))?);
                before_change()?;
                file.write_all(bytes)?;
                fs::fchmod(&file, raw_mode(*mode))?;
                let time = next_time(replaced);
                let times = Timestamps {
                    last_access: time,
                    last_modification: time,
                };
                fs::futimens(&file, &times)?;
                if durable == Durable::Yes {
                    sync(&file)?;
                }
            }
            FileContent::Link(target) => {
                before_change()?;
                fs::symlinkat(target.as_slice(), &parent, beside)?;
            }
        }
        before_change()?;
        fs::renameat(&parent, beside, &parent, name)?;
        if durable == Durable::Yes {
            sync(&File::from(parent))?;
        }
        Ok(())
    }

    /// Removes a file or symlink, if one is there.
    pub(super) fn remove(&self, path: &str) -> io::Result<()> {
        let (parent, name) = match self.parent(path) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        before_change()?;
        match fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty directory; returns false if it is not empty.
    pub(super) fn remove_directory(&self, path: &str) -> io::Result<bool> {
        let (parent, name) = match self.parent(path) {
            Err(Errno::NOENT) => return Ok(true),
            found => found?,
        };
        before_change()?;
        match fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns at most `cap` names in a directory.
    pub(super) fn names(&self, path: &str, cap: usize) -> io::Result<Vec<String>> {
        let directory = self.open_below(path)?;
        let entries = fs::Dir::read_from(&directory)?;
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned()));
        Ok(names.filter(|name| name != "." && name != "..").take(cap).collect())
    }

    /// Returns the missing directories above `path`, outermost first; `None` if something else is in their place.
    pub(super) fn missing_parents(&self, path: &str) -> io::Result<Option<Vec<String>>> {
        let mut missing = Vec::new();
        for (at, _) in path.match_indices('/') {
            let directory = &path[..at];
            match self.open_below(directory) {
                Ok(_) => {}
                Err(Errno::NOENT) => missing.push(directory.to_owned()),
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(missing))
    }

    fn make_parents(&self, path: &str) -> io::Result<()> {
        for (at, _) in path.match_indices('/') {
            let (parent, name) = self.parent(&path[..at])?;
            if matches!(fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
                before_change()?;
                fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777))?;
            }
        }
        Ok(())
    }

    /// Opens the directory that contains a path, and returns the file name.
    fn parent<'a>(&self, path: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Such names would lead out of the project, or be another name of the same path.
        if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err(Errno::INVAL);
        }
        Ok((self.open_below(directory)?, name))
    }

    fn open_below(&self, directory: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut open = fs::openat(self.0.as_fd(), ".", flags, Mode::empty())?;
        for name in directory.split('/').filter(|name| !name.is_empty()) {
            open = fs::openat(&open, name, flags, Mode::empty())?;
        }
        Ok(open)
    }
}

/// Whether a file must survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    Yes,
    No,
}

fn link(parent: &OwnedFd, name: &str) -> io::Result<Vec<u8>> {
    let target = fs::readlinkat(parent, name, Vec::with_capacity(LINK_CAP_BYTES))?;
    Ok(target.into_bytes())
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::useless_conversion,
    reason = "systems differ in the types of what they say"
)]
fn metadata(stat: &Stat) -> FileMetadata {
    FileMetadata {
        identity: WriteStamp {
            size: stat.st_size as i64,
            inode: stat.st_ino as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            status_changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        },
        mode: u32::from(stat.st_mode) & 0o7777,
        len: u64::try_from(stat.st_size).unwrap_or(0),
        modified: stat.st_mtime as i64,
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "permissions are 12 bits; the type is narrower on some systems"
)]
fn raw_mode(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as fs::RawMode)
}

/// Returns the time for a file that replaces one with the time `replaced`: now, or the next second after it.
///
/// Build tools detect changes by time: cargo rebuilds if a file is newer than the last build, Python if its second or
/// size differs. So neither the original nor, afterwards, the agent's file keeps its old time.
fn next_time(replaced: Option<i64>) -> Timespec {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(0);
    match replaced.map(|replaced| replaced.saturating_add(1)) {
        Some(later) if later > seconds && later - seconds < AHEAD_CAP_SECONDS => Timespec {
            tv_sec: later,
            tv_nsec: 0,
        },
        Some(_) | None => Timespec {
            tv_sec: seconds,
            tv_nsec: now.subsec_nanos().into(),
        },
    }
}

/// Waits until a file or directory would survive a power failure. Not in tests, which stop processes, not machines.
pub(super) fn sync(file: &File) -> io::Result<()> {
    if cfg!(test) { Ok(()) } else { file.sync_all() }
}

/// Called before each change of the file system, so that a test can stop at any of them.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps, reason = "in tests it fails")]
pub(super) fn before_change() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use stops::before_change;

#[cfg(test)]
pub(super) mod stops {
    use std::{cell::Cell, io};

    thread_local! {
        /// Steps that this thread may still take before it counts as killed.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `work` until it has changed the file system `steps` times.
    pub(in super::super) fn after<T>(steps: usize, work: impl FnOnce() -> T) -> T {
        LEFT.set(Some(steps));
        let result = work();
        LEFT.set(None);
        result
    }

    pub(in super::super) fn before_change() -> io::Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => Err(io::Error::other("stopped here")),
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }
}
