//! The work of an iteration, as the records have it.

use std::path::{Path, PathBuf};

use ralph_core::event::{Changes, Checkpoint, List, NestedWork, Text};
use ralph_git::{CountedChanges, Repository};

/// The checkpoint after an iteration, and what differs from earlier ones.
#[derive(Default)]
pub(super) struct AfterWork {
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) changes: Option<Changes>,
    pub(super) totals: Option<Changes>,
    /// The differences in repositories inside the project.
    pub(super) nested: List<NestedWork>,
}

impl AfterWork {
    pub(super) fn new(
        checkpoint: Checkpoint,
        counted: Option<&CountedChanges>,
        totals: Option<&CountedChanges>,
    ) -> AfterWork {
        let nested = counted.into_iter().flat_map(|counted| &counted.nested);
        let nested = nested.map(|nested| NestedWork {
            path: nested.path.to_string_lossy().into_owned().into(),
            change: nested.change,
        });
        AfterWork {
            checkpoint: Some(checkpoint),
            nested: nested.collect(),
            changes: counted.map(|counted| counted.changes),
            totals: totals.map(|counted| counted.changes),
        }
    }
}

/// Returns the files, of those that the agent says it has changed, that no checkpoint has.
pub(super) fn unseen(repository: Option<&Repository>, project: &Path, reported: &[PathBuf]) -> List<Text> {
    let reported: Vec<PathBuf> = reported.iter().map(|path| project.join(path)).collect();
    let unseen = ralph_git::unseen(repository, project, &reported);
    let named = unseen.iter().map(|path| path.strip_prefix(project).unwrap_or(path));
    named
        .map(|path| Text::from(path.to_string_lossy().into_owned()))
        .collect()
}
