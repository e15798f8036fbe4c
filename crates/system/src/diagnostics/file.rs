//! The file of a log: private, bounded by rotation, and given up at the first error.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use crate::files::append_private;

/// Most bytes of `ralph.log`; when full, it is renamed to `ralph.log.1`, which replaces the one before.
const CAP_BYTES: u64 = 4 << 20;
/// Most bytes that are kept while there is no file yet.
const EARLY_CAP_BYTES: usize = 64 << 10;

/// A log file that many threads append to.
#[derive(Debug, Default)]
pub(super) struct LogFile(Mutex<LogFileState>);

#[derive(Debug)]
enum LogFileState {
    /// The path is not known yet; holds the lines so far.
    Early(Vec<u8>),
    Open(OpenLogFile),
    /// A write has failed, and no more are tried.
    GivenUp,
}

impl Default for LogFileState {
    fn default() -> Self {
        LogFileState::Early(Vec::new())
    }
}

#[derive(Debug)]
struct OpenLogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    /// Writes to `path` from now on, beginning with the lines kept so far.
    pub(super) fn open(&self, path: &Path) {
        let mut state = self.0.lock();
        let early = match &mut *state {
            LogFileState::Early(early) => std::mem::take(early),
            LogFileState::Open(_) | LogFileState::GivenUp => Vec::new(),
        };
        let opened = OpenLogFile::at(path).and_then(|mut open| open.append(&early).map(|()| open));
        *state = opened.map_or(LogFileState::GivenUp, LogFileState::Open);
    }

    /// Appends a line. After one that cannot be written, no more are tried.
    pub(super) fn append(&self, line: &[u8]) {
        let mut state = self.0.lock();
        match &mut *state {
            LogFileState::Early(early) if early.len() + line.len() <= EARLY_CAP_BYTES => early.extend_from_slice(line),
            LogFileState::Early(_) | LogFileState::GivenUp => {}
            LogFileState::Open(open) => {
                if open.append(line).is_err() {
                    *state = LogFileState::GivenUp;
                }
            }
        }
    }
}

impl OpenLogFile {
    fn at(path: &Path) -> io::Result<OpenLogFile> {
        let (file, metadata) = append_private(path)?;
        Ok(OpenLogFile {
            path: path.to_owned(),
            file,
            bytes: metadata.len(),
        })
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > CAP_BYTES {
            fs::rename(&self.path, older(&self.path))?;
            *self = OpenLogFile::at(&self.path)?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}

/// Returns the path to which `path` is renamed when it is full.
fn older(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".1");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_full_log_is_kept_once_beside_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ralph.log");
        let log = LogFile::default();
        log.open(&path);
        let line = vec![b'x'; 1 << 20];
        for _ in 0..11 {
            log.append(&line);
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 3 << 20);
        assert_eq!(fs::metadata(older(&path)).unwrap().len(), 4 << 20);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_log_is_private_and_goes_on_where_it_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ralph.log");
        fs::write(&path, "before\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let log = LogFile::default();
        log.append(b"early\n");
        log.open(&path);
        log.append(b"late\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nearly\nlate\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_pipe_or_a_link_in_the_place_of_the_log_is_neither_waited_for_nor_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link, target) = (
            dir.path().join("pipe"),
            dir.path().join("link"),
            dir.path().join("target"),
        );
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(&target, "theirs").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [&pipe, &link, &dir.path().join("no/such/directory")] {
            let log = LogFile::default();
            log.append(b"early\n");
            log.open(path);
            log.append(b"late\n");
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
    }
}
