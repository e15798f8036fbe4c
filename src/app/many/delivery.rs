//! Finds out where verified work is delivered to, before anything starts.

use ralph_forge::{AddressError, Forge, ForgeError, ForgeRepository};
use ralph_git::{Branches, RemoteError, RemoteRepository, remote_address};
use ralph_plan::batch::{Delivery, DeliveryKind, Planned};
use ralph_system::proc::{ConfinementLevel, Supervisor};

use super::{
    super::{Confiner, ProjectPlace, agents::catalog, sandbox::sandbox_missing},
    plans::configuration,
};
use ralph_many::REMOTE;

use crate::{
    config::{Config, DeliverTo},
    error::{Failure, FailureKind},
};

/// The remote that work is delivered to, and whose forge has the issues.
const ORIGIN: &str = "origin";

/// How often failed checks and review comments of a pull request give its agent another task.
const ROUNDS: u32 = 3;

/// Returns the client for the forge of the repository's remote.
///
/// # Errors
/// A [`Failure`] if there is no such remote, or if ralph cannot reach its forge.
pub(super) fn forge(place: &ProjectPlace, branches: &Branches, supervisor: &Supervisor) -> Result<Forge, Failure> {
    let repository = ForgeRepository::parse(&origin(branches)?)?;
    repository.program()?;
    place.paths.create()?;
    Ok(Forge::new(
        repository,
        place.paths.state().to_owned(),
        branches.root().to_owned(),
        supervisor.clone(),
    ))
}

/// The address of the remote.
fn origin(branches: &Branches) -> Result<String, Failure> {
    remote_address(branches, ORIGIN)?.ok_or_else(|| {
        configuration(format!("the repository has no remote `{ORIGIN}`"))
            .hint(format!("git remote add {ORIGIN} https://github.com/OWNER/NAME"))
    })
}

/// Returns where the work of `plans` is delivered to, and the commit from which they begin; `None` if it is merged here.
///
/// # Errors
/// A [`Failure`] that names what stands in the way.
pub(super) fn delivery(
    place: &ProjectPlace,
    config: &Config,
    into: Option<&str>,
    (branches, plans): (&Branches, &[Planned]),
    supervisor: &Supervisor,
) -> Result<Option<(Delivery, String)>, Failure> {
    let kind = match config.deliver {
        DeliverTo::Merge => return Ok(None),
        DeliverTo::Branch => DeliveryKind::Branch,
        DeliverTo::Pr => DeliveryKind::Pr,
    };
    if config.goals.enabled.is_empty() {
        return Err(
            configuration("there are no goals, and only verified work is delivered".to_owned())
                .hint("`ralph init` finds the commands that test the project; `--goal NAME=COMMAND` adds one"),
        );
    }
    let waits = plans.iter().find(|plan| !plan.after.is_empty());
    if let (DeliveryKind::Branch, Some(plan)) = (kind, waits) {
        return Err(configuration(format!(
            "{} waits for the merge of another plan, and `deliver: branch` merges nothing",
            plan.file
        ))
        .hint("`--deliver pr` waits until its pull request is merged"));
    }
    let remote = origin(branches)?;
    let base = match (into, kind) {
        (Some(into), _) => into.to_owned(),
        (None, DeliveryKind::Pr) => forge(place, branches, supervisor)?.default_branch()?,
        (None, DeliveryKind::Branch) => branches.current()?.ok_or_else(|| {
            configuration("no branch is checked out, so nothing says where the work begins".to_owned())
                .hint("`--into BRANCH` names a branch of the remote")
        })?,
    };
    if kind == DeliveryKind::Pr {
        forge(place, branches, supervisor)?;
    }
    place.paths.create()?;
    let directory = place.paths.state().join(REMOTE);
    let commit = RemoteRepository::open(branches, &directory, &remote, supervisor)?.fetch(&base)?;
    let head = branches.commit_of("HEAD")?.unwrap_or_default();
    if !branches.is_ancestor(&head, &commit)? {
        return Err(configuration(format!(
            "your branch has commits that `{base}` of {ORIGIN} has not, so the plans would begin without them"
        ))
        .hint(format!("git push {ORIGIN} HEAD:{base}"))
        .hint("or `--into BRANCH`, a branch of the remote that has them"));
    }
    let delivery = Delivery {
        kind,
        remote,
        base,
        rounds: ROUNDS,
    };
    Ok(Some((delivery, commit)))
}

/// Says which keys the agents of a batch can read; `delivers` tells whether its work leaves this machine.
///
/// # Errors
/// A [`Failure`] if work is delivered, and a place that the sandbox should hide can be read: with the keys there, an agent
/// delivers by itself what nobody has verified.
pub(super) fn readable_keys(
    place: &ProjectPlace,
    config: &Config,
    delivers: bool,
    supervisor: &Supervisor,
) -> Result<Option<String>, Failure> {
    let Some(confiner) = Confiner::unless_off(place, config, &catalog(place, config), supervisor) else {
        return Ok(delivers.then(|| {
            "the sandbox is off, so agents can read the files with the forge's token; `sandbox.mode` \"on\" hides them"
                .to_owned()
        }));
    };
    if confiner.level() == ConfinementLevel::None {
        return Ok(Some(sandbox_missing().text.to_string()));
    }
    let exposed: Vec<String> = confiner
        .exposed(None)
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let (are, they) = if exposed.len() == 1 {
        ("is", "it lies")
    } else {
        ("are", "they lie")
    };
    let what = || {
        let places = exposed.join(", ");
        format!("{places} {are} not hidden from the agents, since {they} in a place that they write to")
    };
    match (exposed.is_empty(), delivers) {
        (true, _) => Ok(None),
        (false, false) => Ok(Some(what())),
        (false, true) => Err(configuration(what())
            .hint("`ralph sandbox` lists the places that agents write to; `sandbox.write` adds to them")
            .hint("move the files out of these places, or list them in `sandbox.show` if agents may read them")),
    }
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Failure {
        let failure = Failure::of(FailureKind::Configuration, &error);
        match error {
            AddressError::NoForge { .. } => failure.hint(format!("git remote set-url {ORIGIN} https://github.com/OWNER/NAME")),
            AddressError::Unsupported { .. } => {
                failure.hint("`--deliver branch` pushes a branch to any remote, and `ralph import` reads requirements from any program")
            }
        }
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Failure {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        let failure = Failure::of(FailureKind::Failed, &error);
        match error {
            RemoteError::Login { .. } => {
                failure.hint("`git fetch` in the project shows whether git may reach the remote")
            }
            RemoteError::NoBranch { .. } => failure.hint("`git branch --remotes` lists those there are"),
            RemoteError::MovedByOthers { .. }
            | RemoteError::Refused { .. }
            | RemoteError::Unreachable { .. }
            | RemoteError::Git(_) => failure,
        }
    }
}
