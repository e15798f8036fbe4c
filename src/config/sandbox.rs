//! What agents and goals may write and read, as it is written.
//!
//! A project's file says nothing here: an agent could write it, and a stranger's clone brings one along.

use std::path::Path;

use crate::settings::{Choice, Leaf, Mistake, Names, OneOf, Origin, Sample, settings};

settings! {
    /// What an agent, the goals and everything that they start may do on this machine, held by the kernel (Landlock, Linux 5.13
    /// and newer). Paths begin with ~/, with $NAME/, with / or in the project. Not for a project's own file: only yours.
    pub struct Sandbox {
        /// "on": writes only to the project, its git directory, the agent's own state, caches and /tmp; keys, other agents' state
        /// and ralph's own cannot be read. "off": an agent may do all that you may.
        #[flag("--sandbox", "MODE", "What the agent and goals may do on this machine: on or off [default: off]")]
        mode("mode"): OneOf<SandboxMode> = "off",
        /// Further places to write: ["~/.cache/foo"].
        write("write"): Names<Places> = [],
        /// Further places that cannot be read: ["~/work/other-client"].
        hide("hide"): Names<Places> = [],
        /// Places that can be read although they are hidden otherwise: ["~/.npmrc"].
        show("show"): Names<Places> = [],
    }
}

/// Whether agents and goals are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    Off,
    On,
}

impl Choice for SandboxMode {
    const CHOICES: &'static [(&'static str, Self)] = &[("off", SandboxMode::Off), ("on", SandboxMode::On)];
}

/// Directories and files.
pub struct Places;

impl Sample for Places {
    const SAMPLE: &'static str = r#"["~/.cache/foo", "$DATA/foo"]"#;
}

/// Refuses what the project's own file says of the sandbox.
pub(super) fn not_by_project(leaf: &Leaf, project: Option<&Path>) -> Option<Mistake> {
    if leaf.path.first().is_none_or(|group| group != "sandbox") {
        return None;
    }
    match &leaf.node.origin {
        Origin::File { path, .. } if Some(&**path) == project => Some(Mistake::Conflict {
            why: format!(
                "`{}` cannot be set by a project, which an agent can write: move it to your own file (`ralph config path`)",
                leaf.path.join(".")
            ),
            origin: leaf.node.origin.clone(),
        }),
        _ => None,
    }
}
