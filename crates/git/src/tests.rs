//! Checkpoints of real repositories, with the git that is installed.

mod checkpoints;
mod commits;
mod delivered;
mod discovery;
mod fidelity;
mod lost;
mod nested;
mod references;
mod restoring;
mod selection;
mod steps;
mod store;
mod unseen;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

use ralph_core::event::{Changes, Checkpoint, RunId};
use ralph_system::{paths::States, proc::Supervisor};
use tempfile::TempDir;

use super::{EarlierContent, GitError, Moment, NewCheckpoint, NoRepository, Repository};

/// A temporary repository.
struct Project {
    _directory: TempDir,
    root: PathBuf,
    scratch: PathBuf,
}

impl Project {
    /// Makes an empty repository.
    fn unborn() -> Project {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let (root, scratch) = (path.join("project"), path.join("scratch"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&scratch).unwrap();
        let project = Project {
            _directory: directory,
            root,
            scratch,
        };
        project.git(["init", "--quiet", "--initial-branch=main"]);
        project
    }

    /// Makes a repository with one commit: `kept`, `lines` with three lines, and `.gitignore` for `*.log`.
    fn new() -> Project {
        let project = Project::unborn();
        project.write("kept", "kept\n");
        project.write("lines", "1\n2\n3\n");
        project.write(".gitignore", "*.log\n");
        project.commit_all("Start");
        project
    }

    fn open(&self) -> Repository {
        self.discover(&self.root).unwrap().0
    }

    fn discover(&self, project: &Path) -> Result<(Repository, Vec<String>), NoRepository> {
        Repository::discover(project, &self.scratch, &self.states(), &Supervisor::default())
    }

    fn states(&self) -> States {
        States::below(&self.scratch.join("states"))
    }

    /// Returns the only store of checkpoints.
    fn store(&self) -> PathBuf {
        let states = fs::read_dir(self.scratch.join("states")).unwrap();
        let stores = states.flat_map(|state| fs::read_dir(state.unwrap().path()).unwrap());
        let stores: Vec<PathBuf> = stores.map(|store| store.unwrap().path()).collect();
        assert_eq!(stores.len(), 1, "{stores:?}");
        stores[0].clone()
    }

    /// Runs git on the store.
    fn stored<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.git(
            ["--git-dir".into(), self.store().into_os_string()]
                .into_iter()
                .chain(args),
        )
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a file larger than untracked files in checkpoints may be.
    fn grow(&self, path: &str) {
        let file = fs::File::create(self.root.join(path)).unwrap();
        file.set_len(super::UNTRACKED_CAP_BYTES + 1).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    fn commit_all(&self, message: &str) {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--message", message]);
    }

    fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        let (ok, stdout) = self.try_git(args);
        assert!(ok, "{stdout}");
        stdout
    }

    fn try_git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> (bool, String) {
        let identity = [
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.invalid",
            "-c",
            "commit.gpgSign=false",
        ];
        let unusual = ["-c", "protocol.file.allow=always", "-c", "advice.addEmbeddedRepo=false"];
        let output = Command::new("git")
            .args(identity)
            .args(unusual)
            .args(args)
            .current_dir(&self.root)
            .output();
        let output = output.unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    }

    /// Runs any program in the project.
    fn run<const COUNT: usize>(&self, program: &str, args: [&str; COUNT]) {
        let status = Command::new(program).args(args).current_dir(&self.root).status();
        assert!(status.unwrap().success(), "{program} {args:?}");
    }

    /// Returns the content of all files of the user's that ralph must not touch.
    fn untouchable(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let git_dir = PathBuf::from(self.git(["rev-parse", "--absolute-git-dir"]).trim_end());
        let mut files = BTreeMap::new();
        collect(&self.root, &mut files);
        collect(&git_dir, &mut files);
        let ralphs = |path: &Path| path.components().any(|part| part.as_os_str() == "ralph");
        files.retain(|path, _| !path.starts_with(git_dir.join("objects")) && !ralphs(path));
        files
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

fn run() -> RunId {
    RunId("20261120-102835-4f2a".to_owned())
}

fn before(repository: &Repository, n: u32) -> NewCheckpoint {
    repository.checkpoint(&run(), n, Moment::Before).unwrap()
}

fn after(repository: &Repository, n: u32) -> NewCheckpoint {
    repository.checkpoint(&run(), n, Moment::After).unwrap()
}

/// Lists the files of a checkpoint as `mode path`.
fn files(project: &Project, checkpoint: &Checkpoint) -> Vec<String> {
    let listed = project.stored(["-c", "core.quotePath=false", "ls-tree", "-r", &checkpoint.tree]);
    let entry = |line: &str| {
        let (head, path) = line.split_once('\t').unwrap();
        format!("{} {path}", head.split(' ').next().unwrap())
    };
    listed.lines().map(entry).collect()
}

fn content(project: &Project, checkpoint: &Checkpoint, path: &str) -> String {
    project.stored(["cat-file", "blob", &format!("{}:{path}", checkpoint.tree)])
}
