//! Parts of requests for handlers. Unlike those of axum, they answer a wrong request with a problem of the API.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{self, FromRequestParts, rejection::ExtensionRejection},
    http::request::Parts,
};
use ralph_state::control::ClientRole;
use serde::de::DeserializeOwned;

use super::problem::{ApiProblem, HttpResult};

/// The parameters of the path.
pub(super) struct Path<T>(pub(super) T);

/// The query.
pub(super) struct Query<T>(pub(super) T);

/// The state of the routes, and the rights of the client.
pub(super) struct Caller<T>(pub(super) Arc<T>, pub(super) ClientRole);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        let extract::Path(value) = extract::Path::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        let extract::Query(value) = extract::Query::from_request_parts(parts, state).await?;
        Ok(Self(value))
    }
}

impl<T: Send + Sync> FromRequestParts<Arc<T>> for Caller<T> {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<T>) -> Result<Self, ExtensionRejection> {
        let Extension(role) = Extension::from_request_parts(parts, state).await?;
        Ok(Self(Arc::clone(state), role))
    }
}
