//! Reads files that ralph did not write: configuration, prompts, adapters, engines and plans.
//!
//! A project may contain a pipe, a device or an endless file where a small text is expected. Only regular files are
//! read, also through links; nothing here waits for a writer, and the memory that is used does not depend on the disk's
//! content.
//!
//! A file that has readers is replaced as a whole; a file that others write is replaced only if it is unchanged since
//! it was read.
//!
//! In directories where an agent can put links, git's and ralph's own, files are opened without following links.

use std::{
    fs::{self, File, FileType, Metadata, OpenOptions, Permissions, TryLockError},
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::fcntl::OFlag;
pub use ralph_text::Position;
use tempfile::NamedTempFile;
use thiserror::Error;
use walkdir::{DirEntry, WalkDir};

use crate::faults::{self, DiskOperation};

/// Most bytes of a configuration file.
pub const CONFIG_CAP_BYTES: u64 = 1 << 20;
/// Most bytes of a prompt.
pub const PROMPT_CAP_BYTES: u64 = 1 << 20;
/// Most bytes of the definition of an adapter, or of an engine.
pub const MANIFEST_CAP_BYTES: u64 = 256 << 10;
/// Most bytes of a plan: far more than any has, and little enough to be read again after every iteration.
pub const PLAN_CAP_BYTES: u64 = 4 << 20;

/// Most files of one directory; those whose names come last are left out.
const FILES_CAP: usize = 256;
/// Most entries of a directory that are looked at.
const ENTRIES_CAP: usize = 4096;

/// Directories with dependencies or build output.
const MADE: [&str; 8] = [
    "node_modules",
    "target",
    "__pycache__",
    "dist",
    "build",
    "out",
    "vendor",
    "venv",
];

/// How long to wait before a lock is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// For files that an agent may have replaced: follows no link, does not wait for a pipe, takes no controlling terminal.
const UNFOLLOWED: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY);

/// Why a file was not read. It does not contain the path, which the caller knows.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("it is {found}, not a regular file")]
    NotAFile { found: &'static str },
    #[error("it is larger than {}", in_words(*.cap_bytes))]
    TooLarge { cap_bytes: u64 },
    #[error("{position}: not UTF-8")]
    NotUtf8 { position: Position },
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The TOML files of a directory, by name.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    pub files: Vec<TomlFile>,
    /// A message to the user that is not an error.
    pub notice: Option<String>,
}

/// A file `<id>.toml`, as it was read.
#[derive(Debug, Clone)]
pub struct TomlFile {
    pub path: PathBuf,
    pub text: Result<String, ReadError>,
}

impl Directory {
    /// Reads a directory. An unreadable one counts as empty: most users have none.
    pub fn read(directory: &Path) -> Self {
        let Ok(found) = fs::read_dir(directory) else {
            return Self::default();
        };
        let found: Vec<_> = found.take(ENTRIES_CAP + 1).collect();
        let mut is_complete = found.len() <= ENTRIES_CAP;
        let mut paths: Vec<_> = found.into_iter().filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        is_complete &= paths.len() <= FILES_CAP;
        paths.truncate(FILES_CAP);
        let too_many = || {
            let directory = directory.display();
            format!("{directory}: too many files: only {FILES_CAP} are read")
        };
        let read = |path: PathBuf| TomlFile {
            text: read_text(&path, MANIFEST_CAP_BYTES),
            path,
        };
        Self {
            files: paths.into_iter().map(read).collect(),
            notice: (!is_complete).then(too_many),
        }
    }
}

/// The system's error is rebuilt from its number, its only content.
impl Clone for ReadError {
    fn clone(&self) -> Self {
        match self {
            ReadError::NotAFile { found } => ReadError::NotAFile { found },
            ReadError::TooLarge { cap_bytes } => ReadError::TooLarge { cap_bytes: *cap_bytes },
            ReadError::NotUtf8 { position } => ReadError::NotUtf8 { position: *position },
            ReadError::System(error) => ReadError::System(match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
        }
    }
}

impl ReadError {
    /// Whether there is nothing at the path, as opposed to something that cannot be read.
    pub fn is_missing(&self) -> bool {
        match self {
            ReadError::System(error) => {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            ReadError::NotAFile { .. } | ReadError::TooLarge { .. } | ReadError::NotUtf8 { .. } => false,
        }
    }
}

/// Makes an unpredictable secret: 256 bits as 64 hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads a text of at most `cap_bytes`, without a byte order mark.
///
/// # Errors
/// [`ReadError`] if it is not a regular file of that size in UTF-8.
pub fn read_text(path: &Path, cap_bytes: u64) -> Result<String, ReadError> {
    let text = String::from_utf8(read_bytes(path, cap_bytes)?).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let position = Position::at_offset(&valid, valid.len());
        ReadError::NotUtf8 { position }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// Reads a file of at most `cap_bytes`.
///
/// # Errors
/// [`ReadError`] if it is not a regular file of that size.
pub fn read_bytes(path: &Path, cap_bytes: u64) -> Result<Vec<u8>, ReadError> {
    whole(open(path)?, cap_bytes)
}

/// Reads a whole file, unless it has more than `cap_bytes`.
fn whole(file: File, cap_bytes: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.take(cap_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap_bytes {
        return Err(ReadError::TooLarge { cap_bytes });
    }
    Ok(bytes)
}

/// Reads at most `bytes` of the end of a file, but none of its first `from` bytes.
///
/// # Errors
/// As [`read_head`].
pub fn read_end(path: &Path, from: u64, bytes: u64) -> Result<Vec<u8>, ReadError> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(bytes))))?;
    let mut end = Vec::new();
    file.take(bytes).read_to_end(&mut end)?;
    Ok(end)
}

/// Reads the first `bytes` of a file, or all if it has fewer.
///
/// # Errors
/// [`ReadError`] if it is not a regular file, or cannot be read.
pub fn read_head(path: &Path, bytes: u64) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    open(path)?.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

/// Opens a file of ralph's own for reading, as carefully as [`open_unfollowed`].
///
/// # Errors
/// The file system's error, or one that says what is there instead of a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if let Some((file, _)) = open_unfollowed(path)? {
        return Ok(file);
    }
    only_regular(fs::symlink_metadata(path)?.file_type()).map_err(io::Error::other)?;
    Err(io::ErrorKind::NotFound.into()) // it was replaced meanwhile
}

fn open(path: &Path) -> Result<File, ReadError> {
    // Opening some devices has side effects, so the kind is checked before; and again afterwards, since the path may
    // name another file by then. Neither check waits: a pipe without a writer opens at once.
    only_regular(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)?;
    only_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file that an agent may have replaced, without following a link or waiting. `None` if it is not a regular
/// file.
///
/// # Errors
/// The file system's error; `NotFound` if nothing is there.
pub fn open_unfollowed(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    let opened = OpenOptions::new().read(true).custom_flags(UNFOLLOWED.bits()).open(path);
    let file = match opened {
        // The metadata after a failure only explains it.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(metadata) if !metadata.is_file() => Ok(None),
                Ok(_) | Err(_) => Err(error),
            };
        }
        opened => opened?,
    };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata)))
}

/// Reads a file of at most `cap_bytes` that an agent may have replaced, as carefully as [`open_unfollowed`].
///
/// # Errors
/// [`ReadError`] if it is not a regular file of that size.
pub fn read_unfollowed(path: &Path, cap_bytes: u64) -> Result<Vec<u8>, ReadError> {
    let Some((file, _)) = open_unfollowed(path)? else {
        only_regular(fs::symlink_metadata(path)?.file_type())?;
        // It was not a regular file a moment ago.
        return Err(io::Error::from(io::ErrorKind::NotFound).into());
    };
    whole(file, cap_bytes)
}

/// Writes a new file, and makes its directory; never overwrites an existing file. A file that could not be written
/// whole is removed.
///
/// # Errors
/// `AlreadyExists` if the file exists; otherwise the file system's error.
pub fn create_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    File::create_new(path)?
        .write_all(text.as_bytes())
        .inspect_err(|_| _ = fs::remove_file(path))
}

/// Opens one of ralph's own files for appending, and creates it if it is missing, in a directory that an agent can
/// write as well: as carefully as [`open_unfollowed`], and readable by the user alone.
///
/// # Errors
/// The file system's error; `InvalidInput` if it is not a regular file.
pub fn append_private(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(UNFOLLOWED.bits())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok((file, metadata))
}

/// Locks a file until it is closed. Returns false if another holder keeps the lock for longer than `patience`.
///
/// # Errors
/// The file system's error.
pub fn lock_within(file: &File, patience: Duration) -> io::Result<bool> {
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Replaces `path` with `bytes` so that a reader, a crash or a power loss sees the old content or the new, never a
/// part.
///
/// # Errors
/// The file system's error.
pub fn replace(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<()> {
    written_beside(path, bytes, permissions)?.persist(path)?;
    Ok(())
}

/// Replaces the content `old`, or a missing file, by `new`. Returns false, and changes nothing, if the content is no
/// longer `old`. A link stays one, and the permissions are kept.
///
/// # Errors
/// The file system's error.
pub fn replace_unless_changed(path: &Path, old: Option<&[u8]>, new: &str, cap_bytes: u64) -> io::Result<bool> {
    let Some(old) = old else {
        return match create_new(path, new) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => created.map(|()| true),
        };
    };
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        path => path?,
    };
    let written = written_beside(&path, new.as_bytes(), fs::metadata(&path)?.permissions())?;
    if read_bytes(&path, cap_bytes).map_err(io::Error::other)? != old {
        return Ok(false);
    }
    written.persist(&path)?;
    Ok(true)
}

/// Writes `bytes` to the disk as a temporary file in the directory of `path`; it is deleted unless it is persisted.
fn written_beside(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|directory| *directory != Path::new(""));
    let directory = directory.unwrap_or(Path::new("."));
    faults::check(DiskOperation::Create)?;
    let mut file = tempfile::Builder::new().prefix(".ralph-").tempfile_in(directory)?;
    faults::write_all(&mut file, bytes, DiskOperation::Write)?;
    file.as_file().set_permissions(permissions)?;
    // The new name may reach the disk before the content does.
    faults::check(DiskOperation::Flush)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The entries below `root` except for hidden directories and those with dependencies or build output. Links are not
/// followed, and unreadable directories are left out.
pub fn source_entries(root: &Path) -> impl Iterator<Item = DirEntry> {
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !entry.file_type().is_dir() || !(name.starts_with('.') || MADE.contains(&&*name))
    };
    WalkDir::new(root).into_iter().filter_entry(is_source).flatten()
}

/// Whether two absolute paths lead to one file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

fn only_regular(kind: FileType) -> Result<(), ReadError> {
    let found = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a directory",
        _ if kind.is_symlink() => "a symbolic link",
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(ReadError::NotAFile { found })
}

fn in_words(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    fn why(path: &Path) -> String {
        read_text(path, 8).unwrap_err().to_string()
    }

    #[test]
    fn whatever_is_no_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(why(&pipe), "it is a named pipe, not a regular file");
        let link = dir.path().join("link");
        symlink(&pipe, &link).unwrap();
        assert_eq!(why(&link), "it is a named pipe, not a regular file");
        let endless = dir.path().join("endless");
        symlink("/dev/zero", &endless).unwrap();
        assert_eq!(why(&endless), "it is a device, not a regular file");
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(why(&socket), "it is a socket, not a regular file");
        assert_eq!(why(dir.path()), "it is a directory, not a regular file");
    }

    #[test]
    fn a_file_is_read_through_a_link_and_up_to_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        symlink(&file, &link).unwrap();
        assert!(read_text(&link, 8).unwrap_err().is_missing());
        fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(&link, 8).unwrap(), "12345678");
        assert_eq!(read_head(&link, 3).unwrap(), b"123");
        // Sparse, and larger than memory: the size must be noticed without reading all of it.
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(
            read_text(&link, 2 << 20).unwrap_err().to_string(),
            "it is larger than 2 MiB"
        );
    }

    #[test]
    fn a_file_is_replaced_only_where_it_is_what_was_read_and_stays_a_link_with_its_readers() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        let replaced = |old: Option<&[u8]>, new| replace_unless_changed(&link, old, new, 64).unwrap();
        fs::write(&file, "\u{feff}one").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        assert!(!replaced(Some(b"one"), "two") && !replaced(None, "two"));
        assert_eq!(fs::read(&file).unwrap(), "\u{feff}one".as_bytes());
        assert!(replaced(Some("\u{feff}one".as_bytes()), "two"));
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_file(&link).unwrap();
        assert!(!replaced(Some(b"two"), "three"), "it was deleted meanwhile");
        assert!(replaced(None, "three"));
        assert_eq!(fs::read(&link).unwrap(), b"three");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            2,
            "nothing is left beside them"
        );
    }

    #[test]
    fn a_text_begins_after_its_byte_order_mark_and_other_bytes_are_placed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "\u{feff}text").unwrap();
        assert_eq!(read_text(&file, 8).unwrap(), "text");
        fs::write(&file, b"a\nb\xff").unwrap();
        assert_eq!(why(&file), "line 2, column 2: not UTF-8");
    }
}
