//! Opens a project: takes its lock, and resumes or begins a run.

use std::{
    io,
    path::{Path, PathBuf},
};

use ralph_core::{
    event::{
        AskEvent, BreakerCause, BreakerState, Event, List, Notice, PlanSnapshot, PreparedTree, Record, RequestedBy,
        RunEvent, RunId, ScopedTask, Settings, Spent, SteeringId, StopReason, StopRequest, UserCommand,
    },
    machine::LoopState,
    run::{Breaker, RunView, TaskChanges, is_message_left},
};
use ralph_gate::guard::GuardError;
use ralph_git::{GitError, Repository};
use ralph_state::{
    control::{self, ControlError, ControlReply, ControlRequest},
    store::{
        journal::{Journal, JournalError, ReadNote, read_view},
        lock::{Holder, Lock, LockError},
        rules,
        state_file::StateFileError,
    },
};
use ralph_system::{
    files::is_same_file,
    os::now_ms,
    paths::{DONE_FILE, PAUSE_FILE, PathsError, ProjectPaths, RunPaths, replace_file},
    proc::{LockedFile, Supervisor},
};
use ralph_text::with_causes;
use thiserror::Error;

use super::{clock::new_run_id, sealed, test_gate};

#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Paths(#[from] PathsError),
    #[error("the tests cannot be compared with the originals")]
    Originals(#[from] GuardError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Rules(#[from] StateFileError),
    /// Helpers of a ralph that was killed may still work in the project.
    #[error("{path}: cannot be locked", path = path.display())]
    Helpers { path: PathBuf, source: io::Error },
    #[error("{path}: cannot be written", path = path.display())]
    State { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] GitError),
    /// A new run would drop a message of the user.
    #[error("message {} waits for the last run, of {plan}: {text}", id.0, plan = plan.display())]
    MessageWaits {
        id: SteeringId,
        plan: PathBuf,
        text: String,
    },
}

/// The run to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunChoice {
    /// The latest one if it was cut off, else a new one.
    AsFound,
    /// The latest one, even if it has ended, provided that it can be continued.
    Continued,
}

/// A project that this process works in, and the run it works on.
#[derive(Debug)]
pub struct OpenRun {
    pub run: RunId,
    pub paths: ProjectPaths,
    pub files: RunPaths,
    /// Taken by the driver.
    loaded: Option<(Journal, LoopState)>,
    /// The number of the next record: earlier ones are in the journal already, a single one in a new run.
    pub next_seq: u64,
    /// Whether it is a run that was cut off and is resumed.
    pub recovered: bool,
    /// Notices to record once the loop runs.
    pub(super) notices: Vec<Notice>,
    /// The preparation of the work tree, if no run has told of it.
    pub tree: Option<Box<PreparedTree>>,
    pub(super) earlier: EarlierUsage,
    /// The final state of the run before, if it has ended.
    ended: Option<LoopState>,
    pub(super) out_of_scope: Vec<TaskChanges>,
    _helpers: LockedFile,
    _lock: Lock,
}

impl OpenRun {
    /// Locks the project and opens the run of `plan`: the latest one if it was cut off, else a new one.
    ///
    /// First ends the processes that a killed ralph left behind.
    ///
    /// # Errors
    /// `LockError::Held` if another ralph works here; the others if the state cannot be read or written.
    pub fn open(paths: ProjectPaths, plan: &Path, supervisor: &Supervisor) -> Result<Self, OpenError> {
        Self::open_as(paths, (plan, None), supervisor, RunChoice::AsFound)
    }

    /// As [`OpenRun::open`], with the run that `opening` selects, of a plan or of one of its sections.
    ///
    /// # Errors
    /// As [`OpenRun::open`].
    pub fn open_as(
        paths: ProjectPaths,
        plan: (&Path, Option<&str>),
        supervisor: &Supervisor,
        opening: RunChoice,
    ) -> Result<Self, OpenError> {
        paths.create()?;
        let mut lock = match Lock::take(&paths) {
            Err(LockError::Held { .. }) if closes_shown_end(&paths) => Lock::take_from_ending(&paths),
            taken => taken,
        }?;
        lock.describe(&Holder {
            pid: std::process::id(),
            run: None,
        });
        let helpers = hold(&paths, supervisor)?;
        let mut notices = Vec::new();
        let mut latest = latest(&paths)?;
        let is_wanted = opening == RunChoice::Continued;
        if let Some(run) = latest.take_if(|run| run.has_left_message(plan) || is_wanted && run.can_continue(plan)) {
            latest = Some(run.into_resumable()?.reopened()?);
        }
        if let Some(run) = latest.as_ref().filter(|run| !run.is_resumed(plan)) {
            run.has_no_message_waiting()?;
        }
        sweep(&paths, supervisor, &mut notices);
        let earlier = match &latest {
            Some(run) => EarlierUsage::from_view(&run.state.view),
            None => EarlierUsage::latest_started(&paths),
        };
        let (ended, unfinished) = match latest {
            Some(run) if run.state.view.is_over() => (Some(run.state), None),
            other => (None, other),
        };
        let opened = match unfinished {
            Some(run) if run.is_resumed(plan) => {
                let run = run.into_resumable()?;
                notices.extend(run.torn_notice());
                (run.id, run.journal, run.state, true)
            }
            other => {
                if let Some(run) = other {
                    notices.push(Notice::warning(
                        "run-superseded",
                        format!(
                            "run {} of {} was not finished: it is closed, and a new run starts",
                            run.id,
                            run.state.view.settings.plan.display()
                        ),
                    ));
                    supersede(run)?;
                }
                let (id, journal, first) = create(&paths)?;
                let mut state = LoopState::default();
                state.apply(&first);
                (id, journal, state, false)
            }
        };
        let (run, journal, state, recovered) = opened;
        lock.describe(&Holder {
            pid: std::process::id(),
            run: Some(run.clone()),
        });
        let files = paths.run(&run);
        files.create()?;
        notices.extend(test_gate::recover(&paths.trial(), paths.project()));
        sealed::sweep_copies(&paths);
        let next_seq = journal.next_seq();
        let loaded = Some((journal, state));
        Ok(Self {
            run,
            paths,
            files,
            loaded,
            next_seq,
            recovered,
            notices,
            tree: None,
            earlier,
            out_of_scope: Vec::new(),
            ended,
            _helpers: helpers,
            _lock: lock,
        })
    }
}

/// Closes the screen of a run that is over and only shows its end; false if a run goes on.
fn closes_shown_end(paths: &ProjectPaths) -> bool {
    let status = match control::status(&paths.socket()) {
        Ok(status) => status,
        Err(ControlError::Refused { .. }) => return false,
        // It no longer answers, and may be waiting for the user's command that reports the end.
        Err(_) => return latest(paths).is_ok_and(|run| run.is_some_and(|run| run.state.view.is_over())),
    };
    let command = UserCommand::Stop {
        stop: StopRequest::Graceful,
    };
    status.over
        && matches!(
            control::ask(&paths.socket(), &ControlRequest::Command { command }),
            Ok(ControlReply::Done { .. })
        )
}

impl OpenRun {
    /// Adds notices before those already waiting for the loop.
    pub fn notice_first(&mut self, notices: Vec<Notice>) {
        self.notices.splice(0..0, notices);
    }

    /// Finds the repository in which the run makes its checkpoints, and makes git ignore `.ralph-pause` and
    /// `.ralph-done` there. The loop reports a missing repository.
    ///
    /// `include` has patterns, as in `.gitignore`, of ignored files that checkpoints include all the same.
    ///
    /// # Errors
    /// [`OpenError::Store`] if the checkpoints could not be kept.
    pub fn repository(
        &mut self,
        include: Vec<String>,
        supervisor: &Supervisor,
    ) -> Result<Option<Repository>, OpenError> {
        let (scratch, states) = (self.files.scratch(), self.paths.states());
        match Repository::discover(self.paths.project(), &scratch, &states, supervisor) {
            Ok((repository, notices)) => {
                let of_git = |text| Notice::warning("repository", text);
                self.notices.extend(notices.into_iter().map(of_git));
                // An agent that adds all files would commit them.
                if let Err(error) = repository.exclude(&[PAUSE_FILE, DONE_FILE]) {
                    self.notices.push(Notice::warning(
                        "files-not-ignored",
                        format!(
                            "Git does not ignore `{PAUSE_FILE}` and `{DONE_FILE}`, so agents may commit them: {}.",
                            with_causes(&error)
                        ),
                    ));
                }
                repository.begin(&self.run)?;
                Ok(Some(repository.including(include).excluding_state(states)))
            }
            Err(reason) => {
                let why = with_causes(&reason);
                let text = format!("no checkpoints, no statistics: {why}");
                self.notices.push(Notice::warning("no-repository", text));
                Ok(None)
            }
        }
    }

    /// Returns notices of what the run before required and this one does not: tasks that an agent removed from the
    /// plan, and goals that are gone from the configuration, which an agent may have edited as well.
    pub fn dropped_requirements(&self, settings: &Settings, plan: &PlanSnapshot) -> Vec<Notice> {
        let Some(ended) = &self.ended else { return Vec::new() };
        let is_done = matches!(ended.view.stop_reason(), Some(StopReason::Done { .. }));
        let is_same = is_for(&ended.view.settings, (&settings.plan, settings.section.as_deref()));
        if is_done || !is_same {
            return Vec::new();
        }
        let is_back = |text: &String| plan.tasks.iter().any(|task| task.text == *text);
        let tasks = ended.view.missing.iter().filter(|text| !is_back(text));
        let tasks = tasks.map(|task| {
            let text = format!("the task \"{task}\" vanished from the plan in the last run and is not done");
            Notice::warning("task-dropped", text)
        });
        let gone = ended
            .view
            .settings
            .goals
            .iter()
            .filter(|goal| !settings.goals.contains(goal));
        let gone = gone.map(|goal| {
            let text = format!("goal `{}` from the previous run is not part of this one", goal.name);
            Notice::warning("goal-dropped", text)
        });
        tasks.chain(gone).collect()
    }

    /// Keeps the scopes of the run before, and its changes outside of them: in a batch, nobody has looked at the plan since, which
    /// its agent may have changed.
    pub fn keep_scopes(&mut self, settings: &mut Settings) {
        let plan = (&*settings.plan, settings.section.as_deref());
        let Some(ended) = self.ended.as_ref().filter(|ended| is_for(&ended.view.settings, plan)) else {
            return;
        };
        let known = &ended.view.settings.scopes;
        let is_new = |scoped: &ScopedTask| known.iter().all(|known| known.task != scoped.task);
        settings.scopes.retain(is_new);
        settings.scopes.extend(known.iter().cloned());
        let held = ended.internal.scopes.iter().filter(|changes| changes.holds_tick());
        self.out_of_scope = held.cloned().collect();
    }

    /// Hands over the journal and the state it folds to.
    pub(super) fn take(&mut self) -> (Journal, LoopState) {
        self.loaded.take().expect("an opened run is driven once")
    }
}

/// Usage by earlier runs that counts towards limits shared by all runs. The last run's figures include those before it.
#[derive(Debug, Default)]
pub(super) struct EarlierUsage {
    /// The number of the latest run; 0 if there is none.
    pub(super) number: u32,
    /// When iterations began.
    pub(super) starts_ms: Vec<u64>,
    pub(super) spending: Vec<Spent>,
}

impl EarlierUsage {
    fn from_view(view: &RunView) -> Self {
        Self {
            number: view.number,
            starts_ms: view.clock.starts_ms.clone(),
            spending: view.spending.quarters.clone(),
        }
    }

    /// As [`EarlierUsage::from_view`], with the newest readable run that started: the latest run may have been killed before it wrote
    /// the usage of those before it.
    fn latest_started(paths: &ProjectPaths) -> Self {
        let ids = paths.run_ids().into_iter().rev();
        let views = ids.filter_map(|id| read_view(paths, &id).ok());
        let started = |view: &RunView| view.settings.plan != Path::new("");
        views
            .filter(started)
            .map(|view| Self::from_view(&view))
            .next()
            .unwrap_or_default()
    }
}

/// An earlier run.
pub(super) struct EarlierRun {
    pub(super) id: RunId,
    pub(super) journal: Journal,
    pub(super) state: LoopState,
    note: ReadNote,
    /// Number and name of the first event that this version does not know.
    unknown: Option<(u64, String)>,
    /// The version of ralph that wrote to it last.
    ralph: String,
}

impl EarlierRun {
    /// Returns the run, if it can be resumed.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] if an event is unknown: the state folded without it is not the state of the run.
    pub(super) fn into_resumable(self) -> Result<Self, JournalError> {
        match self.unknown {
            None => Ok(self),
            Some((seq, name)) => Err(JournalError::Unknown {
                path: self.journal.path().to_owned(),
                seq,
                name,
                ralph: self.ralph,
            }),
        }
    }

    /// Whether `ralph` with this plan resumes it.
    fn is_resumed(&self, plan: (&Path, Option<&str>)) -> bool {
        !self.state.view.is_over() && is_for(&self.state.view.settings, plan)
    }

    /// Refuses to replace this run while it can still deliver a message.
    fn has_no_message_waiting(&self) -> Result<(), OpenError> {
        let view = &self.state.view;
        if !view.stop_reason().is_none_or(StopReason::can_be_continued) && !is_message_left(&view.messages) {
            return Ok(());
        }
        let mut waiting = view.messages.iter().filter(|message| message.is_queued());
        waiting.next().map_or(Ok(()), |message| {
            Err(OpenError::MessageWaits {
                id: message.id,
                plan: view.settings.plan.clone(),
                text: message.text.clone(),
            })
        })
    }

    /// Whether the run is over, but can be continued with this plan.
    fn can_continue(&self, plan: (&Path, Option<&str>)) -> bool {
        let view = &self.state.view;
        view.stop_reason().is_some_and(StopReason::can_be_continued) && is_for(&view.settings, plan)
    }

    /// Whether the run is over, and a message was left with which it resumes.
    fn has_left_message(&self, plan: (&Path, Option<&str>)) -> bool {
        let view = &self.state.view;
        let is_left = view.is_over() && is_message_left(&view.messages);
        is_left && self.state.closed_for_good().is_none() && is_for(&view.settings, plan)
    }

    /// Reopens the run after its end, because its user wants it continued or has left a message.
    fn reopened(mut self) -> Result<Self, JournalError> {
        let reopened = Event::Run(RunEvent::Reopened {
            by: RequestedBy::User,
            continued: !is_message_left(&self.state.view.messages),
        });
        let record = self.journal.append(now_ms(), reopened)?;
        self.state.apply(&record);
        Ok(self)
    }

    fn torn_notice(&self) -> Option<Notice> {
        match self.note {
            ReadNote::Whole => None,
            ReadNote::Torn { bytes } => Some(Notice::warning(
                "journal-torn",
                format!("the journal's last line was cut off by a crash and is left out ({bytes} bytes)"),
            )),
        }
    }
}

fn unfinished(paths: &ProjectPaths) -> Result<Option<EarlierRun>, JournalError> {
    Ok(latest(paths)?.filter(|run| !run.state.view.is_over()))
}

/// Returns the latest run, if it ever started.
pub(super) fn latest(paths: &ProjectPaths) -> Result<Option<EarlierRun>, JournalError> {
    let Some(id) = paths.latest_run() else { return Ok(None) };
    let path = paths.run(&id).journal();
    if !path.exists() {
        return Ok(None); // killed between making the directory and the journal
    }
    let mut state = LoopState::default();
    let (mut started, mut unknown, mut ralph) = (false, None, String::new());
    let (journal, note) = Journal::reopen(&path, |record| {
        state.apply(&record);
        match record.event {
            Event::Run(RunEvent::JournalOpened { ralph: version, .. })
            | Event::Run(RunEvent::Resumed { ralph: version, .. }) => ralph = version,
            Event::Run(RunEvent::Started { .. }) => started = true,
            Event::Unknown { name } if unknown.is_none() => unknown = Some((record.seq, name)),
            _ => {}
        }
    })?;
    // Without a start there are no settings, and nothing to resume.
    Ok(started.then_some(EarlierRun {
        id,
        journal,
        state,
        note,
        unknown,
        ralph,
    }))
}

fn supersede(mut run: EarlierRun) -> Result<(), JournalError> {
    let totals = run.state.view.totals();
    run.journal.append(
        now_ms(),
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Superseded,
            hints: List::default(),
            totals,
        }),
    )?;
    Ok(())
}

fn create(paths: &ProjectPaths) -> Result<(RunId, Journal, Record), OpenError> {
    let run = new_run_id();
    let files = paths.run(&run);
    files.create()?;
    let (journal, first) = Journal::create(&files.journal(), now_ms(), &run)?;
    let latest = paths.latest();
    replace_file(&latest, run.0.as_bytes()).map_err(|source| OpenError::State { path: latest, source })?;
    Ok((run, journal, first))
}

/// Ends processes that a killed ralph and its killed guard left running, found by the run they were started in.
fn sweep(paths: &ProjectPaths, supervisor: &Supervisor, notices: &mut Vec<Notice>) {
    let runs: Vec<String> = paths.run_ids().into_iter().map(|run| run.0).collect();
    let ended = supervisor.sweep(&runs);
    let text = match &ended[..] {
        [] => return,
        [pid] => format!("ended a process that an earlier run left behind (pid {pid})"),
        ended => format!("ended {} processes that an earlier run left behind", ended.len()),
    };
    notices.push(Notice::warning("orphans-ended", text));
}

/// The result of resetting the breaker when no loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerReset {
    /// The run that was cut off will resume with a closed breaker.
    Done,
    /// There was nothing to reset: the next run begins with a closed breaker anyway.
    Nothing,
}

/// Whether a run's settings are for this plan, and for this section of it.
pub(super) fn is_for(settings: &Settings, (plan, section): (&Path, Option<&str>)) -> bool {
    is_same_file(&settings.plan, plan) && settings.section.as_deref() == section
}

/// Waits for the helpers of a ralph that was killed in the project, and makes others wait for those of this process.
///
/// # Errors
/// [`OpenError::Helpers`] if they do not end, or if their lock file cannot be locked.
pub fn hold(paths: &ProjectPaths, supervisor: &Supervisor) -> Result<LockedFile, OpenError> {
    let path = paths.helpers();
    let held = supervisor.hold(&path);
    held.map_err(|source| OpenError::Helpers { path, source })
}

/// Closes the breaker of the run that was cut off, if there is one.
///
/// # Errors
/// As [`OpenRun::open`].
pub fn reset_circuit(paths: &ProjectPaths) -> Result<BreakerReset, OpenError> {
    if !paths.lock().exists() {
        return Ok(BreakerReset::Nothing);
    }
    let _lock = Lock::take(paths)?;
    let Some(mut run) = unfinished(paths)?.filter(|run| run.state.view.breaker != Breaker::default()) else {
        return Ok(BreakerReset::Nothing);
    };
    let event = Event::BreakerMoved {
        to: BreakerState::Closed,
        why: BreakerCause::ResetByUser,
    };
    run.journal.append(now_ms(), event)?;
    Ok(BreakerReset::Done)
}

/// Removes a rule that answers have added, when no loop runs; false if no rule has that text.
///
/// # Errors
/// As [`OpenRun::open`], and if the rules of the project cannot be read or written.
pub fn forget_rule(paths: &ProjectPaths, rule: &str) -> Result<bool, OpenError> {
    if !paths.lock().exists() {
        return Ok(false);
    }
    let _lock = Lock::take(paths)?;
    let mut forgotten = rules::forget(paths, rule)?;
    if let Some(mut run) = latest(paths)? {
        let added = &run.state.view.permissions.rules;
        if added.iter().any(|known| known.rule == rule) {
            let rule = rule.to_owned();
            run.journal
                .append(now_ms(), Event::Ask(AskEvent::RuleForgotten { rule }))?;
            forgotten = true;
        }
    }
    Ok(forgotten)
}
