//! git's settings, read once for all callers, and again after a change of one of the files that define them or the
//! ignore rules, or of the branch, on which included configuration may depend.
//!
//! Ignore files in the work tree are not among these files: their changes are found like those of any other file.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    file_identity::FileIdentity,
    layout::{RepositoryLayout, config_home, read_small},
    process,
    settings::GitSettings,
};

/// Files outside the work tree that decide what is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IgnoreRuleFiles {
    files: Vec<(PathBuf, FileIdentity)>,
    /// The content of HEAD, if it names a branch.
    branch: Option<Vec<u8>>,
}

/// Settings, and the files that define them and the ignore rules.
#[derive(Debug, Clone)]
pub(super) struct KnownSettings {
    pub(super) settings: Arc<GitSettings>,
    /// `None` if these files cannot be determined.
    pub(super) rules: Option<IgnoreRuleFiles>,
}

impl KnownSettings {
    /// Reads the settings; `list` has git list them.
    pub(super) fn found(layout: &RepositoryLayout, list: impl FnOnce() -> Option<Vec<u8>>) -> Option<KnownSettings> {
        // Before git reads them: a change in between is then noticed the next time.
        let usual = IgnoreRuleFiles::usual(layout);
        let settings = Arc::new(GitSettings::parse(&list()?, &layout.root));
        let rules = usual.and_named(&settings, layout);
        Some(KnownSettings { settings, rules })
    }

    /// Whether git would still list the same settings.
    pub(super) fn still_holds(&self, layout: &RepositoryLayout) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.still_hold(layout))
    }
}

impl IgnoreRuleFiles {
    /// Records the present state of the files in the usual places.
    fn usual(layout: &RepositoryLayout) -> IgnoreRuleFiles {
        IgnoreRuleFiles {
            files: usual_places(layout).into_iter().map(seen).collect(),
            branch: branch(layout),
        }
    }

    /// Adds the files that the settings name or come from; `None` if a path cannot be resolved.
    fn and_named(mut self, settings: &GitSettings, layout: &RepositoryLayout) -> Option<IgnoreRuleFiles> {
        let mut named = Vec::new();
        for setting in settings.iter() {
            let file = setting.file.as_deref();
            let base = file.and_then(Path::parent).unwrap_or(&layout.root);
            let value = setting.value.as_deref().unwrap_or_default();
            let is_include = setting.key.starts_with("include") && setting.key.ends_with(".path");
            if is_include {
                named.push(expanded(value, base)?);
            } else if setting.key == "core.excludesfile" {
                named.push(expanded(value, &layout.root)?);
            }
            named.extend(file.map(Path::to_owned));
        }
        named.sort();
        named.dedup();
        named.retain(|path| !self.files.iter().any(|(usual, _)| usual == path));
        self.files.extend(named.into_iter().map(seen));
        Some(self)
    }

    /// Whether the branch and all files are unchanged.
    pub(super) fn still_hold(&self, layout: &RepositoryLayout) -> bool {
        self.branch == branch(layout)
            && self
                .files
                .iter()
                .all(|(path, identity)| FileIdentity::at(path) == *identity)
    }
}

fn seen(path: PathBuf) -> (PathBuf, FileIdentity) {
    let identity = FileIdentity::at(&path);
    (path, identity)
}

fn branch(layout: &RepositoryLayout) -> Option<Vec<u8>> {
    read_small(&layout.git_dir.join("HEAD")).filter(|head| head.starts_with(b"ref:"))
}

/// Lists the files that take effect as soon as they exist.
fn usual_places(layout: &RepositoryLayout) -> Vec<PathBuf> {
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

/// Resolves a path of the configuration; `None` for the home of another user and for `%(prefix)`.
fn expanded(value: &[u8], base: &Path) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(env::home_dir()?.join(process::path(rest))),
        None if value.starts_with(b"~") || value.starts_with(b"%") => None,
        None => Some(base.join(process::path(value))),
    }
}
