//! Drives a batch: applies inputs, records events, carries out tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ralph_core::{
    event::{StopReason, UserCommand},
    run::{RunView, is_message_left},
};
use ralph_plan::batch::{
    Batch, BatchEnd, BatchId, BatchInput, BatchPlan, BatchRecord, JobNews, PlanName, PlanPhase, Resumption, StoppedBy,
    TaskResult, WorkerTask, step,
};
use ralph_state::store::journal::read_view;
use ralph_system::{
    os::now_ms,
    paths::PathsError,
    proc::{StopSpeed, Supervisor},
};
use thiserror::Error;

use super::{
    BatchPaths, Site, delivery,
    delivery::RequestLook,
    engine::{Engine, JobUpdate, RunningJob},
    job,
    journal::{BatchJournal, BatchJournalError},
    judging::{CheckedOutMerge, MergeJudge},
    meter::UsageMeter,
    requests::{self, BatchRequest},
    signals,
    watch::RepositoryWatch,
    worker::used,
};

/// Interval between looks at the runs and at requests of other processes.
const LOOK: Duration = Duration::from_millis(200);
/// Pause before another attempt to move a target that is in use.
const TARGET_PAUSE: Duration = Duration::from_secs(2);
/// Shortest pause between two looks at a pull request, and between two attempts to reach a forge. It doubles while nothing
/// changes.
const FORGE_PAUSE: Duration = Duration::from_secs(2);
/// Longest pause between two looks at a pull request.
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(60);
/// Longest pause that a forge may ask for.
const NAMED_PAUSE_MAX: Duration = Duration::from_secs(3600);
/// Longest pause before another attempt to reach a forge that does not name a time.
const SILENCE_PAUSE_MAX: Duration = Duration::from_secs(300);

#[derive(Debug, Error)]
pub enum BatchError {
    #[error(transparent)]
    Journal(#[from] BatchJournalError),
    #[error(transparent)]
    Paths(#[from] PathsError),
    #[error("signals cannot be received")]
    Signals(#[source] std::io::Error),
    #[error("the target branch cannot be created: {0}")]
    Target(String),
    #[error("{0}")]
    Lost(String),
    #[error("there is no batch in this project")]
    NoBatch,
}

/// Called with every record, and the batch after it.
pub(crate) type OnRecord<'a> = &'a mut dyn FnMut(&BatchRecord, &Batch);

/// Runs a new batch until it ends or is stopped.
///
/// # Errors
/// [`BatchError`] if its journal cannot be written.
pub fn run(
    id: &BatchId,
    start: BatchInput,
    engine: Engine,
    site: Site,
    supervisor: &Supervisor,
    on_record: OnRecord<'_>,
) -> Result<BatchEnd, BatchError> {
    site.paths.create()?;
    let journal = BatchJournal::create(&site.paths.journal(), now_ms(), id)?;
    BatchDriver::new(Batch::opened(id.clone()), journal, engine, site, supervisor, on_record).drive(start)
}

/// Resumes a batch that was interrupted or stopped, or that has unfinished plans, with `changes` from now on.
///
/// # Errors
/// [`BatchError`] if its journal cannot be read or written.
pub fn resume(
    engine: Engine,
    site: Site,
    changes: Resumption,
    supervisor: &Supervisor,
    on_record: OnRecord<'_>,
) -> Result<BatchEnd, BatchError> {
    site.paths.create()?;
    let (journal, records) = BatchJournal::reopen(&site.paths.journal())?;
    let batch = Batch::from_records(&records).ok_or(BatchError::NoBatch)?;
    // Ends processes that a killed batch and its guards left behind; no other batch works in this project.
    let ids: Vec<String> = batch.plans.iter().map(|plan| site.job_id(&plan.name)).collect();
    _ = supervisor.sweep(&ids);
    _ = site.unlock(&batch); // git reports anything that stays locked
    let usage = used(&site, &batch);
    let last = |plan: &BatchPlan| {
        let state = site.state_of(&plan.name).ok()?;
        read_view(&state, &state.latest_run()?).ok()
    };
    let those = |waits: fn(&BatchPlan) -> bool, is_settled: fn(&RunView) -> bool| {
        let plans = batch.plans.iter().filter(|plan| waits(plan));
        let settled = plans.filter(|plan| last(plan).is_some_and(|view| is_settled(&view)));
        settled.map(|plan| plan.name.clone()).collect()
    };
    let has_succeeded = |view: &RunView| view.stop_reason().is_some_and(StopReason::is_success);
    let changes = Resumption {
        confirmed: those(BatchPlan::is_unconfirmed, has_succeeded),
        answered: those(BatchPlan::is_question, |view| is_message_left(&view.messages)),
        ..changes
    };
    BatchDriver::new(batch, journal, engine, site, supervisor, on_record).drive(BatchInput::Resume { changes, usage })
}

/// Records the events that follow from `input` in a batch that no process is working on.
///
/// # Errors
/// [`BatchError`] if its journal cannot be read or written.
pub fn record(paths: &BatchPaths, input: BatchInput) -> Result<(), BatchError> {
    let (mut journal, records) = BatchJournal::reopen(&paths.journal())?;
    let batch = Batch::from_records(&records).ok_or(BatchError::NoBatch)?;
    let at_ms = now_ms();
    for event in step(&batch, at_ms, input) {
        journal.append(at_ms, event)?;
    }
    Ok(())
}

enum DriverMessage {
    TaskEnded(PlanName, TaskResult),
    JobReported(PlanName, JobNews),
    /// The job continues without the batch.
    JobDetached(PlanName),
    /// The merged tree is checked out.
    CheckedOut(PlanName, Box<CheckedOutMerge>),
    Stop(StoppedBy),
}

/// The work in progress for a plan.
struct InFlight {
    child: Option<Box<dyn RunningJob>>,
    /// The work was asked to end.
    stopped: Arc<AtomicBool>,
}

/// git may do one thing at a time of each kind. Two locks, so that preparing a plan does not wait for the
/// merge queue.
#[derive(Default)]
struct Locks {
    /// The set of work trees. Adding one cleans up after a killed git that was adding another.
    trees: Mutex<()>,
    /// The scratch work tree, the target, and the work tree of a plan that is given a task.
    queue: Mutex<()>,
}

/// The pause before the next task of a plan that reaches the forge.
struct ForgePause {
    until: Instant,
    length: Duration,
}

struct BatchDriver<'a> {
    batch: Batch,
    journal: BatchJournal,
    engine: Engine,
    site: Arc<Site>,
    supervisor: &'a Supervisor,
    in_flight: BTreeMap<PlanName, InFlight>,
    locks: Arc<Locks>,
    sender: Sender<DriverMessage>,
    inbox: Receiver<DriverMessage>,
    on_record: OnRecord<'a>,
    meter: UsageMeter,
    watch: RepositoryWatch,
    /// When tasks that reach the forge are due.
    pauses: BTreeMap<PlanName, ForgePause>,
    /// Runs that were paused with the batch.
    paused_runs: BTreeSet<PlanName>,
}

impl<'a> BatchDriver<'a> {
    fn new(
        batch: Batch,
        journal: BatchJournal,
        engine: Engine,
        site: Site,
        supervisor: &'a Supervisor,
        on_record: OnRecord<'a>,
    ) -> BatchDriver<'a> {
        let (sender, inbox) = mpsc::channel();
        // A run that was cut off in a pause is continued in it.
        let paused = batch.plans.iter().filter(|_| batch.paused);
        let paused_runs = paused.map(|plan| plan.name.clone()).collect();
        BatchDriver {
            batch,
            journal,
            engine,
            site: Arc::new(site),
            supervisor,
            in_flight: BTreeMap::new(),
            locks: Arc::default(),
            sender,
            inbox,
            on_record,
            meter: UsageMeter::default(),
            watch: RepositoryWatch::default(),
            pauses: BTreeMap::new(),
            paused_runs,
        }
    }

    fn drive(mut self, first: BatchInput) -> Result<BatchEnd, BatchError> {
        requests::forget_stop(&self.site.paths);
        let sender = self.sender.clone();
        signals::on_each(move |by| _ = sender.send(DriverMessage::Stop(by))).map_err(BatchError::Signals)?;
        self.take(first)?;
        self.site.make_target(&self.batch).map_err(BatchError::Target)?;
        self.watch = RepositoryWatch::start(&self.site);
        for plan in &self.batch.plans {
            self.site.read_runs(&plan.name, &mut self.meter);
        }
        loop {
            self.look()?;
            self.pause_runs();
            self.stop_tasks();
            self.start_tasks();
            if self.in_flight.is_empty() {
                self.take(BatchInput::Idle)?;
                if let Some(end) = self.batch.end {
                    // Plans that this resumption leaves out may still have jobs.
                    let is_whole = self.batch.only.is_empty() || end == BatchEnd::Merged;
                    if is_whole && !matches!(end, BatchEnd::Stopped { .. }) {
                        _ = self.site.tidy(&self.batch.id); // leftovers do no harm
                    }
                    return Ok(end);
                }
            }
            match self.inbox.recv_timeout(LOOK) {
                Ok(message) => self.handle(message)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            for request in requests::take(&self.site.paths) {
                match request {
                    BatchRequest::Cancel(plan) => {
                        self.take(BatchInput::Cancel { plan: plan.clone() })?;
                        requests::done(&self.site.paths, plan.as_ref());
                    }
                    BatchRequest::Change { file, changes } => {
                        self.take(BatchInput::Change { changes })?;
                        requests::changed(&self.site.paths, &file);
                    }
                    BatchRequest::Stop => self.handle(DriverMessage::Stop(StoppedBy::User))?,
                }
            }
        }
    }

    /// Restores the target if it lacks a merge, because an agent can move any branch. Called before each
    /// merge into it, and before the last plan ends the batch.
    fn put_back_target(&mut self) -> Result<(), BatchError> {
        match self.site.put_back_target(&self.batch).map_err(BatchError::Lost)? {
            Some((from, to)) => self.take(BatchInput::TargetPutBack { from, to }),
            None => Ok(()),
        }
    }

    /// Records the usage of the runs since the last look, and the limits that they met.
    fn look(&mut self) -> Result<(), BatchError> {
        let running = self.in_flight.iter().filter(|(_, task)| task.child.is_some());
        let running: Vec<PlanName> = running.map(|(plan, _)| plan.clone()).collect();
        for plan in running {
            self.site.read_runs(&plan, &mut self.meter);
            let why = self.meter.stalled(&plan);
            if self
                .batch
                .plan(&plan)
                .is_some_and(|known| known.stalled != why.is_some())
            {
                let plan = plan.clone();
                self.take(BatchInput::Stalled { plan, why })?;
            }
            for met in self.meter.limits_met(&plan) {
                self.take(BatchInput::Limited {
                    plan: plan.clone(),
                    adapter: met.adapter,
                    until_ms: met.until_ms,
                    workers: met.workers,
                })?;
            }
        }
        let unconfirmed = self.batch.plans.iter().filter(|plan| plan.is_unconfirmed());
        let unconfirmed: Vec<PlanName> = unconfirmed.map(|plan| plan.name.clone()).collect();
        for plan in unconfirmed {
            self.site.read_runs(&plan, &mut self.meter);
            if self.meter.has_succeeded(&plan) {
                self.take(BatchInput::TestsConfirmed { plan })?;
            }
        }
        self.take(BatchInput::Used {
            usage: self.meter.usage(),
        })
    }

    /// Records the events that follow from `input`.
    fn take(&mut self, input: BatchInput) -> Result<(), BatchError> {
        let at_ms = now_ms();
        for event in step(&self.batch, at_ms, input) {
            let record = self.journal.append(at_ms, event)?;
            self.batch.apply(&record);
            (self.on_record)(&record, &self.batch);
        }
        Ok(())
    }

    fn handle(&mut self, message: DriverMessage) -> Result<(), BatchError> {
        match message {
            DriverMessage::TaskEnded(plan, result) => {
                self.in_flight.remove(&plan);
                self.pause_forge(&plan, &result);
                self.put_back_target()?;
                if can_change_repository(&result) {
                    for change in self.watch.changes(&self.site, &self.batch) {
                        self.take(BatchInput::RepositoryChanged { change })?;
                    }
                }
                // The last usage of its run counts before another one starts.
                self.site.read_runs(&plan, &mut self.meter);
                self.look()?;
                self.take(BatchInput::TaskEnded { plan, result })
            }
            DriverMessage::JobReported(plan, news) => self.take(BatchInput::JobReported { plan, news }),
            DriverMessage::JobDetached(plan) => {
                self.in_flight.remove(&plan);
                Ok(())
            }
            DriverMessage::CheckedOut(plan, judging) => {
                self.start_goals(&plan, *judging);
                Ok(())
            }
            DriverMessage::Stop(_) if self.batch.stopped.is_some() => {
                // A second request stops everything immediately.
                for child in self.in_flight.values().filter_map(|task| task.child.as_ref()) {
                    child.stop(StopSpeed::Immediate);
                }
                Ok(())
            }
            DriverMessage::Stop(by) => self.take(BatchInput::Stop { by }),
        }
    }

    /// Pauses the runs of this machine, or resumes those that were paused. A run that has only just been started does
    /// not answer yet, and is asked again.
    fn pause_runs(&mut self) {
        let (paused, site) = (self.batch.paused, Arc::clone(&self.site));
        if !paused {
            let batch = &self.batch;
            self.paused_runs
                .retain(|name| match batch.plan(name).map(|plan| &plan.phase) {
                    Some(PlanPhase::Running) => !site.command_run(name, UserCommand::Resume),
                    Some(PlanPhase::Ready) => true,
                    // A run that is over needs nothing.
                    Some(_) | None => false,
                });
            return;
        }
        let running = self.batch.plans.iter().filter(|plan| plan.phase == PlanPhase::Running);
        for plan in running {
            if !self.paused_runs.contains(&plan.name) && site.command_run(&plan.name, UserCommand::Pause) {
                self.paused_runs.insert(plan.name.clone());
            }
        }
    }

    /// Asks work that is not wanted any more to end.
    fn stop_tasks(&self) {
        for plan in self.batch.plans.iter().filter(|plan| self.batch.stops(plan)) {
            let Some(task) = self.in_flight.get(&plan.name) else {
                continue;
            };
            if let Some(child) = &task.child
                && !task.stopped.swap(true, Ordering::Relaxed)
            {
                match self.batch.stopped {
                    // The user's terminal is gone; the jobs should continue.
                    Some(StoppedBy::HangUp) if !plan.cancelled => child.leave(),
                    Some(_) | None => child.stop(StopSpeed::Graceful),
                }
            }
        }
    }

    fn start_tasks(&mut self) {
        let tasks = self.batch.plans.iter().filter_map(|plan| {
            let is_due = self
                .pauses
                .get(&plan.name)
                .is_none_or(|pause| pause.until <= Instant::now());
            let is_idle = is_due && !self.in_flight.contains_key(&plan.name);
            let task = self.batch.task_for(plan).filter(|_| is_idle)?;
            Some((plan.name.clone(), task))
        });
        for (plan, task) in tasks.collect::<Vec<_>>() {
            self.in_flight.insert(
                plan.clone(),
                InFlight {
                    child: None,
                    stopped: Arc::default(),
                },
            );
            match task {
                WorkerTask::RunJob => self.start_job(&plan),
                task => self.start_thread(plan, task),
            }
        }
    }

    /// Sets when the next task of a plan is due: later and later while its pull request or the forge stays as it is.
    fn pause_forge(&mut self, plan: &PlanName, result: &TaskResult) {
        let before = self.pauses.remove(plan).map(|pause| pause.length);
        let (length, max) = match result {
            TaskResult::RequestUnchanged => (None, LOOK_PAUSE_MAX),
            TaskResult::ForgeSilent { after_ms, .. } => (
                after_ms.map(|after_ms| Duration::from_millis(after_ms).min(NAMED_PAUSE_MAX)),
                SILENCE_PAUSE_MAX,
            ),
            // A forge takes a moment to notice a push.
            TaskResult::Delivered { .. } => (Some(FORGE_PAUSE), LOOK_PAUSE_MAX),
            _ => return,
        };
        let doubled = before.map_or(FORGE_PAUSE, |before| (before * 2).min(max));
        let length = length.unwrap_or(doubled);
        let until = Instant::now() + length;
        self.pauses.insert(plan.clone(), ForgePause { until, length });
    }

    /// Starts the run of a plan.
    fn start_job(&mut self, name: &PlanName) {
        let started = self.batch.plan(name).ok_or_else(String::new).and_then(|plan| {
            let (sender, name) = (self.sender.clone(), name.clone());
            let news = move |news| {
                let plan = name.clone();
                // Sending fails only if the batch has ended.
                _ = sender.send(match news {
                    JobUpdate::Progress(news) => DriverMessage::JobReported(plan, news),
                    JobUpdate::Ended(result) => DriverMessage::TaskEnded(plan, result),
                    JobUpdate::Detached => DriverMessage::JobDetached(plan),
                });
            };
            self.engine.start(self.supervisor, &self.site, &self.batch, plan, news)
        });
        self.keep(name, started);
    }

    /// Starts the goals on the merged tree.
    fn start_goals(&mut self, name: &PlanName, judging: CheckedOutMerge) {
        let Some(stopped) = self.in_flight.get(name).map(|task| Arc::clone(&task.stopped)) else {
            return;
        };
        let started = self.batch.plan(name).ok_or_else(String::new).and_then(|plan| {
            let (log, scratch) = (self.site.paths.log(name), self.site.paths.scratch());
            let CheckedOutMerge { project, required } = judging;
            let job = self.site.goals(&self.batch, plan, &log, &project, &scratch);
            let (site, sender, plan) = (Arc::clone(&self.site), self.sender.clone(), name.clone());
            let started = job::start(self.supervisor, job, move |ended| {
                let result = MergeJudge::new(&site).verdict(&ended, stopped.load(Ordering::Relaxed), &required);
                _ = sender.send(DriverMessage::TaskEnded(plan, result)); // the batch may have ended
            });
            started
                .map(|child| Box::new(child) as Box<dyn RunningJob>)
                .map_err(|error| error.to_string())
        });
        self.keep(name, started);
    }

    fn keep(&mut self, plan: &PlanName, started: Result<Box<dyn RunningJob>, String>) {
        match started {
            Ok(child) => {
                if let Some(task) = self.in_flight.get_mut(plan) {
                    task.child = Some(child);
                }
            }
            Err(why) => {
                let failed = DriverMessage::TaskEnded(plan.clone(), TaskResult::Failed { why });
                _ = self.sender.send(failed); // cannot fail: `self` has the receiver
            }
        }
    }

    /// Carries out a task with git on a thread, because it may take long.
    fn start_thread(&self, name: PlanName, task: WorkerTask) {
        let Some(plan) = self.batch.plan(&name).cloned() else {
            return;
        };
        let (site, batch, locks) = (Arc::clone(&self.site), self.batch.clone(), Arc::clone(&self.locks));
        let (sender, failing) = (self.sender.clone(), name.clone());
        let work = move || {
            if plan.target_in_use.is_some() {
                thread::sleep(TARGET_PAUSE);
            }
            if matches!(task, WorkerTask::Deliver | WorkerTask::LookAtRequest) {
                let found = reach_forge(&site, &batch, &plan, &task, &locks);
                let result = found.unwrap_or_else(|why| TaskResult::Failed { why });
                _ = sender.send(DriverMessage::TaskEnded(name, result)); // the batch may have ended
                return;
            }
            let is_of_trees = matches!(task, WorkerTask::AddWorkTree | WorkerTask::RemoveWorkTree);
            let _queue = (!is_of_trees).then(|| locks.queue.lock());
            let _trees = (is_of_trees || !site.has_scratch_tree()).then(|| locks.trees.lock());
            let found = match &task {
                WorkerTask::AddWorkTree => site.add_work_tree(&batch, &plan),
                WorkerTask::Merge => site.merge(&batch, &plan),
                WorkerTask::CheckGoals { .. } if !site.has_goals => Ok(MergeJudge::new(&site).verdict_without_goals()),
                WorkerTask::CheckGoals { commit, onto } => {
                    match MergeJudge::new(&site).check_out(&batch, &plan, commit, onto) {
                        Ok(judging) => {
                            _ = sender.send(DriverMessage::CheckedOut(name, Box::new(judging))); // the batch may have ended
                            return;
                        }
                        Err(why) => Err(why),
                    }
                }
                WorkerTask::MoveTarget { commit, onto } => site.move_target(&batch, onto, commit),
                WorkerTask::GiveTask { trouble } => site.give_task(&batch, &plan, trouble),
                WorkerTask::RemoveWorkTree if batch.delivery.is_some() => delivery::remove_tree(&site, &batch, &plan),
                WorkerTask::RemoveWorkTree => site.remove_work_tree(&batch, &plan),
                WorkerTask::RunJob | WorkerTask::Deliver | WorkerTask::LookAtRequest => return,
            };
            let result = found.unwrap_or_else(|why| TaskResult::Failed { why });
            _ = sender.send(DriverMessage::TaskEnded(name, result)); // the batch may have ended
        };
        let started = thread::Builder::new().name("batch".to_owned()).spawn(work);
        if let Err(error) = started {
            let failed = TaskResult::Failed { why: error.to_string() };
            _ = self.sender.send(DriverMessage::TaskEnded(failing, failed)); // cannot fail: `self` has the receiver
        }
    }
}

/// Carries out a task that reaches the forge. The locks are not held while it answers.
fn reach_forge(
    site: &Site,
    batch: &Batch,
    plan: &BatchPlan,
    task: &WorkerTask,
    locks: &Locks,
) -> Result<TaskResult, String> {
    if *task == WorkerTask::Deliver {
        return delivery::deliver(site, batch, plan);
    }
    let found = match delivery::look(site, batch, plan)? {
        RequestLook::Found(result) => return Ok(result),
        found @ (RequestLook::Merged { .. } | RequestLook::Conflict) => found,
    };
    let _queue = locks.queue.lock();
    let _trees = (!site.has_scratch_tree()).then(|| locks.trees.lock());
    delivery::follow(site, batch, plan, found)
}

/// Whether an agent or goals have run, which can change anything in the repository.
fn can_change_repository(result: &TaskResult) -> bool {
    matches!(
        result,
        TaskResult::JobEnded { .. }
            | TaskResult::GoalsPassed { .. }
            | TaskResult::TestsRefused { .. }
            | TaskResult::GoalsFailed { .. }
            | TaskResult::GoalsUnknown
    )
}
