//! ralph's own index: tracked and untracked files with their bytes as they are, not as git would store them. It is kept
//! between checkpoints.
//!
//! git writes it. Of the user's index only the names are taken, and git reads each of these files once: the user's index may
//! hold converted content, and name objects that an agent has made. Only a file that is not there, or that cannot be read, is
//! in it as the user's index has it.

use std::{collections::HashSet, fs, io, path::PathBuf};

use ralph_system::files::open_unfollowed;

use super::{
    GitError, Repository,
    process::{self, nul_separated},
    state::RepositoryState,
    status::WorkTreeStatus,
    user_index::{IndexIdentity, ListedFile, UserIndex},
};

/// A larger index is not plausible: git needs about a hundred bytes for each file. The list of its files is shorter.
const CAP_BYTES: usize = 512 << 20;

/// The news of the user's index.
#[derive(Debug, Default)]
struct IndexNews<'a> {
    /// For `git update-index --index-info`.
    entries: Vec<u8>,
    /// Files to read.
    files: Vec<PathBuf>,
    /// Files to take as the user's index has them.
    stored: Vec<ListedFile<'a>>,
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
        let mut news = self.differences(last.as_ref(), &user_index, &mut state.absent);
        self.take_over(&mut news, state)?;
        let mut is_changed = !news.entries.is_empty();
        if is_changed {
            let add = ["update-index", "-z", "--index-info"];
            self.own_index_git().args(add).input(news.entries).run()?;
            // They may be among the entries.
            state.nested.forget_links();
        }
        if last.is_none() && !state.absent.is_empty() {
            let skip = ["update-index", "--skip-worktree", "-z", "--stdin"];
            let absent = state.absent.join(&0);
            self.own_index_git().args(skip).input(absent).run()?;
        }
        let files = WorkTreeStatus {
            changed: news.files,
            ..WorkTreeStatus::default()
        };
        let mut work = self.sort(files, Some(&user_index));
        is_changed |= !work.is_empty();
        self.update_index(&mut work)?;
        work.notices().into_iter().for_each(|notice| state.add_notice(notice));
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

    /// Returns what differs between two versions of the user's index. Only the first version can add absent files: one that
    /// gets `skip-worktree` later is not there because it was deleted.
    fn differences<'a>(
        &self,
        last: Option<&UserIndex>,
        now: &'a UserIndex,
        absent: &mut Vec<Vec<u8>>,
    ) -> IndexNews<'a> {
        let before = || last.into_iter().flat_map(UserIndex::files);
        let known: HashSet<&[u8]> = before().map(|file| file.item).collect();
        let was_absent: HashSet<Vec<u8>> = absent.drain(..).collect();
        let (mut news, mut paths) = (IndexNews::default(), HashSet::new());
        for file in now.files() {
            paths.insert(file.path);
            let path = process::path(file.path);
            if self.excludes(&path) {
                continue;
            }
            let was_absent = was_absent.contains(file.path);
            let is_absent = file.is_skipped && !self.is_there(file.path);
            if is_absent && (was_absent || last.is_none()) {
                absent.push(file.path.to_owned());
            }
            let is_news = was_absent || !known.contains(file.item);
            if !is_news || is_absent && last.is_some() {
                continue;
            }
            if file.is_link() {
                news.entries.extend(file.entry());
            } else if is_absent || self.is_unreadable(&path) {
                news.stored.push(file);
            } else if !fs::symlink_metadata(self.layout.root.join(&path)).is_ok_and(|found| found.is_dir()) {
                news.files.push(path);
            }
        }
        for file in before().filter(|file| !paths.contains(file.path)) {
            news.entries.extend(self.removal(file.path));
        }
        news
    }

    /// Adds the entries of files that are taken as the user's index has them. Those whose content the store cannot get are
    /// left out.
    fn take_over(&self, news: &mut IndexNews, state: &mut RepositoryState) -> Result<(), GitError> {
        let objects: Vec<&str> = news.stored.iter().map(ListedFile::object).collect();
        let missing: HashSet<String> = self.bring_in(&objects)?.into_iter().collect();
        let (lacking, stored): (Vec<ListedFile>, Vec<ListedFile>) =
            news.stored.iter().partition(|file| missing.contains(file.object()));
        news.entries.extend(stored.iter().flat_map(ListedFile::entry));
        if let Some(first) = lacking.first() {
            let lacking: HashSet<&[u8]> = lacking.iter().map(|file| file.path).collect();
            state.absent.retain(|path| !lacking.contains(path.as_slice()));
            state.add_notice(format!(
                "Checkpoints lack {} tracked files that are not in the work tree or cannot be read, {} among them.",
                lacking.len(),
                process::path(first.path).display()
            ));
        }
        Ok(())
    }

    /// Removes untracked files that are ignored by now from ralph's index; returns whether there were any.
    pub(super) fn drop_ignored(&self, state: &RepositoryState) -> Result<bool, GitError> {
        let list = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let output = self.own_index_git().args(list).run()?;
        let mut ignored: Vec<PathBuf> = nul_separated(&output.stdout).map(process::path).collect();
        let tracked = state.origin.as_ref().map(|index| index.tracked(&ignored));
        ignored.retain(|path| !tracked.as_ref().is_some_and(|tracked| tracked.contains(path)));
        ignored.retain(|path| !state.nested.has(path));
        if ignored.is_empty() {
            return Ok(false);
        }
        self.own_index_git().removing(&ignored).run()?;
        Ok(true)
    }

    pub(super) fn user_index_path(&self) -> PathBuf {
        self.layout.git_dir.join("index")
    }

    pub(super) fn user_index_identity(&self) -> Result<IndexIdentity, GitError> {
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
        self.state.lock().finish_naming();
        _ = self.forget_index(); // a copy, of no use to the next run
    }
}
