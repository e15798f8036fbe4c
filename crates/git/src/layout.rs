//! Locations of a repository's files, and checks that git can safely read them.
//!
//! An agent can write all of them: a pipe in the place of a file makes git wait without end, and a repository in the
//! place of this one would receive its checkpoints.

use std::{
    fs::{self, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_system::files::open_unfollowed;

use super::{GitError, blocking_file::is_endless, process};

/// Files that every git command reads, in the work tree's root and in git's own directories.
const OF_THE_ROOT: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];
const OF_THE_WORK_TREE: [&str; 4] = ["HEAD", "config.worktree", "commondir", "info/sparse-checkout"];
const OF_ALL_WORK_TREES: [&str; 7] = [
    "config",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
];

/// Most bytes of a file in the place of `.git`: a path and a word.
const GITFILE_BYTES: u64 = 8192;

/// The largest such file that git may read. References of a million branches need less than a tenth of it; git sorts
/// unsorted ones in memory, holes of a sparse file included.
const MOST_BYTES: u64 = 1 << 30;

/// Symbolic references that git follows in a row.
const MOST_HOPS: usize = 5;

/// The directories of a repository.
#[derive(Debug)]
pub(super) struct RepositoryLayout {
    /// The work tree's root, absolute.
    pub(super) root: PathBuf,
    /// git's directory of this work tree, absolute: a linked work tree has its own.
    pub(super) git_dir: PathBuf,
    /// git's directory that all work trees of the repository share, absolute.
    pub(super) common_dir: PathBuf,
}

/// The identity of a directory, which tells it from a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryIdentity {
    device: u64,
    inode: u64,
    /// Creation time; `None` if the file system does not record it.
    made: Option<SystemTime>,
}

impl RepositoryLayout {
    /// Returns the identities of the repository's directories.
    ///
    /// # Errors
    /// [`GitError::Gone`]; [`GitError::Replaced`] if something else is in their place.
    pub(super) fn directory_identities(&self) -> Result<[DirectoryIdentity; 2], GitError> {
        Ok([
            DirectoryIdentity::of(&self.git_dir)?,
            DirectoryIdentity::of(&self.common_dir)?,
        ])
    }

    /// Inspects each file that git is about to read.
    ///
    /// # Errors
    /// [`GitError::NotAFile`] and [`GitError::TooLarge`] name the first that would make git wait or read without end.
    pub(super) fn inspect(&self) -> Result<(), GitError> {
        inspect(&self.root, &self.git_dir, &self.common_dir)
    }
}

/// Inspects the files that git finds on its way up from a project, before git does.
///
/// # Errors
/// [`GitError::NotAFile`], [`GitError::TooLarge`].
pub(super) fn inspect_above(project: &Path) -> Result<(), GitError> {
    for root in project.ancestors() {
        if let Some(git_dir) = git_dir_of(root) {
            let common_dir = read_small(&git_dir.join("commondir")).map_or_else(
                || git_dir.clone(),
                |named| git_dir.join(process::path(named.trim_ascii_end())),
            );
            inspect(root, &git_dir, &common_dir)?;
        }
    }
    Ok(())
}

/// Finds the directory, `project` or one above, whose `.git` is `git_dir`. git itself would trust the repository's
/// configuration.
pub(super) fn root_of(project: &Path, git_dir: &Path) -> Option<PathBuf> {
    let is_root = |root: &&Path| {
        let found = git_dir_of(root).and_then(|found| found.canonicalize().ok());
        found.is_some_and(|found| found == git_dir)
    };
    project.ancestors().find(is_root).map(Path::to_owned)
}

/// Returns the directory that `.git` is or names.
pub(super) fn git_dir_of(root: &Path) -> Option<PathBuf> {
    let entry = root.join(".git");
    if fs::metadata(&entry).ok()?.is_dir() {
        return Some(entry);
    }
    let text = read_small(&entry)?;
    let named = text.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(root.join(process::path(named)))
}

fn inspect(root: &Path, git_dir: &Path, common_dir: &Path) -> Result<(), GitError> {
    let of = |directory: &Path, names: &[&str]| names.iter().map(|name| directory.join(name)).collect::<Vec<_>>();
    let files = [
        of(git_dir, &OF_THE_WORK_TREE),
        of(common_dir, &OF_ALL_WORK_TREES),
        of(root, &OF_THE_ROOT),
        references(git_dir, common_dir),
    ];
    files.into_iter().flatten().try_for_each(inspect_file)
}

/// Refuses a file that would be read without end, directly or through a link.
fn inspect_file(path: PathBuf) -> Result<(), GitError> {
    match fs::metadata(&path) {
        Ok(metadata) if is_endless(&metadata) => Err(GitError::NotAFile { path }),
        Ok(metadata) if metadata.len() > MOST_BYTES => Err(GitError::TooLarge { path }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Lists the files that may hold the references HEAD leads to: git reads all of such a file, even a device.
fn references(git_dir: &Path, common_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = read_small(&git_dir.join("HEAD"));
    for _ in 0..MOST_HOPS {
        let Some(name) = next.as_deref().and_then(|text| text.strip_prefix(b"ref:")) else {
            break;
        };
        let name = process::path(name.trim_ascii());
        // Most references are shared by all work trees; some belong to one.
        let both = [common_dir.join(&name), git_dir.join(&name)];
        next = both.iter().find_map(|path| read_small(path));
        found.extend(both);
    }
    found
}

impl DirectoryIdentity {
    /// # Errors
    /// [`GitError::Gone`]; [`GitError::Replaced`] if it is no directory.
    pub(super) fn of(directory: &Path) -> Result<DirectoryIdentity, GitError> {
        let path = directory.to_owned();
        match fs::symlink_metadata(directory) {
            Ok(metadata) if metadata.is_dir() => Ok(DirectoryIdentity::from_metadata(&metadata)),
            Ok(_) => Err(GitError::Replaced { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(GitError::Gone { path }),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(GitError::Replaced { path }),
            Err(source) => Err(GitError::File { path, source }),
        }
    }

    fn from_metadata(metadata: &Metadata) -> DirectoryIdentity {
        DirectoryIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            made: metadata.created().ok(),
        }
    }
}

/// Reads at most 8 KiB of a regular file.
pub(super) fn read_small(path: &Path) -> Option<Vec<u8>> {
    let (file, _) = open_unfollowed(path).ok()??;
    let mut bytes = Vec::new();
    file.take(GITFILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
