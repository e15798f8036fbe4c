//! Errors as `application/problem+json` (RFC 9457).

use axum::{
    extract::rejection::{JsonRejection, PathRejection, QueryRejection},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The result of a request.
pub(super) type HttpResult<T> = Result<T, ApiProblem>;

/// The reason why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiProblem {
    status: StatusCode,
    detail: String,
}

#[derive(Serialize, crate::schema::JsonSchema)]
#[schemars(rename = "Refusal")]
pub(super) struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl ApiProblem {
    /// The request is malformed.
    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The caller lacks the right.
    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// The request is not possible in the current state.
    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// An internal error.
    pub(super) fn failed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
        }
    }
}

/// The answer to a method that a route does not have.
pub(super) async fn no_such_method() -> ApiProblem {
    ApiProblem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no such method on this route; GET /doc lists the methods",
    )
}

impl From<PathRejection> for ApiProblem {
    fn from(why: PathRejection) -> Self {
        Self::new(why.status(), why.body_text())
    }
}

impl From<QueryRejection> for ApiProblem {
    fn from(why: QueryRejection) -> Self {
        Self::bad_request(why.body_text())
    }
}

impl From<JsonRejection> for ApiProblem {
    fn from(why: JsonRejection) -> Self {
        Self::new(why.status(), why.body_text())
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let body = Body {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or_default(),
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        let text = serde_json::to_vec(&body).expect("texts and a number have no failing serialisers");
        (self.status, [(CONTENT_TYPE, "application/problem+json")], text).into_response()
    }
}
