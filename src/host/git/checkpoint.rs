//! Makes checkpoints: one scan for what differs, then only those files are read.

use std::{
    collections::HashSet,
    fs::{self, File, Metadata},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{MutexGuard, PoisonError},
};

use rustix::fs::{Access, access};

use super::{
    GitError, Moment, Repository, Taken, UNTRACKED_CAP_BYTES,
    process::{self, Git, nul_separated},
    status::{self, Status},
};
use crate::event::{Checkpoint, RunId};

/// More files than this that git cannot take are no accident of one file.
const MOST_REFUSED: usize = 16;

/// What is known from the checkpoint before.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The user's index that ralph's was copied from.
    origin: Option<Identity>,
    /// The checkpoint that ralph's index holds; none when that is not known.
    last: Option<Checkpoint>,
    /// What the user was told, once each.
    told: HashSet<String>,
}

impl State {
    /// Forgets what ralph's index holds: the next checkpoint writes a tree from it.
    pub(super) fn forget_last(&mut self) {
        self.last = None;
    }
}

/// Tells one file from the one that replaces it: git never writes an index in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    Missing,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Yes,
    No,
}

/// What to do to the index, and what to say about the rest.
#[derive(Default)]
struct Work {
    add: Vec<PathBuf>,
    remove: Vec<PathBuf>,
    notices: Vec<String>,
}

impl Work {
    fn leave_out_large(&mut self, path: &Path) {
        let cap = UNTRACKED_CAP_BYTES >> 20;
        self.notices.push(format!(
            "{} is untracked, above {cap} MiB and left out of checkpoints.",
            path.display()
        ));
    }
}

impl Repository {
    /// Records the work tree as it is under `refs/ralph/<run>/<n>-before` or `-after`.
    ///
    /// All tracked and untracked files are in it, ignored ones are not. Only the object database, that reference and
    /// ralph's own index are written.
    ///
    /// # Errors
    /// [`GitError`]; nothing of the user's has changed then either.
    pub fn checkpoint(&self, run: &RunId, n: u32, moment: Moment) -> Result<Taken, GitError> {
        self.checkpoint_as(
            &reference(run, n, moment),
            &format!("ralph {run}: {moment} iteration {n}"),
        )
    }

    /// Records an earlier checkpoint under another name, for a work tree in which nothing happened since.
    pub fn repeat(&self, checkpoint: &Checkpoint, run: &RunId, n: u32, moment: Moment) -> Result<(), GitError> {
        self.set_reference(&reference(run, n, moment), &checkpoint.commit)
    }

    pub(super) fn checkpoint_as(&self, reference: &str, message: &str) -> Result<Taken, GitError> {
        let mut state = self.lock();
        let taken = self.take(&mut state, reference, message);
        if taken.is_err() {
            // A process that was killed may have left a lock; the next checkpoint starts from the user's index.
            state.origin = None;
            state.last = None;
            _ = self.forget_index(); // the error before this one says more
        }
        taken
    }

    fn take(&self, state: &mut State, reference: &str, message: &str) -> Result<Taken, GitError> {
        let copied = self.follow_index(state)?;
        let (mut status, mut warnings) = self.scan()?;
        if copied == Copied::No && status.changes_ignoring() {
            // ralph's index goes on holding what is ignored from now on; the user's has never held it.
            state.origin = None;
            self.follow_index(state)?;
            (status, warnings) = self.scan()?;
        }
        let head = status.head.clone();
        let mut work = self.sort(status)?;
        work.notices.extend(warnings);
        let same = work.add.is_empty() && work.remove.is_empty();
        let last = state.last.take().filter(|_| same);
        self.update_index(&mut work)?;
        let checkpoint = match last {
            Some(last) if last.head == head => last,
            last => self.commit(last.map(|last| last.tree), head, message)?,
        };
        self.set_reference(reference, &checkpoint.commit)?;
        state.last = Some(checkpoint.clone());
        let notices = work
            .notices
            .into_iter()
            .filter(|notice| state.told.insert(notice.clone()))
            .collect();
        Ok(Taken { checkpoint, notices })
    }

    /// Compares the work tree with ralph's index; returns what git warned of as well.
    fn scan(&self) -> Result<(Status, Vec<String>), GitError> {
        let args = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ];
        let git = self
            .own_index_git()
            .args(args)
            .args(["--ignore-submodules=dirty", "--no-ahead-behind"]);
        // The lock is that of ralph's own index, where what was learnt about unchanged files is kept.
        let output = git.env("GIT_OPTIONAL_LOCKS", "1").run()?;
        let status = status::parse(&output.stdout).ok_or_else(|| output.unexpected())?;
        let lines = output.stderr.lines().filter(|line| !line.is_empty());
        Ok((status, lines.map(|line| format!("git: {line}.")).collect()))
    }

    /// Copies the user's index, unless ralph's was made from the same one.
    ///
    /// The user's index knows which ignored files are tracked and spares reading the files that it has seen unchanged;
    /// ralph's also knows the untracked ones.
    fn follow_index(&self, state: &mut State) -> Result<Copied, GitError> {
        let theirs = self.git_dir.join("index");
        let failed = |source| GitError::File {
            path: theirs.clone(),
            source,
        };
        let mut file = match File::open(&theirs) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.as_ref().map(File::metadata).transpose().map_err(failed)?;
        let identity = metadata.as_ref().map_or(Identity::Missing, Identity::of);
        if state.origin == Some(identity) {
            return Ok(Copied::No);
        }
        state.last = None;
        self.forget_index()?;
        if let (Some(file), Some(metadata)) = (&mut file, metadata) {
            self.copy_index(file, &metadata).map_err(failed)?;
        }
        state.origin = Some(identity);
        Ok(Copied::Yes)
    }

    fn copy_index(&self, theirs: &mut File, metadata: &Metadata) -> io::Result<()> {
        let mut ours = File::create(&self.index)?;
        io::copy(theirs, &mut ours)?;
        // git mistrusts entries as young as the index itself; a copy that looks younger would be trusted.
        ours.set_modified(metadata.modified()?)
    }

    /// Decides about each file that differs from the index.
    fn sort(&self, status: Status) -> Result<Work, GitError> {
        let mut work = Work::default();
        let mut large = Vec::new();
        for path in status.changed {
            match fs::symlink_metadata(self.root.join(&path)) {
                // Neither file, link nor directory: what was tracked is gone. git cannot take what lies behind a link.
                Ok(metadata) if !is_storable(&metadata) => work.remove.push(path),
                _ if self.is_behind_link(&path) => work.remove.push(path),
                Ok(metadata) if is_large(&metadata) => large.push(path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.notices.push(format!(
                        "{} cannot be read; checkpoints keep its last state.",
                        path.display()
                    ));
                }
                Ok(_) | Err(_) => work.add.push(path),
            }
        }
        let tracked = self.tracked(&large)?;
        for path in large {
            if tracked.contains(&path) {
                work.add.push(path);
            } else {
                work.leave_out_large(&path);
                work.remove.push(path);
            }
        }
        for path in status.untracked {
            match fs::symlink_metadata(self.root.join(&path)) {
                Ok(metadata) if is_large(&metadata) => work.leave_out_large(&path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.notices.push(format!(
                        "{} cannot be read and is left out of checkpoints.",
                        path.display()
                    ));
                }
                Ok(_) => work.add.push(path),
                Err(_) => {} // gone since the scan
            }
        }
        for path in status.nested {
            let path = path.display();
            work.notices.push(format!(
                "{path} is a repository of its own and is left out of checkpoints."
            ));
        }
        Ok(work)
    }

    /// Finds which of some files the user's index has; ralph's has the untracked ones too.
    fn tracked(&self, paths: &[PathBuf]) -> Result<HashSet<PathBuf>, GitError> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let output = self
            .git()
            .args(["--literal-pathspecs", "ls-files", "-z", "--"])
            .args(paths)
            .run()?;
        Ok(nul_separated(&output.stdout).map(process::path).collect())
    }

    fn update_index(&self, work: &mut Work) -> Result<(), GitError> {
        if !work.remove.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            self.own_index_git().args(args).input(listed(&work.remove)).run()?;
        }
        let mut refused = 0;
        // git takes all paths or none. Where it takes none, halves are tried, down to the paths it cannot take.
        let mut groups = vec![std::mem::take(&mut work.add)];
        while let Some(mut group) = groups.pop() {
            if group.is_empty() {
                continue;
            }
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            match self.own_index_git().args(args).input(listed(&group)).run() {
                Ok(_) => {}
                Err(error @ GitError::Refused { .. }) if group.len() == 1 => {
                    refused += 1;
                    if refused > MOST_REFUSED {
                        return Err(error);
                    }
                    let path = group[0].display();
                    work.notices
                        .push(format!("{path} is not in the checkpoint as it is: {error}."));
                }
                Err(GitError::Refused { .. }) => {
                    groups.push(group.split_off(group.len() / 2));
                    groups.push(group);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a commit of `tree`, or else of what the index holds.
    fn commit(&self, tree: Option<String>, head: Option<String>, message: &str) -> Result<Checkpoint, GitError> {
        let tree = match tree {
            Some(tree) => tree,
            None => self.own_index_git().args(["write-tree"]).run()?.line()?,
        };
        let mut git = self.git().args(["commit-tree", "--no-gpg-sign", "-m", message, &tree]);
        for person in ["AUTHOR", "COMMITTER"] {
            git = git
                .env(&format!("GIT_{person}_NAME"), "ralph")
                .env(&format!("GIT_{person}_EMAIL"), "ralph@localhost");
        }
        if let Some(head) = &head {
            git = git.args(["-p", head]);
        }
        Ok(Checkpoint {
            commit: git.run()?.line()?,
            tree,
            head,
        })
    }

    fn set_reference(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        self.git().args(["update-ref", reference, commit]).run().map(drop)
    }

    /// A git command on this repository alone: were it deleted, the one around it must not be taken for it.
    pub(super) fn git(&self) -> Git {
        let git = Git::at(&self.root).deadline(self.deadline);
        git.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.root)
    }

    /// A git command that reads and writes ralph's index instead of the user's.
    pub(super) fn own_index_git(&self) -> Git {
        self.git().env("GIT_INDEX_FILE", &self.index)
    }

    pub(super) fn forget_index(&self) -> Result<(), GitError> {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(GitError::File { path, source }),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is forgotten with each error, so one that a panic left behind is at worst stale.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_readable(&self, path: &Path) -> bool {
        access(self.root.join(path), Access::READ_OK).is_ok()
    }

    fn is_behind_link(&self, path: &Path) -> bool {
        let above = path
            .ancestors()
            .skip(1)
            .filter(|directory| !directory.as_os_str().is_empty());
        above
            .into_iter()
            .any(|directory| self.root.join(directory).is_symlink())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        _ = self.forget_index(); // a copy, worth nothing to the next run
    }
}

/// The name of an iteration's checkpoint.
pub(super) fn reference(run: &RunId, n: u32, moment: Moment) -> String {
    format!("refs/ralph/{run}/{n}-{moment}")
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Identity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified,
        }
    }
}

fn is_storable(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_symlink() || metadata.is_dir()
}

fn is_large(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > UNTRACKED_CAP_BYTES
}

fn listed(paths: &[PathBuf]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}
