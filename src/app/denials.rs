//! Detects denials of the sandbox in the output of an agent's tools, and names the setting that would allow the access.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use nix::unistd::{AccessFlags, access};
use ralph_agent::{catalog::Catalog, manifest::Manifest};
use ralph_core::event::Notice;
use ralph_system::sandbox::{
    FilePolicy, ListedPath, ListingReason, PathAccess,
    denials::{denied_paths, misses_ssh_keys},
};

use super::{Confiner, place::where_it_leads};
use crate::driver::DenialScanner;

/// Maximum number of paths reported in a run.
const MOST_TOLD: usize = 50;

/// Directories whose denials are not about files.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The sandbox policies of a run's agents.
pub(super) struct Denials {
    project: PathBuf,
    home: Option<PathBuf>,
    policies: BTreeMap<String, FilePolicy>,
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

    /// Returns the notice about a denial at `written`, if the sandbox has caused it and it is the first one.
    fn notice(&self, policy: &FilePolicy, written: &str) -> Option<Notice> {
        let path = match written.strip_prefix("~/") {
            Some(rest) => self.home.as_ref()?.join(rest),
            None => self.project.join(written),
        };
        let path = where_it_leads(&path);
        if NO_FILES.iter().any(|place| path.starts_with(place)) {
            return None;
        }
        // Directories above a sealed one cannot be listed, and no setting changes that.
        let seals = policy.hidden.iter().any(|place| place.why == ListingReason::Sealed);
        let is_above = |place: &ListedPath| {
            matches!(place.why, ListingReason::Sealed | ListingReason::RalphState) && place.path.starts_with(&path)
        };
        if seals && policy.access(&path) == PathAccess::Read && policy.hidden.iter().any(is_above) {
            return None;
        }
        let hidden = match policy.access(&path) {
            PathAccess::Write(_) => return None,
            // No user would want to change this.
            PathAccess::Hidden(place) if place.why == ListingReason::RalphState => return None,
            PathAccess::Hidden(place) if place.why == ListingReason::Sealed => return self.sealed(&place.path),
            PathAccess::Hidden(place) => Some(place.path.clone()),
            PathAccess::Read => None,
        };
        // The sandbox is not the cause if the user may not write there either.
        if hidden.is_none() && !may_write(&path) {
            return None;
        }
        self.is_new(hidden.as_ref().unwrap_or(&path))
            .then_some(Notice::SandboxDenied { path, hidden })
    }

    /// Returns the notice that an agent tried to read the files of a sealed goal, which no setting allows.
    fn sealed(&self, directory: &Path) -> Option<Notice> {
        self.is_new(directory)
            .then(|| Notice::warning(ralph_words::sealed_read_attempt(directory)))
    }

    fn is_new(&self, path: &Path) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST_TOLD && told.insert(path.to_owned())
    }
}

impl DenialScanner for Denials {
    fn denied(&self, adapter: &str, output: &str) -> Vec<Notice> {
        let Some(policy) = self.policies.get(adapter) else {
            return Vec::new();
        };
        // ssh does not name every file that it misses. With an agent that holds the keys, it was refused that one, and no
        // key has to be shown.
        let has_agent = env::var_os("SSH_AUTH_SOCK").is_some();
        let of_ssh = (misses_ssh_keys(output) && !has_agent).then_some("~/.ssh");
        let is_key = |path: &&str| has_agent && output.contains(&format!("Load key \"{path}\""));
        denied_paths(output)
            .filter(|path| !is_key(path))
            .chain(of_ssh)
            .filter_map(|path| self.notice(policy, path))
            .collect()
    }
}

/// Whether ralph itself may write to or create `path`.
fn may_write(path: &Path) -> bool {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.is_some_and(|there| access(there, AccessFlags::W_OK).is_ok())
}
