//! The files of the project as they were at an earlier checkpoint.

use std::{collections::BTreeMap, path::Path};

use ralph_core::event::Checkpoint;
use ralph_gate::guard::FileContent;
use ralph_git::{EarlierContent, Repository};

/// Returns the files that differ between two checkpoints as they were at the first, with their paths below `project`; `None`
/// if that cannot be found out.
pub(super) fn earlier_files(
    repository: Option<&Repository>,
    project: &Path,
    from: Option<&Checkpoint>,
    to: Option<&Checkpoint>,
) -> Option<BTreeMap<String, FileContent>> {
    let repository = repository?;
    let files = repository.earlier(from?, to?).ok()??;
    let files = files.into_iter().filter_map(|(path, earlier)| {
        let path = repository.root().join(path);
        let below = path.strip_prefix(project).ok()?;
        Some((below.to_str()?.to_owned(), content(earlier)))
    });
    Some(files.collect())
}

fn content(earlier: EarlierContent) -> FileContent {
    match earlier {
        EarlierContent::Nothing => FileContent::Nothing,
        EarlierContent::Link(target) => FileContent::Link(target),
        EarlierContent::File { bytes, executable } => FileContent::File {
            bytes,
            mode: if executable { 0o755 } else { 0o644 },
        },
    }
}
