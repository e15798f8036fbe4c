//! Sessions that could not be started.

use std::io;

use ralph_core::event::{AgentSignal, Problem, ProblemKind};
use ralph_system::proc::{Activity, Size, SpawnError, StopSpeed};
use tokio::sync::mpsc;

use crate::{NotLive, Session, SessionCommand, reporter::send_from_thread};

/// A session that could not be started. It has ended from the beginning.
pub(super) struct UnstartedSession;

impl UnstartedSession {
    pub(super) fn report(problem: Problem, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        };
        send_from_thread([AgentSignal::Problem { problem }, ended], out);
        Box::new(UnstartedSession)
    }
}

impl Session for UnstartedSession {
    fn stop(&self, _stop: StopSpeed) {}

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn send(&self, _command: SessionCommand) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// The problem of a session whose program could not be started.
pub(super) fn problem_of(error: SpawnError) -> Problem {
    let source = std::error::Error::source(&error)
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    let kind = match &error {
        SpawnError::Program { source, .. } if is_missing(source) => ProblemKind::NotInstalled,
        SpawnError::Program { .. }
        | SpawnError::WorkingDirectory { .. }
        | SpawnError::Stdin { .. }
        | SpawnError::Scratch { .. }
        | SpawnError::Terminal { .. }
        | SpawnError::Guard { .. }
        | SpawnError::Thread { .. } => ProblemKind::Other,
    };
    Problem::said(kind, format!("{error}{source}"))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}
