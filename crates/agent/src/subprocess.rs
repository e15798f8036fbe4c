//! Agents that run as a program, started for every session under a guard and with a terminal.
//!
//! Bytes flow in one direction: child → reader thread → reporter → signals and display. The reporter may block for any
//! time (a full channel slows the agent); stopping does not depend on it.

use std::{fs, path::Path, sync::Arc};

use ralph_core::event::{AgentSignal, CancelReason, Problem, ProblemKind};
use ralph_system::proc::{Child, Size, StopSpeed, Supervisor};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::{
    Activity, AgentAdapter, AgentError, Capabilities, GitIdentity, NotLive, Session, SessionCommand, SessionRequest,
    check,
    dialect::DialectKind,
    invocation,
    manifest::{LiveLaunch, Manifest},
    mcp::{McpServer, McpServers},
    protocol::SessionOpening,
    reporter::{AgentChannel, Reporter, SessionLink, breakdown_signals, send_from_thread},
    template::AdapterPlaceholder,
    thread_records::ThreadRecords,
    unstarted::{UnstartedSession, problem_of},
    usage::TurnUsageMeter,
};

/// The adapter of the agent that a manifest describes.
#[derive(Debug)]
pub struct SubprocessAdapter {
    manifest: Manifest,
    supervisor: Supervisor,
    identity: Option<GitIdentity>,
    meter: Arc<TurnUsageMeter>,
    live: bool,
    servers: McpServers,
    /// Whether sessions continue earlier ones.
    continues: bool,
}

impl SubprocessAdapter {
    pub fn new(manifest: Manifest, supervisor: &Supervisor) -> Self {
        Self {
            live: manifest.dialect.is_none(),
            manifest,
            supervisor: supervisor.clone(),
            identity: None,
            meter: Arc::default(),
            servers: McpServers::default(),
            continues: false,
        }
    }

    /// Has each session continue the previous one, if the agent can.
    #[must_use]
    pub fn continuing(mut self, continues: bool) -> Self {
        self.continues = continues;
        self
    }

    /// Selects the live channel for sessions, if the agent has one.
    #[must_use]
    pub fn live(mut self, live: bool) -> Self {
        self.live = self.manifest.live.is_some() && (live || self.manifest.dialect.is_none());
        self
    }

    /// Gives sessions these MCP servers, if the agent's manifest supports MCP servers.
    #[must_use]
    pub fn serving(mut self, servers: McpServers) -> Self {
        self.servers = servers;
        self
    }

    /// Sets the committer's identity for sessions.
    #[must_use]
    pub fn committing_as(mut self, identity: Option<GitIdentity>) -> Self {
        self.identity = identity;
        self
    }
}

impl AgentAdapter for SubprocessAdapter {
    fn id(&self) -> &str {
        &self.manifest.id
    }

    fn capabilities(&self) -> Capabilities {
        let live = self.manifest.live.as_ref().filter(|_| self.live);
        live.map_or(self.manifest.capabilities, |live| live.capabilities)
    }

    fn takes_model(&self, model: &str) -> Result<(), AgentError> {
        self.manifest.can_be_given(Some(model), None)
    }

    fn check(&self, cwd: &Path) -> Result<(), AgentError> {
        check::find(&self.manifest, cwd).map(|_| ())
    }

    fn can_ask_always(&self, cwd: &Path) -> bool {
        self.manifest.live.as_ref().is_some_and(|live| {
            // Sessions that are continued have to be continued on that channel.
            let continues = self.continues && self.manifest.capabilities.resume;
            live.capabilities.can_ask_always()
                && live.is_current
                && live.asking.bypassed_by(cwd).is_none()
                && (live.capabilities.resume || !continues)
        })
    }

    fn passes_mcp_servers(&self, one_way: bool) -> bool {
        let live = self.manifest.live.as_ref().filter(|_| self.live && !one_way);
        !self.servers.is_empty() && self.manifest.takes_servers(live)
    }

    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let is_live = self.live && !request.one_way || !request.asks.is_empty();
        let live = self.manifest.live.as_ref().filter(|_| is_live);
        let servers = self.servers.for_run(&request.run);
        let mut launch = match invocation::launch(&self.manifest, &request, live, &servers) {
            Ok(launch) => launch,
            Err(problem) => return UnstartedSession::report(problem, out),
        };
        let asking = live
            .filter(|_| !request.asks.is_empty())
            .and_then(|live| live.asking.file.as_ref());
        if let Some(text) = asking {
            let path = invocation::asking_file(&request.scratch);
            if let Err(error) = fs::write(&path, text) {
                let text = format!("{}: {error}", path.display());
                return UnstartedSession::report(Problem::said(ProblemKind::Other, text), out);
            }
        }
        let told = self
            .identity
            .as_ref()
            .map(|identity| identity.variables(&request.scratch));
        match told.transpose() {
            Ok(variables) => launch.env.extend(variables.unwrap_or_default()),
            Err(error) => {
                let text = format!("{}: {error}", request.scratch.display());
                let kind = ProblemKind::Other;
                return UnstartedSession::report(Problem::said(kind, text), out);
            }
        }
        let link = Arc::new(SessionLink::new(request.size));
        let conversation = match live {
            Some(live) => AgentChannel::Live {
                kind: live.protocol,
                opening: opening(&self.manifest, live, &request, servers),
                has_another: self.manifest.dialect.is_some(),
            },
            // Without a dialect the session is always live.
            None => AgentChannel::OneWay {
                dialect: self.manifest.dialect.unwrap_or(DialectKind::Terminal),
                patterns: self.manifest.patterns.clone(),
                records: match self.manifest.dialect {
                    Some(DialectKind::CodexJson) => ThreadRecords::of(&launch.env),
                    _ => None,
                },
            },
        };
        let sums_usage = self.manifest.sums_usage && live.is_none_or(|live| !live.protocol.counts_turns());
        let reporter = Reporter::new(
            conversation,
            request,
            out.clone(),
            Arc::clone(&link),
            Arc::clone(&self.meter),
            sums_usage,
            &self.manifest.subagents.tools,
        );
        let is_live = live.is_some();
        let program = launch.program.clone();
        match self.supervisor.spawn(launch, Box::new(reporter)) {
            Ok(child) => {
                info!(adapter = self.id(), ?program, "agent started");
                let child = Arc::new(child);
                if !link.start(&child) {
                    send_from_thread(breakdown_signals(0), out);
                }
                if is_live {
                    // The reporter begins the conversation, now that it can write.
                    child.wake();
                }
                Box::new(RunningSession {
                    child,
                    link,
                    live: is_live,
                })
            }
            Err(error) => {
                warn!(adapter = self.id(), ?program, %error, "agent not started");
                UnstartedSession::report(problem_of(error), out)
            }
        }
    }
}

/// The opening of a live session, without the prompt.
fn opening(
    manifest: &Manifest,
    live: &LiveLaunch,
    request: &SessionRequest,
    servers: Vec<McpServer>,
) -> SessionOpening {
    let named = request
        .model
        .as_deref()
        .and_then(|model| manifest.model_form.apply(model).ok());
    SessionOpening {
        cwd: request.cwd.display().to_string(),
        seed: format!("{}/{}", request.run, request.iteration),
        model: named
            .filter(|_| !live.takes(AdapterPlaceholder::Model))
            .map(|model| model.name.to_owned()),
        agent: request.agent.clone().filter(|_| !live.takes(AdapterPlaceholder::Agent)),
        resume: request.resume.clone(),
        steering: live.steering,
        without_tokens: manifest.capabilities.usage && !live.capabilities.usage,
        asks: request.asks,
        subagent_tools: manifest.subagents.tools.clone(),
        named_calls: live.named_calls,
        stays: manifest.mcp.stays && !servers.is_empty(),
        servers,
        ..SessionOpening::default()
    }
}

struct RunningSession {
    child: Arc<Child>,
    link: Arc<SessionLink>,
    live: bool,
}

impl Session for RunningSession {
    fn stop(&self, stop: StopSpeed) {
        self.child.stop(stop);
    }

    fn ends_for(&self, reason: CancelReason) {
        self.link.ends_for(reason);
    }

    fn resize(&self, size: Size) {
        self.link.resize(size);
        self.child.resize(size);
    }

    fn type_bytes(&self, bytes: &[u8]) {
        self.child.type_bytes(bytes);
    }

    fn send(&self, command: SessionCommand) -> Result<(), NotLive> {
        if !self.live {
            return Err(NotLive);
        }
        self.link.send(command);
        self.child.wake();
        Ok(())
    }

    fn activity(&self) -> Activity {
        self.child.activity()
    }
}
