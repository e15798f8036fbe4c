//! The loop in a process of its own, behind a screen; it outlives the ralph that started it.
//!
//! A socket joins the two; it is the loop's stdin when the loop starts. Until the loop says that it is ready, it shares
//! its starter's terminal for error messages, and ends with the starter. From then on it is independent: over the
//! socket the loop only learns whether the starter still watches, and the starter learns that the run is over.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, Write},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{self, Child, Command, ExitStatus},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid},
};
use parking_lot::Mutex;

use super::{leftovers::StartedChildren, system};

/// The lines that the loop sends to its starter.
const READY: &str = "ready ";
const OVER: &str = "over";
/// The message that the starter sends to the loop.
const ATTACHED: &[u8] = b"a";
/// Longest line that is read; lines of the loop are far shorter.
const LINE_CAP_BYTES: u64 = 4096;
/// Most that is read of what a loop printed before it began.
const MESSAGES_CAP_BYTES: u64 = 64 * 1024;
/// Interval between two checks whether a child has ended.
const PAUSE: Duration = Duration::from_millis(5);
/// The exit code of a loop whose starter was interrupted before the run began.
const INTERRUPTED: i32 = 130;

/// The loop, as seen by the process that started it.
#[derive(Debug)]
pub struct DetachedLoop {
    child: Child,
    said: BufReader<UnixStream>,
}

/// How an unattended loop began.
#[derive(Debug)]
pub enum UnattendedStart {
    /// The run or batch with this id has begun.
    Ready { id: String, end: LoopEnd },
    /// The loop ended before, and this is what it printed.
    Refused { messages: String },
}

/// The end of an unattended loop's process.
#[derive(Debug)]
pub struct LoopEnd(Receiver<()>);

impl LoopEnd {
    /// Waits up to `patience` until the process has ended.
    pub fn wait(&self, patience: Duration) {
        _ = self.0.recv_timeout(patience); // nothing is sent, the sender is dropped
    }
}

/// How a loop began.
#[derive(Debug)]
pub enum LoopStart {
    /// The run with this id has begun.
    Ready { run: String },
    /// The loop ended before a run began; it has printed why.
    Ended(ExitStatus),
}

impl DetachedLoop {
    pub(super) fn start(children: &StartedChildren, args: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        Self::start_command(children, ralph(args)?)
    }

    /// Starts a loop in `directory` for a starter without a terminal, and waits until its run or batch begins, for at most
    /// `patience`. The loop goes on by itself then. A loop that has not begun by then is ended.
    pub(super) fn start_unattended(
        children: &StartedChildren,
        directory: &Path,
        args: impl IntoIterator<Item = OsString>,
        patience: Duration,
    ) -> io::Result<UnattendedStart> {
        let mut messages = tempfile::tempfile()?;
        let mut command = ralph(args)?;
        command.current_dir(directory);
        command.stdout(messages.try_clone()?).stderr(messages.try_clone()?);
        let mut detached = Self::start_command(children, command)?;
        detached.said.get_ref().set_read_timeout(Some(patience))?;
        let line = detached.line();
        if let Some(id) = line.as_ref().ok().and_then(|line| line.strip_prefix(READY)) {
            let id = id.to_owned();
            detached.attached();
            let (ended, end) = channel();
            // The thread reaps the child when it ends.
            thread::Builder::new().name("detached".to_owned()).spawn(move || {
                _ = detached.child.wait(); // only fails if it is reaped
                drop(ended);
            })?;
            return Ok(UnattendedStart::Ready { id, end: LoopEnd(end) });
        }
        // Without its starter, a loop that has not begun ends by itself.
        drop(detached.said);
        detached.child.wait()?;
        line?;
        let mut text = Vec::new();
        messages.rewind()?;
        messages.take(MESSAGES_CAP_BYTES).read_to_end(&mut text)?;
        Ok(UnattendedStart::Refused {
            messages: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    fn start_command(children: &StartedChildren, mut command: Command) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        command.stdin(std::os::fd::OwnedFd::from(theirs));
        // Locked until the child is inserted: a child that is missing there counts as an orphan.
        let mut started = children.started.lock();
        let child = command.spawn()?;
        started.insert(child.id().cast_signed());
        Ok(Self {
            child,
            said: BufReader::new(ours),
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the run begins, or until the loop ends without one.
    ///
    /// # Errors
    /// The system's error if the child cannot be read from or waited for.
    pub fn begin(&mut self) -> io::Result<LoopStart> {
        match self.line()?.strip_prefix(READY) {
            Some(run) => Ok(LoopStart::Ready { run: run.to_owned() }),
            None => Ok(LoopStart::Ended(self.child.wait()?)),
        }
    }

    /// Tells the loop that the starter now has a screen, which the loop counts by itself.
    pub fn attached(&self) {
        _ = self.said.get_ref().write_all(ATTACHED); // fails if the loop has ended
    }

    /// Waits up to `patience` for the message that the run is over; false without it.
    pub fn is_over(&mut self, patience: Duration) -> bool {
        let timed = self.said.get_ref().set_read_timeout(Some(patience));
        timed.and_then(|()| self.line()).is_ok_and(|line| line == OVER)
    }

    /// Waits up to `patience` for the end of the process; `None` if it still runs.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        (&mut self.said).take(LINE_CAP_BYTES).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

/// Returns the command that runs this program with `args`.
fn ralph(args: impl IntoIterator<Item = OsString>) -> io::Result<Command> {
    let executable = match system::OWN_EXECUTABLE {
        Some(executable) => executable.into(),
        None => std::env::current_exe()?,
    };
    let mut command = Command::new(executable);
    command.arg0("ralph").args(args);
    Ok(command)
}

/// Replaces this process by a ralph with `args` and further variables. Returns only on failure; on success no
/// destructors run.
pub fn replace_process(
    args: impl IntoIterator<Item = OsString>,
    variables: impl IntoIterator<Item = (String, String)>,
) -> io::Error {
    match ralph(args) {
        Ok(mut command) => command.envs(variables).exec(),
        Err(error) => error,
    }
}

/// Sends a signal to a loop in another process. Does nothing if it has ended.
pub fn signal_loop(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 1) {
        _ = kill(Pid::from_raw(pid), signal);
    }
}

/// The process that started this loop, as seen by the loop.
#[derive(Debug)]
pub struct Starter {
    socket: UnixStream,
    watch: Arc<Mutex<StarterWatch>>,
}

/// Whether the starter watches the run.
enum StarterWatch {
    /// The run has not begun.
    Before,
    /// The starter watches the run; holds the callback for when it stops watching.
    Watching(Box<dyn FnOnce() + Send>),
    /// The starter has ended, or has a screen that is counted by itself.
    Gone,
}

impl std::fmt::Debug for StarterWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StarterWatch::Before => "Before",
            StarterWatch::Watching(_) => "Looks",
            StarterWatch::Gone => "Gone",
        })
    }
}

impl Starter {
    /// Leaves the session of the starter and takes the socket from stdin. Until [`Starter::ready`], this process ends
    /// when the starter does.
    ///
    /// # Errors
    /// If stdin is not a socket: this process was not started as a loop.
    pub fn leave_session() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        dup2_stdin(File::open("/dev/null")?)?;
        // Fails only for a process group leader, which a shell may have made this process.
        _ = setsid();
        let watch = Arc::new(Mutex::new(StarterWatch::Before));
        let (reading, watching) = (socket.try_clone()?, Arc::clone(&watch));
        thread::Builder::new()
            .name("starter".to_owned())
            .spawn(move || watch_starter(reading, &watching))?;
        Ok(Self { socket, watch })
    }

    /// Releases the terminal and tells the starter that the run `run` begins. From then on, this process prints to
    /// `output`; `gone` is called when the starter stops watching the run.
    ///
    /// # Errors
    /// If the starter has ended, or the system refuses.
    pub fn ready(&self, run: &str, output: &File, gone: impl FnOnce() + Send + 'static) -> io::Result<()> {
        dup2_stdout(output)?;
        dup2_stderr(output)?;
        let mut watch = self.watch.lock();
        if let StarterWatch::Gone = *watch {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        *watch = StarterWatch::Watching(Box::new(gone));
        drop(watch);
        (&self.socket).write_all(format!("{READY}{run}\n").as_bytes())
    }

    /// Tells the starter that the run is over.
    pub fn over(&self) {
        _ = (&self.socket).write_all(format!("{OVER}\n").as_bytes()); // the starter may have ended
    }
}

fn watch_starter(mut socket: UnixStream, watch: &Mutex<StarterWatch>) {
    let said = socket.read(&mut [0; ATTACHED.len()]);
    match std::mem::replace(&mut *watch.lock(), StarterWatch::Gone) {
        // The starter was interrupted while it waited, so the run is abandoned. Ending this process ends what it has
        // started.
        StarterWatch::Before => process::exit(INTERRUPTED),
        StarterWatch::Watching(gone) => gone(),
        StarterWatch::Gone => {}
    }
    drop(said); // end of file or a message: the loop is independent now
}
