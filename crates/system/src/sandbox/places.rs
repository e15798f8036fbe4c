//! The built-in lists, and the notation of a place: `~/…`, `$NAME/…`, or relative to the project.

use std::path::{Component, Path, PathBuf};

/// The facts about the user's session that resolve places.
pub struct UserEnvironment<'a> {
    pub home: Option<&'a str>,
    /// Returns a variable's value.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Caches that programs make on nearly every machine, and would miss if they could not.
pub(super) const USUAL_CACHES: &[&str] = &["~/.cache", "$XDG_CACHE_HOME", "~/.npm"];

/// Data that package managers and compilers keep between builds. No programs and no settings: the user would run those
/// later.
pub(super) const CACHES: &[&str] = &[
    "~/.cargo/registry",
    "~/.cargo/git",
    "~/.cargo/.package-cache",
    "~/.cargo/.package-cache-mutate",
    "~/.cargo/.global-cache",
    "$CARGO_HOME/registry",
    "$CARGO_HOME/git",
    "$CARGO_HOME/.package-cache",
    "$CARGO_HOME/.package-cache-mutate",
    "$CARGO_HOME/.global-cache",
    "$CARGO_TARGET_DIR",
    "~/go/pkg",
    "$GOPATH/pkg",
    "~/.gradle",
    "$GRADLE_USER_HOME",
    "~/.m2/repository",
    "~/.m2/wrapper",
    "~/.local/share/pnpm/store",
    "~/.pnpm-store",
    "~/.yarn/berry",
    "~/.bun/install/cache",
    "~/.nuget/packages",
    "~/.bundle/cache",
    "~/.composer/cache",
    "~/.ivy2/cache",
    "~/.cabal/packages",
    "~/.pub-cache/hosted",
    "~/.julia/packages",
    "~/.terraform.d/plugin-cache",
];

pub(super) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "$TMPDIR"];

/// Devices that a program without privileges uses; disks and memory are not among them.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// The [`DEVICES`] that other processes can read from: terminals, and shared memory.
pub(super) const SHARED_DEVICES: &[&str] = &["/dev/pts", "/dev/shm"];

/// Files and directories of keys, tokens and passwords.
pub(super) const CREDENTIALS: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.config/op",
    "~/.kube",
    "~/.docker",
    "~/.netrc",
    "~/.git-credentials",
    "~/.npmrc",
    "~/.pypirc",
    "~/.cargo/credentials.toml",
    "~/.cargo/credentials",
    "$CARGO_HOME/credentials.toml",
    "$CARGO_HOME/credentials",
    "~/.vault-token",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.mozilla",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
];

/// Histories of typed input, which may contain passwords.
pub(super) const HISTORIES: &[&str] = &[
    "~/.bash_history",
    "~/.zsh_history",
    "~/.local/share/fish/fish_history",
    "~/.history",
    "~/.python_history",
    "~/.node_repl_history",
    "~/.psql_history",
    "~/.mysql_history",
    "~/.rediscli_history",
    "~/.sqlite_history",
    "~/.lesshst",
    "~/.viminfo",
];

/// Returns the directories that confined programs in `project` may write to besides it, as their user may: caches and
/// temporary directories.
pub fn shared_writable_places(project: &Path, environment: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let places = [USUAL_CACHES, CACHES, TEMPORARY].concat();
    let places = places.into_iter();
    places
        .filter_map(|place| expanded(place, project, environment))
        .collect()
}

/// Expands `text` to a path without `.` and `..`; `None` if it begins with a variable that is not set, or with an
/// unknown home directory.
pub fn expanded(text: &str, project: &Path, world: &UserEnvironment<'_>) -> Option<PathBuf> {
    let path = match (text.strip_prefix('~'), text.strip_prefix('$')) {
        (Some(rest), _) if rest.is_empty() || rest.starts_with('/') => {
            PathBuf::from(world.home?).join(rest.trim_start_matches('/'))
        }
        (_, Some(rest)) => {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let value = (world.variable)(name).filter(|value| value.starts_with('/'))?;
            match rest.is_empty() {
                true => PathBuf::from(value),
                false => PathBuf::from(value).join(rest),
            }
        }
        (_, _) => project.join(text),
    };
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_from_the_home_directory_a_variable_or_the_project() {
        let variable = |name: &str| match name {
            "SET" => Some("/srv/x".to_owned()),
            "RELATIVE" => Some("x".to_owned()),
            _ => None,
        };
        let world = UserEnvironment {
            home: Some("/home/me"),
            variable: &variable,
        };
        for (text, path) in [
            ("~", Some("/home/me")),
            ("~/a", Some("/home/me/a")),
            ("~other/a", Some("/p/~other/a")),
            ("$SET", Some("/srv/x")),
            ("$SET/a", Some("/srv/x/a")),
            ("$RELATIVE/a", None),
            ("$UNSET/a", None),
            ("a/../b", Some("/p/b")),
            ("../../..", Some("/")),
            ("/a/./b", Some("/a/b")),
        ] {
            assert_eq!(
                expanded(text, Path::new("/p"), &world),
                path.map(PathBuf::from),
                "{text}"
            );
        }
        let nobody = UserEnvironment { home: None, ..world };
        assert_eq!(expanded("~/a", Path::new("/p"), &nobody), None);
    }
}
