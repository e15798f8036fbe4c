//! Background tasks of the run: lists, output, start and cancellation.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderName, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use ralph_core::{
    event::RunId,
    run::{BackgroundState, BackgroundTask},
};
use ralph_state::{
    control::{OUTPUT_END, OUTPUT_FROM, OUTPUT_OVER},
    store::task_output::{self, OutputPiece},
};
use ralph_text::last_line;
use serde::Deserialize;

use ralph_system::{os::now_ms, paths::ProjectPaths};

use super::{
    archive::StoredRun,
    extract::{Caller, Path, Query},
    json::Json,
    problem::{ApiProblem, HttpResult},
    served::{CommandResult, ServedRun},
    socket::DirectRequest,
};

pub(super) use ralph_state::control::{BackgroundEntry, StartBackground, StartedBackground};

/// Bytes read to find the last line of an output.
const LAST_LINE_BYTES: u64 = 4 * 1024;
/// Maximum number of output bytes in one answer.
const PIECE_BYTES: u64 = 1 << 20;

/// The part of an output that a client requests.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputQuery {
    /// The offset to read from.
    #[serde(default)]
    from: u64,
    /// The number of bytes of the end to read, instead of `from`.
    last: Option<u64>,
}

pub(crate) async fn list(
    State(served): State<Arc<ServedRun>>,
    Extension(stored): Extension<StoredRun>,
) -> HttpResult<Json<Vec<BackgroundEntry>>> {
    let tasks = served.background();
    let entries = stored.read(move |paths, run, _| {
        let now_ms = now_ms();
        Ok(tasks.iter().map(|task| entry(paths, run, task, now_ms)).collect())
    });
    Ok(Json(entries.await?.0))
}

pub(crate) async fn start(
    Caller(served, role): Caller<ServedRun>,
    on_socket: Option<Extension<DirectRequest>>,
    body: HttpResult<Json<StartBackground>>,
) -> HttpResult<Json<StartedBackground>> {
    if on_socket.is_none() {
        return Err(ApiProblem::forbidden(
            "background tasks can only be started on the run's own socket: `ralph tasks start -- COMMAND…` in the project",
        ));
    }
    let Json(StartBackground { command }) = body?;
    let (number, text) = served.start_background(command, role).await?;
    Ok(Json(StartedBackground { number, text }))
}

pub(crate) async fn cancel(
    Caller(served, role): Caller<ServedRun>,
    Path(number): Path<u32>,
) -> HttpResult<Json<CommandResult>> {
    Ok(Json(served.cancel_background(number, role).await?))
}

pub(crate) async fn output(
    State(served): State<Arc<ServedRun>>,
    Extension(stored): Extension<StoredRun>,
    Path(number): Path<u32>,
    Query(OutputQuery { from, last }): Query<OutputQuery>,
) -> HttpResult<Response> {
    let unknown = || ApiProblem::not_found(format!("there is no background task {number}; GET /tasks lists them"));
    let mut tasks = served.background().into_iter();
    // The state is read before the output: if the task has ended by then, the output is complete.
    let task = tasks.find(|task| task.number == number).ok_or_else(unknown)?;
    let read = stored.read(move |paths, run, _| {
        let dir = paths.run(run).background(number);
        let from = match last {
            Some(last) => task_output::tail_start(&dir, last),
            None => Ok(from),
        };
        let piece = from.and_then(|from| task_output::read(&dir, from, PIECE_BYTES));
        piece.map_err(|error| ApiProblem::failed(error.to_string()))
    });
    let (OutputPiece { from, bytes, end }, _) = read.await?;
    let is_over = task.state() == BackgroundState::Ended && from + bytes.len() as u64 >= end;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (HeaderName::from_static(OUTPUT_FROM), from.to_string()),
        (HeaderName::from_static(OUTPUT_END), end.to_string()),
        (HeaderName::from_static(OUTPUT_OVER), is_over.to_string()),
    ];
    Ok((headers, bytes).into_response())
}

/// A task with the size and last line of its output, if that can be read.
fn entry(paths: &ProjectPaths, run: &RunId, task: &BackgroundTask, now_ms: u64) -> BackgroundEntry {
    let dir = paths.run(run).background(task.number);
    let piece = task_output::read_tail(&dir, LAST_LINE_BYTES).unwrap_or_default();
    BackgroundEntry::new(task, now_ms, piece.end, last_line(&piece.bytes))
}
