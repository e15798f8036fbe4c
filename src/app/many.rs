//! Prepares a batch: everything that can fail is checked before any process starts.

mod board;
mod delivery;
mod divided;
mod plans;
mod tree_settings;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ralph_core::event::{Goal, GoalResult, Trial};
use ralph_forge::{Forge, ISSUES};
use ralph_git::{Branches, CommitSigning, NoRepository, exclude, unmovable};
use ralph_plan::batch::{BatchId, BatchInput, BatchLimits, LOCAL, PlanName, Planned};
use ralph_policy::trust::trusting;
use ralph_system::{
    files::Directory,
    paths::create_private_dir,
    proc::{Confinement, Supervisor},
};

use super::{
    Confiner, ProjectPlace,
    agents::{AgentChooser, Agents, catalog},
    gate::{guard, known_runners},
    keep::kept,
    sealed::sealed_goals_here,
};
pub(crate) use board::{
    BatchBegan, BoardOptions, ClosedBoard, follow_batch, output_of_batch, run_batch_detached, watch_batch,
};
use delivery::{delivery, forge, readable_keys};
use divided::{check_divided, sections_of};
pub(crate) use plans::added_to_batch;
use plans::{configuration, planned};
use ralph_driver::{ExecutionContext, batch_time};
use ralph_many::{
    BatchLock, BatchPaths, Engine, EngineCatalog, EngineError, JudgingFiles, MergeCheck, MergeGate, Site, batches_in,
    installed, latest, prune,
};
pub(crate) use tree_settings::{OversizedCopy, check_tree_settings};

use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// The options of a new batch.
#[derive(Debug)]
pub(crate) struct BatchRequest<'a> {
    pub(crate) plans: &'a [PathBuf],
    /// A plan whose sections are the plans.
    pub(crate) each_section: Option<&'a Path>,
    /// Number of parallel runs. `None` means half of the cores, or all plans if the engine has its own queue.
    pub(crate) jobs: Option<u32>,
    /// The engine that runs the jobs.
    pub(crate) engine: &'a str,
    /// The target branch; `None` for a new branch of the batch.
    pub(crate) into: Option<&'a str>,
    /// Whether a target branch that does not exist is created.
    pub(crate) creates_target: bool,
    /// The command-line arguments of every run.
    pub(crate) arguments: Vec<String>,
    /// The limits on the use of all plans together.
    pub(crate) limits: BatchLimits,
    /// Whether further plans are expected, so that the batch goes on once all are over.
    pub(crate) watches: bool,
    /// Whether a configuration file was named in addition to the project's own.
    pub(crate) has_config: bool,
}

/// A batch that is ready to start.
pub(crate) struct PreparedBatch {
    pub(crate) id: BatchId,
    pub(crate) engine: Engine,
    pub(crate) site: Site,
    pub(crate) start: BatchInput,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    pub(crate) lock: BatchLock,
}

/// Checks whether a batch can start, and creates its target.
///
/// # Errors
/// A [`Failure`] that names the obstacle; nothing was changed then.
pub(crate) fn prepare_batch(
    place: &ProjectPlace,
    config: &Config,
    wish: BatchRequest<'_>,
    supervisor: &Supervisor,
) -> Result<PreparedBatch, Failure> {
    let engine = engine(place, wish.engine)?;
    check_limits_hold(place, config, supervisor)?;
    let mut branches = branches_of(&place.project, supervisor)?;
    let plans = match wish.each_section {
        Some(path) => sections_of(place, path)?,
        None => planned(place, wish.plans)?,
    };
    let head = branches.commit_of("HEAD")?.ok_or_else(|| {
        failed("the repository has no commit yet, so work trees have nothing to start from")
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
    // `--tree` names the branch to merge into.
    let delivered = match wish.creates_target {
        true => None,
        false => delivery(place, config, wish.into, (&branches, &plans), supervisor)?,
    };
    let readable = readable_keys(place, config, delivered.is_some(), supervisor)?;
    let lock = lock(place, supervisor)?;
    let id = new_id(place, &branches)?;
    let paths = BatchPaths::new(&place.paths, &id);
    branches = confined(branches, place, config, &paths, supervisor)?;
    // Left by a batch that was killed: with such entries, git cannot list work trees.
    branches.remove_torn_entries(paths.trees_of_project())?;
    let (delivery, start) = delivered.map_or((None, None), |(delivery, start)| (Some(delivery), Some(start)));
    let (target, base) = match wish.into {
        _ if delivery.is_some() => (id.target(), start.unwrap_or(head)),
        None => (id.target(), head),
        Some(into) if wish.creates_target && branches.is_name(into)? && branches.tip(into)?.is_none() => {
            (into.to_owned(), head)
        }
        Some(into) => (into.to_owned(), checked_target(&branches, into, &plans)?),
    };
    check_room_for_branches(&branches)?;
    let mut notes = Vec::new();
    if !branches.is_clean(branches.root(), true)? {
        notes.push(
            "uncommitted changes (except the plans) are not in the work trees; each plan starts from the commit"
                .to_owned(),
        );
    }
    notes.extend(readable);
    if config.goals.enabled.is_empty() {
        notes.push("there are no goals: plans that merge without conflict are merged unverified".to_owned());
    }
    let mut site = site(place, &id, branches, !config.goals.enabled.is_empty(), supervisor);
    site.gate = merge_gate(place, config)?;
    site.signing = checked_signing(&site.branches)?;
    notes.extend(prune(&site, None, kept(config), SystemTime::now()));
    Ok(PreparedBatch {
        start: BatchInput::Start {
            target,
            base,
            jobs: wish
                .jobs
                .or(engine.slots())
                .unwrap_or(u32::try_from(plans.len()).unwrap_or(u32::MAX)),
            engine: engine.id().to_owned(),
            arguments: wish.arguments,
            plans,
            limits: wish.limits,
            delivery,
            watches: wish.watches,
        },
        id,
        engine,
        site,
        notes,
        lock,
    })
}

/// The client for the forge of the project's remote.
///
/// # Errors
/// A [`Failure`] if the project is in no repository, has no such remote, or if ralph cannot reach its forge.
pub(crate) fn forge_of_project(place: &ProjectPlace, supervisor: &Supervisor) -> Result<Forge, Failure> {
    forge(place, &branches_of(&place.project, supervisor)?, supervisor)
}

/// Asks the forge of the project's remote, and returns in words what answers.
///
/// # Errors
/// As [`forge_of_project`], or if it does not answer.
pub(crate) fn forge_answer(place: &ProjectPlace, supervisor: &Supervisor) -> Result<String, Failure> {
    let forge = forge_of_project(place, supervisor)?;
    let branch = forge.default_branch()?;
    let at = forge.repository();
    Ok(format!(
        "{}/{}/{} answers, with the branch {branch}",
        at.host, at.owner, at.name
    ))
}

/// Has git ignore the plans that are made from issues.
///
/// # Errors
/// A [`Failure`] if the project is in no repository, or if its list cannot be written.
pub(crate) fn leave_out_plans_of_issues(place: &ProjectPlace, supervisor: &Supervisor) -> Result<(), Failure> {
    let branches = branches_of(&place.project, supervisor)?;
    Ok(exclude(&branches, &[&format!("**/{ISSUES}/")])?)
}

/// The site of an existing batch.
///
/// # Errors
/// A [`Failure`] if the project is no longer in a repository.
pub(crate) fn site_of_batch(
    place: &ProjectPlace,
    id: &BatchId,
    has_goals: bool,
    supervisor: &Supervisor,
) -> Result<Site, Failure> {
    let branches = branches_of(&place.project, supervisor)?;
    Ok(site(place, id, branches, has_goals, supervisor))
}

/// The site of a batch that is resumed with these settings.
///
/// # Errors
/// A [`Failure`] if the project is no longer in a repository, if its tests cannot be guarded, or as [`readable_keys`].
pub(crate) fn site_to_resume(
    place: &ProjectPlace,
    id: &BatchId,
    config: &Config,
    delivers: bool,
    supervisor: &Supervisor,
) -> Result<Site, Failure> {
    readable_keys(place, config, delivers, supervisor)?;
    let mut site = site_of_batch(place, id, !config.goals.enabled.is_empty(), supervisor)?;
    site.branches = confined(site.branches, place, config, &site.paths, supervisor)?;
    site.gate = merge_gate(place, config)?;
    site.signing = checked_signing(&site.branches)?;
    Ok(site)
}

/// Confines git's commands on branches as goals are, unless the sandbox is off.
fn confined(
    branches: Branches,
    place: &ProjectPlace,
    config: &Config,
    paths: &BatchPaths,
    supervisor: &Supervisor,
) -> Result<Branches, Failure> {
    let Some(confiner) = Confiner::unless_off(place, config, &catalog(place, config), supervisor) else {
        return Ok(branches);
    };
    let trees = paths.trees_of_project().to_owned();
    create_private_dir(&trees).map_err(|error| failed(&format!("{}: {error}", trees.display())))?;
    let places = [branches.root().to_owned(), branches.common_dir().to_owned(), trees];
    Ok(branches.confined(merge_confinement(&confiner, places)?))
}

/// Returns the confinement of git for merges of what agents have committed, which may write to `places` as well: the
/// repository's settings, which agents may change, name programs that merges run.
///
/// # Errors
/// As [`Confiner::confinement`].
fn merge_confinement(confiner: &Confiner, places: impl IntoIterator<Item = PathBuf>) -> Result<Confinement, Failure> {
    let mut confinement = confiner.confinement(None)?;
    confinement.write.extend(places);
    if let Some(network) = confinement.network.as_mut().filter(|_| confiner.is_strict()) {
        // Merges need no network. Nothing listens at this port.
        network.proxy_port = Some(0);
    }
    Ok(confinement)
}

/// Refuses limits of a batch that the agents of its runs cannot be held to. Agents that cannot be started here are not
/// checked, since the runs may be on another machine.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub(crate) fn check_limits_hold(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Result<(), Failure> {
    let catalog = catalog(place, config);
    let chooser = AgentChooser::looking(&catalog, config, false, &place.project, supervisor);
    let chosen = chooser.choose(&mut Vec::new());
    let Ok(Agents { agents, workers, .. }) = chosen else {
        return Ok(());
    };
    agents
        .iter()
        .try_for_each(|agent| chooser.held_to_limits(agent, &workers).map(drop))
}

/// The rules for judging the tests of merged trees.
fn merge_gate(place: &ProjectPlace, config: &Config) -> Result<MergeGate, Failure> {
    Ok(MergeGate {
        guard: guard(known_runners(place, config)?, config, &place.project)?,
        require: config.gate.require,
    })
}

/// Prunes leftovers of all batches but the last, by the settings for old runs. Returns why leftovers could not be
/// removed.
pub(super) fn prune_batches(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Vec<String> {
    let Some(last) = latest(&place.paths).filter(|_| batches_in(place.paths.state()).len() > 1) else {
        return Vec::new();
    };
    // A running batch has pruned at its own start.
    let Ok(Some(_lock)) = BatchLock::take(&place.paths, supervisor) else {
        return Vec::new();
    };
    match site_of_batch(place, &last, false, supervisor) {
        Ok(site) => prune(&site, Some(&last), kept(config), SystemTime::now()),
        // Branches cannot be examined without a repository. The next start tries again.
        Err(_) => Vec::new(),
    }
}

/// Runs the goals of a merged tree, also with the tests of both sides, and writes the results into `directory`.
pub(super) async fn check_merged(
    directory: &Path,
    goals: Vec<Goal>,
    parallel: bool,
    place: ExecutionContext,
) -> io::Result<Vec<GoalResult>> {
    let files = JudgingFiles::new(directory.to_owned());
    let (target, plans) = (files.target_store(), files.plan_stores());
    let place = place.with_known_failures(files.known_failures().map_err(io::Error::other)?);
    let stores = [&target].into_iter().chain(&plans).cloned().collect();
    let (results, trials) = ralph_driver::check_merged(goals, parallel, place, stores, &files.record()).await;
    let mut trials: BTreeMap<PathBuf, Trial> = trials.into_iter().collect();
    let check = MergeCheck {
        results,
        with_target: trials.remove(&target),
        with_plans: plans.iter().map(|store| trials.remove(store)).collect(),
    };
    files.write(&check)?;
    Ok(check.results)
}

/// Locks the batches of the project.
///
/// # Errors
/// A [`Failure`] if another batch is running, or if the lock fails.
pub(crate) fn lock(place: &ProjectPlace, supervisor: &Supervisor) -> Result<BatchLock, Failure> {
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

fn site(place: &ProjectPlace, id: &BatchId, branches: Branches, has_goals: bool, supervisor: &Supervisor) -> Site {
    Site {
        project: place.paths.clone(),
        paths: BatchPaths::new(&place.paths, id),
        branches,
        trusted: trusting(&place.own.texts(&place.project)),
        has_goals,
        gate: MergeGate::default(),
        supervisor: supervisor.clone(),
        signing: None,
    }
}

/// Returns how merges into the target are signed. The key is checked now, since nobody may be there to unlock it later.
///
/// # Errors
/// A [`Failure`] if the key cannot be used.
fn checked_signing(branches: &Branches) -> Result<Option<CommitSigning>, Failure> {
    let signing = CommitSigning::in_repository(branches)?;
    if let Some(signing) = &signing {
        signing.check(branches).map_err(|error| {
            failed(&format!(
                "git signs commits of this repository (`commit.gpgSign`), and cannot sign now: {error}"
            ))
            .hint("unlock the key, or leave merges unsigned: git config commit.gpgSign false")
        })?;
    }
    Ok(signing)
}

/// All engines, including the project's own if they are trusted.
pub(crate) fn engines(place: &ProjectPlace) -> EngineCatalog {
    let user = dirs::config_dir().map(|dir| Directory::read(&dir.join("ralph").join("engines")));
    EngineCatalog::load(user.iter().chain([&place.own.engines]))
}

/// The engine of this name.
///
/// # Errors
/// A [`Failure`] if it is unknown or cannot be used here.
pub(crate) fn engine(place: &ProjectPlace, id: &str) -> Result<Engine, Failure> {
    match id {
        LOCAL => Ok(Engine::Local),
        id => Ok(installed(&engines(place), id)?.into()),
    }
}

fn failed(what: &str) -> Failure {
    Failure::new(FailureKind::Failed, what)
}

fn branches_of(project: &Path, supervisor: &Supervisor) -> Result<Branches, Failure> {
    Branches::find(project, supervisor).map_err(|error| match error {
        NoRepository::NotARepository { .. } => Failure::of(FailureKind::Failed, &error)
            .hint("`ralph many` gives each plan a branch: git init && git add --all && git commit -m Start"),
        error => error.into(),
    })
}

/// Checks that the project's own files for ralph are committed: work trees have the committed versions, and other
/// settings would surprise the user.
fn check_own_files(place: &ProjectPlace, branches: &Branches, has_config: bool) -> Result<(), Failure> {
    for file in place.own.texts(&place.project) {
        let is_config = file.name.ends_with("config.json");
        if is_config && has_config || branches.is_committed(Path::new(&file.name))? {
            continue;
        }
        return Err(configuration(format!(
            "{} has uncommitted changes, so the runs of a batch would not see them",
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

/// Returns an id that no batch and no branch has.
fn new_id(place: &ProjectPlace, branches: &Branches) -> Result<BatchId, Failure> {
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

/// Git cannot have branches `ralph/…` beside a branch `ralph`.
fn check_room_for_branches(branches: &Branches) -> Result<(), Failure> {
    match branches.tip("ralph")? {
        None => Ok(()),
        Some(_) => Err(
            failed("a branch is named `ralph`, so git cannot create branches `ralph/…`")
                .hint("git branch -m ralph another-name"),
        ),
    }
}

/// Checks the branch named with `--into`, and returns its commit.
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
    if let Some(why) = unmovable(branches, &tree)? {
        return Err(failed(&format!("`--into {into}`: it is checked out, and {why}"))
            .hint("commit or stash its changes, or leave out `--into` to use a new branch"));
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

/// Finds a plan of a batch by its name or its file.
///
/// # Errors
/// A [`Failure`] if the batch has no such plan.
pub(crate) fn named_plan(plans: &[(PlanName, String)], named: &str) -> Result<PlanName, Failure> {
    let found = plans.iter().find(|(name, file)| name.0 == named || file == named);
    found.map(|(name, _)| name.clone()).ok_or_else(|| {
        let known: BTreeSet<&str> = plans.iter().map(|(name, _)| name.0.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        Failure::new(FailureKind::Usage, format!("`{named}` is not a plan of the last batch"))
            .hint(format!("its plans are {}", known.join(", ")))
    })
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure::of(FailureKind::Configuration, &error).hints(error.hints())
    }
}

impl From<ralph_many::BatchError> for Failure {
    fn from(error: ralph_many::BatchError) -> Self {
        use ralph_many::BatchError;
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            BatchError::Paths(error) => error.into(),
            BatchError::NoBatch => failure.hint("`ralph many PLAN…` starts one"),
            BatchError::Journal(_) => failure.hint("free some space or make it writable, then `ralph many resume`"),
            BatchError::Signals(_) | BatchError::Lost(_) | BatchError::Target(_) => failure,
        }
    }
}
