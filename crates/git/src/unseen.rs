//! Files that no checkpoint has: outside of the project, and ignored ones.

use std::path::{Component, Path, PathBuf};

use super::{Repository, ignored::ignored_of};

/// Returns those of some files, by their whole paths, that are in no checkpoint and exist: an agent's word that it wrote
/// them is all that ralph knows of them. Without a repository, `project` is what ralph sees.
pub fn unseen(repository: Option<&Repository>, project: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let root = repository.map_or(project, Repository::root);
    let files = files
        .iter()
        .map(|file| place(file))
        .filter(|file| file.symlink_metadata().is_ok());
    let (inside, mut unseen): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|file| file.starts_with(root));
    if let Some(repository) = repository {
        unseen.extend(repository.unrecorded(&inside));
    }
    unseen.sort();
    unseen.dedup();
    unseen
}

impl Repository {
    /// Returns those of some files below the root that git ignores and that are not in the latest checkpoint.
    fn unrecorded(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let state = self.state.lock();
        let below = files
            .iter()
            .filter_map(|file| file.strip_prefix(&self.layout.root).ok());
        let is_nested = |path: &Path| path.ancestors().any(|above| state.nested.has(above));
        let asked: Vec<PathBuf> = below
            .filter(|path| !self.excludes(path) && !is_nested(path))
            .map(Path::to_owned)
            .collect();
        if asked.is_empty() {
            return Vec::new();
        }
        // Files in ralph's index are never ignored, even if a pattern matches them.
        let ignored = ignored_of(self.own_index_git(), &asked).unwrap_or_default();
        ignored.into_iter().map(|path| self.layout.root.join(path)).collect()
    }
}

/// Returns the place of a file, without `..` and without links above it; the file itself may be a link or gone.
fn place(file: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in file.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    let above = plain.parent().and_then(|above| above.canonicalize().ok());
    match (above, plain.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => plain,
    }
}
