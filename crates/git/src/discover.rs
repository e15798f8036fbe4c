//! Finds a project's repository, and its peculiarities.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use ralph_system::{files::open_unfollowed, paths::States, proc::Supervisor};

use super::{
    GitError, NoRepository, Repository,
    commit_counts::CommitCounts,
    layout::{RepositoryLayout, inspect_above, read_small, root_of},
    origin::Origin,
    process::{self, DEADLINE, DISCOVERY_DEADLINE, Git},
    state::RepositoryState,
    store::{store_above, store_of},
};

impl Repository {
    /// Finds the repository that contains `project`. `scratch` is an existing directory outside of it that only ralph
    /// uses; ralph's own index goes there. The store of its checkpoints is below `states`.
    ///
    /// The sentences beside the repository are for the user: files that checkpoints leave out, and anything unusual.
    ///
    /// # Errors
    /// [`NoRepository`] if checkpoints are not possible. The loop works without.
    pub fn discover(
        project: &Path,
        scratch: &Path,
        states: &States,
        supervisor: &Supervisor,
    ) -> Result<(Repository, Vec<String>), NoRepository> {
        let project = project.canonicalize().map_err(|source| unreadable(project, source))?;
        let repository = Repository::open(&project, scratch, Some(states), supervisor)?;
        if repository.root() != project {
            refuse_home(repository.root())?;
            repository.refuse_ignored(&project)?;
        }
        let notes = repository.notes(&project)?;
        Ok((repository, notes))
    }

    /// Finds the repository as [`Repository::discover`] does. If it is gone, its store stands in for it: files are
    /// compared and restored without it.
    ///
    /// # Errors
    /// As [`Repository::discover`].
    pub fn discover_or_store(
        project: &Path,
        scratch: &Path,
        states: &States,
        supervisor: &Supervisor,
    ) -> Result<(Repository, Vec<String>), NoRepository> {
        let found = Repository::discover(project, scratch, states, supervisor);
        let Err(NoRepository::NotARepository { .. }) = &found else {
            return found;
        };
        let Some((root, id_bytes, store)) = store_above(states, project) else {
            return found;
        };
        let layout = RepositoryLayout {
            root,
            git_dir: store.clone(),
            common_dir: store.clone(),
        };
        let repository = Repository::at(layout, id_bytes, scratch, Some(store), supervisor)?;
        Ok((repository, Vec::new()))
    }

    /// Opens the repository that contains `project`, a path without links. Without `states` it holds its checkpoints
    /// itself.
    pub(super) fn open(
        project: &Path,
        scratch: &Path,
        states: Option<&States>,
        supervisor: &Supervisor,
    ) -> Result<Repository, NoRepository> {
        inspect_above(project).map_err(NoRepository::Unreadable)?;
        let (layout, id_bytes) = locate(project, supervisor)?;
        let store = states.map(|states| store_of(states, &layout.common_dir, id_bytes));
        Repository::at(layout, id_bytes, scratch, store, supervisor)
    }

    fn at(
        layout: RepositoryLayout,
        id_bytes: usize,
        scratch: &Path,
        store: Option<PathBuf>,
        supervisor: &Supervisor,
    ) -> Result<Repository, NoRepository> {
        let scratch = scratch.canonicalize().map_err(|source| unreadable(scratch, source))?;
        let identities = layout.directory_identities().map_err(NoRepository::Unreadable)?;
        let mut repository = Repository {
            layout,
            id_bytes,
            supervisor: supervisor.clone(),
            index: scratch.join("git-index"),
            store,
            attribute_free_dir: scratch.join("git-plain"),
            deadline: DEADLINE,
            include: Vec::new(),
            excluded_state: None,
            commit_counts: CommitCounts::default(),
            origin: Origin::default(),
            depth: 0,
            agents_rights: None,
            state: Mutex::new(RepositoryState::new(identities)),
        };
        // Another process's index there says nothing about the present files.
        repository.forget_index().map_err(NoRepository::Unreadable)?;
        repository.origin = Origin::read(&repository.layout.git_dir, repository.git());
        Ok(repository)
    }

    fn notes(&self, project: &Path) -> Result<Vec<String>, NoRepository> {
        let mut notes = Vec::new();
        if self.layout.root != project {
            notes.push(format!(
                "Checkpoints hold the whole repository {}.",
                self.layout.root.display()
            ));
        }
        let git = self.git().deadline(DISCOVERY_DEADLINE);
        let head = git.args(["rev-parse", "--verify", "--quiet", "HEAD"]).run_any();
        if !head.map_err(NoRepository::Unreadable)?.success() {
            notes.push("The repository has no commit yet; checkpoints work all the same.".to_owned());
        }
        if let Some(operation) = self.operation() {
            notes.push(format!(
                "A {operation} is in progress; checkpoints hold the files as they are."
            ));
        }
        Ok(notes)
    }

    /// Checkpoints of a project that its repository ignores would hold everything but the project.
    fn refuse_ignored(&self, project: &Path) -> Result<(), NoRepository> {
        // Tracked files are not ignored; git needs a readable index to know them.
        let theirs = self.layout.git_dir.join("index");
        let by = if matches!(open_unfollowed(&theirs), Ok(Some(_))) {
            theirs
        } else {
            self.index.clone()
        };
        let git = self.git().env("GIT_INDEX_FILE", by).deadline(DISCOVERY_DEADLINE);
        let check = git.args(["check-ignore", "--quiet", "--"]).args([project]).run_any();
        if check.map_err(NoRepository::Unreadable)?.success() {
            return Err(NoRepository::Ignored {
                path: project.to_owned(),
                root: self.root().to_owned(),
            });
        }
        Ok(())
    }

    /// Returns the operation that was begun and not finished.
    pub fn operation(&self) -> Option<&'static str> {
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
            .find(|(mark, _)| self.layout.git_dir.join(mark).exists())
            .map(|(_, operation)| operation)
    }
}

/// Returns the version of the installed git, such as `2.47.3`.
///
/// # Errors
/// [`NoRepository::NoGit`], or [`NoRepository::Unreadable`] if git does not print it.
pub fn version(supervisor: &Supervisor) -> Result<String, NoRepository> {
    let git = Git::at(supervisor, Path::new("/")).args(["--version"]);
    let output = match git.deadline(DISCOVERY_DEADLINE).run() {
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

/// Asks git for the repository, and rejects one that leads away from the project: an agent can write the files that git
/// reads, and a restore there would overwrite files of something else.
fn locate(project: &Path, supervisor: &Supervisor) -> Result<(RepositoryLayout, usize), NoRepository> {
    let args = [
        "rev-parse",
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-toplevel",
        "--show-object-format",
    ];
    let output = match Git::at(supervisor, project)
        .deadline(DISCOVERY_DEADLINE)
        .args(args)
        .run_any()
    {
        Ok(output) => output,
        Err(GitError::Start { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(NoRepository::NoGit);
        }
        Err(error) => return Err(NoRepository::Unreadable(error)),
    };
    let path = project.to_owned();
    let lines: Vec<&[u8]> = output.stdout.split(|&byte| byte == b'\n').collect();
    let (paths, format) = match lines[..] {
        // git stops with an error at the first question without an answer.
        [b"true", ..] => return Err(NoRepository::Bare { path }),
        [_, b"true", ..] => return Err(NoRepository::InsideGitDirectory { path }),
        [_, _, git_dir, common_dir, root, format, b""] => ([git_dir, common_dir, root].map(process::path), format),
        // A path has line breaks, so each is asked for alone.
        [_, _, .., format, b""] if output.success() => {
            let ask = |question| {
                let asked = Git::at(supervisor, project).deadline(DISCOVERY_DEADLINE);
                let output = asked.args(["rev-parse", question]).run();
                output
                    .and_then(|output| output.path())
                    .map_err(NoRepository::Unreadable)
            };
            let [_, _, _, git_dir, common_dir, root, _] = args;
            ([ask(git_dir)?, ask(common_dir)?, ask(root)?], format)
        }
        _ if output.stderr.contains("not a git repository") => return Err(NoRepository::NotARepository { path }),
        _ => return Err(NoRepository::Unreadable(output.refusal())),
    };
    let [git_dir, common_dir, root] = paths;
    let absolute = |printed: PathBuf| {
        let path = project.join(printed);
        path.canonicalize().map_err(|source| unreadable(&path, source))
    };
    let layout = RepositoryLayout {
        root,
        git_dir: absolute(git_dir)?,
        common_dir: absolute(common_dir)?,
    };
    // An old git that does not know the question repeats it; it knows only SHA-1.
    let id_bytes = if format == b"sha256" { 32 } else { 20 };
    Ok((check_location(project, layout, supervisor)?, id_bytes))
}

/// Returns git's directories of `project`, wherever they are; none if it is in no repository that ralph accepts.
pub fn directories(project: &Path, supervisor: &Supervisor) -> Vec<PathBuf> {
    match locate(project, supervisor) {
        Ok((layout, _)) if layout.git_dir == layout.common_dir => vec![layout.git_dir],
        Ok((layout, _)) => vec![layout.git_dir, layout.common_dir],
        Err(_) => Vec::new(),
    }
}

fn check_location(
    project: &Path,
    layout: RepositoryLayout,
    supervisor: &Supervisor,
) -> Result<RepositoryLayout, NoRepository> {
    let git_dir = layout.git_dir.clone();
    if root_of(project, &git_dir).as_ref() != Some(&layout.root) {
        let to = layout.root;
        return Err(NoRepository::WorkTreeElsewhere { git_dir, to });
    }
    // The directory of a linked work tree lies below the common one.
    if !git_dir.starts_with(&layout.common_dir) {
        let to = layout.common_dir;
        return Err(NoRepository::ReferencesElsewhere { git_dir, to });
    }
    if !points_back(&layout, supervisor) {
        let root = layout.root;
        return Err(NoRepository::ForeignGitDirectory { git_dir, root });
    }
    Ok(layout)
}

/// Whether the git directory is in the work tree or names it: `gitdir` of a linked work tree, `core.worktree` of a submodule.
/// An agent can write `.git`, but not the git directory of a repository elsewhere.
fn points_back(layout: &RepositoryLayout, supervisor: &Supervisor) -> bool {
    if layout.git_dir.starts_with(&layout.root) {
        return true;
    }
    if let Some(named) = read_small(&layout.git_dir.join("gitdir")) {
        let named = layout
            .git_dir
            .join(process::path(named.strip_suffix(b"\n").unwrap_or(&named)));
        return named.parent().and_then(|root| root.canonicalize().ok()) == Some(layout.root.clone());
    }
    // git has found the work tree by this setting, if there is one.
    let asked = Git::at(supervisor, &layout.root).args(["config", "--local", "--get", "core.worktree"]);
    asked.run_any().is_ok_and(|answer| !answer.stdout.is_empty())
}

/// A home directory under git holds configuration files; a checkpoint would read everything in it.
fn refuse_home(root: &Path) -> Result<(), NoRepository> {
    let home = env::home_dir().and_then(|home| fs::canonicalize(home).ok());
    if root == Path::new("/") || home.is_some_and(|home| home == root) {
        return Err(NoRepository::Home { root: root.to_owned() });
    }
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> NoRepository {
    NoRepository::Unreadable(GitError::File {
        path: path.to_owned(),
        source,
    })
}
