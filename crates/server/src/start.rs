//! Starts runs for the user, in `ralph web`.
//!
//! A start is the command line that the user would type, as a process of its own that outlives this server: it parses
//! and checks everything, and what it refuses is refused here in its words. This server only makes sure that a request
//! names a listed project, plans inside of it, and values that stay values of their options.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, extract::State, http::StatusCode};
use ralph_core::{
    event::RunId,
    limits::{LIMITS, LimitUnit},
};
use ralph_plan::PlanKind;
use ralph_review::Projects;
use ralph_state::{control::ClientRole, store::lock};
use ralph_system::{
    files::{self, PLAN_CAP_BYTES},
    paths::ProjectPaths,
    proc::{Supervisor, UnattendedStart},
};
use ralph_text::one_line;
use serde::{Deserialize, Serialize};
use tokio::{sync::Mutex, task::spawn_blocking};

use super::{
    extract::{Caller, Query},
    json::Json,
    problem::{ApiProblem, HttpResult},
    rows::routes,
};

/// Time that a run or batch has to begin.
const PATIENCE: Duration = Duration::from_secs(120);

/// Maximum number of plans offered, and of plans in a batch.
pub(super) const MOST_PLANS: usize = 64;
/// Maximum number of directory entries looked at for plans.
const MOST_ENTRIES: usize = 2_000;
/// The directories of a project in which plans are looked for.
const PLAN_PLACES: [&str; 4] = ["", "plans", ".ralph/plans", "scripts/ralph"];

routes! { Arc<Starts>;
    /// The plans and installed agents with which a run of a project can be started. Only `ralph web` has this route.
    get "/start" query StartQuery, => json(StartOffers), offers;
    /// Starts a run in a project, as `ralph` does there, or continues its last one. Only in `ralph web`, and for the user
    /// alone. 409 with the words of the command line if it refuses.
    post "/runs" body StartRun, => json(StartedRun), start_run;
}

/// Returns the agents that a run of a project may be given.
pub(crate) type AgentLookup = Box<dyn Fn(&ProjectPaths) -> Result<AgentOffers, String> + Send + Sync>;

/// Starts runs in the listed projects.
pub(super) struct Starts {
    projects: Arc<Projects>,
    /// The directory of all states.
    root: PathBuf,
    supervisor: Supervisor,
    agents: AgentLookup,
    /// Held while one starts: starts happen one after the other.
    turn: Mutex<()>,
}

/// The agents of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::schema::JsonSchema)]
pub struct AgentOffers {
    /// The adapters whose program is installed.
    pub adapters: Vec<AdapterOffer>,
    /// The adapter that the settings name.
    pub adapter: Option<String>,
    /// Files of the project that are left out, because the user has not trusted them.
    pub untrusted: Option<String>,
}

/// An installed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::schema::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterOffer {
    pub id: String,
    pub title: String,
    /// Whether a login was found, as far as that can be determined.
    pub logged_in: bool,
}

/// A plan of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::schema::JsonSchema)]
struct PlanOffer {
    /// Its path in the project.
    path: String,
    done: u32,
    open: u32,
    /// Whether a run takes it if none is named.
    default: bool,
}

/// A limit that a run can be started with.
#[derive(Debug, Clone, Serialize, crate::schema::JsonSchema)]
struct LimitOffer {
    /// Its name among the settings of a start.
    setting: &'static str,
    /// Such as `iterations`.
    name: &'static str,
    unit: LimitUnit,
}

#[derive(Debug, Clone, Serialize, crate::schema::JsonSchema)]
struct StartOffers {
    plans: Vec<PlanOffer>,
    limits: Vec<LimitOffer>,
    agents: AgentOffers,
}

#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartQuery {
    /// The root of the project, as the list of runs has it.
    project: PathBuf,
}

/// A run to be started.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartRun {
    /// The root of the project, as the list of runs has it.
    project: PathBuf,
    /// The plan, as a path in the project; without it, the one that `ralph` finds.
    plan: Option<String>,
    /// One task in words, which runs alone, in place of a plan.
    task: Option<String>,
    /// The last run of the project, to continue it instead of starting one, as `ralph continue` does.
    continues: Option<RunId>,
    #[serde(default)]
    settings: StartSettings,
}

/// Settings of a run, which override those of its project. Each becomes an option of the command line.
#[derive(Debug, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StartSettings {
    adapter: Option<String>,
    model: Option<String>,
    /// A command that has to pass, as `NAME=COMMAND`; in addition to the configured goals.
    goal: Option<String>,
    /// Limits by the names that the answer of `GET /start` has, with values as options take them: `20`, `2h`.
    #[serde(default)]
    limits: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, crate::schema::JsonSchema)]
struct StartedRun {
    run: String,
}

/// The routes that start runs.
pub(super) fn routes(starts: Arc<Starts>) -> Router {
    rows().with_state(starts)
}

async fn offers(
    State(starts): State<Arc<Starts>>,
    Query(StartQuery { project }): Query<StartQuery>,
) -> HttpResult<Json<StartOffers>> {
    let offered = spawn_blocking(move || {
        let paths = starts.project(&project)?;
        let agents = (starts.agents)(&paths).map_err(ApiProblem::conflict)?;
        let plans = plans_of(paths.project());
        let limits = LIMITS.iter().filter(|row| row.can_be_changed());
        let limits = limits.map(|row| LimitOffer {
            setting: row.name_of_setting(),
            name: row.name,
            unit: row.unit,
        });
        Ok(Json(StartOffers {
            plans,
            limits: limits.collect(),
            agents,
        }))
    });
    offered.await.map_err(|error| ApiProblem::failed(error.to_string()))?
}

async fn start_run(
    Caller(starts, role): Caller<Starts>,
    body: HttpResult<Json<StartRun>>,
) -> HttpResult<Json<StartedRun>> {
    let Json(wish) = body?;
    let id = starts
        .start(role, wish.project, move |paths| {
            // The command line would change the active run instead.
            if let Some(active) = lock::running(paths) {
                return Err(ApiProblem::conflict(format!(
                    "run {active} of this project has not ended"
                )));
            }
            let mut line = vec!["--__loop".to_owned()];
            if let Some(run) = wish.continues {
                if paths.latest_run().as_ref() != Some(&run) {
                    return Err(ApiProblem::conflict("only the last run of a project can be continued"));
                }
                line.push("continue".to_owned());
            }
            line.push("--headless".to_owned());
            line.extend(options(&wish.settings)?);
            match (&wish.plan, &wish.task) {
                (Some(_), Some(_)) => return Err(unprocessable("a run has a plan or a task".to_owned())),
                (Some(plan), None) => line.push(format!("--plan={}", plan_in(paths.project(), plan)?)),
                (None, Some(task)) if task.contains('\0') => {
                    return Err(unprocessable("`task` has a control character in it".to_owned()));
                }
                (None, Some(_) | None) => {}
            }
            Ok((line, wish.task.into_iter().collect()))
        })
        .await?;
    Ok(Json(StartedRun { run: id }))
}

impl Starts {
    /// Starts runs in `projects`, whose states are below `root`.
    pub(super) fn new(projects: Arc<Projects>, root: PathBuf, supervisor: &Supervisor, agents: AgentLookup) -> Starts {
        Starts {
            projects,
            root,
            supervisor: supervisor.clone(),
            agents,
            turn: Mutex::default(),
        }
    }

    /// Returns the listed project at `root`. The path is compared, and opened only as the project that it names.
    fn project(&self, root: &Path) -> HttpResult<ProjectPaths> {
        let known = self.projects.all().into_iter().find(|paths| paths.project() == root);
        let paths = known.ok_or_else(|| {
            ApiProblem::not_found(format!(
                "no run was ever started in {}; GET /runs lists the projects",
                root.display()
            ))
        })?;
        match root.canonicalize() {
            Ok(real) if real == root => Ok(paths),
            Ok(_) | Err(_) => Err(ApiProblem::conflict(format!(
                "{} is no longer the directory of this project",
                root.display()
            ))),
        }
    }

    /// Starts the command line of `line_for` in a project. Its second part are arguments that are no options. Returns the
    /// id of what has begun.
    pub(super) async fn start(
        self: Arc<Self>,
        role: ClientRole,
        root: PathBuf,
        line_for: impl FnOnce(&ProjectPaths) -> HttpResult<(Vec<String>, Vec<String>)> + Send + 'static,
    ) -> HttpResult<String> {
        match role {
            ClientRole::User => {}
            ClientRole::Reader | ClientRole::Agent => {
                return Err(ApiProblem::forbidden("only the user can start a run"));
            }
        }
        let starts = Arc::clone(&self);
        let _turn = self.turn.lock().await;
        let started = spawn_blocking(move || {
            let paths = starts.project(&root)?;
            let (line, plans) = line_for(&paths)?;
            let mut args: Vec<OsString> = line.into_iter().map(OsString::from).collect();
            args.extend([OsString::from("--state-dir"), starts.root.clone().into_os_string()]);
            if !plans.is_empty() {
                args.push(OsString::from("--"));
                args.extend(plans.into_iter().map(OsString::from));
            }
            starts
                .supervisor
                .start_unattended(paths.project(), args, PATIENCE)
                .map_err(|error| not_started(&error))
        });
        match started.await.map_err(|error| ApiProblem::failed(error.to_string()))?? {
            UnattendedStart::Ready { id, end: _ } => Ok(id),
            UnattendedStart::Refused { messages } => Err(ApiProblem::conflict(refusal(&messages))),
        }
    }
}

fn not_started(error: &io::Error) -> ApiProblem {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ApiProblem::failed(format!(
            "it has not begun within {} seconds, and was ended",
            PATIENCE.as_secs()
        )),
        _ => ApiProblem::failed(format!("ralph cannot be started: {error}")),
    }
}

pub(super) fn unprocessable(why: String) -> ApiProblem {
    ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

/// The options for the settings. Each is one argument with its value, so that no value is taken for an option.
pub(super) fn options(settings: &StartSettings) -> HttpResult<Vec<String>> {
    let named = [
        ("adapter", &settings.adapter),
        ("model", &settings.model),
        ("goal", &settings.goal),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let mut given: Vec<(&str, &String)> = named.collect();
    for (setting, value) in &settings.limits {
        let mut rows = LIMITS.iter().filter(|row| row.can_be_changed());
        let row = rows.find(|row| row.name_of_setting() == setting);
        let row = row.ok_or_else(|| {
            unprocessable(format!(
                "`{}` is no limit of a run; GET /start lists them",
                one_line(setting)
            ))
        })?;
        given.push((row.flag.trim_start_matches("--"), value));
    }
    given
        .into_iter()
        .map(|(name, value)| match value.contains(char::is_control) {
            false => Ok(format!("--{name}={value}")),
            true => Err(unprocessable(format!("`{name}` has a control character in it"))),
        })
        .collect()
}

/// Checks that `plan` is a file in the project, also where its path leads through links. Returns it as it was given.
pub(super) fn plan_in(project: &Path, plan: &str) -> HttpResult<String> {
    let path = Path::new(plan);
    let is_inside = !plan.is_empty()
        && !plan.contains(char::is_control)
        && path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside {
        return Err(unprocessable(format!(
            "{}: a plan is named by its path in the project",
            one_line(plan)
        )));
    }
    match project.join(path).canonicalize() {
        Ok(real) if real.starts_with(project) && real.is_file() => Ok(plan.to_owned()),
        Ok(_) => Err(unprocessable(format!("{plan}: not a file in the project"))),
        Err(_) => Err(unprocessable(format!("{plan}: there is no such file in the project"))),
    }
}

/// The refusal of the command line: its error with its hints, or else its whole output.
fn refusal(messages: &str) -> String {
    let lines = || messages.lines().map(str::trim);
    let Some(error) = lines().rev().find_map(|line| line.strip_prefix("error: ")) else {
        return one_line(messages.trim());
    };
    let hints: Vec<&str> = lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    match hints.is_empty() {
        true => error.to_owned(),
        false => format!("{error} ({})", hints.join("; ")),
    }
}

/// The files of a project that can be read as plans: the one that a run takes by itself, then those with open tasks.
fn plans_of(project: &Path) -> Vec<PlanOffer> {
    let chosen = ralph_plan::choose(project, None, None, Path::exists).ok();
    let entries = PLAN_PLACES
        .iter()
        .filter_map(|place| Some((place, fs::read_dir(project.join(place)).ok()?)));
    let names = entries.flat_map(|(place, entries)| {
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        names.map(move |name| Path::new(place).join(name))
    });
    let is_named_so = |path: &PathBuf| path.extension().is_some_and(|end| end == "md") || path.ends_with("prd.json");
    let offered = names.take(MOST_ENTRIES).filter(is_named_so).filter_map(|path| {
        let name = plan_in(project, path.to_str()?).ok()?;
        let bytes = files::read_bytes(&project.join(&path), PLAN_CAP_BYTES).ok()?;
        let plan = ralph_plan::parse_bytes(PlanKind::from_path(&path), &bytes).ok()?;
        Some(PlanOffer {
            done: plan.done().try_into().unwrap_or(u32::MAX),
            open: plan.open().try_into().unwrap_or(u32::MAX),
            default: chosen.as_ref().is_some_and(|chosen| chosen.path == project.join(&path)),
            path: name,
        })
    });
    let mut plans: Vec<PlanOffer> = offered.collect();
    plans.sort_by(|one, other| {
        let rank = |plan: &PlanOffer| (!plan.default, plan.open == 0);
        rank(one).cmp(&rank(other)).then_with(|| one.path.cmp(&other.path))
    });
    plans.truncate(MOST_PLANS);
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_error_and_its_hints_or_everything_that_was_said() {
        for (messages, told) in [
            (
                "note: one\nerror: no plan\nhint: `ralph init`\nhint: or `--plan`\n",
                "no plan (`ralph init`; or `--plan`)",
            ),
            ("error: locked\n", "locked"),
            (
                "nothing to do: all 2 tasks are done\nnext: add one\n",
                "nothing to do: all 2 tasks are done next: add one",
            ),
        ] {
            assert_eq!(refusal(messages), told);
        }
    }

    #[test]
    fn a_plan_is_a_file_in_the_project_wherever_its_path_leads() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join("plans")).unwrap();
        fs::write(project.join("plans/-x.md"), "- [ ] one\n").unwrap();
        fs::write(project.join("PLAN.md"), "- [x] one\n- [ ] two\n").unwrap();
        fs::write(project.join("NOTES.md"), "no task\n").unwrap();
        fs::write(directory.path().join("out.md"), "- [ ] one\n").unwrap();
        std::os::unix::fs::symlink(directory.path().join("out.md"), project.join("link.md")).unwrap();
        assert_eq!(plan_in(&project, "plans/-x.md"), Ok("plans/-x.md".to_owned()));
        let out = directory.path().join("out.md");
        for outside in [
            "",
            "../out.md",
            "./PLAN.md",
            "link.md",
            "plans",
            "nothing.md",
            "a\0b",
            out.to_str().unwrap(),
        ] {
            assert_eq!(
                plan_in(&project, outside).unwrap_err().status(),
                StatusCode::UNPROCESSABLE_ENTITY,
                "{outside:?}"
            );
        }
        let offered: Vec<_> = plans_of(&project)
            .into_iter()
            .map(|plan| (plan.path, plan.done, plan.open, plan.default))
            .collect();
        let expected = [("PLAN.md", 1, 1, true), ("plans/-x.md", 0, 1, false)];
        assert_eq!(
            offered,
            expected.map(|(path, done, open, is_default)| (path.to_owned(), done, open, is_default))
        );
    }

    #[test]
    fn no_value_is_taken_for_an_option() {
        let settings = StartSettings {
            adapter: Some("--foreground".to_owned()),
            limits: BTreeMap::from([("maxCostUsd".to_owned(), "2.5".to_owned())]),
            ..StartSettings::default()
        };
        assert_eq!(
            options(&settings).unwrap(),
            ["--adapter=--foreground", "--max-cost-usd=2.5"]
        );
        let settings = StartSettings {
            limits: BTreeMap::from([("foreground".to_owned(), "1".to_owned())]),
            ..StartSettings::default()
        };
        assert!(options(&settings).is_err(), "no limit");
        let settings = StartSettings {
            model: Some("a\nb".to_owned()),
            ..StartSettings::default()
        };
        assert!(options(&settings).is_err());
    }
}
