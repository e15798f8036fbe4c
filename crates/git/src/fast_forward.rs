//! Moves a branch forward, with the files of the work tree in which it is checked out: of the user's own, if it is clean.

use std::{path::Path, sync::Arc};

use super::{
    Branches, GitError,
    work_trees::{DEADLINE, full},
};

/// The result of moving a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveResult {
    Done,
    /// The branch is not at the expected commit.
    HadMoved,
    /// The branch is checked out, and its work tree cannot be moved.
    InUse {
        why: String,
    },
}

/// Moves a branch from the commit `onto` forward to `commit`.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn fast_forward(branches: &Branches, branch: &str, onto: &str, commit: &str) -> Result<MoveResult, GitError> {
    match branches.tip(branch)? {
        Some(tip) if tip == commit => return Ok(MoveResult::Done),
        Some(tip) if tip == onto => {}
        // The branch contains the commit already, and more.
        Some(tip) if branches.is_ancestor(commit, &tip)? => return Ok(MoveResult::Done),
        Some(_) | None => return Ok(MoveResult::HadMoved),
    }
    let Some(tree) = branches.checked_out_in(branch)? else {
        let moved = branches
            .git()
            .args(["update-ref", &full(branch), commit, onto])
            .run_any()?;
        return Ok(match moved.success() {
            true => MoveResult::Done,
            false if branches.tip(branch)?.as_deref() == Some(onto) => MoveResult::InUse {
                why: moved.refusal().to_string(),
            },
            false => MoveResult::HadMoved,
        });
    };
    if let Some(why) = unmovable(branches, &tree)? {
        return Ok(MoveResult::InUse { why });
    }
    let moved = writing_to(branches, &tree)?
        .at(&tree)
        .deadline(DEADLINE)
        .args(["merge", "--ff-only", "--quiet", commit])
        .run_any()?;
    if moved.success() && branches.tip(branch)?.as_deref() == Some(commit) {
        return Ok(MoveResult::Done);
    }
    Ok(match branches.tip(branch)? {
        Some(tip) if tip == onto => MoveResult::InUse {
            why: moved.refusal().to_string(),
        },
        Some(_) | None => MoveResult::HadMoved,
    })
}

/// Returns why the branch of a work tree cannot move with its files.
///
/// # Errors
/// [`GitError`] if git cannot tell.
pub fn unmovable(branches: &Branches, tree: &Path) -> Result<Option<String>, GitError> {
    let why = match tree.is_dir() {
        // On a disk that is not there now, perhaps: git lists a lost one as prunable.
        false => "is missing, and git keeps the branch for it until `git worktree unlock`",
        true if branches.is_clean(tree, false)? => return Ok(None),
        true => "has uncommitted changes",
    };
    Ok(Some(format!("{} {why}", tree.display())))
}

/// Returns the repository with a work tree among the places that git may write, if the tree's own `.git` leads to it:
/// agents can write an entry of any directory into the repository, but no `.git` outside of their places.
fn writing_to(branches: &Branches, tree: &Path) -> Result<Branches, GitError> {
    let mut writing = branches.clone();
    if let Some(confinement) = &mut writing.confinement
        && tree.join(".git").exists()
        && branches.admin_of(tree)?.starts_with(&branches.common_dir)
    {
        Arc::make_mut(confinement).write.push(tree.to_owned());
    }
    Ok(writing)
}
