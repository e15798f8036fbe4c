//! Puts a batch together: what may stand in its way is found out before anything starts.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_git::{Branches, NoRepository};
use ralph_plan::batch::{BatchId, BatchLimits, Input, LOCAL, PlanName, Planned};
use ralph_policy::trust::trusting;
use ralph_system::proc::Supervisor;

use super::{
    Place,
    agents::check_limits_hold,
    batch_plans::{configuration, planned},
    divided::{check_divided, sections_of},
    gate::{guard, known_runners},
    keep::kept,
    sealed::sealed_goals_here,
};
use crate::{
    config::Config,
    driver::batch_time,
    error::{Failure, FailureKind},
    many::{BatchLock, BatchPaths, Engine, EngineCatalog, EngineError, MergeGate, Site, batches_in, latest, prune},
};

/// What a batch was asked for.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) plans: &'a [PathBuf],
    /// A plan whose sections are the plans.
    pub(crate) each_section: Option<&'a Path>,
    /// How many runs at a time; none for half of the cores, and for all where an engine has its own queue.
    pub(crate) jobs: Option<u32>,
    /// What runs the jobs.
    pub(crate) engine: &'a str,
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
    pub(crate) engine: Engine,
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
    let engine = engine(place, wish.engine)?;
    check_limits_hold(place, config, supervisor)?;
    let branches = branches_of(&place.project, supervisor)?;
    let plans = match wish.each_section {
        Some(path) => sections_of(place, path)?,
        None => planned(place, wish.plans)?,
    };
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
    if let Some(sealed) = sealed_goals_here(place, config, supervisor) {
        sealed?;
    }
    if wish.each_section.is_some() {
        check_divided(&branches, &plans)?;
    }
    let lock = lock(place, supervisor)?;
    let id = new_id(place, &branches)?;
    let paths = BatchPaths::new(&place.paths, &id);
    // Of a batch that was killed: with one of them git lists no work trees.
    branches.remove_torn_entries(paths.trees_of_project())?;
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
    if config.goals.enabled.is_empty() {
        notes.push("there are no goals: what merges without conflict is merged, and nothing verifies it".to_owned());
    }
    let mut site = site(place, &id, branches, !config.goals.enabled.is_empty());
    site.gate = merge_gate(place, config)?;
    notes.extend(prune(&site, None, kept(config), SystemTime::now()));
    Ok(Prepared {
        start: Input::Start {
            target,
            base,
            jobs: wish.jobs.unwrap_or_else(|| default_jobs(&engine, plans.len())),
            engine: engine.id().to_owned(),
            arguments: wish.arguments,
            plans,
            limits: wish.limits,
        },
        id,
        engine,
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

/// The place of a batch that goes on with these settings.
///
/// # Errors
/// A [`Failure`] if the project is in no repository any more, or if its tests cannot be guarded.
pub(crate) fn site_to_resume(
    place: &Place,
    id: &BatchId,
    config: &Config,
    supervisor: &Supervisor,
) -> Result<Site, Failure> {
    let mut site = site_of_batch(place, id, !config.goals.enabled.is_empty(), supervisor)?;
    site.gate = merge_gate(place, config)?;
    Ok(site)
}

/// The rules by which the tests of merged trees are judged.
fn merge_gate(place: &Place, config: &Config) -> Result<MergeGate, Failure> {
    Ok(MergeGate {
        guard: guard(known_runners(place, config)?, config, &place.project)?,
        require: config.gate.require,
    })
}

/// Prunes what the batches before the last one have left, as old runs are; returns why something could not be removed.
pub(super) fn prune_batches(place: &Place, config: &Config, supervisor: &Supervisor) -> Vec<String> {
    let Some(last) = latest(&place.paths).filter(|_| batches_in(place.paths.state()).len() > 1) else {
        return Vec::new();
    };
    // A batch that works has pruned at its own start.
    let Ok(Some(_lock)) = BatchLock::take(&place.paths, supervisor) else {
        return Vec::new();
    };
    match site_of_batch(place, &last, false, supervisor) {
        Ok(site) => prune(&site, Some(&last), kept(config), SystemTime::now()),
        // Without a repository nothing can be said about branches; the next start tries again.
        Err(_) => Vec::new(),
    }
}

/// Has no other batch work in the project.
///
/// # Errors
/// A [`Failure`] if one does.
pub(crate) fn lock(place: &Place, supervisor: &Supervisor) -> Result<BatchLock, Failure> {
    place.paths.create()?;
    match BatchLock::take(&place.paths, supervisor) {
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
        gate: MergeGate::default(),
    }
}

/// All engines there are, the project's own as far as they count.
pub(crate) fn engines(place: &Place) -> EngineCatalog {
    let user = dirs::config_dir().map(|dir| dir.join("ralph").join("engines"));
    EngineCatalog::load(user, &place.own.engines)
}

/// The engine of that name.
///
/// # Errors
/// A [`Failure`] if there is none, or if it cannot be used here.
pub(crate) fn engine(place: &Place, id: &str) -> Result<Engine, Failure> {
    match id {
        LOCAL => Ok(Engine::Local),
        id => Ok(Engine::Described(Box::new(engines(place).installed(id)?))),
    }
}

/// Half of the cores: an agent's own builds want the others. An engine has a queue of its own.
fn default_jobs(engine: &Engine, plans: usize) -> u32 {
    if let Engine::Described(_) = engine {
        return u32::try_from(plans).unwrap_or(u32::MAX);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores / 2).unwrap_or(1).max(1)
}

fn failed(what: &str) -> Failure {
    Failure::new(FailureKind::Failed, what)
}

fn branches_of(project: &Path, supervisor: &Supervisor) -> Result<Branches, Failure> {
    Branches::of(project, supervisor).map_err(|error| match error {
        NoRepository::NotARepository { .. } => Failure::of(FailureKind::Failed, &error)
            .hint("`ralph many` gives each plan a branch: git init && git add --all && git commit -m Start"),
        error => error.into(),
    })
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

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure::of(FailureKind::Configuration, &error).hints(error.hints())
    }
}

impl From<crate::many::BatchError> for Failure {
    fn from(error: crate::many::BatchError) -> Self {
        use crate::many::BatchError;
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            BatchError::Paths(error) => error.into(),
            BatchError::NoBatch => failure.hint("`ralph many PLAN…` starts one"),
            BatchError::Journal(_) => failure.hint("free some space or make it writable, then `ralph many resume`"),
            BatchError::Signals(_) | BatchError::Lost(_) | BatchError::Target(_) => failure,
        }
    }
}
