//! Errors as `application/problem+json` (RFC 9457).

use axum::{
    extract::rejection::JsonRejection,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::json::Json;

/// The result of a request.
pub(super) type HttpResult<T> = Result<T, ApiProblem>;

/// The reason why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiProblem {
    status: StatusCode,
    detail: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Refusal"))]
pub(super) struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl ApiProblem {
    /// The body of the request does not fit the route.
    pub(super) fn invalid_body(why: &JsonRejection) -> Self {
        Self::new(why.status(), why.body_text())
    }

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

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let body = Body {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or_default(),
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        let mut response = (self.status, Json(body)).into_response();
        let kind = "application/problem+json".parse().expect("a constant");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}
