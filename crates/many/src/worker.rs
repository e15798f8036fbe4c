//! The tasks of a batch. Each can be repeated after it was done in part or completely: a resumed batch does
//! so.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufReader, Read as _},
    path::{Path, PathBuf},
    sync::mpsc,
};

use ralph_core::{
    event::{Exit, RunId, StopReason, StopRequest, Usage, UserCommand},
    run::RunView,
};
use ralph_forge::ISSUES;
use ralph_git::{
    Branches, CommitSigning, GitError, MergeResult, MoveResult, below_project, fast_forward, marked, merge_commit,
    unmovable,
};
use ralph_plan::{
    PlanKind,
    batch::{Batch, BatchId, BatchPlan, JobEnd, KeptFiles, MergeTrouble, PlanName, TaskResult, WorkTree},
};
use ralph_state::{
    control::{self, ControlRequest},
    store::{journal::read_view, lock, trust::trust},
};
use ralph_system::{
    files::{self, PLAN_CAP_BYTES},
    os::now_ms,
    paths::{ProjectPaths, create_private_dir},
    proc::Supervisor,
};
use ralph_text::{KeptEscapes, PlainText, with_causes};
use ralph_words::{
    conflict_in_words, plan_commit_message, repository_within, target_commit_message, target_lost,
    target_merge_message, trouble_task,
};
use serde::{Deserialize, Serialize};

use super::{
    BatchPaths,
    engine::RunState,
    gate::MergeGate,
    job::{self, BatchJob, EndedJob},
    meter::UsageMeter,
};

/// The place where a batch works, and the settings of its runs.
#[derive(Debug, Clone)]
pub struct Site {
    pub project: ProjectPaths,
    pub paths: BatchPaths,
    pub branches: Branches,
    /// Texts of the project's own files that the user has trusted, by name.
    pub trusted: BTreeMap<String, String>,
    /// There are goals to run on a merged tree.
    pub has_goals: bool,
    pub gate: MergeGate,
    pub supervisor: Supervisor,
    /// How merges into the target are signed; `None` if they are not.
    pub signing: Option<CommitSigning>,
}

/// The option that names the project of a work tree, and the command that ends the life of one.
const TREE_OF: &str = "--__tree-of";
const TEAR_DOWN: &str = "__tear-down";
/// Deepest nesting of directories that are compared.
const DEPTH: usize = 64;

/// The reason why a task failed, in words.
pub(super) type TaskFailure = String;

fn failure(error: &dyn std::error::Error) -> TaskFailure {
    with_causes(error)
}

pub(super) fn git_failure(error: GitError) -> TaskFailure {
    failure(&error)
}

/// Returns the reason why a merge commit was not made.
fn merge_not_made(error: &GitError, is_signed: bool) -> TaskFailure {
    match is_signed {
        true => format!("its merge cannot be signed: {}", with_causes(error)),
        false => with_causes(error),
    }
}

/// The state of a plan's runs before its job was started.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunsBeforeJob {
    run: Option<RunId>,
    /// Size of the run's journal.
    bytes: u64,
    /// Number of tasks that were done.
    done: usize,
}

impl Site {
    /// Creates the target of a batch that has just begun. A target that is missing later was deleted by
    /// another process, and is reported where it is needed.
    pub(super) fn make_target(&self, batch: &Batch) -> Result<(), TaskFailure> {
        match batch.plans.iter().all(|plan| plan.work_tree == WorkTree::None) {
            true => self.branches.create(&batch.target, &batch.base).map_err(git_failure),
            false => Ok(()),
        }
    }

    /// Creates the branch and the work tree of a plan from the present target.
    pub(super) fn add_work_tree(&self, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, TaskFailure> {
        let target = self.tip(&batch.target)?;
        let branch = batch.id.branch(&plan.name);
        let tree = self.paths.tree(&plan.name);
        self.branches.add_branch(&tree, &branch, &target).map_err(git_failure)?;
        let base = self.tip(&branch)?;
        // A section's file comes from the target, in which boxes of merged sections are ticked.
        if plan.section.is_none() {
            self.write_plan(&tree, plan)?;
        }
        self.trust(&self.state_of(&plan.name)?)?;
        let tree = self.branches.project_in(&tree).display().to_string();
        Ok(TaskResult::WorkTreeAdded { base, tree })
    }

    /// Writes the user's version of the plan, committed or not, to a work tree.
    fn write_plan(&self, tree: &Path, plan: &BatchPlan) -> Result<(), TaskFailure> {
        let bytes = files::read_bytes(&self.project.project().join(&plan.file), PLAN_CAP_BYTES);
        let bytes = bytes.map_err(|error| failure(&error))?;
        let there = self.branches.project_in(tree).join(&plan.file);
        if files::read_bytes(&there, PLAN_CAP_BYTES).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        let written = there.parent().map_or(Ok(()), fs::create_dir_all);
        written
            .and_then(|()| fs::write(&there, &bytes))
            .map_err(|error| format!("{}: {error}", there.display()))
    }

    /// Returns the job that runs a plan, and the state before it.
    pub(super) fn job<'a>(
        &'a self,
        batch: &Batch,
        plan: &BatchPlan,
        log: &'a PathBuf,
        cwd: &'a PathBuf,
        scratch: &'a PathBuf,
    ) -> Result<(BatchJob<'a>, RunsBeforeJob), TaskFailure> {
        let before = self.before(&plan.name)?;
        let mut args: Vec<OsString> = Vec::new();
        if self.can_be_continued(&plan.name, &before)? {
            args.push("--__continue".into());
        }
        args.extend(batch.arguments.iter().map(OsString::from));
        if let Some(calls) = batch.calls_per_run() {
            args.extend(["--calls-per-hour".to_owned(), calls.to_string()].map(OsString::from));
        }
        // Joined with `=`, because a name may begin with a dash.
        args.extend([format!("--plan={}", plan.file), "--headless".to_owned()].map(OsString::from));
        if let Some(section) = &plan.section {
            args.push(format!("--section={section}").into());
        }
        if let Some(MergeTrouble::Conflict { files } | MergeTrouble::Markers { files }) = &plan.trouble {
            let unguarded = files.iter().filter_map(|file| below_project(&self.branches, file));
            args.extend(unguarded.map(|file| format!("--__in-conflict={file}").into()));
        }
        args.extend(own_arguments(self));
        args.push(self.tree_of());
        let job = BatchJob {
            args,
            cwd,
            env: Vec::new(),
            id: self.job_id(&plan.name),
            scratch,
            log,
        };
        Ok((job, before))
    }

    /// Returns the argument that names the project whose work tree a child prepares.
    fn tree_of(&self) -> OsString {
        let mut argument = OsString::from(format!("{TREE_OF}="));
        argument.push(self.project.project());
        argument
    }

    /// Returns the job that runs the goals on the merged tree.
    pub(super) fn goals<'a>(
        &self,
        batch: &Batch,
        plan: &BatchPlan,
        log: &'a PathBuf,
        cwd: &'a PathBuf,
        scratch: &'a PathBuf,
    ) -> BatchJob<'a> {
        let words = ["goals", "check", "--__merged"].map(OsString::from);
        let words = words
            .into_iter()
            .chain([self.paths.judging().into_os_string(), self.tree_of()]);
        BatchJob {
            args: arguments(self, batch).into_iter().chain(words).collect(),
            cwd,
            env: Vec::new(),
            id: self.job_id(&plan.name),
            scratch,
            log,
        }
    }

    fn before(&self, plan: &PlanName) -> Result<RunsBeforeJob, TaskFailure> {
        let state = self.state_of(plan)?;
        let run = state.latest_run();
        let bytes = run.as_ref().map_or(0, |run| journal_bytes(&state, run));
        let view = run.as_ref().and_then(|run| read_view(&state, run).ok());
        let done = view.map_or(0, |view| view.plan.done());
        Ok(RunsBeforeJob { run, bytes, done })
    }

    /// Whether the last run was stopped in the middle, so that its counts and limits continue.
    fn can_be_continued(&self, plan: &PlanName, before: &RunsBeforeJob) -> Result<bool, TaskFailure> {
        let state = self.state_of(plan)?;
        let view = before.run.as_ref().and_then(|run| read_view(&state, run).ok());
        let reason = view.as_ref().and_then(RunView::stop_reason);
        Ok(matches!(
            reason,
            Some(StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp | StopReason::Requested)
        ))
    }

    /// Determines how the run of a plan ended after its process exited.
    pub(super) fn end_of_job(&self, plan: &PlanName, before: &RunsBeforeJob, ended: &EndedJob) -> TaskResult {
        let view = self.run_since(plan, before);
        let reason = view.as_ref().and_then(|view| view.stop_reason().cloned());
        let end = match (reason, ended.exit) {
            (Some(reason), _) => JobEnd::Over { reason },
            (None, Some(Exit::Code { code })) => JobEnd::Refused {
                code: Some(code),
                said: reported_error(&ended.tail),
            },
            (None, Some(Exit::Signal { .. }) | None) => JobEnd::Crashed,
        };
        job_ended(view.as_ref(), end)
    }

    /// Returns the finding for a job with this end.
    pub(super) fn task_result(&self, plan: &PlanName, before: &RunsBeforeJob, end: JobEnd) -> TaskResult {
        job_ended(self.run_since(plan, before).as_ref(), end)
    }

    /// Lets `meter` read new records of a plan's runs.
    pub(super) fn read_runs(&self, plan: &PlanName, meter: &mut UsageMeter) {
        if let Ok(state) = self.state_of(plan) {
            meter.read(plan, &state);
        }
    }

    /// Returns the last run of a plan if it has records from this job.
    fn run_since(&self, plan: &PlanName, before: &RunsBeforeJob) -> Option<RunView> {
        let state = self.state_of(plan).ok()?;
        let run = state.latest_run()?;
        // A continued run keeps its id and gains records.
        let is_of_job = before.run.as_ref() != Some(&run) || journal_bytes(&state, &run) > before.bytes;
        read_view(&state, &run).ok().filter(|_| is_of_job)
    }

    /// Determines from lock and journal whether the run of a plan is working, over or silent, on any machine.
    pub(super) fn run_state(&self, plan: &PlanName, before: &RunsBeforeJob) -> RunState {
        if self.state_of(plan).is_ok_and(|state| lock::is_held(&state)) {
            return RunState::Working;
        }
        let view = self.run_since(plan, before);
        match view.as_ref().and_then(RunView::stop_reason) {
            Some(reason) => RunState::Over(reason.clone()),
            None => RunState::Silent,
        }
    }

    pub(super) fn has_records(&self, plan: &PlanName, before: &RunsBeforeJob) -> bool {
        self.run_since(plan, before).is_some()
    }

    /// Whether the plan has more done tasks than before the job.
    pub(super) fn has_progress(&self, plan: &PlanName, before: &RunsBeforeJob) -> bool {
        let view = self.run_since(plan, before);
        view.is_some_and(|view| view.plan.done() > before.done)
    }

    /// Asks the run of a plan to end, if it is on this machine.
    pub(super) fn stop_run(&self, plan: &PlanName) {
        let stop = StopRequest::Immediate;
        self.command_run(plan, UserCommand::Stop { stop }); // after an error the run continues
    }

    /// Sends a command to the run of a plan, if it is on this machine. Returns whether the run has answered.
    pub(super) fn command_run(&self, plan: &PlanName, command: UserCommand) -> bool {
        let state = self.state_of(plan);
        state.is_ok_and(|state| control::ask(&state.socket(), &ControlRequest::Command { command }).is_ok())
    }

    /// Merges a plan's branch into the target's commit in the scratch work tree. The target itself is not
    /// moved.
    pub(super) fn merge(&self, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, TaskFailure> {
        if let Some(checked_out) = self.branches.checked_out_in(&batch.target).map_err(git_failure)?
            && let Some(why) = unmovable(&self.branches, &checked_out).map_err(git_failure)?
        {
            return Ok(TaskResult::TargetInUse { why });
        }
        let onto = self.tip(&batch.target)?;
        if let Some(refused) = self.unresolved(plan, &onto)? {
            return Ok(refused);
        }
        let branch = self.committed_branch(batch, plan, &onto)?;
        let scratch = self.paths.scratch_tree();
        self.branches.reset_tree(&scratch, &onto).map_err(git_failure)?;
        let message = target_merge_message(&[(&plan.name, &plan.file, &branch)]);
        Ok(
            match self.branches.merge(&scratch, &branch, &message).map_err(git_failure)? {
                MergeResult::Made { commit } => self.merge_group(batch, plan, commit, onto)?,
                MergeResult::Unneeded => TaskResult::MergeUnneeded { commit: onto },
                MergeResult::Conflict { files } => TaskResult::MergeRefused {
                    trouble: MergeTrouble::Conflict { files },
                    onto,
                    branch: self.tip(&branch)?,
                },
            },
        )
    }

    /// Returns the refusal of a plan whose last conflict is not resolved.
    pub(super) fn unresolved(&self, plan: &BatchPlan, onto: &str) -> Result<Option<TaskResult>, TaskFailure> {
        let Some(MergeTrouble::Conflict { files } | MergeTrouble::Markers { files }) = &plan.trouble else {
            return Ok(None);
        };
        let tree = self.paths.tree(&plan.name);
        let files = self.branches.unresolved(&tree, files).map_err(git_failure)?;
        Ok((!files.is_empty()).then(|| TaskResult::MergeRefused {
            trouble: MergeTrouble::Markers { files },
            onto: onto.to_owned(),
            branch: String::new(),
        }))
    }

    /// Commits what the agent of a plan left uncommitted, and returns the plan's branch with all its work.
    pub(super) fn committed_branch(&self, batch: &Batch, plan: &BatchPlan, onto: &str) -> Result<String, TaskFailure> {
        let (branch, tree) = (batch.id.branch(&plan.name), self.paths.tree(&plan.name));
        let message = plan_commit_message(&plan.name);
        self.branches.commit_all(&tree, &message).map_err(git_failure)?;
        if !self.branches.advance_to_head(&tree, &branch).map_err(git_failure)? {
            let tree = tree.display();
            return Err(format!(
                "{tree} has another branch checked out, without all commits of `{branch}`"
            ));
        }
        let repositories = self.branches.new_repositories(onto, &branch).map_err(git_failure)?;
        match repositories.first() {
            Some(path) => Err(repository_within(path, &tree)),
            None => Ok(branch),
        }
    }

    /// Merges the plans of a group into the scratch work tree, where its first plan was merged as `commit`. Plans that
    /// cannot be merged with it are left out: each is first in the queue later.
    ///
    /// All of them become one commit, since none of the trees between has been verified. git signs it if the user signs
    /// commits.
    fn merge_group(
        &self,
        batch: &Batch,
        first: &BatchPlan,
        mut commit: String,
        onto: String,
    ) -> Result<TaskResult, TaskFailure> {
        let scratch = self.paths.scratch_tree();
        let mut merged = vec![(first, batch.id.branch(&first.name))];
        // Without goals there is nothing to save.
        let others = first.group.iter().filter(|_| self.has_goals);
        for plan in others
            .filter_map(|name| batch.plan(name))
            .filter(|plan| !plan.cancelled)
        {
            let Ok(branch) = self.committed_branch(batch, plan, &onto) else {
                continue;
            };
            let message = target_merge_message(&[(&plan.name, &plan.file, &branch)]);
            match self.branches.merge(&scratch, &branch, &message) {
                Ok(MergeResult::Made { commit: next }) => {
                    commit = next;
                    merged.push((plan, branch));
                }
                Ok(MergeResult::Unneeded | MergeResult::Conflict { .. }) | Err(_) => {
                    self.branches.reset_tree(&scratch, &commit).map_err(git_failure)?;
                }
            }
        }
        let with: Vec<PlanName> = merged.iter().skip(1).map(|(plan, _)| plan.name.clone()).collect();
        let signing = self.signing.as_ref();
        if !with.is_empty() || signing.is_some() {
            let named = merged
                .iter()
                .map(|(plan, branch)| (&plan.name, plan.file.as_str(), branch.as_str()));
            let message = target_merge_message(&named.collect::<Vec<_>>());
            let merged: Vec<String> = merged.into_iter().map(|(_, branch)| branch).collect();
            commit = merge_commit(&self.branches, signing, &scratch, (&onto, &merged), &message)
                .map_err(|error| merge_not_made(&error, signing.is_some()))?;
        }
        Ok(TaskResult::MergeMade { commit, onto, with })
    }

    /// Whether the scratch work tree exists.
    pub(super) fn has_scratch_tree(&self) -> bool {
        self.paths.scratch_tree().join(".git").is_file()
    }

    pub(super) fn move_target(&self, batch: &Batch, onto: &str, commit: &str) -> Result<TaskResult, TaskFailure> {
        let moved = fast_forward(&self.branches, &batch.target, onto, commit).map_err(git_failure)?;
        if moved == MoveResult::Done {
            self.branches.hold(&batch.id.to_string(), commit).map_err(git_failure)?;
        }
        Ok(match moved {
            MoveResult::Done => TaskResult::TargetMoved,
            MoveResult::HadMoved => TaskResult::TargetHadMoved,
            MoveResult::InUse { why } => TaskResult::TargetInUse { why },
        })
    }

    /// Restores the target if it was moved back or deleted so that it lacks a merge. Returns its old and its
    /// new commit; `None` if the target has every merge.
    ///
    /// # Errors
    /// In words, that the target lacks a merge and has other commits.
    pub(super) fn put_back_target(&self, batch: &Batch) -> Result<Option<(Option<String>, String)>, TaskFailure> {
        let merged: Vec<&String> = batch.plans.iter().filter_map(|plan| plan.merged_as()).collect();
        let has_all = |commit: &str| -> Result<bool, TaskFailure> {
            for one in &merged {
                if *one != commit && !self.branches.is_ancestor(one, commit).map_err(git_failure)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let tip = self.branches.tip(&batch.target).map_err(git_failure)?;
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
                .map_err(git_failure)
                .map(|()| true)?,
            Some(from) if self.branches.is_ancestor(from, &to).map_err(git_failure)? => {
                fast_forward(&self.branches, &batch.target, from, &to).map_err(git_failure)? == MoveResult::Done
            }
            Some(_) => false,
        };
        if is_put_back { Ok(Some((tip, to))) } else { Err(lost()) }
    }

    /// Gives the agent of a plan another task: merges the target into its branch, as far as git can, and adds
    /// the remaining work to the plan.
    pub(super) fn give_task(
        &self,
        batch: &Batch,
        plan: &BatchPlan,
        trouble: &MergeTrouble,
    ) -> Result<TaskResult, TaskFailure> {
        let tree = self.paths.tree(&plan.name);
        let target = self.tip(&batch.target)?;
        let path = self.branches.project_in(&tree).join(&plan.file);
        let before = files::read_bytes(&path, PLAN_CAP_BYTES).map_err(|error| failure(&error))?;
        let message = target_commit_message(&batch.target, &plan.name);
        let conflicts = match trouble.is_of_request() {
            true => Vec::new(),
            false => self
                .branches
                .begin_merge(&tree, &target, &message)
                .map_err(git_failure)?,
        };
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
        let kind = PlanKind::from_path(&path);
        let mut text = trouble_task(trouble, &details, &batch.target, plan.refusals);
        // A heading may have a scope, and conflicts may be anywhere.
        if kind == PlanKind::Markdown && before.windows(5).any(|word| word == b"only=") {
            text += " {only=**}";
        }
        let merged = files::read_bytes(&path, PLAN_CAP_BYTES).map_err(|error| failure(&error))?;
        // A plan with conflict markers cannot be read; the agent's version can.
        let bytes = match marked(&tree, &[path.to_string_lossy().into_owned()]).is_empty() {
            true => merged,
            false => before,
        };
        if !String::from_utf8_lossy(&bytes).contains(&text) {
            let text =
                ralph_plan::add(kind, &bytes, &text, plan.section.as_deref()).map_err(|error| failure(&error))?;
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(TaskResult::TaskAdded)
    }

    /// Removes the work tree and the branch of a merged plan, unless they have work that the target lacks.
    pub(super) fn remove_work_tree(&self, batch: &Batch, plan: &BatchPlan) -> Result<TaskResult, TaskFailure> {
        let (branch, tree) = (batch.id.branch(&plan.name), self.paths.tree(&plan.name));
        if let Some(tip) = self.branches.tip(&branch).map_err(git_failure)? {
            let target = self.tip(&batch.target)?;
            let kept = |why: String| Ok(TaskResult::WorkTreeKept { why });
            if !self.branches.is_ancestor(&tip, &target).map_err(git_failure)? {
                return kept(format!("`{branch}` has commits that are not in `{}`", batch.target));
            }
            let has_tree = self.branches.has_tree(&tree).map_err(git_failure)?;
            let is_merged = || -> Result<bool, GitError> {
                Ok(self.branches.is_clean(&tree, true)? && self.branches.has_work_of(&target, &tree)?)
            };
            if has_tree && !is_merged().map_err(git_failure)? {
                return kept(format!("{} has changes since", tree.display()));
            }
            if has_tree {
                self.tear_down(batch, plan)?;
            }
            let kept = self.keep_ignored(&tree, plan)?;
            self.branches.remove_tree(&tree).map_err(git_failure)?;
            self.branches.delete(&branch, &tip).map_err(git_failure)?;
            return Ok(TaskResult::WorkTreeRemoved { kept });
        }
        self.branches.remove_tree(&tree).map_err(git_failure)?;
        Ok(TaskResult::WorkTreeRemoved { kept: None })
    }

    /// Runs the commands that end the life of a plan's work tree, if it was prepared.
    pub(super) fn tear_down(&self, batch: &Batch, plan: &BatchPlan) -> Result<(), TaskFailure> {
        let cwd = self.branches.project_in(&self.paths.tree(&plan.name));
        if !self.state_at(&cwd)?.tree_record().exists() {
            return Ok(());
        }
        let (log, scratch) = (self.paths.log(&plan.name), self.paths.scratch());
        let words = [OsString::from(TEAR_DOWN), self.tree_of()];
        let job = BatchJob {
            args: arguments(self, batch).into_iter().chain(words).collect(),
            cwd: &cwd,
            env: Vec::new(),
            id: self.job_id(&plan.name),
            scratch: &scratch,
            log: &log,
        };
        create_private_dir(&scratch).map_err(|error| failure(&error))?;
        let (sender, ended) = mpsc::channel();
        let started = job::start(&self.supervisor, job, move |end| _ = sender.send(end)); // received below
        let _child = started.map_err(|error| failure(&error))?;
        let ended = ended.recv().map_err(|error| failure(&error))?;
        match ended.exit {
            Some(Exit::Code { code: 0 }) => Ok(()),
            _ => Err(reported_error(&ended.tail)),
        }
    }

    /// Moves ignored files of a work tree that no tool can make again, and that are not as in the project, into the
    /// batch's directory. Returns that directory if it has any.
    pub(super) fn keep_ignored(&self, tree: &Path, plan: &BatchPlan) -> Result<Option<KeptFiles>, TaskFailure> {
        if !self.branches.has_tree(tree).map_err(git_failure)? {
            return Ok(None);
        }
        // The plan of an issue is ralph's own copy.
        if let Some(directory) = Path::new(&plan.file)
            .parent()
            .filter(|directory| directory == &Path::new(ISSUES))
        {
            _ = fs::remove_dir_all(self.branches.project_in(tree).join(directory)); // what stays is kept below
        }
        let files = self.ignored_work(tree)?;
        let directory = self.paths.kept_files(&plan.name);
        for file in &files {
            let to = directory.join(file);
            let above = to.parent().map_or(Ok(()), fs::create_dir_all);
            above
                .and_then(|()| fs::rename(tree.join(file), &to))
                .map_err(|error| format!("{}: {error}", to.display()))?;
        }
        Ok(files.first().map(|first| KeptFiles {
            directory: directory.display().to_string(),
            first: first.display().to_string(),
            count: files.len() as u64,
        }))
    }

    /// Lists ignored files of a work tree that no tool can make again, and that are not as in the project.
    pub(super) fn ignored_work(&self, tree: &Path) -> Result<Vec<PathBuf>, TaskFailure> {
        let files = self.branches.ignored_files(tree).map_err(git_failure)?;
        let differs = |file: &PathBuf| !is_same_content(&self.branches.root().join(file), &tree.join(file), 0);
        Ok(files.into_iter().map(PathBuf::from).filter(differs).collect())
    }

    /// Removes files and references that only a running batch needs.
    pub fn tidy(&self, batch: &BatchId) -> Result<(), TaskFailure> {
        self.branches.release(&batch.to_string()).map_err(git_failure)?;
        self.branches
            .remove_tree(&self.paths.scratch_tree())
            .map_err(git_failure)?;
        _ = fs::remove_dir_all(self.paths.judging()); // recreated for the next judgement
        _ = fs::remove_dir_all(self.paths.jobs()); // without it, a script that is still queued does not begin
        _ = fs::remove_dir_all(self.paths.scratch()); // empty, or files of a child that could not be ended
        // Succeeds only if the directory is empty.
        _ = fs::remove_dir(self.paths.trees());
        _ = self.paths.trees().parent().map(fs::remove_dir);
        Ok(())
    }

    /// Removes locks that processes of a killed batch left behind.
    pub(super) fn unlock(&self, batch: &Batch) -> Result<(), TaskFailure> {
        let below = format!("ralph/{}", batch.id);
        self.branches.unlock_branches(&below).map_err(git_failure)?;
        // For all batches of the project: no other one is running.
        self.branches
            .remove_torn_entries(self.paths.trees_of_project())
            .map_err(git_failure)
    }

    /// Returns the mark of a plan's processes, unique on this machine: batches of two projects may have
    /// started in the same second.
    pub(super) fn job_id(&self, plan: &PlanName) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("batch-{}-{}-{plan}", name(self.project.state()), name(self.paths.dir()))
    }

    pub(super) fn tip(&self, branch: &str) -> Result<String, TaskFailure> {
        let tip = self.branches.tip(branch).map_err(git_failure)?;
        tip.ok_or_else(|| format!("the branch `{branch}` no longer exists"))
    }

    pub(super) fn trust(&self, state: &ProjectPaths) -> Result<(), TaskFailure> {
        if self.trusted.is_empty() {
            return Ok(());
        }
        trust(state, self.trusted.clone()).map_err(|error| failure(&error))
    }

    /// Returns the state directory of a plan's runs.
    pub(super) fn state_of(&self, plan: &PlanName) -> Result<ProjectPaths, TaskFailure> {
        self.state_at(&self.branches.project_in(&self.paths.tree(plan)))
    }

    pub(super) fn state_at(&self, project: &Path) -> Result<ProjectPaths, TaskFailure> {
        ProjectPaths::new(project, Some(self.project.states().root())).map_err(|error| failure(&error))
    }
}

/// Returns the finding for a job that ended; `view` is its run, if it has begun.
fn job_ended(view: Option<&RunView>, end: JobEnd) -> TaskResult {
    let calls = view.map_or(0, |view| view.clock.calls_within_hour(now_ms()));
    TaskResult::JobEnded {
        end,
        calls: u32::try_from(calls).unwrap_or(u32::MAX),
    }
}

/// Returns the arguments for every child: the settings of the batch, and the state directory.
pub(super) fn arguments(site: &Site, batch: &Batch) -> Vec<OsString> {
    let given = batch.arguments.iter().map(OsString::from);
    given.chain(own_arguments(site)).collect()
}

/// Returns the arguments that name the state directory of this machine.
fn own_arguments(site: &Site) -> [OsString; 2] {
    [
        "--state-dir".into(),
        site.project.states().root().as_os_str().to_owned(),
    ]
}

/// Returns the usage of the runs of all plans.
pub fn used(site: &Site, batch: &Batch) -> Usage {
    let mut meter = UsageMeter::default();
    for plan in &batch.plans {
        site.read_runs(&plan.name, &mut meter);
    }
    meter.usage()
}

/// Returns all runs of a plan with readable journals, oldest first.
pub fn job_views(site: &Site, plan: &PlanName) -> Vec<RunView> {
    let Ok(state) = site.state_of(plan) else {
        return Vec::new();
    };
    let runs = state.run_ids();
    runs.iter().filter_map(|run| read_view(&state, run).ok()).collect()
}

/// Returns the state directory of a plan's runs.
///
/// # Errors
/// The reason why it cannot be determined, in words.
pub fn job_state(site: &Site, plan: &PlanName) -> Result<ProjectPaths, String> {
    site.state_of(plan)
}

fn journal_bytes(state: &ProjectPaths, run: &RunId) -> u64 {
    fs::metadata(state.run(run).journal()).map_or(0, |journal| journal.len())
}

/// Whether `copy`, with everything in it, has the content of `original`, or is a link to it.
fn is_same_content(original: &Path, copy: &Path, depth: usize) -> bool {
    let Ok(there) = fs::symlink_metadata(copy) else {
        return false;
    };
    if there.is_symlink() {
        let leads_to = fs::read_link(copy);
        return leads_to.is_ok_and(|to| to == original || fs::read_link(original).is_ok_and(|other| other == to));
    }
    if there.is_dir() {
        let mut entries = fs::read_dir(copy).into_iter().flatten();
        return depth < DEPTH
            && entries.all(|entry| {
                entry.is_ok_and(|entry| is_same_content(&original.join(entry.file_name()), &entry.path(), depth + 1))
            });
    }
    let both = || {
        Some((
            files::open_unfollowed(original).ok()??,
            files::open_unfollowed(copy).ok()??,
        ))
    };
    both().is_some_and(|((one, one_size), (other, other_size))| {
        one_size.len() == other_size.len()
            && BufReader::new(one)
                .bytes()
                .map(Result::ok)
                .eq(BufReader::new(other).bytes().map(Result::ok))
    })
}

/// Returns the last error that ralph printed on a terminal, without colours; otherwise the last line that is
/// not a hint.
pub(super) fn reported_error(tail: &str) -> String {
    let (mut error, mut last) = (None, String::new());
    let mut take = |line: &str| {
        let line = line.trim();
        match line.strip_prefix("error: ") {
            Some(why) => error = Some(why.to_owned()),
            None if line.is_empty() || line.starts_with("hint: ") => {}
            None => line.clone_into(&mut last),
        }
    };
    let mut plain = PlainText::new(KeptEscapes::Nothing);
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
        assert_eq!(reported_error(printed), "no space left on device");
        assert_eq!(reported_error("killed\n\x1b[36mhint:\x1b[0m free some\n\n"), "killed");
        assert_eq!(reported_error(""), "");
    }
}
