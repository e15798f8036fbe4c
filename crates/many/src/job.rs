//! A child process of a batch: this executable below a guard, with its output in a file.

use std::{collections::VecDeque, ffi::OsString, fs::File, io::Write, path::Path, time::Duration};

use ralph_core::event::Exit;
use ralph_system::{
    files,
    proc::{Child, ChildEnd, Ladder, Launch, OutputSink, Size, SpawnError, StopSignal, Supervisor, own_executable},
};

/// How long a run may take to end after it is asked to: its agent is stopped first, step by step.
const GRACE: Duration = Duration::from_secs(30);
/// Bytes from the end of the output that are kept in memory, to report a failure.
const TAIL_BYTES: usize = 16 << 10;
const SIZE: Size = Size { cols: 120, rows: 40 };

/// The exit of a child, and the end of its output.
#[derive(Debug)]
pub(super) struct EndedJob {
    pub(super) exit: Option<Exit>,
    pub(super) tail: String,
}

/// The child to start.
pub(super) struct BatchJob<'a> {
    pub(super) args: Vec<OsString>,
    pub(super) cwd: &'a Path,
    /// Variables in addition to those of this process.
    pub(super) env: Vec<(String, String)>,
    /// Marks all processes that the child starts.
    pub(super) id: String,
    pub(super) scratch: &'a Path,
    pub(super) log: &'a Path,
}

/// Starts `job`; `ended` is called from another thread once all its processes are gone.
///
/// # Errors
/// [`SpawnError`] if it cannot be started; `ended` is not called then.
pub(super) fn start(
    supervisor: &Supervisor,
    job: BatchJob<'_>,
    ended: impl FnOnce(EndedJob) + Send + 'static,
) -> Result<Child, SpawnError> {
    let launch = Launch {
        args: job.args,
        env: job.env,
        size: SIZE,
        ladder: Ladder {
            first: StopSignal::Interrupt,
            grace: GRACE,
        },
        ..Launch::new(own_executable(), job.cwd, GRACE, &job.id, job.scratch)
    };
    let output = LogOutput {
        // Without a log, the user still has the run's journal.
        log: files::append_private(job.log).ok().map(|(file, _)| file),
        tail: VecDeque::new(),
        ended: Some(ended),
    };
    supervisor.spawn(launch, Box::new(output))
}

/// The output of a child: written to the log, with its end kept for a failure.
struct LogOutput<F> {
    log: Option<File>,
    tail: VecDeque<u8>,
    ended: Option<F>,
}

impl<F: FnOnce(EndedJob) + Send + 'static> OutputSink for LogOutput<F> {
    fn terminal(&mut self, bytes: &[u8]) {
        // The terminal converts line ends to CR LF.
        let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'\r').collect();
        if let Some(log) = &mut self.log {
            _ = log.write_all(&bytes); // a full disk has worse consequences
        }
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.terminal(bytes);
    }

    fn ended(&mut self, end: ChildEnd) {
        let (exit, tail) = match end {
            ChildEnd::Exited(exit) => (Some(exit), std::mem::take(&mut self.tail)),
            ChildEnd::NotStarted { why, .. } => (None, why.into_bytes().into()),
            ChildEnd::Exceeded(_) | ChildEnd::GuardLost => (None, std::mem::take(&mut self.tail)),
        };
        let tail = String::from_utf8_lossy(&Vec::from(tail)).into_owned();
        if let Some(ended) = self.ended.take() {
            ended(EndedJob { exit, tail });
        }
    }
}
