//! Sealed goals: checks whether their files can be hidden from agents here.

use std::path::{Path, PathBuf};

use ralph_agent::catalog::Catalog;
use ralph_core::event::Goal;
use ralph_system::{
    proc::{ConfinementLevel, Supervisor},
    sandbox::{FilePolicy, ListingReason, PathAccess},
};

use super::{Confiner, ProjectPlace, agents::catalog, place::where_it_leads, sandbox::expanded_here};
use crate::{
    config::{Config, SandboxMode},
    error::{Failure, FailureKind},
};

/// Returns the enabled goals, sealed ones with their resolved directory, after checking that no agent can read or write
/// it.
///
/// # Errors
/// A [`Failure`] that says why a sealed goal cannot be hidden from agents.
pub(crate) fn sealed_goals(
    place: &ProjectPlace,
    config: &Config,
    catalog: &Catalog,
    confiner: Option<&Confiner>,
) -> Result<Vec<Goal>, Failure> {
    let mut goals = config.goals.enabled.clone();
    let is_sealed = |goal: &Goal| goal.sealed.is_some();
    let Some(first) = goals.iter().find(|goal| is_sealed(goal)) else {
        return Ok(goals);
    };
    let confiner = confined(first, config, confiner)?;
    let own = confiner.policy(None);
    let manifests = catalog.ids().filter_map(|id| catalog.manifest(id).ok());
    let policies: Vec<FilePolicy> = manifests.map(|manifest| confiner.policy(Some(&manifest))).collect();
    for goal in &mut goals {
        let Some(written) = goal.sealed.take() else { continue };
        let directory = directory(goal, &written, place)?;
        if goal.on_edit {
            return Err(refused(
                goal,
                "a sealed goal is not run after edits: its score would guide them",
                "take out `\"onEdit\": true`",
            ));
        }
        for policy in [&own].into_iter().chain(&policies) {
            is_kept(goal, &directory, &place.project, policy)?;
        }
        goal.sealed = Some(directory);
    }
    if let Some(state) = own.exposed().find(|place| place.why == ListingReason::RalphState) {
        return Err(Failure::new(
            FailureKind::Configuration,
            format!(
                "a sealed goal stores its output in {}, which agents may write to and read",
                state.path.display()
            ),
        )
        .hint("set XDG_STATE_HOME to a directory outside of the project and of /tmp"));
    }
    Ok(goals)
}

/// The number of sealed goals that can run here; `None` if no goal is sealed.
pub(crate) fn sealed_goals_here(
    place: &ProjectPlace,
    config: &Config,
    supervisor: &Supervisor,
) -> Option<Result<usize, Failure>> {
    let count = config.goals.enabled.iter().filter(|goal| goal.sealed.is_some()).count();
    if count == 0 {
        return None;
    }
    let catalog = catalog(place, config);
    let confiner = Confiner::unless_off(place, config, &catalog, supervisor);
    Some(sealed_goals(place, config, &catalog, confiner.as_ref()).map(|_| count))
}

fn refused(goal: &Goal, why: &str, hint: &str) -> Failure {
    let text = format!("goal `{}` is sealed: {why}", goal.name);
    Failure::new(FailureKind::Configuration, text).hint(hint)
}

/// Returns the confiner if it can confine agents.
fn confined<'a>(goal: &Goal, config: &Config, confiner: Option<&'a Confiner>) -> Result<&'a Confiner, Failure> {
    let Some(confiner) = confiner else {
        return Err(refused(
            goal,
            "without the sandbox agents read its files",
            "turn it on with `--sandbox on`, or leave the goal out with `\"enabled\": false`",
        ));
    };
    if confiner.level() == ConfinementLevel::None {
        return Err(refused(
            goal,
            "this system has no Landlock that keeps its files from agents",
            "Linux 5.13 or newer has it; `\"enabled\": false` leaves the goal out",
        ));
    }
    match &config.server {
        Some(url) if config.sandbox.mode != SandboxMode::Off => Err(refused(
            goal,
            &format!("the server {url} runs outside of the sandbox, and reads its files"),
            "without `--server`, ralph starts one in the sandbox",
        )),
        _ => Ok(confiner),
    }
}

/// Returns the directory of a sealed goal, with links resolved.
fn directory(goal: &Goal, written: &Path, place: &ProjectPlace) -> Result<PathBuf, Failure> {
    const HINT: &str = "`sealed` names a directory outside of the project, such as \"~/held-out/api\"";
    let shown = written.display();
    let Some(path) = expanded_here(written, &place.project) else {
        return Err(refused(
            goal,
            &format!("{shown} begins with a variable that is not set"),
            HINT,
        ));
    };
    let real = path.canonicalize().map_err(|error| {
        let hint = "create it, or use an absolute path or one that begins with `~/`";
        refused(goal, &format!("{} cannot be used: {error}", path.display()), hint)
    })?;
    let project = where_it_leads(&place.project);
    let shown = real.display();
    match (real.is_dir(), real.starts_with(&project), project.starts_with(&real)) {
        (false, _, _) => Err(refused(goal, &format!("{shown} is not a directory"), HINT)),
        (true, true, _) => Err(refused(
            goal,
            &format!("{shown} is in the project, where agents read and write"),
            HINT,
        )),
        (true, false, true) => Err(refused(goal, &format!("{shown} contains the project"), HINT)),
        (true, false, false) => Ok(real),
    }
}

/// Checks that under `policy` the directory can be neither read nor written, and that it contains no other hidden path.
fn is_kept(goal: &Goal, directory: &Path, project: &Path, policy: &FilePolicy) -> Result<(), Failure> {
    let shown = directory.display();
    let below = |path: &Path| path.starts_with(directory);
    let written = match policy.access(directory) {
        PathAccess::Write(place) => Some(place),
        PathAccess::Hidden(_) | PathAccess::Read => policy.write.iter().find(|place| below(&place.path)),
    };
    if let Some(written) = written.filter(|place| place.path != project) {
        let why = format!(
            "{shown} can be read and written by agents, as {} ({})",
            written.path.display(),
            written.why.in_words()
        );
        return Err(refused(
            goal,
            &why,
            "move it to a separate directory, such as ~/held-out",
        ));
    }
    let is_other = |place: &&ralph_system::sandbox::ListedPath| match place.why {
        ListingReason::Sealed | ListingReason::Setting => false,
        ListingReason::Project
        | ListingReason::Git
        | ListingReason::Agent
        | ListingReason::Cache
        | ListingReason::Private
        | ListingReason::Temporary
        | ListingReason::Device
        | ListingReason::RawDevice
        | ListingReason::Credentials
        | ListingReason::History
        | ListingReason::OtherAgent
        | ListingReason::RalphState => below(&place.path) || directory.starts_with(&place.path),
    };
    match policy.hidden.iter().find(is_other) {
        Some(other) => {
            let why = format!(
                "{shown} would show {} to the goal ({})",
                other.path.display(),
                other.why.in_words()
            );
            Err(refused(
                goal,
                &why,
                "move it to a separate directory, such as ~/held-out",
            ))
        }
        None => Ok(()),
    }
}
