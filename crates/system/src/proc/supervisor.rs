//! Starts what ralph starts, and ends what is left of it.

use std::{
    ffi::OsString,
    io,
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    Confinement, ConfinementLevel, Launch, Output,
    child::Child,
    detached::Detached,
    helper::{Helper, Helpers, Hold},
    leftovers::{self, Children},
    origin::{self, Origin},
    spawn::{self, Limits, SpawnError},
    system,
};

/// Starts and ends the children of this process: child trees below guards, and helpers.
///
/// A process has one, whoever owns it makes it, and all that start something are given a clone: any child that it did not
/// start is taken for an orphan once [`Supervisor::become_subreaper`] was called.
#[derive(Debug, Clone)]
pub struct Supervisor {
    children: Arc<Children>,
    helpers: Arc<Helpers>,
    /// How many child trees were started.
    trees: Arc<AtomicU32>,
    /// What the child trees may do that are started by this; none for all that their user may.
    confinement: Option<Arc<Confinement>>,
    /// What a process of a child tree can allocate.
    memory_bytes: Option<u64>,
    /// The executable of the guards of child trees that name none; else it is this one.
    guard: Option<PathBuf>,
}

/// For a program that is no ralph: its helpers have no guard.
impl Default for Supervisor {
    fn default() -> Self {
        let children = Arc::default();
        Self {
            helpers: Helpers::without_guard(Arc::clone(&children)),
            children,
            trees: Arc::default(),
            confinement: None,
            memory_bytes: None,
            guard: None,
        }
    }
}

impl Supervisor {
    /// For ralph's `main`: helpers run below a guard, which is this executable.
    pub fn of_ralph() -> Self {
        let children = Arc::default();
        Self {
            helpers: Helpers::below_a_guard(Arc::clone(&children)),
            children,
            trees: Arc::default(),
            confinement: None,
            memory_bytes: None,
            guard: None,
        }
    }

    /// Starts `launch` under a guard; everything it writes goes to `output` from one named reader thread.
    ///
    /// Returns as soon as the guard runs. That the program itself cannot be executed is often known only then, and comes
    /// as [`super::End::NotStarted`].
    ///
    /// # Errors
    /// [`SpawnError`] if there is nothing to start or no way to start it. `output` is dropped uncalled then.
    pub fn spawn(&self, launch: Launch, output: Box<dyn Output>) -> Result<Child, SpawnError> {
        let number = self.trees.fetch_add(1, Ordering::Relaxed);
        let limits = Limits {
            confinement: self.confinement.as_deref(),
            memory_bytes: self.memory_bytes,
        };
        let guard = launch.guard.clone().or_else(|| self.guard.clone());
        spawn::spawn(&self.children, number, Launch { guard, ..launch }, limits, output)
    }

    /// Returns one for the same process whose child trees are guarded by another executable: for whoever is not ralph itself.
    #[must_use]
    pub fn guarded_by(&self, guard: PathBuf) -> Supervisor {
        Supervisor {
            guard: Some(guard),
            ..self.clone()
        }
    }

    /// Returns one for the same process whose child trees are confined. Its helpers are ralph's own, and free.
    #[must_use]
    pub fn confining(&self, confinement: Option<Confinement>) -> Supervisor {
        Supervisor {
            confinement: confinement.map(Arc::new),
            ..self.clone()
        }
    }

    /// Starts this executable again, as a loop that outlives this process.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn start_detached(&self, args: impl IntoIterator<Item = OsString>) -> io::Result<Detached> {
        Detached::start(&self.children, args)
    }

    /// Puts a helper together. `program` is looked for in `PATH` unless it has a slash in it.
    pub fn helper(&self, program: impl Into<OsString>) -> Helper {
        Helper::new(&self.helpers, program)
    }

    /// Locks a file that stands for what helpers work at, until the value is dropped or, should this process be killed, until the last
    /// of its helpers has ended. Waits for those of a process that was killed while it had the lock.
    ///
    /// # Errors
    /// Whatever the system says; [`io::ErrorKind::TimedOut`] if they do not end within seconds.
    pub fn hold(&self, path: &Path) -> io::Result<Hold> {
        Hold::take(path, &self.helpers)
    }

    /// Makes ralph the parent of whatever a killed guard leaves behind. Elsewhere than on Linux this does nothing.
    pub fn become_subreaper(&self) {
        self.children.become_subreaper();
    }

    /// Ends whatever runs of these ids have left running, and returns the pids.
    ///
    /// For the start, when the runs are known to be over: ralph and guard were both killed. Found are processes that carry
    /// one of the ids as [`super::RUN_ID_VAR`], everything below them, and everything in their sessions. This process and
    /// those above it are never touched. Blocks for at most three seconds if something does not die.
    #[must_use]
    pub fn sweep(&self, run_ids: &[String]) -> Vec<u32> {
        leftovers::sweep(&self.children, run_ids)
    }

    /// Finds what [`Supervisor::sweep`] would end, and leaves it alone.
    #[must_use]
    pub fn left_running(&self, run_ids: &[String]) -> Vec<u32> {
        leftovers::left_running(&self.children, run_ids)
    }

    /// Tells how well this system confines what is started with a [`Confinement`].
    pub fn confinement_level() -> ConfinementLevel {
        system::confinement_level()
    }

    /// Makes sure that this system holds a program to all of `confinement`.
    ///
    /// # Errors
    /// If it confines by less than is required.
    pub fn try_confinement(confinement: &Confinement) -> io::Result<()> {
        system::confined(confinement, || ())
    }

    /// Starts something by `start` that is confined, and none of this process besides.
    ///
    /// # Errors
    /// If the system confines by less than is required; `start` was not called then.
    pub fn confined<T: Send>(confinement: &Confinement, start: impl FnOnce() -> T + Send) -> io::Result<T> {
        system::confined(confinement, start)
    }

    /// Does `work` as what this starts could do it: in its confinement, if it has one.
    ///
    /// # Errors
    /// If the system confines by less than is required; `work` was not done then.
    pub fn in_confinement<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        match &self.confinement {
            Some(confinement) => system::confined(confinement, work),
            None => Ok(work()),
        }
    }

    /// Returns one for the same process whose child trees can allocate so much, each process of them.
    #[must_use]
    pub fn limiting_memory(&self, bytes: Option<u64>) -> Supervisor {
        Supervisor {
            memory_bytes: bytes,
            ..self.clone()
        }
    }

    /// Confines the calling thread and what it starts or becomes.
    ///
    /// # Errors
    /// If the system confines by less than is required.
    pub fn confine_this_thread(confinement: &Confinement) -> io::Result<()> {
        system::confine_this_thread(confinement)
    }

    /// Tells where the process at the other end of `socket` comes from, which the kernel knows as `pid`.
    pub fn origin(&self, socket: BorrowedFd<'_>, pid: Option<i32>) -> Origin {
        origin::of_peer(&self.children, socket, pid)
    }

    /// Ends the orphans: children of this process that it did not start, which are what a killed guard left behind.
    ///
    /// Does nothing where there are no sub-reapers.
    pub fn end_orphans(&self) {
        self.children.end_orphans();
    }

    /// Ends all helpers and all orphans: the last thing that ralph does.
    pub fn leave(&self) {
        self.helpers.close();
        self.end_orphans();
    }
}

/// This executable, as a program that a guard can start.
pub fn own_executable() -> PathBuf {
    let known = system::OWN_EXECUTABLE.map(PathBuf::from);
    // Without either, starting it fails and says so.
    known
        .or_else(|| std::env::current_exe().ok())
        .unwrap_or_else(|| PathBuf::from("ralph"))
}
