//! Finds the repository a project is in, and what is special about it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use super::{
    DEADLINE, GitError, NoRepository, Repository,
    process::{self, Git},
};

impl Repository {
    /// Finds the repository that `project` is in; `scratch` is an existing directory outside of it that only ralph
    /// uses, where its own index goes.
    ///
    /// The sentences beside the repository are for the user: what a checkpoint will not hold, what is unusual.
    ///
    /// # Errors
    /// [`NoRepository`] where there can be no checkpoints. The loop works without.
    pub fn discover(project: &Path, scratch: &Path) -> Result<(Repository, Vec<String>), NoRepository> {
        let project = project.canonicalize().map_err(|source| unreadable(project, source))?;
        let scratch = scratch.canonicalize().map_err(|source| unreadable(scratch, source))?;
        let (root, git_dir) = locate(&project)?;
        if root != project {
            refuse_home(&root)?;
            refuse_ignored(&project, &root)?;
        }
        let index = scratch.join("git-index");
        let repository = Repository {
            root,
            git_dir,
            index,
            deadline: DEADLINE,
            state: Default::default(),
        };
        // What another process left there tells nothing about the files as they are now.
        repository.forget_index().map_err(NoRepository::Unreadable)?;
        let notes = repository.notes(&project)?;
        Ok((repository, notes))
    }

    fn notes(&self, project: &Path) -> Result<Vec<String>, NoRepository> {
        let mut notes = Vec::new();
        if self.root != project {
            notes.push(format!(
                "Checkpoints hold the whole repository {}.",
                self.root.display()
            ));
        }
        let head = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD"]).run_any();
        if !head.map_err(NoRepository::Unreadable)?.success() {
            notes.push("The repository has no commit yet; checkpoints work all the same.".to_owned());
        }
        if let Some(operation) = self.operation() {
            notes.push(format!(
                "A {operation} is in progress; checkpoints hold the files as they are."
            ));
        }
        if self.root.join(".gitmodules").exists() {
            notes.push("Of submodules, checkpoints hold only which commit is checked out.".to_owned());
        }
        Ok(notes)
    }

    /// What the user has begun and not finished.
    fn operation(&self) -> Option<&'static str> {
        const MARKS: [(&str, &str); 6] = [
            ("MERGE_HEAD", "merge"),
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisection"),
        ];
        MARKS
            .into_iter()
            .find(|(mark, _)| self.git_dir.join(mark).exists())
            .map(|(_, operation)| operation)
    }
}

/// The version of the git that is installed, such as `2.47.3`.
///
/// # Errors
/// [`NoRepository::NoGit`], or [`NoRepository::Unreadable`] if it does not say.
pub fn version() -> Result<String, NoRepository> {
    let output = match Git::at(Path::new("/")).args(["--version"]).run() {
        Ok(output) => output,
        Err(GitError::Start { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(NoRepository::NoGit);
        }
        Err(error) => return Err(NoRepository::Unreadable(error)),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.trim();
    Ok(said.strip_prefix("git version ").unwrap_or(said).to_owned())
}

/// The work tree's root and the git directory.
fn locate(project: &Path) -> Result<(PathBuf, PathBuf), NoRepository> {
    let args = [
        "rev-parse",
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--absolute-git-dir",
        "--show-toplevel",
    ];
    let output = match Git::at(project).args(args).run_any() {
        Ok(output) => output,
        Err(GitError::Start { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(NoRepository::NoGit);
        }
        Err(error) => return Err(NoRepository::Unreadable(error)),
    };
    let path = project.to_owned();
    let mut lines = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    match (lines.next(), lines.next(), lines.next(), lines.next()) {
        // git stops with an error at the first question that has no answer.
        (Some(b"true"), ..) => Err(NoRepository::Bare { path }),
        (_, Some(b"true"), ..) => Err(NoRepository::InsideGitDirectory { path }),
        (_, _, Some(git_dir), Some(root)) => Ok((process::path(root), process::path(git_dir))),
        _ if output.stderr.contains("not a git repository") => Err(NoRepository::NotARepository { path }),
        _ => Err(NoRepository::Unreadable(output.refusal())),
    }
}

/// A home directory under git is somebody's configuration files; a checkpoint would read all there is.
fn refuse_home(root: &Path) -> Result<(), NoRepository> {
    let home = env::home_dir().and_then(|home| fs::canonicalize(home).ok());
    if root == Path::new("/") || home.is_some_and(|home| home == root) {
        return Err(NoRepository::Home { root: root.to_owned() });
    }
    Ok(())
}

/// A project that its repository ignores would have checkpoints of everything but itself.
fn refuse_ignored(project: &Path, root: &Path) -> Result<(), NoRepository> {
    let check = Git::at(root)
        .args(["check-ignore", "--quiet", "--"])
        .args([project])
        .run_any();
    if check.map_err(NoRepository::Unreadable)?.success() {
        return Err(NoRepository::Ignored {
            path: project.to_owned(),
            root: root.to_owned(),
        });
    }
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> NoRepository {
    NoRepository::Unreadable(GitError::File {
        path: path.to_owned(),
        source,
    })
}
