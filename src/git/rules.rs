//! What decides which files are ignored, and the branch, by which configuration may be included: as they were at one time.
//!
//! Ignore files in the work tree are not among them: they are files like others, whose changes are seen.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    Repository,
    file_identity::Identity,
    layout::read_small,
    plain::config_home,
    process::{self, nul_separated},
};

/// Files outside of the work tree that decide what is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    files: Vec<(PathBuf, Identity)>,
    /// What HEAD is, if it is a branch.
    branch: Option<Vec<u8>>,
}

impl Repository {
    /// Looks at everything that decides what is ignored; none where that cannot be told.
    pub(super) fn rules(&self) -> Option<Rules> {
        let output = self
            .git()
            .args(["config", "--list", "--show-origin", "-z"])
            .run()
            .ok()?;
        let mut paths = self.usual_places();
        let mut items = nul_separated(&output.stdout);
        while let (Some(origin), Some(item)) = (items.next(), items.next()) {
            let file = origin
                .strip_prefix(b"file:")
                .map(|path| self.layout.root.join(process::path(path)));
            let beside = file.as_deref().and_then(Path::parent).unwrap_or(&self.layout.root);
            let end = item.iter().position(|&byte| byte == b'\n').unwrap_or(item.len());
            let (key, value) = (&item[..end], item.get(end + 1..).unwrap_or_default());
            let is_include = key.starts_with(b"include") && key.ends_with(b".path");
            if is_include {
                paths.push(expanded(value, beside)?);
            } else if key == b"core.excludesfile" {
                paths.push(expanded(value, &self.layout.root)?);
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
            branch: self.branch(),
        })
    }

    /// Whether all of it is as it was.
    pub(super) fn still_rule(&self, rules: &Rules) -> bool {
        rules.branch == self.branch()
            && rules
                .files
                .iter()
                .all(|(path, identity)| Identity::at(path) == *identity)
    }

    fn branch(&self) -> Option<Vec<u8>> {
        read_small(&self.layout.git_dir.join("HEAD")).filter(|head| head.starts_with(b"ref:"))
    }

    /// Files that count as soon as they are there.
    fn usual_places(&self) -> Vec<PathBuf> {
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
        places.push(self.layout.common_dir.join("config"));
        places.push(self.layout.git_dir.join("config.worktree"));
        places.push(self.layout.common_dir.join("info/exclude"));
        places
    }
}

/// A path of the configuration; none if it begins with something else than the user's own home.
fn expanded(value: &[u8], beside: &Path) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(env::home_dir()?.join(process::path(rest))),
        None if value.starts_with(b"~") || value.starts_with(b"%") => None,
        None => Some(beside.join(process::path(value))),
    }
}
