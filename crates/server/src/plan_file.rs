//! The file of a run's plan: its tasks as they are now, and changes by the user.
//!
//! The view of a run has the plan as the loop last read it, which may be older. A change names its task by line and text,
//! so that a plan that was changed meanwhile is refused, and not changed in the wrong place.

use std::path::{Path, PathBuf};

use axum::Extension;
use ralph_core::{
    event::{PlanTask, RunId},
    run::RunView,
};
use ralph_plan::{AddError, EditError, PlanError, PlanKind, TaskEdit};
use ralph_state::{control::ClientRole, store::journal::read_view};
use ralph_system::{
    files::{self, PLAN_CAP_BYTES},
    paths::ProjectPaths,
};
use ralph_text::{one_line, with_causes};
use serde::{Deserialize, Serialize};

use super::{
    archive::{StoredRun, journal_problem},
    json::Json,
    problem::{ApiProblem, HttpResult},
};

/// Attempts to change a plan that others write at the same time.
const TRIES: usize = 8;

/// The plan's file as it is now.
#[derive(Debug, Serialize, crate::schema::JsonSchema)]
pub(super) struct PlanFile {
    /// Its path in the project.
    path: String,
    tasks: Vec<PlanTask>,
}

/// A change of the plan's file. A task is named by its line and its text, as `GET /plan/file` has them.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum PlanEdit {
    /// Adds an open task at the end of the plan, or of the section below a heading.
    Add {
        task: String,
        section: Option<String>,
    },
    Tick {
        line: u32,
        task: String,
    },
    Untick {
        line: u32,
        task: String,
    },
    /// Exchanges the task with the one before it in its list.
    MoveUp {
        line: u32,
        task: String,
    },
    /// Exchanges the task with the one after it in its list.
    MoveDown {
        line: u32,
        task: String,
    },
}

pub(super) async fn file(stored: StoredRun) -> HttpResult<Json<PlanFile>> {
    let read = stored.read(|paths, run, _| OpenPlan::of_run(paths, run)?.read());
    Ok(Json(read.await?.0))
}

pub(super) async fn edit(
    stored: StoredRun,
    Extension(role): Extension<ClientRole>,
    body: HttpResult<Json<PlanEdit>>,
) -> HttpResult<Json<PlanFile>> {
    match role {
        ClientRole::User => {}
        ClientRole::Reader | ClientRole::Agent => {
            return Err(ApiProblem::forbidden("only the user can change the plan here"));
        }
    }
    let Json(edit) = body?;
    let edited = stored.read(move |paths, run, _| {
        if paths.latest_run().as_ref() != Some(run) {
            return Err(ApiProblem::conflict(
                "this project has a later run: only the plan of the last one can be changed here",
            ));
        }
        let plan = OpenPlan::of_run(paths, run)?;
        plan.change(&edit)?;
        plan.read()
    });
    Ok(Json(edited.await?.0))
}

/// A plan whose file is in the project.
struct OpenPlan {
    path: PathBuf,
    name: String,
    kind: PlanKind,
}

impl OpenPlan {
    fn of_run(paths: &ProjectPaths, run: &RunId) -> HttpResult<Self> {
        let view = read_view(paths, run).map_err(|error| journal_problem(&error))?;
        Self::in_project(paths.project(), &view)
    }

    /// The plan of a run, if its file is in the project, also where its path leads through links.
    fn in_project(project: &Path, view: &RunView) -> HttpResult<Self> {
        let path = project.join(&view.settings.plan);
        let name = path.strip_prefix(project).unwrap_or(&path).display().to_string();
        match path.canonicalize() {
            Ok(real) if real.starts_with(project) => Ok(Self {
                kind: PlanKind::from_path(&path),
                // A link that an agent puts there later is not followed.
                path: real,
                name,
            }),
            Ok(_) => Err(ApiProblem::conflict(format!(
                "{name} is outside of the project: it is changed there, and not here"
            ))),
            Err(error) => Err(ApiProblem::not_found(format!("{name}: {error}"))),
        }
    }

    fn bytes(&self) -> HttpResult<Vec<u8>> {
        files::read_bytes(&self.path, PLAN_CAP_BYTES)
            .map_err(|error| ApiProblem::conflict(format!("{}: {}", self.name, with_causes(&error))))
    }

    fn read(&self) -> HttpResult<PlanFile> {
        let tasks = match ralph_plan::parse_bytes(self.kind, &self.bytes()?) {
            Ok(plan) => plan.tasks,
            Err(PlanError::Empty { .. } | PlanError::NoTaskYet | PlanError::NoTasks { .. }) => Vec::new(),
            Err(error) => return Err(self.refused(&error)),
        };
        Ok(PlanFile {
            path: self.name.clone(),
            tasks,
        })
    }

    /// Changes the plan as it is at the moment of writing: a run may be working on it.
    fn change(&self, edit: &PlanEdit) -> HttpResult<()> {
        for _ in 0..TRIES {
            let bytes = self.bytes()?;
            let changed = self.changed(&bytes, edit)?;
            let written = files::replace_unless_changed(&self.path, Some(&bytes), &changed, PLAN_CAP_BYTES);
            let written = written.map_err(|error| ApiProblem::failed(format!("{}: {error}", self.name)))?;
            if written {
                return Ok(());
            }
        }
        Err(ApiProblem::conflict(format!(
            "{}: the file keeps changing; try again when the agent is not writing it",
            self.name
        )))
    }

    fn changed(&self, bytes: &[u8], edit: &PlanEdit) -> HttpResult<String> {
        let (line, task, change) = match edit {
            PlanEdit::Add { task, section } => return self.added(bytes, task, section.as_deref()),
            PlanEdit::Tick { line, task } => (*line, task, TaskEdit::Tick),
            PlanEdit::Untick { line, task } => (*line, task, TaskEdit::Untick),
            PlanEdit::MoveUp { line, task } => (*line, task, TaskEdit::MoveUp),
            PlanEdit::MoveDown { line, task } => (*line, task, TaskEdit::MoveDown),
        };
        ralph_plan::edit(self.kind, bytes, line, task, change).map_err(|error| match error {
            EditError::Plan(error) => self.refused(&error),
            EditError::Changed { .. } => ApiProblem::conflict(format!(
                "{} was changed meanwhile, and was left as it is: {error}",
                self.name
            )),
            EditError::First | EditError::Last | EditError::Unsafe => {
                ApiProblem::conflict(format!("{}: {error}", self.name))
            }
        })
    }

    /// Adds a task as `ralph plan add` does.
    fn added(&self, bytes: &[u8], task: &str, section: Option<&str>) -> HttpResult<String> {
        let task = task.trim();
        if task.is_empty() || task.contains(['\n', '\r']) {
            return Err(ApiProblem::conflict("a task is one line with words in it"));
        }
        ralph_plan::add(self.kind, bytes, &one_line(task), section).map_err(|error| match error {
            AddError::Plan(error) => self.refused(&error),
            AddError::NoSections | AddError::NoPlace | AddError::Mistake(_) => {
                ApiProblem::conflict(format!("{}: {error}", self.name))
            }
        })
    }

    fn refused(&self, error: &PlanError) -> ApiProblem {
        ApiProblem::conflict(format!("{}: {error} ({})", self.name, error.hint()))
    }
}
