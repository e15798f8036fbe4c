//! The adapter of opencode's server for the loop.

use std::{path::Path, sync::Arc, thread};

use ralph_core::event::{AgentSignal, Problem, ProblemKind, ToolKinds};
use ralph_system::proc::Supervisor;
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

use crate::{
    AgentAdapter, AgentError, Capabilities, Session, SessionRequest, check, manifest::Manifest, mcp::McpServers,
    signal_writer::SignalWriter, transcript::Transcript, unstarted::UnstartedSession,
};

use super::{
    ServerError, ServerOptions,
    client::{OpencodeClient, PromptOptions},
    handle::{ServerSession, SharedSession},
    server::{ServerProvider, ServerSpec},
    server_url::ServerUrl,
    session::run_session,
    task::SessionJob,
};

/// Runs sessions on an opencode server.
#[derive(Debug)]
pub struct ServerAdapter {
    manifest: Manifest,
    options: ServerOptions,
    servers: Arc<ServerProvider>,
    mcp: McpServers,
}

impl ServerAdapter {
    pub fn new(manifest: Manifest, options: ServerOptions, supervisor: &Supervisor) -> Self {
        let servers = ServerProvider::new(manifest.clone(), options.clone(), supervisor.clone());
        Self {
            servers: Arc::new(servers),
            manifest,
            options,
            mcp: McpServers::default(),
        }
    }

    /// Gives sessions these MCP servers, if the server is on this machine.
    #[must_use]
    pub fn serving(mut self, servers: McpServers) -> Self {
        self.mcp = servers;
        self
    }
}

impl AgentAdapter for ServerAdapter {
    fn id(&self) -> &str {
        &self.manifest.id
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // A server that others use as well may have been configured not to ask.
            asks: match &self.options.url {
                Some(_) => ToolKinds::NONE,
                None => self.manifest.capabilities.asks,
            },
            ..self.manifest.capabilities
        }
    }

    fn takes_model(&self, model: &str) -> Result<(), AgentError> {
        self.manifest.can_be_given(Some(model), None)
    }

    /// Contacts the named server; without one, looks for the program.
    fn check(&self, cwd: &Path) -> Result<(), AgentError> {
        let wrong = |source: ServerError| AgentError::Server {
            id: self.manifest.id.clone(),
            source: Box::new(source),
        };
        match &self.options.url {
            Some(url) => probe(url, &self.options, cwd).map_err(wrong),
            None => check::find(&self.manifest, cwd).map(|_| ()),
        }
    }

    fn can_ask_always(&self, _cwd: &Path) -> bool {
        self.capabilities().can_ask_always()
    }

    fn passes_mcp_servers(&self, _one_way: bool) -> bool {
        // A server on another machine has neither the run's socket nor the programs.
        let is_near = self.options.url.as_ref().is_none_or(ServerUrl::is_local);
        is_near && !self.mcp.is_empty() && self.manifest.mcp.is_there()
    }

    /// Must be called within a tokio runtime.
    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        if let Err(error) = self
            .manifest
            .can_be_given(request.model.as_deref(), request.agent.as_deref())
        {
            let (kind, text) = (ProblemKind::Usage, error.to_string());
            return UnstartedSession::report(Problem::said(kind, text), out);
        }
        let servers = self.mcp.for_run(&request.run);
        let prompt_options = prompt_options(&request);
        let transcript = Transcript::new(&request.cwd, request.size.cols);
        let (Ok(runtime), Ok(writer)) = (
            Handle::try_current(),
            SignalWriter::start(transcript, request.display, out.clone()),
        ) else {
            let problem = Problem::said(ProblemKind::Other, "cannot start a runtime or a thread for the session");
            return UnstartedSession::report(problem, out);
        };
        let (shared, steering, answers) = SharedSession::new();
        let (stop, stopped) = watch::channel(None);
        let job = SessionJob {
            servers: Arc::clone(&self.servers),
            options: self.options.clone(),
            spec: ServerSpec {
                run: request.run.0,
                cwd: request.cwd,
                env: request.env,
                asks: !request.asks.is_empty(),
                scratch: request.scratch,
                servers,
            },
            title: format!("ralph, iteration {}", request.iteration),
            prompt: request.prompt,
            prompt_options,
            model: request.model,
            resume: request.resume,
            writer,
            shared: Arc::clone(&shared),
            steering,
            answers,
            asks: !request.asks.is_empty(),
            subagent_tools: self.manifest.subagents.tools.clone(),
        };
        // The task ends with the session: dropping the handle stops it.
        runtime.spawn(run_session(job, stopped));
        Box::new(ServerSession::new(shared, stop))
    }

    fn close(&self) {
        self.servers.close();
    }
}

/// The prompt options of a request, which [`Manifest::can_be_given`] has checked.
fn prompt_options(request: &SessionRequest) -> PromptOptions {
    let model = request.model.as_deref().and_then(|model| model.split_once('/'));
    PromptOptions {
        model: model.map(|(provider, name)| (provider.to_owned(), name.to_owned())),
        agent: request.agent.clone(),
    }
}

/// Checks the health of the server at `url`, on a separate thread: the caller may or may not be in a runtime.
fn probe(url: &ServerUrl, options: &ServerOptions, cwd: &Path) -> Result<(), ServerError> {
    let broken = || ServerError::NotStarted {
        why: "no thread or runtime could be started".to_owned(),
    };
    let client = OpencodeClient::new(
        url.clone(),
        options.credentials.clone(),
        cwd.to_string_lossy().into_owned(),
        options.timeout,
        options.patience.silence,
    )?;
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|_| broken())?;
        runtime.block_on(client.greet(options.timeout)).map(drop)
    };
    thread::scope(|threads| threads.spawn(ask).join().unwrap_or_else(|_| Err(broken())))
}
