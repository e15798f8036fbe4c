//! A session at work: what it was given to do, and what it knows of its turn.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::tz::TimeZone;
use ralph_core::event::{AgentSignal, SessionId};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use crate::{dialect::Clock, signal_writer::SignalWriter};

use super::{
    ServerOptions,
    asks::Asks,
    client::PromptOptions,
    handle::{Answers, Message, Shared},
    permission::Place,
    server::{Server, ServerSpec, Servers},
};

/// What a session is to do.
pub(super) struct Job {
    pub(super) servers: Arc<Servers>,
    pub(super) options: ServerOptions,
    pub(super) spec: ServerSpec,
    pub(super) title: String,
    pub(super) prompt: PathBuf,
    pub(super) prompt_options: PromptOptions,
    /// The model, as it was asked for.
    pub(super) model: Option<String>,
    pub(super) resume: Option<SessionId>,
    pub(super) writer: SignalWriter,
    pub(super) shared: Arc<Shared>,
    pub(super) steering: mpsc::Receiver<Message>,
    pub(super) answers: Answers,
    /// Every use of a tool asks first.
    pub(super) asks: bool,
}

/// A session at work.
pub(super) struct SessionTask {
    pub(super) job: Job,
    pub(super) server: Option<Server>,
    /// Names of the MCP servers that a server of the user's runs for this session.
    pub(super) handed: Vec<String>,
    pub(super) session: Option<String>,
    /// A prompt is on its way, and may arrive even if its answer is not waited for.
    pub(super) prompting: bool,
    /// Requests that nothing waits for; each ends with signals about it.
    pub(super) outbox: JoinSet<Vec<AgentSignal>>,
    /// Requests with questions that wait for answers, and how many questions each has.
    pub(super) questions: BTreeMap<String, usize>,
    /// Permissions that wait for an answer.
    pub(super) asks: Asks,
    /// What names in them refer to.
    pub(super) place: Place,
    pub(super) quiet_beats: u32,
    pub(super) looks: u32,
    pub(super) look_at: Option<Instant>,
    /// The stream was lost before.
    pub(super) lost: bool,
    /// How many messages the user will have, by and by.
    pub(super) prompts: usize,
    pub(super) zone: TimeZone,
}

impl SessionTask {
    pub(super) fn clock(&self) -> Clock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock {
            now_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            zone: self.zone.clone(),
            named: |name| TimeZone::get(name).ok(),
        }
    }

    pub(super) async fn note(&self, text: Option<String>) {
        self.say(text.map(|text| AgentSignal::Unknown { text }).into_iter().collect())
            .await;
    }

    pub(super) async fn say(&self, signals: Vec<AgentSignal>) {
        self.job.writer.write(signals).await;
    }
}
