//! Detects denials of the sandbox in the output of an agent's tools, and names the setting that would allow the access.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};
use parking_lot::Mutex;
use ralph_agent::{catalog::Catalog, manifest::Manifest};
use ralph_core::event::Notice;
use ralph_system::sandbox::{
    FilePolicy, ListedPath, ListingReason, PathAccess,
    denials::{Forbidden, denied_paths, forbidden, places_denied_elsewhere, unnamed_place},
};

use ralph_text::shell_quoted;

use super::{Confiner, place::where_it_leads};
use ralph_driver::DenialScanner;

/// Maximum number of paths reported in a run.
const MOST_TOLD: usize = 50;

/// Directories whose denials are not about files.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Directories in the home that many programs share.
const SHARED: [&str; 6] = [
    ".config",
    ".local",
    ".local/bin",
    ".local/share",
    ".local/state",
    ".cache",
];

/// The sandbox policies of a run's agents.
pub(super) struct Denials {
    project: PathBuf,
    home: Option<PathBuf>,
    policies: BTreeMap<String, FilePolicy>,
    goals: FilePolicy,
    told: Mutex<BTreeSet<PathBuf>>,
    told_forbidden: Mutex<BTreeSet<Forbidden>>,
}

impl Denials {
    pub(super) fn of<'a>(
        confiner: &Confiner,
        catalog: &Catalog,
        project: &Path,
        agents: impl Iterator<Item = &'a str>,
    ) -> Self {
        let manifests = agents.filter_map(|id| catalog.manifest(id).ok());
        let policy = |manifest: Option<&Manifest>| confiner.policy(manifest).in_effect(Path::exists);
        Self {
            project: project.to_owned(),
            home: dirs::home_dir(),
            policies: manifests
                .map(|manifest| (manifest.id.clone(), policy(Some(&manifest))))
                .collect(),
            goals: policy(None),
            told: Mutex::default(),
            told_forbidden: Mutex::default(),
        }
    }

    /// Returns the notice about a denial at `written`, if the sandbox has caused it and it is the first one.
    fn notice(&self, policy: &FilePolicy, who: &str, written: &str) -> Option<Notice> {
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
        let path = match hidden {
            Some(_) => path,
            None => self.place_to_allow(&path).to_owned(),
        };
        let is_new_name = self.home.as_deref() == path.parent() && !path.exists();
        self.is_new(hidden.as_ref().unwrap_or(&path))
            .then(|| path_denied(who, &path, hidden.as_deref(), is_new_name))
    }

    fn scan(&self, policy: &FilePolicy, who: &str, output: &str) -> Vec<Notice> {
        // With an agent that holds the keys, ssh was refused that one, and no key has to be shown.
        let has_agent = env::var_os("SSH_AUTH_SOCK").is_some();
        let unnamed = unnamed_place(output).filter(|&place| place != "~/.ssh" || !has_agent);
        let is_key = |path: &&str| has_agent && output.contains(&format!("Load key \"{path}\""));
        denied_paths(output)
            .filter(|path| !is_key(path))
            .chain(places_denied_elsewhere(output))
            .chain(unnamed)
            .filter_map(|path| self.notice(policy, who, path))
            .chain(self.forbidden(output))
            .collect()
    }

    /// The place that `sandbox.write` would have to name for `path` to be written: only existing ones can be allowed, and
    /// the home directory and others that many programs share are no place to allow.
    fn place_to_allow<'a>(&self, path: &'a Path) -> &'a Path {
        let Some(missing) = path.ancestors().take_while(|path| !path.exists()).last() else {
            return path;
        };
        let shared = |place: &Path| {
            self.home
                .as_ref()
                .is_some_and(|home| home.starts_with(place) || SHARED.iter().any(|shared| home.join(shared) == *place))
        };
        missing.parent().filter(|place| !shared(place)).unwrap_or(missing)
    }

    /// Returns the notice that an agent tried to read the files of a sealed goal, which no setting allows.
    fn sealed(&self, directory: &Path) -> Option<Notice> {
        self.is_new(directory)
            .then(|| Notice::warning("sealed-read-attempt", ralph_words::sealed_read_attempt(directory)))
    }

    /// Returns the notice that a tool needs what every sandbox forbids, if it is the first one.
    fn forbidden(&self, output: &str) -> Option<Notice> {
        let what = forbidden(output)?;
        let mut told = self.told_forbidden.lock();
        told.insert(what).then(|| forbidden_in_words(what))
    }

    fn is_new(&self, path: &Path) -> bool {
        let mut told = self.told.lock();
        told.len() < MOST_TOLD && told.insert(path.to_owned())
    }
}

impl DenialScanner for Denials {
    fn denied(&self, adapter: &str, output: &str) -> Vec<Notice> {
        match self.policies.get(adapter) {
            Some(policy) => self.scan(policy, "the agent", output),
            None => Vec::new(),
        }
    }

    fn denied_goal(&self, output: &str) -> Vec<Notice> {
        self.scan(&self.goals, "a goal", output)
    }
}

/// The notice that a tool or a goal was denied access to `path`, which is in the `hidden` place, or readable but not writable.
fn path_denied(who: &str, path: &Path, hidden: Option<&Path>, is_new_name: bool) -> Notice {
    let shown = path.display();
    let allow = format!("`ralph sandbox allow {}`", shell_quoted(&shown.to_string()));
    match hidden.map(Path::display) {
        Some(place) => Notice::warning(
            "sandbox-hides",
            format!("the sandbox hides {shown} from {who}, which wanted it; {allow} shows it"),
        )
        .with("place", place),
        None => {
            // Some tools make another name each time, which nobody can allow.
            let own_home = match is_new_name {
                true => {
                    "; a goal that makes new names in your home directory takes one of its own: HOME=\"$(mktemp -d)\" COMMAND"
                }
                false => "",
            };
            Notice::warning(
                "sandbox-denied",
                format!("the sandbox kept {who} from writing {shown}; {allow} allows it{own_home}"),
            )
            .with("path", shown)
        }
    }
}

fn forbidden_in_words(what: Forbidden) -> Notice {
    let what = match what {
        Forbidden::UserNamespace => {
            "make a sandbox or a container of its own (bwrap, podman, Chromium without --no-sandbox)"
        }
        Forbidden::GitConfiguration => "change your own git configuration (git config --global)",
        Forbidden::Privileges => "gain rights (sudo, ping, other setuid programs)",
    };
    let text = format!("the sandbox lets no program {what}; to allow it: --sandbox off");
    Notice::warning("sandbox-forbids", text)
}

/// Whether ralph itself may write to or create `path`.
fn may_write(path: &Path) -> bool {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.is_some_and(|there| access(there, AccessFlags::W_OK).is_ok())
}
