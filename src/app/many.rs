//! Puts a batch together: what may stand in its way is found out before anything starts.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use super::Place;
use crate::{
    batch::{BatchId, BatchLimits, Input, PlanName, Planned, after, names_of, with_order},
    config::Config,
    driver::batch_time,
    error::{Failure, FailureKind},
    files::{self, PLAN_CAP_BYTES},
    git::{Branches, NoRepository},
    many::{BatchLock, BatchPaths, Site},
    plan::{self, PlanKind},
    proc::Supervisor,
    text::with_causes,
    trust::trusting,
};

/// What a batch was asked for.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) plans: &'a [PathBuf],
    /// How many runs at a time; none for half of the cores.
    pub(crate) jobs: Option<u32>,
    /// The target, where it is not to be a branch of the batch.
    pub(crate) into: Option<&'a str>,
    /// What every run is given on its command line.
    pub(crate) arguments: Vec<String>,
    /// What the plans may use together.
    pub(crate) limits: BatchLimits,
    /// The settings file that was named beside the project's own.
    pub(crate) has_config: bool,
}

/// A batch that can start.
pub(crate) struct Prepared {
    pub(crate) id: BatchId,
    pub(crate) site: Site,
    pub(crate) start: Input,
    /// What its user should know.
    pub(crate) notes: Vec<String>,
    pub(crate) lock: BatchLock,
}

/// Finds out whether a batch can start, and makes its target.
///
/// # Errors
/// A [`Failure`] that says what stands in the way; nothing was changed then.
pub(crate) fn prepare_batch(
    place: &Place,
    config: &Config,
    wish: Wish<'_>,
    supervisor: &Supervisor,
) -> Result<Prepared, Failure> {
    let plans = planned(place, wish.plans)?;
    let branches = branches_of(&place.project, supervisor)?;
    let head = branches.commit_of("HEAD")?.ok_or_else(|| {
        failed("the repository has no commit yet, so there is nothing that work trees could begin with")
            .hint("git add --all && git commit -m Start")
    })?;
    if branches.has_submodules()? {
        return Err(
            failed("the repository has submodules, which git leaves empty in the work tree of a plan")
                .hint("run plans of this repository one after the other: `ralph api.md && ralph ui.md`"),
        );
    }
    check_own_files(place, &branches, wish.has_config)?;
    let lock = lock(place)?;
    let id = new_id(place, &branches)?;
    let (target, base) = match wish.into {
        None => (id.target(), head),
        Some(into) => (into.to_owned(), checked_target(&branches, into, &plans)?),
    };
    check_room_for_branches(&branches)?;
    let mut notes = Vec::new();
    if !branches.is_clean(branches.root(), true)? {
        notes.push(
            "changes that are not committed are in no work tree, but for the plans: work begins with the commit"
                .to_owned(),
        );
    }
    if config.goals.is_empty() {
        notes.push("there are no goals: what merges without conflict is merged, and nothing verifies it".to_owned());
    }
    let site = site(place, &id, branches, !config.goals.is_empty());
    site.branches.create(&target, &base)?;
    Ok(Prepared {
        start: Input::Start {
            target,
            base,
            jobs: wish.jobs.unwrap_or_else(default_jobs),
            arguments: wish.arguments,
            plans,
            limits: wish.limits,
        },
        id,
        site,
        notes,
        lock,
    })
}

/// The place of a batch that there is.
///
/// # Errors
/// A [`Failure`] if the project is in no repository any more.
pub(crate) fn site_of_batch(
    place: &Place,
    id: &BatchId,
    has_goals: bool,
    supervisor: &Supervisor,
) -> Result<Site, Failure> {
    let branches = branches_of(&place.project, supervisor)?;
    Ok(site(place, id, branches, has_goals))
}

/// Has no other batch work in the project.
///
/// # Errors
/// A [`Failure`] if one does.
pub(crate) fn lock(place: &Place) -> Result<BatchLock, Failure> {
    place.paths.create()?;
    match BatchLock::take(&place.paths) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(
            Failure::new(FailureKind::Locked, "another batch is already running in this project")
                .hint("`ralph many status` shows it, `ralph many cancel` cancels it"),
        ),
        Err(error) => Err(failed(&format!(
            "the batches of this project cannot be locked: {error}"
        ))),
    }
}

fn site(place: &Place, id: &BatchId, branches: Branches, has_goals: bool) -> Site {
    Site {
        project: place.paths.clone(),
        paths: BatchPaths::new(&place.paths, id),
        branches,
        trusted: trusting(&place.own.texts(&place.project)),
        has_goals,
    }
}

/// Half of the cores: an agent's own builds want the others.
fn default_jobs() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}

fn failed(what: &str) -> Failure {
    Failure::new(FailureKind::Failed, what)
}

fn configuration(what: String) -> Failure {
    Failure::new(FailureKind::Configuration, what)
}

fn branches_of(project: &Path, supervisor: &Supervisor) -> Result<Branches, Failure> {
    Branches::of(project, supervisor).map_err(|error| match error {
        NoRepository::NotARepository { .. } => Failure::of(FailureKind::Failed, &error)
            .hint("`ralph many` gives each plan a branch: git init && git add --all && git commit -m Start"),
        error => error.into(),
    })
}

/// The plans with their names and their order, each of them one that a run can take.
fn planned(place: &Place, paths: &[PathBuf]) -> Result<Vec<Planned>, Failure> {
    if paths.is_empty() {
        return Err(Failure::new(FailureKind::Usage, "no plan is named")
            .hint("`ralph many api.md ui.md` runs two; `ralph many status` shows the last batch"));
    }
    let mut files = Vec::new();
    let mut orders = Vec::new();
    for path in paths {
        let file = file_in_project(&place.project, path)?;
        let bytes = files::read_bytes(&place.project.join(&file), PLAN_CAP_BYTES).map_err(|error| {
            let why = if error.is_missing() {
                "there is no such plan".to_owned()
            } else {
                with_causes(&error)
            };
            configuration(format!("{file}: {why}")).hint("name the files of plans, as in `ralph many api.md ui.md`")
        })?;
        let kind = PlanKind::of(Path::new(&file));
        let reading = plan::read_bytes(kind, &bytes)
            .map_err(|error| configuration(format!("{file}: {error}")).hint(error.hint()))?;
        if reading.plan.tasks.is_empty() {
            return Err(
                configuration(format!("{file}: a plan of a batch needs tasks that can be ticked"))
                    .hint("write them as `- [ ] …`"),
            );
        }
        if let Some(mistake) = reading.mistakes.first() {
            return Err(configuration(format!("{file}: {}: {}", mistake.position, mistake.what))
                .hint("`ralph plan check --plan FILE` lists all mistakes"));
        }
        if reading.plan.open() == 0 {
            return Err(configuration(format!("{file}: every task is done")).hint("leave it out, or add a task"));
        }
        let waits_for = after(&String::from_utf8_lossy(&bytes)).map_err(|error| {
            configuration(format!("{file}: {error}")).hint("write names of plans there, or take the line away")
        })?;
        orders.push(waits_for);
        files.push(file);
    }
    let names = names_of(&files).map_err(|error| {
        Failure::of(FailureKind::Usage, &error).hint("name each plan once: a batch works on a plan once")
    })?;
    let plans = files.into_iter().zip(names);
    let plans = plans.map(|(file, name)| Planned {
        name,
        file,
        after: Vec::new(),
    });
    with_order(plans.collect(), &orders).map_err(|error| {
        Failure::of(FailureKind::Configuration, &error)
            .hint("`after` in a plan's front matter names plans of this batch")
    })
}

/// The path of a plan from the project on, which is where it is in a work tree as well.
fn file_in_project(project: &Path, path: &Path) -> Result<String, Failure> {
    let outside = || {
        configuration(format!("{}: the plan lies outside of the project", path.display()))
            .hint("plans of a batch lie in the project, where each run finds its own")
    };
    let absolute = project.join(path);
    // Of a file that is not there, whatever is typed is said.
    let real = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
        (Some(Ok(directory)), Some(name)) => directory.join(name),
        (_, _) => absolute,
    };
    let file = real.strip_prefix(project).map_err(|_| outside())?;
    if file.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    let text = file.to_str().map(str::to_owned);
    text.ok_or_else(|| configuration(format!("{}: the name is not valid UTF-8", path.display())))
}

/// What a project says to ralph is in every work tree as it was committed: runs that went by something else would surprise.
fn check_own_files(place: &Place, branches: &Branches, has_config: bool) -> Result<(), Failure> {
    for file in place.own.texts(&place.project) {
        let is_config = file.name.ends_with("config.json");
        if is_config && has_config || branches.is_committed(Path::new(&file.name))? {
            continue;
        }
        return Err(configuration(format!(
            "{} is not committed as it is, so the runs of a batch would not see it",
            file.name
        ))
        .hint(format!(
            "git add -f {0} && git commit -m 'Settings of ralph' {0}",
            file.name
        ))
        .hint("or pass the settings with `--config FILE`"));
    }
    Ok(())
}

/// An id that no batch and no branch has.
fn new_id(place: &Place, branches: &Branches) -> Result<BatchId, Failure> {
    let time = batch_time();
    let numbered = (2..).map(|number| format!("{time}-{number}"));
    for name in [time.clone()].into_iter().chain(numbered) {
        let id = BatchId(name);
        let is_free = !BatchPaths::new(&place.paths, &id).dir().exists() && branches.tip(&id.target())?.is_none();
        if is_free {
            return Ok(id);
        }
    }
    Err(failed("there is no name left for a batch"))
}

/// Git has no room for `ralph/…` beside a branch `ralph`.
fn check_room_for_branches(branches: &Branches) -> Result<(), Failure> {
    match branches.tip("ralph")? {
        None => Ok(()),
        Some(_) => Err(
            failed("a branch is named `ralph`, and git has no room for branches `ralph/…` beside it")
                .hint("git branch -m ralph another-name"),
        ),
    }
}

/// Where the branch is that was named with `--into`.
fn checked_target(branches: &Branches, into: &str, plans: &[Planned]) -> Result<String, Failure> {
    let usage = |what: String| Failure::new(FailureKind::Usage, what);
    if !branches.is_name(into)? {
        return Err(
            usage(format!("`--into {into}`: not the name of a branch")).hint("git branch lists those there are")
        );
    }
    let Some(tip) = branches.tip(into)? else {
        return Err(usage(format!("`--into {into}`: there is no such branch")).hint(format!("git branch {into}")));
    };
    let Some(tree) = branches.checked_out_in(into)? else {
        return Ok(tip);
    };
    if !branches.is_clean(&tree, false)? {
        return Err(failed(&format!(
            "`--into {into}`: it is checked out in {} with changes that are not committed",
            tree.display()
        ))
        .hint("commit or stash them, or leave out `--into`: the batch has a branch of its own then"));
    }
    for plan in plans {
        if !branches.is_committed(Path::new(&plan.file))? {
            return Err(failed(&format!(
                "`--into {into}`: it is checked out, and {} is not committed, so the plan's own branch would be in its way",
                plan.file
            ))
            .hint(format!("git add {0} && git commit -m Plan {0}", plan.file)));
        }
    }
    Ok(tip)
}

/// The plan of a batch that somebody named, by its name or its file.
///
/// # Errors
/// A [`Failure`] if there is none.
pub(crate) fn named_plan(plans: &[(PlanName, String)], named: &str) -> Result<PlanName, Failure> {
    let found = plans.iter().find(|(name, file)| name.0 == named || file == named);
    found.map(|(name, _)| name.clone()).ok_or_else(|| {
        let known: BTreeSet<&str> = plans.iter().map(|(name, _)| name.0.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        Failure::new(FailureKind::Usage, format!("`{named}` is no plan of the last batch"))
            .hint(format!("its plans are {}", known.join(", ")))
    })
}

impl From<crate::many::BatchError> for Failure {
    fn from(error: crate::many::BatchError) -> Self {
        use crate::many::BatchError;
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            BatchError::Paths(error) => error.into(),
            BatchError::NoBatch => failure.hint("`ralph many PLAN…` starts one"),
            BatchError::Journal(_) => failure.hint("free some space or make it writable, then `ralph many resume`"),
            BatchError::Signals(_) => failure,
        }
    }
}
