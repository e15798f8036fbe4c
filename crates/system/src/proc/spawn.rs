//! Starts a child: its files, its terminal, its guard, and the two threads that stay with it.

use std::{
    env, error, fs,
    io::{self, PipeReader, PipeWriter},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use filedescriptor::FileDescriptor;
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::stat::Mode,
    unistd::{Pid, getpid, mkfifo},
};
use portable_pty::{CommandBuilder, MasterPty, SlavePty, native_pty_system};
use thiserror::Error;

use super::{
    Confinement, Launch, Mount, OnLeftRunning, OnRefused, OutputSink, RUN_ID_VAR, Stdin, StdoutMode, TreeLimits,
    child::{Child, ChildState, ChildTerminal, pty_size},
    guard_waiter::GuardWaiter,
    launch::REPOSITORY_VARS,
    leftovers::{CHILD_ID_VAR, StartedChildren},
    reader::{ChildOutputReader, OutputSources},
    spec::{ChildFiles, GuardSpec},
    system,
};
use crate::diagnostics::inherited;

/// Variables that describe the terminal of ralph itself, which is not the one the child gets.
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
    Program { path: PathBuf, source: io::Error },
    #[error("{}: no such directory to work in", path.display())]
    WorkingDirectory { path: PathBuf },
    #[error("{}: not readable as standard input", path.display())]
    Stdin { path: PathBuf, source: io::Error },
    #[error("{}: not usable for the files of a child", path.display())]
    Scratch { path: PathBuf, source: io::Error },
    #[error("cannot allocate a terminal")]
    Terminal {
        source: Box<dyn error::Error + Send + Sync>,
    },
    #[error("{}: not startable as guard", path.display())]
    Guard {
        path: PathBuf,
        source: Box<dyn error::Error + Send + Sync>,
    },
    #[error("cannot start a thread")]
    Thread { source: io::Error },
}

/// The restrictions on a child tree.
#[derive(Debug, Clone)]
pub(super) struct ChildLimits<'a> {
    pub(super) confinement: Option<&'a Confinement>,
    /// Receives what the tree is refused.
    pub(super) on_refused: Option<&'a OnRefused>,
    /// Receives what the program left running.
    pub(super) on_left_running: Option<&'a OnLeftRunning>,
    /// Memory that each of its processes can allocate.
    pub(super) memory_bytes: Option<u64>,
    pub(super) tree_limits: TreeLimits,
    pub(super) mounts: &'a [Mount],
    pub(super) is_low: bool,
}

/// Starts `launch` as child tree `number` of this process.
pub(super) fn spawn(
    children: &Arc<StartedChildren>,
    number: u32,
    launch: Launch,
    limits: ChildLimits<'_>,
    output: Box<dyn OutputSink>,
) -> Result<Child, SpawnError> {
    check(&launch)?;
    let dir = tempfile::Builder::new()
        .prefix("child-")
        .tempdir_in(&launch.scratch)
        .map_err(|source| scratch_error(&launch, source))?;
    let files = ChildFiles {
        dir: dir.path().to_path_buf(),
    };
    let Fifos {
        output: fifo,
        input,
        refusals,
    } = write_files(&launch, &limits, &files).map_err(|source| scratch_error(&launch, source))?;
    let (wake_reader, wake) = wake_pipe().map_err(|source| scratch_error(&launch, source))?;

    let pair = native_pty_system()
        .openpty(pty_size(launch.size))
        .map_err(terminal_error)?;
    let (reader, writer) = descriptors(&*pair.master).map_err(terminal_error)?;

    // Before the guard: a guard without its threads would never be reaped.
    let (waiter_job, waiter) = named::<GuardWaiter>("ralph-keeper", GuardWaiter::wait)?;
    let (reader_job, _) = named::<ChildOutputReader>("ralph-reader", ChildOutputReader::read)?;

    let child_id = child_id(&launch.run_id, number);
    let process = start_guard(children, &launch, limits.confinement, &files, &child_id, &*pair.slave)?;
    let terminal = ChildTerminal::new(pair.master, writer, input, wake);
    let shared = Arc::new(ChildState::new(process.1, terminal, files.clone()));
    let sources = OutputSources {
        terminal: reader,
        slave: pair.slave,
        fifo,
        refusals: refusals.zip(limits.on_refused.cloned()),
        on_left_running: limits.on_left_running.cloned(),
        wake: wake_reader,
        dir,
    };
    let alive = "a thread waits for its job for as long as there is a sender";
    children.guard_started();
    waiter_job
        .send(GuardWaiter {
            children: Arc::clone(children),
            shared: Arc::clone(&shared),
            process: process.0,
            files,
            child_id,
        })
        .expect(alive);
    reader_job
        .send(ChildOutputReader::new(Arc::clone(&shared), output, sources, waiter))
        .expect(alive);
    Ok(Child::new(shared))
}

/// A guard's process, to be waited for, and its pid.
type SpawnedGuard = (Box<dyn portable_pty::Child + Send + Sync>, Pid);

fn start_guard(
    children: &StartedChildren,
    launch: &Launch,
    confinement: Option<&Confinement>,
    files: &ChildFiles,
    child_id: &str,
    slave: &dyn SlavePty,
) -> Result<SpawnedGuard, SpawnError> {
    let command = guard_command(launch, confinement, files, child_id);
    let path = PathBuf::from(&command.get_argv()[0]);
    // Locked until the guard is inserted: see `leftovers`.
    let mut started = children.started.lock();
    let process = slave.spawn_command(command).map_err(|error| SpawnError::Guard {
        path,
        source: error.into(),
    })?;
    let pid = process.process_id().expect("a process that was just started has a pid");
    let pid = Pid::from_raw(pid.cast_signed());
    started.insert(pid.as_raw());
    Ok((process, pid))
}

/// Starts a thread that waits for one job and does it; it ends without one if the sender is dropped.
fn named<Job: Send + 'static>(
    name: &str,
    run: fn(Job),
) -> Result<(mpsc::Sender<Job>, thread::JoinHandle<()>), SpawnError> {
    let (sender, jobs) = mpsc::channel();
    let wait_and_run = inherited(move || {
        if let Ok(job) = jobs.recv() {
            run(job);
        }
    });
    let thread = thread::Builder::new().name(name.to_owned()).spawn(wait_and_run);
    Ok((sender, thread.map_err(|source| SpawnError::Thread { source })?))
}

/// Checks what portable-pty would not report or would do wrong: without a directory it runs a program in `$HOME`.
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

/// ralph's ends of the FIFOs, as far as the launch has them.
struct Fifos {
    output: Option<fs::File>,
    input: Option<fs::File>,
    refusals: Option<fs::File>,
}

/// Writes the guard's orders, and opens the FIFOs.
fn write_files(launch: &Launch, limits: &ChildLimits<'_>, files: &ChildFiles) -> io::Result<Fifos> {
    let output = match launch.stdout {
        StdoutMode::Terminal => None,
        StdoutMode::Piped => {
            make_fifo(&files.fifo())?;
            // Opened before the guard opens its end, which would fail without a reader. For writing as well: without a
            // writer, a read before the guard has opened its end would return end of file.
            let fifo = open_for_polling(&files.fifo())?;
            #[cfg(target_os = "linux")]
            enlarge(&fifo);
            Some(fifo)
        }
    };
    let input = match launch.stdin {
        Stdin::File(_) | Stdin::Null | Stdin::Terminal => None,
        Stdin::Piped => {
            make_fifo(&files.input())?;
            // For reading as well: only so can it be opened before the guard has opened its end. The program still sees
            // the end of file once this is closed.
            Some(open_for_polling(&files.input())?)
        }
    };
    let refusals = match (limits.confinement, limits.on_refused) {
        (Some(_), Some(_)) => {
            make_fifo(&files.refusals())?;
            Some(open_for_polling(&files.refusals())?)
        }
        _ => None,
    };
    files.reserve_report()?;
    let unpacked = launch.unpacks_to.is_some().then(|| files.unpacked());
    if let Some(directory) = &unpacked {
        fs::create_dir(directory)?;
    }
    let spec = GuardSpec {
        ralph: getpid().as_raw(),
        program: launch.program.clone(),
        args: launch.args.clone(),
        cwd: launch.cwd.clone(),
        stdin: launch.stdin.clone(),
        input: input.is_some().then(|| files.input()),
        fifo: output.is_some().then(|| files.fifo()),
        refusals: refusals.is_some().then(|| files.refusals()),
        ladder: launch.ladder,
        memory_bytes: limits.memory_bytes,
        tree_limits: limits.tree_limits.clone(),
        mounts: limits.mounts.to_vec(),
        is_unnamed: launch.env_remove.iter().any(|name| name == RUN_ID_VAR),
        is_low: limits.is_low,
        confinement: limits.confinement.cloned().map(|mut confinement| {
            // A program may open its own standard streams by name.
            let streams = [
                output.is_some().then(|| files.fifo()),
                input.is_some().then(|| files.input()),
            ];
            confinement.write.extend(streams.into_iter().flatten().chain(unpacked));
            confinement.read.extend(launch.readable.iter().cloned());
            confinement.write.extend(launch.writable.iter().cloned());
            confinement
        }),
    };
    fs::write(files.spec(), serde_json::to_vec(&spec)?)?;
    Ok(Fifos {
        output,
        input,
        refusals,
    })
}

fn make_fifo(path: &Path) -> io::Result<()> {
    Ok(mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?)
}

/// Enlarges the buffer of a pipe to what Linux allows any user. Some agents exit without waiting for their output to be
/// read, and lose what does not fit.
#[cfg(target_os = "linux")]
fn enlarge(pipe: &fs::File) {
    _ = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(1 << 20)); // if it is refused, the pipe keeps its size
}

fn open_for_polling(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
}

fn wake_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    for flags in [
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)),
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)),
    ] {
        flags?;
    }
    Ok((reader, writer))
}

/// Returns two non-blocking descriptors of the terminal. portable-pty's own reader and writer cannot be polled, and its
/// writer types an end of file when it is dropped.
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

fn guard_command(
    launch: &Launch,
    confinement: Option<&Confinement>,
    files: &ChildFiles,
    child_id: &str,
) -> CommandBuilder {
    let mut command = match (&launch.guard, system::OWN_EXECUTABLE) {
        (Some(guard), _) => CommandBuilder::new(guard),
        (None, Some(own)) => CommandBuilder::new(own),
        (None, None) => CommandBuilder::new(env::current_exe().unwrap_or_else(|_| PathBuf::from("ralph"))),
    };
    command.args(["__guard", "--spec"]);
    command.arg(files.spec());
    command.cwd(&launch.cwd);
    for name in OUTER_TERMINAL_VARS.iter().chain(&REPOSITORY_VARS) {
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
    if let Some(name) = &launch.unpacks_to {
        command.env(name, files.unpacked());
    }
    for (name, value) in confinement.iter().flat_map(|confinement| &confinement.variables) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        }
    }
    command.env(RUN_ID_VAR, &launch.run_id);
    command.env(CHILD_ID_VAR, child_id);
    command
}

/// Returns an id that no other child has, neither of this process nor of one that had its pid before.
fn child_id(run_id: &str, number: u32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{run_id}/{}-{number}-{}", std::process::id(), now.as_nanos())
}
