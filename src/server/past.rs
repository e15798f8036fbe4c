//! A run that no ralph serves: what its journal says, and what else is kept of it. It can be looked at and not be told
//! anything.

use std::convert::Infallible;

use axum::{
    Router,
    extract::{Query, rejection::QueryRejection},
    http::{HeaderMap, Method},
    response::{IntoResponse, Response, sse::Sse},
    routing::get,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;

use crate::{
    control::{Status, asks_json},
    driver::{read_view, status_of},
    run::RunView,
    store::journal::Reader,
};

use super::{
    archive::{Kept, of_journal},
    events::{Wanted, first_record, of_record, over, snapshot},
    files,
    json::Json,
    problem::{Answered, Problem},
    served::{plan_json, tagged},
    terminal,
};

/// Records that are read at a time.
const RECORDS: usize = 256;

/// The routes of a run that [`Kept`] is an extension of the request for.
pub(super) fn routes() -> Router {
    Router::new()
        .route("/run", get(run))
        .route("/status", get(status))
        .route("/plan", get(plan))
        .route("/asks", get(asks))
        .route("/events", get(events))
        .route("/terminal", get(terminal::of_past))
        .merge(files::routes())
        .fallback(nothing_to_do)
        .method_not_allowed_fallback(nothing_to_do)
}

async fn view(kept: &Kept) -> Answered<RunView> {
    let read = kept.read(|paths, run, _| read_view(paths, run).map_err(|error| of_journal(&error)));
    read.await.map(|(view, _)| view)
}

fn whole(view: RunView) -> Status {
    let mut status = status_of(&view, 0, None);
    status.view = Some(Box::new(view));
    status
}

async fn run(kept: Kept, headers: HeaderMap) -> Answered<Response> {
    Ok(tagged(&headers, &whole(view(&kept).await?)))
}

async fn status(kept: Kept) -> Answered<Json<Status>> {
    Ok(Json(status_of(&view(&kept).await?, 0, None)))
}

async fn plan(kept: Kept) -> Answered<Json<Value>> {
    Ok(Json(plan_json(&view(&kept).await?)))
}

async fn asks(kept: Kept) -> Answered<Json<Value>> {
    Ok(Json(asks_json(&view(&kept).await?)))
}

async fn events(kept: Kept, headers: HeaderMap, wanted: Result<Query<Wanted>, QueryRejection>) -> Answered<Response> {
    let Query(wanted) = wanted.map_err(|why| Problem::bad_request(why.body_text()))?;
    let view = view(&kept).await?;
    let (records, exit) = (view.records, view.stop_reason().map(|reason| reason.exit_code()));
    let state = snapshot(&whole(view))?;
    let (first, snapshot) = match first_record(&wanted, &headers, records)? {
        Some(first) => (first, None),
        None => (records, Some(state.clone())),
    };
    let end = wanted.last.then_some(state).into_iter().chain([over(exit)]);
    let reader = Reader::open(&kept.journal()).map_err(|error| of_journal(&error))?;
    let recorded = stream::unfold((kept, Some(reader)), move |(kept, reader)| async move {
        let mut reader = reader?;
        let read = kept.read(move |_, _, _| {
            let mut events = Vec::new();
            while events.len() < RECORDS
                && reader.next_seq() < records
                && let Ok(Some(record)) = reader.next_record()
            {
                events.extend((record.seq >= first).then(|| of_record(&record, wanted.words)));
            }
            // Its end, or where it cannot be read.
            let goes_on = events.len() == RECORDS;
            Ok((events, goes_on.then_some(reader)))
        });
        let ((events, reader), _) = read.await.ok()?;
        Some((stream::iter(events), (kept, reader)))
    });
    let events = stream::iter(snapshot)
        .chain(recorded.flatten())
        .chain(stream::iter(end));
    Ok(Sse::new(events.map(Ok::<_, Infallible>)).into_response())
}

async fn nothing_to_do(kept: Kept, method: Method) -> Problem {
    match method {
        Method::GET | Method::HEAD => {
            Problem::not_found("no such route of a run that is over; GET /doc lists those there are")
        }
        _ => Problem::conflict(format!(
            "no ralph works on run {}: it can only be looked at; `ralph` in its project resumes it or starts the next",
            kept.run()
        )),
    }
}
