//! What decides which files are ignored, and the branch, by which configuration may be included: as they were at one time.
//!
//! Ignore files in the work tree are not among them: they are files like others, whose changes are seen.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    file_identity::Identity,
    layout::{Layout, config_home, read_small},
    process::{self, Git, nul_separated},
};

/// Files outside of the work tree that decide what is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    files: Vec<(PathBuf, Identity)>,
    /// What HEAD is, if it is a branch.
    branch: Option<Vec<u8>>,
}

impl Rules {
    /// Looks at everything that decides what is ignored; none where that cannot be told. `git` is a command on the repository.
    pub(super) fn found(git: Git, layout: &Layout) -> Option<Rules> {
        let output = git.args(["config", "--list", "--show-origin", "-z"]).run().ok()?;
        let mut paths = usual_places(layout);
        let mut items = nul_separated(&output.stdout);
        while let (Some(origin), Some(item)) = (items.next(), items.next()) {
            let file = origin
                .strip_prefix(b"file:")
                .map(|path| layout.root.join(process::path(path)));
            let beside = file.as_deref().and_then(Path::parent).unwrap_or(&layout.root);
            let end = item.iter().position(|&byte| byte == b'\n').unwrap_or(item.len());
            let (key, value) = (&item[..end], item.get(end + 1..).unwrap_or_default());
            let is_include = key.starts_with(b"include") && key.ends_with(b".path");
            if is_include {
                paths.push(expanded(value, beside)?);
            } else if key == b"core.excludesfile" {
                paths.push(expanded(value, &layout.root)?);
            }
            paths.extend(file);
        }
        paths.sort();
        paths.dedup();
        let files = paths.into_iter().map(|path| {
            let identity = Identity::at(&path);
            (path, identity)
        });
        Some(Rules {
            files: files.collect(),
            branch: branch(layout),
        })
    }

    /// Whether all of it is as it was.
    pub(super) fn still_hold(&self, layout: &Layout) -> bool {
        self.branch == branch(layout)
            && self
                .files
                .iter()
                .all(|(path, identity)| Identity::at(path) == *identity)
    }
}

fn branch(layout: &Layout) -> Option<Vec<u8>> {
    read_small(&layout.git_dir.join("HEAD")).filter(|head| head.starts_with(b"ref:"))
}

/// Files that count as soon as they are there.
fn usual_places(layout: &Layout) -> Vec<PathBuf> {
    let home = env::home_dir();
    let config = config_home();
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"]
        .into_iter()
        .filter_map(env::var_os);
    let mut places: Vec<PathBuf> = named.map(PathBuf::from).collect();
    places.extend(home.map(|home| home.join(".gitconfig")));
    places.extend(config.iter().map(|config| config.join("git/config")));
    places.extend(config.iter().map(|config| config.join("git/ignore")));
    places.push("/etc/gitconfig".into());
    places.push(layout.common_dir.join("config"));
    places.push(layout.git_dir.join("config.worktree"));
    places.push(layout.common_dir.join("info/exclude"));
    places
}

/// A path of the configuration; none if it begins with something else than the user's own home.
fn expanded(value: &[u8], beside: &Path) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(env::home_dir()?.join(process::path(rest))),
        None if value.starts_with(b"~") || value.starts_with(b"%") => None,
        None => Some(beside.join(process::path(value))),
    }
}
