//! Whether the commit of HEAD has the files of a checkpoint, as a clone of the repository would have them.
//!
//! git can be told to see no change: `skip-worktree`, `assume-unchanged`, a filter, forged times. None of these is looked
//! for. Content is compared by its names, and git is asked which differences it reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{Checkpoint, RunId};

use super::{
    GitError, Repository,
    ignored::ignored_of,
    lock_files::if_there,
    process::{self, COMPARE, Git, raw_changes},
    store::{CHECKPOINTS, SETTINGS},
};

/// Maximum number of files of one command.
const TOGETHER: usize = 256;

/// The files that HEAD has otherwise than a checkpoint.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// Those that git reports as changed, or as untracked.
    pub uncommitted: Vec<PathBuf>,
    /// Those in which git reports no change.
    pub hidden: Vec<PathBuf>,
}

impl Repository {
    /// Compares the files of a checkpoint with the commit of HEAD. Before the first commit, nothing is undelivered.
    ///
    /// # Errors
    /// [`GitError`] if git cannot read the commit, or does not know what has changed.
    pub fn undelivered(&self, run: &RunId, checkpoint: &Checkpoint) -> Result<Undelivered, GitError> {
        let head = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let head = head.run_any()?;
        if !head.success() || self.is_without_repository() {
            return Ok(Undelivered::default());
        }
        let compared = self.compared(&head.line()?, checkpoint)?;
        if compared.is_empty() {
            return Ok(Undelivered::default());
        }
        let reported = self.uncommitted()?;
        let is_reported = |path: &Path| path.ancestors().any(|above| reported.contains(above));
        let (uncommitted, mut hidden): (Vec<_>, Vec<_>) = compared.into_iter().partition(|(path, _)| is_reported(path));
        self.drop_ignored_new(&mut hidden)?;
        self.drop_converted(run, &mut hidden)?;
        let paths = |files: Vec<Compared>| files.into_iter().map(|(path, _)| path).collect();
        Ok(Undelivered {
            uncommitted: paths(uncommitted),
            hidden: paths(hidden),
        })
    }

    /// Returns the files that differ, with the blob of `head`.
    fn compared(&self, head: &str, checkpoint: &Checkpoint) -> Result<Vec<Compared>, GitError> {
        let trees = [head, &checkpoint.commit];
        // A fetch computes the names of what it brings. From a repository that lacks objects, as a partial clone does, there
        // is none.
        let output = match self.fetch(head).run() {
            Ok(_) => self.store_git().args(COMPARE).args(trees).run()?,
            Err(_) => {
                let git = self.git().env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.store_objects());
                git.args(COMPARE).args(trees).run()?
            }
        };
        let mut compared = Vec::new();
        for change in raw_changes(&output.stdout) {
            let change = change.ok_or_else(|| output.unexpected())?;
            // A repository that nobody has added: git reports its directory.
            let is_repository = change.modes[1] == "160000" && is_none(change.blob_before);
            if !is_repository {
                compared.push((process::path(change.path), change.blob_before.to_owned()));
            }
        }
        Ok(compared)
    }

    /// Drops files that a checkpoint has although git ignores them, and that HEAD never had.
    fn drop_ignored_new(&self, hidden: &mut Vec<Compared>) -> Result<(), GitError> {
        let new = hidden.iter().filter(|(_, blob)| is_none(blob));
        let new: Vec<PathBuf> = new.map(|(path, _)| path.clone()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let ignored: BTreeSet<PathBuf> = ignored_of(self.users_git(), &new)?.into_iter().collect();
        hidden.retain(|(path, _)| !ignored.contains(path));
        Ok(())
    }

    /// Drops files that become those of HEAD by a conversion that a clone has as well: of line ends, and by the filters of
    /// the user's own configuration. The repository's own count if they are still those of the start of the run.
    fn drop_converted(&self, run: &RunId, hidden: &mut Vec<Compared>) -> Result<(), GitError> {
        if hidden.is_empty() {
            return Ok(());
        }
        let aside = self.index.with_extension("clone");
        let cleared = |directory: &Path| if_there(directory, fs::remove_dir_all(directory));
        cleared(&aside)?;
        self.init_bare(aside.parent().unwrap_or(&aside), &aside)?;
        let clone = || self.git().env("GIT_DIR", &aside).env("GIT_COMMON_DIR", &aside);
        let dropped = self.drop_equal(clone, hidden);
        cleared(&aside)?;
        dropped?;
        if !hidden.is_empty() && self.own_settings()? == self.settings_at_start(run) {
            self.drop_equal(|| self.users_git(), hidden)?;
        }
        Ok(())
    }

    /// Drops the files that `git` would add as HEAD has them. One process answers for many; where it fails by one file, each
    /// is asked for alone.
    fn drop_equal(&self, git: impl Fn() -> Git, hidden: &mut Vec<Compared>) -> Result<(), GitError> {
        let root = &self.layout.root;
        let is_file = |path: &Path| fs::symlink_metadata(root.join(path)).is_ok_and(|found| found.is_file());
        let files: Vec<&Compared> = hidden.iter().filter(|(path, _)| is_file(path)).collect();
        let mut equal = BTreeSet::new();
        let mut groups: Vec<&[&Compared]> = files.chunks(TOGETHER).collect();
        while let Some(group) = groups.pop() {
            let paths = group.iter().map(|(path, _)| path);
            let output = git().args(["hash-object", "--"]).args(paths).run_any()?;
            if !output.success() && group.len() > 1 {
                groups.extend(group.chunks(1));
                continue;
            }
            let added = str::from_utf8(&output.stdout).unwrap_or_default().lines();
            let pairs = group.iter().zip(added).filter(|((_, blob), added)| blob == added);
            equal.extend(pairs.map(|((path, _), _)| path.clone()));
        }
        hidden.retain(|(path, _)| !equal.contains(path));
        Ok(())
    }

    /// Returns those of some ignored paths that git did not ignore at the start of the run, of which `first` is the
    /// checkpoint: the rule that makes git ignore them is newer.
    ///
    /// # Errors
    /// [`GitError`] if git does not name the rules.
    pub fn newly_ignored(
        &self,
        run: &RunId,
        first: Option<&Checkpoint>,
        paths: &BTreeSet<PathBuf>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let asked: Vec<PathBuf> = paths.iter().cloned().collect();
        let check = ["check-ignore", "--verbose", "-z", "--stdin"];
        let output = self.users_git().args(check).input(process::listed(&asked)).run_any()?;
        let at_start = self.settings_at_start(run);
        let is_as_set = self.own_settings()? == at_start;
        let mut newly = BTreeSet::new();
        let mut texts: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        // The file, the line in it, the rule, and the path.
        let fields: Vec<&[u8]> = output.stdout.split(|&byte| byte == 0).collect();
        for rule in fields.chunks_exact(4) {
            let (file, path) = (process::path(rule[0]), process::path(rule[3]));
            let text = match first.filter(|_| self.is_in_work_tree(&file)) {
                Some(first) => texts.entry(file.clone()).or_insert_with(|| self.blob_at(first, &file)),
                None => &at_start,
            };
            let has_rule = text
                .split(|&byte| byte == b'\n')
                .any(|line| line.trim_ascii() == rule[2].trim_ascii());
            // A file of the user's own, which the configuration names.
            let is_users = file.is_absolute() && !file.starts_with(&self.layout.common_dir) && is_as_set;
            if !has_rule && !is_users {
                newly.insert(path);
            }
        }
        Ok(newly)
    }

    fn is_in_work_tree(&self, file: &Path) -> bool {
        file.is_relative() && !self.layout.root.join(file).starts_with(&self.layout.common_dir)
    }

    /// Returns the content of a file in a checkpoint, empty if there is none.
    fn blob_at(&self, checkpoint: &Checkpoint, file: &Path) -> Vec<u8> {
        let mut name = OsString::from(format!("{}:", checkpoint.tree));
        name.push(file);
        let shown = self.store_git().args(["cat-file", "blob"]).args([name]).run();
        shown.map(|shown| shown.stdout).unwrap_or_default()
    }

    /// Records what the repository itself says about conversions and ignored files. No agent of the run may have started.
    pub(super) fn keep_settings(&self, run: &RunId) -> Result<(), GitError> {
        let name = format!("{CHECKPOINTS}{run}{SETTINGS}");
        let known = self.store_git().args(["rev-parse", "--verify", "--quiet", &name]);
        if known.run_any()?.success() {
            return Ok(()); // the run goes on
        }
        let settings = self.own_settings()?;
        let blob = self
            .store_git()
            .args(["hash-object", "-w", "--stdin"])
            .input(settings)
            .run()?;
        self.set_reference(&name, &blob.line()?).run().map(drop)
    }

    fn settings_at_start(&self, run: &RunId) -> Vec<u8> {
        let name = format!("{CHECKPOINTS}{run}{SETTINGS}");
        let shown = self.store_git().args(["cat-file", "blob", &name]).run();
        shown.map(|shown| shown.stdout).unwrap_or_default()
    }

    /// Returns what the repository itself says about conversions and ignored files.
    fn own_settings(&self) -> Result<Vec<u8>, GitError> {
        let list = self.git().args([
            "config",
            "--local",
            "--includes",
            "-z",
            "--get-regexp",
            "^(filter|core)\\.",
        ]);
        let mut settings = list.run_any()?.stdout;
        for name in ["attributes", "exclude"] {
            settings.push(b'\n');
            let text = fs::read(self.layout.common_dir.join("info").join(name));
            settings.extend(text.unwrap_or_default()); // there may be none
        }
        Ok(settings)
    }
}

/// A path, and the blob that HEAD has there: zeros for none.
type Compared = (PathBuf, String);

/// Whether the name of an object stands for none.
fn is_none(blob: &str) -> bool {
    blob.bytes().all(|digit| digit == b'0')
}
