//! JSON in requests and answers.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};

use super::problem::ApiProblem;

/// As axum's `Json`, but serialised like everything else in ralph, so that a type's serialiser is compiled only once.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        let (parts, body) = request.into_parts();
        let body = Bytes::from_request(Request::new(body), state)
            .await
            .map_err(|why| ApiProblem::new(why.status(), why.body_text()))?;
        // Structures are also read from arrays by serde, with their fields in order. The document describes objects.
        if body.trim_ascii_start().first() == Some(&b'[') {
            return Err(ApiProblem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "the body must be a JSON object, as GET /doc describes it",
            ));
        }
        let request = Request::from_parts(parts, body.into());
        let axum::Json(value) = axum::Json::from_request(request, state).await?;
        Ok(Self(value))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
            Err(why) => (StatusCode::INTERNAL_SERVER_ERROR, why.to_string()).into_response(),
        }
    }
}
