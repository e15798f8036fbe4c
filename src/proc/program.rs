//! Starts the program itself, in the guard's process group and on the guard's terminal.
//!
//! Not with std's `Command`: that one lets a program inherit the blocked signals of its parent, and a guard must not
//! unblock its own for a moment, because the moment in which ralph dies and the terminal hangs up may be that one.

use std::{
    env,
    ffi::{CString, OsString},
    fs, io,
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStringExt, fs::OpenOptionsExt},
    },
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::signal::{SigSet, Signal},
    unistd::Pid,
};

use super::{Stdin, guard::SIGNALS, spec::Spec};
use crate::files;

/// Signals that somebody above may have told the guard to ignore; a program expects to die from them.
const RESET: [Signal; 5] = [
    Signal::SIGPIPE,
    Signal::SIGALRM,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGWINCH,
];

/// Why a program could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotStarted {
    /// One line: what could not be opened or executed, and the system's reason.
    pub why: String,
    /// The program itself is not there or cannot be executed; else something around it failed.
    pub missing: bool,
}

/// Starts the program that `spec` names, with the guard's own environment.
///
/// # Errors
/// [`NotStarted`] if something could not be opened or executed.
pub(super) fn start(spec: &Spec) -> Result<Pid, NotStarted> {
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
    };
    let stdout = match &spec.fifo {
        Some(path) => Some(open_fifo(path).map_err(because(path))?),
        None => None,
    };
    execute(spec, stdin.as_ref(), stdout.as_ref()).map_err(|error| {
        let missing = is_missing(&error);
        let mut why = because(&spec.program)(error).why;
        if let Some(interpreter) = missing_interpreter(&spec.program) {
            why = format!("{why} (its interpreter is `{interpreter}`)");
        }
        NotStarted { why, missing }
    })
}

/// Tells whether it is for the program itself that it cannot be executed: the system may lack processes or memory as well.
fn is_missing(error: &io::Error) -> bool {
    [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC]
        .iter()
        .any(|&errno| error.raw_os_error() == Some(errno as i32))
}

fn execute(spec: &Spec, stdin: Option<&fs::File>, stdout: Option<&fs::File>) -> io::Result<Pid> {
    let mut files = PosixSpawnFileActions::init()?;
    // Everything else the guard has open is closed on exec.
    for (file, number) in [(stdin, 0), (stdout, 1)] {
        if let Some(file) = file {
            files.add_dup2(file.as_raw_fd(), number)?;
        }
    }
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&SIGNALS.into_iter().chain(RESET).collect())?;
    let args = [spec.program.clone().into_os_string()]
        .into_iter()
        .chain(spec.args.iter().cloned());
    let args = args.map(c_string).collect::<io::Result<Vec<_>>>()?;
    let environment = env::vars_os().map(|(name, value)| {
        let mut variable = name;
        variable.push("=");
        variable.push(value);
        c_string(variable)
    });
    let environment = environment.collect::<io::Result<Vec<_>>>()?;
    Ok(posix_spawn(
        spec.program.as_path(),
        &files,
        &attributes,
        &args,
        &environment,
    )?)
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

/// Returns the interpreter that a script's first line names, if it does not exist: the system blames the script.
fn missing_interpreter(program: &Path) -> Option<String> {
    let head = files::read_head(program, 256).ok()?;
    let first = head.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(first.strip_prefix(b"#!")?).trim().to_owned();
    let interpreter = line.split_whitespace().next()?;
    (!Path::new(interpreter).exists()).then(|| interpreter.to_owned())
}

fn open_fifo(path: &Path) -> io::Result<fs::File> {
    // Without O_NONBLOCK, opening would wait for a reader: for ever, if ralph has just died.
    let fifo = fs::OpenOptions::new()
        .write(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    let flags = OFlag::from_bits_retain(fcntl(&fifo, FcntlArg::F_GETFL)?);
    // Programs expect a stdout that blocks, and the flag is shared with them.
    fcntl(&fifo, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(fifo)
}
