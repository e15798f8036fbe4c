//! What can be asked, and by whom.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{
        DefaultBodyLimit, Path, Query, State,
        rejection::{JsonRejection, PathRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    control::{Personal, Role, Status, asks_json},
    event::{Answer, AnswerPlace, SteeringKind, UserCommand},
};

use super::{
    archive::Kept,
    events, files,
    problem::{Answered, Problem},
    runs,
    served::{Done, Served, tagged},
    stream, terminal,
};

/// All routes of one run, and of those before it.
pub(super) fn router(served: Arc<Served>, kept: Kept) -> Router {
    let archive = kept.archive().clone();
    let live = of_run(Arc::clone(&served))
        .merge(files::routes())
        .layer(Extension(kept));
    let runs = runs::routes(served, archive, live.clone());
    // Bodies are bounded before they come here.
    live.merge(runs).layer(DefaultBodyLimit::disable())
}

/// The routes of the run that goes on.
fn of_run(served: Arc<Served>) -> Router {
    Router::new()
        .route("/run", get(run))
        .route("/status", get(status))
        .route("/plan", get(plan))
        .route("/events", get(events::events))
        .route("/stream", get(stream::stream))
        .route("/terminal/input", post(stream::input))
        .route("/terminal/size", post(stream::size))
        .route("/terminal", get(terminal::of_run))
        .route("/asks", get(asks))
        .route("/asks/{id}", post(answer))
        .route("/commands", post(command))
        .route("/prompt", post(prompt))
        .route("/cancel", post(cancel))
        .route("/personal/{what}", post(personal))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .with_state(served)
}

async fn run(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
) -> Answered<Response> {
    Ok(tagged(&headers, &served.whole_status(role).await?))
}

async fn plan(State(served): State<Arc<Served>>) -> Json<Value> {
    Json(served.plan())
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
