//! The runtime that a run lives in, with all of its threads.

use std::{io, os::unix::net::UnixStream, sync::mpsc, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

use crate::error::{Failure, FailureKind};

/// Threads for work on disk: one for the job of the moment, one for what ends a run whose job hangs, one to spare.
const JOB_THREADS: usize = 3;
/// Descriptors of a start: two runtimes, signals, the socket, the guard, and one program with its pipes.
const START_DESCRIPTORS: usize = 32;
/// Threads of a start beside the jobs: printing, serving, watching the pause file and reading the agent, each with one to spare.
const START_THREADS: usize = 8;
const THREAD_PATIENCE: Duration = Duration::from_secs(10);
/// Longer than any run.
const FOR_THE_RUN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Makes the runtime, and the threads for its work on disk: later there may be none to be had, since an agent can use up
/// all that a user may have.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Failed, format!("the runtime cannot be started: {why}"))
            .hint("end processes of yours that are not needed, or allow more with `ulimit -u`")
    };
    // tokio panics where it cannot have the descriptors with which signals reach it.
    let spare: io::Result<Vec<_>> = (0..START_DESCRIPTORS / 2).map(|_| UnixStream::pair()).collect();
    drop(spare.map_err(|error| {
        Failure::new(FailureKind::Failed, format!("the runtime cannot be started: {error}"))
            .hint("allow more open files with `ulimit -n`")
    })?);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .thread_name("jobs")
        .thread_keep_alive(FOR_THE_RUN)
        .build()
        .map_err(|error| failed(&error))?;
    // tokio panics without its first thread, and a run without the thread that prints shows nothing.
    let spare: io::Result<Vec<_>> = (0..START_THREADS)
        .map(|_| {
            let (hold, held) = mpsc::channel::<()>();
            let thread = thread::Builder::new().spawn(move || held.recv())?;
            Ok((hold, thread))
        })
        .collect();
    for (hold, thread) in spare.map_err(|error| failed(&error))? {
        drop(hold);
        _ = thread.join(); // its sender is gone
    }
    let (ready, readied) = mpsc::channel();
    let held: Vec<_> = (0..JOB_THREADS)
        .map(|_| {
            let (hold, held) = mpsc::channel::<()>();
            let ready = ready.clone();
            runtime.spawn_blocking(move || {
                _ = ready.send(()); // nobody waits any more
                _ = held.recv(); // until all threads are there
            });
            hold
        })
        .collect();
    for _ in &held {
        readied
            .recv_timeout(THREAD_PATIENCE)
            .map_err(|_| failed(&"no thread could be started"))?;
    }
    Ok(runtime)
}
