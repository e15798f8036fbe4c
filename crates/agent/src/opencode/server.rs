//! The server that all sessions of a run share: named by the user, or started under a guard.
//!
//! A server that ralph started ends at the latest with the run: in order by [`ServerProvider::close`], and by its guard
//! if ralph itself dies. A server named by the user is never stopped.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use ralph_system::proc::{Child, Launch, Size, StopSpeed, Supervisor};
use tokio::time::{Instant, sleep, timeout};
use tracing::info;

use crate::{
    check,
    invocation::{OF_ONE_SESSION, mcp_variables},
    manifest::Manifest,
    mcp::McpServer,
    template::{AdapterPlaceholder, AdapterTemplate},
};

use super::{
    Credentials, ServerError, ServerOptions, asking_rules, client::OpencodeClient, monitor::ProcessMonitor,
    server_url::ServerUrl,
};

/// The number of ports that are tried, from the first one on.
const PORTS: u16 = 64;
/// The pause between two polls of a starting server.
const READY_POLL: Duration = Duration::from_millis(100);
/// How long a server may take to end, beyond its grace period.
const CLOSING: Duration = Duration::from_secs(10);
/// How often a server that ralph started may answer like a foreign one before it counts as another version.
const FOREIGN: u32 = 20;
const ROWS_AND_COLUMNS: Size = Size { cols: 120, rows: 40 };

/// A server that responds.
#[derive(Debug, Clone)]
pub(super) struct ReadyServer {
    pub(super) client: OpencodeClient,
    /// The process, if ralph started it.
    pub(super) managed: Option<Arc<ManagedServer>>,
    /// A message for the user about the server.
    pub(super) notice: Option<String>,
}

/// A server's process, under its guard.
#[derive(Debug)]
pub(super) struct ManagedServer {
    pub(super) child: Child,
    pub(super) monitor: Arc<ProcessMonitor>,
    port: u16,
    credentials: Credentials,
    /// Whether it was told that sessions ask.
    asks: bool,
}

/// Called with the process again and again while it starts.
pub(super) type OnStarting<'a> = dyn Fn(&Arc<ManagedServer>) + Send + Sync + 'a;

/// A session's requirements for its server.
#[derive(Debug, Clone)]
pub(super) struct ServerSpec {
    pub(super) run: String,
    pub(super) cwd: PathBuf,
    pub(super) env: Vec<(String, String)>,
    /// Whether the sessions ask before every tool use.
    pub(super) asks: bool,
    pub(super) scratch: PathBuf,
    /// The MCP servers of the run.
    pub(super) servers: Vec<McpServer>,
}

/// Finds or starts the server of a run.
#[derive(Debug)]
pub(super) struct ServerProvider {
    manifest: Manifest,
    options: ServerOptions,
    supervisor: Supervisor,
    /// Only one session at a time looks for a server.
    looking: tokio::sync::Mutex<()>,
    /// The latest process that was started. It may not respond yet, or may have ended.
    started: Mutex<Option<Arc<ManagedServer>>>,
}

impl ServerProvider {
    pub(super) fn new(manifest: Manifest, options: ServerOptions, supervisor: Supervisor) -> Self {
        Self {
            manifest,
            options,
            supervisor,
            looking: tokio::sync::Mutex::new(()),
            started: Mutex::new(None),
        }
    }

    /// Returns a server that responds: the named one, the one started before, or a new one. It never uses a server that
    /// happens to listen: that one may belong to another user, and would be given the prompt.
    ///
    /// Calls `starting` with the process again and again until it responds. Cancel safe: a server that is starting
    /// keeps starting.
    pub(super) async fn ready(&self, spec: &ServerSpec, starting: &OnStarting<'_>) -> Result<ReadyServer, ServerError> {
        let _one_at_a_time = self.looking.lock().await;
        if let Some(url) = &self.options.url {
            let credentials = self.options.credentials.clone();
            let client = self.client(url.clone(), credentials, spec)?;
            return self.found(client).await;
        }
        let before = self.started();
        if let Some(managed) = before.filter(|managed| managed.monitor.end().is_none()) {
            if managed.asks == spec.asks {
                return self.started_at(managed, spec, starting, None).await;
            }
            // Sessions of subagents ask only if the server was told so when it started.
            managed.child.stop(StopSpeed::Graceful);
        }
        self.start(spec, starting).await
    }

    /// Ends the started server and waits for its end.
    pub(super) fn close(&self) {
        let managed = self.started.lock().take();
        if let Some(managed) = managed {
            managed.child.stop(StopSpeed::Graceful);
            if !managed.monitor.wait_for_end(self.manifest.stop.grace + CLOSING) {
                managed.child.stop(StopSpeed::Immediate);
                managed.monitor.wait_for_end(CLOSING); // afterwards its guard continues alone
            }
        }
    }

    fn client(
        &self,
        url: ServerUrl,
        credentials: Option<Credentials>,
        spec: &ServerSpec,
    ) -> Result<OpencodeClient, ServerError> {
        let directory = spec.cwd.to_string_lossy().into_owned();
        let patience = &self.options.patience;
        OpencodeClient::new(url, credentials, directory, self.options.timeout, patience.silence)
    }

    async fn found(&self, client: OpencodeClient) -> Result<ReadyServer, ServerError> {
        let health = client.greet(self.options.timeout).await?;
        let version = health.version.unwrap_or_else(|| "unknown".to_owned());
        let tested = self.manifest.verified.as_ref().filter(|verified| **verified != version);
        let tested = tested
            .map(|tested| format!(" (tested with {tested})"))
            .unwrap_or_default();
        Ok(ReadyServer {
            notice: Some(format!("attached to {}, opencode {version}{tested}", client.url())),
            client,
            managed: None,
        })
    }

    /// Starts a server on the first free port.
    async fn start(&self, spec: &ServerSpec, starting: &OnStarting<'_>) -> Result<ReadyServer, ServerError> {
        let first = self.options.port;
        for port in (first..=u16::MAX)
            .take(usize::from(PORTS))
            .filter(|port| is_free(*port))
        {
            let managed = self.spawn(port, spec)?;
            *self.started.lock() = Some(Arc::clone(&managed));
            let notice = (port != first).then(|| format!("port {first} is taken: the server of this run has {port}"));
            match self.started_at(managed, spec, starting, notice).await {
                // Another process took the port: for example another ralph, which searches for a port in the same way.
                Err(ServerError::NotStarted { .. }) if !is_free(port) => {}
                result => return result,
            }
        }
        Err(ServerError::NotStarted {
            why: format!("no port is free from {first} on"),
        })
    }

    fn spawn(&self, port: u16, spec: &ServerSpec) -> Result<Arc<ManagedServer>, ServerError> {
        info!(port, "starting a server");
        let failed = |why: String| ServerError::NotStarted { why };
        let command = &self.manifest.command;
        let program = check::find(&self.manifest, &spec.cwd).map_err(|error| failed(error.to_string()))?;
        // A password keeps other users of this machine out.
        let credentials = match &self.options.credentials {
            Some(credentials) => credentials.clone(),
            None => Credentials::made_up().map_err(|error| failed(format!("no password could be made up: {error}")))?,
        };
        let mut env: Vec<(String, String)> = command
            .env
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), filled(value, port)?)))
            .collect();
        let of_run = |(name, _): &&(String, String)| !OF_ONE_SESSION.contains(&name.as_str());
        env.extend(spec.env.iter().filter(of_run).cloned());
        if !spec.servers.is_empty() {
            let servers = self.manifest.mcp.form.written(&spec.servers);
            env.extend(mcp_variables(&self.manifest, &servers, &env));
        }
        let inherited = |name: &str| {
            let set = env
                .iter()
                .rfind(|(known, _)| known == name)
                .map(|(_, value)| value.clone());
            set.or_else(|| std::env::var(name).ok())
        };
        let asking = asking_rules::variables(spec.asks, inherited);
        env.extend(asking);
        env.push((Credentials::USERNAME_VAR.to_owned(), credentials.username.clone()));
        env.push((Credentials::PASSWORD_VAR.to_owned(), credentials.password.clone()));
        let monitor = Arc::new(ProcessMonitor::default());
        let launch = Launch {
            args: command
                .args
                .iter()
                .filter_map(|arg| Some(filled(arg, port)?.into()))
                .collect(),
            env,
            env_remove: [&command.env_remove[..], &OF_ONE_SESSION.map(str::to_owned)].concat(),
            size: ROWS_AND_COLUMNS,
            ladder: self.manifest.stop,
            unpacks_to: command.unpacks_to.clone(),
            ..Launch::new(program, &spec.cwd, self.manifest.stop.grace, &spec.run, &spec.scratch)
        };
        let child = self
            .supervisor
            .spawn(launch, monitor.output())
            .map_err(|error| failed(ralph_text::with_causes(&error)))?;
        Ok(Arc::new(ManagedServer {
            child,
            monitor,
            port,
            credentials,
            asks: spec.asks,
        }))
    }

    /// Waits until a started server responds or ends.
    async fn started_at(
        &self,
        managed: Arc<ManagedServer>,
        spec: &ServerSpec,
        starting: &OnStarting<'_>,
        notice: Option<String>,
    ) -> Result<ReadyServer, ServerError> {
        let url = ServerUrl::local(managed.port);
        let client = self.client(url, Some(managed.credentials.clone()), spec)?;
        let deadline = Instant::now() + self.options.patience.start;
        let mut foreign = 0;
        loop {
            // The server accepts connections some time before it responds.
            let mut health = pin!(client.greet(self.options.timeout));
            let mut answer = None;
            while answer.is_none() && managed.monitor.end().is_none() && Instant::now() < deadline {
                starting(&managed);
                answer = timeout(READY_POLL, &mut health).await.ok();
            }
            match answer {
                Some(Ok(_)) => {
                    return Ok(ReadyServer {
                        client: client.clone(),
                        managed: Some(managed),
                        notice,
                    });
                }
                Some(Err(error @ ServerError::TooNew { .. })) => {
                    managed.child.stop(StopSpeed::Graceful);
                    return Err(error);
                }
                Some(Err(error @ ServerError::Foreign { .. })) => {
                    foreign += 1;
                    if foreign == FOREIGN {
                        managed.child.stop(StopSpeed::Graceful);
                        return Err(error);
                    }
                }
                Some(Err(_)) | None => {}
            }
            if let Some(why) = managed.monitor.end() {
                return Err(ServerError::NotStarted { why });
            }
            if Instant::now() >= deadline {
                managed.child.stop(StopSpeed::Graceful);
                return Err(ServerError::NotReady {
                    seconds: self.options.patience.start.as_secs(),
                    tail: managed.monitor.last_words(),
                });
            }
            starting(&managed);
            sleep(READY_POLL).await;
        }
    }

    fn started(&self) -> Option<Arc<ManagedServer>> {
        self.started.lock().clone()
    }
}

impl Drop for ServerProvider {
    fn drop(&mut self) {
        if let Some(managed) = self.started() {
            managed.child.stop(StopSpeed::Graceful);
        }
    }
}

fn filled(template: &AdapterTemplate, port: u16) -> Option<String> {
    template.fill(|placeholder| match placeholder {
        AdapterPlaceholder::Port => Some(port.to_string()),
        AdapterPlaceholder::Ralph => check::own_executable(),
        _ => None,
    })
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
