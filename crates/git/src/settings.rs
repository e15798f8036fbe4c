//! git's settings for a repository, from git's own list.

use std::path::{Path, PathBuf};

use super::process::{self, nul_separated};

/// All settings in effect in a repository, in git's order of precedence, lowest first.
#[derive(Debug)]
pub(super) struct GitSettings(Vec<GitSetting>);

#[derive(Debug)]
pub(super) struct GitSetting {
    /// The file that sets it, if it is a file.
    pub(super) file: Option<PathBuf>,
    /// The key as git prints it: in lower case, except for a quoted subsection.
    pub(super) key: String,
    /// `None` for a key without a value, which is equivalent to `true`.
    pub(super) value: Option<Vec<u8>>,
}

impl GitSettings {
    /// Parses the output of `git config --list --show-origin -z` in a directory.
    pub(super) fn parse(listed: &[u8], directory: &Path) -> GitSettings {
        let mut items = nul_separated(listed);
        let mut settings = Vec::new();
        while let (Some(origin), Some(item)) = (items.next(), items.next()) {
            let file = origin.strip_prefix(b"file:");
            let end = item.iter().position(|&byte| byte == b'\n');
            settings.push(GitSetting {
                file: file.map(|path| directory.join(process::path(path))),
                key: String::from_utf8_lossy(&item[..end.unwrap_or(item.len())]).into_owned(),
                value: end.map(|end| item[end + 1..].to_vec()),
            });
        }
        GitSettings(settings)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &GitSetting> {
        self.0.iter()
    }

    /// Returns the settings of some keys, each as a line `key value`.
    pub(super) fn lines(&self, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
        let asked = self.iter().filter(|setting| is_asked(&setting.key));
        let lines = asked.map(|GitSetting { key, value, .. }| match value {
            Some(value) => format!("{key} {}", String::from_utf8_lossy(value)),
            None => key.clone(),
        });
        lines.collect()
    }
}
