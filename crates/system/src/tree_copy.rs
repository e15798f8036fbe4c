//! Copies of a project outside of it, for the room in which goals run.
//!
//! Files are copied and never linked: a write to the copy would change the project. The copies share blocks if the file
//! system can do so.

use std::{
    fs::{self, DirBuilder, File, FileTimes, FileType, Metadata, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

use nix::sys::stat::{Mode, SFlag, mknod};
use thiserror::Error;
use walkdir::{DirEntry, WalkDir};

use crate::files::open_unfollowed;

/// Most files of a copy, and most bytes of them.
const FILES: u64 = 500_000;
const BYTES: u64 = 32 << 30;
/// Most bytes of a directory that tools can rebuild.
const CACHE_BYTES: u64 = 4 << 30;
/// Deepest nesting of directories.
const DEPTH: usize = 128;
/// Marks a directory that tools can rebuild.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// The directory of npm's packages, and the file that marks one of Python's.
pub const PACKAGES: &str = "node_modules";
const PYTHON_TAG: &str = "pyvenv.cfg";
/// The directory of what Python compiles.
const COMPILED_PYTHON: &str = "__pycache__";
const GIT: &str = ".git";

#[derive(Debug, Error)]
pub enum TreeCopyError {
    #[error("{path}: cannot be copied", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the project has more than {FILES} files or {} GiB, which are not copied", BYTES >> 30)]
    TooLarge,
    #[error("{path}: too many directories below each other", path = path.display())]
    TooDeep { path: PathBuf },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> TreeCopyError {
    let path = path.to_owned();
    |source| TreeCopyError::File { path, source }
}

/// Copies `project` into the empty directory `to`, without the directory `excluded`. Git's directory becomes an empty one,
/// on which it can be mounted. Directories that tools can rebuild are left out if they are too large, as are unreadable
/// files.
///
/// # Errors
/// [`TreeCopyError`] if the project is too large, or the copy cannot be written.
pub fn copy_project(project: &Path, to: &Path, excluded: &Path) -> Result<(), TreeCopyError> {
    CopyJob::for_project(Some(excluded)).directory(project, to, 0)
}

/// Copies the content of a directory over a copy. A file replaces anything at its path, and a directory replaces a file or
/// link. The files get the present time, because build tools rely on it.
///
/// # Errors
/// [`TreeCopyError`] if there is too much, or something cannot be read or written.
pub fn lay_over(directory: &Path, copy: &Path) -> Result<(), TreeCopyError> {
    let mut copying = CopyJob {
        times: CopiedTimes::Present,
        ..CopyJob::for_project(None)
    };
    copying.directory(directory, copy, 0)
}

/// Copies the file, link or directory at `from` to `to`, in the place of what is there. If there is none, `to` is removed.
///
/// # Errors
/// As [`copy_project`].
pub fn replace_tree(from: &Path, to: &Path) -> Result<(), TreeCopyError> {
    clear(to)?;
    let Ok(metadata) = fs::symlink_metadata(from) else {
        return Ok(());
    };
    if let Some(above) = to.parent() {
        fs::create_dir_all(above).map_err(at(above))?;
    }
    CopyJob::for_project(None).entry(from, to, metadata.file_type(), 0)
}

/// Whether a copy still has the names, sizes and times of what it is a copy of. Directories that tools can rebuild are
/// not compared.
pub fn is_as_copied(from: &Path, copy: &Path) -> bool {
    let listed = |root: &Path| {
        let root = root.to_owned();
        let entries = WalkDir::new(&root).sort_by_file_name().into_iter();
        let entries = entries.filter_entry(|entry| !is_rebuilt(entry.path())).flatten();
        entries.map(move |entry| {
            let file = entry.metadata().ok()?;
            let content = file.is_file().then(|| (file.len(), file.modified().ok()));
            let leads_to = file.is_symlink().then(|| fs::read_link(entry.path()).ok());
            let below = entry.path().strip_prefix(&root).ok()?.to_owned();
            Some((below, file.file_type(), content, leads_to))
        })
    };
    let mut copies = listed(copy);
    // The first difference decides: packages are many files.
    listed(from).all(|file| file.is_some() && copies.next() == Some(file)) && copies.next().is_none()
}

/// The number of a file and the time of its last change, which no program can set: they differ after any change.
pub type FileStamp = (u64, i64, i64);

pub fn stamp(there: &Metadata) -> FileStamp {
    (there.ino(), there.ctime(), there.ctime_nsec())
}

/// Returns the files below a path, each with its path from there.
pub fn stamps_below(path: &Path) -> impl Iterator<Item = (PathBuf, FileStamp)> + use<> {
    let above = path.to_owned();
    let entries = WalkDir::new(path).into_iter().flatten();
    entries
        .filter(|entry| !entry.file_type().is_dir())
        .filter_map(move |entry| {
            let metadata = entry.metadata().ok()?;
            let file = entry.path().strip_prefix(&above).ok()?.to_owned();
            Some((file, stamp(&metadata)))
        })
}

/// Returns what has changed below a directory at a time that `is_within` accepts, in milliseconds since 1970: files, and
/// directories that were moved there, or made at a time that `is_made` accepts. What is below these is not listed.
///
/// The time of the last change decides, which no program can set. A directory changes with the names in it as well, so it
/// counts as moved if these have not changed then.
pub fn changed_below(directory: &Path, is_within: impl Fn(u64) -> bool, is_made: impl Fn(u64) -> bool) -> Vec<PathBuf> {
    let has_changed = |there: &Metadata| {
        let is_within = |seconds: i64, nanoseconds: i64| is_within(millis(seconds, nanoseconds));
        let has_changed = is_within(there.ctime(), there.ctime_nsec());
        let made = || there.created().ok()?.duration_since(UNIX_EPOCH).ok();
        let is_made = || made().is_some_and(|made| is_made(made.as_millis() as u64));
        match there.is_dir() {
            false => has_changed,
            true => has_changed && !is_within(there.mtime(), there.mtime_nsec()) || is_made(),
        }
    };
    let (mut found, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        // Beside its directory a file is found without looking for each part of its path, of which caches have many.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(there) if has_changed(&there) => found.push(entry.path()),
                Ok(there) if there.is_dir() => left.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}

/// Returns everything below a directory.
pub fn paths_below(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = WalkDir::new(directory).min_depth(1).into_iter().flatten();
    entries.map(DirEntry::into_path)
}

fn millis(seconds: i64, nanoseconds: i64) -> u64 {
    u64::try_from(seconds * 1000 + nanoseconds / 1_000_000).unwrap_or_default()
}

/// Makes `layer` take these paths out of a directory above which it is mounted.
///
/// # Errors
/// [`TreeCopyError::File`] if the system has no such files.
pub fn take_out<'a>(paths: impl Iterator<Item = &'a Path>, layer: &Path) -> Result<(), TreeCopyError> {
    for path in paths {
        let path = layer.join(path);
        let above = path.parent().unwrap_or(layer);
        let made = fs::create_dir_all(above).and_then(|()| Ok(mknod(&path, SFlag::S_IFCHR, Mode::empty(), 0)?));
        made.map_err(at(&path))?;
    }
    Ok(())
}

/// Whether tools make the directory anew if it is not there.
pub fn is_rebuilt(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == COMPILED_PYTHON) || path.join(CACHE_TAG).exists()
}

/// Whether a directory holds installed packages.
pub fn has_packages(directory: &Path) -> bool {
    directory.file_name().is_some_and(|name| name == PACKAGES) || directory.join(PYTHON_TAG).exists()
}

/// Removes a directory with everything in it, also what is read-only.
///
/// # Errors
/// [`TreeCopyError::File`] if something of it stays.
pub fn remove_tree(directory: &Path) -> Result<(), TreeCopyError> {
    if fs::remove_dir_all(directory).is_err() {
        // Some tools make directories read-only, as Go does for modules.
        make_writable(directory, 0);
        _ = fs::remove_dir_all(directory); // checked below
    }
    match fs::symlink_metadata(directory) {
        Err(_) => Ok(()),
        Ok(_) => Err(at(directory)(io::ErrorKind::DirectoryNotEmpty.into())),
    }
}

/// The number of copied files, and their total size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopiedFiles {
    pub files: u64,
    pub bytes: u64,
}

/// Copies `files`, which are relative paths, from one directory to another. Leaves out files that exist there, or whose
/// directory there is a symbolic link, which could lead anywhere.
///
/// # Errors
/// [`TreeCopyError::File`] if a file cannot be copied.
pub fn copy_files(from: &Path, to: &Path, files: &[PathBuf]) -> Result<CopiedFiles, TreeCopyError> {
    let mut copying = CopyJob {
        left: RemainingRoom {
            files: u64::MAX,
            bytes: u64::MAX,
        },
        excluded: None,
        times: CopiedTimes::Kept,
    };
    let mut copied = CopiedFiles::default();
    for file in files {
        let (source, target) = (from.join(file), to.join(file));
        let Ok(metadata) = fs::symlink_metadata(&source) else {
            continue;
        };
        if fs::symlink_metadata(&target).is_ok() || !make_directories(to, file)? {
            continue;
        }
        if metadata.is_symlink() {
            link(&fs::read_link(&source).map_err(at(&source))?, &target)?;
        } else if metadata.is_file() {
            copying.file(&source, &target)?;
        } else {
            continue;
        }
        copied.files += 1;
        copied.bytes += metadata.len();
    }
    Ok(copied)
}

/// Makes the directories above the relative path `file` in `root`. Returns whether all of them are directories, and none
/// is a symbolic link.
///
/// # Errors
/// [`TreeCopyError::File`] if one cannot be made.
pub fn make_directories(root: &Path, file: &Path) -> Result<bool, TreeCopyError> {
    let mut directory = root.to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else {
            return Ok(false);
        };
        directory.push(part);
        match fs::symlink_metadata(&directory) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(_) => fs::create_dir(&directory).map_err(at(&directory))?,
        }
    }
    Ok(true)
}

fn make_writable(directory: &Path, depth: usize) {
    _ = fs::set_permissions(directory, Permissions::from_mode(0o700)); // fails for another user's directory
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|_| depth < DEPTH) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path(), depth + 1);
        }
    }
}

/// The room that is left for a copy.
#[derive(Debug, Clone, Copy)]
struct RemainingRoom {
    files: u64,
    bytes: u64,
}

impl RemainingRoom {
    fn take(&mut self, bytes: u64) -> Result<(), TreeCopyError> {
        let files = self.files.checked_sub(1);
        let bytes = self.bytes.checked_sub(bytes);
        let (Some(files), Some(bytes)) = (files, bytes) else {
            return Err(TreeCopyError::TooLarge);
        };
        *self = RemainingRoom { files, bytes };
        Ok(())
    }
}

/// The modification time of copied files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopiedTimes {
    /// That of the originals: otherwise build tools would rebuild everything.
    Kept,
    Present,
}

#[derive(Debug)]
struct CopyJob {
    left: RemainingRoom,
    /// A directory that is not copied.
    excluded: Option<PathBuf>,
    times: CopiedTimes,
}

impl CopyJob {
    fn for_project(excluded: Option<&Path>) -> Self {
        CopyJob {
            left: RemainingRoom {
                files: FILES,
                bytes: BYTES,
            },
            excluded: excluded.map(Path::to_owned),
            times: CopiedTimes::Kept,
        }
    }

    /// Copies the content of `from` into `to`, which exists or is made.
    fn directory(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), TreeCopyError> {
        if depth > DEPTH {
            return Err(TreeCopyError::TooDeep { path: from.to_owned() });
        }
        let is_project = self.times == CopiedTimes::Kept;
        let entries = match fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) if is_project && is_gone_or_denied(&error) => return Ok(()),
            Err(error) => return Err(at(from)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(at(from))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let Ok(kind) = entry.file_type() else { continue };
            let copied = self.entry(&source, &target, kind, depth);
            match copied {
                Err(TreeCopyError::File { source: why, path })
                    if is_project && path.starts_with(from) && is_gone_or_denied(&why) => {}
                copied => copied?,
            }
        }
        Ok(())
    }

    /// Copies what is at `source`, which is of this kind.
    fn entry(&mut self, source: &Path, target: &Path, kind: FileType, depth: usize) -> Result<(), TreeCopyError> {
        let is_git = self.times == CopiedTimes::Kept && source.file_name().is_some_and(|name| name == GIT);
        if is_git && kind.is_dir() {
            fs::create_dir(target).map_err(at(target))
        } else if kind.is_dir() {
            self.inner(source, target, depth)
        } else if kind.is_symlink() {
            link(&fs::read_link(source).map_err(at(source))?, target)
        } else if kind.is_file() {
            self.file(source, target)
        } else {
            Ok(())
        }
    }

    fn inner(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), TreeCopyError> {
        if self.excluded.as_deref() == Some(from) {
            return Ok(());
        }
        let is_cache = self.times == CopiedTimes::Kept && !has_packages(from) && from.join(CACHE_TAG).exists();
        if is_cache && !fits(from, CACHE_BYTES) {
            return Ok(());
        }
        self.left.take(0)?;
        if !fs::symlink_metadata(to).is_ok_and(|there| there.is_dir()) {
            clear(to)?;
            DirBuilder::new().mode(0o700).create(to).map_err(at(to))?;
        }
        self.directory(from, to, depth + 1)?;
        if let Ok(metadata) = fs::metadata(from) {
            // The copy is at the place of the project, so programs may look at it. Others cannot reach it.
            let mode = metadata.mode() & 0o777 | 0o700;
            fs::set_permissions(to, Permissions::from_mode(mode)).map_err(at(to))?;
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), TreeCopyError> {
        let Some((mut source, metadata)) = open_unfollowed(from).map_err(at(from))? else {
            return Ok(());
        };
        self.left.take(metadata.len())?;
        clear(to)?;
        let mut target = File::create_new(to).map_err(at(to))?;
        io::copy(&mut source, &mut target).map_err(at(to))?;
        let mode = metadata.mode() & 0o777;
        target.set_permissions(Permissions::from_mode(mode)).map_err(at(to))?;
        if self.times == CopiedTimes::Kept {
            let modified = metadata.modified().map_err(at(from))?;
            let times = FileTimes::new().set_modified(modified);
            target.set_times(times).map_err(at(to))?;
        }
        Ok(())
    }
}

/// Whether an error says that a file is gone by now, or may not be read.
fn is_gone_or_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Replaces any file or directory at `path` by a link to `leads_to`.
fn link(leads_to: &Path, path: &Path) -> Result<(), TreeCopyError> {
    clear(path)?;
    symlink(leads_to, path).map_err(at(path))
}

/// Removes a file or directory at `path`, if there is one, without following links.
///
/// # Errors
/// [`TreeCopyError::File`] if something of it stays.
pub fn clear(path: &Path) -> Result<(), TreeCopyError> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path).map_err(at(path)),
        Err(_) => Ok(()),
    }
}

/// Returns the size of the files of a directory, without those of its repository.
pub fn bytes_in(directory: &Path) -> u64 {
    sizes_in(directory).sum()
}

/// Whether the files of a directory have no more than so many bytes. Looks at no more files than that takes.
fn fits(directory: &Path, bytes: u64) -> bool {
    let mut sizes = sizes_in(directory);
    sizes.try_fold(bytes, u64::checked_sub).is_some()
}

fn sizes_in(directory: &Path) -> impl Iterator<Item = u64> + use<> {
    let git = directory.join(GIT);
    let entries = WalkDir::new(directory)
        .into_iter()
        .filter_entry(move |entry| entry.path() != git);
    let found = entries.flatten().filter_map(|entry| entry.metadata().ok());
    found.filter(Metadata::is_file).map(|metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn sealed_files_take_the_place_of_what_is_there_and_no_link_leads_them_out_of_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let (project, sealed) = (place.path().join("project"), place.path().join("sealed"));
        write(&project.join("src/a.py"), "a");
        write(&project.join("tests/test_a.py"), "soft");
        write(&project.join("data/file/inner"), "x");
        write(&project.join(".git/HEAD"), "ref");
        fs::set_permissions(project.join("src/a.py"), Permissions::from_mode(0o555)).unwrap();
        symlink("../elsewhere", project.join("hidden")).unwrap();
        write(&place.path().join("elsewhere/test_b.py"), "theirs");
        write(&sealed.join("tests/test_a.py"), "hard");
        write(&sealed.join("hidden/test_b.py"), "held out");
        write(&sealed.join("data/file"), "a file");
        let copy = place.path().join("copy");
        fs::create_dir(&copy).unwrap();
        copy_project(&project, &copy, &project.join("state")).unwrap();
        lay_over(&sealed, &copy).unwrap();
        let read = |path: &str| fs::read_to_string(copy.join(path)).unwrap();
        for (path, text) in [
            ("src/a.py", "a"),
            ("tests/test_a.py", "hard"),
            ("hidden/test_b.py", "held out"),
            ("data/file", "a file"),
        ] {
            assert_eq!(read(path), text, "{path}");
        }
        let elsewhere = fs::read_to_string(place.path().join("elsewhere/test_b.py")).unwrap();
        assert_eq!(elsewhere, "theirs");
        let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(modified(&copy.join("src/a.py")), modified(&project.join("src/a.py")));
        assert_eq!(fs::metadata(copy.join("src/a.py")).unwrap().mode() & 0o777, 0o555);
        assert_eq!(
            fs::read_dir(copy.join(".git")).unwrap().count(),
            0,
            "it is mounted there"
        );
    }

    #[test]
    fn a_project_that_is_too_large_is_refused() {
        let mut room = RemainingRoom { files: 2, bytes: 10 };
        room.take(10).unwrap();
        assert!(matches!(room.take(1), Err(TreeCopyError::TooLarge)));
        let place = tempfile::tempdir().unwrap();
        write(&place.path().join("a/b"), "12345");
        assert_eq!(bytes_in(place.path()), 5);
        assert!(fits(place.path(), 5) && !fits(place.path(), 4));
    }
}
