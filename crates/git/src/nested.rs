//! Repositories inside the work tree: submodules, clones and linked work trees, also in ignored directories.
//!
//! The tree of a checkpoint has each of them as git has a submodule: as an entry that names a commit. It is HEAD where
//! nothing differs from HEAD, otherwise a commit of ralph's on HEAD. That one depends on the files and HEAD alone, so a
//! state that comes again has the same name. References of ralph's keep it in that repository.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    fs, mem,
    path::{Path, PathBuf},
};

use ralph_core::event::{Changes, Checkpoint, RepositoryChange, RunId};

use super::{
    GitError, NestedChanges, Repository,
    checkpoint::{EMAIL, NAME},
    nested_search::{has_git, search},
    process::{self, COMPARE, GitOutput, RawChange, nul_separated, raw_changes},
    state::RepositoryState,
    status::WorkTreeStatus,
};

/// Repositories inside one work tree that are recorded, besides its submodules.
const MOST_REPOSITORIES: usize = 64;
/// How deep repositories that are recorded lie in each other.
const MOST_DEPTH: u32 = 3;
/// Most bytes of all their indexes, submodules excepted: about 60,000 files. git reads each file the first time.
const MOST_INDEX_BYTES: u64 = 6 << 20;

/// The mode of an entry that names a commit.
pub(super) const GITLINK: &str = "160000";
/// The message of a commit that stands for the state of a repository.
const MESSAGE: &str = "ralph: files that are not committed";
const DATE: &str = "@0 +0000";

/// The repositories inside a work tree.
#[derive(Debug, Default)]
pub(super) struct NestedRepositories {
    by_path: BTreeMap<PathBuf, NestedRepository>,
    /// The paths of all that were ever recorded.
    ever: BTreeSet<PathBuf>,
    opened: u32,
}

#[derive(Debug)]
struct NestedRepository {
    repository: Repository,
    /// Only HEAD is recorded: there are too many files.
    is_large: bool,
    /// The commit that ralph's index has; `None` if it may have another one.
    link: Option<String>,
    /// The reference that keeps the commit.
    kept: Option<String>,
}

/// The result of looking at the repositories inside.
#[derive(Debug, Default)]
pub(super) struct NestedFindings {
    /// Whether ralph's index has changed.
    pub(super) is_changed: bool,
    /// Repositories that the checkpoint lacks, with the reason.
    pub(super) left_out: Vec<(PathBuf, String)>,
    pub(super) notices: Vec<String>,
}

impl NestedRepositories {
    /// Has all entries of ralph's index written anew.
    pub(super) fn forget_links(&mut self) {
        self.by_path.values_mut().for_each(|nested| nested.link = None);
    }

    /// Whether a repository at this path is recorded.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.by_path.contains_key(path)
    }

    /// Whether a repository at this path was recorded at any time.
    pub(super) fn had(&self, path: &Path) -> bool {
        self.ever.contains(path)
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.by_path.keys().cloned().collect()
    }

    /// Returns the repository at a path; `None` if its files are not recorded.
    pub(super) fn whole(&self, path: &Path) -> Option<&Repository> {
        let nested = self.by_path.get(path).filter(|nested| !nested.is_large)?;
        Some(&nested.repository)
    }
}

impl NestedChanges {
    /// The changes as those of the project around it.
    pub(super) fn counted(&self) -> Changes {
        match &self.change {
            RepositoryChange::Changed { changes } => *changes,
            RepositoryChange::Appeared | RepositoryChange::Vanished => Changes {
                files: 1,
                ..Changes::default()
            },
        }
    }
}

impl Repository {
    /// Removes the entries of repositories that are gone, so that files in their place are found.
    pub(super) fn drop_gone_nested(&self, state: &mut RepositoryState) -> Result<bool, GitError> {
        let paths = state.nested.by_path.keys();
        let gone: Vec<PathBuf> = paths.filter(|path| !self.has_nested(path)).cloned().collect();
        if gone.is_empty() {
            return Ok(false);
        }
        let mut entries = Vec::new();
        for path in &gone {
            let bytes = path.as_os_str().as_encoded_bytes();
            let mut submodules = state.origin.iter().flat_map(|index| index.submodules());
            // A submodule may be there without its files.
            let is_directory = self.layout.root.join(path).is_dir();
            let theirs = submodules.find(|file| file.path == bytes).filter(|_| is_directory);
            entries.extend(theirs.map_or_else(|| self.removal(bytes), |file| file.entry()));
        }
        self.write_entries(entries)?;
        for path in gone {
            state.nested.by_path.remove(&path);
        }
        Ok(true)
    }

    /// Records each repository inside the work tree in ralph's index. Takes those from `status` that are recorded.
    pub(super) fn record_nested(
        &self,
        state: &mut RepositoryState,
        status: &mut WorkTreeStatus,
    ) -> Result<NestedFindings, GitError> {
        let mut findings = NestedFindings::default();
        let mut moved: BTreeSet<PathBuf> = status.links.drain(..).collect();
        let listed = state.origin.iter().flat_map(|index| index.submodules());
        let submodules: BTreeSet<PathBuf> = listed.map(|file| process::path(file.path)).collect();
        let mut others: BTreeSet<PathBuf> = status.nested.drain(..).collect();
        if self.depth < MOST_DEPTH {
            others.extend(search(&self.layout.root, mem::take(&mut status.ignored)));
            others.extend(state.nested.by_path.keys().cloned());
        }
        others.retain(|path| !submodules.contains(path) && !self.excludes(path));
        let mut room = MOST_INDEX_BYTES;
        let mut entries = Vec::new();
        let found = submodules.iter().filter(|path| self.has_nested(path));
        let found = found.map(|path| (path, true));
        for (n, (path, is_submodule)) in found.chain(others.iter().map(|path| (path, false))).enumerate() {
            let present = match self.depth < MOST_DEPTH && (is_submodule || n < submodules.len() + MOST_REPOSITORIES) {
                true => self.present_link(state, path, (!is_submodule).then_some(&mut room)),
                false => Err("there are too many".to_owned()),
            };
            match present {
                Ok((link, notices)) => {
                    moved.remove(path);
                    findings.notices.extend(notices);
                    let nested = state.nested.by_path.get_mut(path);
                    if let Some(nested) = nested.filter(|nested| nested.link.as_ref() != Some(&link)) {
                        entries.extend(format!("{GITLINK} {link} 0\t").into_bytes());
                        entries.extend([path.as_os_str().as_encoded_bytes(), b"\0"].concat());
                        nested.link = Some(link);
                    }
                }
                Err(why) if is_submodule => findings.notices.push(format!(
                    "Of the submodule {} checkpoints have only HEAD: {why}.",
                    path.display()
                )),
                Err(why) => findings.left_out.push((path.clone(), why)),
            }
        }
        // git itself records the commit that a submodule has checked out.
        status.changed.extend(moved);
        findings.is_changed = !entries.is_empty();
        if findings.is_changed {
            self.write_entries(entries)?;
        }
        Ok(findings)
    }

    /// Returns the commit that stands for the present state of a repository inside, and notices about its files. `room`
    /// is what is left of the bytes of indexes, if they are bounded.
    fn present_link(
        &self,
        state: &mut RepositoryState,
        path: &Path,
        room: Option<&mut u64>,
    ) -> Result<(String, Vec<String>), String> {
        let in_words = |error: GitError| error.to_string();
        if !state.nested.has(path) {
            state.nested.opened += 1;
            let repository = self.open_nested(path, state.nested.opened)?;
            let nested = NestedRepository {
                repository,
                is_large: false,
                link: None,
                kept: None,
            };
            state.nested.by_path.insert(path.to_owned(), nested);
            state.nested.ever.insert(path.to_owned());
        }
        let nested = state.nested.by_path.get_mut(path).expect("it was inserted");
        if let Some(room) = room {
            let bytes = fs::symlink_metadata(nested.repository.user_index_path()).map_or(0, |index| index.len());
            nested.is_large = bytes > *room;
            *room = room.saturating_sub(bytes);
        }
        if nested.is_large {
            let link = nested.repository.head_now().map_err(in_words);
            let notice = format!(
                "{} is a repository of its own with many files: checkpoints have only its HEAD.",
                path.display()
            );
            return Ok((link?, vec![notice]));
        }
        match nested.repository.present_commit() {
            Ok((link, notices)) => {
                let notices = notices.into_iter();
                Ok((
                    link,
                    notices
                        .map(|notice| format!("In {}: {notice}", path.display()))
                        .collect(),
                ))
            }
            Err(error) => {
                // Another one may have taken its place; the next checkpoint opens it anew.
                if matches!(error, GitError::Replaced { .. } | GitError::Gone { .. }) {
                    state.nested.by_path.remove(path);
                }
                Err(error.to_string())
            }
        }
    }

    /// Opens the repository at a path.
    pub(super) fn open_nested(&self, path: &Path, number: u32) -> Result<Repository, String> {
        let root = self.layout.root.join(path);
        let scratch = self.index.with_file_name(format!("nested-{number}"));
        fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        let mut nested =
            Repository::open(&root, &scratch, None, &self.supervisor).map_err(|error| match error.source() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            })?;
        if nested.layout.root != root {
            return Err("its `.git` is none".to_owned());
        }
        if nested.id_bytes != self.id_bytes {
            return Err("its commits have names of another kind".to_owned());
        }
        nested.excluded_state = self.excluded_state.clone();
        nested.deadline = self.deadline;
        nested.depth = self.depth + 1;
        Ok(nested)
    }

    /// Returns the commit that stands for the present state of this repository, and notices.
    fn present_commit(&self) -> Result<(String, Vec<String>), GitError> {
        let mut state = self.state.lock();
        let present = self.find_present_commit(&mut state);
        if present.is_err() {
            self.start_over(&mut state);
        }
        present
    }

    fn find_present_commit(&self, state: &mut RepositoryState) -> Result<(String, Vec<String>), GitError> {
        self.verify(state)?;
        let files = self.record_files(state)?;
        let last = state.last.take();
        let tree = match &last {
            Some(last) if !files.is_changed => last.tree.clone(),
            Some(_) | None => self.write_tree()?,
        };
        let same = last.filter(|last| last.tree == tree && last.head == files.head);
        let checkpoint = match same {
            Some(same) => same,
            None => Checkpoint {
                commit: self.state_commit(&tree, files.head.as_deref())?,
                tree,
                head: files.head,
            },
        };
        let commit = checkpoint.commit.clone();
        state.last = Some(checkpoint);
        Ok((commit, files.notices))
    }

    /// Returns HEAD if it has this tree, or the commit of ralph's that depends on both alone.
    fn state_commit(&self, tree: &str, head: Option<&str>) -> Result<String, GitError> {
        if let Some(head) = head {
            let committed = self.git().args(["rev-parse", "--verify", &format!("{head}^{{tree}}")]);
            if committed.run()?.line()? == tree {
                return Ok(head.to_owned());
            }
        }
        let commit = self.commit_command(tree, head, MESSAGE);
        let dated = commit.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE);
        dated.run()?.line()
    }

    /// Returns the state that a commit stands for.
    ///
    /// # Errors
    /// [`GitError::Refused`] if the repository does not have it.
    pub(super) fn recorded_state(&self, commit: &str) -> Result<Checkpoint, GitError> {
        let output = self.git().args(["cat-file", "commit", commit]).run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (head, message) = text.split_once("\n\n").ok_or_else(|| output.unexpected())?;
        let value = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let is_ralphs = value("author").is_some_and(|author| author == format!("{NAME} <{EMAIL}> 0 +0000"))
            && message.trim_end() == MESSAGE;
        Ok(Checkpoint {
            commit: commit.to_owned(),
            tree: value("tree").ok_or_else(|| output.unexpected())?.to_owned(),
            head: match is_ralphs {
                true => value("parent").map(str::to_owned),
                false => Some(commit.to_owned()),
            },
        })
    }

    /// Returns the commit of HEAD.
    fn head_now(&self) -> Result<String, GitError> {
        self.verify(&mut self.state.lock())?;
        let head = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD"]);
        head.run()?.line()
    }

    /// Keeps the commits that stand for the repositories inside, each below a reference in that repository: a checkpoint
    /// keeps only their names. A commit that cannot be kept is told of with the next checkpoint.
    pub(super) fn keep_nested(&self, state: &mut RepositoryState, reference: &str) {
        let Some((run, _)) = reference.rsplit_once('/') else {
            return;
        };
        let mut notices = Vec::new();
        for (path, nested) in &mut state.nested.by_path {
            let Some(link) = &nested.link else { continue };
            let name = format!("{run}/nested/{link}");
            if nested.kept.as_ref() != Some(&name) {
                match nested.repository.set_reference(&name, link).run() {
                    Ok(_) => nested.kept = Some(name),
                    Err(error) => {
                        notices.push(format!("{}: git may delete what is recorded: {error}.", path.display()))
                    }
                }
            }
            let mut inner = nested.repository.state.lock();
            nested.repository.keep_nested(&mut inner, &format!("{run}/nested"));
        }
        notices.into_iter().for_each(|notice| state.add_notice(notice));
    }

    /// Deletes what a run keeps in the repositories that its last checkpoint names. One that is gone keeps nothing.
    pub(super) fn forget_nested(&self, run: &RunId) -> Result<(), GitError> {
        let prefix = format!("refs/ralph/{run}/");
        let last = ["for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(tree)"];
        let tree = self.store_git().args(last).args([&prefix]).run();
        let Ok(tree) = tree.and_then(|tree| tree.line()) else {
            return Ok(());
        };
        let Ok(output) = self.store_git().args(["ls-tree", "-r", "-z", &tree]).run() else {
            return Ok(());
        };
        for nested in links_in(&output.stdout).filter_map(|path| self.reopened(&path)) {
            _ = nested.forget(run); // what another repository keeps holds nothing up here
        }
        Ok(())
    }

    /// Opens a repository inside for a look at what it has; `None` if it is gone or refused.
    pub(super) fn reopened(&self, path: &Path) -> Option<Repository> {
        if !self.has_nested(path) {
            return None;
        }
        let mut state = self.state.lock();
        state.nested.opened += 1;
        self.open_nested(path, state.nested.opened).ok()
    }

    /// Compares two trees. The output is for [`raw_changes`].
    pub(super) fn tree_changes(&self, from: &str, to: &str) -> Result<GitOutput, GitError> {
        self.store_git().args(COMPARE).args([from, to]).run()
    }

    /// Returns what happened to the repositories inside between two trees.
    pub(super) fn count_nested(
        &self,
        nested: &NestedRepositories,
        from: &str,
        to: &str,
    ) -> Result<Vec<NestedChanges>, GitError> {
        if nested.ever.is_empty() {
            return Ok(Vec::new());
        }
        let output = self.tree_changes(from, to)?;
        let mut counted = Vec::new();
        for change in raw_changes(&output.stdout) {
            let change = change.ok_or_else(|| output.unexpected())?;
            let path = process::path(change.path);
            if change.modes.contains(&GITLINK) && nested.had(&path) {
                let change = count_link(nested, &path, &change);
                counted.push(NestedChanges { path, change });
            }
        }
        Ok(counted)
    }

    /// Whether there is a repository at a path, in no place that a link leads to.
    fn has_nested(&self, path: &Path) -> bool {
        let full = self.layout.root.join(path);
        let is_directory = full.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        is_directory && has_git(&full) && !self.is_behind_link(path)
    }

    /// Formats the removal of an entry for `git update-index --index-info`.
    pub(super) fn removal(&self, path: &[u8]) -> Vec<u8> {
        let nothing = format!("0 {}\t", "0".repeat(2 * self.id_bytes));
        [nothing.as_bytes(), path, b"\0"].concat()
    }

    fn write_entries(&self, entries: Vec<u8>) -> Result<(), GitError> {
        let write = ["update-index", "--add", "--replace", "-z", "--index-info"];
        self.own_index_git().args(write).input(entries).run().map(drop)
    }
}

/// Returns the paths of entries that name a commit in a list with a mode first and a path after a tab, as `git ls-tree -z` and
/// `git ls-files --stage -z` print it.
pub(super) fn links_in(list: &[u8]) -> impl Iterator<Item = PathBuf> {
    let links = nul_separated(list).filter(|entry| entry.starts_with(GITLINK.as_bytes()));
    let paths = links.filter_map(|entry| entry.splitn(2, |&byte| byte == b'\t').nth(1));
    paths.map(process::path)
}

fn count_link(nested: &NestedRepositories, path: &Path, change: &RawChange) -> RepositoryChange {
    match change.modes.map(|mode| mode == GITLINK) {
        [false, _] => RepositoryChange::Appeared,
        [_, false] => RepositoryChange::Vanished,
        [true, true] => {
            let counted = nested.by_path.get(path).and_then(|nested| {
                let repository = &nested.repository;
                let from = repository.recorded_state(change.blob_before).ok()?;
                let to = repository.recorded_state(change.blob_after).ok()?;
                repository.changes(&from, &to).ok()
            });
            // Without a count it is one thing that changed.
            let one = Changes {
                files: 1,
                ..Changes::default()
            };
            RepositoryChange::Changed {
                changes: counted.unwrap_or(one),
            }
        }
    }
}
