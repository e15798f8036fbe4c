//! Files of a project that git ignores.

use std::path::{Path, PathBuf};

use super::{
    Branches, GitError, fingerprint,
    process::{self, Git},
    work_trees::DEADLINE,
};

/// Lists files of the project, relative to it, that git ignores and that match one of `patterns`: lines in the
/// syntax of `.gitignore`. Files within a directory that a tool made are listed only if a pattern matches that
/// directory.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn ignored_matching(branches: &Branches, patterns: &str) -> Result<Vec<PathBuf>, GitError> {
    let project = branches.project_in(branches.root());
    let list = |patterns: &str, more: &[&str]| {
        let list = ["ls-files", "--others", "--ignored", "-z", "--exclude-from=/dev/stdin"];
        let git = branches.at(&project).deadline(DEADLINE).args(list).args(more);
        git.input(patterns.as_bytes().to_vec()).run()
    };
    // A directory that matches as a whole ends with a slash.
    let entries = list(patterns, &["--directory"])?;
    let made: Vec<PathBuf> = process::nul_separated(&entries.stdout)
        .map(process::path)
        .filter(|path| fingerprint::is_made_anew(&project.join(path)))
        .collect();
    let matching = list(patterns, &[])?;
    let is_wanted = |path: &&[u8]| {
        let path = process::path(path);
        let mut above = path.ancestors().skip(1);
        let within = above.find(|above| fingerprint::is_made_anew(&project.join(above)));
        within.is_none_or(|within| made.iter().any(|made| made == within))
    };
    let mut asked = Vec::new();
    for path in process::nul_separated(&matching.stdout).filter(is_wanted) {
        asked.extend_from_slice(path);
        asked.push(0);
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let check = ["check-ignore", "-z", "--stdin"];
    let ignored = branches
        .at(&project)
        .deadline(DEADLINE)
        .args(check)
        .input(asked)
        .run_any()?;
    // 1 if nothing is ignored.
    match ignored.success() || ignored.stderr.is_empty() {
        true => Ok(process::nul_separated(&ignored.stdout).map(process::path).collect()),
        false => Err(ignored.refusal()),
    }
}

/// Returns those of some paths that git ignores and its index does not have.
///
/// # Errors
/// [`GitError`] if git cannot be run.
pub(super) fn ignored_of(git: Git, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let check = git
        .args(["check-ignore", "-z", "--stdin"])
        .input(process::listed(paths));
    let output = check.run_any()?; // 1 if nothing is ignored
    Ok(process::nul_separated(&output.stdout).map(process::path).collect())
}

/// Whether git ignores `path` in a work tree, so that no commit contains it by accident.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn is_ignored(branches: &Branches, tree: &Path, path: &Path) -> Result<bool, GitError> {
    let asked = ["check-ignore", "--quiet", "--"];
    Ok(branches.at(tree).args(asked).args([path]).run_any()?.success())
}
