//! What a commit of HEAD delivers of the files that were checked.

use std::path::PathBuf;

use ralph_core::event::{Checkpoint, Notice};
use ralph_git::Undelivered;

use super::super::room_packages::named;

/// Returns why a claim cannot count although its goals pass: HEAD has other files, and git reports no change in them.
pub(super) fn doubt(found: &Result<Undelivered, String>) -> Option<String> {
    match found {
        Ok(found) if found.hidden.is_empty() => None,
        Ok(found) => Some(format!(
            "HEAD has other content than the files that were checked, in {}, and `git status` shows no change there: \
             commit them as they are (`git update-index --no-skip-worktree --no-assume-unchanged`, and no filter of this \
             repository's own)",
            named(&found.hidden)
        )),
        Err(why) => Some(format!(
            "HEAD cannot be compared with the files that were checked: {why}"
        )),
    }
}

/// Returns a notice of files that commits of the run do not have.
pub(super) fn uncommitted(found: Vec<PathBuf>, [first, latest]: [&Option<Checkpoint>; 2]) -> Option<Notice> {
    let head = |checkpoint: &Option<Checkpoint>| checkpoint.as_ref().and_then(|checkpoint| checkpoint.head.clone());
    // Without a commit of the run, everything is open.
    (head(first) != head(latest) && !found.is_empty()).then(|| {
        let text = format!("uncommitted, so not in HEAD as it was checked: {}", named(&found));
        Notice::info("not-committed", text)
    })
}
