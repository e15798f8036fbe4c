//! The runs of a project under their names: the current one with all its routes, and the past ones.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
    routing::any,
};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ralph_review::RunEntry;
use ralph_state::control::ClientRole;
use serde::Deserialize;

use super::{
    archive::{Archive, StoredRun},
    extract::{Caller, Path, Query},
    json::Json,
    problem::{ApiProblem, HttpResult, no_such_method},
    rows::routes,
    served::ServedRun,
    socket::DirectRequest,
};

/// The common prefix of the addresses of runs.
pub(super) const RUNS: &str = "/runs/";

routes! { Arc<Runs>;
    /// The runs of this project, the latest first; in `ralph web`, the live or else the latest run of each project, or
    /// all runs of one.
    get "/runs" query RunsQuery, => json(Vec<RunEntry>), list;
    /// One run. Every route of a run also exists below its name (`/runs/{id}/events`); for a past run, it reads the
    /// records.
    get "/runs/{id}" in String, => json(RunEntry), one;
}

/// The runs that a client asks for.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    /// The root of the project whose runs are listed, absolute.
    pub(super) project: Option<PathBuf>,
}

struct Runs {
    served: Arc<ServedRun>,
    archive: Archive,
    /// The routes of the current run.
    live: Router,
    /// The routes of a past run.
    past: Router,
}

/// The routes of all runs of a project. `served` is the current one, with the routes `live`.
pub(crate) fn routes(served: Arc<ServedRun>, archive: Archive, live: Router) -> Router {
    let runs = Runs {
        served,
        archive,
        live,
        past: super::past::routes(),
    };
    rows()
        .route("/runs/{id}/{*route}", any(pass_on))
        .method_not_allowed_fallback(no_such_method)
        .with_state(Arc::new(runs))
}

async fn list(
    Caller(runs, role): Caller<Runs>,
    Query(RunsQuery { project }): Query<RunsQuery>,
) -> HttpResult<Json<Vec<RunEntry>>> {
    let own = runs.served.entry();
    if project.is_some_and(|project| project != own.project) {
        return Ok(Json(Vec::new()));
    }
    if role == ClientRole::Agent {
        return Ok(Json(vec![own]));
    }
    let mut entries = runs.archive.runs().await?;
    match entries.iter_mut().find(|entry| entry.run == own.run) {
        Some(entry) => *entry = own,
        None => entries.insert(0, own),
    }
    Ok(Json(entries))
}

async fn one(Caller(runs, role): Caller<Runs>, Path(id): Path<String>) -> HttpResult<Json<RunEntry>> {
    let own = runs.served.entry();
    if own.run.0 == id {
        return Ok(Json(own));
    }
    let stored = find(&runs.archive, role, &id)?;
    Ok(Json(stored.entry(false).await?))
}

async fn pass_on(
    Caller(runs, role): Caller<Runs>,
    Path((id, _)): Path<(String, String)>,
    request: Request,
) -> HttpResult<Response> {
    if runs.served.run().0 == id {
        return handed_on(&runs.live, role, None, request).await;
    }
    let stored = find(&runs.archive, role, &id)?;
    handed_on(&runs.past, role, Some(stored), request).await
}

/// Finds a past run. Agents are refused, so that they do not learn which runs exist.
fn find(archive: &Archive, role: ClientRole, id: &str) -> HttpResult<StoredRun> {
    let found = match role {
        ClientRole::Agent => None,
        ClientRole::User | ClientRole::Reader => archive.find(id),
    };
    found.ok_or_else(|| ApiProblem::not_found(format!("there is no run `{id}`; GET /runs lists them")))
}

/// Forwards a request to `routes`, with the part of the address after the name of the run.
pub(super) async fn handed_on(
    routes: &Router,
    role: ClientRole,
    stored: Option<StoredRun>,
    request: Request,
) -> HttpResult<Response> {
    let (parts, body) = request.into_parts();
    let route = route_of_run(parts.uri.path_and_query().map_or("", |path| path.as_str()));
    let route = route.ok_or_else(|| ApiProblem::not_found("no such route of a run"))?;
    // Without the extensions that the outer router has added.
    let mut inner = Request::new(body);
    *inner.method_mut() = parts.method;
    *inner.headers_mut() = parts.headers;
    *inner.uri_mut() = route.parse().map_err(|_| ApiProblem::bad_request("not an address"))?;
    inner.extensions_mut().insert(role);
    if let Some(on_socket) = parts.extensions.get::<DirectRequest>() {
        inner.extensions_mut().insert(*on_socket);
    }
    if let Some(stored) = stored {
        inner.extensions_mut().insert(stored);
    }
    let answered = TowerToHyperService::new(routes.clone()).call(inner).await;
    Ok(answered.into_response())
}

/// Returns the part of an address after the name of the run, with its slash.
pub(super) fn route_of_run(address: &str) -> Option<&str> {
    let rest = address.strip_prefix(RUNS)?;
    Some(&rest[rest.find('/')?..])
}
