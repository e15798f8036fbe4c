//! Branches and linked work trees of a batch. git runs with the user's identity here.
//!
//! Only [`fast_forward`](super::fast_forward) touches the user's own work tree, and only if it is clean. Every move of a branch
//! names the commit it starts from, so that a branch which moved in the meantime is left as it is.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use ralph_system::{
    files::{self, ReadError},
    proc::{Confinement, Supervisor},
};

use super::{
    GitError, NoRepository,
    conflict::{FileConflict, is_resolved, marked, repositories_added},
    fingerprint,
    layout::inspect_above,
    lock_files::{if_there, remove_locks},
    process::{self, Git},
    show::{Commit, LOG, oldest_first},
};

/// Deadline of git commands that write a whole work tree.
pub(super) const DEADLINE: Duration = Duration::from_secs(900);
/// Further attempts to list work trees, and the pause before each.
const LISTING_RETRIES: u32 = 20;
const LISTING_PAUSE: Duration = Duration::from_millis(25);
/// The committer if the user's configuration names none.
pub(super) const FALLBACK_COMMITTER: [&str; 2] = ["user.name=ralph", "user.email=ralph@localhost"];
/// Most bytes that are read of a file that holds one path.
const GITDIR_CAP_BYTES: u64 = 64 << 10;
/// Prefix of the references that keep the merges of a batch.
pub(super) const BATCH_REFERENCES: &str = "refs/ralph/batches/";

/// The repository of a batch.
#[derive(Debug, Clone)]
pub struct Branches {
    /// The root of the user's work tree.
    root: PathBuf,
    /// git's common directory, which all work trees share.
    pub(super) common_dir: PathBuf,
    /// The project relative to the root; empty if it is the root.
    prefix: PathBuf,
    supervisor: Supervisor,
    is_anonymous: bool,
    /// The rights of git and of what it starts; `None` for all rights of the user.
    pub(super) confinement: Option<Arc<Confinement>>,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    Made {
        commit: String,
    },
    /// The target already contains the branch.
    Unneeded,
    Conflict {
        files: Vec<String>,
    },
}

impl Branches {
    /// Finds the repository that contains `project`.
    ///
    /// # Errors
    /// [`NoRepository`] if no repository with a work tree contains it.
    pub fn find(project: &Path, supervisor: &Supervisor) -> Result<Branches, NoRepository> {
        inspect_above(project).map_err(NoRepository::Unreadable)?;
        let git = |args: &[&str]| Git::at(supervisor, project).args(args).run_any();
        let asked = git(&["rev-parse", "--is-inside-work-tree"]).map_err(|error| match error {
            GitError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => NoRepository::NoGit,
            error => NoRepository::Unreadable(error),
        })?;
        let path = || project.to_owned();
        match (asked.success(), asked.stdout.starts_with(b"true")) {
            (true, true) => {}
            (true, false) => return Err(NoRepository::Bare { path: path() }),
            (false, _) => return Err(NoRepository::NotARepository { path: path() }),
        }
        let path_of = |question| {
            git(&["rev-parse", question])
                .and_then(|output| output.path())
                .map_err(NoRepository::Unreadable)
        };
        let root = path_of("--show-toplevel")?;
        let common_dir = project.join(path_of("--git-common-dir")?);
        // The canonical path, as git writes it to its own files.
        let common_dir = common_dir.canonicalize().unwrap_or(common_dir);
        let prefix = project.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
        let identity = git(&["var", "GIT_COMMITTER_IDENT"]).map_err(NoRepository::Unreadable)?;
        Ok(Branches {
            common_dir,
            prefix,
            supervisor: supervisor.clone(),
            is_anonymous: !identity.success(),
            root,
            confinement: None,
        })
    }

    /// Confines git and all programs that the repository's settings name.
    #[must_use]
    pub fn confined(self, confinement: Confinement) -> Branches {
        Branches {
            confinement: Some(Arc::new(confinement)),
            ..self
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns git's directory of the repository, which all work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the path of the project in a work tree of the repository.
    pub fn project_in(&self, tree: &Path) -> PathBuf {
        match self.prefix.as_os_str().is_empty() {
            true => tree.to_owned(),
            false => tree.join(&self.prefix),
        }
    }

    /// Resolves a branch, or any other revision that git knows, to its commit; `None` if it does not exist.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let output = self.git().args(["rev-parse", "--verify", "--quiet", &name]).run_any()?;
        match output.success() {
            true => output.line().map(Some),
            false => Ok(None),
        }
    }

    /// Returns the commit at the tip of a branch; `None` if the branch does not exist.
    ///
    /// # Errors
    /// As [`Branches::commit_of`].
    pub fn tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        self.commit_of(&full(branch))
    }

    /// Returns the commits that `to` contains and `from` does not, oldest first; at most the latest 50.
    ///
    /// # Errors
    /// [`GitError::Refused`] if one of the two commits is missing.
    pub fn commits_between(&self, from: &str, to: &str) -> Result<Vec<Commit>, GitError> {
        let output = self.git().args(LOG).args([to, &format!("^{from}")]).run()?;
        Ok(oldest_first(&output.stdout))
    }

    /// Whether git accepts `branch` as the name of a branch.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn is_name(&self, branch: &str) -> Result<bool, GitError> {
        Ok(self
            .git()
            .args(["check-ref-format", "--branch", branch])
            .run_any()?
            .success())
    }

    /// Returns the branch that is checked out in the project; `None` if HEAD is detached.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn current(&self) -> Result<Option<String>, GitError> {
        let output = self
            .git()
            .args(["symbolic-ref", "--quiet", "--short", "HEAD"])
            .run_any()?;
        output.success().then(|| output.line()).transpose()
    }

    /// Whether a work tree has no uncommitted changes; with `untracked`, no untracked files either.
    ///
    /// # Errors
    /// [`GitError`] if git cannot tell.
    pub fn is_clean(&self, tree: &Path, untracked: bool) -> Result<bool, GitError> {
        let untracked = if untracked {
            "--untracked-files=normal"
        } else {
            "--untracked-files=no"
        };
        let output = self
            .at(tree)
            .args(["status", "--porcelain", untracked])
            .output_cap(1)
            .run()?;
        Ok(output.stdout.is_empty())
    }

    /// Whether a file of the project is committed with its present content.
    ///
    /// # Errors
    /// [`GitError`] if git cannot tell.
    pub fn is_committed(&self, file: &Path) -> Result<bool, GitError> {
        let project = self.project_in(&self.root);
        let arguments = ["status", "--porcelain", "--ignored", "--"];
        let output = self.at(&project).args(arguments).args([file]).run()?;
        Ok(output.stdout.is_empty())
    }

    /// Whether HEAD contains a submodule, whose files a linked work tree would lack.
    ///
    /// # Errors
    /// [`GitError`] if git cannot tell.
    pub fn has_submodules(&self) -> Result<bool, GitError> {
        let output = self.git().args(["ls-tree", "-r", "HEAD"]).run()?;
        Ok(output
            .stdout
            .split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(b"160000 ")))
    }

    /// Creates a branch at `commit`; a branch that exists stays where it is.
    ///
    /// # Errors
    /// [`GitError::Refused`] if git refuses.
    pub fn create(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        if self.tip(branch)?.is_none() {
            // Zeros as the old value: git fails if another process creates the branch in the meantime.
            self.git()
                .args(["update-ref", &full(branch), commit, &"0".repeat(commit.len())])
                .run()?;
        }
        Ok(())
    }

    /// Returns the work tree in which a branch is checked out. One that was deleted without git does not count.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn checked_out_in(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        let mut retries = 0;
        let output = loop {
            match self.git().args(["worktree", "list", "--porcelain"]).run() {
                // git cannot list work trees while another git writes the entry of a new one, which takes milliseconds.
                Err(GitError::Refused { .. }) if retries < LISTING_RETRIES => thread::sleep(LISTING_PAUSE),
                output => break output?,
            }
            retries += 1;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let wanted = format!("branch {}", full(branch));
        let found = text
            .split("\n\n")
            .find(|entry| entry.lines().any(|line| line == wanted) && !entry.contains("\nprunable"));
        let tree = found.and_then(|entry| entry.lines().next()?.strip_prefix("worktree "));
        Ok(tree.map(PathBuf::from))
    }

    /// Adds a work tree of a branch, which is created at `base` if it does not exist. Leftovers of an interrupted
    /// attempt are replaced.
    ///
    /// # Errors
    /// [`GitError::Refused`] if git refuses.
    pub fn add_branch(&self, tree: &Path, branch: &str, base: &str) -> Result<(), GitError> {
        match self.tip(branch)? {
            Some(_) => self.add_tree(tree, &[], branch),
            None => {
                let added = self.add_tree(tree, &["-b", branch, "--no-track"], base);
                if added.is_err() {
                    // git leaves the new branch if it cannot fill the tree: a filter may have failed.
                    _ = self
                        .remove_tree(tree)
                        .and_then(|()| self.tip(branch))
                        .map(|tip| self.delete(branch, &tip?).ok());
                }
                added
            }
        }
    }

    /// Adds a work tree of a branch or a commit. Leftovers of an interrupted attempt are replaced.
    fn add_tree(&self, tree: &Path, options: &[&str], branch_or_commit: &str) -> Result<(), GitError> {
        self.make_room(tree)?;
        let git = self.git().deadline(DEADLINE).args(["worktree", "add", "--quiet"]);
        let git = git.args(options).args([tree]).args([branch_or_commit]);
        git.run().map(drop)
    }

    /// Removes anything that occupies the place of a new work tree.
    fn make_room(&self, tree: &Path) -> Result<(), GitError> {
        match tree.symlink_metadata().is_ok() || self.has_entry(tree) {
            true => self.remove_tree(tree),
            false => Ok(()),
        }
    }

    /// Whether a work tree exists completely, with its entry in the repository.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn has_tree(&self, tree: &Path) -> Result<bool, GitError> {
        if !tree.join(".git").is_file() {
            return Ok(false);
        }
        // git locks a work tree while it is still writing it.
        if let Some(admin) = self.entry_of(tree) {
            return Ok(!admin.join("locked").exists());
        }
        let output = self.at(tree).args(["rev-parse", "--show-toplevel"]).run_any()?;
        let is_it = output.path().is_ok_and(|top| top == tree);
        Ok(is_it && !self.admin_of(tree)?.join("locked").exists())
    }

    /// Whether the repository has an entry of a work tree, even if the tree is gone; true if the entries cannot be
    /// read.
    fn has_entry(&self, tree: &Path) -> bool {
        let Ok(entries) = self.entries() else { return true };
        let git_file = tree.join(".git");
        entries
            .iter()
            .any(|entry| git_file_of(entry).map_or(true, |named| named == git_file))
    }

    /// Lists the directories in which git keeps the state of each linked work tree.
    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(self.common_dir.join("worktrees")) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Removes lock files that a killed git left in a work tree of the batch, where no other process runs.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked, or if a lock cannot be removed.
    fn unlock_tree(&self, tree: &Path) -> Result<(), GitError> {
        remove_locks(&self.admin_of(tree)?)
    }

    /// Removes lock files that a killed git left beside the branches of a batch.
    ///
    /// # Errors
    /// [`GitError::File`] if a lock cannot be removed.
    pub fn unlock_branches(&self, below: &str) -> Result<(), GitError> {
        remove_locks(&self.common_dir.join("refs/heads").join(below))
    }

    /// Removes entries of work trees below `trees` that a killed git left half written. git refuses to list any work
    /// tree while one of these exists, so the user's own `git worktree` would fail, too.
    ///
    /// # Errors
    /// [`GitError::File`] if an entry cannot be removed.
    pub fn remove_torn_entries(&self, trees: &Path) -> Result<(), GitError> {
        for entry in self.entries().unwrap_or_default() {
            let is_below = git_file_of(&entry).is_ok_and(|named| named.starts_with(trees));
            // A complete entry never has an empty file here.
            let is_torn = || fs::metadata(entry.join("commondir")).is_ok_and(|meta| meta.len() == 0);
            if is_below && is_torn() {
                if_there(&entry, fs::remove_dir_all(&entry))?;
            }
        }
        Ok(())
    }

    /// Removes a work tree with all its files. If ralph is killed on the way, the tree is either untouched or gone: a
    /// half removed tree would look like changes of the user's.
    ///
    /// # Errors
    /// [`GitError`] if something of it remains.
    pub fn remove_tree(&self, tree: &Path) -> Result<(), GitError> {
        let removed = tree.with_extension("removed");
        if_there(tree, fs::remove_dir_all(&removed))?;
        if_there(tree, fs::rename(tree, &removed))?;
        if_there(tree, fs::remove_dir_all(&removed))?;
        // Removes the entry, if it exists: `prune` keeps it if git was killed while it added the tree.
        let entry = ["worktree", "remove", "--force", "--force"];
        match self.git().args(entry).args([tree]).run_any()?.success() {
            true => Ok(()),
            false => self.git().args(["worktree", "prune"]).run().map(drop),
        }
    }

    /// Deletes a branch that is at `commit`; does nothing if the branch does not exist.
    ///
    /// # Errors
    /// [`GitError::Refused`] if the branch is at another commit.
    pub fn delete(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        match self.tip(branch)? {
            Some(_) => self
                .git()
                .args(["update-ref", "-d", &full(branch), commit])
                .run()
                .map(drop),
            None => Ok(()),
        }
    }

    /// Commits all files of a work tree that are not ignored, and concludes a merge in progress. Does nothing if there
    /// is nothing to commit.
    ///
    /// # Errors
    /// [`GitError::Refused`] if git refuses.
    pub fn commit_all(&self, tree: &Path, message: &str) -> Result<(), GitError> {
        self.unlock_tree(tree)?;
        if self.is_clean(tree, true)? && !self.is_merging(tree)? {
            return Ok(());
        }
        self.at(tree).deadline(DEADLINE).args(["add", "--all"]).run()?;
        let staged = self.at(tree).args(["diff", "--cached", "--quiet"]).run_any()?;
        if staged.success() && !self.is_merging(tree)? {
            return Ok(());
        }
        let commit = ["commit", "--quiet", "--no-verify", "--message", message];
        self.at(tree).deadline(DEADLINE).args(commit).run().map(drop)
    }

    /// Returns the paths of nested repositories that `branch` added since `base`: git would store a commit name instead
    /// of their files.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn new_repositories(&self, base: &str, branch: &str) -> Result<Vec<String>, GitError> {
        let range = format!("{base}...{branch}");
        let diff = ["diff", "--raw", "-z", "--no-renames", "--no-abbrev", &range];
        let output = self.git().deadline(DEADLINE).args(diff).run()?;
        Ok(repositories_added(&output.stdout))
    }

    /// Keeps `commit` from being garbage-collected with a reference of the batch.
    ///
    /// # Errors
    /// [`GitError`] if the reference cannot be written.
    pub fn hold(&self, batch: &str, commit: &str) -> Result<(), GitError> {
        let reference = format!("{BATCH_REFERENCES}{batch}");
        self.git().args(["update-ref", &reference, commit]).run().map(drop)
    }

    /// Deletes the reference that [`hold`](Self::hold) created.
    ///
    /// # Errors
    /// [`GitError`] if the reference cannot be deleted.
    pub fn release(&self, batch: &str) -> Result<(), GitError> {
        let reference = format!("{BATCH_REFERENCES}{batch}");
        self.git().args(["update-ref", "-d", &reference]).run_any().map(drop)
    }

    /// Moves a branch to the commit that is checked out in its work tree, where an agent may have switched branches.
    /// Returns false if that commit does not contain the branch's tip.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn advance_to_head(&self, tree: &Path, branch: &str) -> Result<bool, GitError> {
        let head = self.head_of(tree)?;
        let Some(tip) = self.tip(branch)? else {
            self.create(branch, &head)?;
            return Ok(true);
        };
        if tip == head {
            return Ok(true);
        }
        if !self.is_ancestor(&tip, &head)? {
            return Ok(false);
        }
        self.git().args(["update-ref", &full(branch), &head, &tip]).run()?;
        Ok(true)
    }

    /// Whether `of` contains the commit that is checked out in a work tree.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn has_work_of(&self, of: &str, tree: &Path) -> Result<bool, GitError> {
        self.is_ancestor(&self.head_of(tree)?, of)
    }

    /// Whether a merge is in progress in a work tree.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    fn is_merging(&self, tree: &Path) -> Result<bool, GitError> {
        Ok(self.admin_of(tree)?.join("MERGE_HEAD").exists())
    }

    /// Whether `commit` is an ancestor of `of`, or is `of`.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        let output = self.git().args(["merge-base", "--is-ancestor", commit, of]).run_any()?;
        Ok(output.success())
    }

    /// Brings a work tree of ralph's own from any state to `commit`. Ignored files stay.
    ///
    /// # Errors
    /// [`GitError`] if git cannot do it.
    pub fn reset_tree(&self, tree: &Path, commit: &str) -> Result<(), GitError> {
        if self.has_tree(tree)? {
            self.unlock_tree(tree)?;
            let reset = self.at(tree).deadline(DEADLINE);
            let reset = reset
                .args(["checkout", "--quiet", "--force", "--detach", commit])
                .run_any()?;
            let clean = || self.at(tree).deadline(DEADLINE).args(["clean", "-ffdq"]).run_any();
            if reset.success() && (self.is_clean(tree, true)? || clean()?.success() && self.is_clean(tree, true)?) {
                return Ok(());
            }
        }
        self.add_tree(tree, &["--detach"], commit)
    }

    /// Returns the ignored paths of a work tree that no tool can recreate; they are in no commit.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn ignored_files(&self, tree: &Path) -> Result<Vec<String>, GitError> {
        let list = [
            "ls-files",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
            "-z",
        ];
        let output = self.at(tree).deadline(DEADLINE).args(list).run()?;
        let paths = process::nul_separated(&output.stdout).map(process::path);
        let kept = paths.filter(|path| !fingerprint::is_made_anew(&tree.join(path)));
        Ok(kept.map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// Removes untracked and ignored files from a work tree of ralph's own.
    ///
    /// # Errors
    /// [`GitError`] if something cannot be removed.
    pub fn remove_ignored(&self, tree: &Path) -> Result<(), GitError> {
        let clean = ["clean", "-ffdxq"];
        self.at(tree).deadline(DEADLINE).args(clean).run().map(drop)
    }

    /// Merges `branch` into the commit that is checked out in a work tree of ralph's own, always with a merge commit.
    ///
    /// # Errors
    /// [`GitError`] if the merge fails for another reason than a conflict.
    pub fn merge(&self, tree: &Path, branch: &str, message: &str) -> Result<MergeResult, GitError> {
        let Some(tip) = self.tip(branch)? else {
            return Err(GitError::Gone {
                path: PathBuf::from(branch),
            });
        };
        if self.is_ancestor(&tip, &self.head_of(tree)?)? {
            return Ok(MergeResult::Unneeded);
        }
        // Never a fast-forward: the first parent tells the target's own history from the merged one.
        let merge = ["merge", "--quiet", "--no-ff", "--no-verify", "--message", message, &tip];
        let merged = self.at(tree).deadline(DEADLINE).args(merge).run_any()?;
        if merged.success() {
            let commit = self.head_of(tree)?;
            return Ok(MergeResult::Made { commit });
        }
        let files = self.unmerged(tree)?;
        match files.is_empty() {
            true => Err(merged.refusal()),
            false => Ok(MergeResult::Conflict { files }),
        }
    }

    /// Begins the merge of `commit` into the branch of a work tree, as far as git can, and returns the conflicts. They
    /// stay in the work tree's index until they are resolved; conflicts of text are also in the files, between markers.
    /// A merge without conflicts is committed.
    ///
    /// # Errors
    /// [`GitError`] if the merge fails for another reason than a conflict.
    pub fn begin_merge(&self, tree: &Path, commit: &str, message: &str) -> Result<Vec<FileConflict>, GitError> {
        if self.is_merging(tree)? || self.is_ancestor(commit, &self.head_of(tree)?)? {
            return self.conflicts(tree);
        }
        self.unlock_tree(tree)?;
        let merge = [
            "merge",
            "--quiet",
            "--no-ff",
            "--no-verify",
            "--message",
            message,
            commit,
        ];
        let merged = self.at(tree).deadline(DEADLINE).args(merge).run_any()?;
        let conflicts = self.conflicts(tree)?;
        match merged.success() || !conflicts.is_empty() {
            true => Ok(conflicts),
            false => Err(merged.refusal()),
        }
    }

    /// Returns the conflicts in the index of a work tree.
    fn conflicts(&self, tree: &Path) -> Result<Vec<FileConflict>, GitError> {
        let output = self.at(tree).args(["ls-files", "--unmerged", "-z"]).run()?;
        Ok(FileConflict::parse(&output.stdout))
    }

    /// Returns the unresolved files of a merge: files with conflict markers, and files that equal one side although no
    /// commit message names them. An agent that does nothing would silently drop the work of the other side.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn unresolved(&self, tree: &Path, files: &[String]) -> Result<Vec<String>, GitError> {
        let mut unresolved = marked(tree, files);
        let Some([branch, target]) = self.sides(tree)? else {
            return Ok(unresolved);
        };
        let in_branch = self.differing(tree, &branch, files)?;
        let in_target = self.differing(tree, &target, files)?;
        let messages = self.messages(tree, &branch, &target)?;
        for file in files {
            let differs = [&in_branch, &in_target].map(|side| side.contains(file));
            if !is_resolved(tree, file, differs, &messages) && !unresolved.contains(file) {
                unresolved.push(file.clone());
            }
        }
        Ok(unresolved)
    }

    /// Returns the two sides of the latest merge into the branch of a work tree: the branch's own commit, and the
    /// merged one.
    fn sides(&self, tree: &Path) -> Result<Option<[String; 2]>, GitError> {
        let merge_head = self.admin_of(tree)?.join("MERGE_HEAD");
        if let Ok(merged) = files::read_text(&merge_head, GITDIR_CAP_BYTES) {
            return Ok(Some([self.head_of(tree)?, merged.trim().to_owned()]));
        }
        let latest = [
            "rev-list",
            "--merges",
            "--first-parent",
            "--parents",
            "--max-count=1",
            "HEAD",
        ];
        let line = self.at(tree).args(latest).run()?;
        let line = String::from_utf8_lossy(&line.stdout).into_owned();
        let mut commits = line.split_whitespace().skip(1).map(str::to_owned);
        Ok(commits.next().zip(commits.next()).map(|(one, other)| [one, other]))
    }

    /// Returns the files that differ between the work tree and `commit`.
    fn differing(&self, tree: &Path, commit: &str, files: &[String]) -> Result<Vec<String>, GitError> {
        // A separate index: the work tree's own may have conflicts.
        let index = self.admin_of(tree)?.join("ralph-sides");
        let git = || self.at(tree).deadline(DEADLINE).env("GIT_INDEX_FILE", &index);
        git().args(["read-tree", commit]).run()?;
        let paths = || files.iter().map(String::as_str);
        git()
            .args(["update-index", "--add", "--remove", "--"])
            .args(paths())
            .run()?;
        let diff = ["diff-index", "--cached", "--name-only", "-z", commit, "--"];
        let output = git().args(diff).args(paths()).run()?;
        _ = fs::remove_file(&index); // the next call overwrites it
        let names = process::nul_separated(&output.stdout);
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Returns the commit messages in a work tree since the merge began, without git's comment lines.
    fn messages(&self, tree: &Path, branch: &str, target: &str) -> Result<String, GitError> {
        let log = ["log", "--format=%B", "HEAD", "--not", branch, target];
        let output = self.at(tree).args(log).run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        Ok(lines.join("\n"))
    }

    fn unmerged(&self, tree: &Path) -> Result<Vec<String>, GitError> {
        let output = self
            .at(tree)
            .args(["diff", "--name-only", "--diff-filter=U", "-z"])
            .run()?;
        let files = process::nul_separated(&output.stdout);
        Ok(files.map(|file| String::from_utf8_lossy(file).into_owned()).collect())
    }

    pub(super) fn head_of(&self, tree: &Path) -> Result<String, GitError> {
        self.at(tree).args(["rev-parse", "--verify", "HEAD"]).run()?.line()
    }

    /// Returns the directory in which git keeps the state of one work tree.
    pub(super) fn admin_of(&self, tree: &Path) -> Result<PathBuf, GitError> {
        if let Some(admin) = self.entry_of(tree) {
            return Ok(admin);
        }
        let output = self.at(tree).args(["rev-parse", "--absolute-git-dir"]).run()?;
        output.path()
    }

    /// Returns the repository's entry of a work tree if the entry and the tree name each other; `None` if git has to be
    /// asked.
    fn entry_of(&self, tree: &Path) -> Option<PathBuf> {
        let git_file = tree.join(".git");
        let named = files::read_text(&git_file, GITDIR_CAP_BYTES).ok()?;
        let entry = PathBuf::from(named.trim_end().strip_prefix("gitdir: ")?);
        let is_ours = entry.parent() == Some(&self.common_dir.join("worktrees"));
        let is_whole = || fs::metadata(entry.join("commondir")).is_ok_and(|file| file.len() > 0);
        (is_ours && is_whole() && git_file_of(&entry).is_ok_and(|named| named == git_file)).then_some(entry)
    }

    pub(super) fn git(&self) -> Git {
        self.at(&self.root)
    }

    pub(super) fn at(&self, tree: &Path) -> Git {
        let git = self.unconfined(tree).setting("commit.gpgSign=false");
        // Recorded resolutions of other merges are the user's to apply.
        let git = git.setting("rerere.enabled=false").setting("merge.renames=true");
        match &self.confinement {
            Some(confinement) => git.confined(Arc::clone(confinement)),
            None => git,
        }
    }

    /// Returns a git with all rights of the user, for commands that run nothing which the repository names.
    pub(super) fn unconfined(&self, tree: &Path) -> Git {
        let git = Git::at(&self.supervisor, tree);
        match self.is_anonymous {
            true => FALLBACK_COMMITTER.into_iter().fold(git, Git::setting),
            false => git,
        }
    }
}

/// Returns the full reference name of a branch.
pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Reads the path of the work tree's `.git` file from the repository's entry.
fn git_file_of(entry: &Path) -> Result<PathBuf, ReadError> {
    let named = files::read_text(&entry.join("gitdir"), GITDIR_CAP_BYTES)?;
    Ok(PathBuf::from(named.trim_end()))
}
