//! Blocking work around an iteration on disk and git, done off the loop; its result becomes an input.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, thread, time::Duration};

use parking_lot::Mutex;
use ralph_core::{
    event::{
        Checkpoint, Claim, Elsewhere, IterationCommit, LIST_CAP, Leftover, LowDisk, Notice, PlanSnapshot, RunId,
        Settings, SteeringKind, TestsChange,
    },
    machine::{FoundTests, Preparation, Refusal, Settlement, Statement, Verification},
    notices::first_named,
};
use ralph_gate::{
    added_suppressions,
    guard::{FileContent, GuardError},
};
use ralph_git::{
    CountedChanges, Moment, Repository, Undelivered,
    fingerprint::{FingerprintHistory, fingerprint},
};
use ralph_plan::{
    ParsedPlan, PlanChanges, PlanKind, StoryState,
    claims::{self, StatusPlace},
    prompt::{AgentConfinement, PromptTemplate, RenderedPrompt, ReviewInput, render_review},
};
use ralph_state::store::accounts::AccountFile;
use ralph_system::{
    faults::{self, DiskOperation},
    os::disk::DiskFloor,
    paths::{ProjectPaths, RunPaths, create_anew},
    proc::{LeftProcesses, Supervisor},
};
use ralph_text::with_causes;
use ralph_words::counted;

use super::{
    after_work::{AfterWork, unseen},
    autorun::Autorun,
    clock::random_share,
    comments::CommentedFiles,
    commits::{CommitSubject, IterationCommits},
    earlier::earlier_files,
    job_facts::{PrepareJob, SettleJob},
    places::{self, HeadWatch, Leavings},
    plan_file::{PlanTarget, TaskRules, Taskless, read_plan},
    prompt_context::PromptContext,
    review::{ReviewContext, ReviewScope},
    room::Room,
    run_room::RunRoom,
    scopes::RunScopes,
    test_gate::{Look, RunFiles, RunSoFar, TestGate, Work, added_lines},
};

/// Most reads of the plan: an editor or an agent may be between emptying and writing it.
const PLAN_READS: u32 = 4;
const PLAN_READ_PAUSE: Duration = Duration::from_millis(50);

/// The state that all jobs of a run share.
pub(super) struct JobContext {
    pub(super) run: RunId,
    pub(super) paths: ProjectPaths,
    pub(super) files: RunPaths,
    pub(super) settings: Arc<Settings>,
    pub(super) plan_target: PlanTarget,
    pub(super) taskless: Taskless,
    pub(super) task_rules: TaskRules,
    pub(super) template: PromptTemplate,
    pub(super) confined: AgentConfinement,
    pub(super) repository: Option<Arc<Repository>>,
    /// Commits what iterations leave uncommitted; `None` if only agents commit.
    pub(super) commits: Option<IterationCommits>,
    pub(super) supervisor: Supervisor,
    /// Disks below whose floors no iteration is prepared.
    pub(super) disks: Vec<DiskFloor>,
    /// The state of the files, if no checkpoint shows it. Not in the journal: after a restart one iteration may wrongly
    /// count as progress.
    pub(super) seen: Mutex<FingerprintHistory>,
    /// The tree before the iteration, if goals are run after edits.
    pub(super) tree: Mutex<Option<u64>>,
    /// The files that may run by themselves, as they were before the iteration.
    pub(super) autorun: Mutex<Autorun>,
    pub(super) head: Mutex<HeadWatch>,
    /// The locks and stashes before the iteration.
    pub(super) leavings: Mutex<Leavings>,
    /// The processes that sessions have left running.
    pub(super) left: LeftProcesses,
    pub(super) scopes: RunScopes,
    /// The tests of the goals, as they were when the run began.
    pub(super) gate: Arc<TestGate>,
    /// The place where goals run.
    pub(super) room: RunRoom,
    /// The iteration before which the tests were unchanged. Not in the journal: after a restart the user is asked about
    /// changes that the plan allows.
    pub(super) unchanged_before: Mutex<Option<u32>>,
}

impl JobContext {
    /// Whether a file is neither the plan nor ralph's own.
    fn is_work(&self, path: &Path) -> bool {
        path != self.settings.plan && !path.starts_with(self.paths.project().join(".ralph"))
    }
}

impl RunFiles for JobContext {
    fn undelivered(&self, latest: Option<&Checkpoint>) -> Result<Undelivered, String> {
        let (Some(repository), Some(latest)) = (&self.repository, latest) else {
            return Ok(Undelivered::default());
        };
        let found = repository.undelivered(&self.run, latest);
        let mut found = found.map_err(|error| with_causes(&error))?;
        for files in [&mut found.uncommitted, &mut found.hidden] {
            files.retain(|path| self.is_work(&repository.root().join(path)));
        }
        Ok(found)
    }

    /// Returns no changes without checkpoints.
    fn work(&self, from: Option<&Checkpoint>, to: Option<&Checkpoint>) -> Work {
        let (Some(repository), Some(from), Some(to)) = (&self.repository, from, to) else {
            return Work::default();
        };
        let patch = repository.patch(from, Some(to), &self.settings.plan);
        let files = earlier_files(Some(repository), self.paths.project(), Some(from), Some(to));
        let is_work = |(path, _): &(String, FileContent)| self.is_work(&self.paths.project().join(path));
        let files: Option<Vec<_>> = files.map(|files| files.into_iter().filter(is_work).collect());
        let patch = patch.unwrap_or_default();
        Work {
            is_known: files.is_some() && repository.repositories_inside().is_empty(),
            lines: added_lines(&patch),
            suppressions: added_suppressions(&patch),
            before: files.unwrap_or_default(),
        }
    }
}

impl JobContext {
    pub(super) fn prepare(&self, job: &PrepareJob) -> Result<Preparation, Refusal> {
        // Before the checkpoint, which writes.
        if let Some(low) = self.low_disk() {
            return Err(Refusal::Disk { low });
        }
        let (mut leftovers, mut notices) = (Vec::new(), Vec::new());
        if self.take_done_file(&mut notices) == DoneFile::Taken {
            notices.push(Notice::warning(
                "stale-done-file",
                "`.ralph-done` was there before the iteration began: it is removed and does not count as a claim",
            ));
        }
        let is_first = job.plan.tasks.is_empty() && job.missing == 0;
        if is_first {
            // A run that knows no tasks yet needs a plan with some.
            read_plan(&self.settings.plan, self.settings.section.as_deref(), self.taskless)
                .map_err(|(why, _)| Refusal::Plan { why })?;
        }
        let mut story_state = None;
        let (plan, unread) = match self.read_plan() {
            Ok(mut reading) => {
                let unread = std::mem::take(&mut reading.unread);
                story_state = reading.story_state.take();
                let mut plan = self.task_rules.followed(reading, Some(&mut notices));
                // The prompt's task may be one that is ticked and not done.
                self.task_rules.hold(&mut plan, &job.plan, &[], &job.held);
                (plan, Some(unread.into()))
            }
            // The agent is told, and the tasks are known.
            Err(_) if !is_first => (job.plan.clone(), None),
            Err(why) => return Err(Refusal::Plan { why }),
        };
        notices.extend(taken_out(&job.plan, &plan));
        if is_first {
            notices.extend(marked(&plan));
        }
        // A program of the last session may have removed a directory.
        self.files.create().map_err(|error| Refusal::State {
            why: with_causes(&error),
        })?;
        let checkpoint = self.checkpoint_before(job, &mut leftovers, &mut notices);
        if checkpoint.is_none()
            && let Some(lost) = places::lost_before(self.repository.as_deref(), &job.known)
        {
            return Err(Refusal::Repository { lost });
        }
        if checkpoint.is_none() {
            self.take_fingerprint(&mut notices);
        }
        if job.has_goals {
            notices.extend(match job.so_far.has_iterations {
                false => self.make_room(checkpoint.as_ref()),
                true => self.room.miss().filter(|_| self.repository.is_some()),
            });
            self.room.check().map_err(|why| Refusal::Room { why })?;
        }
        if let (Some(commits), Some(repository), None) = (&self.commits, &self.repository, &job.review) {
            commits.begin(repository, &plan, &mut notices);
        }
        if let Some(repository) = &self.repository {
            *self.leavings.lock() = Leavings::before(repository);
        }
        if job.watches_edits {
            *self.tree.lock() = self.look_at_tree();
        }
        // Goals, background tasks and the user may have changed something since the last iteration.
        notices.extend(self.autorun.lock().changes());
        let said = self.keep_originals(&job.so_far, checkpoint.as_ref());
        notices.extend(said.map_err(|error| Refusal::Originals {
            why: with_causes(&error),
        })?);
        // Before the first iteration, only the user has written the plan.
        let plan_allows =
            job.tests_may_change || job.iteration == 1 && plan.tasks.iter().any(|task| task.settings.tests_may_change);
        let unchanged = plan_allows && self.gate.is_unchanged(job.so_far.tests_from);
        *self.unchanged_before.lock() = unchanged.then_some(job.iteration);
        let prompt = match &job.review {
            Some(review) => {
                self.review_context().keep_plan(job.iteration);
                self.render_review(job, review, checkpoint.as_ref())
            }
            None => self.render(job, &plan, story_state.as_ref(), &leftovers),
        };
        let path = self.files.prompt(job.iteration);
        create_anew(&path)
            .and_then(|mut file| faults::write_all(&mut file, prompt.text.as_bytes(), DiskOperation::Write))
            .map_err(|error| Refusal::State {
                why: format!("{}: cannot be written: {error}", path.display()),
            })?;
        Ok(Preparation {
            plan,
            unread,
            checkpoint,
            prompt_bytes: prompt.text.len() as u64,
            overhead_bytes: prompt.overhead_bytes as u64,
            delivered: match &job.review {
                Some(_) => Vec::new(),
                None => job.steering.iter().map(|(id, _, _)| *id).collect(),
            },
            live_steering: job.live_steering,
            windows: job.account.as_ref().map(AccountFile::windows).unwrap_or_default(),
            leftovers,
            notices,
        })
    }

    /// Makes the room of the run, of which `now` is a checkpoint.
    fn make_room(&self, now: Option<&Checkpoint>) -> Option<Notice> {
        let make = || {
            let repository = self
                .repository
                .as_ref()
                .ok_or("it has no git repository, which `git init` makes")?;
            let now = now.ok_or("git has no checkpoint of the files")?;
            let scratch = self.files.scratch();
            Room::make(&self.paths, &self.run, repository, now, &self.supervisor, &scratch)
        };
        self.room.make(make).filter(|_| self.repository.is_some())
    }

    /// Keeps the tests as they were when the run began; `now` is a checkpoint of the present files.
    pub(super) fn keep_originals(
        &self,
        so_far: &RunSoFar,
        now: Option<&Checkpoint>,
    ) -> Result<Vec<Notice>, GuardError> {
        self.gate.keep_originals(so_far, || {
            earlier_files(
                self.repository.as_deref(),
                self.paths.project(),
                so_far.first.as_ref(),
                now,
            )
        })
    }

    /// Returns a disk that is nearly full, if there is one.
    pub(super) fn low_disk(&self) -> Option<LowDisk> {
        self.disks.iter().find_map(DiskFloor::low)
    }

    pub(super) fn settle(&self, job: &SettleJob) -> Settlement {
        let left = self.left.take();
        let ended = (!job.is_cancelled).then(|| places::processes_ended(left)).flatten();
        let mut notices = Vec::new();
        let mut leftovers: Vec<(Leftover, Notice)> = ended.into_iter().collect();
        if let Some(repository) = &self.repository {
            leftovers.extend(self.leavings.lock().left(repository));
        }
        let mut claims = Vec::new();
        // Before the checkpoint: the file is a message to ralph, not a part of the work. If it was recorded and is
        // gone, a ralph that was killed before it recorded the settlement has removed it.
        match self.take_done_file(&mut notices) {
            // A reviewer made it, and its claims do not count.
            DoneFile::Taken if job.is_review => {}
            DoneFile::Taken => claims.push(Claim::DoneFile),
            DoneFile::Gone if job.done_file => claims.push(Claim::DoneFile),
            DoneFile::Gone | DoneFile::Stuck => {}
        }
        claims.extend(&job.stated.claims);
        // Before the checkpoint, which then has the commit as its HEAD.
        let committed = self.commit(job, &mut notices);
        let AfterWork {
            checkpoint,
            changes,
            totals,
            nested,
        } = self.checkpoint_after(job, &mut leftovers, &mut notices);
        let known: Vec<&Checkpoint> = job.before.iter().chain(&job.so_far.first).collect();
        let lost = places::lost(self.repository.as_deref(), &known, checkpoint.as_ref(), changes);
        self.tell_mixed(job, checkpoint.as_ref(), &mut notices);
        // The first preparation of a resumed run may come later than this. An error is found again by the look at the goals.
        notices.extend(
            self.keep_originals(&job.so_far, checkpoint.as_ref())
                .unwrap_or_default(),
        );
        let moved = if checkpoint.is_some() {
            None
        } else {
            self.take_fingerprint(&mut notices)
        };
        let undone = job.is_review && {
            let (before, now) = (job.before.as_ref(), checkpoint.as_ref());
            self.review_context().put_back(job.iteration, before, now, &mut notices)
        };
        notices.extend(self.autorun.lock().changes());
        let mut reading = self.read_plan();
        let unread = reading
            .as_mut()
            .ok()
            .map(|reading| std::mem::take(&mut reading.unread).into());
        let mut plan = reading.map(|reading| self.task_rules.followed(reading, Some(&mut notices)));
        let (mut scopes, mut unchecked, repository) = (Vec::new(), Vec::new(), self.repository.as_deref());
        if let Ok(plan) = &mut plan {
            let held = self
                .scopes
                .check(job, plan, repository, checkpoint.as_ref(), &mut scopes);
            unchecked = self.task_rules.hold(plan, &job.plan, &[], &held);
        }
        let edits = edits(&job.plan, &plan);
        let tests = self.changed_tests(job, checkpoint.as_ref(), &mut notices);
        let files = CommentedFiles {
            project: self.paths.project(),
            repository: self.repository.as_deref(),
        };
        let (comments, findings) = match job.is_review {
            false => (files.places_now(&job.comments, checkpoint.as_ref()), Vec::new()),
            true => (Vec::new(), files.findings(&job.stated, job.before.as_ref())),
        };
        Settlement {
            plan,
            unread,
            checkpoint,
            changes,
            totals,
            elsewhere: Elsewhere {
                nested,
                unseen: unseen(self.repository.as_deref(), self.paths.project(), &job.reported_files),
            },
            undone,
            committed,
            lost,
            moved,
            claims,
            vanished: edits.vanished,
            added: edits.added,
            unchecked,
            scopes,
            blocked: job.stated.blocked.clone(),
            denies_done: job.stated.denies_done.clone(),
            question: job.stated.question.clone(),
            tests,
            comments,
            findings,
            leftovers,
            notices,
            random: random_share(),
        }
    }

    /// Commits what the iteration left uncommitted. The changes of a reviewer are undone instead.
    fn commit(&self, job: &SettleJob, notices: &mut Vec<Notice>) -> Option<IterationCommit> {
        let (commits, repository) = (self.commits.as_ref()?, self.repository.as_deref()?);
        if job.is_review {
            return None;
        }
        let plan_now = self.read_plan().ok().map(|reading| {
            let mut plan = self.task_rules.followed(reading, None);
            self.task_rules
                .hold(&mut plan, &job.plan, &[], &self.scopes.unchecked(&job.plan));
            plan
        });
        let subject = CommitSubject {
            run: &self.run,
            iteration: job.iteration,
            task: job.task.as_deref(),
            plan: &job.plan,
            plan_now: plan_now.as_ref(),
        };
        let made = commits.commit(repository, &subject, notices);
        // git runs filters from its configuration, which an agent can write, and a filter can kill git's guard.
        self.supervisor.end_orphans();
        made
    }

    /// Says which of the user's own uncommitted files the iteration has changed.
    fn tell_mixed(&self, job: &SettleJob, now: Option<&Checkpoint>, notices: &mut Vec<Notice>) {
        let (Some(commits), Some(repository)) = (&self.commits, &self.repository) else {
            return;
        };
        if let (Some(before), Some(now), false) = (&job.before, now, job.is_review) {
            // The names are for information only.
            commits.tell_mixed(|| repository.names_between(before, now).unwrap_or_default(), notices);
        }
    }

    /// Looks at changed tests if the agent mentions them, the plan allows them or the user is asked about them.
    fn changed_tests(
        &self,
        job: &SettleJob,
        now: Option<&Checkpoint>,
        notices: &mut Vec<Notice>,
    ) -> Option<Box<FoundTests>> {
        let why = job.stated.tests_changed.as_ref();
        if job.is_review || (why.is_none() && !job.tests_may_change && !job.tests_refused && job.tests_asked.is_none())
        {
            return None;
        }
        self.found_tests(job, why, now).unwrap_or_else(|error| {
            let why = with_causes(&error);
            notices.push(Notice::warning(
                "tests-not-examined",
                format!("Changed tests cannot be examined: {why}."),
            ));
            None
        })
    }

    fn found_tests(
        &self,
        job: &SettleJob,
        why: Option<&String>,
        now: Option<&Checkpoint>,
    ) -> Result<Option<Box<FoundTests>>, GuardError> {
        let change = self.gate.changed(job.so_far.tests_from, &job.so_far.accepted, || {
            self.work(job.so_far.first.as_ref(), now).before
        })?;
        let is_known = job.tests_asked.as_deref() == Some(&*change.diff);
        if is_known || (why.is_none() && change.changes.is_empty()) {
            return Ok(None);
        }
        self.gate.keep_changed(job.iteration)?;
        let before = *self.unchanged_before.lock();
        Ok(Some(Box::new(FoundTests {
            allowed: job.tests_may_change && before == Some(job.iteration),
            change: TestsChange {
                why: why.or(job.tests_why.as_ref()).cloned().unwrap_or_default().into(),
                ..change
            },
        })))
    }

    /// Returns a fingerprint of the current files; `None` if there are too many.
    pub(super) fn look_at_tree(&self) -> Option<u64> {
        fingerprint(self.paths.project(), &self.paths.states()).ok()
    }

    /// Returns the plan's path as the agent can use it.
    fn shown_plan(&self) -> String {
        let Settings { plan, section, .. } = &*self.settings;
        let shown = plan.strip_prefix(self.paths.project()).unwrap_or(plan);
        ralph_words::prompt::plan_in_prompt(&shown.to_string_lossy(), section.as_deref())
    }

    fn parsed_plan(&self) -> Result<ParsedPlan, String> {
        let Settings { plan, section, .. } = &*self.settings;
        self.plan_target.read(plan, section.as_deref())
    }

    fn render(
        &self,
        job: &PrepareJob,
        plan: &PlanSnapshot,
        story_state: Option<&StoryState>,
        found: &[(Leftover, Notice)],
    ) -> RenderedPrompt {
        let context = PromptContext {
            plan: &self.shown_plan(),
            kind: PlanKind::from_path(&self.settings.plan),
            story_state,
            template: &self.template,
            confined: self.confined,
            repository: self.repository.as_deref(),
            scopes: &self.settings.scopes,
        };
        context.prompt(job, plan, found)
    }

    fn review_context(&self) -> ReviewContext<'_> {
        ReviewContext {
            run: &self.run,
            files: &self.files,
            plan: &self.settings.plan,
            repository: self.repository.as_deref(),
            supervisor: &self.supervisor,
        }
    }

    fn render_review(&self, job: &PrepareJob, review: &ReviewScope, now: Option<&Checkpoint>) -> RenderedPrompt {
        let repository = self.repository.as_deref();
        let standing = job
            .steering
            .iter()
            .filter(|(_, kind, _)| *kind == SteeringKind::Standing);
        let standing: Vec<String> = standing.map(|(_, _, text)| text.clone()).collect();
        render_review(&ReviewInput {
            plan: &self.shown_plan(),
            task: review.subject.task.as_deref(),
            claims_done: review.subject.claims_done,
            iteration: job.iteration,
            changes: review.changes(repository, now, &self.settings.plan).as_ref(),
            goals: &review.goals,
            findings: &review.subject.findings,
            standing: &standing,
            before: job.before.as_ref().map(|before| before.handover(repository)).as_ref(),
            confined: self.confined,
        })
    }

    fn read_plan(&self) -> Result<ParsedPlan, String> {
        let mut reads = 1;
        loop {
            match self.parsed_plan() {
                Err(_) if reads < PLAN_READS => {
                    reads += 1;
                    thread::sleep(PLAN_READ_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Returns the positions of the tasks of `before` whose box differs on disk; `None` if the plan cannot be read now.
    pub(super) fn toggled_boxes(&self, before: &PlanSnapshot) -> Option<Vec<u32>> {
        let reading = self.parsed_plan().ok()?;
        let mut plan = reading.plan;
        self.task_rules
            .hold(&mut plan, before, &[], &self.scopes.unchecked(before));
        Some(ralph_plan::toggled(before, &plan))
    }

    /// Reads the plan after the goals have run, because they may run code of the agent. Ticks of the tasks `held` do not count.
    pub(super) fn look_again(&self, before: &PlanSnapshot, held: &BTreeSet<String>, look: Look) -> Verification {
        let mut plan = self.read_plan().map(|reading| self.task_rules.followed(reading, None));
        if let Ok(plan) = &mut plan {
            self.task_rules.hold(plan, before, &look.results, held);
        }
        verification(before, plan, look)
    }

    /// As [`JobContext::look_again`], for a claim that is made while the agent works: its ticks are checked next.
    pub(super) fn look_at_claim(&self, before: &PlanSnapshot) -> Verification {
        let plan = self.read_plan().map(|reading| {
            let mut plan = self.task_rules.followed(reading, None);
            ralph_plan::keep_done(before, &mut plan);
            plan
        });
        verification(before, plan, Look::default())
    }

    /// Whether the agent has left the file that claims the end.
    pub(super) fn has_done_file(&self) -> bool {
        let metadata = self.paths.done_file().symlink_metadata();
        metadata.is_ok_and(|metadata| !metadata.is_dir())
    }

    /// Removes `.ralph-done`.
    ///
    /// A file that cannot be removed claims nothing, since its iteration would be unknown.
    fn take_done_file(&self, notices: &mut Vec<Notice>) -> DoneFile {
        let path = self.paths.done_file();
        if path.symlink_metadata().is_err() {
            return DoneFile::Gone;
        }
        match fs::remove_file(&path) {
            Ok(()) => DoneFile::Taken,
            Err(error) => {
                let path = path.display();
                notices.push(Notice::warning(
                    "done-file-stuck",
                    format!("{path}: cannot be removed, so it does not count as a claim: {error}"),
                ));
                DoneFile::Stuck
            }
        }
    }

    fn checkpoint_before(
        &self,
        job: &PrepareJob,
        leftovers: &mut Vec<(Leftover, Notice)>,
        notices: &mut Vec<Notice>,
    ) -> Option<Checkpoint> {
        let repository = self.repository.as_deref()?;
        if let Some(untouched) = &job.untouched {
            repository.repeat(untouched, &self.run, job.iteration, Moment::Before);
            return Some(untouched.clone());
        }
        self.checkpoint_since(job.iteration, Moment::Before, &[], leftovers, notices)
            .map(|(checkpoint, _)| checkpoint)
    }

    /// Whether the files are in a state that no earlier call has seen; `None` if that is unknown.
    fn take_fingerprint(&self, notices: &mut Vec<Notice>) -> Option<bool> {
        let mut seen = self.seen.lock();
        let (is_new, blind) = seen.look(self.paths.project(), &self.paths.states());
        notices.extend(blind.map(|error| {
            let why = with_causes(&error);
            let text = format!("only ticked tasks count as progress, not changes of files: {why}");
            Notice::warning("progress-unknown", text)
        }));
        is_new
    }

    /// Makes the checkpoint and counts the changes of the iteration and of the run.
    fn checkpoint_after(
        &self,
        job: &SettleJob,
        leftovers: &mut Vec<(Leftover, Notice)>,
        notices: &mut Vec<Notice>,
    ) -> AfterWork {
        let mut since: Vec<&Checkpoint> = job.before.iter().chain(&job.so_far.first).collect();
        since.dedup();
        let taken = self.checkpoint_since(job.iteration, Moment::After, &since, leftovers, notices);
        let Some((checkpoint, counted)) = taken else {
            return AfterWork::default();
        };
        let changes = |from: &Option<Checkpoint>| {
            let index = since.iter().position(|since| from.as_ref() == Some(since))?;
            counted.get(index)
        };
        AfterWork::new(checkpoint, changes(&job.before), changes(&job.so_far.first))
    }

    /// Makes a checkpoint and counts the changes since earlier ones. The counts are empty if counting fails.
    fn checkpoint_since(
        &self,
        iteration: u32,
        moment: Moment,
        since: &[&Checkpoint],
        leftovers: &mut Vec<(Leftover, Notice)>,
        notices: &mut Vec<Notice>,
    ) -> Option<(Checkpoint, Vec<CountedChanges>)> {
        let repository = self.repository.as_deref()?;
        let taken = repository.checkpoint_since(&self.run, iteration, moment, since);
        // git runs filters from its configuration, which an agent can write, and a filter can kill git's guard.
        self.supervisor.end_orphans();
        match taken {
            Ok((taken, counted)) => {
                leftovers.extend(self.head.lock().look(repository, &taken));
                let of_git = |text| Notice::warning("checkpoint", text);
                notices.extend(taken.notices.into_iter().map(of_git));
                let counted = counted.unwrap_or_else(|error| {
                    let why = with_causes(&error);
                    let text = format!("the changes cannot be counted: {why}");
                    notices.push(Notice::warning("changes-uncounted", text));
                    Vec::new()
                });
                Some((taken.checkpoint, counted))
            }
            Err(error) => {
                let why = with_causes(&error);
                let moment = match moment {
                    Moment::Before => "before",
                    Moment::After => "after",
                };
                let text = format!("no checkpoint {moment} iteration {iteration}: {why}");
                notices.push(Notice::warning("no-checkpoint", text));
                None
            }
        }
    }
}

/// The result of taking `.ralph-done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoneFile {
    Gone,
    Taken,
    /// It cannot be removed.
    Stuck,
}

/// Reads the agent's statement from the final `message` of a turn. If the agent has no messages (`last_line_claims`),
/// only the last lines of its output count.
pub(super) fn statement(message: &str, promise: &str, last_line_claims: bool) -> Statement {
    let (promised, place) = if last_line_claims {
        (claims::last_line_promise(message, promise), StatusPlace::LastLines)
    } else {
        (claims::final_promise(message, promise), StatusPlace::Message)
    };
    let status = claims::self_report(message, place);
    let claims = [(promised, Claim::Promise), (status.claims_done, Claim::StatusBlock)];
    Statement {
        claims: claims
            .into_iter()
            .filter_map(|(made, claim)| made.then_some(claim))
            .collect(),
        blocked: status.blocked,
        denies_done: status.denies_done,
        question: claims::final_question(message).map(str::to_owned),
        status: claims::status(message, place),
        review: None,
        tests_changed: status.tests_changed,
        comments: status.comments,
    }
}

fn verification(before: &PlanSnapshot, plan: Result<PlanSnapshot, String>, look: Look) -> Verification {
    let edits = edits(before, &plan);
    Verification {
        results: look.results,
        trial: look.trial,
        broken: look.broken,
        mutants: look.mutants,
        notices: look.notices,
        plan,
        vanished: edits.vanished,
        added: edits.added,
        random: random_share(),
    }
}

/// Returns the changes to the tasks; empty if the plan cannot be read.
fn edits(before: &PlanSnapshot, after: &Result<PlanSnapshot, String>) -> PlanChanges {
    after
        .as_ref()
        .map(|plan| ralph_plan::diff(before, plan))
        .unwrap_or_default()
}

/// Returns a notice of the open tasks with marks.
fn marked(plan: &PlanSnapshot) -> Option<Notice> {
    let marks: BTreeSet<&str> = plan.tasks.iter().filter_map(|task| task.mark.as_deref()).collect();
    let tasks = plan.tasks.iter().filter(|task| task.mark.is_some()).count() as u64;
    let marks: Vec<String> = marks.into_iter().map(|mark| format!("`[{mark}]`")).collect();
    let marks = marks.join(", ");
    let tasks = (tasks > 0).then(|| counted(tasks, "task"))?;
    let text = format!(
        "{tasks} with a mark that is no tick ({marks}) taken as open; `{{skip}}` at the end of a task leaves it out"
    );
    Some(Notice::warning("tasks-marked", text))
}

/// Returns a notice of tasks removed while no agent worked. The user has removed them, but they never count as done.
fn taken_out(before: &PlanSnapshot, now: &PlanSnapshot) -> Option<Notice> {
    let tasks = ralph_plan::diff(before, now).vanished;
    let named = first_named(tasks.iter().map(|task| format!("\"{task}\"")), LIST_CAP, ", ");
    let text = format!("removed from the plan since it was last read, presumably by you: {named}");
    (!tasks.is_empty()).then(|| Notice::warning("tasks-removed", text))
}

#[cfg(test)]
mod tests {
    use ralph_core::event::PlanTask;

    use super::*;

    #[test]
    fn tasks_that_were_removed_are_named_and_those_left_out_counted() {
        let task = |number: usize| PlanTask {
            text: format!("Task {number}"),
            ..PlanTask::default()
        };
        let before = PlanSnapshot {
            tasks: (1..=LIST_CAP + 3).map(task).collect(),
        };
        let notice = taken_out(&before, &PlanSnapshot::default()).expect("a notice");
        assert!(notice.text.contains(": \"Task 1\", \"Task 2\", "), "{}", notice.text);
        assert!(notice.text.ends_with(" and 3 more"), "{}", notice.text);
        assert_eq!(taken_out(&before, &before), None);
    }
}
