//! What can be asked, and by whom.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{
        DefaultBodyLimit, Path, Query, State,
        rejection::{JsonRejection, PathRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    control::{Personal, Role, Status, asks_json},
    event::{Answer, AnswerPlace, SteeringKind, UserCommand},
};

use super::{
    events,
    problem::{Answered, Problem},
    served::{Done, Served},
    stream,
};

/// All routes of one run.
pub(super) fn router(served: Arc<Served>) -> Router {
    Router::new()
        .route("/run", get(run))
        .route("/status", get(status))
        .route("/events", get(events::events))
        .route("/stream", get(stream::stream))
        .route("/terminal/input", post(stream::input))
        .route("/terminal/size", post(stream::size))
        .route("/asks", get(asks))
        .route("/asks/{id}", post(answer))
        .route("/commands", post(command))
        .route("/prompt", post(prompt))
        .route("/cancel", post(cancel))
        .route("/personal/{what}", post(personal))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        // Bodies are bounded before they come here.
        .layer(DefaultBodyLimit::disable())
        .with_state(served)
}

async fn run(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
) -> Answered<Response> {
    let status = served.whole_status(role).await?;
    let records = status.view.as_ref().map_or(0, |view| view.records);
    let tag = HeaderValue::from_str(&format!("\"{records}\"")).expect("digits");
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    Ok(([(header::ETAG, tag)], Json(status)).into_response())
}

async fn status(State(served): State<Arc<Served>>, Extension(role): Extension<Role>) -> Answered<Json<Box<Status>>> {
    Ok(Json(served.status(role).await?))
}

async fn asks(State(served): State<Arc<Served>>) -> Json<Value> {
    Json(asks_json(&served.view()))
}

/// Where an answer is given.
#[derive(Debug, Deserialize)]
struct Answering {
    #[serde(default = "over_http")]
    at: AnswerPlace,
}

fn over_http() -> AnswerPlace {
    AnswerPlace::Api
}

async fn answer(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    ask: Result<Path<u32>, PathRejection>,
    answering: Result<Query<Answering>, QueryRejection>,
    body: Result<Json<Answer>, JsonRejection>,
) -> Answered<Json<Done>> {
    let Path(ask) = ask.map_err(|why| Problem::new(why.status(), why.body_text()))?;
    let Query(Answering { at }) = answering.map_err(|why| Problem::bad_request(why.body_text()))?;
    let Json(answer) = body.map_err(of_body)?;
    Ok(Json(
        served.command(UserCommand::Answer { ask, answer, at }, role).await?,
    ))
}

async fn command(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    body: Result<Json<UserCommand>, JsonRejection>,
) -> Answered<Json<Done>> {
    let Json(command) = body.map_err(of_body)?;
    Ok(Json(served.command(command, role).await?))
}

/// A message for the agent.
#[derive(Debug, Deserialize)]
struct Prompt {
    text: String,
    #[serde(default)]
    kind: SteeringKind,
}

async fn prompt(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    body: Result<Json<Prompt>, JsonRejection>,
) -> Answered<Json<Done>> {
    let Json(Prompt { text, kind }) = body.map_err(of_body)?;
    Ok(Json(served.command(UserCommand::Steer { kind, text }, role).await?))
}

async fn cancel(State(served): State<Arc<Served>>, Extension(role): Extension<Role>) -> Answered<Json<Done>> {
    Ok(Json(served.command(UserCommand::Skip, role).await?))
}

async fn personal(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    what: Result<Path<Personal>, PathRejection>,
) -> Answered<StatusCode> {
    let Path(what) = what.map_err(|why| Problem::new(why.status(), why.body_text()))?;
    served.personal(what, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn no_such_route() -> Problem {
    Problem::not_found("no such route; GET /doc lists those there are")
}

async fn no_such_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no such method on this route; GET /doc lists those there are",
    )
}

fn of_body(why: JsonRejection) -> Problem {
    Problem::new(why.status(), why.body_text())
}
