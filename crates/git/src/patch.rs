//! Renders changes as patches.

use ralph_core::event::Checkpoint;

use super::{GitError, Repository, process::GitOutput};

/// Most bytes of a patch: more than a person reads on a screen.
pub(super) const CAP_BYTES: usize = 1024 * 1024;

/// The command for a patch; two trees or commits follow.
pub(super) const PATCH: [&str; 8] = [
    "diff-tree",
    "-r",
    "--patch",
    "--stat=72",
    "--find-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
];

/// Returns the text of a patch; one that was cut names the command, beginning with `git`, that shows all of it.
pub(super) fn patch_text(output: &GitOutput, git: &str, from: &str, to: &str) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.cut {
        text.push_str(&format!(
            "\n[the patch is longer: `{git} diff {from:.12} {to:.12}` shows it all]\n"
        ));
    }
    text
}

impl Repository {
    /// Renders the patch from one checkpoint to another, or to the present files: statistics first, then the lines.
    ///
    /// A patch above 1 MiB is cut, and ends with a note.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn patch(&self, from: &Checkpoint, to: Option<&Checkpoint>) -> Result<String, GitError> {
        let to = self.tree_of(to)?;
        if from.tree == to {
            return Ok(String::new());
        }
        let git = self.store_git().output_cap(CAP_BYTES).args(PATCH);
        let mut output = git.args([&from.tree, &to]).run()?;
        let left = CAP_BYTES.saturating_sub(output.stdout.len());
        let nested = self.nested_patches(&from.tree, &to, &PATCH, left)?;
        output.stdout.extend(nested);
        Ok(patch_text(&output, &self.store_git_in_words(), &from.tree, &to))
    }

    /// Returns the tree of a checkpoint, or of the present files.
    pub(super) fn tree_of(&self, checkpoint: Option<&Checkpoint>) -> Result<String, GitError> {
        match checkpoint {
            Some(checkpoint) => Ok(checkpoint.tree.clone()),
            None => self.tree_now(),
        }
    }

    /// Writes a tree object of the present work tree, but no commit or reference.
    fn tree_now(&self) -> Result<String, GitError> {
        let mut state = self.state.lock();
        let verified = self.verify(&mut state);
        let tree = verified
            .and_then(|()| self.record_files(&mut state))
            .and_then(|_| self.write_tree());
        if tree.is_err() {
            self.start_over(&mut state);
        }
        state.last = None;
        tree
    }
}
