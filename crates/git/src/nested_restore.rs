//! Restores repositories inside the work tree to the state that a checkpoint names.
//!
//! Their files are restored as those of the project, and HEAD, branch and index stay; so the user finds the agent's
//! commits where they were made. HEAD of a submodule moves, because the project records it.

use std::path::{Path, PathBuf};

use ralph_core::event::Checkpoint;

use super::{
    GitError, Repository,
    nested::GITLINK,
    process::{self, RawChange},
    restore::Replaced,
};

/// Digits of a commit's name in a sentence.
const DIGITS: usize = 10;

/// The work done in a repository inside the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedRestore {
    /// Relative to the root.
    pub path: PathBuf,
    /// Relative to that repository.
    pub written: Vec<PathBuf>,
    pub deleted: Vec<PathBuf>,
    /// The commit that HEAD was moved to.
    pub moved: Option<String>,
    /// The differences from the record, the reason, and the command that changes them.
    pub left: Option<String>,
}

impl Repository {
    /// Restores the repositories whose entries differ, each by itself: one that cannot be restored is left and named.
    /// This one is at `place` in the project, from where the commands are typed.
    pub(super) fn restore_nested(&self, links: &[(PathBuf, RawChange)], place: &Path) -> Vec<NestedRestore> {
        let mut state = self.state.lock();
        // The entries are those of the tree before.
        state.nested.forget_links();
        let submodules: Vec<PathBuf> = (state.origin.iter())
            .flat_map(|index| index.submodules().map(|file| process::path(file.path)))
            .collect();
        let mut restored = Vec::new();
        for (path, change) in links {
            let nested_place = &place.join(path);
            let mut result = NestedRestore::new(nested_place);
            let is_submodule = submodules.contains(path);
            let [now, then] = change.modes.map(|mode| mode == GITLINK);
            let (before, recorded) = (change.blob_before, change.blob_after);
            let mut inner = Vec::new();
            match state.nested.whole(path) {
                _ if !then => result.left = Some("left as it is: the checkpoint has no repository there".to_owned()),
                Some(nested) if now => match nested.restore_state(before, recorded, is_submodule, nested_place) {
                    Ok((replaced, moved, left)) => {
                        (result.written, result.deleted) = (replaced.written, replaced.deleted);
                        (result.moved, result.left) = (moved, left);
                        inner = replaced.nested;
                    }
                    Err(error) => {
                        result.left = Some(left(nested_place, before, recorded, &error.to_string(), "checkout"))
                    }
                },
                Some(_) | None if now => {
                    let why = "checkpoints do not have its files";
                    result.left = Some(left(nested_place, before, recorded, why, "checkout"));
                }
                Some(_) | None => {
                    let git = match place.as_os_str().is_empty() {
                        true => "git".to_owned(),
                        false => format!("git -C {}", place.display()),
                    };
                    let back = match is_submodule {
                        true => format!("`{git} submodule update --init {}` brings it back", path.display()),
                        false => "its commits are gone with it".to_owned(),
                    };
                    result.left = Some(format!("gone, recorded {}: {back}", short(recorded)));
                }
            }
            restored.push(result);
            restored.extend(inner);
        }
        restored
    }

    /// Restores the state that a commit stands for. Returns the replaced files, where HEAD was moved to, and what was
    /// left.
    fn restore_state(
        &self,
        from: &str,
        to: &str,
        is_submodule: bool,
        place: &Path,
    ) -> Result<(Replaced, Option<String>, Option<String>), GitError> {
        let (now, then) = (self.recorded_state(from)?, self.recorded_state(to)?);
        let replaced = self.replace(&now.tree, &then.tree, place)?;
        if now.head == then.head {
            return Ok((replaced, None, None));
        }
        let head = |state: &Checkpoint| state.head.clone().unwrap_or_default();
        let (before, recorded) = (head(&now), head(&then));
        Ok(match self.move_head(&before, &recorded, is_submodule) {
            Ok(()) => (replaced, Some(short(&recorded).to_owned()), None),
            Err(why) => (
                replaced,
                None,
                // The files are as recorded, so only HEAD is left to move.
                Some(left(place, &before, &recorded, &why, "reset")),
            ),
        })
    }

    /// Moves HEAD and the index of a submodule to a commit, as `git submodule update` does, but for the files.
    fn move_head(&self, from: &str, to: &str, is_submodule: bool) -> Result<(), String> {
        if !is_submodule {
            return Err("it is no submodule, so its HEAD stays".to_owned());
        }
        if from.is_empty() || to.is_empty() {
            return Err("one of them is no commit".to_owned());
        }
        if let Some(operation) = self.operation() {
            return Err(format!("a {operation} is in progress"));
        }
        let users = || self.git().env("GIT_INDEX_FILE", self.user_index_path());
        let staged = users().args(["diff-index", "--cached", "--quiet", "--ignore-submodules", from, "--"]);
        let in_words = |error: GitError| error.to_string();
        if !staged.run_any().map_err(in_words)?.success() {
            return Err("changes are staged there".to_owned());
        }
        users().args(["read-tree", to]).run().map_err(in_words)?;
        // A person may want to find the way back.
        let logged = self.git().setting("core.logAllRefUpdates=true");
        let moved = logged.args(["update-ref", "--no-deref", "-m", "ralph restore", "HEAD", to, from]);
        moved.run().map_err(in_words)?;
        // The entries have no times yet.
        _ = users().args(["update-index", "-q", "--refresh"]).run_any(); // git finds out by itself as well
        Ok(())
    }
}

impl NestedRestore {
    fn new(path: &Path) -> NestedRestore {
        NestedRestore {
            path: path.to_owned(),
            written: Vec::new(),
            deleted: Vec::new(),
            moved: None,
            left: None,
        }
    }
}

fn left(path: &Path, now: &str, recorded: &str, why: &str, command: &str) -> String {
    let (now, recorded) = (short(now), short(recorded));
    let command = format!("`git -C {} {command} {recorded}`", path.display());
    format!("left at {now}, recorded {recorded}: {why}; {command} changes it")
}

fn short(commit: &str) -> &str {
    match commit {
        "" => "no commit",
        _ => &commit[..commit.len().min(DIGITS)],
    }
}
