//! Work around a review on disk and git: its prompt, and restoring the files afterwards.

use std::{fs, path::Path};

use ralph_core::{
    event::{Checkpoint, Notice, RunId},
    machine::{LoopState, ReviewSubject, Statement},
};
use ralph_git::{Moment, Repository};
use ralph_plan::{
    claims::{StatusPlace, review_answer},
    prompt::ReviewedChanges,
};
use ralph_system::{
    files::{self, PLAN_CAP_BYTES},
    paths::RunPaths,
    proc::Supervisor,
};
use ralph_text::{sanitized, with_causes};
use ralph_words::{counted, goal_in_words};

/// Most changed files that are named.
const NAMED: usize = 5;

/// The subject of a review, taken from the records.
#[derive(Debug)]
pub(super) struct ReviewScope {
    pub(super) subject: ReviewSubject,
    /// The checkpoint from which changes are reviewed.
    since: Option<Checkpoint>,
    /// The results of the goals, a clause each.
    pub(super) goals: Vec<String>,
}

impl ReviewScope {
    /// Returns the subject; `None` if the next iteration is not a review.
    pub(super) fn for_next(state: &LoopState) -> Option<Self> {
        if state.view.role.is_work() {
            return None;
        }
        let goals = &state.view.iterations.latest_assessment().goals;
        Some(Self {
            subject: state.internal.reviews.subject.clone().unwrap_or_default(),
            since: state.unreviewed_since().cloned(),
            goals: goals.iter().map(goal_in_words).collect(),
        })
    }

    /// Returns the changes up to `now`; `None` without checkpoints or if git fails.
    pub(super) fn changes(
        &self,
        repository: Option<&Repository>,
        now: Option<&Checkpoint>,
        plan: &Path,
    ) -> Option<ReviewedChanges> {
        let (since, now) = (self.since.as_ref()?, now?);
        Some(ReviewedChanges {
            patch: repository?.patch(since, Some(now), plan).ok()?,
            command: format!("git diff {:.12} {:.12}", since.tree, now.tree),
        })
    }
}

/// Reads a reviewer's statement from its final message: an answer at most. A reviewer makes no claims.
pub(super) fn reviewers_statement(message: &str, last_line_claims: bool) -> Statement {
    let place = match last_line_claims {
        true => StatusPlace::LastLines,
        false => StatusPlace::Message,
    };
    Statement {
        review: review_answer(&sanitized(message), place),
        ..Statement::default()
    }
}

/// The files that a review may change, and the means to restore them.
pub(super) struct ReviewContext<'a> {
    pub(super) run: &'a RunId,
    pub(super) files: &'a RunPaths,
    pub(super) plan: &'a Path,
    pub(super) repository: Option<&'a Repository>,
    pub(super) supervisor: &'a Supervisor,
}

impl ReviewContext<'_> {
    /// Keeps a copy of the plan, which may be in no checkpoint.
    pub(super) fn keep_plan(&self, iteration: u32) {
        let [before, _] = self.files.plans(iteration);
        // Without a copy, a plan that is in no checkpoint stays as the reviewer leaves it.
        if let Ok(bytes) = files::read_bytes(self.plan, PLAN_CAP_BYTES) {
            _ = fs::write(before, bytes);
        }
    }

    /// Restores the files as they were `before` the review, if they differ `now`, and adds notices. Returns whether the
    /// tree was restored.
    pub(super) fn put_back(
        &self,
        iteration: u32,
        before: Option<&Checkpoint>,
        now: Option<&Checkpoint>,
        notices: &mut Vec<Notice>,
    ) -> bool {
        let undone = match (self.repository, before, now) {
            (Some(repository), Some(before), Some(now)) => {
                self.restore_tree(repository, iteration, (before, now), notices)
            }
            _ => false,
        };
        self.restore_plan(iteration, notices);
        undone
    }

    fn restore_tree(
        &self,
        repository: &Repository,
        iteration: u32,
        (before, now): (&Checkpoint, &Checkpoint),
        notices: &mut Vec<Notice>,
    ) -> bool {
        if before.head != now.head {
            let id = |head: &Option<String>| {
                head.as_deref()
                    .map_or("nothing", |head| head.get(..12).unwrap_or(head))
                    .to_owned()
            };
            let (from, to) = (id(&before.head), id(&now.head));
            notices.push(Notice::warning(
                "review-moved-head",
                format!(
                    "HEAD moved during the review from {from} to {to} and stays there; `git reset --soft {from}` undoes that"
                ),
            ));
        }
        if before.tree == now.tree {
            return false;
        }
        let files = repository.names_between(before, now).unwrap_or_default();
        let restored = repository.restore(self.run, iteration, Moment::Before);
        // As after a checkpoint: git may have run programs that an agent has configured.
        self.supervisor.end_orphans();
        match restored {
            Ok(restored) => {
                let left = restored.nested.iter().filter_map(|nested| {
                    let left = nested.left.as_ref()?;
                    let text = format!("{}: {left}.", nested.path.display());
                    Some(Notice::warning("review-changes-nested", text))
                });
                notices.extend(left);
                let count = counted(files.len() as u64, "file");
                let named = files[..files.len().min(NAMED)].join(", ");
                let rest = if files.len() > NAMED { ", …" } else { "" };
                notices.push(Notice::warning(
                    "review-changes-undone",
                    format!(
                        "{count} changed during the review, by the reviewer or by you, and put back: {named}{rest}; `ralph diff \
                         {iteration}` shows the change, `ralph restore {iteration}` brings it back once the run is over"
                    ),
                ));
                true
            }
            Err(error) => {
                notices.push(changes_stay(iteration, &with_causes(&error)));
                false
            }
        }
    }

    /// Restores a plan that is in no checkpoint.
    fn restore_plan(&self, iteration: u32, notices: &mut Vec<Notice>) {
        let [before, found] = self.files.plans(iteration);
        let Ok(wanted) = files::read_bytes(&before, PLAN_CAP_BYTES) else {
            return;
        };
        let now = files::read_bytes(self.plan, PLAN_CAP_BYTES).ok();
        if now.as_ref() == Some(&wanted) {
            return;
        }
        let kept = now.and_then(|bytes| fs::write(&found, bytes).ok().map(|()| found));
        match fs::write(self.plan, wanted) {
            Ok(()) => {
                let text = match kept {
                    Some(kept) => format!(
                        "the plan changed during the review, by the reviewer or by you, and was restored; the changed version \
                         is {}",
                        kept.display()
                    ),
                    None => "the plan was missing after the review and was restored".to_owned(),
                };
                notices.push(Notice::warning("review-plan-undone", text));
            }
            Err(error) => {
                let why = format!("{}: {error}", self.plan.display());
                notices.push(changes_stay(iteration, &why));
            }
        }
    }
}

fn changes_stay(iteration: u32, why: &str) -> Notice {
    let text = format!("the changes during the review, iteration {iteration}, could not be undone: {why}");
    Notice::warning("review-changes-stay", text)
}
