//! Renders changes as patches.

use std::path::Path;

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

/// Moves the plan to the end of a patch: its ticks are in nearly every one, and are not what a reader looks for. A patch that
/// was cut stays as it is.
pub(super) fn with_plan_last(output: &mut GitOutput, plan: &Path) {
    let (mut at, mut plan_begins, mut plan_ends) = (0, None, None);
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        // All lines of a file's contents begin with another sign.
        if let Some(names) = line.strip_prefix(b"diff --git a/") {
            let names = String::from_utf8_lossy(names);
            let is_plan = names.split_once(" b/").is_some_and(|(name, _)| plan.ends_with(name));
            match plan_begins {
                None if is_plan => plan_begins = Some(at),
                Some(_) if plan_ends.is_none() => plan_ends = Some(at),
                _ => {}
            }
        }
        at += line.len();
    }
    if let Some((begins, ends)) = plan_begins.zip(plan_ends).filter(|_| !output.cut) {
        output.stdout[begins..].rotate_left(ends - begins);
    }
}

impl Repository {
    /// Renders the patch from one checkpoint to another, or to the present files: statistics first, then the lines, those of
    /// the plan last.
    ///
    /// A patch above 1 MiB is cut, and ends with a note.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn patch(&self, from: &Checkpoint, to: Option<&Checkpoint>, plan: &Path) -> Result<String, GitError> {
        let to = self.tree_of(to)?;
        if from.tree == to {
            return Ok(String::new());
        }
        let git = self.store_git().output_cap(CAP_BYTES).args(PATCH);
        let mut output = git.args([&from.tree, &to]).run()?;
        let left = CAP_BYTES.saturating_sub(output.stdout.len());
        let nested = self.nested_patches(&from.tree, &to, &PATCH, left)?;
        output.stdout.extend(nested);
        with_plan_last(&mut output, plan);
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
