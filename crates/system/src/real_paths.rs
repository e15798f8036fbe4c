//! Paths without symbolic links.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Resolves the symbolic links of many absolute paths. It looks at each directory once, where `canonicalize` does so for each
/// path below it; so it is good for one moment only.
#[derive(Debug, Default)]
pub struct RealPaths {
    seen: BTreeMap<OsString, RealPath>,
}

#[derive(Debug, Clone)]
struct RealPath {
    path: PathBuf,
    exists: bool,
}

impl RealPaths {
    /// Returns where a path leads; `None` if nothing is there.
    pub fn existing(&mut self, path: &Path) -> Option<PathBuf> {
        let real = self.resolve(path);
        real.exists.then_some(real.path)
    }

    /// Returns where a path leads. What does not exist is below the real path of what does.
    pub fn leads_to(&mut self, path: &Path) -> PathBuf {
        self.resolve(path).path
    }

    fn resolve(&mut self, path: &Path) -> RealPath {
        let there = |path| RealPath { path, exists: true };
        let Some(above) = path.parent() else {
            return there(path.to_owned());
        };
        if let Some(seen) = self.seen.get(path.as_os_str()) {
            return seen.clone();
        }
        let mut real = self.resolve(above);
        match path.file_name() {
            Some(name) => real.path.push(name),
            // `..`
            None => _ = real.path.pop(),
        }
        if real.exists {
            real = match fs::symlink_metadata(&real.path) {
                Ok(kind) if !kind.is_symlink() => real,
                found => match found.and_then(|_| real.path.canonicalize()) {
                    Ok(target) => there(target),
                    Err(_) => RealPath { exists: false, ..real },
                },
            };
        }
        self.seen.insert(path.as_os_str().to_owned(), real.clone());
        real
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_the_system_finds_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink(at("a"), at("link")).unwrap();
        symlink("link/b", at("chain")).unwrap();
        symlink("gone", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let mut paths = RealPaths::default();
        for name in [
            "",
            "a",
            "a/b",
            "link",
            "link/b",
            "link/b/..",
            "link/..",
            "chain",
            "chain/..",
            "file",
            "file/below",
            "gone/below",
            "dangling",
            "dangling/below",
            "circle",
        ] {
            assert_eq!(paths.existing(&at(name)), at(name).canonicalize().ok(), "{name}");
        }
        for (name, leads_to) in [
            ("link/new/file", "a/new/file"),
            ("chain/new", "a/b/new"),
            ("gone/below", "gone/below"),
            ("dangling/below", "dangling/below"),
        ] {
            assert_eq!(paths.leads_to(&at(name)), at(leads_to), "{name}");
        }
        assert_eq!(paths.existing(Path::new("/")), Some(PathBuf::from("/")));
    }
}
