//! The runtime of a run, with all of its threads.

use std::{io, os::unix::net::UnixStream, sync::mpsc, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

use crate::error::{Failure, FailureKind};

/// Threads for blocking work: one for the current job, one to end a run whose job hangs, one to spare.
const JOB_THREADS: usize = 3;
/// Descriptors needed at the start: two runtimes, signals, the socket, the guard, and one program with its pipes.
const START_DESCRIPTORS: usize = 32;
/// Threads needed at the start besides the jobs: output, server, pause file and reader of the agent, each with one to
/// spare.
const START_THREADS: usize = 8;
const THREAD_PATIENCE: Duration = Duration::from_secs(10);
/// Longer than any run.
const FOR_THE_RUN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Creates the runtime and its threads for blocking work. Later that may be impossible, since an agent can use up the
/// user's limit of processes.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Failed, format!("the runtime cannot be started: {why}"))
            .hint("end processes of yours that are not needed, or allow more with `ulimit -u`")
    };
    // tokio panics if it cannot get the descriptors for signals.
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
    // tokio panics without its first thread, and a run without the thread for output shows nothing.
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
                _ = ready.send(()); // the start has given up
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
