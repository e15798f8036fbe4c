//! A copy of a project outside of it, with a git repository and a state directory of its own.
//!
//! Ignored files are copied as well: goals need `node_modules`, `.venv` and `target`. A copy is locked by whoever works with it; one
//! that nobody has locked was left behind by a ralph that was killed, and is removed when the next copy is made.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Component, Path, PathBuf},
    time::Duration,
};

use nix::{
    fcntl::AT_FDCWD,
    sys::{
        stat::{UtimensatFlags, utimensat},
        time::TimeSpec,
    },
};
use ralph_gate::cheats::Edit;
use tempfile::TempDir;
use thiserror::Error;

use crate::{
    files::{lock_within, read_bytes},
    proc::Supervisor,
    text::with_causes,
};

const LOCK: &str = "lock";
/// How long to wait for another ralph that makes or removes a copy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long git may take over a large project.
const GIT_PATIENCE: Duration = Duration::from_secs(600);
/// Files that may say where the project is are no larger.
const RELOCATED_BYTES: u64 = 64 << 10;
/// Files of the copy that are edited are no larger.
const EDITED_BYTES: u64 = 4 << 20;

/// Why there is no copy, or why it cannot be worked with.
#[derive(Debug, Error)]
pub(crate) enum CopyError {
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
    #[error("{path}: another ralph makes a copy there", path = path.display())]
    Busy { path: PathBuf },
}

fn of(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::File { path, source }
}

/// A copy of a project. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Copy {
    root: TempDir,
    supervisor: Supervisor,
    /// Files as they were before edits, to be put back.
    before: Vec<(String, Option<Vec<u8>>)>,
    _lock: File,
}

impl Copy {
    /// Copies `project`, a canonical path, to a directory below `above`, and removes copies there that were left behind.
    ///
    /// # Errors
    /// [`CopyError`] if the project cannot be read, the copy cannot be written or git fails.
    pub(crate) fn make(project: &Path, above: &Path, supervisor: &Supervisor) -> Result<Copy, CopyError> {
        if above.starts_with(project) {
            return Err(CopyError::Inside { path: above.to_owned() });
        }
        fs::create_dir_all(above).map_err(of(above))?;
        let above = &above.canonicalize().map_err(of(above))?;
        let gate = above.join(LOCK);
        let held = locked(&gate, PATIENCE)?.ok_or_else(|| CopyError::Busy { path: gate.clone() })?;
        sweep(above);
        let name = project.file_name().unwrap_or(OsStr::new("project")).to_string_lossy();
        let root = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(above);
        let root = root.map_err(of(above))?;
        let own = root.path().join(LOCK);
        let lock = locked(&own, Duration::ZERO)?.ok_or_else(|| CopyError::Busy { path: own.clone() })?;
        drop(held);
        let copy = Copy {
            root,
            supervisor: supervisor.clone(),
            before: Vec::new(),
            _lock: lock,
        };
        let to = copy.project();
        fs::create_dir(&to).map_err(of(&to))?;
        Copying { project, to: &to }.directory(Path::new(""))?;
        Ok(copy)
    }

    /// The project's copy.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// A path beside the project's copy.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Begins a repository with all that git does not ignore in its first commit.
    ///
    /// # Errors
    /// [`CopyError`] if git fails.
    pub(crate) fn begin_repository(&mut self) -> Result<(), CopyError> {
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

    /// Commits the copy as it is: edits until now are none any more.
    ///
    /// # Errors
    /// [`CopyError`] if git fails.
    pub(crate) fn commit(&mut self) -> Result<(), CopyError> {
        self.before.clear();
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "Copy"])
            .map(drop)
    }

    /// The files that git does not ignore.
    ///
    /// # Errors
    /// [`CopyError`] if git fails.
    pub(crate) fn files(&self) -> Result<Vec<String>, CopyError> {
        let listed = self.git(&["ls-files", "-z"])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names
            .filter_map(|name| Some(std::str::from_utf8(name).ok()?.to_owned()))
            .collect())
    }

    /// The text of a file that can be edited: a regular one that no symlink leads to.
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

    /// Writes a file, which [`Copy::restore`] makes what it was.
    ///
    /// # Errors
    /// [`CopyError`] if it cannot be written.
    pub(crate) fn write(&mut self, path: &str, text: &str) -> Result<(), CopyError> {
        self.remember(path);
        let path = self.project().join(path);
        fs::write(&path, text).map_err(of(&path))
    }

    /// Has [`Copy::restore`] make the files of the edits what they are now.
    pub(crate) fn remember_all(&mut self, edits: &[Edit]) {
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

    /// Makes edited files what they were, and all that git does not ignore what it was at the last commit.
    ///
    /// # Errors
    /// [`CopyError`] if that fails.
    pub(crate) fn restore(&mut self) -> Result<(), CopyError> {
        for (path, bytes) in std::mem::take(&mut self.before) {
            let path = self.project().join(path);
            match bytes {
                Some(bytes) => fs::write(&path, bytes).map_err(of(&path))?,
                None => match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(of(&path)(error)),
                    Ok(()) | Err(_) => {}
                },
            }
        }
        self.git(&["reset", "--quiet", "--hard"])?;
        self.git(&["clean", "--quiet", "-d", "--force"]).map(drop)
    }

    fn git(&self, args: &[&str]) -> Result<Vec<u8>, CopyError> {
        let failed = |why: String| CopyError::Git {
            command: args.join(" "),
            why,
        };
        let git = self.supervisor.helper("git").args(args).current_dir(&self.project());
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

/// Locks a file that is made if need be; none if another process has it for longer than `patience`.
fn locked(path: &Path, patience: Duration) -> Result<Option<File>, CopyError> {
    let file = File::create(path).map_err(of(path))?;
    let is_ours = lock_within(&file, patience).map_err(of(path))?;
    Ok(is_ours.then_some(file))
}

/// Removes copies that nobody works with, as far as they can be removed now.
fn sweep(above: &Path) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && matches!(locked(&path.join(LOCK), Duration::ZERO), Ok(Some(_))) {
            _ = fs::remove_dir_all(&path);
        }
    }
}

/// One copy that is being made.
struct Copying<'p> {
    project: &'p Path,
    to: &'p Path,
}

impl Copying<'_> {
    /// Copies what is below a directory of the project.
    fn directory(&self, below: &Path) -> Result<(), CopyError> {
        let from = self.project.join(below);
        for entry in fs::read_dir(&from).map_err(of(&from))? {
            let entry = entry.map_err(of(&from))?;
            let name = entry.file_name();
            let path = below.join(&name);
            let (source, target) = (entry.path(), self.to.join(&path));
            let kind = entry.file_type().map_err(of(&source))?;
            if is_left_out(&name, below, kind.is_dir()) {
                continue;
            }
            if kind.is_symlink() {
                let leads_to = fs::read_link(&source).map_err(of(&source))?;
                symlink(self.link(&from, &leads_to), &target).map_err(of(&target))?;
            } else if kind.is_dir() {
                fs::create_dir(&target).map_err(of(&target))?;
                self.directory(&path)?;
            } else if kind.is_file() {
                self.file(&source, &target)?;
            }
            // Pipes and sockets belong to programs that run elsewhere.
        }
        Ok(())
    }

    /// Copies a file with its time, since build tools go by it. The file system shares the blocks where it can.
    fn file(&self, source: &Path, target: &Path) -> Result<(), CopyError> {
        let metadata = fs::symlink_metadata(source).map_err(of(source))?;
        fs::copy(source, target).map_err(of(source))?;
        if let Some(text) = self.relocated(source, &metadata) {
            fs::write(target, text).map_err(of(target))?;
        }
        let time = TimeSpec::new(metadata.mtime(), metadata.mtime_nsec());
        utimensat(AT_FDCWD, target, &time, &time, UtimensatFlags::NoFollowSymlink)
            .map_err(|error| of(target)(error.into()))
    }

    /// The text of a file by which Python finds the project, or by which a program finds its interpreter in it, with the copy in its
    /// place: the copy is to be tested and not the project.
    fn relocated(&self, source: &Path, metadata: &Metadata) -> Option<String> {
        let name = source.file_name()?.to_string_lossy();
        let is_named = source.extension().is_some_and(|extension| extension == "pth")
            || name.starts_with("__editable__")
            || name == "pyvenv.cfg"
            || source.parent().is_some_and(|above| above.ends_with("bin"));
        if !is_named || metadata.len() > RELOCATED_BYTES {
            return None;
        }
        let text = String::from_utf8(read_bytes(source, RELOCATED_BYTES).ok()?).ok()?;
        let (from, to) = (self.project.to_str()?, self.to.to_str()?);
        text.contains(from).then(|| text.replace(from, to))
    }

    /// The target of a symlink in the copy of `directory`: within the copy if it led to a place in the project, else where it led.
    fn link(&self, directory: &Path, leads_to: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for part in directory.join(leads_to).components() {
            match part {
                Component::ParentDir => _ = absolute.pop(),
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => absolute.push(part),
            }
        }
        match absolute.strip_prefix(self.project) {
            Ok(_) if leads_to.is_relative() => leads_to.to_owned(),
            Ok(within) => self.to.join(within),
            Err(_) => absolute,
        }
    }
}

/// Left out are repositories, since nothing may be written to them, what runs of ralph left in the project, and what the compiler of
/// Rust keeps to be faster.
fn is_left_out(name: &OsStr, below: &Path, is_directory: bool) -> bool {
    let is_of_ralph = below.as_os_str().is_empty() && name.to_string_lossy().starts_with(".ralph-");
    let is_incremental =
        is_directory && name == "incremental" && below.components().any(|part| part.as_os_str() == "target");
    name == ".git" || is_of_ralph || is_incremental
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, text: Option<&str>) -> Edit {
        Edit {
            path: path.to_owned(),
            text: text.map(str::to_owned),
        }
    }

    /// A project with what copies have to look out for.
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
        let mut copy = Copy::make(&project, &path.join("copies"), &Supervisor::default()).unwrap();
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
        let mut copy = Copy::make(&project(&path), &path.join("copies"), &Supervisor::default()).unwrap();
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
    fn copies_that_were_left_behind_are_swept_and_those_in_use_stay() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let (project, above) = (project(&path), path.join("copies"));
        let used = Copy::make(&project, &above, &Supervisor::default()).unwrap();
        let left = above.join("project-left");
        fs::create_dir_all(left.join("project")).unwrap();
        let next = Copy::make(&project, &above, &Supervisor::default()).unwrap();
        assert!(!left.exists() && used.project().exists() && next.project().exists());
        let gone = next.project();
        drop(next);
        assert!(!gone.exists());
        let inside = Copy::make(&project, &project.join("copies"), &Supervisor::default());
        assert!(matches!(inside, Err(CopyError::Inside { .. })), "{inside:?}");
    }
}
