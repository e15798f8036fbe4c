//! What git is set to for a repository, as git lists it.

use std::path::{Path, PathBuf};

use super::process::{self, nul_separated};

/// All settings that count in a repository, in the order in which git takes them.
#[derive(Debug)]
pub(super) struct Settings(Vec<Setting>);

#[derive(Debug)]
pub(super) struct Setting {
    /// Where it is said, if that is a file.
    pub(super) file: Option<PathBuf>,
    /// As git writes it: in lower case, but for a name that is quoted in the file.
    pub(super) key: String,
    /// None of a key that stands alone, which is as good as `true`.
    pub(super) value: Option<Vec<u8>>,
}

impl Settings {
    /// Reads what `git config --list --show-origin -z` has printed in a directory.
    pub(super) fn parse(listed: &[u8], directory: &Path) -> Settings {
        let mut items = nul_separated(listed);
        let mut settings = Vec::new();
        while let (Some(origin), Some(item)) = (items.next(), items.next()) {
            let file = origin.strip_prefix(b"file:");
            let end = item.iter().position(|&byte| byte == b'\n');
            settings.push(Setting {
                file: file.map(|path| directory.join(process::path(path))),
                key: String::from_utf8_lossy(&item[..end.unwrap_or(item.len())]).into_owned(),
                value: end.map(|end| item[end + 1..].to_vec()),
            });
        }
        Settings(settings)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// Settings of some keys, each as a line of `key value`.
    pub(super) fn lines(&self, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
        let asked = self.iter().filter(|setting| is_asked(&setting.key));
        let lines = asked.map(|Setting { key, value, .. }| match value {
            Some(value) => format!("{key} {}", String::from_utf8_lossy(value)),
            None => key.clone(),
        });
        lines.collect()
    }
}
