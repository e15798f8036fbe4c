//! Reviews of merges: the files of one review, and its job. An agent examines what a merge adds to the target. Its
//! findings are advice and prove nothing.

use std::{ffi::OsString, fs, io, path::Path};

use ralph_core::event::{Exit, Findings, ReviewResult, Usage};
use ralph_plan::batch::{Batch, BatchPlan, MergeReview, MergeTrouble, TASKS_GIVEN};
use ralph_system::files;
use ralph_text::with_causes;
use serde::{Deserialize, Serialize};

use super::{
    job::{BatchJob, EndedJob},
    worker::{Site, TaskFailure, arguments},
};

/// The hidden command that reviews a merge.
const REVIEW_MERGE: &str = "__review-merge";
/// Files of a review.
const REQUEST: &str = "review-request.json";
const REVIEW: &str = "review.json";
const CAP_BYTES: u64 = 1 << 20;

/// The subject of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReviewRequest {
    /// The plan's file, relative to the project.
    pub plan: String,
    /// The target's commit before the merge.
    pub onto: String,
    pub commit: String,
    /// The findings that the plan's agent was sent back with last.
    pub earlier: Findings,
}

impl MergeReviewRequest {
    /// Reads the request for the command that reviews.
    ///
    /// # Errors
    /// The reason why it cannot be read, in words.
    pub fn read(directory: &Path) -> Result<MergeReviewRequest, String> {
        let path = directory.join(REQUEST);
        let bytes = files::read_bytes(&path, CAP_BYTES).map_err(|error| with_causes(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Writes the review for the batch.
///
/// # Errors
/// The error of the file system.
pub fn write_review(directory: &Path, review: &MergeReview) -> io::Result<()> {
    fs::write(directory.join(REVIEW), serde_json::to_vec(review)?)
}

/// Returns the job that reviews the merge of a plan; the merged tree is checked out.
///
/// # Errors
/// The reason why the request cannot be written, in words.
pub(super) fn review_job<'a>(
    site: &'a Site,
    batch: &Batch,
    plan: &BatchPlan,
    (commit, onto): (&str, &str),
    (log, cwd, scratch): (&'a Path, &'a Path, &'a Path),
) -> Result<BatchJob<'a>, TaskFailure> {
    let directory = site.paths.judging();
    let request = MergeReviewRequest {
        plan: plan.file.clone(),
        onto: onto.to_owned(),
        commit: commit.to_owned(),
        earlier: match &plan.trouble {
            Some(MergeTrouble::Review { findings }) => findings.clone(),
            Some(_) | None => Findings::default(),
        },
    };
    let written = fs::create_dir_all(&directory)
        .and_then(|()| match fs::remove_file(directory.join(REVIEW)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        })
        .and_then(|()| fs::write(directory.join(REQUEST), serde_json::to_vec(&request)?));
    written.map_err(|error| format!("{}: {error}", directory.display()))?;
    let words = [OsString::from(REVIEW_MERGE), directory.into_os_string()];
    Ok(BatchJob {
        args: arguments(site, batch).into_iter().chain(words).collect(),
        cwd,
        env: Vec::new(),
        id: site.job_id(&plan.name),
        scratch,
        log,
    })
}

/// Returns the review that a job has written; `None` if it was `stopped`.
pub(super) fn review_of_job(site: &Site, ended: &EndedJob, stopped: bool) -> Option<MergeReview> {
    if stopped {
        return None;
    }
    let failed = MergeReview {
        result: ReviewResult::Failed,
        usage: Usage::default(),
    };
    let read = || {
        let bytes = files::read_bytes(&site.paths.judging().join(REVIEW), CAP_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    Some(match ended.exit {
        Some(Exit::Code { code: 0 }) => read().unwrap_or(failed),
        _ => failed,
    })
}

/// Decides whether findings send the plan's agent back: no more often than its settings say, and never so often that
/// advice alone would leave the plan unmerged.
pub(super) fn with_consequence(review: MergeReview, plan: &BatchPlan, rounds: u32) -> MergeReview {
    match review.result {
        ReviewResult::Findings { findings, .. } => MergeReview {
            result: ReviewResult::Findings {
                findings,
                sent_back: plan.reviews < rounds.min(TASKS_GIVEN),
            },
            ..review
        },
        ReviewResult::Approved | ReviewResult::NoAnswer | ReviewResult::Failed | ReviewResult::Skipped => review,
    }
}
