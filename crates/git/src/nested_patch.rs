//! Patches of what differs in repositories inside the work tree: git shows their commits' names only.

use std::path::Path;

use super::{
    GitError, Repository,
    nested::GITLINK,
    process::{self, raw_changes},
};

impl Repository {
    /// Returns what differs in the repositories inside between two trees, as git renders it with `args`, up to `cap`
    /// bytes. Paths are those from the root. What a repository no longer has is left out.
    ///
    /// # Errors
    /// [`GitError`] if one of the trees is gone.
    pub(super) fn nested_patches(&self, from: &str, to: &str, args: &[&str], cap: usize) -> Result<Vec<u8>, GitError> {
        self.nested_patches_below(Path::new(""), from, to, args, cap)
    }

    fn nested_patches_below(
        &self,
        above: &Path,
        from: &str,
        to: &str,
        args: &[&str],
        cap: usize,
    ) -> Result<Vec<u8>, GitError> {
        let output = self.tree_changes(from, to)?;
        let mut bytes = Vec::new();
        let links = raw_changes(&output.stdout).flatten().filter(|change| {
            // A repository that came or went has no other side.
            change.modes == [GITLINK; 2]
        });
        for change in links {
            let path = process::path(change.path);
            let Some(nested) = self.reopened(&path) else { continue };
            let states = [change.blob_before, change.blob_after].map(|commit| nested.recorded_state(commit));
            let [Ok(from), Ok(to)] = states else { continue };
            let place = above.join(&path);
            let prefixes =
                [("src", "a"), ("dst", "b")].map(|(side, sign)| format!("--{side}-prefix={sign}/{}/", place.display()));
            let left = cap.saturating_sub(bytes.len());
            let git = nested.git().output_cap(left).args(args).args(prefixes);
            if let Ok(patch) = git.args([&from.tree, &to.tree]).run() {
                bytes.extend(patch.stdout);
            }
            let left = cap.saturating_sub(bytes.len());
            bytes.extend(nested.nested_patches_below(&place, &from.tree, &to.tree, args, left)?);
        }
        Ok(bytes)
    }
}
