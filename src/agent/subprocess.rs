//! An agent that is a program: started anew for every session, under a guard, with a terminal.
//!
//! The bytes go one way only: child → reader thread → reporter → signals and display. The reporter may block there
//! as long as it likes (a full channel slows the agent); stopping does not pass through it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::{
    event::{AgentSignal, Problem, ProblemKind, SteeringId},
    proc::{Child, Launch, Size, SpawnError, Stop, Supervisor},
};

use super::{
    Activity, AgentAdapter, AgentError, Capabilities, GitIdentity, NotLive, Session, SessionRequest, check, invocation,
    manifest::Manifest,
    reporter::{Link, Reporter, send_apart},
    usage::Meter,
};

/// Runs sessions of the agent that a manifest describes.
#[derive(Debug)]
pub struct SubprocessAdapter {
    manifest: Manifest,
    supervisor: Supervisor,
    guard: Option<PathBuf>,
    identity: Option<GitIdentity>,
    meter: Arc<Meter>,
}

impl SubprocessAdapter {
    pub fn new(manifest: Manifest, supervisor: &Supervisor) -> Self {
        Self {
            manifest,
            supervisor: supervisor.clone(),
            guard: None,
            identity: None,
            meter: Arc::default(),
        }
    }

    /// Has sessions guarded by another executable than the one that is running: for whoever is not ralph itself.
    #[must_use]
    pub fn guarded_by(mut self, guard: PathBuf) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Tells sessions who commits in the project.
    #[must_use]
    pub fn committing_as(mut self, identity: Option<GitIdentity>) -> Self {
        self.identity = identity;
        self
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

impl AgentAdapter for SubprocessAdapter {
    fn id(&self) -> &str {
        &self.manifest.id
    }

    fn capabilities(&self) -> Capabilities {
        self.manifest.capabilities
    }

    fn check(&self, cwd: &Path) -> Result<(), AgentError> {
        check::find(&self.manifest, cwd).map(|_| ())
    }

    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let mut launch = match invocation::launch(&self.manifest, &request) {
            Ok(launch) => Launch {
                guard: self.guard.clone(),
                ..launch
            },
            Err(problem) => return NeverRan::report(problem, out),
        };
        let told = self
            .identity
            .as_ref()
            .map(|identity| identity.variables(&request.scratch));
        match told.transpose() {
            Ok(variables) => launch.env.extend(variables.unwrap_or_default()),
            Err(error) => {
                let text = format!("{}: {error}", request.scratch.display());
                let kind = ProblemKind::Other;
                return NeverRan::report(Problem::said(kind, text), out);
            }
        }
        let link = Arc::new(Link::new(request.size));
        let reporter = Reporter::new(
            self.manifest.dialect,
            request,
            out.clone(),
            Arc::clone(&link),
            self.manifest.sums_usage.then(|| Arc::clone(&self.meter)),
        );
        let program = launch.program.clone();
        match self.supervisor.spawn(launch, Box::new(reporter)) {
            Ok(child) => {
                info!(adapter = self.id(), ?program, "agent started");
                let child = Arc::new(child);
                link.start(&child);
                Box::new(Running { child, link })
            }
            Err(error) => {
                warn!(adapter = self.id(), ?program, %error, "agent not started");
                NeverRan::report(problem_of(error), out)
            }
        }
    }
}

fn problem_of(error: SpawnError) -> Problem {
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

struct Running {
    child: Arc<Child>,
    link: Arc<Link>,
}

impl Session for Running {
    fn stop(&self, stop: Stop) {
        self.child.stop(stop);
    }

    fn resize(&self, size: Size) {
        self.link.resize(size);
        self.child.resize(size);
    }

    fn type_bytes(&self, bytes: &[u8]) {
        self.child.type_bytes(bytes);
    }

    fn steer(&self, _id: SteeringId, _text: &str) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        self.child.activity()
    }
}

/// A session that could not be started. It has ended when it begins.
pub(super) struct NeverRan;

impl NeverRan {
    pub(super) fn report(problem: Problem, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let signals = [
            AgentSignal::Problem { problem },
            AgentSignal::Ended {
                exit: None,
                output_bytes: 0,
            },
        ];
        send_apart(signals, out);
        Box::new(NeverRan)
    }
}

impl Session for NeverRan {
    fn stop(&self, _stop: Stop) {}

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn steer(&self, _id: SteeringId, _text: &str) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        Activity::default()
    }
}
