//! Batches, in `ralph web`: their boards, read from disk without asking the process of the batch, and what starts them.
//!
//! Followers are kept between requests, so that a page that polls every few seconds causes each record to be read once.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{Router, extract::State};
use parking_lot::Mutex;
use ralph_many::{BatchFollower, BatchPaths, batches_in};
use ralph_plan::batch::{BatchId, PlanName};
use ralph_review::Projects;
use ralph_system::paths::{ProjectPaths, States};
use ralph_ui::board::Board;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::{
    archive::SharedReaders,
    extract::{self, Caller},
    json::Json,
    problem::{ApiProblem, HttpResult, no_such_method},
    rows::routes,
    start::{MOST_PLANS, StartSettings, Starts, options, plan_in, unprocessable},
};

/// Maximum number of projects whose last batch is listed.
const LISTED: usize = 20;

routes! { Arc<BatchServer>;
    /// The last batch of each project, running ones first: what `ralph many status --json` prints. Only `ralph web` has this route.
    get "/batches" => json(Vec<BatchEntry>), batches;
    /// One batch with its plans and the open requests of their agents, which are answered below `/runs/{id}/asks`. In
    /// `ralph web` alone.
    get "/batches/{id}" in String, => json(BatchEntry), batch;
    /// Starts a batch of plans in a project, as `ralph many` does there. Only in `ralph web`, and for the user alone. 409
    /// with the words of the command line if it refuses.
    post "/batches" body StartBatch, => json(StartedBatch), start_batch;
    /// Resumes the last batch of a project, as `ralph many resume` does there. Only in `ralph web`, and for the user alone.
    /// 409 with the words of the command line if it refuses.
    post "/batches/{id}/resume" in String, => json(StartedBatch), resume_batch;
}

/// The state of the routes.
struct BatchServer {
    batches: Arc<Batches>,
    projects: Arc<Projects>,
    readers: SharedReaders,
    starts: Arc<Starts>,
}

/// A batch and its project.
#[derive(Debug, Clone, PartialEq, Serialize, crate::schema::JsonSchema)]
struct BatchEntry {
    /// The name of the project's directory.
    project: String,
    board: Board,
}

/// A batch to be started.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartBatch {
    /// The root of the project, as the list of runs has it.
    project: PathBuf,
    /// The plans, as paths in the project.
    plans: Vec<String>,
    /// How many run at a time.
    jobs: Option<u32>,
    #[serde(default)]
    settings: StartSettings,
}

#[derive(Debug, Serialize, crate::schema::JsonSchema)]
struct StartedBatch {
    batch: String,
}

/// The routes of the batches of `projects`, whose states are below `root`.
pub(super) fn routes(root: &Path, projects: Arc<Projects>, readers: SharedReaders, starts: Arc<Starts>) -> Router {
    rows()
        .method_not_allowed_fallback(no_such_method)
        .with_state(Arc::new(BatchServer {
            batches: Arc::new(Batches::below(root.to_owned(), Arc::clone(&projects))),
            projects,
            readers,
            starts,
        }))
}

async fn batches(State(server): State<Arc<BatchServer>>) -> HttpResult<Json<Vec<BatchEntry>>> {
    let batches = Arc::clone(&server.batches);
    Ok(Json(server.readers.look(move |_| batches.list()).await?))
}

async fn batch(
    State(server): State<Arc<BatchServer>>,
    extract::Path(id): extract::Path<String>,
) -> HttpResult<Json<BatchEntry>> {
    let batches = Arc::clone(&server.batches);
    let found = server.readers.look(move |_| batches.find(&id).ok_or(id)).await?;
    let missing = |id| ApiProblem::not_found(format!("there is no batch `{id}`; GET /batches lists them"));
    found.map(Json).map_err(missing)
}

async fn start_batch(
    Caller(server, role): Caller<BatchServer>,
    body: HttpResult<Json<StartBatch>>,
) -> HttpResult<Json<StartedBatch>> {
    let Json(wish) = body?;
    if wish.plans.is_empty() || wish.plans.len() > MOST_PLANS {
        return Err(unprocessable(format!("a batch has 1 to {MOST_PLANS} plans")));
    }
    let id = Arc::clone(&server.starts)
        .start(role, wish.project, move |paths| {
            let mut line = ["--__loop", "many", "--headless"].map(str::to_owned).to_vec();
            line.extend(options(&wish.settings)?);
            line.extend(wish.jobs.map(|jobs| format!("--jobs={jobs}")));
            let plans = wish.plans.iter().map(|plan| plan_in(paths.project(), plan));
            Ok((line, plans.collect::<HttpResult<Vec<_>>>()?))
        })
        .await?;
    Ok(Json(StartedBatch { batch: id }))
}

async fn resume_batch(
    Caller(server, role): Caller<BatchServer>,
    extract::Path(id): extract::Path<String>,
) -> HttpResult<Json<StartedBatch>> {
    let projects = Arc::clone(&server.projects);
    let name = id.clone();
    let is_its = move |paths: &ProjectPaths| batches_in(paths.state()).iter().any(|batch| batch.0 == name);
    let found = spawn_blocking(move || projects.all().into_iter().find(is_its)).await;
    let found = found.map_err(|error| ApiProblem::failed(error.to_string()))?;
    let paths =
        found.ok_or_else(|| ApiProblem::not_found(format!("there is no batch `{id}`; GET /batches lists them")))?;
    let root = paths.project().to_owned();
    let batch = Arc::clone(&server.starts)
        .start(role, root, move |paths| {
            if batches_in(paths.state()).pop().is_none_or(|last| last.0 != id) {
                return Err(ApiProblem::conflict("only the last batch of a project can be resumed"));
            }
            let line = ["--__loop", "many", "resume", "--headless"];
            Ok((line.map(str::to_owned).to_vec(), Vec::new()))
        })
        .await?;
    Ok(Json(StartedBatch { batch }))
}

/// The batches of all projects.
struct Batches {
    root: PathBuf,
    projects: Arc<Projects>,
    /// Followers by the directory of their batch.
    followed: Mutex<HashMap<PathBuf, BatchFollower>>,
}

impl Batches {
    /// Reads the batches of the projects whose states are below `root`.
    fn below(root: PathBuf, projects: Arc<Projects>) -> Batches {
        Batches {
            root,
            projects,
            followed: Mutex::default(),
        }
    }

    /// The last batch of each project: running ones first, then the latest first.
    fn list(&self) -> Vec<BatchEntry> {
        let mut last: Vec<(BatchId, PathBuf)> = self
            .states()
            .filter_map(|state| Some((batches_in(&state).pop()?, state)))
            .collect();
        // An id begins with the time.
        last.sort_by(|one, other| other.cmp(one));
        last.truncate(LISTED);
        let mut entries: Vec<BatchEntry> = last.iter().filter_map(|(id, state)| self.look(state, id)).collect();
        entries.sort_by_key(|entry| !entry.board.running);
        entries
    }

    /// Returns the batch of this name. The name is compared and never becomes part of a path.
    fn find(&self, name: &str) -> Option<BatchEntry> {
        self.states().find_map(|state| {
            let id = batches_in(&state).into_iter().find(|id| id.0 == name)?;
            self.look(&state, &id)
        })
    }

    fn states(&self) -> impl Iterator<Item = PathBuf> {
        States::below(&self.root).list().into_iter()
    }

    fn look(&self, state: &Path, id: &BatchId) -> Option<BatchEntry> {
        let paths = BatchPaths::for_state(&self.root, state, id);
        let mut followed = self.followed.lock();
        // Earlier batches of the project are no longer shown.
        followed.retain(|directory, _| directory.parent() != paths.dir().parent() || directory == paths.dir());
        let follower = followed.entry(paths.dir().to_owned()).or_insert_with(|| {
            let (projects, of) = (Arc::clone(&self.projects), paths.clone());
            BatchFollower::new(paths.clone(), Box::new(move |plan| state_of(&projects, &of, plan)))
        });
        let board = follower.look()?;
        let name = state.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The name of a state directory is that of the project and a hash of its path.
        let project = name
            .rsplit_once('-')
            .map_or(name.clone(), |(project, _)| project.to_owned());
        Some(BatchEntry { project, board })
    }
}

/// Finds the state of a plan's runs: their project is in the plan's work tree.
fn state_of(projects: &Projects, paths: &BatchPaths, plan: &PlanName) -> Option<ProjectPaths> {
    let tree = paths.tree(plan);
    projects
        .all()
        .into_iter()
        .find(|project| project.project().starts_with(&tree))
}
