//! What rules need of the world: paths as they are on this disk, and agents that can be held to them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Place;
use crate::{
    driver::{Agent, Judge},
    error::{Failure, FailureKind},
    event::{Decider, PermissionMode, PermissionRequest, Ruling},
    permissions::{Because, List, Paths, Policy, Request},
    words::mode_word,
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

/// Says what `policy` says to requests; none where it allows everything, and no agent has to ask.
pub(super) fn judge(place: &Place, policy: Policy) -> Option<Judge> {
    if policy.allows_all() {
        return None;
    }
    let disk = Disk::of(place);
    Some(Arc::new(move |request: &PermissionRequest| {
        let verdict = policy.decide(&Request::from(request), &disk);
        Ruling {
            decision: verdict.decision,
            by: match verdict.because {
                Because::Rule { rule, origin, .. } | Because::PossibleRule { rule, origin, .. } => {
                    Decider::Rule { rule, origin }
                }
                Because::Mode { mode } => Decider::Mode { mode },
                Because::Harmless => Decider::Mode { mode: policy.mode },
                Because::Unclear { .. } => Decider::Unclear,
            },
        }
    }))
}

/// Makes sure that an agent can be held to a policy.
///
/// # Errors
/// A [`Failure`] that names the adapter and the rule, rather than a run in which the rule would mean nothing.
pub(super) fn enforceable(agent: &Agent, policy: &Policy) -> Result<(), Failure> {
    let adapter = agent.adapter.id();
    if policy.allows_all() || agent.adapter.capabilities().rules {
        return Ok(());
    }
    let rules = [List::Deny, List::Ask].into_iter().flat_map(|list| {
        let rules = policy.list(list).iter();
        rules.map(move |rule| format!("`{}` of `permissions.{}` ({})", rule.text, list.name(), rule.origin))
    });
    let mut unenforced: Vec<String> = rules.collect();
    if policy.mode != PermissionMode::Auto {
        unenforced.insert(0, format!("the mode `{}`", mode_word(policy.mode)));
    }
    let others = match unenforced.len() {
        0 | 1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    Err(Failure::new(
        FailureKind::Configuration,
        format!("adapter `{adapter}` cannot be held to {}{others}", unenforced[0]),
    )
    .hint(
        "the adapter `claude` can, unless it is run with `--channel one-way`: it asks ralph before every use of a tool",
    )
    .hint("else take them out of `permissions`, and put them into the agent's own settings")
    .hint("`ralph permissions test` and `ralph permissions list` work without a run"))
}
