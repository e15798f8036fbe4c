//! The sandbox as the settings, the adapters and this machine make it.

use std::{
    env,
    path::{Path, PathBuf},
};

use ralph_agent::{
    catalog::Catalog,
    manifest::{Manifest, Transport},
};
use ralph_core::event::Notice;
use ralph_plan::prompt::Confined;
use ralph_state::store::paths::create_private_dir;
use ralph_system::{
    proc::{Confinement, ConfinementLevel, Supervisor},
    proxy::Refused,
    sandbox::{
        Policy, Wanted, World, expanded,
        hosts::{Host, Hosts},
    },
};
use ralph_words::lacking_in_words;

use super::{Place, place::where_it_leads, strict::Strict};
use crate::{
    config::{Config, SandboxMode},
    error::Failure,
};

/// What `git -c` hands over to the programs that git starts, and git takes from whoever starts it.
const GIT_PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

/// Confines agents and goals.
#[derive(Debug)]
pub(crate) struct Confiner {
    level: ConfinementLevel,
    wanted: Wanted,
    /// The user's hosts.
    hosts: Vec<String>,
    /// Git signs the user's commits.
    signs: bool,
    is_strict: bool,
    /// Once something is to be started.
    strict: Option<Strict>,
    /// The directory of the copies in which sealed goals run.
    copies: PathBuf,
}

impl Confiner {
    /// Ready to start something; none where the settings leave the sandbox off: then nothing is looked for either. `on_refused`
    /// hears of connections that are refused.
    ///
    /// # Errors
    /// A [`Failure`] if the settings want it strict, and something that it takes is missing.
    pub(super) fn wanted(
        place: &Place,
        config: &Config,
        catalog: &Catalog,
        supervisor: &Supervisor,
        on_refused: impl Fn(Refused) + Send + Sync + 'static,
    ) -> Result<Option<Self>, Failure> {
        if config.sandbox.mode == SandboxMode::Off {
            return Ok(None);
        }
        let mut confiner = Self::new(place, config, catalog, supervisor);
        confiner.enforce(place, on_refused)?;
        Ok(Some(confiner))
    }

    /// For a look at what it allows, also where the settings leave it off: as if it were on then.
    pub(crate) fn new(place: &Place, config: &Config, catalog: &Catalog, supervisor: &Supervisor) -> Self {
        let settings = &config.sandbox;
        let states = catalog.ids().filter_map(|id| catalog.manifest(id).ok());
        let is_strict = settings.mode == SandboxMode::Strict;
        Confiner {
            level: Supervisor::confinement_level(),
            wanted: Wanted {
                project: place.project.clone(),
                git: ralph_git::directories(&place.project, supervisor),
                ralph_state: place.paths.states().root().to_owned(),
                own: Vec::new(),
                own_files: Vec::new(),
                others: states
                    .flat_map(|manifest| manifest.state.into_iter().chain(manifest.state_files))
                    .collect(),
                private: is_strict.then(|| vec![place.paths.caches()]),
                write: settings.write.clone(),
                hide: settings.hide.clone(),
                show: settings.show.clone(),
                sealed: sealed_directories(place, config),
            },
            copies: place.paths.sealed_copies(),
            hosts: settings.hosts.clone(),
            signs: ralph_git::signs_commits(&place.project, supervisor),
            is_strict,
            strict: None,
        }
    }

    /// Gets what a strict sandbox takes, and makes sure that this machine can hold it.
    ///
    /// # Errors
    /// A [`Failure`] that names what is missing.
    pub(crate) fn enforce(
        &mut self,
        place: &Place,
        on_refused: impl Fn(Refused) + Send + Sync + 'static,
    ) -> Result<(), Failure> {
        if self.is_strict {
            let strict = Strict::start(self.level, &place.paths.caches(), on_refused)?;
            self.wanted.private = Some(vec![strict.temporary().to_owned(), place.paths.caches()]);
            self.strict = Some(strict);
            Strict::try_out(self.confinement(None)?)?;
        }
        Ok(())
    }

    pub(crate) fn level(&self) -> ConfinementLevel {
        self.level
    }

    /// Directories of sealed goals, which it hides.
    pub(super) fn sealed(&self) -> &[PathBuf] {
        &self.wanted.sealed
    }

    /// Returns the confinement of sealed goals, without their copy of the project.
    ///
    /// # Errors
    /// As [`Confiner::confinement`].
    pub(super) fn of_sealed_goals(&self) -> Result<Confinement, Failure> {
        let policy = self.policy(None).writing_only([]);
        self.held_to(&policy, None)
    }

    /// What an agent is told of it.
    pub(super) fn confined(&self) -> Confined {
        match (self.level, self.is_strict) {
            (ConfinementLevel::None, _) => Confined::No,
            (ConfinementLevel::Landlock { .. }, false) => Confined::On,
            (ConfinementLevel::Landlock { .. }, true) => Confined::Strict,
        }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// What the agent of `manifest` may do; a goal, if it is none.
    pub(crate) fn policy(&self, manifest: Option<&Manifest>) -> Policy {
        let home = dirs::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        let variable = |name: &str| env::var(name).ok();
        let world = World {
            home: home.as_deref(),
            variable: &variable,
        };
        let wanted = Wanted {
            own: manifest.map(|manifest| manifest.state.clone()).unwrap_or_default(),
            own_files: manifest
                .map(|manifest| manifest.state_files.clone())
                .unwrap_or_default(),
            ..self.wanted.clone()
        };
        Policy::of(&wanted, &world).resolved(where_it_leads)
    }

    /// The hosts that the agent of `manifest`, or a goal, connects to in a strict sandbox.
    pub(crate) fn hosts(&self, manifest: Option<&Manifest>) -> Hosts {
        let of_agent = manifest.iter().flat_map(|manifest| &manifest.hosts);
        // Those of the settings were checked as they were read, and those of a manifest that are none allow nothing.
        of_agent
            .chain(&self.hosts)
            .filter_map(|host| Host::read(host))
            .collect()
    }

    /// What `proc` holds the agent of `manifest` to, or a goal.
    ///
    /// # Errors
    /// A [`Failure`] if there are no random numbers for a token.
    pub(crate) fn confinement(&self, manifest: Option<&Manifest>) -> Result<Confinement, Failure> {
        let policy = self.policy(manifest);
        make_missing(&policy);
        self.held_to(&policy, manifest)
    }

    fn held_to(&self, policy: &Policy, manifest: Option<&Manifest>) -> Result<Confinement, Failure> {
        let paths = |places: &[ralph_system::sandbox::Place]| places.iter().map(|place| place.path.clone()).collect();
        let open = Confinement {
            write: paths(&policy.write),
            read: Vec::new(),
            hidden: paths(&policy.hidden),
            unlisted: self.unlisted(),
            required: false,
            abi: None,
            network: None,
            variables: match self.leaves_unsigned(policy) {
                true => vec![(GIT_PARAMETERS.to_owned(), Some(unsigned()))],
                false => Vec::new(),
            },
        };
        let serves = manifest.is_some_and(|manifest| manifest.transport == Transport::Http);
        match &self.strict {
            Some(strict) => strict.confinement(open, self.hosts(manifest), serves),
            None => Ok(open),
        }
    }

    /// Directories whose names are hidden as well: those of sealed goals, and the copies with their files.
    fn unlisted(&self) -> Vec<PathBuf> {
        if self.wanted.sealed.is_empty() {
            return Vec::new();
        }
        // A rule can leave out only a directory that exists.
        _ = create_private_dir(&self.copies); // refused to ralph as well: then no copy is made
        self.wanted.sealed.iter().chain([&self.copies]).cloned().collect()
    }

    /// Whether commits that git would sign are left unsigned, since no key can be read.
    fn leaves_unsigned(&self, policy: &Policy) -> bool {
        let is_hidden = |name: &str| policy.hidden.iter().any(|place| place.path.ends_with(name));
        self.signs && is_hidden(".gnupg") && is_hidden(".ssh")
    }

    /// What the user should know before the run.
    pub(super) fn notices(&self, manifest: Option<&Manifest>) -> Vec<Notice> {
        let ConfinementLevel::Landlock { abi } = self.level else {
            return vec![Notice::SandboxMissing];
        };
        let policy = self.policy(manifest);
        let hidden = policy.hidden.iter().filter(|place| place.path.exists()).count() as u64;
        let exposed = policy.exposed().filter(|place| place.path.exists());
        let exposed = exposed.map(|place| Notice::SandboxExposes {
            path: place.path.clone(),
        });
        let on = match self.is_strict {
            true => Notice::SandboxStrict {
                abi,
                hidden,
                hosts: self.hosts(manifest).iter().map(ToString::to_string).collect(),
            },
            false => Notice::SandboxOn { abi, hidden },
        };
        let unsigned = self.leaves_unsigned(&policy).then_some(Notice::CommitsUnsigned);
        let weak = (!lacking_in_words(abi).is_empty()).then_some(Notice::SandboxWeak { abi });
        [on].into_iter().chain(unsigned).chain(weak).chain(exposed).collect()
    }
}

/// What starts the agent of `manifest`, or goals: confined, where there is a confiner.
///
/// # Errors
/// As [`Confiner::confinement`].
pub(super) fn starting(
    confiner: Option<&Confiner>,
    supervisor: &Supervisor,
    manifest: Option<&Manifest>,
) -> Result<Supervisor, Failure> {
    let Some(confiner) = confiner else {
        return Ok(supervisor.clone());
    };
    Ok(supervisor.confining(Some(confiner.confinement(manifest)?)))
}

/// The directories of all sealed goals, also of those that are off, where they lead.
fn sealed_directories(place: &Place, config: &Config) -> Vec<PathBuf> {
    let goals = config.goals.enabled.iter().chain(&config.goals.disabled);
    let written = goals.filter_map(|goal| goal.sealed.as_deref());
    written
        .filter_map(|path| expanded_here(path, &place.project))
        .map(|path| where_it_leads(&path))
        .collect()
}

/// The place that a setting names, where the user of this process has it.
pub(super) fn expanded_here(path: &Path, project: &Path) -> Option<PathBuf> {
    let home = dirs::home_dir().and_then(|home| home.into_os_string().into_string().ok());
    let variable = |name: &str| env::var(name).ok();
    let world = World {
        home: home.as_deref(),
        variable: &variable,
    };
    expanded(path.to_str()?, project, &world)
}

/// Has git sign nothing, whatever else it is told.
fn unsigned() -> String {
    let given = env::var(GIT_PARAMETERS).unwrap_or_default();
    format!("{given} 'commit.gpgsign=false' 'tag.gpgsign=false'")
        .trim_start()
        .to_owned()
}

/// What the user is told of a connection that was refused.
pub(crate) fn connection_refused(refused: Refused) -> Notice {
    Notice::ConnectionRefused {
        host: refused.host,
        port: refused.port,
        address: refused.address.map(|address| address.to_string()),
    }
}

/// Makes the directories that a confined program would have made for itself: only what is there can be allowed.
fn make_missing(policy: &Policy) {
    for place in &policy.write {
        if place.is_made && !place.path.exists() {
            // Refused to ralph as well: then the program says so.
            _ = create_private_dir(&place.path);
        }
    }
}
