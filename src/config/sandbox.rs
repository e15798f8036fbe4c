//! Syntax of the sandbox settings.
//!
//! A project's file cannot set them: an agent could write it, and a cloned repository may bring one along.

use std::path::Path;

use ralph_policy::{
    choices, samples, settings,
    settings::{Grammar, Leaf, Mistake, NameList, Node, OneOf, SettingOrigin, accept},
};
use ralph_system::sandbox::hosts::AllowedHost;
use serde_json::Value;

settings! {
    /// The sandbox of agents, goals and everything they start, enforced by the kernel (Landlock, Linux 5.13 and newer).
    /// Paths begin with ~/, $NAME/ or /, or are relative to the project. Allowed only in your own file, not in one of a
    /// project.
    pub struct SandboxSettings {
        /// "on": an agent writes only to the project, its git directory, its own state, caches and /tmp; it cannot read
        /// keys, the state of other agents and that of ralph. "auto": the same where the system can; the run says what
        /// holds. "strict": it also gets its own temporary directory and caches, and connects only to its model and to
        /// `hosts`. "off": an agent may do all that you may.
        #[flag("--sandbox", "MODE", "The sandbox of the agent and the goals: auto, on, strict or off [default: auto]")]
        mode("mode"): OneOf<SandboxMode> = "auto",
        /// Additional writable paths: ["~/.cache/foo"].
        write("write"): NameList<SandboxPaths> = [],
        /// Additional unreadable paths: ["~/work/other-client"].
        hide("hide"): NameList<SandboxPaths> = [],
        /// Readable paths that would be hidden otherwise: ["~/.npmrc"]. A path in a hidden directory shows that path alone.
        show("show"): NameList<SandboxPaths> = [],
        /// Sockets of other programs that may be connected to: "ssh-agent", "gpg-agent", "docker", "podman", "dbus", "x11",
        /// "wayland", or a path. Whoever reaches one of these programs can have it act outside of the sandbox.
        sockets("sockets"): NameList<SandboxSockets> = [],
        /// Additional hosts for the mode "strict": ["*.example.org", "10.0.0.7:8080"]. Without a port, 443 and 80.
        hosts("hosts"): HostNames = [],
    }
}

/// Whether and how agents and goals are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    Off,
    /// As [`SandboxMode::On`], as far as this system allows.
    Auto,
    On,
    Strict,
}

choices! {
    SandboxMode: "off" = Off, "auto" = Auto, "on" = On, "strict" = Strict;
}

samples! {
    /// Directories and files.
    SandboxPaths: r#"["~/.cache/foo", "$DATA/foo"]"#;
    /// Names and paths of sockets.
    SandboxSockets: r#"["ssh-agent", "~/tool.sock"]"#;
}

/// Host names, each with or without a port.
pub struct HostNames;

impl Grammar for HostNames {
    type Value = Vec<String>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let names = NameList::<SandboxPaths>::read(node, key).ok();
        let are_hosts = |names: &Vec<String>| names.iter().all(|name| AllowedHost::read(name).is_some());
        accept::<Self>(node, key, names.filter(are_hosts))
    }

    fn expected() -> String {
        "a list of different hosts, such as [\"*.example.org\", \"10.0.0.7:8080\"]".to_owned()
    }

    fn schema() -> Value {
        NameList::<SandboxPaths>::schema()
    }

    fn from_variable(word: &str) -> Value {
        NameList::<SandboxPaths>::from_variable(word)
    }
}

/// Settings that only the user may set, by the first part of their keys.
const OF_THE_USER: [&str; 4] = ["sandbox", "listen", "behindProxy", "page"];

/// Refuses values for these settings in the project's own file.
pub(super) fn not_by_project(leaf: &Leaf, project: Option<&Path>) -> Option<Mistake> {
    if !leaf
        .path
        .first()
        .is_some_and(|first| OF_THE_USER.contains(&first.as_str()))
    {
        return None;
    }
    match &leaf.node.origin {
        SettingOrigin::File { path, .. } if Some(&**path) == project => Some(Mistake::Conflict {
            why: format!(
                "`{}` cannot be set by a project, which an agent can write: move it to your own file (`ralph config`)",
                leaf.path.join(".")
            ),
            origin: leaf.node.origin.clone(),
        }),
        _ => None,
    }
}
