//! What rules need of the world: paths as they are on this disk, and agents that can be held to them.

use std::path::{Path, PathBuf};

use super::Place;
use crate::{
    error::{Failure, FailureKind},
    event::PermissionMode,
    permissions::{List, Paths, Policy},
};

/// The paths of this machine.
pub(crate) struct Disk {
    project: String,
    home: Option<String>,
}

impl Disk {
    pub(crate) fn of(place: &Place) -> Self {
        Disk {
            project: place.project.to_string_lossy().into_owned(),
            home: dirs::home_dir().and_then(|home| home.into_os_string().into_string().ok()),
        }
    }
}

impl Paths for Disk {
    fn project(&self) -> &str {
        &self.project
    }

    fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    fn canonical(&self, absolute: &str) -> Option<String> {
        let path = Path::new(absolute);
        // Of a file that is not there yet, the directories that are.
        let (there, found) = path
            .ancestors()
            .find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)))?;
        let rest = path.strip_prefix(there).ok()?;
        let whole: PathBuf = found.join(rest);
        let whole = if rest.as_os_str().is_empty() { found } else { whole };
        whole.into_os_string().into_string().ok()
    }
}

/// Makes sure that an agent can be held to a policy.
///
/// No channel puts what an agent wants to do before the rules yet, so only a policy that allows everything is enforced.
///
/// # Errors
/// A [`Failure`] that names the adapter and the rule, rather than a run in which the rule would mean nothing.
pub(super) fn enforceable(adapter: &str, policy: &Policy) -> Result<(), Failure> {
    if policy.allows_all() {
        return Ok(());
    }
    let rules = [List::Deny, List::Ask].into_iter().flat_map(|list| {
        let rules = policy.list(list).iter();
        rules.map(move |rule| format!("`{}` of `permissions.{}` ({})", rule.text, list.name(), rule.origin))
    });
    let mode = match policy.mode {
        PermissionMode::Auto => "",
        PermissionMode::Ask => "ask",
        PermissionMode::Restricted => "restricted",
        PermissionMode::Readonly => "readonly",
    };
    let mut unenforced: Vec<String> = rules.collect();
    if !mode.is_empty() {
        unenforced.insert(0, format!("the mode `{mode}`"));
    }
    let others = match unenforced.len() {
        0 | 1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    Err(Failure::new(
        FailureKind::Configuration,
        format!("adapter `{adapter}` cannot be held to {}{others}", unenforced[0]),
    )
    .hint("an agent does not ask ralph what it may do yet: take them out of `permissions`, and put them into the agent's own settings")
    .hint("`ralph permissions test` and `ralph permissions list` work without a run"))
}
