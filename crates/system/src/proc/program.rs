//! Starts a program for a guard: the guarded one, in the guard's process group and on its terminal, or a helper.
//!
//! std's `Command` is not used: with it a program inherits the blocked signals of its parent, and a guard must not
//! unblock its own even for a moment, because in that moment ralph may die and the terminal hang up.

use std::{
    env,
    ffi::{CString, OsString},
    fs, io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::{ffi::OsStringExt, fs::OpenOptionsExt},
    },
    path::Path,
    thread,
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp},
    sys::signal::{SigSet, Signal},
    unistd::Pid,
};

use super::{OnRefused, Stdin, leftovers, spec::GuardSpec, system};
use crate::files;

/// A program to execute with no signal blocked and none ignored.
pub(super) struct Execution {
    /// Looked for in `PATH` unless it has a slash in it.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Pairs of a descriptor here and its number in the program. Other descriptors follow their close-on-exec flag.
    pub files: Vec<(RawFd, RawFd)>,
    pub group: ProcessGroup,
}

/// The process group of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessGroup {
    Inherited,
    Own,
}

/// Why a program could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotStarted {
    /// One line: what could not be opened or executed, and the system's reason.
    pub why: String,
    /// Whether the program itself is missing or cannot be executed, rather than something around it.
    pub missing: bool,
}

/// Starts the program that `spec` names, with the guard's own environment. Calls that it is refused are reported to
/// `on_refused`.
///
/// # Errors
/// [`NotStarted`] if something could not be opened or executed.
pub(super) fn start(spec: &GuardSpec, on_refused: OnRefused) -> Result<Pid, NotStarted> {
    let because = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| NotStarted {
            why: format!("{path}: {}", reason(&error)),
            missing: false,
        }
    };
    env::set_current_dir(&spec.cwd).map_err(because(&spec.cwd))?;
    let stdin = match &spec.stdin {
        Stdin::File(path) => Some(fs::File::open(path).map_err(because(path))?),
        Stdin::Null => Some(fs::File::open("/dev/null").map_err(because(Path::new("/dev/null")))?),
        Stdin::Terminal => None,
        Stdin::Piped => match &spec.input {
            Some(path) => Some(open_fifo(path, PipeDirection::In).map_err(because(path))?),
            None => None,
        },
    };
    let stdout = match &spec.fifo {
        Some(path) => Some(open_fifo(path, PipeDirection::Out).map_err(because(path))?),
        None => None,
    };
    let files = [(stdin.as_ref(), 0), (stdout.as_ref(), 1)];
    let files = files
        .iter()
        .filter_map(|(file, number)| Some((file.as_ref()?.as_raw_fd(), *number)));
    let execution = Execution {
        program: spec.program.clone().into_os_string(),
        args: spec.args.clone(),
        environment: match spec.is_unnamed {
            true => leftovers::unnamed(env::vars_os()),
            false => env::vars_os().collect(),
        },
        files: files.collect(),
        group: ProcessGroup::Inherited,
    };
    let execute = || {
        if spec.is_low {
            system::yield_to_others();
        }
        execute(execution)
    };
    let started = || match &spec.confinement {
        Some(confinement) => {
            let ralph = Pid::from_raw(spec.ralph);
            let executed = system::start_confined(confinement, ralph, on_refused, execute);
            executed.map_err(|error| NotStarted {
                why: format!("the sandbox: {error}"),
                missing: false,
            })
        }
        // This thread does not yield: it ends the program when ralph says so.
        None if spec.is_low => Ok(thread::scope(|scope| {
            let executed = scope.spawn(execute).join();
            executed.unwrap_or_else(|_| Err(io::Error::other("the thread that yields panicked")))
        })),
        None => Ok(execute()),
    };
    let executed = match spec.memory_bytes {
        Some(bytes) => system::with_memory_limit(bytes, started),
        None => started(),
    };
    executed?.map_err(|error| {
        let missing = is_missing(&error);
        let mut why = because(&spec.program)(error).why;
        if let Some(interpreter) = missing_interpreter(&spec.program) {
            why = format!("{why} (its interpreter is `{interpreter}`)");
        }
        NotStarted { why, missing }
    })
}

/// Whether the error is about the program itself; the system may also lack processes or memory.
fn is_missing(error: &io::Error) -> bool {
    [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC]
        .iter()
        .any(|&errno| error.raw_os_error() == Some(errno as i32))
}

/// Executes a program in the current directory.
pub(super) fn execute(execution: Execution) -> io::Result<Pid> {
    let mut files = PosixSpawnFileActions::init()?;
    for (here, there) in execution.files {
        files.add_dup2(here, there)?;
    }
    let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF;
    let mut attributes = PosixSpawnAttr::init()?;
    if execution.group == ProcessGroup::Own {
        flags |= PosixSpawnFlags::POSIX_SPAWN_SETPGROUP;
        attributes.set_pgroup(Pid::from_raw(0))?;
    }
    attributes.set_flags(flags)?;
    attributes.set_sigmask(&SigSet::empty())?;
    // All signals that an ancestor may have set to be ignored: a program expects to die from them.
    let caught = Signal::iterator().filter(|signal| ![Signal::SIGKILL, Signal::SIGSTOP].contains(signal));
    attributes.set_sigdefault(&caught.collect())?;
    let program = c_string(execution.program)?;
    let args = [Ok(program.clone())]
        .into_iter()
        .chain(execution.args.into_iter().map(c_string));
    let args = args.collect::<io::Result<Vec<_>>>()?;
    let environment = execution.environment.into_iter().map(|(name, value)| {
        let mut variable = name;
        variable.push("=");
        variable.push(value);
        c_string(variable)
    });
    let environment = environment.collect::<io::Result<Vec<_>>>()?;
    Ok(posix_spawnp(&program, &files, &attributes, &args, &environment)?)
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "an argument has a NUL in it"))
}

/// Returns the system's words for `error`, without the number that std adds.
fn reason(error: &io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |code| Errno::from_raw(code).desc().to_owned())
}

/// Returns the interpreter of a script's first line if it does not exist: the system blames the script instead.
fn missing_interpreter(program: &Path) -> Option<String> {
    let head = files::read_head(program, 256).ok()?;
    let first = head.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(first.strip_prefix(b"#!")?).trim().to_owned();
    let interpreter = line.split_whitespace().next()?;
    (!Path::new(interpreter).exists()).then(|| interpreter.to_owned())
}

/// The direction of the bytes, from the program's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PipeDirection {
    In,
    Out,
}

fn open_fifo(path: &Path, direction: PipeDirection) -> io::Result<fs::File> {
    // Without O_NONBLOCK, opening would wait for the other end: for ever, if ralph has just died.
    let fifo = fs::OpenOptions::new()
        .read(direction == PipeDirection::In)
        .write(direction == PipeDirection::Out)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    let flags = OFlag::from_bits_retain(fcntl(&fifo, FcntlArg::F_GETFL)?);
    // Programs expect streams that block, and the flag is shared with them.
    fcntl(&fifo, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(fifo)
}
