//! Decides for each file that differs whether it is added, removed, or left out with a notice.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    mem,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{Repository, UNTRACKED_CAP_BYTES, status::WorkTreeStatus, user_index::UserIndex};

/// Files that are named for each reason; the rest is counted.
const MOST_NAMED: usize = 10;

/// The changes to make to the index, and the notices about files that are left out.
#[derive(Default)]
pub(super) struct IndexChanges {
    pub(super) add: Vec<PathBuf>,
    pub(super) remove: Vec<PathBuf>,
    left_out: BTreeMap<&'static str, Vec<String>>,
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

    /// Returns the notices about files that are left out: a sentence for each of the first ones, a count of the rest.
    pub(super) fn notices(&mut self) -> Vec<String> {
        let mut notices = Vec::new();
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
