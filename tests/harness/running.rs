//! Running programs: their lines as they arrive, their end, signals to them.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{sys::signal::Signal, unistd::Pid};
use parking_lot::{Condvar, Mutex};
use ralph_core::event::{Event, Record};

use super::wait::{poll, wait_until};

/// A program to run, with the environment and directory of its sandbox.
pub struct Program {
    command: Command,
    stdout: Option<PathBuf>,
    unread: bool,
}

impl Program {
    pub(super) fn new(command: Command) -> Program {
        Program {
            command,
            stdout: None,
            unread: false,
        }
        .with_pipes()
    }

    fn with_pipes(mut self) -> Program {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Program {
        self.command.arg(arg);
        self
    }

    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Program {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.command.env(name, value);
        self
    }

    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Program {
        self.command.current_dir(directory);
        self
    }

    /// Starts the program through `wrapper`, as `wrapper arg… program arg…` does in a shell.
    pub fn under(mut self, wrapper: &[&str]) -> Program {
        let mut command = Command::new(wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .env_clear()
            .envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        self.command = command;
        self.with_pipes()
    }

    /// Limits every file that the program writes to `blocks` blocks of 512 bytes.
    pub fn with_small_files(self, blocks: usize) -> Program {
        let script = format!("ulimit -f {blocks} && exec \"$@\"");
        self.under(&["sh", "-c", &script, "sh"])
    }

    /// Gives the program a pipe as stdin, for [`Running::type_text`]; the default is an empty stdin.
    pub fn stdin_piped(mut self) -> Program {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Gives the program a file as stdin.
    pub fn stdin_from(mut self, path: &Path) -> Program {
        self.command.stdin(File::open(path).expect("the file for stdin"));
        self
    }

    /// Sends the program's output to a file, as `> path` does, instead of to the test.
    pub fn stdout_to(mut self, path: &Path) -> Program {
        self.command.stdout(File::create(path).expect("the file for stdout"));
        self.stdout = Some(path.to_owned());
        self
    }

    /// Leaves the program's stdout unread: the pipe is soon full. See [`Running::take_stdout`].
    pub fn unread(mut self) -> Program {
        self.unread = true;
        self
    }

    /// The command to start: program, arguments, environment and directory.
    pub fn command(&self) -> &Command {
        &self.command
    }

    pub fn start(mut self) -> Running {
        let name = self.command.get_program().to_owned();
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", name.display()));
        let stdin = child.stdin.take();
        let (stdout, stderr) = (Lines::default(), Lines::default());
        let mut readers = Vec::new();
        let mut unread = None;
        match child.stdout.take() {
            Some(pipe) if self.unread => unread = Some(pipe),
            Some(pipe) => readers.push(stdout.fill_from(pipe)),
            None => {}
        }
        if let Some(pipe) = child.stderr.take() {
            readers.push(stderr.fill_from(pipe));
        }
        Running {
            name,
            child,
            stdin,
            stdout,
            stderr,
            readers,
            stdout_file: self.stdout,
            unread,
        }
    }

    /// Starts the program and waits for its end.
    ///
    /// # Panics
    /// If it has not ended within `deadline`.
    pub fn run(self, deadline: Duration) -> Finished {
        self.start().wait(deadline)
    }
}

/// A started program. Dropping it kills it.
pub struct Running {
    name: OsString,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines,
    stderr: Lines,
    readers: Vec<JoinHandle<()>>,
    stdout_file: Option<PathBuf>,
    unread: Option<ChildStdout>,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The exit code; `None` if a signal ended the program.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The records that the program printed.
    ///
    /// # Panics
    /// If a line of its output is not a record.
    pub fn records(&self) -> Vec<Record> {
        self.stdout.lines().map(record).collect()
    }
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Sends a signal to this process alone.
    pub fn signal(&self, signal: Signal) {
        nix::sys::signal::kill(Pid::from_raw(self.pid()), signal).expect("an unreaped child takes signals");
    }

    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Writes to the program's stdin, which stays open.
    pub fn type_text(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("stdin_piped() was called and stdin is open");
        stdin
            .write_all(text.as_bytes())
            .and_then(|()| stdin.flush())
            .expect("the program reads");
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Hands over the unread stdout.
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.unread.take().expect("unread() was called")
    }

    /// Number of lines that the program has printed so far.
    pub fn printed(&self) -> usize {
        self.stdout.count()
    }

    /// Prints the last lines of the output, each cut: a test that waited for something else does not show them.
    #[allow(clippy::print_stderr)] // shown with the failure
    fn print_end(&self) {
        let output = self.so_far();
        let lines: Vec<_> = output.lines().collect();
        eprintln!("the last output of {}:", self.name.display());
        for line in &lines[lines.len().saturating_sub(20)..] {
            eprintln!("  {}", line.chars().take(200).collect::<String>());
        }
    }

    /// The output so far, stderr last.
    pub fn so_far(&self) -> String {
        format!("{}{}", self.stdout.text(), self.stderr.text())
    }

    /// Whether the program ends within `time`; it is left alone.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        poll(time, || self.child.try_wait().expect("the state of a child")).is_some()
    }

    /// Waits for the program's end and ignores its output.
    ///
    /// # Panics
    /// If it has not ended within `deadline`.
    pub fn wait_for_exit(mut self, deadline: Duration) -> ExitStatus {
        let what = format!("end of {}", self.name.display());
        wait_until(deadline, &what, || self.child.try_wait().expect("the state of a child"))
    }

    /// Waits for a line of stdout; those already printed count.
    ///
    /// # Panics
    /// If none comes within `deadline` or the output ends first.
    pub fn wait_for_line(&self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> String {
        self.wait_for(deadline, |line| wanted(line).then(|| line.to_owned()))
    }

    /// Waits for a record on stdout; those already printed count.
    ///
    /// # Panics
    /// If none comes within `deadline`, the output ends first, or a line is not a record.
    pub fn wait_for_record(&self, deadline: Duration, wanted: impl Fn(&Event) -> bool) -> Record {
        self.wait_for(deadline, |line| {
            Some(record(line)).filter(|record| wanted(&record.event))
        })
    }

    fn wait_for<T>(&self, deadline: Duration, wanted: impl Fn(&str) -> Option<T>) -> T {
        self.stdout.wait_for(deadline, wanted).unwrap_or_else(|| {
            let (name, stdout, stderr) = (self.name.display(), self.stdout.text(), self.stderr.text());
            panic!("{name}: not seen within {deadline:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
        })
    }

    /// Waits for the program's end and for all of its output.
    ///
    /// # Panics
    /// If it has not ended within `deadline`, or another process holds its output open.
    pub fn wait(mut self, deadline: Duration) -> Finished {
        let name = self.name.display().to_string();
        self.stdin = None;
        let status = poll(deadline, || self.child.try_wait().expect("the state of a child"));
        let Some(status) = status else {
            let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
            panic!("{name}: no end within {deadline:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
        };
        wait_until(deadline, &format!("end of what {name} prints"), || {
            self.readers.iter().all(JoinHandle::is_finished).then_some(())
        });
        let stdout = match &self.stdout_file {
            Some(path) => std::fs::read_to_string(path).expect("the file the output went to"),
            None => self.stdout.text(),
        };
        Finished {
            status,
            stdout,
            stderr: self.stderr.text(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if thread::panicking() {
            self.print_end();
        }
        _ = self.child.kill(); // it may have ended
        _ = self.child.wait();
    }
}

/// The lines of a pipe, read by a thread.
#[derive(Clone, Default)]
struct Lines(Arc<(Mutex<Filled>, Condvar)>);

#[derive(Default)]
struct Filled {
    lines: Vec<String>,
    ended: bool,
}

impl Lines {
    fn fill_from(&self, pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let lines = self.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n') {
                let Ok(line) = line else { break };
                lines.change(|read| read.lines.push(String::from_utf8_lossy(&line).into_owned()));
            }
            lines.change(|read| read.ended = true);
        })
    }

    fn change(&self, change: impl FnOnce(&mut Filled)) {
        change(&mut self.0.0.lock());
        self.0.1.notify_all();
    }

    fn wait_for<T>(&self, deadline: Duration, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        let end = Instant::now() + deadline;
        let mut seen = 0;
        let mut read = self.0.0.lock();
        loop {
            if let Some(value) = read.lines[seen..].iter().find_map(|line| wanted(line)) {
                return Some(value);
            }
            seen = read.lines.len();
            if read.ended {
                return None;
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.0.1.wait_for(&mut read, left);
        }
    }

    fn count(&self) -> usize {
        self.0.0.lock().lines.len()
    }

    fn text(&self) -> String {
        let read = self.0.0.lock();
        read.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }
}

fn record(line: &str) -> Record {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("not a record: {error}\n{line}"))
}
