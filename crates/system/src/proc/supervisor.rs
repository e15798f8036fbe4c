//! Starts ralph's children, and ends the processes that are left of them.

use std::{
    ffi::OsString,
    io,
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use nix::unistd::getpid;

use super::{
    Confinement, ConfinementLevel, Launch, Mount, OnLeftRunning, OnRefused, OutputSink, TreeLimits,
    child::Child,
    detached::{DetachedLoop, UnattendedStart},
    helper::{Helper, Helpers, LockedFile},
    leftovers::{self, StartedChildren},
    origin::{self, ProcessOrigin},
    search_path::trusted_program,
    spawn::{self, ChildLimits, SpawnError},
    system,
};

/// Variables with which git takes each object and each parent for what its name says. An agent can write replacements of
/// objects and grafts into the repository: they apply wherever git obeys them, but no clone and no push contains them.
pub const GIT_AS_IT_IS: [(&str, &str); 2] = [
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // No file can be there.
    ("GIT_GRAFT_FILE", "/dev/null/grafts"),
];

/// Starts and ends the children of this process: child trees below guards, and helpers.
///
/// A process has one supervisor; all code that starts children uses a clone of it. Once
/// [`Supervisor::become_subreaper`] was called, a child that the supervisor did not start counts as an orphan.
#[derive(Debug, Clone)]
pub struct Supervisor {
    children: Arc<StartedChildren>,
    helpers: Arc<Helpers>,
    /// The number of child trees started.
    trees: Arc<AtomicU32>,
    /// The confinement of child trees; `None` for all rights of the user.
    confinement: Option<Arc<Confinement>>,
    /// Receives the calls that child trees are refused, after the end of the tree.
    on_refused: Option<OnRefused>,
    /// Receives what the programs of child trees left running, after the end of the tree.
    on_left_running: Option<OnLeftRunning>,
    /// Memory that each process of a child tree can allocate.
    memory_bytes: Option<u64>,
    /// Limits of each child tree.
    tree_limits: TreeLimits,
    /// Directories that child trees find elsewhere.
    mounts: Arc<[Mount]>,
    /// Whether child trees yield to other programs.
    is_low: bool,
    /// The guard executable for launches that name none; `None` for the running executable.
    guard: Option<PathBuf>,
}

/// For a program that is not ralph: its helpers have no guard.
impl Default for Supervisor {
    fn default() -> Self {
        let children = Arc::default();
        Self {
            helpers: Helpers::without_guard(Arc::clone(&children)),
            children,
            trees: Arc::default(),
            confinement: None,
            on_refused: None,
            on_left_running: None,
            memory_bytes: None,
            tree_limits: TreeLimits::default(),
            mounts: Arc::default(),
            is_low: false,
            guard: None,
        }
    }
}

impl Supervisor {
    /// Makes the supervisor for ralph's `main`: helpers run below a guard, which is this executable.
    pub fn for_main() -> Self {
        let mut supervisor = Self::default();
        supervisor.helpers = Helpers::below_a_guard(Arc::clone(&supervisor.children));
        supervisor
    }

    /// Starts `launch` under a guard; one named reader thread hands its output to `output`.
    ///
    /// Returns as soon as the guard runs. A program that cannot be executed is often noticed only then, and reported as
    /// [`super::ChildEnd::NotStarted`].
    ///
    /// # Errors
    /// [`SpawnError`] if a file or the terminal cannot be prepared or the guard cannot start. `output` is dropped
    /// uncalled then.
    pub fn spawn(&self, launch: Launch, output: Box<dyn OutputSink>) -> Result<Child, SpawnError> {
        let number = self.trees.fetch_add(1, Ordering::Relaxed);
        let limits = ChildLimits {
            confinement: self.confinement.as_deref(),
            on_refused: self.on_refused.as_ref(),
            on_left_running: self.on_left_running.as_ref(),
            memory_bytes: self.memory_bytes,
            tree_limits: self.tree_limits.clone(),
            mounts: &self.mounts,
            is_low: self.is_low,
        };
        let guard = launch.guard.clone().or_else(|| self.guard.clone());
        spawn::spawn(&self.children, number, Launch { guard, ..launch }, limits, output)
    }

    /// Returns a supervisor whose child trees are guarded by another executable, for programs other than ralph.
    #[must_use]
    pub fn guarded_by(&self, guard: PathBuf) -> Supervisor {
        Supervisor {
            guard: Some(guard),
            ..self.clone()
        }
    }

    /// Returns a supervisor whose child trees are killed if they use more.
    #[must_use]
    pub fn limiting_trees(&self, tree_limits: TreeLimits) -> Supervisor {
        Supervisor {
            tree_limits,
            ..self.clone()
        }
    }

    /// Returns a supervisor whose child trees find directories at other paths, mounted in this order. A tree is not
    /// started where the system does not allow that.
    #[must_use]
    pub fn mounting(&self, mounts: Vec<Mount>) -> Supervisor {
        Supervisor {
            mounts: mounts.into(),
            ..self.clone()
        }
    }

    /// Returns a supervisor whose child trees have a low priority.
    #[must_use]
    pub fn yielding(&self) -> Supervisor {
        Supervisor {
            is_low: true,
            ..self.clone()
        }
    }

    /// Returns a supervisor that reports the calls that its child trees were refused, when a tree has ended.
    #[must_use]
    pub fn reporting_refusals(&self, on_refused: OnRefused) -> Supervisor {
        Supervisor {
            on_refused: Some(on_refused),
            ..self.clone()
        }
    }

    /// Returns a supervisor that reports the processes that the programs of its child trees left running, when a tree has
    /// ended.
    #[must_use]
    pub fn reporting_left_running(&self, on_left_running: OnLeftRunning) -> Supervisor {
        Supervisor {
            on_left_running: Some(on_left_running),
            ..self.clone()
        }
    }

    /// Returns a supervisor whose child trees are confined. Its helpers are ralph's own, and free.
    #[must_use]
    pub fn confining(&self, confinement: Option<Confinement>) -> Supervisor {
        Supervisor {
            confinement: confinement.map(Arc::new),
            ..self.clone()
        }
    }

    /// Returns the confinement of the child trees; `None` for all rights of the user.
    pub fn confinement(&self) -> Option<Arc<Confinement>> {
        self.confinement.clone()
    }

    /// Starts this executable again, as a loop that outlives this process.
    ///
    /// # Errors
    /// The system's error.
    pub fn start_detached(&self, args: impl IntoIterator<Item = OsString>) -> io::Result<DetachedLoop> {
        DetachedLoop::start(&self.children, args)
    }

    /// Starts this executable again in `directory`, as an unwatched loop, and waits until its run or batch begins,
    /// for at most `patience`.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`] if it takes longer.
    pub fn start_unattended(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = OsString>,
        patience: Duration,
    ) -> io::Result<UnattendedStart> {
        DetachedLoop::start_unattended(&self.children, directory, args, patience)
    }

    /// Makes a helper. `program` is looked for in `PATH` unless it has a slash in it.
    pub fn helper(&self, program: impl Into<OsString>) -> Helper {
        Helper::new(&self.helpers, program)
    }

    /// Makes a helper as [`Supervisor::helper`] with the rights of the child trees: in their confinement, if they have
    /// one.
    pub fn confined_helper(&self, program: impl Into<OsString>) -> Helper {
        let helper = self.helper(program);
        match &self.confinement {
            Some(confinement) => helper.confined(Arc::clone(confinement)),
            None => helper,
        }
    }

    /// Makes a helper as [`Supervisor::helper`], but passes over directories of `PATH` in which an agent in `project` can
    /// have put a program, unless `program` is nowhere else. What it starts is looked for there as well.
    pub fn trusted_helper(&self, program: &str, project: &Path) -> Helper {
        match trusted_program(program.as_ref(), project) {
            Some(found) => self.helper(found.program).env("PATH", found.path),
            None => self.helper(program),
        }
    }

    /// Makes a helper that runs git, which shows the objects of the repository in `project` as they are.
    pub fn git_helper(&self, project: &Path) -> Helper {
        let git = self.trusted_helper("git", project);
        GIT_AS_IT_IS
            .into_iter()
            .fold(git, |git, (name, value)| git.env(name, value))
    }

    /// Returns the program that [`Supervisor::trusted_helper`] would run; `None` if it is nowhere else than where an agent
    /// can have put it.
    pub fn trusted_program(&self, program: &str, project: &Path) -> Option<PathBuf> {
        trusted_program(program.as_ref(), project).map(|found| found.program)
    }

    /// Makes a helper that runs a command of the user's settings with `sh -c` in `project`, without the variables
    /// `withheld`.
    pub fn users_command(&self, command: &str, project: &Path, withheld: &[String]) -> Helper {
        let shell = self
            .trusted_helper("sh", project)
            .args(["-c", command])
            .current_dir(project);
        withheld.iter().fold(shell, Helper::env_remove)
    }

    /// Locks a file that stands for work of helpers, until the value is dropped or, should this process be killed,
    /// until the last of its helpers has ended. Waits for the helpers of a process that was killed while it had the
    /// lock.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::TimedOut`] if they do not end within seconds.
    pub fn hold(&self, path: &Path) -> io::Result<LockedFile> {
        LockedFile::take(path, &self.helpers)
    }

    /// Makes ralph the parent of all processes that a killed guard leaves behind. Only Linux can do this.
    pub fn become_subreaper(&self) {
        self.children.become_subreaper();
    }

    /// Leaves orphans to the system from now on: daemons that commands of the user start are not ralph's to end. The guard
    /// of helpers still ends what they leave behind.
    pub fn adopt_no_orphans(&self) {
        self.children.stop_adopting();
    }

    /// Ends all processes that the runs with these ids have left running, and returns their pids.
    ///
    /// Called at the start, when the runs are known to be over: ralph and guard were both killed. It finds processes
    /// that carry one of the ids as [`super::RUN_ID_VAR`], everything below them, and everything in their sessions.
    /// This process and those above it are never touched. Blocks for at most three seconds if a process does not die.
    #[must_use]
    pub fn sweep(&self, run_ids: &[String]) -> Vec<u32> {
        leftovers::sweep(&self.children, run_ids)
    }

    /// Returns the pids that [`Supervisor::sweep`] would end, without ending them.
    #[must_use]
    pub fn left_running(&self, run_ids: &[String]) -> Vec<u32> {
        leftovers::left_running(&self.children, run_ids)
    }

    /// Returns how well this system confines a program that is started with a [`Confinement`].
    pub fn confinement_level() -> ConfinementLevel {
        system::confinement_level()
    }

    /// Whether this system lets ralph decide about each connection of a confined program, by its address or path.
    pub fn mediates_connections() -> bool {
        system::mediates()
    }

    /// Whether agents get message queues and semaphores of their own. Tried on a thread, which alone has them then.
    pub fn separates_queues() -> bool {
        thread::spawn(system::leave_queues).join().unwrap_or(false)
    }

    /// Checks that this system can hold a program to all of `confinement`.
    ///
    /// # Errors
    /// If it confines by less than is required.
    pub fn try_confinement(confinement: &Confinement) -> io::Result<()> {
        system::try_out(confinement)
    }

    /// Calls `start` confined; the rest of this process stays free. Calls that are refused are reported to `on_refused`.
    ///
    /// # Errors
    /// If the system confines by less than is required; `start` was not called then.
    pub fn start_confined<T: Send>(
        confinement: &Confinement,
        on_refused: OnRefused,
        start: impl FnOnce() -> T + Send,
    ) -> io::Result<T> {
        system::start_confined(confinement, getpid(), on_refused, start)
    }

    /// Runs `work` with the rights of the child trees: in their confinement, if they have one.
    ///
    /// # Errors
    /// If the system confines by less than is required; `work` was not done then.
    pub fn in_confinement<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        match &self.confinement {
            Some(confinement) => system::confined(confinement, work),
            None => Ok(work()),
        }
    }

    /// Returns a supervisor whose child trees are limited to `bytes` of allocated memory for each process.
    #[must_use]
    pub fn limiting_memory(&self, bytes: Option<u64>) -> Supervisor {
        Supervisor {
            memory_bytes: bytes,
            ..self.clone()
        }
    }

    /// Returns the origin of the process at the other end of `socket`, which the kernel knows as `pid`.
    pub fn origin(&self, socket: BorrowedFd<'_>, pid: Option<i32>) -> ProcessOrigin {
        origin::peer_origin(&self.children, socket, pid)
    }

    /// Ends the orphans: children that this process did not start, left behind by a killed guard.
    ///
    /// Does nothing on systems without sub-reapers.
    pub fn end_orphans(&self) {
        self.children.end_orphans();
    }

    /// Ends all helpers and all orphans, once the guards of dropped children have ended: the last thing that ralph does.
    pub fn leave(&self) {
        self.helpers.close();
        self.children.wait_for_guards();
        self.end_orphans();
    }
}

/// Returns this executable, as a program that a guard can start.
pub fn own_executable() -> PathBuf {
    let known = system::OWN_EXECUTABLE.map(PathBuf::from);
    // Without either, starting it fails and says so.
    known
        .or_else(|| std::env::current_exe().ok())
        .unwrap_or_else(|| PathBuf::from("ralph"))
}
