//! Puts files of one commit into a work tree of another, to examine both together.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    GitError, process,
    work_trees::{Branches, DEADLINE},
};

/// Returns the paths that differ between `commit` and its fork point from `base`, relative to the root of the
/// repository.
///
/// # Errors
/// [`GitError`] if git cannot be asked, or if the two have no common ancestor.
pub fn changed_since_fork(branches: &Branches, base: &str, commit: &str) -> Result<Vec<String>, GitError> {
    let range = format!("{base}...{commit}");
    let diff = ["diff", "--name-only", "-z", "--no-renames", &range];
    let output = branches.git().deadline(DEADLINE).args(diff).run()?;
    let names = process::nul_separated(&output.stdout);
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Returns the path of a project's file relative to the root of the repository.
pub fn below_root(branches: &Branches, path: &str) -> String {
    branches
        .project_in(Path::new(""))
        .join(path)
        .to_string_lossy()
        .into_owned()
}

/// Returns the path of a repository's file relative to the project; `None` if it lies outside.
pub fn below_project(branches: &Branches, path: &str) -> Option<String> {
    let path = Path::new(path).strip_prefix(branches.project_in(Path::new(""))).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Makes `paths` in a work tree of ralph's own the same as in `commit`; files that `commit` lacks are removed.
///
/// # Errors
/// [`GitError`] if git cannot write them.
pub fn overlay(branches: &Branches, tree: &Path, commit: &str, paths: &[String]) -> Result<(), GitError> {
    // `cat-file` reads a path a line: a file with a line break in its name is left as it is.
    let paths: Vec<&String> = paths.iter().filter(|path| !path.contains('\n')).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let asked: String = paths.iter().map(|path| format!("{commit}:{path}\n")).collect();
    let check = ["cat-file", "--batch-check=%(objecttype)"];
    let found = branches.at(tree).args(check).input(asked.into_bytes()).run()?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut there = Vec::new();
    for (path, kind) in paths.into_iter().zip(found.lines()) {
        if kind == "blob" {
            there.push(path.as_str());
        } else {
            let path: PathBuf = tree.join(path);
            _ = fs::remove_file(path); // it may be missing, or a directory of other files
        }
    }
    if there.is_empty() {
        return Ok(());
    }
    let checkout = ["checkout", "--quiet", "--force", commit];
    let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    let git = branches.at(tree).deadline(DEADLINE).env("GIT_LITERAL_PATHSPECS", "1");
    let git = git.args(checkout).args(from).input(there.join("\0").into_bytes());
    git.run().map(drop)
}
