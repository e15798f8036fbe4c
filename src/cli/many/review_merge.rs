//! Reviews the merge of a plan for a batch, in the work tree of its merge queue.

use std::path::Path;

use ralph_core::event::{ReviewAnswer, ReviewResult, Usage};
use ralph_git::{Branches, range_patch};
use ralph_plan::{
    batch::MergeReview,
    claims::{StatusPlace, review_answer},
};
use ralph_state::store::journal::read_view;
use ralph_system::{files, paths::ProjectPaths, proc::Supervisor};
use ralph_text::{one_line, sanitized, with_causes};

use crate::cli::{
    args::Args,
    scratch_project::{Assignment, ScratchProject},
    trust,
};
use ralph_many::{MergeReviewRequest, write_review};

use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// Files in the agent's directory: the review that it writes, and what it reviews.
const WRITTEN: &str = "REVIEW.md";
const CHANGES: &str = "CHANGES.patch";
/// Most bytes of a review that are read.
const CAP_BYTES: u64 = 256 << 10;

/// Has the reviewer examine the merge that `directory` names, and writes its answer there.
pub(super) fn run(args: &Args, directory: &Path, supervisor: &Supervisor) -> Result<u8, Failure> {
    let failed = |why: String| Failure::new(FailureKind::Failed, why);
    let place = trust::place_to_run(args)?;
    let request = MergeReviewRequest::read(directory).map_err(failed)?;
    let branches = Branches::find(&place.project, supervisor)?;
    let patch = range_patch(&branches, &request.onto, &request.commit)?;
    let scratch_project = ScratchProject::new("ralph-review-")?;
    scratch_project.write(CHANGES, patch.as_bytes())?;
    let assignment = Assignment {
        written: WRITTEN,
        text: &assignment(&request, &place.project.display().to_string()),
        unfinished: "the reviewer did not finish its review",
        check: None,
        adjust: as_reviewer,
    };
    let code = scratch_project.run_agent(&assignment, args, &place, supervisor)?;
    let result = match code {
        None => answer(&scratch_project.file(WRITTEN))?,
        Some(_) => ReviewResult::Failed,
    };
    let usage = usage(&scratch_project);
    write_review(directory, &MergeReview { result, usage })
        .map_err(|error| failed(format!("{}: {error}", directory.display())))?;
    Ok(0)
}

/// Returns what the reviewer has used.
fn usage(scratch_project: &ScratchProject) -> Usage {
    let paths = ProjectPaths::new(&scratch_project.directory, Some(&scratch_project.state()));
    let view = paths
        .ok()
        .and_then(|paths| read_view(&paths, &paths.latest_run()?).ok());
    view.map(|view| view.usage).unwrap_or_default()
}

/// Makes the settings of a run those of its reviewer.
fn as_reviewer(config: &mut Config) {
    let review = &mut config.review;
    config.model = review.model.take();
    if let Some(adapter) = review.adapter.take() {
        config.adapter = Some(adapter);
    }
    config.fallback.clear();
    config.escalate.clear();
}

/// The task of the reviewer, as a plan.
fn assignment(request: &MergeReviewRequest, project: &str) -> String {
    let MergeReviewRequest { plan, earlier, .. } = request;
    let mut text = format!(
        "# A review of a merge\n\n- [ ] Write {WRITTEN}: a review of {CHANGES}\n\n\
         Several plans were worked on at the same time, each by an agent of its own. {CHANGES} is what the plan {} adds to the work \
         of the others. The merged project is in {project}: read there what you need, and change nothing in it. Its goals \
         pass. Look for what they do not show: work that does not fit together with that of the others, the same thing \
         built twice, mistakes, tests that prove nothing.\n\n\
         If nothing has to be changed, the only line of {WRITTEN} is\n\n    REVIEW: approved\n\n\
         Otherwise it begins with the line `REVIEW: findings`, and lists the problems below it, each as a list item without a box, with the \
         file, the line and what to do.\n",
        one_line(plan)
    );
    if !earlier.found.is_empty() {
        text += "\nThe review before this one found the following; see whether it is settled:\n\n";
        for found in &earlier.found {
            text += &format!("* {}\n", one_line(found));
        }
    }
    text
}

/// Reads the reviewer's answer.
fn answer(path: &Path) -> Result<ReviewResult, Failure> {
    let bytes = files::read_bytes(path, CAP_BYTES).map_err(|error| {
        Failure::new(
            FailureKind::Failed,
            format!("{}: {}", path.display(), with_causes(&error)),
        )
    })?;
    let text = sanitized(&String::from_utf8_lossy(&bytes)).into_owned();
    Ok(match review_answer(&text, StatusPlace::Message) {
        Some(ReviewAnswer::Approved) => ReviewResult::Approved,
        Some(ReviewAnswer::Findings { findings }) => ReviewResult::Findings {
            findings,
            sent_back: false,
        },
        None => ReviewResult::NoAnswer,
    })
}

#[cfg(test)]
mod tests {
    use ralph_core::event::Findings;

    use super::*;

    #[test]
    fn a_reviewer_reads_the_changes_and_what_was_found_before() {
        let request = MergeReviewRequest {
            plan: "api.md".to_owned(),
            onto: "c0".to_owned(),
            commit: "c1".to_owned(),
            earlier: Findings::new(vec!["a.rs:3 is\n- [ ] wrong".to_owned()]),
        };
        let text = assignment(&request, "/merged");
        assert!(
            text.contains("/merged") && text.contains("the plan api.md adds"),
            "{text}"
        );
        assert!(text.contains("* a.rs:3 is"), "{text}");
        let boxes = text.lines().filter(|line| line.trim_start().starts_with("- [ ]"));
        assert_eq!(boxes.count(), 1, "the review is its only task: {text}");
    }
}
