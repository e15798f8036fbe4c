//! Decides for each file that differs whether it is added, removed, or left out with a notice.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, Metadata},
    mem,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{Repository, UNTRACKED_CAP_BYTES, status::WorkTreeStatus, user_index::UserIndex};

/// Files that are named for each reason; the rest is counted.
const MOST_NAMED: usize = 10;

/// Untracked files in one checkpoint that are rarely all work: what an installation made, and no `.gitignore` names.
const MANY_UNTRACKED: usize = 5_000;

/// The changes to make to the index, and the notices about files that are left out.
#[derive(Default)]
pub(super) struct IndexChanges {
    pub(super) add: Vec<PathBuf>,
    pub(super) remove: Vec<PathBuf>,
    left_out: BTreeMap<&'static str, Vec<String>>,
    many: Option<String>,
}

/// The reason why a checkpoint does not have a file in its present state.
pub(super) enum OmissionReason {
    Large,
    /// The checkpoint has its last readable state.
    Unreadable,
    UnreadableUntracked,
    /// A repository inside the work tree that cannot be recorded.
    Nested {
        why: String,
    },
    Refused {
        said: String,
    },
}

impl IndexChanges {
    /// Whether the index stays as it is.
    pub(super) fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    pub(super) fn leave_out(&mut self, why: OmissionReason, path: PathBuf) {
        let path = path.display();
        let (kind, sentence) = match why {
            OmissionReason::Large => {
                let cap = UNTRACKED_CAP_BYTES >> 20;
                (
                    "too large",
                    format!("{path} is untracked, above {cap} MiB and left out of checkpoints."),
                )
            }
            OmissionReason::Unreadable => (
                "unreadable",
                format!("{path} cannot be read; checkpoints keep its last state."),
            ),
            OmissionReason::UnreadableUntracked => (
                "unreadable",
                format!("{path} cannot be read and is left out of checkpoints."),
            ),
            OmissionReason::Nested { why } => (
                "repositories of their own",
                format!("{path} is a repository of its own and is left out of checkpoints: {why}."),
            ),
            OmissionReason::Refused { said } => (
                "refused by git",
                format!("{path} is left out of the checkpoint: {said}."),
            ),
        };
        self.left_out.entry(kind).or_default().push(sentence);
    }

    /// Returns the notices: about many untracked files, and about files that are left out, a sentence for each of the first
    /// ones and a count of the rest.
    pub(super) fn notices(&mut self) -> Vec<String> {
        let mut notices: Vec<String> = self.many.take().into_iter().collect();
        for (kind, mut sentences) in mem::take(&mut self.left_out) {
            let more = sentences.split_off(sentences.len().min(MOST_NAMED)).len();
            notices.append(&mut sentences);
            if more > 0 {
                notices.push(format!("{more} more files are left out of the checkpoint: {kind}."));
            }
        }
        notices
    }
}

/// Returns a notice about many untracked files, with the directory that has nearly all of them.
fn many_untracked(files: &[PathBuf]) -> Option<String> {
    if files.len() < MANY_UNTRACKED {
        return None;
    }
    let mut directory = PathBuf::new();
    let mut inside: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    loop {
        let mut children: BTreeMap<&OsStr, Vec<&Path>> = BTreeMap::new();
        for path in inside {
            let mut parts = path.iter();
            if let Some(child) = parts.next()
                && !parts.as_path().as_os_str().is_empty()
            {
                children.entry(child).or_default().push(parts.as_path());
            }
        }
        match children.into_iter().max_by_key(|(_, files)| files.len()) {
            Some((child, files_of_child)) if files_of_child.len() * 10 > files.len() * 9 => {
                directory.push(child);
                inside = files_of_child;
            }
            Some(_) | None => break,
        }
    }
    let place = match directory.as_os_str().is_empty() {
        true => String::new(),
        false => format!(", nearly all in {}", directory.display()),
    };
    Some(format!(
        "{} untracked files are part of the checkpoint{place}; `.gitignore` leaves out what is no work.",
        files.len()
    ))
}

impl Repository {
    /// Decides what to do with each file that differs from ralph's index.
    pub(super) fn sort(&self, status: WorkTreeStatus, user_index: Option<&UserIndex>) -> IndexChanges {
        let mut work = IndexChanges::default();
        let mut large = Vec::new();
        for path in status.changed {
            match fs::symlink_metadata(self.layout.root.join(&path)) {
                // A tracked file was replaced by something that git cannot store. git cannot add files behind a link
                // either.
                Ok(metadata) if !is_storable(&metadata) => work.remove.push(path),
                _ if self.is_behind_link(&path) => work.remove.push(path),
                Ok(metadata) if is_large(&metadata) => large.push(path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.leave_out(OmissionReason::Unreadable, path);
                }
                Ok(_) | Err(_) => work.add.push(path),
            }
        }
        let tracked = user_index.map(|index| index.tracked(&large)).unwrap_or_default();
        for path in large {
            if tracked.contains(&path) {
                work.add.push(path);
            } else {
                work.leave_out(OmissionReason::Large, path.clone());
                work.remove.push(path);
            }
        }
        work.many = many_untracked(&status.untracked);
        for path in status.untracked {
            match fs::symlink_metadata(self.layout.root.join(&path)) {
                Ok(metadata) if is_large(&metadata) => work.leave_out(OmissionReason::Large, path),
                Ok(metadata) if metadata.is_file() && !self.is_readable(&path) => {
                    work.leave_out(OmissionReason::UnreadableUntracked, path);
                }
                Ok(_) => work.add.push(path),
                Err(_) => {} // gone since the scan
            }
        }
        work
    }

    /// Whether there is a file that cannot be read.
    pub(super) fn is_unreadable(&self, path: &Path) -> bool {
        let metadata = fs::symlink_metadata(self.layout.root.join(path));
        metadata.is_ok_and(|metadata| metadata.is_file()) && !self.is_readable(path)
    }

    fn is_readable(&self, path: &Path) -> bool {
        access(self.layout.root.join(path), Access::READ_OK).is_ok()
    }

    pub(super) fn is_behind_link(&self, path: &Path) -> bool {
        let above = path
            .ancestors()
            .skip(1)
            .filter(|directory| !directory.as_os_str().is_empty());
        above
            .into_iter()
            .any(|directory| self.layout.root.join(directory).is_symlink())
    }
}

fn is_storable(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_symlink() || metadata.is_dir()
}

fn is_large(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > UNTRACKED_CAP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_untracked_files_are_counted_with_the_directory_that_has_nearly_all_of_them() {
        let installed = (0..MANY_UNTRACKED).map(|n| PathBuf::from(format!("web/node_modules/p{}/{n}.js", n % 9)));
        let installed: Vec<PathBuf> = installed.collect();
        let mut mixed = installed.clone();
        mixed.push("a.txt".into());
        let spread: Vec<PathBuf> = (0..MANY_UNTRACKED).map(|n| format!("d{}/{n}", n % 5).into()).collect();
        let rest = "; `.gitignore` leaves out what is no work.";
        let expected = [
            (&installed[1..], None),
            (&installed[..], Some(", nearly all in web/node_modules")),
            (&mixed[..], Some(", nearly all in web/node_modules")),
            (&spread[..], Some("")),
        ];
        for (files, place) in expected {
            let count = files.len();
            let said = place.map(|place| format!("{count} untracked files are part of the checkpoint{place}{rest}"));
            assert_eq!(many_untracked(files), said);
        }
    }
}
