//! What is done for the plans of a batch, task by task. Each may have been done before, in part or as a whole: a batch that was
//! killed does it again.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::{
    event::{Exit, RunId, StopReason, StopRequest, Usage, UserCommand},
    run::RunView,
};
use ralph_git::{Branches, GitError, Merge, Move, below_project, marked};
use ralph_plan::{
    PlanKind,
    batch::{Batch, BatchId, Finding, JobEnd, Plan, PlanName, Trouble, WorkTree},
};
use ralph_state::{
    control::{self, Request},
    store::{lock, paths::ProjectPaths, trust::trust},
};
use ralph_system::files::{self, PLAN_CAP_BYTES};
use ralph_text::{Keep, PlainText, with_causes};
use ralph_words::{
    conflict_in_words, plan_commit_message, repository_within, target_commit_message, target_lost,
    target_merge_message, trouble_task,
};
use serde::{Deserialize, Serialize};

use super::{
    BatchPaths,
    engine::Shown,
    gate::MergeGate,
    job::{Ended, Job},
    meter::Meter,
};
use crate::driver::{now_ms, read_view};

/// Where a batch works, and what its runs are given.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) project: ProjectPaths,
    pub(crate) paths: BatchPaths,
    pub(crate) branches: Branches,
    /// What of the project's own files counts, as its user has trusted it.
    pub(crate) trusted: BTreeMap<String, String>,
    /// There are goals to run on a merged tree.
    pub(crate) has_goals: bool,
    pub(crate) gate: MergeGate,
}

/// Why a task cannot be done.
pub(super) type Failed = String;

fn because(error: &dyn std::error::Error) -> Failed {
    with_causes(error)
}

pub(super) fn of_git(error: GitError) -> Failed {
    because(&error)
}

/// The run of a plan before its job was started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Before {
    run: Option<RunId>,
    /// How long its journal was.
    bytes: u64,
    /// How many tasks were done.
    done: usize,
}

impl Site {
    /// Makes the target of a batch that has just begun. Later on a target that is gone is somebody's doing, and missed where it is
    /// needed.
    pub(super) fn make_target(&self, batch: &Batch) -> Result<(), Failed> {
        match batch.plans.iter().all(|plan| plan.work_tree == WorkTree::None) {
            true => self.branches.create(&batch.target, &batch.base).map_err(of_git),
            false => Ok(()),
        }
    }

    /// Makes the branch and the work tree of a plan, where the target is now.
    pub(super) fn add_work_tree(&self, batch: &Batch, plan: &Plan) -> Result<Finding, Failed> {
        let target = self.tip(&batch.target)?;
        let branch = batch.id.branch(&plan.name);
        let tree = self.paths.tree(&plan.name);
        self.branches.add_branch(&tree, &branch, &target).map_err(of_git)?;
        let base = self.tip(&branch)?;
        // The target has the boxes of sections that are merged by now.
        if plan.section.is_none() {
            self.write_plan(&tree, plan)?;
        }
        self.trust(&self.state_of(&plan.name)?)?;
        let tree = self.branches.project_in(&tree).display().to_string();
        Ok(Finding::WorkTreeAdded { base, tree })
    }

    /// Has a work tree hold the plan as its user has it, committed or not.
    fn write_plan(&self, tree: &Path, plan: &Plan) -> Result<(), Failed> {
        let bytes = files::read_bytes(&self.project.project().join(&plan.file), PLAN_CAP_BYTES);
        let bytes = bytes.map_err(|error| because(&error))?;
        let there = self.branches.project_in(tree).join(&plan.file);
        if files::read_bytes(&there, PLAN_CAP_BYTES).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        let written = there.parent().map_or(Ok(()), fs::create_dir_all);
        written
            .and_then(|()| fs::write(&there, &bytes))
            .map_err(|error| format!("{}: {error}", there.display()))
    }

    /// The run of a plan, to be started.
    pub(super) fn job<'a>(
        &'a self,
        batch: &Batch,
        plan: &Plan,
        log: &'a PathBuf,
        cwd: &'a PathBuf,
        scratch: &'a PathBuf,
    ) -> Result<(Job<'a>, Before), Failed> {
        let before = self.before(&plan.name)?;
        let mut args: Vec<OsString> = Vec::new();
        if self.can_be_continued(&plan.name, &before)? {
            args.push("--__continue".into());
        }
        args.extend(self.arguments(batch));
        if let Some(calls) = batch.calls_of_a_run() {
            args.extend(["--calls-per-hour".to_owned(), calls.to_string()].map(OsString::from));
        }
        // In one word each: a name may begin with a dash.
        args.extend([format!("--plan={}", plan.file), "--headless".to_owned()].map(OsString::from));
        if let Some(section) = &plan.section {
            args.push(format!("--section={section}").into());
        }
        if let Some(Trouble::Conflict { files } | Trouble::Markers { files }) = &plan.trouble {
            let unguarded = files.iter().filter_map(|file| below_project(&self.branches, file));
            args.extend(unguarded.map(|file| format!("--__in-conflict={file}").into()));
        }
        let job = Job {
            args,
            cwd,
            id: self.job_id(&plan.name),
            scratch,
            log,
        };
        Ok((job, before))
    }

    /// What every child is told: the settings of the batch, and where states are.
    fn arguments(&self, batch: &Batch) -> Vec<OsString> {
        let root = self.project.states().root().as_os_str().to_owned();
        let given = batch.arguments.iter().map(OsString::from);
        given.chain(["--state-dir".into(), root]).collect()
    }

    /// The goals of the merged tree, to be started.
    pub(super) fn goals<'a>(
        &self,
        batch: &Batch,
        plan: &Plan,
        log: &'a PathBuf,
        cwd: &'a PathBuf,
        scratch: &'a PathBuf,
    ) -> Job<'a> {
        let words = ["goals", "check", "--__merged"].map(OsString::from);
        let words = words.into_iter().chain([self.paths.judging().into_os_string()]);
        Job {
            args: self.arguments(batch).into_iter().chain(words).collect(),
            cwd,
            id: self.job_id(&plan.name),
            scratch,
            log,
        }
    }

    fn before(&self, plan: &PlanName) -> Result<Before, Failed> {
        let state = self.state_of(plan)?;
        let run = state.latest_run();
        let bytes = run.as_ref().map_or(0, |run| journal_bytes(&state, run));
        let view = run.as_ref().and_then(|run| read_view(&state, run).ok());
        let done = view.map_or(0, |view| view.plan.done());
        Ok(Before { run, bytes, done })
    }

    /// Whether the last run was stopped in the middle, so that its counts and limits go on.
    fn can_be_continued(&self, plan: &PlanName, before: &Before) -> Result<bool, Failed> {
        let state = self.state_of(plan)?;
        let view = before.run.as_ref().and_then(|run| read_view(&state, run).ok());
        let reason = view.as_ref().and_then(RunView::stop_reason);
        Ok(matches!(
            reason,
            Some(StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp | StopReason::Requested)
        ))
    }

    /// How the run of a plan ended whose process did.
    pub(super) fn end_of_job(&self, plan: &PlanName, before: &Before, ended: &Ended) -> Finding {
        let view = self.run_since(plan, before);
        let reason = view.as_ref().and_then(|view| view.stop_reason().cloned());
        let end = match (reason, ended.exit) {
            (Some(reason), _) => JobEnd::Over { reason },
            (None, Some(Exit::Code { code })) => JobEnd::Refused {
                code: Some(code),
                said: said(&ended.tail),
            },
            (None, Some(Exit::Signal { .. }) | None) => JobEnd::Crashed,
        };
        job_ended(view.as_ref(), end)
    }

    /// What is found of a job that ended like that.
    pub(super) fn ended(&self, plan: &PlanName, before: &Before, end: JobEnd) -> Finding {
        job_ended(self.run_since(plan, before).as_ref(), end)
    }

    /// Has `meter` read on in the runs of a plan.
    pub(super) fn read_runs(&self, plan: &PlanName, meter: &mut Meter) {
        if let Ok(state) = self.state_of(plan) {
            meter.read(plan, &state);
        }
    }

    /// The run of a plan as far as it has records that it had not before.
    fn run_since(&self, plan: &PlanName, before: &Before) -> Option<RunView> {
        let state = self.state_of(plan).ok()?;
        let run = state.latest_run()?;
        // A run that goes on is the same as before, and has more records.
        let is_of_job = before.run.as_ref() != Some(&run) || journal_bytes(&state, &run) > before.bytes;
        read_view(&state, &run).ok().filter(|_| is_of_job)
    }

    /// What the run of a plan shows of itself, wherever it is.
    pub(super) fn shown(&self, plan: &PlanName, before: &Before) -> Shown {
        if self.state_of(plan).is_ok_and(|state| lock::is_held(&state)) {
            return Shown::Working;
        }
        let view = self.run_since(plan, before);
        match view.as_ref().and_then(RunView::stop_reason) {
            Some(reason) => Shown::Over(reason.clone()),
            None => Shown::Silent,
        }
    }

    pub(super) fn has_records(&self, plan: &PlanName, before: &Before) -> bool {
        self.run_since(plan, before).is_some()
    }

    /// Whether tasks of a plan were done since.
    pub(super) fn has_progress(&self, plan: &PlanName, before: &Before) -> bool {
        let view = self.run_since(plan, before);
        view.is_some_and(|view| view.plan.done() > before.done)
    }

    /// Asks the run of a plan to end, if it is on this machine.
    pub(super) fn stop_run(&self, plan: &PlanName) {
        if let Ok(state) = self.state_of(plan) {
            let stop = StopRequest::Immediate;
            let command = UserCommand::Stop { stop };
            _ = control::ask(&state.socket(), &Request::Command { command }); // it shows that it goes on
        }
    }

    /// Merges the work of a plan with the target, in the scratch work tree. The target stays where it is.
    pub(super) fn merge(&self, batch: &Batch, plan: &Plan) -> Result<Finding, Failed> {
        let (branch, tree) = (batch.id.branch(&plan.name), self.paths.tree(&plan.name));
        if let Some(checked_out) = self.branches.checked_out_in(&batch.target).map_err(of_git)?
            && !self.branches.is_clean(&checked_out, false).map_err(of_git)?
        {
            let why = format!("{} has changes that are not committed", checked_out.display());
            return Ok(Finding::TargetInUse { why });
        }
        let onto = self.tip(&batch.target)?;
        if let Some(Trouble::Conflict { files } | Trouble::Markers { files }) = &plan.trouble {
            let files = self.branches.unresolved(&tree, files).map_err(of_git)?;
            if !files.is_empty() {
                let trouble = Trouble::Markers { files };
                let branch = String::new();
                return Ok(Finding::MergeRefused { trouble, onto, branch });
            }
        }
        let message = plan_commit_message(&plan.name);
        self.branches.commit_all(&tree, &message).map_err(of_git)?;
        if !self.branches.adopt(&tree, &branch).map_err(of_git)? {
            let tree = tree.display();
            return Err(format!("{tree} is not on `{branch}` any more, and lacks commits of it"));
        }
        let repositories = self.branches.new_repositories(&onto, &branch).map_err(of_git)?;
        if let Some(path) = repositories.first() {
            return Err(repository_within(path, &tree));
        }
        let scratch = self.paths.scratch_tree();
        self.branches.reset_tree(&scratch, &onto).map_err(of_git)?;
        let message = target_merge_message(&plan.name, &plan.file, &branch);
        Ok(
            match self.branches.merge(&scratch, &branch, &message).map_err(of_git)? {
                Merge::Made { commit } => Finding::MergeMade { commit, onto },
                Merge::Unneeded => Finding::MergeUnneeded { commit: onto },
                Merge::Conflict { files } => Finding::MergeRefused {
                    trouble: Trouble::Conflict { files },
                    onto,
                    branch: self.tip(&branch)?,
                },
            },
        )
    }

    /// Whether the scratch work tree was made.
    pub(super) fn has_scratch_tree(&self) -> bool {
        self.paths.scratch_tree().join(".git").is_file()
    }

    pub(super) fn move_target(&self, batch: &Batch, onto: &str, commit: &str) -> Result<Finding, Failed> {
        let moved = self
            .branches
            .fast_forward(&batch.target, onto, commit)
            .map_err(of_git)?;
        if moved == Move::Done {
            self.branches.hold(&batch.id.to_string(), commit).map_err(of_git)?;
        }
        Ok(match moved {
            Move::Done => Finding::TargetMoved,
            Move::HadMoved => Finding::TargetHadMoved,
            Move::InUse { why } => Finding::TargetInUse { why },
        })
    }

    /// Puts the target back where the batch has moved it, if it was moved back or deleted since; returns where it was and where it
    /// is then. None where the target has every merge.
    ///
    /// # Errors
    /// That the target lacks a merge and has other commits, in words.
    pub(super) fn put_back_target(&self, batch: &Batch) -> Result<Option<(Option<String>, String)>, Failed> {
        let merged: Vec<&String> = batch.plans.iter().filter_map(|plan| plan.merged_as()).collect();
        let has_all = |commit: &str| -> Result<bool, Failed> {
            for one in &merged {
                if *one != commit && !self.branches.is_ancestor(one, commit).map_err(of_git)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let tip = self.branches.tip(&batch.target).map_err(of_git)?;
        if merged.is_empty() || tip.as_deref().map(has_all).transpose()? == Some(true) {
            return Ok(None);
        }
        let mut latest = None;
        for commit in &merged {
            if has_all(commit)? {
                latest = Some((*commit).clone());
            }
        }
        let lost = || target_lost(&batch.target, latest.as_deref());
        let to = latest.clone().ok_or_else(lost)?;
        let is_put_back = match &tip {
            None => self
                .branches
                .create(&batch.target, &to)
                .map_err(of_git)
                .map(|()| true)?,
            Some(from) if self.branches.is_ancestor(from, &to).map_err(of_git)? => {
                self.branches.fast_forward(&batch.target, from, &to).map_err(of_git)? == Move::Done
            }
            Some(_) => false,
        };
        if is_put_back { Ok(Some((tip, to))) } else { Err(lost()) }
    }

    /// Gives the agent of a plan another task: the target is merged into its branch, as far as git can, and the plan says what
    /// is left to do.
    pub(super) fn give_task(&self, batch: &Batch, plan: &Plan, trouble: &Trouble) -> Result<Finding, Failed> {
        let tree = self.paths.tree(&plan.name);
        let target = self.tip(&batch.target)?;
        let path = self.branches.project_in(&tree).join(&plan.file);
        let before = files::read_bytes(&path, PLAN_CAP_BYTES).map_err(|error| because(&error))?;
        let message = target_commit_message(&batch.target, &plan.name);
        let conflicts = self.branches.begin_merge(&tree, &target, &message).map_err(of_git)?;
        let details: Vec<String> = conflicts
            .iter()
            .map(|file| {
                conflict_in_words(
                    &file.path,
                    [file.in_base, file.in_branch, file.in_target],
                    &batch.target,
                )
            })
            .collect();
        let text = trouble_task(trouble, &details, &batch.target, plan.refusals);
        let kind = PlanKind::of(&path);
        let merged = files::read_bytes(&path, PLAN_CAP_BYTES).map_err(|error| because(&error))?;
        // A plan with conflict markers in it is none; the agent's own is.
        let bytes = match marked(&tree, &[path.to_string_lossy().into_owned()]).is_empty() {
            true => merged,
            false => before,
        };
        if !String::from_utf8_lossy(&bytes).contains(&text) {
            let text =
                ralph_plan::add(kind, &bytes, &text, plan.section.as_deref()).map_err(|error| because(&error))?;
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Finding::TaskAdded)
    }

    /// Removes what is not needed once a plan is merged; whatever the target does not have stays.
    pub(super) fn remove_work_tree(&self, batch: &Batch, plan: &Plan) -> Result<Finding, Failed> {
        let (branch, tree) = (batch.id.branch(&plan.name), self.paths.tree(&plan.name));
        if let Some(tip) = self.branches.tip(&branch).map_err(of_git)? {
            let target = self.tip(&batch.target)?;
            let kept = |why: String| Ok(Finding::WorkTreeKept { why });
            if !self.branches.is_ancestor(&tip, &target).map_err(of_git)? {
                return kept(format!("`{branch}` has commits that `{}` has not", batch.target));
            }
            let has_tree = self.branches.has_tree(&tree).map_err(of_git)?;
            let is_merged = || -> Result<bool, GitError> {
                Ok(self.branches.is_clean(&tree, true)? && self.branches.has_work_of(&target, &tree)?)
            };
            if has_tree && !is_merged().map_err(of_git)? {
                return kept(format!("{} has changes since", tree.display()));
            }
            if has_tree && let Some(file) = self.branches.ignored_files(&tree).map_err(of_git)?.first() {
                return kept(format!(
                    "{} has `{file}`, which git ignores and no commit has",
                    tree.display()
                ));
            }
            self.branches.remove_tree(&tree).map_err(of_git)?;
            self.branches.delete(&branch, &tip).map_err(of_git)?;
        } else {
            self.branches.remove_tree(&tree).map_err(of_git)?;
        }
        Ok(Finding::WorkTreeRemoved)
    }

    /// Takes away what only a batch that goes on needs.
    pub(crate) fn tidy(&self, batch: &BatchId) -> Result<(), Failed> {
        self.branches.release(&batch.to_string()).map_err(of_git)?;
        self.branches.remove_tree(&self.paths.scratch_tree()).map_err(of_git)?;
        _ = fs::remove_dir_all(self.paths.judging()); // the next one is made anew
        _ = fs::remove_dir_all(self.paths.jobs()); // without it, no script begins that an engine still has
        _ = fs::remove_dir_all(self.paths.scratch()); // empty, or of a child that could not be ended
        // Only where nothing lies in it.
        _ = fs::remove_dir(self.paths.trees());
        _ = self.paths.trees().parent().map(fs::remove_dir);
        Ok(())
    }

    /// Takes away what processes of a batch that was killed have left locked.
    pub(super) fn unlock(&self, batch: &Batch) -> Result<(), Failed> {
        let below = format!("ralph/{}", batch.id);
        self.branches.unlock_branches(&below).map_err(of_git)?;
        // Those of all batches of the project: none but this one works.
        self.branches
            .remove_torn_entries(self.paths.trees_of_project())
            .map_err(of_git)
    }

    /// Marks the processes of a plan, and no others on this machine: batches of two projects may have begun in the same second.
    pub(super) fn job_id(&self, plan: &PlanName) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("batch-{}-{}-{plan}", name(self.project.state()), name(self.paths.dir()))
    }

    fn tip(&self, branch: &str) -> Result<String, Failed> {
        let tip = self.branches.tip(branch).map_err(of_git)?;
        tip.ok_or_else(|| format!("the branch `{branch}` is gone"))
    }

    pub(super) fn trust(&self, state: &ProjectPaths) -> Result<(), Failed> {
        if self.trusted.is_empty() {
            return Ok(());
        }
        trust(state, self.trusted.clone()).map_err(|error| because(&error))
    }

    /// Where the runs of a plan have their state.
    pub(super) fn state_of(&self, plan: &PlanName) -> Result<ProjectPaths, Failed> {
        self.state_at(&self.branches.project_in(&self.paths.tree(plan)))
    }

    pub(super) fn state_at(&self, project: &Path) -> Result<ProjectPaths, Failed> {
        ProjectPaths::new(project, Some(self.project.states().root())).map_err(|error| because(&error))
    }
}

/// That a job ended, whose run shows `view` if it has begun.
fn job_ended(view: Option<&RunView>, end: JobEnd) -> Finding {
    let calls = view.map_or(0, |view| view.clock.calls_within_hour(now_ms()));
    Finding::JobEnded {
        end,
        calls: u32::try_from(calls).unwrap_or(u32::MAX),
    }
}

/// What the runs of all plans have used together.
pub(crate) fn used(site: &Site, batch: &Batch) -> Usage {
    let mut meter = Meter::default();
    for plan in &batch.plans {
        site.read_runs(&plan.name, &mut meter);
    }
    meter.usage()
}

/// All runs of a plan, oldest first, as far as their journals can be read.
pub(crate) fn job_views(site: &Site, plan: &PlanName) -> Vec<RunView> {
    let Ok(state) = site.state_of(plan) else {
        return Vec::new();
    };
    let runs = state.run_ids();
    runs.iter().filter_map(|run| read_view(&state, run).ok()).collect()
}

/// Where the runs of a plan have their state.
///
/// # Errors
/// Why there can be none, in words.
pub(crate) fn job_state(site: &Site, plan: &PlanName) -> Result<ProjectPaths, String> {
    site.state_of(plan)
}

fn journal_bytes(state: &ProjectPaths, run: &RunId) -> u64 {
    fs::metadata(state.run(run).journal()).map_or(0, |journal| journal.len())
}

/// Returns the error that a ralph has printed last on a terminal, with colours; else the last line that is no hint.
pub(super) fn said(tail: &str) -> String {
    let (mut error, mut last) = (None, String::new());
    let mut take = |line: &str| {
        let line = line.trim();
        match line.strip_prefix("error: ") {
            Some(why) => error = Some(why.to_owned()),
            None if line.is_empty() || line.starts_with("hint: ") => {}
            None => line.clone_into(&mut last),
        }
    };
    let mut plain = PlainText::new(Keep::Nothing);
    plain.feed(tail.as_bytes(), &mut take);
    plain.finish(&mut take);
    error.unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refusal_is_its_error_and_no_hint() {
        let printed = "\x1b[1;33mwarning:\x1b[0m no goals\n\x1b[1;31merror:\x1b[0m no space left on device\n\x1b[36mhint:\x1b[0m free some\n";
        assert_eq!(said(printed), "no space left on device");
        assert_eq!(said("killed\n\x1b[36mhint:\x1b[0m free some\n\n"), "killed");
        assert_eq!(said(""), "");
    }
}
