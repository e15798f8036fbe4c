//! The paths of a project's state: outside its tree, so that an agent cannot edit it by accident.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use ralph_core::event::RunId;
use thiserror::Error;

use crate::{
    faults::{self, DiskOperation},
    files,
};

/// A Unix socket's path has at most 108 bytes, the terminating NUL included.
const SOCKET_PATH_BYTES: usize = 107;

/// Most bytes of the name of a run.
const NAME_CAP_BYTES: u64 = 4096;
const TOKENS: &str = "tokens.json";

/// The file that an agent makes to claim that the plan is done.
pub const DONE_FILE: &str = ".ralph-done";
/// The file that the user makes to pause the run.
pub const PAUSE_FILE: &str = ".ralph-pause";

#[derive(Debug, Error)]
pub enum PathsError {
    #[error("no state directory: neither XDG_STATE_HOME nor HOME is set")]
    NoHome,
    #[error("{path}: cannot be created", path = path.display())]
    Create { path: PathBuf, source: io::Error },
    /// Other users can write there, and could change what ralph reads.
    #[error("{path}: the project's state is {why}", path = path.display())]
    NotPrivate { path: PathBuf, why: &'static str },
}

/// The files of one project, below the state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPaths {
    project: PathBuf,
    state: PathBuf,
}

/// Returns the directory of the work trees of all batches of a project, of which the `state` is below `root`.
pub fn work_trees_of(root: &Path, state: &Path) -> PathBuf {
    root.join("worktrees").join(state.file_name().unwrap_or_default())
}

impl ProjectPaths {
    /// Derives the paths of `project` (absolute, canonical) below `root`, or below the user's state directory.
    ///
    /// # Errors
    /// [`PathsError::NoHome`] if there is no directory to derive them from.
    pub fn new(project: &Path, root: Option<&Path>) -> Result<Self, PathsError> {
        let root = root.map_or_else(state_root, |root| Ok(root.to_owned()))?;
        Ok(Self {
            project: project.to_owned(),
            state: root.join(state_name(project)),
        })
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the directory of the states of all projects, which holds this one's.
    pub fn states(&self) -> States {
        let root = self.state.parent().unwrap_or(&self.state);
        States {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
        }
    }

    /// Returns the project's directory below the state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Checks that the project's state directory, if it exists, belongs to this user and can be written only by this
    /// user: below a directory that others may write to, another user may have made it first.
    ///
    /// # Errors
    /// [`PathsError::NotPrivate`] if it does not.
    pub fn check_state(&self) -> Result<(), PathsError> {
        let own = nix::unistd::getuid().as_raw();
        // The user may have replaced the directory by a symbolic link.
        let (Ok(entry), Ok(dir)) = (fs::symlink_metadata(&self.state), fs::metadata(&self.state)) else {
            return Ok(());
        };
        let why = if entry.uid() != own || dir.uid() != own {
            "owned by another user"
        } else if dir.is_dir() && dir.mode() & 0o022 != 0 {
            "writable by other users"
        } else {
            return Ok(());
        };
        Err(PathsError::NotPrivate {
            path: self.state.clone(),
            why,
        })
    }

    /// Creates the directories of the project's state, readable by the user alone.
    ///
    /// # Errors
    /// [`PathsError::Create`] if they cannot be made, [`PathsError::NotPrivate`] as [`ProjectPaths::check_state`].
    pub fn create(&self) -> Result<(), PathsError> {
        create_private_dir(&self.state)?;
        self.check_state()?;
        create_private_dir(&self.runs())
    }

    pub fn done_file(&self) -> PathBuf {
        self.project.join(DONE_FILE)
    }

    pub fn pause_file(&self) -> PathBuf {
        self.project.join(PAUSE_FILE)
    }

    pub fn lock(&self) -> PathBuf {
        self.state.join("lock")
    }

    /// Returns the lock file that is held as long as helpers of a loop work in the project.
    pub fn helpers(&self) -> PathBuf {
        self.state.join("helpers.lock")
    }

    /// Returns the file with the id of the latest run.
    pub fn latest(&self) -> PathBuf {
        self.state.join("latest")
    }

    /// Returns the file with the rules that answers have added.
    pub fn rules(&self) -> PathBuf {
        self.state.join("rules.json")
    }

    /// Returns the file with the user's trust in the project's own files.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// Returns the file with the tokens for the API over TCP.
    pub fn tokens(&self) -> PathBuf {
        self.state.join(TOKENS)
    }

    /// Returns the directory of caches for sandboxed programs that may not use the user's caches.
    pub fn caches(&self) -> PathBuf {
        self.state.join("caches")
    }

    /// Returns the path of the write-ahead record of a trial with the original tests.
    pub fn trial(&self) -> PathBuf {
        self.state.join("trial")
    }

    /// Returns the directory of project copies in which sealed goals run.
    pub fn sealed_copies(&self) -> PathBuf {
        self.state.join("sealed")
    }

    /// Returns the directory for the output of sealed goals that `ralph goals check` ran.
    pub fn sealed_outputs(&self) -> PathBuf {
        self.state.join("sealed-outputs")
    }

    /// Returns the directory for the short-lived files of commands that start programs outside of a run. No agent can
    /// write there.
    pub fn checks(&self) -> PathBuf {
        self.state.join("checks")
    }

    /// Returns the directory of the copy in which a run's goals run.
    pub fn room(&self) -> PathBuf {
        self.state.join("room")
    }

    /// Returns the record of who has changed installed packages.
    pub fn packages(&self) -> PathBuf {
        self.state.join("packages.json")
    }

    /// Returns the record of a work tree that was prepared by the settings in `tree`.
    pub fn tree_record(&self) -> PathBuf {
        self.state.join("tree.json")
    }

    /// Returns the file with the step of the preparation of a work tree, while one is being prepared.
    pub fn tree_step(&self) -> PathBuf {
        self.state.join("tree-step.txt")
    }

    pub fn runs(&self) -> PathBuf {
        self.state.join("runs")
    }

    /// Returns the socket on which a running loop takes commands: in the runtime directory if the path would be too
    /// long.
    pub fn socket(&self) -> PathBuf {
        let path = self.state.join("control.sock");
        if path.as_os_str().len() <= SOCKET_PATH_BYTES {
            return path;
        }
        let name = format!("ralph-{:016x}.sock", digest(self.state.as_os_str().as_bytes()));
        dirs::runtime_dir()
            .unwrap_or_else(|| std::env::temp_dir().join(format!("ralph-{}", nix::unistd::getuid())))
            .join(name)
    }

    /// Creates the socket's directory and checks that no other user can enter it.
    ///
    /// # Errors
    /// The file system's error; `PermissionDenied` if it is another user's, as one below `/tmp` may be.
    pub fn make_socket_dir(&self) -> io::Result<()> {
        let socket = self.socket();
        let Some(dir) = socket.parent().filter(|dir| *dir != self.state) else {
            return Ok(());
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        is_private(dir)
    }

    pub fn run(&self, run: &RunId) -> RunPaths {
        RunPaths {
            dir: self.runs().join(&run.0),
        }
    }

    /// Returns the existing runs, oldest first: their ids begin with the time they started.
    pub fn run_ids(&self) -> Vec<RunId> {
        let Ok(entries) = fs::read_dir(self.runs()) else {
            return Vec::new();
        };
        let mut ids: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        ids.sort();
        ids.into_iter().map(RunId).collect()
    }

    /// Returns the run that `latest` names, if its directory exists; else the newest one with a journal.
    ///
    /// A power loss may empty any file that was written shortly before, `latest` included. The fallback then finds the
    /// run that was cut off.
    pub fn latest_run(&self) -> Option<RunId> {
        let named = files::read_text(&self.latest(), NAME_CAP_BYTES).unwrap_or_default();
        let named = RunId(named.trim().to_owned());
        if !named.0.is_empty() && self.run(&named).dir().is_dir() {
            return Some(named);
        }
        let mut ids = self.run_ids().into_iter().rev();
        ids.find(|id| self.run(id).journal().is_file())
    }
}

/// Returns the name of the state of the project at a path.
fn state_name(project: &Path) -> OsString {
    let mut name = project
        .file_name()
        .map_or_else(|| OsString::from("root"), ToOwned::to_owned);
    name.push(format!("-{:016x}", digest(project.as_os_str().as_bytes())));
    name
}

/// Returns the user's directory for the states of all projects.
///
/// # Errors
/// [`PathsError::NoHome`] if there is no directory to derive it from.
fn state_root() -> Result<PathBuf, PathsError> {
    let dir = dirs::state_dir().or_else(dirs::data_local_dir);
    Ok(dir.ok_or(PathsError::NoHome)?.join("ralph"))
}

/// The state directories of all projects, which may lie within a project: in a home directory they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct States {
    root: PathBuf,
}

impl States {
    /// Makes the states below `root`.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the existing state directories.
    pub fn list(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.root) else {
            return Vec::new();
        };
        let states = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name();
            is_name_of_state(name.as_bytes()).then(|| self.root.join(name))
        });
        states.collect()
    }

    /// Returns the repository in which ralph keeps the checkpoints of the repository at a path, and of all its work
    /// trees.
    pub fn store(&self, repository: &Path) -> PathBuf {
        self.root.join(state_name(repository)).join("store.git")
    }

    /// Returns the file with the user's own tokens, which belong to no project.
    pub fn tokens(&self) -> PathBuf {
        self.root.join(TOKENS)
    }

    /// Returns the directory with the ports that are reserved for work trees of all projects.
    pub fn ports(&self) -> PathBuf {
        self.root.join("ports")
    }

    /// Returns the socket of the `ralph web` that listens on `port`.
    pub fn web_socket(&self, port: u16) -> PathBuf {
        self.root.join(format!("web-{port}.sock"))
    }

    /// Returns the directory of the states.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a file, by its absolute path, is a part of some project's state.
    pub fn contains(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root).ok();
        let first = below.and_then(|below| below.components().next());
        first.is_some_and(|name| is_name_of_state(name.as_os_str().as_bytes()))
    }
}

/// Whether it is a name and a hash, as [`ProjectPaths::new`] makes it.
fn is_name_of_state(name: &[u8]) -> bool {
    let is_hexadecimal = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.iter().rev().take(16).filter(|byte| is_hexadecimal(byte)).count() == 16
        && name.len().checked_sub(17).is_some_and(|at| name[at] == b'-')
}

/// The files of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPaths {
    dir: PathBuf,
}

impl RunPaths {
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn journal(&self) -> PathBuf {
        self.dir.join("events.jsonl")
    }

    pub fn prompt(&self, iteration: u32) -> PathBuf {
        self.dir.join("prompts").join(format!("{iteration:04}.md"))
    }

    /// Returns the files for the plan before a review and the plan found after it.
    pub fn plans(&self, iteration: u32) -> [PathBuf; 2] {
        let prompts = self.dir.join("prompts");
        ["before", "found"].map(|moment| prompts.join(format!("{iteration:04}.plan-{moment}")))
    }

    pub fn recording(&self, iteration: u32) -> PathBuf {
        self.dir.join("iterations").join(format!("{iteration:04}.cast"))
    }

    /// Returns the log of all signals that the agent reported in an iteration.
    pub fn signals(&self, iteration: u32) -> PathBuf {
        self.dir
            .join("iterations")
            .join(format!("{iteration:04}.signals.jsonl"))
    }

    /// Returns ralph's own log, for diagnosis.
    pub fn log(&self) -> PathBuf {
        self.dir.join("ralph.log")
    }

    /// Returns the file for the output of a loop without a terminal: empty, unless the loop fails.
    pub fn output(&self) -> PathBuf {
        self.dir.join("output.txt")
    }

    /// Returns the copies of files that decide the results of tests: from the start of the run, or as `iteration` has
    /// intentionally changed them.
    pub fn originals(&self, iteration: Option<u32>) -> PathBuf {
        match iteration {
            None => self.dir.join("originals"),
            Some(iteration) => self.dir.join("originals-changed").join(format!("{iteration:04}")),
        }
    }

    /// Returns the directory for the output of the run's sealed goals.
    pub fn sealed_outputs(&self) -> PathBuf {
        self.dir.join("sealed")
    }

    /// Returns the file that lists the sealed goals' directories that were hidden from the run's agents since it began.
    pub fn hidden_from_agents(&self) -> PathBuf {
        self.dir.join("sealed.json")
    }

    /// Returns the list of files with uncommitted changes of the user's, which ralph does not commit.
    pub fn uncommitted(&self) -> PathBuf {
        self.dir.join("uncommitted")
    }

    /// Returns the number of the latest record whose telemetry was sent.
    pub fn telemetry(&self) -> PathBuf {
        self.dir.join("telemetry")
    }

    /// Returns the directory for the output of a background task.
    pub fn background(&self, number: u32) -> PathBuf {
        self.dir.join("background").join(format!("{number:04}"))
    }

    /// Returns the directory for short-lived files of a session.
    pub fn scratch(&self) -> PathBuf {
        self.dir.join("scratch")
    }

    /// Creates the run's directories, readable by the user alone.
    ///
    /// # Errors
    /// [`PathsError::Create`] with the directory that cannot be made.
    pub fn create(&self) -> Result<(), PathsError> {
        for dir in [
            self.dir.clone(),
            self.dir.join("prompts"),
            self.dir.join("iterations"),
            self.scratch(),
        ] {
            create_private_dir(&dir)?;
        }
        Ok(())
    }
}

/// Creates `dir` and its parents; new directories can be read by the user alone.
///
/// # Errors
/// [`PathsError::Create`] if it does not exist and cannot be made.
pub fn create_private_dir(dir: &Path) -> Result<(), PathsError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| PathsError::Create {
            path: dir.to_owned(),
            source,
        })
}

/// Fails unless `dir` is a directory of this user that no other user can enter.
fn is_private(dir: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(dir)?;
    if meta.is_dir() && meta.uid() == nix::unistd::getuid().as_raw() && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "others can enter its directory",
    ))
}

/// Replaces the file at `path` atomically: after a crash or a power loss it has the old content or the new. Only the
/// user may read it.
///
/// # Errors
/// The file system's error.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::replace(path, bytes, fs::Permissions::from_mode(0o600))
}

/// Makes an empty file that only the user can read, replacing an existing one.
///
/// # Errors
/// The system's error.
pub fn create_anew(path: &Path) -> io::Result<File> {
    // Removed, not opened: opening a pipe could block.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    faults::check(DiskOperation::Create)?;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Hashes `bytes` by FNV-1a, 64 bits: stable across versions, which the standard library's hasher is not.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_projects_of_one_name_do_not_share_state() {
        let root = Path::new("/state");
        let one = ProjectPaths::new(Path::new("/a/app"), Some(root)).unwrap();
        let other = ProjectPaths::new(Path::new("/b/app"), Some(root)).unwrap();
        assert_ne!(one.state(), other.state());
        assert!(one.state().to_str().unwrap().starts_with("/state/app-"));
    }

    #[test]
    fn what_is_a_part_of_a_state_is_told_from_what_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(&root)).unwrap();
        let states = paths.states();
        let other = ProjectPaths::new(Path::new("/b/app"), Some(&root)).unwrap();
        for file in [paths.state().to_owned(), paths.lock(), other.runs().join("any")] {
            assert!(states.contains(&file), "{}", file.display());
        }
        for file in ["notes", "app-0123", "src/main.rs", "app-0123456789ABCDEF/x"] {
            assert!(!states.contains(&root.join(file)), "{file}");
        }
        assert!(!states.contains(Path::new("/elsewhere/app-0123456789abcdef")));
    }

    #[test]
    fn a_deep_state_directory_still_has_a_socket_that_fits() {
        let root = PathBuf::from(format!("/{}", "deep/".repeat(40)));
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(&root)).unwrap();
        assert!(paths.socket().as_os_str().len() <= SOCKET_PATH_BYTES);
        let other = ProjectPaths::new(Path::new("/b/app"), Some(&root)).unwrap();
        assert_ne!(paths.socket(), other.socket());
    }

    #[test]
    fn a_socket_beside_the_state_goes_into_a_directory_of_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(is_private(&shared).is_err());
        let own = dir.path().join("own");
        assert!(is_private(&own).is_err(), "it is not there");
        create_private_dir(&own).unwrap();
        is_private(&own).unwrap();
        std::os::unix::fs::symlink(&own, dir.path().join("link")).unwrap();
        assert!(is_private(&dir.path().join("link")).is_err(), "who made the link?");
    }

    #[test]
    fn a_state_that_others_made_or_may_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        paths.check_state().unwrap();
        paths.create().unwrap();
        let refused = || paths.check_state().unwrap_err().to_string();
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(paths.state(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(refused().contains("writable by other users"), "{mode:o}: {}", refused());
            assert!(paths.create().is_err());
        }
        fs::set_permissions(paths.state(), fs::Permissions::from_mode(0o755)).unwrap();
        paths.check_state().unwrap();

        let elsewhere = dir.path().join("elsewhere");
        fs::rename(paths.state(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, paths.state()).unwrap();
        paths.check_state().unwrap();
        // If the user is not root, the root directory serves as another user's.
        fs::remove_file(paths.state()).unwrap();
        let own = std::os::unix::fs::lchown(&elsewhere, Some(65_534), None).is_err();
        let others = if own { Path::new("/") } else { &elsewhere };
        std::os::unix::fs::symlink(others, paths.state()).unwrap();
        assert!(refused().contains("owned by another user"), "{}", refused());
    }

    #[test]
    fn new_directories_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        let run = paths.run(&RunId("one".to_owned()));
        run.create().unwrap();
        let mode = fs::metadata(run.scratch()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(paths.run_ids(), [RunId("one".to_owned())]);
    }
}
