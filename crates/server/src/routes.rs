//! The routes of a run, and who may use them.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use ralph_core::event::{Answer, SteeringKind, UserCommand};
use ralph_state::control::{RunStatus, ToolAnswer, ToolRequest, UserOnlyAction};
use serde::Deserialize;
use serde_json::Value;

use super::{
    answering::AnswerQuery,
    archive::StoredRun,
    background, events,
    extract::{Caller, Path, Query},
    files,
    json::Json,
    plan_file,
    problem::{ApiProblem, HttpResult, no_such_method},
    rows::routes,
    runs,
    served::{CommandResult, ServedRun, tagged},
    stream, terminal,
};

/// The content of `docs/openapi.json`, which is generated from the rows below.
const DOCUMENT: &str = include_str!("../openapi.json");

routes! { Arc<ServedRun>;
    /// The state of the run with the view of its records: what `ralph status --json` prints. The entity tag is the
    /// number of records; a request with it in `If-None-Match` is answered 304 while there are no more.
    get "/run" => json(RunStatus), run;
    /// The state of the run without `view`.
    get "/status" => json(RunStatus), status;
    /// The tasks of the plan as last read.
    get "/plan" => json(super::served::PlanStatus<'static>), plan;
    /// The tasks of the plan's file as they are now.
    get "/plan/file" => json(plan_file::PlanFile), plan_file::file;
    /// Changes the plan's file, for the user alone: adds, ticks or moves a task. Answers the tasks then. 409 if the task is
    /// no longer where the change says. Also works for the last run of a project after its end.
    post "/plan/file" body plan_file::PlanEdit, => json(plan_file::PlanFile), plan_file::edit;
    /// The events of the run, as server-sent events. The id of a record is its number (`seq`), so that a client that
    /// was cut off continues with `Last-Event-ID` or `after`, without loss or duplicates. Without a starting point, the
    /// first event is `snapshot`, the body of `/run`. A record has the type of its event as its name and the journal's
    /// line as its data. Further events: `detail`, `output` and `skipped` on request, `heartbeat` every ten seconds,
    /// and `over` with the exit code at the end.
    get "/events" query events::EventsQuery, => bytes("text/event-stream"), events::events;
    /// The run in frames, for ralph's own screens.
    get "/stream" query stream::StreamQuery, => bytes("application/octet-stream"), stream::stream;
    /// The terminal output of an iteration, as server-sent events, live or from its recording. An id is the number of
    /// bytes up to there.
    get "/terminal" query terminal::TerminalQuery, => bytes("text/event-stream"), terminal::current_terminal;
    /// Types bytes into the agent's terminal.
    post "/terminal/input" query stream::ScreenQuery, raw "application/octet-stream", => nothing, stream::input;
    /// Sets the size of the pane that shows the agent's terminal.
    post "/terminal/size" query stream::ScreenQuery, body stream::PaneSize, => nothing, stream::size;
    /// The open requests and questions of the agent, as in the view: what `ralph asks --json` prints.
    get "/asks" => json(Vec<ralph_core::run::OpenAsk<'static>>), asks;
    /// Answers a request or question of the agent, by its number. 409 if it is answered already; the problem names the
    /// first answer. Also works for the last run of a project after its end: `ralph continue` delivers the answer.
    post "/asks/{n}" in u32, query AnswerQuery, body Answer, => json(CommandResult), answer;
    /// Sends a command to the loop. 409 with the reason if the command does not apply now. Commands about comments also work
    /// for the last run of a project after its end.
    post "/commands" body UserCommand, => json(CommandResult), command;
    /// Sends the agent a message: the command `steer`.
    post "/prompt" body PromptRequest, => json(CommandResult), prompt;
    /// Ends the running iteration and begins the next one: the command `skip`.
    post "/cancel" => json(CommandResult), cancel;
    /// The background tasks of the run, in the order of their starts: what `ralph tasks --json` prints.
    get "/tasks" => json(Vec<background::BackgroundEntry>), background::list;
    /// Starts a background task, for the user or for an agent of the run. Only on the run's own socket: 403 over TCP.
    /// 409 with the reason if none can start now.
    post "/tasks" body background::StartBackground, => json(background::StartedBackground), background::start;
    /// The raw output of background task `n`, 1 MiB at most: from byte `from` on, or the end. `ralph-from` is the
    /// offset of the answer, which is later than requested if the middle of a long output is not kept; `ralph-end` is
    /// the current end of the output, and `ralph-over` says whether it is complete.
    get "/tasks/{n}/output" in u32, query background::OutputQuery, => bytes("application/octet-stream"), background::output;
    /// Ends background task `n`. 409 if it is over.
    post "/tasks/{n}/cancel" in u32, => json(CommandResult), background::cancel;
    /// Checks whether the client may do what only the user may: 403 for processes that the run itself started, with a
    /// notice to the user.
    post "/personal/{what}" in UserOnlyAction, => nothing, personal;
    /// Runs a tool of ralph for the agent, as `ralph mcp` requests it. The answer refuses tools of another run and
    /// calls that do not apply now.
    post "/tools" body ToolRequest, => json(ToolAnswer), tool;
    /// The changes of iteration `n`: what `ralph diff` prints.
    get "/diff/{n}" in u32, query files::DiffQuery, => bytes("text/x-diff", "text/plain"), files::diff;
    /// The report of the run, with the reason of its end: what `ralph report` prints.
    get "/report" query files::ReportQuery, => json_or_text(ralph_ui::report::RunReport; "text/plain", "text/markdown"), files::report;
    /// The terminal output of iteration `n`, as an asciicast.
    get "/recording/{n}" in u32, => bytes("application/x-asciicast"), files::cast;
    /// This document.
    get "/doc" => json(serde_json::Map<String, Value>), doc;
}

/// All routes of the current run, and of the earlier runs of its project.
pub(crate) fn router(served: Arc<ServedRun>, stored: StoredRun) -> Router {
    let archive = stored.archive().clone();
    let live = current_run_routes(Arc::clone(&served)).layer(Extension(stored));
    let runs = runs::routes(served, archive, live.clone());
    // Another layer has limited the bodies already.
    live.merge(runs).layer(DefaultBodyLimit::disable())
}

/// The routes of the current run.
fn current_run_routes(served: Arc<ServedRun>) -> Router {
    rows()
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .with_state(served)
}

async fn doc() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}

async fn run(Caller(served, role): Caller<ServedRun>, headers: HeaderMap) -> HttpResult<Response> {
    Ok(tagged(&headers, &served.whole_status(role).await?))
}

async fn plan(State(served): State<Arc<ServedRun>>) -> Json<Value> {
    Json(served.plan())
}

async fn status(Caller(served, role): Caller<ServedRun>) -> HttpResult<Json<Box<RunStatus>>> {
    Ok(Json(served.status(role).await?))
}

async fn asks(State(served): State<Arc<ServedRun>>) -> Json<Value> {
    Json(served.asks())
}

async fn answer(
    Caller(served, role): Caller<ServedRun>,
    Path(ask): Path<u32>,
    Query(AnswerQuery { at }): Query<AnswerQuery>,
    body: HttpResult<Json<Answer>>,
) -> HttpResult<Json<CommandResult>> {
    let Json(answer) = body?;
    Ok(Json(
        served.command(UserCommand::Answer { ask, answer, at }, role).await?,
    ))
}

async fn command(
    Caller(served, role): Caller<ServedRun>,
    body: HttpResult<Json<UserCommand>>,
) -> HttpResult<Json<CommandResult>> {
    let Json(command) = body?;
    Ok(Json(served.command(command, role).await?))
}

/// A message for the agent.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[schemars(rename = "Prompt")]
#[serde(deny_unknown_fields)]
struct PromptRequest {
    text: String,
    #[serde(default)]
    kind: SteeringKind,
}

async fn prompt(
    Caller(served, role): Caller<ServedRun>,
    body: HttpResult<Json<PromptRequest>>,
) -> HttpResult<Json<CommandResult>> {
    let Json(PromptRequest { text, kind }) = body?;
    Ok(Json(served.command(UserCommand::Steer { kind, text }, role).await?))
}

async fn cancel(Caller(served, role): Caller<ServedRun>) -> HttpResult<Json<CommandResult>> {
    Ok(Json(served.command(UserCommand::Skip, role).await?))
}

async fn personal(Caller(served, role): Caller<ServedRun>, Path(what): Path<UserOnlyAction>) -> HttpResult<StatusCode> {
    served.personal(what, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn tool(
    Caller(served, role): Caller<ServedRun>,
    body: HttpResult<Json<ToolRequest>>,
) -> HttpResult<Json<ToolAnswer>> {
    let Json(called) = body?;
    Ok(Json(served.tool(called, role).await?))
}

async fn no_such_route() -> ApiProblem {
    ApiProblem::not_found("no such route; GET /doc lists the routes")
}
