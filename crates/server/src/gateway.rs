//! Serves all runs of a user at one address: a live run's own server answers its requests, past runs are read from
//! disk.
//!
//! A run treats requests from this process as its user's. Requests with a read-only token are therefore marked, and the
//! run refuses to change anything for them: only the run knows what a route does.

use std::{
    io,
    os::fd::AsFd,
    path::{Path as FilePath, PathBuf},
    pin::pin,
    sync::Arc,
};

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    extract::{DefaultBodyLimit, Request, State},
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
    routing::{any, get},
};
use ralph_review::{Projects, RunCache, RunEntry};
use ralph_state::control::{ClientRole, ControlClient, ControlError};
use ralph_system::proc::{ProcessOrigin, Supervisor, origin_of_peer};
use tokio::{net::UnixStream, sync::watch};
use tracing::warn;

use super::{
    Listening, PATIENCE,
    archive::{Archive, SharedReaders, StoredRun},
    connection::{BODY_CAP_BYTES, Timeouts, take_body},
    extract::{Caller, Path, Query},
    files::TRUNCATED,
    json::Json,
    page, past,
    problem::{ApiProblem, HttpResult, no_such_method},
    runs::{RunsQuery, handed_on, route_of_run},
    served::ServerStage,
    socket::{ONLY_LOOKS, PASSED_ON, Socket},
    start::{self, AgentLookup, Starts},
    tcp::serve_tcp,
};

/// The header in which a reconnecting client names the last event that it got.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Request headers that are forwarded to a run.
const HANDED_ON: [HeaderName; 4] = [ACCEPT, CONTENT_TYPE, IF_NONE_MATCH, LAST_EVENT_ID];
/// Answer headers that are returned to the client.
const PASSED_BACK: [HeaderName; 4] = [CONTENT_TYPE, ETAG, CACHE_CONTROL, TRUNCATED];

/// Media types of a run's answers.
const KINDS: [&str; 8] = [
    "application/json",
    "application/octet-stream",
    "application/problem+json",
    "application/x-asciicast",
    "text/event-stream",
    "text/markdown; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/x-diff",
];

struct Gateway {
    projects: Arc<Projects>,
    readers: SharedReaders,
    past: Router,
}

/// A run that was found.
struct LocatedRun {
    stored: StoredRun,
    /// The socket of the ralph that serves the run, if any.
    socket: Option<PathBuf>,
}

/// Serves all runs whose state is below `root`, until `stop` completes: over TCP to clients with a token, and at
/// `socket`, to which `ssh -L` can forward a port. `agents` are those that a run can be started with.
///
/// # Errors
/// If the listener cannot be used.
pub async fn serve(
    listening: Listening,
    root: PathBuf,
    socket: &FilePath,
    supervisor: &Supervisor,
    agents: AgentLookup,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let Listening { listener, access } = listening;
    let timeouts = Timeouts::from_env();
    let routes = all_routes(root, supervisor, agents).layer(from_fn_with_state(timeouts, take_body));
    let routes = access.guard(routes, page::routes());
    let (stage, stages) = watch::channel(ServerStage::Open);
    let socket = Socket::bind(socket).inspect_err(|error| warn!(path = %socket.display(), %error, "no socket"));
    let mut serving = pin!(async {
        let over_tcp = serve_tcp(listener, routes.clone(), timeouts, stages.clone());
        let over_socket = async {
            if let Ok(socket) = socket {
                socket.serve(routes.clone(), Box::new(role_of), timeouts, stages).await;
            }
        };
        tokio::join!(over_tcp, over_socket).0
    });
    tokio::select! {
        served = serving.as_mut() => return served,
        () = stop => {}
    }
    stage.send_replace(ServerStage::Closing);
    // Streams of runs do not end by themselves.
    tokio::time::timeout(PATIENCE, serving).await.unwrap_or(Ok(()))
}

/// The role of a peer on the socket, judged by its process. The token may reduce it.
fn role_of(peer: &UnixStream) -> ClientRole {
    let pid = peer.peer_cred().ok().and_then(|credentials| credentials.pid());
    match origin_of_peer(peer.as_fd(), pid) {
        ProcessOrigin::Elsewhere => ClientRole::User,
        ProcessOrigin::Run | ProcessOrigin::OtherUser | ProcessOrigin::Unknown => ClientRole::Agent,
    }
}

fn all_routes(root: PathBuf, supervisor: &Supervisor, agents: AgentLookup) -> Router {
    let projects = Arc::new(Projects::below(root.clone()));
    let starts = Arc::new(Starts::new(Arc::clone(&projects), root.clone(), supervisor, agents));
    let readers = SharedReaders::new(supervisor);
    let gateway = Gateway {
        projects: Arc::clone(&projects),
        readers: readers.clone(),
        past: past::routes(),
    };
    let routes = Router::new()
        .route("/runs", get(list))
        .route("/runs/{id}", get(one))
        .route("/runs/{id}/{*route}", any(pass_on))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .with_state(Arc::new(gateway))
        .merge(start::routes(Arc::clone(&starts)));
    #[cfg(feature = "batches")]
    let routes = routes.merge(super::batches::routes(&root, projects, readers, starts));
    routes
        .layer(from_fn(not_for_an_agent))
        .layer(DefaultBodyLimit::disable())
}

/// Middleware that refuses agents. A run knows its own agents, but this server shows all runs of the user.
async fn not_for_an_agent(
    Extension(role): Extension<ClientRole>,
    request: Request,
    next: Next,
) -> HttpResult<Response> {
    match role {
        ClientRole::User | ClientRole::Reader => Ok(next.run(request).await),
        ClientRole::Agent => Err(ApiProblem::forbidden(
            "only the user can see the runs of all projects; an agent sees its own with `ralph status`",
        )),
    }
}

async fn list(
    State(gateway): State<Arc<Gateway>>,
    Query(RunsQuery { project }): Query<RunsQuery>,
) -> HttpResult<Json<Vec<RunEntry>>> {
    let projects = Arc::clone(&gateway.projects);
    let listed = move |cache: &RunCache| match project {
        Some(project) => projects.runs_of(&project, cache),
        None => projects.runs(cache),
    };
    Ok(Json(gateway.readers.look(listed).await?))
}

async fn one(State(gateway): State<Arc<Gateway>>, Path(id): Path<String>) -> HttpResult<Json<RunEntry>> {
    let LocatedRun { stored, socket } = gateway.find(id).await?;
    Ok(Json(stored.entry(socket.is_some()).await?))
}

async fn pass_on(
    Caller(gateway, role): Caller<Gateway>,
    Path((id, _)): Path<(String, String)>,
    request: Request,
) -> HttpResult<Response> {
    let LocatedRun { stored, socket } = gateway.find(id).await?;
    let Some(socket) = socket else {
        return handed_on(&gateway.past, role, Some(stored), request).await;
    };
    let route = route_of_run(request.uri().path_and_query().map_or("", |path| path.as_str()));
    let route = route.ok_or_else(no_route_of_run)?.to_owned();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_CAP_BYTES).await;
    let body = body.map_err(|error| ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()))?;
    let client = ControlClient::for_socket(&socket).map_err(|error| ApiProblem::failed(error.to_string()))?;
    let asked = client.request(parts.method.clone(), &route).body(body.clone());
    let mut asked = asked.header(PASSED_ON, "true");
    if role != ClientRole::User {
        asked = asked.header(ONLY_LOOKS, "true");
    }
    for name in HANDED_ON {
        if let Some(value) = parts.headers.get(&name) {
            asked = asked.header(name, value);
        }
    }
    match client.send(asked).await {
        Ok(answer) => Ok(passed_back(answer)),
        // The run has ended since it was found.
        Err(ControlError::NotRunning) => {
            let request = Request::from_parts(parts, Body::from(body));
            handed_on(&gateway.past, role, Some(stored), request).await
        }
        Err(error) => Err(ApiProblem::new(StatusCode::BAD_GATEWAY, error.to_string())),
    }
}

/// Streams the answer of a run as it arrives. Ends if the client disconnects.
fn passed_back(answer: reqwest::Response) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    for name in PASSED_BACK {
        if let Some(value) = answer.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    // Another server may be behind the run's socket, since an agent can replace it: its answer is never a document.
    let kind = response.headers().get(CONTENT_TYPE);
    if kind.is_some_and(|kind| !KINDS.iter().any(|known| kind == *known)) {
        let bytes = HeaderValue::from_static("application/octet-stream");
        response.headers_mut().insert(CONTENT_TYPE, bytes);
    }
    *response.body_mut() = Body::from_stream(answer.bytes_stream());
    response
}

impl Gateway {
    /// Finds a run. The name is compared and never becomes part of a path.
    async fn find(&self, id: String) -> HttpResult<LocatedRun> {
        let projects = Arc::clone(&self.projects);
        let found = self.readers.look(move |_| projects.find(&id).ok_or(id)).await?;
        let (paths, run, is_live) =
            found.map_err(|id| ApiProblem::not_found(format!("there is no run `{id}`; GET /runs lists them")))?;
        Ok(LocatedRun {
            socket: is_live.then(|| paths.socket()),
            stored: Archive::new(paths, self.readers.clone()).stored_run(run),
        })
    }
}

async fn no_such_route() -> ApiProblem {
    ApiProblem::not_found("no such route; those of a run are below /runs/ID, and GET /runs lists the runs")
}

fn no_route_of_run() -> ApiProblem {
    ApiProblem::not_found("no such route of a run")
}
