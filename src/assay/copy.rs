//! A copy of a project outside of it, with its own git repository and state directory.
//!
//! Ignored files are copied as well: goals need `node_modules`, `.venv` and `target`.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use ralph_gate::cheats::EditedFile;
use ralph_system::{
    files::read_bytes,
    proc::Supervisor,
    tree_copy::{self, TreeCopy},
};
use ralph_text::with_causes;
use thiserror::Error;

/// Deadline of git, for large projects.
const GIT_PATIENCE: Duration = Duration::from_secs(600);
/// Most bytes of a file that edits can change.
const EDITED_BYTES: u64 = 4 << 20;

/// The reason why a copy cannot be made or used.
#[derive(Debug, Error)]
pub(crate) enum ProjectCopyError {
    #[error("{path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("git {command}: {why}")]
    Git { command: String, why: String },
    #[error("{path}: inside of the project, of which a copy is to be made", path = path.display())]
    Inside { path: PathBuf },
    #[error("the project cannot be copied")]
    Tree(#[from] tree_copy::TreeCopyError),
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> ProjectCopyError {
    let path = path.to_owned();
    move |source| ProjectCopyError::File { path, source }
}

/// A copy of a project, removed on drop.
#[derive(Debug)]
pub(crate) struct ProjectCopy {
    tree: TreeCopy,
    supervisor: Supervisor,
    /// Edited files with their original contents, to be restored.
    before: Vec<(String, Option<Vec<u8>>)>,
}

impl ProjectCopy {
    /// Copies `project`, a canonical path, to a directory below `above`, and removes earlier copies that were left
    /// behind there.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if the project cannot be read, the copy cannot be written or git fails.
    pub(crate) fn make(project: &Path, above: &Path, supervisor: &Supervisor) -> Result<ProjectCopy, ProjectCopyError> {
        if above.starts_with(project) {
            return Err(ProjectCopyError::Inside { path: above.to_owned() });
        }
        fs::create_dir_all(above).map_err(file_error(above))?;
        let above = above.canonicalize().map_err(file_error(above))?;
        tree_copy::sweep(&above);
        let tree = TreeCopy::empty(&above)?;
        tree.fill_isolated(project)?;
        Ok(ProjectCopy {
            tree,
            supervisor: supervisor.clone(),
            before: Vec::new(),
        })
    }

    /// Returns the path of the project's copy.
    pub(crate) fn project(&self) -> PathBuf {
        self.tree.tree()
    }

    /// Returns a path beside the project's copy.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.tree.beside(name)
    }

    /// Creates a repository, with all files that git does not ignore in its first commit.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if git fails.
    pub(crate) fn begin_repository(&mut self) -> Result<(), ProjectCopyError> {
        self.git(&["init", "--quiet", "--template="])?;
        for (key, value) in [
            ("core.hooksPath", "/dev/null"),
            ("core.autocrlf", "false"),
            ("commit.gpgSign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("user.name", "ralph goals assay"),
            ("user.email", "assay@localhost"),
        ] {
            self.git(&["config", key, value])?;
        }
        self.commit()
    }

    /// Commits the copy as it is, so that [`ProjectCopy::restore`] keeps the edits made so far.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if git fails.
    pub(crate) fn commit(&mut self) -> Result<(), ProjectCopyError> {
        self.before.clear();
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "Copy"])
            .map(drop)
    }

    /// Returns the files that git does not ignore.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if git fails.
    pub(crate) fn files(&self) -> Result<Vec<String>, ProjectCopyError> {
        let listed = self.git(&["ls-files", "-z"])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names
            .filter_map(|name| Some(std::str::from_utf8(name).ok()?.to_owned()))
            .collect())
    }

    /// Returns the text of a file that edits can change; `None` behind a symlink, or if it is not text.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.can_be_edited(path).then_some(())?;
        String::from_utf8(read_bytes(&self.project().join(path), EDITED_BYTES).ok()?).ok()
    }

    /// Whether an edit of the path stays within the copy.
    pub(crate) fn can_be_edited(&self, path: &str) -> bool {
        let project = self.project();
        let is_plain = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let way = project.join(path);
        let mut way = way.ancestors().take_while(|above| *above != project);
        is_plain && !way.any(is_link)
    }

    /// Writes a file, until [`ProjectCopy::restore`] restores it.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if it cannot be written.
    pub(crate) fn write(&mut self, path: &str, text: &str) -> Result<(), ProjectCopyError> {
        self.remember(path);
        let path = self.project().join(path);
        fs::write(&path, text).map_err(file_error(&path))
    }

    /// Remembers the present contents of the edits' files for [`ProjectCopy::restore`].
    pub(crate) fn remember_all(&mut self, edits: &[EditedFile]) {
        for edit in edits {
            self.remember(&edit.path);
        }
    }

    fn remember(&mut self, path: &str) {
        if self.before.iter().all(|(known, _)| known != path) {
            let bytes = read_bytes(&self.project().join(path), EDITED_BYTES).ok();
            self.before.push((path.to_owned(), bytes));
        }
    }

    /// Restores edited files, and brings all files that git does not ignore back to the last commit.
    ///
    /// # Errors
    /// [`ProjectCopyError`] if a file cannot be restored or git fails.
    pub(crate) fn restore(&mut self) -> Result<(), ProjectCopyError> {
        for (path, bytes) in std::mem::take(&mut self.before) {
            let path = self.project().join(path);
            match bytes {
                Some(bytes) => fs::write(&path, bytes).map_err(file_error(&path))?,
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file_error(&path)(error)),
                    Ok(()) | Err(_) => {}
                },
            }
        }
        self.git(&["reset", "--quiet", "--hard"])?;
        self.git(&["clean", "--quiet", "-d", "--force"]).map(drop)
    }

    fn git(&self, args: &[&str]) -> Result<Vec<u8>, ProjectCopyError> {
        let failed = |why: String| ProjectCopyError::Git {
            command: args.join(" "),
            why,
        };
        let git = self.supervisor.git_helper(&self.project());
        let git = git.args(args).current_dir(&self.project());
        let finished = git.deadline(GIT_PATIENCE).run();
        let finished = finished.map_err(|error| failed(with_causes(&error)))?;
        match finished.status.success() {
            true => Ok(finished.stdout.bytes),
            false => Err(failed(
                String::from_utf8_lossy(&finished.stderr.bytes).trim().to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn edit(path: &str, text: Option<&str>) -> EditedFile {
        EditedFile {
            path: path.to_owned(),
            text: text.map(str::to_owned),
        }
    }

    /// Makes a project with everything that is difficult to copy.
    fn project(root: &Path) -> PathBuf {
        let project = root.join("project");
        for directory in [".git", "src", ".venv/lib", "target/debug/incremental"] {
            fs::create_dir_all(project.join(directory)).unwrap();
        }
        let path = project.display().to_string();
        for (name, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".gitignore", ".venv\ntarget\n"),
            ("src/a.py", "a = 1\n"),
            (".venv/lib/a.pth", &format!("{path}/src\n")),
            ("target/debug/incremental/x", ""),
            ("target/debug/x", ""),
            (".ralph-pause", ""),
        ] {
            fs::write(project.join(name), text).unwrap();
        }
        fs::write(root.join("shared"), "theirs").unwrap();
        symlink("../shared", project.join("shared")).unwrap();
        symlink(project.join("src"), project.join("link")).unwrap();
        project
    }

    #[test]
    fn a_copy_has_what_goals_need_and_nothing_that_leads_back() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let project = project(&path);
        let mut copy = ProjectCopy::make(&project, &path.join("copies"), &Supervisor::default()).unwrap();
        copy.begin_repository().unwrap();
        let there = copy.project();
        assert!(there.join("target/debug/x").exists() && !there.join("target/debug/incremental").exists());
        assert!(!there.join(".ralph-pause").exists());
        let pth = fs::read_to_string(there.join(".venv/lib/a.pth")).unwrap();
        assert_eq!(pth, format!("{}/src\n", there.display()));
        assert_eq!(fs::read_link(there.join("link")).unwrap(), there.join("src"));
        assert_eq!(fs::read_to_string(there.join("shared")).unwrap(), "theirs");
        assert!(copy.can_be_edited("src/new.py") && !copy.can_be_edited("shared") && !copy.can_be_edited("link/a.py"));
        assert!(!copy.can_be_edited("../x") && !copy.can_be_edited("/x"));
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(time(&there.join("src/a.py")), time(&project.join("src/a.py")));
        assert_eq!(copy.files().unwrap(), [".gitignore", "link", "shared", "src/a.py"]);
    }

    #[test]
    fn edits_are_taken_back_also_where_git_ignores_the_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let mut copy = ProjectCopy::make(&project(&path), &path.join("copies"), &Supervisor::default()).unwrap();
        copy.begin_repository().unwrap();
        let there = copy.project();
        copy.remember_all(&[edit(".venv/lib/a.pth", Some("x")), edit("target/new", Some("x"))]);
        fs::write(there.join(".venv/lib/a.pth"), "x").unwrap();
        fs::write(there.join("target/new"), "x").unwrap();
        fs::write(there.join("src/new.py"), "x").unwrap();
        copy.write("src/a.py", "a = 2\n").unwrap();
        copy.restore().unwrap();
        assert_eq!(copy.text("src/a.py").as_deref(), Some("a = 1\n"));
        assert!(
            fs::read_to_string(there.join(".venv/lib/a.pth"))
                .unwrap()
                .ends_with("/src\n")
        );
        assert!(!there.join("target/new").exists() && !there.join("src/new.py").exists());
    }

    #[test]
    fn a_copy_is_not_made_within_the_project_and_goes_when_it_is_dropped() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let (project, above) = (project(&path), path.join("copies"));
        let copy = ProjectCopy::make(&project, &above, &Supervisor::default()).unwrap();
        let gone = copy.project();
        drop(copy);
        assert!(!gone.exists());
        let inside = ProjectCopy::make(&project, &project.join("copies"), &Supervisor::default());
        assert!(matches!(inside, Err(ProjectCopyError::Inside { .. })), "{inside:?}");
    }
}
