//! The sandbox as the settings, the adapters and this machine make it.

use std::env;

use super::Place;
use crate::{
    agent::{catalog::Catalog, manifest::Manifest},
    config::{Config, SandboxMode},
    event::Notice,
    git,
    proc::{Confinement, ConfinementLevel, Supervisor},
    sandbox::{Policy, Wanted, World},
    store::paths::create_private_dir,
};

/// Confines agents and goals.
#[derive(Debug)]
pub(crate) struct Confiner {
    level: ConfinementLevel,
    wanted: Wanted,
}

impl Confiner {
    /// None where the settings leave the sandbox off: then nothing is looked for either.
    pub(super) fn wanted(place: &Place, config: &Config, catalog: &Catalog, supervisor: &Supervisor) -> Option<Self> {
        match config.sandbox.mode {
            SandboxMode::Off => None,
            SandboxMode::On => Some(Self::new(place, config, catalog, supervisor)),
        }
    }

    /// As if the settings had it on.
    pub(crate) fn new(place: &Place, config: &Config, catalog: &Catalog, supervisor: &Supervisor) -> Self {
        let settings = &config.sandbox;
        let states = catalog.ids().filter_map(|id| catalog.manifest(id).ok());
        Confiner {
            level: Supervisor::confinement_level(),
            wanted: Wanted {
                project: place.project.clone(),
                git: git::directories(&place.project, supervisor),
                ralph_state: place.paths.states().root().to_owned(),
                own: Vec::new(),
                own_files: Vec::new(),
                others: states
                    .flat_map(|manifest| manifest.state.into_iter().chain(manifest.state_files))
                    .collect(),
                write: settings.write.clone(),
                hide: settings.hide.clone(),
                show: settings.show.clone(),
            },
        }
    }

    pub(crate) fn level(&self) -> ConfinementLevel {
        self.level
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
        Policy::of(&wanted, &world)
    }

    /// Starts what `supervisor` starts as it may be: the agent of `manifest`, or goals.
    fn confine(&self, supervisor: &Supervisor, manifest: Option<&Manifest>) -> Supervisor {
        let policy = self.policy(manifest);
        make_missing(&policy);
        supervisor.confining(Some(confinement(&policy)))
    }

    /// What the user should know before the run.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let ConfinementLevel::Landlock { abi } = self.level else {
            return vec![Notice::SandboxMissing];
        };
        let policy = self.policy(None);
        let hidden = policy.hidden.iter().filter(|place| place.path.exists()).count() as u64;
        let exposed = policy.exposed().filter(|place| place.path.exists());
        let exposed = exposed.map(|place| Notice::SandboxExposes {
            path: place.path.clone(),
        });
        [Notice::SandboxOn { abi, hidden }].into_iter().chain(exposed).collect()
    }
}

/// What starts the agent of `manifest`, or goals: confined, where there is a confiner.
pub(super) fn starting(
    confiner: Option<&Confiner>,
    supervisor: &Supervisor,
    manifest: Option<&Manifest>,
) -> Supervisor {
    match confiner {
        Some(confiner) => confiner.confine(supervisor, manifest),
        None => supervisor.clone(),
    }
}

/// Makes the directories that a confined program would have made for itself: only what is there can be allowed.
pub(crate) fn make_missing(policy: &Policy) {
    for place in &policy.write {
        if place.is_made && !place.path.exists() {
            // Refused to ralph as well: then the program says so.
            _ = create_private_dir(&place.path);
        }
    }
}

/// What `proc` makes of a policy.
pub(crate) fn confinement(policy: &Policy) -> Confinement {
    let paths = |places: &[crate::sandbox::Place]| places.iter().map(|place| place.path.clone()).collect();
    Confinement {
        write: paths(&policy.write),
        read: Vec::new(),
        hidden: paths(&policy.hidden),
        required: false,
        abi: None,
    }
}
