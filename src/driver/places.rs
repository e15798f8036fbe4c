//! What a session leaves behind beside the files of the project: the repository, and the state of git in it.

use ralph_core::event::{Changes, Checkpoint, LostRepository};
use ralph_git::{GitWorks, Repository};

use super::jobs::SettleJob;

/// Returns what became of the repository, if it is no longer there after the iteration.
pub(super) fn lost(
    repository: Option<&Repository>,
    job: &SettleJob,
    made: Option<&Checkpoint>,
    counted: Option<Changes>,
) -> Option<Box<LostRepository>> {
    let works = match (made, &job.before, counted) {
        (Some(_), None, _) | (Some(_), _, Some(_)) => GitWorks::Yes,
        (None, ..) | (Some(_), Some(_), None) => GitWorks::Doubtful,
    };
    let known: Vec<&Checkpoint> = job.before.iter().chain(&job.baseline).collect();
    repository?.lost(&known, works).map(Box::new)
}

/// Returns what became of the repository, if it is no longer there when an iteration is prepared and has no checkpoint.
pub(super) fn lost_before(repository: Option<&Repository>, known: &[Checkpoint]) -> Option<Box<LostRepository>> {
    let known: Vec<&Checkpoint> = known.iter().collect();
    repository?.lost(&known, GitWorks::Doubtful).map(Box::new)
}
