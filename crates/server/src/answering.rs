//! Requests that answer an agent's question.

use axum::extract::{
    Path, Query,
    rejection::{PathRejection, QueryRejection},
};
use ralph_core::event::{Answer, AnswerPlace};
use serde::Deserialize;

use super::{
    json::Json,
    problem::{ApiProblem, HttpResult},
};

/// The query of an answer.
#[derive(Debug, Deserialize, crate::JsonSchema)]
pub(super) struct AnswerQuery {
    /// The place at which the user answers.
    #[serde(default = "over_http")]
    at: AnswerPlace,
}

/// Returns the number of the request, the answer, and where it was given.
pub(super) fn answer_of(
    ask: Result<Path<u32>, PathRejection>,
    answering: Result<Query<AnswerQuery>, QueryRejection>,
    body: HttpResult<Json<Answer>>,
) -> HttpResult<(u32, Answer, AnswerPlace)> {
    let Path(ask) = ask.map_err(|why| ApiProblem::new(why.status(), why.body_text()))?;
    let Query(AnswerQuery { at }) = answering.map_err(|why| ApiProblem::bad_request(why.body_text()))?;
    let Json(answer) = body?;
    Ok((ask, answer, at))
}

fn over_http() -> AnswerPlace {
    AnswerPlace::Api
}
