//! Reads the stored files of a run, running or over: differences, report, recordings.

use std::{io::Read, path::PathBuf};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::FromRequestParts,
    http::{
        HeaderValue,
        header::{CONTENT_TYPE, HeaderName},
        request::Parts,
    },
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use ralph_git::{DiffColour, DiffDetail, GitError};
use ralph_review::{DifferenceError, DifferenceRequest, ReportFormat, difference, written};
use ralph_state::{
    control::ClientRole,
    store::{journal::read_view, recording},
};
use ralph_text::with_causes;
use serde::Deserialize;

use super::{
    archive::{StoredRun, in_pieces, journal_problem},
    extract::{Path, Query},
    problem::{ApiProblem, HttpResult},
};

/// Width of the list of files, in columns.
const COLUMNS: u16 = 100;
/// Bytes read of a recording at a time.
const CHUNK_BYTES: u64 = 64 * 1024;
/// Header of a truncated difference, with the command that shows all of it.
pub(super) const TRUNCATED: HeaderName = HeaderName::from_static("ralph-truncated");

/// The routes of a past run. Requests need a [`StoredRun`] among their extensions.
pub(super) fn routes() -> Router {
    Router::new()
        .route("/diff/{n}", get(diff))
        .route("/report", get(report))
        .route("/recording/{n}", get(cast))
}

impl<S: Sync> FromRequestParts<S> for StoredRun {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        // The sandbox may hide the state directory from an agent, so the API does not show its content either.
        if parts.extensions.get() == Some(&ClientRole::Agent) {
            return Err(ApiProblem::forbidden(
                "an agent can see the state of its run, but not past runs",
            ));
        }
        let stored = parts.extensions.get().cloned();
        stored.ok_or_else(|| ApiProblem::not_found("there is no such run"))
    }
}

#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffQuery {
    /// Whether to list only the files, with line counts.
    #[serde(default)]
    stat: bool,
    /// Includes the changes of all iterations from this one on.
    since: Option<u32>,
}

pub(super) async fn diff(
    stored: StoredRun,
    Path(n): Path<u32>,
    Query(DiffQuery { stat, since }): Query<DiffQuery>,
) -> HttpResult<Response> {
    let detail = match stat {
        true => DiffDetail::Stat { columns: COLUMNS },
        false => DiffDetail::Patch,
    };
    let mut request = DifferenceRequest {
        only: Vec::new(),
        n: Some(n),
        since,
        detail,
        colour: DiffColour::No,
        include: stored.include().to_vec(),
        plan: PathBuf::new(),
    };
    let made = stored.read(move |paths, run, supervisor| {
        request.plan = read_view(paths, run).map_or_else(|_| PathBuf::new(), |view| view.settings.plan.clone());
        difference(paths, run, request, supervisor).map_err(|error| match error {
            DifferenceError::Git(GitError::NoCheckpoint { .. }) | DifferenceError::NoRepository(_) => {
                ApiProblem::not_found(with_causes(&error))
            }
            DifferenceError::Git(GitError::Later { .. }) => ApiProblem::bad_request(with_causes(&error)),
            DifferenceError::Git(_) | DifferenceError::Scratch(_) => ApiProblem::failed(with_causes(&error)),
        })
    });
    let (made, permit) = made.await?;
    let kind = if stat {
        "text/plain; charset=utf-8"
    } else {
        "text/x-diff"
    };
    let mut response = with_content_type(kind, in_pieces(made.bytes, permit));
    if let Some(whole) = made.whole.and_then(|whole| HeaderValue::from_str(&whole).ok()) {
        response.headers_mut().insert(TRUNCATED, whole);
    }
    Ok(response)
}

#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportQuery {
    /// For people, for a pull request, or for programs (the default).
    #[serde(default)]
    format: ReportQueryFormat,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ReportQueryFormat {
    Text,
    Markdown,
    #[default]
    Json,
}

pub(super) async fn report(
    stored: StoredRun,
    Query(ReportQuery { format }): Query<ReportQuery>,
) -> HttpResult<Response> {
    let (format, kind) = match format {
        ReportQueryFormat::Text => (ReportFormat::Text, "text/plain; charset=utf-8"),
        ReportQueryFormat::Markdown => (ReportFormat::Markdown, "text/markdown; charset=utf-8"),
        ReportQueryFormat::Json => (ReportFormat::Json, "application/json"),
    };
    let made = stored.read(move |paths, run, supervisor| {
        let report = ralph_review::report(paths, run, supervisor).map_err(|error| journal_problem(&error))?;
        Ok(written(&report, format).into_bytes())
    });
    let (made, permit) = made.await?;
    Ok(with_content_type(kind, in_pieces(made, permit)))
}

pub(super) async fn cast(stored: StoredRun, Path(n): Path<u32>) -> HttpResult<Response> {
    let path = stored.recording(n);
    let opened = stored.read(move |_, _, _| {
        recording::open(&path).map_err(|_| ApiProblem::not_found(format!("there is no recording of iteration {n}")))
    });
    let (file, _) = opened.await?;
    let chunks = stream::try_unfold((stored, file), |(stored, file)| async move {
        let (read, _) = stored
            .read(move |_, _, _| {
                let mut chunk = Vec::new();
                let read = (&file).take(CHUNK_BYTES).read_to_end(&mut chunk);
                read.map_err(|error| ApiProblem::failed(error.to_string()))?;
                Ok((chunk, file))
            })
            .await
            .map_err(|_| std::io::Error::other("the recording cannot be read"))?;
        let (chunk, file) = read;
        Ok::<_, std::io::Error>((!chunk.is_empty()).then(|| (Bytes::from(chunk), (stored, file))))
    });
    Ok(with_content_type("application/x-asciicast", Body::from_stream(chunks)))
}

fn with_content_type(kind: &'static str, body: Body) -> Response {
    ([(CONTENT_TYPE, kind)], body).into_response()
}
