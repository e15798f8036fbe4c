//! `ralph __node-job`: keeps a job on a node running, with or without a connection.
//!
//! The keeper is to the job what the batch is to a local one: it starts ralph below a guard, passes on a request to stop,
//! and records the end. Its lock says whether it lives.

use std::{path::Path, sync::mpsc};

use ralph_plan::batch::StoppedBy;
use ralph_state::store::paths::{create_anew, create_private_dir};
use ralph_system::{
    files::{append_private, lock_within},
    proc::{Starter, StopSpeed, Supervisor},
};
use ralph_text::with_causes;

use super::{
    super::{
        job::{self, BatchJob, EndedJob},
        signals,
    },
    place::{JobDirectory, RecordedEnd},
};

enum KeeperMessage {
    Ended(EndedJob),
    Stop(StoppedBy),
}

/// Runs the job of `directory` to its end. `starter` is the request that started it.
///
/// # Errors
/// In words, why the job cannot be run.
pub(crate) fn keep_job(directory: &Path, starter: &Starter, supervisor: &Supervisor) -> Result<(), String> {
    let files = JobDirectory::new(directory.to_owned());
    let order = files.order()?;
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let (lock, _) = append_private(&files.lock()).map_err(failed)?;
    if !lock_within(&lock, std::time::Duration::ZERO).map_err(failed)? {
        return Err("the job is already running".to_owned());
    }
    files.write_pid().map_err(failed)?;
    let (sender, inbox) = mpsc::channel();
    let stopping = sender.clone();
    signals::on_each(move |by| _ = stopping.send(KeeperMessage::Stop(by))).map_err(failed)?;
    let scratch = directory.join("scratch");
    create_private_dir(&scratch).map_err(|error| with_causes(&error))?;
    let log = files.log();
    let job = BatchJob {
        args: order.args.iter().map(Into::into).collect(),
        cwd: &order.cwd,
        env: order.env,
        id: order.id,
        scratch: &scratch,
        log: &log,
    };
    // Sending fails only after the loop below.
    let ended = move |ended| _ = sender.send(KeeperMessage::Ended(ended));
    let child = job::start(supervisor, job, ended).map_err(|error| with_causes(&error))?;
    let output = create_anew(&files.output()).map_err(failed)?;
    // The request that started it may be gone, which changes nothing.
    _ = starter.ready(&directory.to_string_lossy(), &output, || {});
    let mut speed = StopSpeed::Graceful;
    for message in inbox {
        match message {
            KeeperMessage::Ended(EndedJob { exit, tail }) => {
                return files.write_end(&RecordedEnd { exit, tail }).map_err(failed);
            }
            KeeperMessage::Stop(StoppedBy::HangUp) => {}
            KeeperMessage::Stop(StoppedBy::User | StoppedBy::Interrupt | StoppedBy::Terminate | StoppedBy::Budget) => {
                child.stop(speed);
                speed = StopSpeed::Immediate;
            }
        }
    }
    Ok(())
}
