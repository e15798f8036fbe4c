//! What an agent was denied by the sandbox, found in what its tools print, with the setting that would allow it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use nix::unistd::{AccessFlags, access};
use ralph_agent::{catalog::Catalog, manifest::Manifest};
use ralph_core::event::Notice;
use ralph_system::sandbox::{
    Access, Place, Policy, Why,
    denials::{denied_paths, misses_ssh_keys},
};

use super::{Confiner, place::where_it_leads};
use crate::driver::Warden;

/// Paths that are told of in a run.
const MOST_TOLD: usize = 50;

/// What a program is denied there is not a matter of files.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Knows what each agent of a run may do.
pub(super) struct Denials {
    project: PathBuf,
    home: Option<PathBuf>,
    policies: BTreeMap<String, Policy>,
    told: Mutex<BTreeSet<PathBuf>>,
}

impl Denials {
    pub(super) fn of<'a>(
        confiner: &Confiner,
        catalog: &Catalog,
        project: &Path,
        agents: impl Iterator<Item = &'a str>,
    ) -> Self {
        let manifests = agents.filter_map(|id| catalog.manifest(id).ok());
        let policy = |manifest: Manifest| (manifest.id.clone(), confiner.policy(Some(&manifest)));
        Self {
            project: project.to_owned(),
            home: dirs::home_dir(),
            policies: manifests.map(policy).collect(),
            told: Mutex::default(),
        }
    }

    /// What the sandbox has to do with a denial at `written`, the first time.
    fn notice(&self, policy: &Policy, written: &str) -> Option<Notice> {
        let path = match written.strip_prefix("~/") {
            Some(rest) => self.home.as_ref()?.join(rest),
            None => self.project.join(written),
        };
        let path = where_it_leads(&path);
        if NO_FILES.iter().any(|place| path.starts_with(place)) {
            return None;
        }
        // Above a sealed directory nothing is listed, and no setting changes that.
        let seals = policy.hidden.iter().any(|place| place.why == Why::Sealed);
        let is_above =
            |place: &Place| matches!(place.why, Why::Sealed | Why::RalphState) && place.path.starts_with(&path);
        if seals && policy.access(&path) == Access::Read && policy.hidden.iter().any(is_above) {
            return None;
        }
        let hidden = match policy.access(&path) {
            Access::Write(_) => return None,
            // Nothing that a user would want to change.
            Access::Hidden(place) if place.why == Why::RalphState => return None,
            Access::Hidden(place) if place.why == Why::Sealed => return self.sealed(&place.path),
            Access::Hidden(place) => Some(place.path.clone()),
            Access::Read => None,
        };
        // What its user may not do either is not denied by the sandbox.
        if hidden.is_none() && !may_write(&path) {
            return None;
        }
        self.is_new(hidden.as_ref().unwrap_or(&path))
            .then_some(Notice::SandboxDenied { path, hidden })
    }

    /// Says that an agent wanted the files of a sealed goal, which no setting shows.
    fn sealed(&self, directory: &Path) -> Option<Notice> {
        self.is_new(directory)
            .then(|| Notice::warning(ralph_words::sealed_was_wanted(directory)))
    }

    fn is_new(&self, path: &Path) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST_TOLD && told.insert(path.to_owned())
    }
}

impl Warden for Denials {
    fn denied(&self, adapter: &str, output: &str) -> Vec<Notice> {
        let Some(policy) = self.policies.get(adapter) else {
            return Vec::new();
        };
        // ssh does not say which of its files it misses.
        let of_ssh = misses_ssh_keys(output).then_some("~/.ssh");
        denied_paths(output)
            .chain(of_ssh)
            .filter_map(|path| self.notice(policy, path))
            .collect()
    }
}

/// Whether ralph itself may write to `path`, or make it.
fn may_write(path: &Path) -> bool {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.is_some_and(|there| access(there, AccessFlags::W_OK).is_ok())
}
