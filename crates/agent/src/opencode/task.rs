//! A running session: its job, and the state of its turn.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::tz::TimeZone;
use ralph_core::event::{AgentSignal, SessionId};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use crate::{dialect::ZonedClock, signal_writer::SignalWriter};

use super::{
    ServerOptions,
    asks::OpencodeAsks,
    client::PromptOptions,
    handle::{PermissionAnswers, SharedSession, SteeringMessage},
    permission::RequestContext,
    server::{ReadyServer, ServerProvider, ServerSpec},
};

/// The job of a session.
pub(super) struct SessionJob {
    pub(super) servers: Arc<ServerProvider>,
    pub(super) options: ServerOptions,
    pub(super) spec: ServerSpec,
    pub(super) title: String,
    pub(super) prompt: PathBuf,
    pub(super) prompt_options: PromptOptions,
    /// The model, as requested.
    pub(super) model: Option<String>,
    pub(super) resume: Option<SessionId>,
    pub(super) writer: SignalWriter,
    pub(super) shared: Arc<SharedSession>,
    pub(super) steering: mpsc::Receiver<SteeringMessage>,
    pub(super) answers: PermissionAnswers,
    /// Whether the agent asks before every tool use.
    pub(super) asks: bool,
    /// The tools that start subagents.
    pub(super) subagent_tools: Vec<String>,
}

/// A running session.
pub(super) struct SessionTask {
    pub(super) job: SessionJob,
    pub(super) server: Option<ReadyServer>,
    /// Names of the MCP servers that a user's server runs for this session.
    pub(super) connected_servers: Vec<String>,
    pub(super) session: Option<String>,
    /// A prompt is being sent, and may arrive even if the request is cancelled.
    pub(super) prompting: bool,
    /// Requests in the background; each ends with signals about its outcome.
    pub(super) outbox: JoinSet<Vec<AgentSignal>>,
    /// Pending requests with questions, and the number of questions in each.
    pub(super) questions: BTreeMap<String, usize>,
    /// Pending permission requests.
    pub(super) asks: OpencodeAsks,
    /// The context of names in permission requests.
    pub(super) context: RequestContext,
    /// Whether the agent asks before it starts a subagent although no rule concerns that.
    pub(super) counts_subagents: bool,
    pub(super) quiet_beats: u32,
    pub(super) looks: u32,
    pub(super) look_at: Option<Instant>,
    /// Whether the stream was lost before.
    pub(super) lost: bool,
    /// The number of user messages that the session will have once all have arrived.
    pub(super) prompts: usize,
    pub(super) zone: TimeZone,
}

impl SessionTask {
    pub(super) fn clock(&self) -> ZonedClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ZonedClock {
            now_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            zone: self.zone.clone(),
            named: |name| TimeZone::get(name).ok(),
        }
    }

    pub(super) async fn note(&self, text: Option<String>) {
        self.say(text.map(|text| AgentSignal::Noted { text }).into_iter().collect())
            .await;
    }

    pub(super) async fn say(&self, signals: Vec<AgentSignal>) {
        self.job.writer.write(signals).await;
    }
}
