//! Runs one session on a server: opens it, prompts it, follows it to its end, or aborts it.
//!
//! Neither the end of the stream nor a single event proves that a turn is over: the server is asked for that, and the
//! outcome is in the session's messages.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use jiff::tz::TimeZone;
use ralph_core::event::{AgentSignal, Problem, ProblemKind, SessionId};
use ralph_system::proc::StopSpeed;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{dialect::one_line, mcp::OWN_NAME};

use super::{
    ServerError,
    asking_rules::{asking_rules, counting_rules},
    asks::OpencodeAsks,
    client::OpencodeClient,
    event_loop::{StepFailure, connect},
    permission::RequestContext,
    problem::problem_from_server,
    server::ManagedServer,
    server_url::ServerUrl,
    task::{SessionJob, SessionTask},
    turn::ServerTurn,
    verdict::TurnVerdict,
    wire::SessionStatus,
};

/// The pause between two polls of an aborted session.
const ABORT_POLL: Duration = Duration::from_millis(50);
/// How long a server may take to abort a session that has to end at once.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long a server may take to start an MCP server.
const MCP_START: Duration = Duration::from_secs(30);
/// The time after which a prompt that was being sent when the session was stopped has arrived.
const PROMPT_UNDER_WAY: Duration = Duration::from_millis(500);

/// Runs a session to its end. A value on `stop` stops it.
pub(super) async fn run_session(job: SessionJob, mut stop: watch::Receiver<Option<StopSpeed>>) {
    let mut task = SessionTask {
        job,
        server: None,
        connected_servers: Vec::new(),
        session: None,
        prompting: false,
        outbox: JoinSet::new(),
        questions: BTreeMap::new(),
        asks: OpencodeAsks::default(),
        context: RequestContext::default(),
        counts_subagents: false,
        quiet_beats: 0,
        looks: 0,
        look_at: None,
        lost: false,
        prompts: 0,
        zone: TimeZone::system(),
    };
    let result = tokio::select! {
        biased;
        _ = stop.wait_for(Option::is_some) => None,
        result = task.work() => Some(result),
    };
    task.job.shared.close_steering();
    let client = task.server.as_ref().map(|server| server.client.clone());
    let (ok, message) = match result {
        Some(Ok(verdict)) => task.judge(verdict, &mut stop).await,
        Some(Err(problem)) => {
            task.say(vec![AgentSignal::Problem { problem }]).await;
            task.abandon(&mut stop).await;
            (false, None)
        }
        None => {
            let ended = task.job.shared.end_by_ralph();
            let ended = ended.map(|problem| AgentSignal::Problem { problem });
            task.say(ended.into_iter().collect()).await;
            task.abandon(&mut stop).await;
            (false, None)
        }
    };
    task.disconnect_mcp_servers(client).await;
    let output_bytes = task.job.shared.output_bytes();
    task.job.shared.finish();
    let last = [
        AgentSignal::TurnEnded { ok, message },
        AgentSignal::Ended {
            exit: None,
            output_bytes,
        },
    ];
    task.say(last.into()).await;
}

impl SessionTask {
    async fn work(&mut self) -> Result<TurnVerdict, Problem> {
        let prompt = read_prompt(self.job.prompt.clone()).await?;
        // A server that starts counts as working, not as idle.
        let starts = |managed: &Arc<ManagedServer>| self.job.shared.starts(managed);
        let server = self.job.servers.ready(&self.job.spec, &starts).await;
        let server = server.map_err(|error| problem_from_server(&error))?;
        self.note(server.notice.clone()).await;
        self.server = Some(server.clone());
        let client = server.client;
        self.connect_mcp_servers(&client).await;
        let (session, baseline) = self.open(&client).await?;
        self.context = request_context(&client).await;
        if self.job.asks {
            self.apply_rules(&client, &session).await?;
        } else if server.managed.is_some() {
            self.count_subagents(&client, &session).await;
        }
        self.session = Some(session.clone());
        // Opened before the prompt is sent, so that no event is missed.
        let mut feed = connect(&client).await.map_err(|error| problem_from_server(&error))?;
        let mut turn = ServerTurn::new(&session, baseline);
        self.say(vec![AgentSignal::Opened {
            session: Some(SessionId(session.clone())),
            model: self.job.model.clone(),
        }])
        .await;
        self.prompting = true;
        self.prompts = 1;
        let prompted = client.prompt(&session, &prompt, &self.job.prompt_options).await;
        prompted.map_err(|error| problem_from_server(&error))?;
        self.prompting = false;
        self.job.shared.open_steering();
        loop {
            let over = match self.step(&client, &mut feed, &mut turn).await {
                Ok(over) => over,
                Err(StepFailure::Stream(why)) => {
                    let over;
                    (feed, over) = self.reconnect(&client, &mut turn, why).await?;
                    over
                }
                Err(StepFailure::Turn(problem)) => return Err(problem),
            };
            if over && self.is_done(&client, &turn) {
                let mut signals = Vec::new();
                turn.finish(&mut signals);
                self.say(signals).await;
                return Ok(turn.verdict());
            }
        }
    }

    /// Makes a server that the user named run the session's MCP servers, if it is on this machine. A server that
    /// already runs under the same name belongs to the user and is kept, except for ralph's own.
    async fn connect_mcp_servers(&mut self, client: &OpencodeClient) {
        let is_near = self.job.options.url.as_ref().is_some_and(ServerUrl::is_local);
        if !is_near || self.job.spec.servers.is_empty() {
            return;
        }
        let running = client.connected_mcp_servers().await.unwrap_or_default();
        for server in self.job.spec.servers.clone() {
            if server.name != OWN_NAME && running.contains(&server.name) {
                continue;
            }
            match timeout(MCP_START, client.connect_mcp_server(&server)).await {
                Ok(Ok(())) => self.connected_servers.push(server.name),
                Ok(Err(error)) => {
                    let text = format!("the MCP server `{}` could not be handed over: {error}", server.name);
                    self.note(Some(text)).await;
                }
                Err(_) => {
                    let text = format!("the MCP server `{}` does not begin", server.name);
                    self.connected_servers.push(server.name);
                    self.note(Some(text)).await;
                }
            }
        }
    }

    /// Ends the MCP servers that this session started.
    async fn disconnect_mcp_servers(&mut self, client: Option<OpencodeClient>) {
        let Some(client) = client else { return };
        for name in std::mem::take(&mut self.connected_servers) {
            _ = timeout(AT_ONCE, client.disconnect_mcp_server(&name)).await; // it may have ended already
        }
    }

    /// The session to work in, and its newest message.
    async fn open(&self, client: &OpencodeClient) -> Result<(String, Option<String>), Problem> {
        let failed = |error: ServerError| problem_from_server(&error);
        let Some(SessionId(id)) = &self.job.resume else {
            let session = client.create_session(&self.job.title).await.map_err(failed)?;
            return Ok((session.id, None));
        };
        let Some(session) = client.session(id).await.map_err(failed)? else {
            return Err(Problem::said(
                ProblemKind::SessionLost,
                format!("the server knows no session {}", one_line(id)),
            ));
        };
        let newest = client.messages(&session.id, 1).await.map_err(failed)?;
        Ok((session.id, newest.last().map(|message| message.info.id.clone())))
    }

    /// Adds rules to the session that make it ask before every tool use.
    async fn apply_rules(&self, client: &OpencodeClient, session: &str) -> Result<(), Problem> {
        let failed = |error: ServerError| problem_from_server(&error);
        let agents = client.agents().await.map_err(failed)?;
        let (rules, excluded) = asking_rules(&agents, self.job.prompt_options.agent.as_deref());
        let updated = client.set_rules(session, &rules).await.map_err(failed)?;
        if !updated.permission.ends_with(&rules) {
            let text = "this version of opencode does not support rules for a session";
            return Err(Problem::said(ProblemKind::Usage, text));
        }
        if !excluded.is_empty() {
            let text = format!(
                "disabled subagents whose settings allow tools without asking: {}",
                excluded.join(", ")
            );
            self.note(Some(text)).await;
        }
        Ok(())
    }

    /// Has the session ask before it starts a subagent. Where that is not possible, they are counted once they run.
    async fn count_subagents(&mut self, client: &OpencodeClient, session: &str) {
        let Ok(agents) = client.agents().await else { return };
        let chosen = self.job.prompt_options.agent.as_deref();
        let rules = counting_rules(&agents, chosen, &self.job.subagent_tools);
        if !rules.is_empty() {
            self.counts_subagents = client.set_rules(session, &rules).await.is_ok();
        }
    }

    /// Reports the verdict. A failed turn is aborted, since it may only seem to be over.
    async fn judge(
        &mut self,
        verdict: TurnVerdict,
        stop: &mut watch::Receiver<Option<StopSpeed>>,
    ) -> (bool, Option<String>) {
        let problem = verdict.problem.map(|problem| AgentSignal::Problem { problem });
        self.say(problem.into_iter().collect()).await;
        if !verdict.ok {
            self.abandon(stop).await;
        }
        (verdict.ok, verdict.message)
    }

    /// Aborts the session on the server, with a time limit that is shorter if an immediate stop is requested meanwhile.
    async fn abandon(&mut self, stop: &mut watch::Receiver<Option<StopSpeed>>) {
        self.outbox.shutdown().await;
        let Some(server) = self.server.take() else { return };
        // Without a session there is nothing to abort.
        let Some(session) = &self.session else { return };
        let hurry = async {
            // The handle was dropped, or asks for an immediate stop.
            _ = stop.wait_for(|stop| *stop == Some(StopSpeed::Immediate)).await;
            match server.managed {
                Some(_) => {}
                None => sleep(AT_ONCE).await,
            }
        };
        let aborted = tokio::select! {
            biased;
            () = hurry => false,
            aborted = self.abort(&server.client, session) => aborted,
        };
        // A server of our own that does not abort is ended, with everything that runs in it.
        if let (false, Some(managed)) = (aborted, &server.managed) {
            managed.child.stop(StopSpeed::Immediate);
            managed.monitor.ended().await;
        }
    }

    /// Aborts the session and waits until it is idle. Returns whether it became idle in time.
    async fn abort(&self, client: &OpencodeClient, session: &str) -> bool {
        let patience = self.job.options.patience.abort;
        let idle = async {
            if self.prompting {
                sleep(PROMPT_UNDER_WAY).await;
            }
            client.abort(session, patience).await?;
            loop {
                match client.statuses().await?.get(session) {
                    None | Some(SessionStatus::Idle) => return Ok::<(), ServerError>(()),
                    Some(_) => sleep(ABORT_POLL).await,
                }
            }
        };
        matches!(timeout(patience, idle).await, Ok(Ok(())))
    }
}

/// The server's worktree and MCP servers, with defaults if the server does not report them.
async fn request_context(client: &OpencodeClient) -> RequestContext {
    let worktree = client.paths().await.map(|paths| paths.worktree);
    RequestContext {
        worktree: worktree.unwrap_or_else(|_| client.directory().to_owned()),
        mcp_servers: client.mcp_servers().await.unwrap_or_default(),
    }
}

async fn read_prompt(path: PathBuf) -> Result<String, Problem> {
    let shown = path.display().to_string();
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
    let why = match read {
        Ok(Ok(prompt)) => return Ok(prompt),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the reader broke down".to_owned(),
    };
    Err(Problem::said(
        ProblemKind::Other,
        format!("{shown}: the prompt cannot be read: {why}"),
    ))
}
