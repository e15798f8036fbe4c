//! The store: a repository in ralph's state that holds the checkpoints of a project's repository and of all its work
//! trees, with every object that they need. The sandbox hides it from agents, which own the project's repository.
//!
//! No file of the project's repository becomes one of the store: an agent, also one of an earlier run, can have written
//! any of them, and writes through a hard link later. What is taken over goes through git, which names each object by its
//! content.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use ralph_core::event::RunId;
use ralph_system::paths::{States, create_private_dir};
use tracing::debug;

use super::{
    GitError, Repository,
    left_locks::{is_old, locks_in},
    lock_files::if_there,
    process::Git,
};

/// The prefix of all references of checkpoints, before the name of their run.
pub(super) const CHECKPOINTS: &str = "refs/ralph/";

/// The part of a reference to a history, between the name of its run and that of a commit.
pub(super) const HISTORIES: &str = "/heads/";

/// The end of the reference to what the repository said about conversions at the start of a run.
pub(super) const SETTINGS: &str = "/settings";

/// Longest wait for the history at the start of a run. Then it goes on arriving while the run works.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time in which a history arrives or the store is collected: minutes for millions of objects.
const LONG: Duration = Duration::from_secs(1800);

/// The age from which unreachable objects are deleted: another process may be about to name younger ones.
const EXPIRY: &str = "1.hour.ago";

/// Returns the store of the repository with this common directory.
pub(super) fn store_of(states: &States, common_dir: &Path, id_bytes: usize) -> PathBuf {
    let is_below_root = common_dir.file_name() == Some(OsStr::new(".git"));
    let repository = common_dir.parent().filter(|_| is_below_root).unwrap_or(common_dir);
    let store = states.store(repository);
    match id_bytes {
        20 => store,
        // A repository that was begun anew with other names of objects needs another store.
        _ => store.with_file_name("store-sha256.git"),
    }
}

/// Finds the store of the repository that contained `project`: the root of that repository, the bytes of an object's name,
/// and the store.
pub(super) fn store_above(states: &States, project: &Path) -> Option<(PathBuf, usize, PathBuf)> {
    let roots = project.ancestors().flat_map(|root| [(root, 20), (root, 32)]);
    let mut stores = roots.map(|(root, id_bytes)| {
        let store = store_of(states, &root.join(".git"), id_bytes);
        (root.to_owned(), id_bytes, store)
    });
    stores.find(|(_, _, store)| store.join("HEAD").exists())
}

impl Repository {
    /// Prepares the store for a run, and brings in the history of HEAD, which outlasts a loss of the repository there.
    /// No agent of the run may have started.
    ///
    /// # Errors
    /// [`GitError::Store`] if the store cannot be made or written.
    pub fn begin(&self, run: &RunId) -> Result<(), GitError> {
        self.make_store()?;
        let Some(store) = &self.store else { return Ok(()) };
        let (mut locks, mut entries) = (Vec::new(), usize::MAX);
        locks_in(store, &mut entries, &mut |path| locks.push(path));
        // Those of a git that was killed. Runs in other work trees hold locks on references of their own.
        let own = store.join(format!("{CHECKPOINTS}{run}"));
        for lock in locks.into_iter().filter(|lock| lock.starts_with(&own) || is_old(lock)) {
            if_there(&lock, fs::remove_file(&lock)).map_err(|error| self.unwritable(error))?;
        }
        self.keep_settings(run).map_err(|error| self.unwritable(error))?;
        self.bring_in_history(run);
        Ok(())
    }

    /// Makes the store unless it exists.
    pub(super) fn make_store(&self) -> Result<(), GitError> {
        match self.store.as_deref().filter(|store| !store.join("HEAD").exists()) {
            Some(store) => self.fill_store(store).map_err(|error| self.unwritable(error)),
            None => Ok(()),
        }
    }

    fn fill_store(&self, store: &Path) -> Result<(), GitError> {
        let failed = |source| GitError::File {
            path: store.to_owned(),
            source,
        };
        let state = store.parent().unwrap_or(store);
        create_private_dir(state).map_err(|error| failed(io::Error::other(error)))?;
        // Made aside, because a store is complete or absent.
        let aside = store.with_extension(format!("{}.new", process::id()));
        if_there(&aside, fs::remove_dir_all(&aside))?;
        self.init_bare(state, &aside)?;
        match fs::rename(&aside, store) {
            Err(_) if store.join("HEAD").exists() => if_there(&aside, fs::remove_dir_all(&aside)),
            made => made.map_err(failed),
        }
    }

    /// Makes an empty repository with this one's names of objects.
    pub(super) fn init_bare(&self, parent: &Path, directory: &Path) -> Result<(), GitError> {
        let init = Git::at(&self.supervisor, parent).setting("init.defaultRefFormat=files");
        let init = init.args(["init", "--quiet", "--bare", "--template="]);
        // An old git knows only SHA-1, and not the option.
        let format = (self.id_bytes != 20).then_some("--object-format=sha256");
        init.args(format).args([directory]).run().map(drop)
    }

    fn unwritable(&self, error: GitError) -> GitError {
        GitError::Store {
            path: self.store.clone().unwrap_or_default(),
            source: Box::new(error),
        }
    }

    /// Returns a git command on the store. Attributes are those of the work tree.
    pub(super) fn store_git(&self) -> Git {
        match &self.store {
            Some(store) => self.git().env("GIT_DIR", store).env("GIT_COMMON_DIR", store),
            None => self.git(),
        }
    }

    /// Returns the directory of the store's objects.
    pub(super) fn store_objects(&self) -> PathBuf {
        self.store.as_ref().unwrap_or(&self.layout.common_dir).join("objects")
    }

    /// Returns the words with which a user's command on the store begins.
    pub(super) fn store_git_in_words(&self) -> String {
        match &self.store {
            Some(store) => format!("git --git-dir='{}'", store.display()),
            None => "git".to_owned(),
        }
    }

    /// Brings in the history of HEAD below a reference of the run. Without it checkpoints are complete as well, so an
    /// error means only that a lost repository has no history here.
    fn bring_in_history(&self, run: &RunId) {
        let head = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let Ok(head) = head.run().and_then(|output| output.line()) else {
            return; // no commit yet
        };
        let reference = format!("{CHECKPOINTS}{run}{HISTORIES}{head}");
        let fetch = self.fetch(&format!("{head}:{reference}")).deadline(LONG);
        self.state.lock().history = Some(reference);
        let (ended, end) = mpsc::channel();
        let fetching = thread::Builder::new().spawn(move || {
            if let Err(error) = fetch.run() {
                debug!(%error, "the store has no history of this run");
            }
            _ = ended.send(()); // the run goes on already
        });
        if fetching.is_ok() {
            _ = end.recv_timeout(PATIENCE); // the rest arrives later
        }
    }

    /// Returns the command that fetches from the project's repository into the store. git computes the names of the
    /// objects from what arrives.
    pub(super) fn fetch(&self, what: &str) -> Git {
        let options = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--update-shallow",
        ];
        // A commit may be asked for by its name, and no program is run to get it.
        let git = self.store_git().setting("protocol.version=2");
        let git = git.env("GIT_ALLOW_PROTOCOL", "file").args(options);
        git.args([self.layout.git_dir.as_os_str(), what.as_ref()])
    }

    /// Whether the repository of the project is gone, and the store stands in for it.
    pub(super) fn is_without_repository(&self) -> bool {
        self.store.as_ref() == Some(&self.layout.git_dir)
    }

    /// Brings in objects from the project's repository, and returns those that the store lacks then.
    pub(super) fn bring_in(&self, objects: &[&str]) -> Result<Vec<String>, GitError> {
        let mut wanted = missing(self.store_git(), objects)?;
        if wanted.is_empty() {
            return Ok(wanted);
        }
        // git packs all or none.
        let asked: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let lost = missing(self.git(), &asked)?;
        wanted.retain(|object| !lost.contains(object));
        let pack = self.git().args(["pack-objects", "--quiet", "--stdout"]);
        // Too many: then the store lacks them.
        if let Ok(pack) = pack.input(wanted.join("\n").into_bytes()).run() {
            let unpack = self.store_git().args(["unpack-objects", "-q"]);
            unpack.input(pack.stdout).run()?;
        }
        missing(self.store_git(), objects)
    }

    /// Starts to delete the objects of the store that no checkpoint needs. Returns at once.
    pub fn collect(&self) {
        if self.store.as_ref().is_some_and(|store| store.exists()) {
            start_collection(self.store_git());
        }
    }
}

/// Returns those of some objects that the repository of `git` lacks.
fn missing(git: Git, objects: &[&str]) -> Result<Vec<String>, GitError> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let check = git.args(["cat-file", "--batch-check"]);
    let output = check.input((objects.join("\n") + "\n").into_bytes()).run()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let missing = text.lines().filter_map(|line| line.strip_suffix(" missing"));
    Ok(missing.map(str::to_owned).collect())
}

/// Has `git` delete the objects of its store that no checkpoint needs, in a thread.
pub(super) fn start_collection(git: Git) -> Option<JoinHandle<()>> {
    let collection = collection(git, EXPIRY);
    let collect = || {
        if let Err(error) = collection.run() {
            debug!(%error, "the store keeps what no checkpoint needs");
        }
    };
    thread::Builder::new().spawn(collect).ok() // otherwise the next one does it
}

/// Returns the command that deletes the unreachable objects older than `expiry`, and packs all others.
pub(super) fn collection(git: Git, expiry: &str) -> Git {
    let git = git.deadline(LONG).setting("pack.threads=1");
    git.args(["gc", "--quiet", &format!("--prune={expiry}")])
}
