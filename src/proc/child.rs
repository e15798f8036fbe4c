//! A started child, seen from ralph: its handle, and how it is started.

use std::{
    error, fs,
    io::{self, PipeReader, PipeWriter},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use filedescriptor::FileDescriptor;
use nix::{
    fcntl::OFlag,
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};
use portable_pty::{CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use thiserror::Error;

use super::{
    Activity, End, HELPER_VAR, Launch, Output, RUN_ID_VAR, Size, Stdin, Stdout, Stop,
    keeper::Keeper,
    leftovers::{CHILD_ID_VAR, guards},
    liveness::CpuMeter,
    reader::{Reader, Sources},
    spec::{Files, Spec},
    system,
};

/// Most bytes that wait to be typed; what comes on top of that is dropped, as a terminal does.
const TYPED_CAP_BYTES: usize = 1 << 20;

/// Variables that describe the terminal ralph itself runs in, which is not the one the child gets.
const OUTER_TERMINAL_VARS: [&str; 7] = [
    "COLUMNS",
    "LINES",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERMCAP",
    "TMUX",
    "STY",
];

/// Why a child could not be started. Nothing runs then, and the output is never called.
#[derive(Debug, Error)]
pub enum SpawnError {
    #[error("{}: no such program", path.display())]
    Program {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: no such directory to work in", path.display())]
    WorkingDirectory { path: PathBuf },
    #[error("{}: not readable as standard input", path.display())]
    Stdin {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: not usable for the files of a child", path.display())]
    Scratch {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no terminal to be had")]
    Terminal {
        #[source]
        source: Box<dyn error::Error + Send + Sync>,
    },
    #[error("{}: not startable as guard", path.display())]
    Guard {
        path: PathBuf,
        #[source]
        source: Box<dyn error::Error + Send + Sync>,
    },
    #[error("no thread to be had")]
    Thread {
        #[source]
        source: io::Error,
    },
}

/// A running child tree. Dropping it stops the tree at once; the output still gets its `ended`.
#[derive(Debug)]
pub struct Child {
    shared: Arc<Shared>,
}

impl Child {
    /// Asks the guard to end the tree and returns at once. In order twice is in order once; at once always counts.
    pub fn stop(&self, stop: Stop) {
        self.shared.stop(stop);
    }

    /// Gives the terminal a new size; the program is told by `SIGWINCH`.
    pub fn resize(&self, size: Size) {
        if let Some(terminal) = self.shared.terminal().as_ref() {
            // Refused only by a terminal that is being closed.
            _ = terminal.master.resize(pty_size(size));
        }
    }

    /// Types bytes into the terminal, without ever blocking: what the program does not read now waits, up to 1 MiB.
    pub fn type_bytes(&self, bytes: &[u8]) {
        if let Some(terminal) = self.shared.terminal().as_mut() {
            terminal.type_bytes(bytes);
        }
    }

    /// Reads how much the tree has done so far. Costs a few file reads per process.
    pub fn activity(&self) -> Activity {
        self.shared.activity()
    }

    /// The guard's pid, valid until the output's `ended`.
    pub fn guard_pid(&self) -> u32 {
        self.shared.guard.as_raw().cast_unsigned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop(Stop::AtOnce);
    }
}

/// What the handle, the reader and the keeper of one child have in common.
pub(super) struct Shared {
    pub guard: Pid,
    /// Set once the guard may have been reaped: from then on its pid may be anybody's.
    reaped: Mutex<bool>,
    /// None once the child has ended.
    terminal: Mutex<Option<Terminal>>,
    pub output_bytes: AtomicU64,
    cpu: Mutex<CpuMeter>,
    /// The keeper's finding, for the reader.
    pub end: Mutex<Option<Finding>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// How a child ended, and what nobody could end.
#[derive(Debug)]
pub(super) struct Finding {
    pub end: End,
    pub survivors: Vec<String>,
}

/// ralph's side of the terminal.
pub(super) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    /// The same terminal as `master`, as a descriptor that does not block.
    writer: FileDescriptor,
    /// Typed, but not yet taken by the terminal.
    typed: Vec<u8>,
    wake: PipeWriter,
}

impl Terminal {
    fn type_bytes(&mut self, bytes: &[u8]) {
        let room = TYPED_CAP_BYTES - self.typed.len();
        self.typed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.write_typed();
        if !self.typed.is_empty() {
            self.wake();
        }
    }

    /// Writes as much as the terminal takes, and returns whether something is left.
    pub fn write_typed(&mut self) -> bool {
        while !self.typed.is_empty() {
            match nix::unistd::write(&self.writer, &self.typed) {
                Ok(written) => drop(self.typed.drain(..written)),
                Err(nix::errno::Errno::EINTR) => {}
                Err(nix::errno::Errno::EAGAIN) => return true,
                // Nobody reads from this terminal any more.
                Err(_) => self.typed.clear(),
            }
        }
        false
    }

    /// Wakes the reader.
    fn wake(&self) {
        // A full pipe has woken it already; a closed one means that it has ended.
        _ = nix::unistd::write(&self.wake, b"!");
    }
}

impl Shared {
    pub fn stop(&self, stop: Stop) {
        let reaped = lock(&self.reaped);
        if *reaped {
            return;
        }
        let signal = match stop {
            Stop::InOrder => Signal::SIGTERM,
            Stop::AtOnce => Signal::SIGUSR1,
        };
        // Fails only for a guard that has just ended. Continued, in case somebody has stopped it.
        _ = kill(self.guard, signal);
        _ = kill(self.guard, Signal::SIGCONT);
    }

    /// Runs `reap` in a moment in which nobody signals the guard.
    pub fn reap(&self, reap: impl FnOnce()) {
        let mut reaped = lock(&self.reaped);
        reap();
        *reaped = true;
    }

    pub fn terminal(&self) -> MutexGuard<'_, Option<Terminal>> {
        lock(&self.terminal)
    }

    pub fn wake_reader(&self) {
        if let Some(terminal) = self.terminal().as_ref() {
            terminal.wake();
        }
    }

    fn activity(&self) -> Activity {
        let mut meter = lock(&self.cpu);
        let reaped = lock(&self.reaped);
        let cpu = if *reaped { meter.total() } else { meter.read(self.guard) };
        Activity {
            output_bytes: self.output_bytes.load(Ordering::Relaxed),
            cpu,
        }
    }
}

/// Locks, whatever happened to the last holder: nothing here is left half changed by a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts `launch` under a guard; everything it writes goes to `output` from one named reader thread.
///
/// Returns as soon as the guard runs. That the program itself cannot be executed is often known only then, and comes
/// as [`End::NotStarted`].
///
/// # Errors
/// [`SpawnError`] if there is nothing to start or no way to start it. `output` is dropped uncalled then.
pub fn spawn(launch: Launch, output: Box<dyn Output>) -> Result<Child, SpawnError> {
    check(&launch)?;
    let dir = tempfile::Builder::new()
        .prefix("child-")
        .tempdir_in(&launch.scratch)
        .map_err(|source| scratch_error(&launch, source))?;
    let files = Files {
        dir: dir.path().to_path_buf(),
    };
    let fifo = write_files(&launch, &files).map_err(|source| scratch_error(&launch, source))?;
    let (wake_reader, wake) = wake_pipe().map_err(|source| scratch_error(&launch, source))?;

    let pair = native_pty_system()
        .openpty(pty_size(launch.size))
        .map_err(terminal_error)?;
    let (reader, writer) = descriptors(&*pair.master).map_err(terminal_error)?;

    // Before the guard: a guard without its threads would never be reaped.
    let (keeper_job, keeper) = named::<Keeper>("ralph-keeper", Keeper::keep)?;
    let (reader_job, _) = named::<Reader>("ralph-reader", Reader::read)?;

    let child_id = child_id(&launch.run_id);
    let process = start_guard(&launch, &files, &child_id, &*pair.slave)?;
    let shared = Arc::new(Shared {
        guard: process.1,
        reaped: Mutex::new(false),
        terminal: Mutex::new(Some(Terminal {
            master: pair.master,
            writer,
            typed: Vec::new(),
            wake,
        })),
        output_bytes: AtomicU64::new(0),
        cpu: Mutex::new(CpuMeter::default()),
        end: Mutex::new(None),
    });
    let sources = Sources {
        terminal: reader,
        slave: pair.slave,
        fifo,
        wake: wake_reader,
        dir,
    };
    let alive = "a thread waits for its job for as long as there is a sender";
    keeper_job
        .send(Keeper::new(Arc::clone(&shared), process.0, files, child_id))
        .expect(alive);
    reader_job
        .send(Reader::new(Arc::clone(&shared), output, sources, keeper))
        .expect(alive);
    Ok(Child { shared })
}

/// A guard's process, to be waited for, and its pid.
type Guard = (Box<dyn portable_pty::Child + Send + Sync>, Pid);

fn start_guard(launch: &Launch, files: &Files, child_id: &str, slave: &dyn SlavePty) -> Result<Guard, SpawnError> {
    let command = guard_command(launch, files, child_id);
    let path = PathBuf::from(&command.get_argv()[0]);
    // Locked until the guard is in it: see `leftovers`.
    let mut guards = guards();
    let process = slave.spawn_command(command).map_err(|error| SpawnError::Guard {
        path,
        source: error.into(),
    })?;
    let pid = process.process_id().expect("a process that was just started has a pid");
    let pid = Pid::from_raw(pid.cast_signed());
    guards.insert(pid.as_raw());
    Ok((process, pid))
}

/// Starts a thread that does one job, which it is sent; it ends without one if the sender is dropped.
fn named<Job: Send + 'static>(
    name: &str,
    run: fn(Job),
) -> Result<(mpsc::Sender<Job>, thread::JoinHandle<()>), SpawnError> {
    let (sender, jobs) = mpsc::channel();
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        if let Ok(job) = jobs.recv() {
            run(job);
        }
    });
    Ok((sender, thread.map_err(|source| SpawnError::Thread { source })?))
}

/// Finds out what portable-pty would not tell, or would get wrong: it runs in `$HOME` what has no directory.
fn check(launch: &Launch) -> Result<(), SpawnError> {
    if let Err(source) = fs::metadata(&launch.program) {
        return Err(SpawnError::Program {
            path: launch.program.clone(),
            source,
        });
    }
    if !launch.cwd.is_absolute() || !launch.cwd.is_dir() {
        return Err(SpawnError::WorkingDirectory {
            path: launch.cwd.clone(),
        });
    }
    if let Stdin::File(path) = &launch.stdin
        && let Err(source) = fs::File::open(path)
    {
        return Err(SpawnError::Stdin {
            path: path.clone(),
            source,
        });
    }
    Ok(())
}

/// Writes the guard's orders, and opens the FIFO for reading if there is one.
fn write_files(launch: &Launch, files: &Files) -> io::Result<Option<fs::File>> {
    let fifo = match launch.stdout {
        Stdout::Terminal => None,
        Stdout::Piped => {
            mkfifo(&files.fifo(), Mode::S_IRUSR | Mode::S_IWUSR)?;
            // Opened before the guard opens its end, which would fail without a reader.
            Some(open_for_polling(&files.fifo())?)
        }
    };
    let spec = Spec {
        ralph: nix::unistd::getpid().as_raw(),
        program: launch.program.clone(),
        args: launch.args.clone(),
        cwd: launch.cwd.clone(),
        stdin: launch.stdin.clone(),
        fifo: fifo.is_some().then(|| files.fifo()),
        ladder: launch.ladder,
    };
    fs::write(files.spec(), serde_json::to_vec(&spec)?)?;
    Ok(fifo)
}

fn open_for_polling(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
}

fn wake_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    use nix::fcntl::{FcntlArg, fcntl};
    let (reader, writer) = io::pipe()?;
    for flags in [
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)),
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)),
    ] {
        flags?;
    }
    Ok((reader, writer))
}

/// Returns two descriptors of the terminal that do not block: portable-pty's own reader and writer cannot be polled,
/// and its writer types an end of file when it is dropped.
fn descriptors(
    master: &dyn MasterPty,
) -> Result<(FileDescriptor, FileDescriptor), Box<dyn error::Error + Send + Sync>> {
    let fd = master.as_raw_fd().ok_or("it has no descriptor")?;
    let mut reader = FileDescriptor::dup(&fd)?;
    reader.set_non_blocking(true)?;
    let writer = reader.try_clone()?;
    Ok((reader, writer))
}

fn terminal_error(source: impl Into<Box<dyn error::Error + Send + Sync>>) -> SpawnError {
    SpawnError::Terminal { source: source.into() }
}

fn scratch_error(launch: &Launch, source: io::Error) -> SpawnError {
    SpawnError::Scratch {
        path: launch.scratch.clone(),
        source,
    }
}

fn guard_command(launch: &Launch, files: &Files, child_id: &str) -> CommandBuilder {
    let mut command = match (&launch.guard, system::OWN_EXECUTABLE) {
        (Some(guard), _) => CommandBuilder::new(guard),
        (None, Some(own)) => CommandBuilder::new(own),
        (None, None) => CommandBuilder::new(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ralph"))),
    };
    command.args(["__guard", "--spec"]);
    command.arg(files.spec());
    command.cwd(&launch.cwd);
    for name in OUTER_TERMINAL_VARS {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    for (name, value) in &launch.env {
        command.env(name, value);
    }
    for name in &launch.env_remove {
        command.env_remove(name);
    }
    command.env(RUN_ID_VAR, &launch.run_id);
    command.env(CHILD_ID_VAR, child_id);
    command.env_remove(HELPER_VAR);
    command
}

/// Returns an id that no other child has, neither of this process nor of one that had its pid before.
fn child_id(run_id: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{run_id}/{}-{number}-{}", std::process::id(), now.as_nanos())
}

fn pty_size(size: Size) -> PtySize {
    let size = size.clamped();
    PtySize {
        rows: size.rows,
        cols: size.cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}
