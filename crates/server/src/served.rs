//! Answers requests from the loop and from the records.

use std::{path::Path, sync::OnceLock, time::Duration};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use parking_lot::Mutex;
use ralph_core::{
    event::{BackgroundCommand, PlanTask, RunId, UserCommand},
    run::{BackgroundTask, RunView},
};
use ralph_driver::{
    LoopHandle,
    hub::{Hub, StreamMode, Subscription, TerminalOutput},
    whole_status,
};
use ralph_review::RunEntry;
use ralph_state::control::{
    ClientRole, ControlReply, ControlRequest, RunStatus, ToolAnswer, ToolRequest, UserOnlyAction,
    frames::{ScreenFacts, UiEvent},
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{net::UnixStream, time::timeout};

use super::{
    json::Json,
    problem::{ApiProblem, HttpResult},
    screens::RunScreens,
};

/// Determines the role of a peer.
pub type RoleLookup = Box<dyn Fn(&UnixStream) -> ClientRole + Send + Sync>;

/// Interval of heartbeats. A client that gets none for longer has lost the connection.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);

/// Maximum wait for a tool. Agents give up after a minute.
const TOOL_WAIT: Duration = Duration::from_secs(40);

/// The stage of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServerStage {
    Open,
    /// No connections are accepted any more; existing ones get the rest of the events.
    Closing,
}

/// The run that is served.
#[derive(Debug)]
pub(crate) struct ServedRun {
    run: RunId,
    handle: LoopHandle,
    hub: Hub,
    screens: RunScreens,
    /// The state folded from the records.
    fold: Mutex<RunFold>,
    /// The exit code of the run, once it is known.
    exit: OnceLock<u8>,
    /// The address at which it is served over TCP.
    listen: Option<String>,
}

/// The effect of a command.
#[derive(Debug, Serialize, crate::schema::JsonSchema)]
#[schemars(rename = "Done")]
pub(super) struct CommandResult {
    text: String,
    /// The first record of the effect; `None` if nothing changed.
    seq: Option<u64>,
}

impl CommandResult {
    /// Creates the answer for a change that has no record in a loop.
    pub(super) fn without_record(text: String) -> Self {
        Self { text, seq: None }
    }
}

/// The fold of the records. It is updated on request only, so that a run without clients costs nothing.
#[derive(Debug)]
pub(crate) struct RunFold {
    records: Subscription,
    view: RunView,
}

impl RunFold {
    pub(crate) fn from_hub(hub: &Hub) -> Self {
        Self {
            records: hub.follow(0, StreamMode::NoOutput),
            view: RunView::default(),
        }
    }

    fn catch_up(&mut self) {
        let view = &mut self.view;
        self.records.take_all(&mut |event| {
            if let UiEvent::Record(record) = event {
                view.apply(&record);
            }
        });
    }
}

impl ServedRun {
    pub(crate) fn new(run: RunId, handle: LoopHandle, hub: Hub, shown: ScreenFacts, listen: Option<String>) -> Self {
        Self {
            run,
            handle,
            screens: RunScreens::new(shown),
            fold: Mutex::new(RunFold::from_hub(&hub)),
            hub,
            exit: OnceLock::new(),
            listen,
        }
    }

    /// Follows the run from the record `first` on, with or without the output of its terminals.
    pub(crate) fn subscribe(&self, first: u64, output: bool) -> Subscription {
        self.hub.follow(
            first,
            if output {
                StreamMode::Latest
            } else {
                StreamMode::NoOutput
            },
        )
    }

    pub(crate) fn handle(&self) -> &LoopHandle {
        &self.handle
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn screens(&self) -> &RunScreens {
        &self.screens
    }

    /// The exit code of the run, once it is known.
    pub(crate) fn exit(&self) -> Option<u8> {
        self.exit.get().copied()
    }

    pub(crate) fn end_with(&self, exit: u8) {
        _ = self.exit.set(exit); // a run ends once
    }

    /// A copy of the state as recorded until now.
    fn view(&self) -> RunView {
        self.seen(RunView::clone)
    }

    /// The number of records until now.
    pub(crate) fn records(&self) -> u64 {
        self.seen(|view| view.records)
    }

    pub(crate) fn plan(&self) -> Value {
        self.seen(plan_json)
    }

    /// The open requests and questions.
    pub(crate) fn asks(&self) -> Value {
        self.seen(asks_json)
    }

    pub(crate) fn background(&self) -> Vec<BackgroundTask> {
        self.seen(|view| view.background.tasks.clone())
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// The entry of the run in a list of runs.
    pub(crate) fn entry(&self) -> RunEntry {
        self.seen(|view| RunEntry::from_view(&self.run, view, true))
    }

    /// Returns the number of the latest iteration, the number of the running one, and the number of records.
    pub(crate) fn at_work(&self) -> (u32, Option<u32>, u64) {
        self.seen(|view| {
            let runs = view.is_busy().then_some(view.iterations.number);
            (view.iterations.number, runs, view.records)
        })
    }

    /// The remaining output of the terminal of `iteration` from byte `from` on, with the records from `first` on.
    pub(crate) fn terminal(&self, iteration: u32, from: u64, first: u64) -> Option<TerminalOutput> {
        self.hub.terminal(iteration, from, first)
    }

    /// Reads from the state as recorded until now, without a copy.
    fn seen<T>(&self, look: impl FnOnce(&RunView) -> T) -> T {
        let mut fold = self.fold.lock();
        fold.catch_up();
        look(&fold.view)
    }

    /// Sends a request to the loop.
    async fn ask(&self, request: ControlRequest, role: ClientRole) -> HttpResult<ControlReply> {
        match self.handle.ask(request, role).await {
            ControlReply::Refused { why } => Err(ApiProblem::conflict(why)),
            ControlReply::Forbidden { why } => Err(ApiProblem::forbidden(why)),
            reply @ (ControlReply::Done { .. }
            | ControlReply::Started { .. }
            | ControlReply::Status { .. }
            | ControlReply::Tool { .. }) => Ok(reply),
        }
    }

    /// Asks the loop for the state of the run. Once the loop has ended, its last state stands.
    pub(crate) async fn status(&self, role: ClientRole) -> HttpResult<Box<RunStatus>> {
        let answered = self.ask(ControlRequest::Status, role).await;
        if self.handle.is_over() {
            return Ok(Box::new(self.last_status()));
        }
        let ControlReply::Status { mut status } = answered? else {
            return Err(misunderstood());
        };
        status.listen.clone_from(&self.listen);
        Ok(status)
    }

    /// The state of the run, with the whole view of the records.
    pub(crate) async fn whole_status(&self, role: ClientRole) -> HttpResult<RunStatus> {
        let RunStatus { pid, quiet, listen, .. } = *self.status(role).await?;
        Ok(RunStatus {
            listen,
            ..whole_status(self.view(), pid, quiet)
        })
    }

    /// As [`Self::whole_status`], but for a run whose loop has ended.
    pub(crate) fn last_status(&self) -> RunStatus {
        whole_status(self.view(), std::process::id(), None)
    }

    /// Sends a command of the user to the loop.
    pub(crate) async fn command(&self, command: UserCommand, role: ClientRole) -> HttpResult<CommandResult> {
        let ControlReply::Done { text, seq } = self.ask(ControlRequest::Command { command }, role).await? else {
            return Err(misunderstood());
        };
        Ok(CommandResult { text, seq })
    }

    /// Has the loop carry out a tool call of the agent. After [`TOOL_WAIT`], the answer is the progress so far.
    pub(crate) async fn tool(&self, called: ToolRequest, role: ClientRole) -> HttpResult<ToolAnswer> {
        let request = |waits| ControlRequest::Tool {
            called: called.clone(),
            waits,
        };
        let answered = match timeout(TOOL_WAIT, self.ask(request(true), role)).await {
            Ok(answered) => answered?,
            Err(_) => self.ask(request(false), role).await?,
        };
        let ControlReply::Tool { answer } = answered else {
            return Err(misunderstood());
        };
        Ok(answer)
    }

    /// Has the loop start a background task. Returns its number and a message.
    pub(crate) async fn start_background(&self, command: String, role: ClientRole) -> HttpResult<(u32, String)> {
        let request = ControlRequest::Background(BackgroundCommand::Start { command });
        let ControlReply::Started { number, text } = self.ask(request, role).await? else {
            return Err(misunderstood());
        };
        Ok((number, text))
    }

    /// Has the loop cancel a background task.
    pub(crate) async fn cancel_background(&self, number: u32, role: ClientRole) -> HttpResult<CommandResult> {
        let request = ControlRequest::Background(BackgroundCommand::Cancel { number });
        let ControlReply::Done { text, seq } = self.ask(request, role).await? else {
            return Err(misunderstood());
        };
        Ok(CommandResult { text, seq })
    }

    /// Asks the loop whether the user, and not an agent, is about to do something.
    pub(crate) async fn personal(&self, what: UserOnlyAction, role: ClientRole) -> HttpResult<()> {
        self.ask(ControlRequest::UserOnly(what), role).await.map(drop)
    }
}

/// The plan as it was last read.
#[derive(Debug, Serialize, crate::schema::JsonSchema)]
pub(super) struct PlanStatus<'v> {
    /// Its file, relative to the project.
    path: &'v Path,
    tasks: &'v [PlanTask],
    /// Tasks that agents removed from the plan of this run.
    missing: &'v [String],
}

/// The plan as it was last read.
pub(super) fn plan_json(view: &RunView) -> Value {
    json!(PlanStatus {
        path: &view.settings.plan,
        tasks: &view.plan.tasks,
        missing: &view.missing,
    })
}

/// The open requests and questions.
pub(super) fn asks_json(view: &RunView) -> Value {
    json!(view.open_asks())
}

/// The state with its entity tag, or 304 with the tag alone if the client has this state.
pub(super) fn tagged(headers: &HeaderMap, status: &RunStatus) -> Response {
    let records = status.view.as_ref().map_or(0, |view| view.records);
    // Changes without a record: the run, its process, and how long its agent has been silent.
    let quiet_ms = status.quiet.map_or(0, |quiet| quiet.since_ms);
    let tag = format!("\"{records}-{}-{}-{quiet_ms}\"", status.run, status.pid);
    let Ok(tag) = HeaderValue::from_str(&tag) else {
        return Json(status).into_response();
    };
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    ([(header::ETAG, tag)], Json(status)).into_response()
}

fn misunderstood() -> ApiProblem {
    ApiProblem::failed("unexpected answer of the loop")
}
