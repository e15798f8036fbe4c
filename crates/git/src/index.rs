//! ralph's own index: tracked and untracked files with their bytes as they are, not as git would store them. It is kept
//! between checkpoints.
//!
//! git writes it. What the user's index has reaches it as names and modes only, so git reads each of those files once
//! before it trusts the entry: the user's index may hold converted content.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
};

use ralph_system::files::open_unfollowed;

use super::{
    GitError, Repository,
    process::{self, nul_separated},
    state::RepositoryState,
    take::listed,
};

/// A larger index is not plausible: git needs about a hundred bytes for each file. The list of its files is shorter.
const CAP_BYTES: usize = 512 << 20;

/// The user's index when ralph's was last updated from it.
#[derive(Debug)]
pub(super) struct UserIndex {
    identity: IndexIdentity,
    /// The output of `git ls-files -t --stage -z`.
    listed: Vec<u8>,
}

/// The identity of the user's index file: git never writes an index in place, so a new version is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexIdentity {
    Missing,
    /// A file that git would not leave there, or a huge one.
    Odd,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

impl IndexIdentity {
    fn from_metadata(metadata: &Metadata) -> IndexIdentity {
        IndexIdentity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// A file of the user's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListedFile<'a> {
    /// The item of the list.
    item: &'a [u8],
    /// The file should not be in the work tree (`skip-worktree`).
    is_skipped: bool,
    /// `MODE OBJECT`.
    content: &'a str,
    path: &'a [u8],
}

impl<'a> ListedFile<'a> {
    /// Parses `TAG MODE OBJECT STAGE<TAB>PATH`.
    fn parse(item: &'a [u8]) -> Option<ListedFile<'a>> {
        let tab = item.iter().position(|&byte| byte == b'\t')?;
        let (tag, rest) = str::from_utf8(&item[..tab]).ok()?.split_once(' ')?;
        Some(ListedFile {
            item,
            is_skipped: tag == "S",
            content: rest.rsplit_once(' ')?.0,
            path: &item[tab + 1..],
        })
    }

    /// Whether a work tree can have the path: no `..`, `.git` or empty part. An agent can write any path into an index.
    fn is_possible(&self) -> bool {
        let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b".." | b".git");
        self.path.split(|&byte| byte == b'/').all(is_part)
    }

    /// Formats the file for `git update-index --index-info`. A file in conflict is listed with each of its sides; the
    /// last one stands for it.
    fn entry(&self) -> Vec<u8> {
        [self.content.as_bytes(), b" 0\t", self.path, b"\0"].concat()
    }
}

impl UserIndex {
    fn files(&self) -> impl Iterator<Item = ListedFile<'_>> {
        let files = nul_separated(&self.listed).filter_map(ListedFile::parse);
        files.filter(ListedFile::is_possible)
    }

    /// Returns those of the paths that the user's index has; ralph's also has untracked ones.
    pub(super) fn tracked(&self, paths: &[PathBuf]) -> HashSet<PathBuf> {
        if paths.is_empty() {
            return HashSet::new();
        }
        let paths: HashSet<&[u8]> = paths.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let tracked = self.files().filter(|file| paths.contains(file.path));
        tracked.map(|file| process::path(file.path)).collect()
    }
}

impl Repository {
    /// Updates ralph's index from the user's, unless the user's is the same as the last time. Returns whether ralph's
    /// may have changed.
    ///
    /// The user's index tells which ignored files are tracked. Only its differences from the last time are taken,
    /// because ralph knows the other files better.
    pub(super) fn follow_index(&self, state: &mut RepositoryState) -> Result<bool, GitError> {
        self.make_attribute_free()?;
        let identity = self.user_index_identity()?;
        let is_known = state.origin.as_ref().is_some_and(|origin| origin.identity == identity);
        if is_known && !state.absent.iter().any(|path| self.is_there(path)) {
            return Ok(false);
        }
        let user_index = self.list_user_index(identity)?;
        let last = state.origin.take();
        let entries = self.differences(last.as_ref(), &user_index, &mut state.absent);
        let is_changed = !entries.is_empty();
        if is_changed {
            let add = ["update-index", "-z", "--index-info"];
            self.own_index_git().args(add).input(entries).run()?;
        }
        if last.is_none() && !state.absent.is_empty() {
            let skip = ["update-index", "--skip-worktree", "-z", "--stdin"];
            let absent = state.absent.join(&0);
            self.own_index_git().args(skip).input(absent).run()?;
        }
        if identity == IndexIdentity::Odd {
            state.add_notice(format!(
                "{} is not a regular file of at most {} MiB: checkpoints are made without it, and hold no ignored files.",
                self.user_index_path().display(),
                CAP_BYTES >> 20
            ));
        }
        state.origin = Some(user_index);
        Ok(is_changed)
    }

    /// Returns what differs between two versions of the user's index, for `git update-index --index-info`. Only the first
    /// version can add absent files: one that gets `skip-worktree` later is not there because it was deleted.
    fn differences(&self, last: Option<&UserIndex>, now: &UserIndex, absent: &mut Vec<Vec<u8>>) -> Vec<u8> {
        let before = || last.into_iter().flat_map(UserIndex::files);
        let known: HashSet<&[u8]> = before().map(|file| file.item).collect();
        let was_absent: HashSet<Vec<u8>> = absent.drain(..).collect();
        let (mut entries, mut paths) = (Vec::new(), HashSet::new());
        for file in now.files() {
            paths.insert(file.path);
            if self.excludes(&process::path(file.path)) {
                continue;
            }
            let was_absent = was_absent.contains(file.path);
            let is_absent = file.is_skipped && !self.is_there(file.path);
            if is_absent && (was_absent || last.is_none()) {
                absent.push(file.path.to_owned());
            }
            let is_news = was_absent || !known.contains(file.item);
            if is_news && (!is_absent || last.is_none()) {
                entries.extend(file.entry());
            }
        }
        for file in before().filter(|file| !paths.contains(file.path)) {
            // Mode 0 removes.
            let nothing = format!("0 {}\t", "0".repeat(2 * self.id_bytes));
            entries.extend([nothing.as_bytes(), file.path, b"\0"].concat());
        }
        entries
    }

    /// Removes untracked files that are ignored by now from ralph's index; returns whether there were any.
    pub(super) fn drop_ignored(&self, state: &RepositoryState) -> Result<bool, GitError> {
        let list = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let output = self.own_index_git().args(list).run()?;
        let mut ignored: Vec<PathBuf> = nul_separated(&output.stdout).map(process::path).collect();
        let tracked = state.origin.as_ref().map(|index| index.tracked(&ignored));
        ignored.retain(|path| !tracked.as_ref().is_some_and(|tracked| tracked.contains(path)));
        if ignored.is_empty() {
            return Ok(false);
        }
        let remove = ["update-index", "--force-remove", "-z", "--stdin"];
        self.own_index_git().args(remove).input(listed(&ignored)).run()?;
        Ok(true)
    }

    fn user_index_path(&self) -> PathBuf {
        self.layout.git_dir.join("index")
    }

    fn user_index_identity(&self) -> Result<IndexIdentity, GitError> {
        let path = self.user_index_path();
        match open_unfollowed(&path) {
            Ok(Some((_, metadata))) if metadata.len() <= CAP_BYTES as u64 => {
                Ok(IndexIdentity::from_metadata(&metadata))
            }
            Ok(_) => Ok(IndexIdentity::Odd),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(IndexIdentity::Missing),
            Err(source) => Err(GitError::File { path, source }),
        }
    }

    fn list_user_index(&self, identity: IndexIdentity) -> Result<UserIndex, GitError> {
        let listed = match identity {
            IndexIdentity::Missing | IndexIdentity::Odd => Vec::new(),
            IndexIdentity::File { .. } => {
                let git = self.git().env("GIT_INDEX_FILE", self.user_index_path());
                let list = ["ls-files", "-t", "--stage", "-z"];
                let output = git.output_cap(CAP_BYTES).args(list).run()?;
                match output.cut {
                    true => return Err(output.unexpected()),
                    false => output.stdout,
                }
            }
        };
        Ok(UserIndex { identity, listed })
    }

    fn is_there(&self, path: impl AsRef<[u8]>) -> bool {
        let path = self.layout.root.join(process::path(path.as_ref()));
        fs::symlink_metadata(path).is_ok()
    }

    /// Removes ralph's index; the next checkpoint begins from the user's again.
    pub(super) fn forget_index(&self) -> Result<(), GitError> {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(GitError::File { path, source }),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        self.lock().finish_naming();
        _ = self.forget_index(); // a copy, of no use to the next run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_and_names_that_lead_elsewhere_are_nobodys_files() {
        let of = |tag: &str, stage: &str, path: &str| format!("{tag} 100644 07 {stage}\t{path}\0");
        let listed = [
            of("H", "0", "a b"),
            of("S", "0", "gone"),
            of("M", "3", "both"),
            of("H", "0", "../up"),
            of("H", "0", "a/../b"),
            of("H", "0", "/absolute"),
            of("H", "0", ".git/config"),
            of("H", "0", "a//b"),
            "no listing\0".to_owned(),
        ];
        let index = UserIndex {
            identity: IndexIdentity::Missing,
            listed: listed.concat().into_bytes(),
        };
        let files: Vec<_> = index.files().map(|file| (file.is_skipped, file.entry())).collect();
        let entry = |path: &str| format!("100644 07 0\t{path}\0").into_bytes();
        assert_eq!(
            files,
            [(false, entry("a b")), (true, entry("gone")), (false, entry("both"))]
        );
    }
}
