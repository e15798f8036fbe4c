//! The sockets of other programs of this machine that a confined program may connect to, and their names in settings.

use std::path::{Path, PathBuf};

use super::{UserEnvironment, expanded};

/// Harmless sockets start nothing and act for nobody: names of users and hosts, logs, and databases, which ask for their own
/// passwords.
const HARMLESS: &[&str] = &[
    "/run/nscd",
    "/run/avahi-daemon",
    "/run/systemd/resolve",
    "/run/systemd/userdb",
    "/run/systemd/journal",
    "/var/lib/sss/pipes",
    "/dev/log",
    "/run/postgresql",
    "/run/mysqld",
    "/run/redis",
    "/run/memcached",
    "/run/mongodb",
];

/// Variables that lead to programs of the user's session, which obey any client. Programs try them without being asked
/// to, and do without.
const TRIED: &[&str] = &[
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "VSCODE_IPC_HOOK_CLI",
];

/// Variables that lead to such programs for commands that need them. Where connections are refused, the variables stay:
/// the refusal names the setting that would allow it.
const NEEDED: &[&str] = &["SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST"];

/// The sockets of a program that people know by a name.
struct NamedSockets {
    name: &'static str,
    paths: &'static [&'static str],
    variables: &'static [&'static str],
}

const NAMED: &[NamedSockets] = &[
    NamedSockets {
        name: "ssh-agent",
        paths: &["$SSH_AUTH_SOCK"],
        variables: &["SSH_AUTH_SOCK"],
    },
    NamedSockets {
        name: "gpg-agent",
        paths: &["$XDG_RUNTIME_DIR/gnupg", "$GNUPGHOME", "~/.gnupg"],
        variables: &["GPG_AGENT_INFO"],
    },
    NamedSockets {
        name: "docker",
        paths: &[
            "/run/docker.sock",
            "/var/run/docker.sock",
            "$XDG_RUNTIME_DIR/docker.sock",
            "~/.docker/run",
            "~/.docker/desktop",
        ],
        variables: &["DOCKER_HOST"],
    },
    NamedSockets {
        name: "podman",
        paths: &["/run/podman", "$XDG_RUNTIME_DIR/podman"],
        variables: &["CONTAINER_HOST"],
    },
    NamedSockets {
        name: "dbus",
        paths: &["/run/dbus", "$XDG_RUNTIME_DIR/bus"],
        variables: &["DBUS_SESSION_BUS_ADDRESS"],
    },
    NamedSockets {
        name: "x11",
        paths: &["/tmp/.X11-unix"],
        variables: &["DISPLAY"],
    },
    NamedSockets {
        name: "wayland",
        paths: &["$XDG_RUNTIME_DIR/wayland-0", "$XDG_RUNTIME_DIR/wayland-1"],
        variables: &["WAYLAND_DISPLAY"],
    },
];

/// Returns the paths of harmless sockets, and of directories of them. In a closed network they are ways out:
/// whoever resolves a name tells it to a server.
pub fn harmless_sockets() -> impl Iterator<Item = PathBuf> {
    HARMLESS.iter().map(PathBuf::from)
}

/// Returns the paths of the sockets, and of directories of sockets, that these settings allow. Each setting is a name or
/// a path.
pub fn allowed_sockets(settings: &[String], project: &Path, environment: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let texts = settings.iter().flat_map(|setting| match named(setting) {
        Some(sockets) => sockets.paths.to_vec(),
        None => vec![setting.as_str()],
    });
    texts.filter_map(|text| expanded(text, project, environment)).collect()
}

/// Returns the variables that are removed, since no setting allows the sockets to which they lead. `are_refused` says
/// whether connections to other sockets are.
pub fn withheld_variables(settings: &[String], are_refused: bool) -> Vec<&'static str> {
    let kept: Vec<&str> = settings
        .iter()
        .filter_map(|name| named(name))
        .flat_map(|sockets| sockets.variables)
        .copied()
        .collect();
    let needed = NEEDED.iter().filter(|_| !are_refused);
    TRIED
        .iter()
        .chain(needed)
        .copied()
        .filter(|variable| !kept.contains(variable))
        .collect()
}

/// Returns the name in settings of the socket at `path`, if it has one. `leads` resolves symbolic links.
pub fn name_of_socket(
    path: &Path,
    environment: &UserEnvironment<'_>,
    leads: impl Fn(&Path) -> PathBuf,
) -> Option<&'static str> {
    let is_below = |text: &str| {
        let place = expanded(text, Path::new("/"), environment).map(|place| leads(&place));
        place.is_some_and(|place| path.starts_with(place))
    };
    let found = NAMED
        .iter()
        .find(|sockets| sockets.paths.iter().any(|text| is_below(text)));
    found.map(|sockets| sockets.name)
}

fn named(name: &str) -> Option<&'static NamedSockets> {
    NAMED.iter().find(|sockets| sockets.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_paths_and_keeps_its_variable() {
        let variable = |name: &str| (name == "SSH_AUTH_SOCK").then(|| "/tmp/ssh-1/agent".to_owned());
        let environment = UserEnvironment {
            home: Some("/home/me"),
            variable: &variable,
        };
        let settings = ["ssh-agent".to_owned(), "~/tool.sock".to_owned()];
        let allowed = allowed_sockets(&settings, Path::new("/p"), &environment);
        assert_eq!(allowed, ["/tmp/ssh-1/agent", "/home/me/tool.sock"].map(PathBuf::from));
        for (are_refused, variable, is_withheld) in [
            (false, "DOCKER_HOST", true),
            (false, "SSH_AUTH_SOCK", false),
            (false, "DISPLAY", true),
            (true, "DOCKER_HOST", false),
            (true, "DISPLAY", true),
        ] {
            let withheld = withheld_variables(&settings, are_refused);
            assert_eq!(withheld.contains(&variable), is_withheld, "{variable}");
        }

        let name = |path: &str| name_of_socket(Path::new(path), &environment, Path::to_owned);
        assert_eq!(name("/tmp/ssh-1/agent"), Some("ssh-agent"));
        assert_eq!(name("/run/dbus/system_bus_socket"), Some("dbus"));
        assert_eq!(name("/tmp/tmux-0/default"), None);
    }
}
