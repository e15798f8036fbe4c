//! A ralph in a process of its own, which outlives the one that has started it: the loop behind a screen.
//!
//! The two are joined by a socket, which is the loop's stdin when it starts. Until the loop says that it is ready, it has the
//! terminal of its starter for what goes wrong, and ends with it. From then on it depends on nothing of it: the socket only
//! tells the loop whether somebody still looks, and the starter that the run is over.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream, unix::process::CommandExt},
    process::{self, Child, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid},
};

use super::{leftovers::Children, system};

/// What the loop says to its starter, a line each.
const READY: &str = "ready ";
const OVER: &str = "over";
/// What the starter says to the loop.
const ATTACHED: &[u8] = b"a";
/// A line of the loop's is far shorter.
const LINE_CAP_BYTES: u64 = 4096;
/// Between two looks at a child of which nothing else tells that it has ended.
const PAUSE: Duration = Duration::from_millis(5);
/// The exit code of a loop whose starter was interrupted before the run began.
const INTERRUPTED: i32 = 130;

/// The loop, as the process sees it that has started it.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    said: BufReader<UnixStream>,
}

/// How a loop began.
#[derive(Debug)]
pub enum Began {
    /// The run of this id goes on from here.
    Ready { run: String },
    /// It has ended before, and has said why.
    Ended(ExitStatus),
}

impl Detached {
    pub(super) fn start(children: &Children, args: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = ralph(args)?;
        command.stdin(std::os::fd::OwnedFd::from(theirs));
        // Locked until it is in there: whoever is not is taken for something that was left behind.
        let mut started = children.started();
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

    /// Waits until the run begins, or until it cannot.
    ///
    /// # Errors
    /// Whatever the system says of the child.
    pub fn begin(&mut self) -> io::Result<Began> {
        match self.line()?.strip_prefix(READY) {
            Some(run) => Ok(Began::Ready { run: run.to_owned() }),
            None => Ok(Began::Ended(self.child.wait()?)),
        }
    }

    /// Tells the loop that the starter now has a screen, which is counted as one.
    pub fn attached(&self) {
        _ = self.said.get_ref().write_all(ATTACHED); // without the loop there is nobody to tell
    }

    /// Waits `patience` for the word that the run is over; false without it.
    pub fn is_over(&mut self, patience: Duration) -> bool {
        let timed = self.said.get_ref().set_read_timeout(Some(patience));
        timed.and_then(|()| self.line()).is_ok_and(|line| line == OVER)
    }

    /// Waits `patience` for the end of the process; none if it goes on.
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

/// The command that runs this program with `args`.
fn ralph(args: impl IntoIterator<Item = OsString>) -> io::Result<Command> {
    let executable = match system::OWN_EXECUTABLE {
        Some(executable) => executable.into(),
        None => std::env::current_exe()?,
    };
    let mut command = Command::new(executable);
    command.arg0("ralph").args(args);
    Ok(command)
}

/// Replaces this process by a ralph with `args`. Returns why that is not possible, and else never: nothing is dropped.
pub fn replace_process(args: impl IntoIterator<Item = OsString>) -> io::Error {
    match ralph(args) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

/// Sends a signal to a loop in another process; nothing if it has ended.
pub fn signal_loop(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 1) {
        _ = kill(Pid::from_raw(pid), signal);
    }
}

/// The process that has started this loop, as the loop sees it.
#[derive(Debug)]
pub struct Starter {
    socket: UnixStream,
    watch: Arc<Mutex<Watch>>,
}

/// Whether the starter looks at the run.
enum Watch {
    /// Nothing runs yet.
    Before,
    /// It does; what to do when it does not any more.
    Looks(Box<dyn FnOnce() + Send>),
    /// It has gone, or has a screen that is counted.
    Gone,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Watch::Before => "Before",
            Watch::Looks(_) => "Looks",
            Watch::Gone => "Gone",
        })
    }
}

impl Starter {
    /// Leaves the session of the process that has started this one, and takes the socket from stdin. This process ends with
    /// that one from now on, until [`Starter::ready`].
    ///
    /// # Errors
    /// If stdin is no socket: nobody has started this process as a loop.
    pub fn leave_session() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.peer_addr()?;
        dup2_stdin(File::open("/dev/null")?)?;
        // Refused to the leader of a group only, which a shell may have made of it.
        _ = setsid();
        let watch = Arc::new(Mutex::new(Watch::Before));
        let (reading, watching) = (socket.try_clone()?, Arc::clone(&watch));
        thread::Builder::new()
            .name("starter".to_owned())
            .spawn(move || watch_starter(reading, &watching))?;
        Ok(Self { socket, watch })
    }

    /// Lets go of the terminal, and tells that the run `run` begins. From then on, what this process prints goes to `output`;
    /// `gone` is called when the starter does not look at the run any more.
    ///
    /// # Errors
    /// If the starter has gone, or the system refuses.
    pub fn ready(&self, run: &str, output: &File, gone: impl FnOnce() + Send + 'static) -> io::Result<()> {
        dup2_stdout(output)?;
        dup2_stderr(output)?;
        let mut watch = lock(&self.watch);
        if let Watch::Gone = *watch {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        *watch = Watch::Looks(Box::new(gone));
        drop(watch);
        (&self.socket).write_all(format!("{READY}{run}\n").as_bytes())
    }

    /// Tells that the run is over.
    pub fn over(&self) {
        _ = (&self.socket).write_all(format!("{OVER}\n").as_bytes()); // it may have gone
    }
}

fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch_starter(mut socket: UnixStream, watch: &Mutex<Watch>) {
    let said = socket.read(&mut [0; ATTACHED.len()]);
    match std::mem::replace(&mut *lock(watch), Watch::Gone) {
        // It was interrupted while it waited: nobody wants the run any more. What was started ends with this process.
        Watch::Before => process::exit(INTERRUPTED),
        Watch::Looks(gone) => gone(),
        Watch::Gone => {}
    }
    drop(said); // its end or its word: either way the loop is on its own
}
