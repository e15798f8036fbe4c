//! Lists checkpoints and restores the files of one.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{Checkpoint, RunId};

use super::{
    GitError, Moment, Repository,
    checkpoint::{CheckpointName, HEAD, reference},
    nested::GITLINK,
    nested_restore::NestedRestore,
    process::{self, RawChange, raw_changes},
    store::CHECKPOINTS,
};

/// A checkpoint that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCheckpoint {
    pub position: CheckpointPosition,
    pub checkpoint: Checkpoint,
    /// Time of its commit, in seconds since the Unix epoch; checkpoints of the same state share one commit.
    pub at_s: u64,
}

/// The position of a checkpoint in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointPosition {
    Iteration {
        n: u32,
        moment: Moment,
    },
    /// Made before the `k`-th restore.
    Restore {
        k: u32,
    },
}

/// The result of restoring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreResult {
    /// The checkpoint of the work tree before the restore, to undo it.
    pub saved: CheckpointPosition,
    /// Written files, relative to the root.
    pub written: Vec<PathBuf>,
    /// Files deleted because the checkpoint does not have them.
    pub deleted: Vec<PathBuf>,
    /// The work done in repositories inside the work tree, and the work that is left there.
    pub nested: Vec<NestedRestore>,
    /// Sentences about files that the checkpoint `saved` does not hold.
    pub notices: Vec<String>,
}

/// The files replaced in a work tree.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    pub(super) written: Vec<PathBuf>,
    pub(super) deleted: Vec<PathBuf>,
    pub(super) nested: Vec<NestedRestore>,
}

impl CheckpointPosition {
    fn parse(name: &str) -> Option<CheckpointPosition> {
        if let Some(k) = name.strip_prefix("restore-") {
            return Some(CheckpointPosition::Restore { k: k.parse().ok()? });
        }
        let (n, moment) = name.split_once('-')?;
        let moment = match moment {
            "before" => Moment::Before,
            "after" => Moment::After,
            _ => return None,
        };
        Some(CheckpointPosition::Iteration {
            n: n.parse().ok()?,
            moment,
        })
    }

    pub(super) fn reference(self, run: &RunId) -> String {
        match self {
            CheckpointPosition::Iteration { n, moment } => reference(run, n, moment),
            CheckpointPosition::Restore { k } => format!("refs/ralph/{run}/restore-{k}"),
        }
    }
}

/// Returns the error for a checkpoint that is not among the `saved` ones.
pub(super) fn no_checkpoint(saved: &[SavedCheckpoint], run: &RunId, n: u32, moment: Moment) -> GitError {
    let iterations = saved.iter().filter_map(|saved| match saved.position {
        CheckpointPosition::Iteration { n, .. } => Some(n),
        CheckpointPosition::Restore { .. } => None,
    });
    GitError::NoCheckpoint {
        run: run.clone(),
        n,
        moment: moment.to_string(),
        last: iterations.max(),
    }
}

/// Returns the number of the last restore among the `saved` checkpoints.
fn last_restoring(saved: &[SavedCheckpoint]) -> Option<u32> {
    let restorings = saved.iter().filter_map(|saved| match saved.position {
        CheckpointPosition::Restore { k } => Some(k),
        CheckpointPosition::Iteration { .. } => None,
    });
    restorings.max()
}

impl Repository {
    /// Lists the checkpoints of a run, in the order of its iterations.
    ///
    /// # Errors
    /// [`GitError`] when git cannot read its references.
    pub fn list(&self, run: &RunId) -> Result<Vec<SavedCheckpoint>, GitError> {
        self.verify(&mut self.state.lock())?;
        self.make_store()?;
        let prefix = format!("{CHECKPOINTS}{run}/");
        let fields = "%(refname)%09%(objectname)%09%(tree)%09%(parent)%09%(committerdate:unix)%09%(contents:body)";
        let format = format!("--format={fields}");
        let output = self.store_git().args(["for-each-ref", &format, &prefix]).run()?;
        let text = str::from_utf8(&output.stdout).map_err(|_| output.unexpected())?;
        // References of other names below the prefix are not ralph's.
        let mut saved: Vec<SavedCheckpoint> = text.lines().filter_map(|line| read_saved(line, &prefix)).collect();
        saved.sort_by_key(|saved| saved.position);
        Ok(saved)
    }

    /// Restores the work tree to its state before or after an iteration, as [`Repository::restore_at`] does.
    ///
    /// # Errors
    /// As [`Repository::restore_at`].
    pub fn restore(&self, run: &RunId, n: u32, moment: Moment) -> Result<RestoreResult, GitError> {
        self.restore_at(run, CheckpointPosition::Iteration { n, moment })
    }

    /// Returns the checkpoint made before the last restore of a run; `None` if nothing was restored.
    ///
    /// # Errors
    /// As [`Repository::list`].
    pub fn last_restoring(&self, run: &RunId) -> Result<Option<CheckpointPosition>, GitError> {
        Ok(last_restoring(&self.list(run)?).map(|k| CheckpointPosition::Restore { k }))
    }

    /// Restores the work tree to a checkpoint, after a checkpoint of its present state.
    ///
    /// Files that the checkpoint lacks are deleted, except ignored ones and those that checkpoints leave out. HEAD, the
    /// branch and the user's index stay, so git shows the difference as the user's own change. So it is in repositories
    /// inside, except that HEAD of a submodule moves, as `git submodule update` moves it.
    ///
    /// # Errors
    /// [`GitError::NoCheckpoint`] or [`GitError::NothingRestored`]; [`GitError::InTheWay`] and [`GitError::Refused`]
    /// before any file has changed.
    pub fn restore_at(&self, run: &RunId, place: CheckpointPosition) -> Result<RestoreResult, GitError> {
        let checkpoints = self.list(run)?;
        let Some(target) = checkpoints.iter().find(|saved| saved.position == place) else {
            return Err(match place {
                CheckpointPosition::Iteration { n, moment } => no_checkpoint(&checkpoints, run, n, moment),
                CheckpointPosition::Restore { .. } => GitError::NothingRestored { run: run.clone() },
            });
        };
        let saved = CheckpointPosition::Restore {
            k: last_restoring(&checkpoints).unwrap_or(0) + 1,
        };
        let what = match place {
            CheckpointPosition::Iteration { n, moment } => format!("restoring {moment} iteration {n}"),
            CheckpointPosition::Restore { k } => format!("undoing restore {k}"),
        };
        let name = CheckpointName {
            reference: &saved.reference(run),
            message: &format!("ralph {run}: before {what}"),
        };
        let (now, _) = self.checkpoint_as(name, &[])?;
        let replaced = self.replace(&now.checkpoint.tree, &target.checkpoint.tree, Path::new(""))?;
        Ok(RestoreResult {
            saved,
            written: replaced.written,
            deleted: replaced.deleted,
            nested: replaced.nested,
            notices: now.notices,
        })
    }

    /// Replaces the files of one tree, which ralph's index holds, with those of another. `place` is where this repository is
    /// in the project.
    pub(super) fn replace(&self, from: &str, to: &str, place: &Path) -> Result<Replaced, GitError> {
        // From here on ralph's index may hold either tree.
        self.state.lock().last = None;
        let output = self.tree_changes(from, to)?;
        let changes: Option<Vec<RawChange>> = raw_changes(&output.stdout).collect();
        let changes = changes.ok_or_else(|| output.unexpected())?;
        let links: Vec<(PathBuf, RawChange)> = changes
            .iter()
            .filter(|change| change.modes.contains(&GITLINK))
            .map(|change| (process::path(change.path), *change))
            .collect();
        let (mut added, mut replaced) = (Vec::new(), Replaced::default());
        let mut kept = Vec::new();
        for change in changes {
            let path = process::path(change.path);
            let [before, after] = change.modes.map(|mode| mode.bytes().any(|digit| digit != b'0'));
            // A repository inside counts as no file of this one, on either side.
            if self.excludes(&path) || links.iter().any(|(link, _)| path.starts_with(link)) {
                kept.push(change);
            } else if !after {
                replaced.deleted.push(path);
            } else {
                if !before {
                    added.push(path.clone());
                }
                replaced.written.push(path);
            }
        }
        self.refuse_to_overwrite(&added, &replaced.deleted)?;
        let to = &self.keeping(to, &kept)?;
        // A two-way merge touches only files that differ between the trees, and nothing at all if that is not possible.
        self.own_index_git().args(["read-tree", "-m", "-u", from, to]).run()?;
        replaced.nested = self.restore_nested(&links, place);
        Ok(replaced)
    }

    /// Returns the tree in which some paths are as they are before these changes: a checkpoint older than ralph's state
    /// directory can have files in its place.
    fn keeping(&self, tree: &str, changes: &[RawChange]) -> Result<String, GitError> {
        if changes.is_empty() {
            return Ok(tree.to_owned());
        }
        let index = self.index.with_extension("restored");
        let git = || self.own_index_git().env("GIT_INDEX_FILE", &index);
        git().args(["read-tree", tree]).run()?;
        let removals = changes.iter().map(|change| self.removal(change.path));
        let kept = changes
            .iter()
            .filter(|change| change.modes[0].bytes().any(|digit| digit != b'0'));
        let kept = kept.map(|change| {
            let entry = format!("{} {} 0\t", change.modes[0], change.blob_before);
            [entry.as_bytes(), change.path, b"\0"].concat()
        });
        let entries: Vec<u8> = removals.chain(kept).flatten().collect();
        let write = ["update-index", "--add", "-z", "--index-info"];
        git().args(write).input(entries).run()?;
        let tree = git().args(["write-tree"]).run()?.line();
        _ = fs::remove_file(&index); // a temporary file
        tree
    }

    /// git overwrites ignored files; files that no checkpoint holds must stay.
    fn refuse_to_overwrite(&self, added: &[PathBuf], deleted: &[PathBuf]) -> Result<(), GitError> {
        let deleted: HashSet<&Path> = deleted.iter().map(PathBuf::as_path).collect();
        let mut in_the_way = Vec::new();
        for path in added {
            // A file in the place of a directory is in the way as well.
            let on_the_way = path.ancestors().filter(|part| !part.as_os_str().is_empty());
            for part in on_the_way {
                let is_file_itself = part == path;
                match fs::symlink_metadata(self.layout.root.join(part)) {
                    Ok(found) if found.is_dir() && is_file_itself => {
                        self.files_below(part, &deleted, &mut in_the_way)?
                    }
                    Ok(found) if !found.is_dir() && !deleted.contains(part) => in_the_way.push(part.to_owned()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        match in_the_way.first() {
            None => Ok(()),
            Some(path) => Err(GitError::InTheWay {
                path: path.clone(),
                more: in_the_way.len() - 1,
            }),
        }
    }

    /// Finds files below a directory that remain when `deleted` are gone.
    fn files_below(
        &self,
        directory: &Path,
        deleted: &HashSet<&Path>,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), GitError> {
        let path = self.layout.root.join(directory);
        let failed = |source| GitError::File {
            path: path.clone(),
            source,
        };
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let below = directory.join(entry.file_name());
            if entry.file_type().map_err(failed)?.is_dir() {
                self.files_below(&below, deleted, found)?;
            } else if !deleted.contains(below.as_path()) {
                found.push(below);
            }
        }
        Ok(())
    }
}

fn read_saved(line: &str, prefix: &str) -> Option<SavedCheckpoint> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, commit, tree, parent, at, body] = fields[..] else {
        return None;
    };
    let place = CheckpointPosition::parse(name.strip_prefix(prefix)?)?;
    // The parent is HEAD in checkpoints from before there was a store.
    let head = body.strip_prefix(HEAD).unwrap_or(parent);
    let head = (!head.is_empty()).then(|| head.to_owned());
    let checkpoint = Checkpoint {
        commit: commit.to_owned(),
        tree: tree.to_owned(),
        head,
    };
    Some(SavedCheckpoint {
        position: place,
        checkpoint,
        at_s: at.parse().ok()?,
    })
}
