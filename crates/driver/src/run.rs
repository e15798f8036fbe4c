//! The loop around the machine: waits for the next input, steps the machine, records the events, performs the effects.
//!
//! Stop 5 of the tour in ARCHITECTURE.md. The order makes a crash harmless: a record is written before it is published,
//! and published before any effect is performed.

use std::{collections::VecDeque, future::pending, mem::discriminant, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use ralph_core::{
    event::{
        AgentSignal, AskEvent, BackgroundCommand, CommandRefusal, Day, Event, IterationEvent, Notice, RequestedBy,
        RunEvent, Settings, StopReason, StopRequest,
    },
    machine::{Input, LoopState, Start, Step, step},
};
use ralph_state::{
    control::{ClientRole, ControlRequest, PendingRequest},
    store::journal::{Journal, JournalError},
};
use ralph_system::proc::{Size, Supervisor};
use ralph_tools::language::{Home, Languages};
use ralph_words::command_refusal_in_words;
use thiserror::Error;
use tokio::sync::mpsc;

use super::{
    agent_commands::AgentCommands,
    autorun::Autorun,
    awake::WakeLock,
    background::{self, BackgroundTasks},
    clock::{LOOK, new_promise},
    commits::IterationCommits,
    config::RunConfig,
    early::EarlyChecks,
    edits::EditWatch,
    handle::{Inbox, InboxMessage, LoopHandle},
    hooks::HookQueue,
    jobs::JobContext,
    log::log_step,
    open::OpenRun,
    packages::PackagesRecord,
    parts::{RunAgents, RunChecks, RunTime, RunTools},
    places::HeadWatch,
    plan_file::{PlanTarget, TaskRules, Taskless},
    plan_look::PlanLook,
    room::Room,
    run_room::RunRoom,
    scopes::RunScopes,
    sealed::SealedPlace,
    test_gate::TestGate,
    timers::Timers,
    tools::{OffLoopResult, PendingCalls},
};
use crate::hub::Hub;

const INPUTS: usize = 64;

#[derive(Debug, Error)]
pub enum DriverError {
    #[error("the journal cannot be kept: the agent was ended and the run stopped")]
    Journal(#[from] JournalError),
}

/// A run in progress.
pub struct Driver {
    pub(super) pid: u32,
    pub(super) agents: RunAgents,
    pub(super) checks: RunChecks,
    pub(super) tools: RunTools,
    pub(super) time: RunTime,
    pub(super) hooks: HookQueue,
    awake: WakeLock,
    /// Used from blocking threads.
    pub(super) jobs: Arc<JobContext>,
    pub(super) hub: Hub,
    pub(super) results: mpsc::Sender<Input>,
    /// Inputs that the driver made itself.
    pub(super) own: VecDeque<Input>,
    /// Recorded before the loop waits again.
    pub(super) pending_events: Vec<Event>,
    /// `None` only during a step.
    pub(super) state: Option<LoopState>,
    journal: Journal,
    results_in: mpsc::Receiver<Input>,
    /// Notices from other parts of this process; `None` if the run was configured without.
    heard: Option<mpsc::Receiver<Notice>>,
    /// Recorded at the beginning.
    first_events: Vec<Event>,
    /// Number of screens that show the run; while there is one, the loop stays after the end.
    pub(super) screens: u32,
    /// Whether the loop leaves after the end even if screens show it.
    pub(super) dismissed: bool,
    /// The input that the loop begins with.
    first: Option<Input>,
    handle: LoopHandle,
    inbox: Inbox,
    /// Whether the pause file existed when the first input was made.
    pause_file: bool,
    // Held until the driver is dropped; a second ralph must not start before.
    _open: OpenRun,
}

/// The event that has ended the loop's wait.
pub(super) enum LoopEvent {
    /// A look at the clocks is due.
    Nothing,
    Input(Input),
    Notice(Notice),
    Asked(PendingRequest),
    Message(InboxMessage),
    /// A result for the agent was found off the loop.
    OffLoopResult(OffLoopResult),
    /// A check whether the agent has changed files is due.
    EditsDue,
    /// The plan was written, and its boxes are due to be read.
    PlanWritten,
}

impl Driver {
    /// Builds the driver of a run; nothing starts before [`Driver::run`].
    pub fn new(mut open: OpenRun, config: RunConfig, hub: Hub) -> Self {
        let paused = open.paths.pause_file().symlink_metadata().is_ok();
        let pid = std::process::id();
        let settings = Arc::new(config.settings);
        let taskless = Taskless::with(&settings.plan, &settings.goals, config.promise.as_deref());
        let day = (!settings.limits.per_day.is_none()).then(|| config.clock.today());
        let first = if open.recovered {
            Input::Recover {
                pid,
                settings: Box::new(Settings::clone(&settings)),
                pause_file: paused,
                day,
            }
        } else {
            Input::Start(Box::new(Start {
                project: open.paths.project().to_owned(),
                pid,
                settings: Settings::clone(&settings),
                promise: config.promise.unwrap_or_else(new_promise),
                pause_file: paused,
                number: open.earlier.number + 1,
                earlier_starts_ms: std::mem::take(&mut open.earlier.starts_ms),
                earlier_spending: std::mem::take(&mut open.earlier.spending),
                day,
                out_of_scope: std::mem::take(&mut open.out_of_scope),
            }))
        };
        let (repository, supervisor) = (config.repository.map(Arc::new), config.supervisor.clone());
        let autorun = Autorun::new(
            open.paths.project(),
            repository.as_deref(),
            open.paths.trust(),
            supervisor,
        );
        let room = RunRoom::resuming(config.room, &open.paths, &open.run, repository.as_ref());
        let jobs = JobContext {
            run: open.run.clone(),
            paths: open.paths.clone(),
            files: open.files.clone(),
            plan_target: PlanTarget::new(&settings.plan, open.paths.project()),
            taskless,
            task_rules: TaskRules::new(&config.agents, &settings),
            template: config.template,
            confined: config.confined,
            commits: config.commits.then(|| IterationCommits::new(open.files.uncommitted())),
            repository,
            supervisor: config.supervisor,
            disks: config.disks,
            seen: Mutex::default(),
            tree: Mutex::default(),
            autorun: Mutex::new(autorun),
            head: Mutex::default(),
            leavings: Mutex::default(),
            left: config.left,
            scopes: RunScopes::new(&settings, config.test_files, open.paths.project()),
            settings,
            gate: Arc::new(TestGate::new(config.runners, config.guard, &open.paths, &open.files)),
            room,
            unchanged_before: Mutex::default(),
        };
        let outputs = open.files.sealed_outputs();
        let sealed = config.sealed.map(|held| SealedPlace::new(&open.paths, outputs, held));
        let sealed = sealed.map(Arc::new);
        let calls = PendingCalls::default();
        let project = open.paths.project();
        let home = Home {
            project: std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()),
            run_id: open.run.0.clone(),
            scratch: open.files.scratch(),
            supervisor: jobs.supervisor.limiting_memory(config.language_memory_bytes),
            withheld: config.withheld.clone(),
            guard: None,
        };
        let languages = Languages::new(config.languages, home, calls.news_in.clone());
        let awake = WakeLock::new(
            config.keep_awake,
            config.hooks.supervisor.clone(),
            project.to_owned(),
            open.files.scratch(),
            open.run.0.clone(),
        );
        let (results, results_in) = mpsc::channel(INPUTS);
        let plan_look = PlanLook::default();
        let (handle, inbox) = LoopHandle::new(Arc::clone(&plan_look.written));
        let (journal, state) = open.take();
        let jobs = JobContext {
            head: Mutex::new(HeadWatch::resuming(state.view.head.as_deref())),
            ..jobs
        };
        Self {
            pid,
            agents: RunAgents {
                available: config.agents,
                session: None,
                names_pause_file: false,
                workers: config.workers,
                prices: Arc::new(config.prices),
                commands: AgentCommands::default(),
                permission_policy: config.permission_policy,
                denial_scanner: config.denial_scanner,
                size: config.size,
                recording_cap_bytes: config.recording_cap_bytes,
                get_tools: config.agent_tools,
            },
            checks: RunChecks {
                goals: None,
                parallel: config.goals_parallel,
                turn: Arc::default(),
                withheld: config.withheld,
                sealed,
                setup: config.setup.into(),
                edits: EditWatch::default(),
                early: EarlyChecks::default(),
                plan_look,
            },
            tools: RunTools {
                calls,
                background: BackgroundTasks::default(),
                languages,
            },
            time: RunTime {
                clock: config.clock,
                timers: Timers::default(),
                ending_since: None,
            },
            awake,
            hooks: HookQueue::new(config.hooks),
            jobs: Arc::new(jobs),
            hub,
            results,
            own: VecDeque::new(),
            pending_events: Vec::new(),
            state: Some(state),
            journal,
            results_in,
            heard: config.heard,
            first_events: {
                let tree = open.tree.take().map(|tree| Event::Run(RunEvent::TreePrepared { tree }));
                let notices = std::mem::take(&mut open.notices);
                tree.into_iter().chain(notices.into_iter().map(Event::from)).collect()
            },
            screens: u32::from(config.watched),
            dismissed: false,
            first: Some(first),
            handle,
            inbox,
            pause_file: paused,
            _open: open,
        }
    }

    /// Returns a way to reach the loop.
    pub fn handle(&self) -> LoopHandle {
        self.handle.clone()
    }

    /// Returns the hub that publishes the run.
    pub fn hub(&self) -> Hub {
        self.hub.clone()
    }

    /// Returns the supervisor of the run's processes.
    pub fn supervisor(&self) -> &Supervisor {
        &self.jobs.supervisor
    }

    /// Returns the file of the plan, with links in its path resolved.
    pub fn plan_file(&self) -> PathBuf {
        std::fs::canonicalize(&self.jobs.settings.plan).unwrap_or_else(|_| self.jobs.settings.plan.clone())
    }

    /// Whether the pause file existed when the driver was built.
    pub fn saw_pause_file(&self) -> bool {
        self.pause_file
    }

    /// Adds a notice that the loop records once it runs.
    pub fn notice(&mut self, notice: Notice) {
        self.first_events.push(notice.into());
    }

    /// Runs until the run is over, and returns why it is. The project is locked until the driver is dropped.
    ///
    /// # Errors
    /// [`DriverError::Journal`] if a record cannot be written: the agent has been ended then.
    ///
    /// # Panics
    /// If it is called twice.
    pub async fn run(&mut self) -> Result<StopReason, DriverError> {
        let result = self.loop_until_stopped().await;
        if result.is_err() {
            self.end_session_at_once().await;
        }
        self.tools.close().await;
        self.agents.close().await;
        self.close_inbox();
        self.checks.early.end();
        let now_ms = self.time.clock.now_ms();
        let missing = self.jobs.room.missing_packages();
        PackagesRecord::change(&self.jobs.paths, |record| {
            record.missing = missing;
            record.end(now_ms);
        });
        // A run that can go on goes on in its room.
        if matches!(result, Ok(StopReason::Done { .. })) {
            Room::remove(&self.jobs.paths);
        }
        result
    }

    /// Closes the inbox. Each request that waits for its reply is told that the run is over.
    fn close_inbox(&mut self) {
        self.inbox.messages.close();
        self.inbox.asked.close();
        while self.inbox.asked.try_recv().is_ok() {}
    }

    /// Whether the user wanted the run to stop before the end of the iteration.
    pub(super) fn is_stop_urgent(&self) -> bool {
        let stop = self.state().view.stop;
        stop.is_some_and(|stop| stop.request > StopRequest::AfterIteration)
    }

    /// Whether the end of the run still waits for hooks, each of which has a deadline.
    fn waits_for_hooks(&self) -> bool {
        let view = &self.state().view;
        let at_once = view.stop.is_some_and(|stop| stop.request == StopRequest::Immediate);
        !view.hooks.running.is_empty() && !at_once
    }

    async fn loop_until_stopped(&mut self) -> Result<StopReason, DriverError> {
        let first = self.first.take().expect("a driver runs once");
        // The time since the driver was built does not count.
        _ = self.time.clock.look();
        // Notices come after the start of a new run, but before a resumed run goes on.
        let starts = matches!(first, Input::Start(_));
        if starts {
            self.advance(&first)?;
        }
        self.note_all()?;
        if !starts {
            self.advance(&first)?;
        }
        loop {
            let over = self.state().view.stop_reason().cloned();
            if let Some(reason) = &over
                && !self.stays(reason)
                && !self.waits_for_background()
                && !self.waits_for_hooks()
            {
                return Ok(reason.clone());
            }
            let not_awake = self
                .awake
                .follow(&self.state.as_ref().expect("the state is there between steps").view);
            self.pending_events.extend(not_awake.map(Event::from));
            for event in std::mem::take(&mut self.pending_events) {
                self.note(event)?;
            }
            let event = match self.own.pop_front() {
                Some(input) => LoopEvent::Input(input),
                None => self.next().await,
            };
            // Before the event itself: a timer may be due only because the clock was set.
            if let Some(gap_ms) = self.time.clock.look() {
                self.advance(&Input::ClockMoved { gap_ms })?;
            }
            if let Some(day) = self.new_day() {
                self.advance(&Input::DayBegan { day })?;
            }
            if let Some(iteration) = self.first_output() {
                self.advance(&Input::OutputSeen { iteration })?;
            }
            if over.is_some() {
                self.note_leaving(&event);
            }
            match event {
                LoopEvent::Nothing => {
                    if let Some(current) = &mut self.agents.session {
                        current.write_out();
                    }
                }
                LoopEvent::Notice(notice) => self.note(notice)?,
                LoopEvent::Input(input) => {
                    self.advance(&input)?;
                }
                LoopEvent::OffLoopResult(result) => self.take_result(result)?,
                LoopEvent::EditsDue => self.check_edits(),
                LoopEvent::PlanWritten => self.look_at_boxes(),
                LoopEvent::Asked(PendingRequest {
                    request: ControlRequest::Tool { called, waits },
                    role,
                    reply,
                }) => self.call_tool(called, waits, role, reply)?,
                LoopEvent::Asked(PendingRequest {
                    request: ControlRequest::Command { command },
                    role: ClientRole::User,
                    reply,
                }) if command.lacks_lines() => self.find_lines(command, RequestedBy::User, Some(reply)),
                LoopEvent::Asked(PendingRequest { request, role, reply }) => {
                    let answer = self.answer(request, role)?;
                    _ = reply.send(answer); // the client may have gone
                }
                LoopEvent::Message(InboxMessage::Command { command, by }) if command.lacks_lines() => {
                    self.find_lines(command, by, None);
                }
                LoopEvent::Message(InboxMessage::Command { command, by }) => match self.refusal(&command) {
                    Some(refusal) => self.refuse_command(refusal)?,
                    None => _ = self.advance(&Input::Command { command, by })?,
                },
                LoopEvent::Message(InboxMessage::CancelTask { number }) => {
                    _ = self.answer_background(&BackgroundCommand::Cancel { number }, ClientRole::User)?;
                }
                LoopEvent::Message(InboxMessage::PauseFile { present }) => {
                    match present && self.agents.names_pause_file && self.agents.session.is_some() {
                        true => self.refuse_agents_pause()?,
                        false => _ = self.advance(&Input::PauseFile { present })?,
                    }
                }
                LoopEvent::Message(InboxMessage::Type(bytes)) => {
                    if let Some(session) = &self.agents.session {
                        session.type_bytes(&bytes);
                    }
                }
                LoopEvent::Message(InboxMessage::Resize(size)) => self.resize(size),
                LoopEvent::Message(InboxMessage::Leave) => self.screen_left()?,
                LoopEvent::Message(InboxMessage::Watch) => self.screens = self.screens.saturating_add(1),
                LoopEvent::Message(InboxMessage::Unwatch) => self.screens = self.screens.saturating_sub(1),
            }
            if over.is_some() && !self.state().view.is_over() {
                self.look_for_pause();
            }
        }
    }

    /// Returns today's day if limits need it and it differs from the day recorded last.
    fn new_day(&self) -> Option<Day> {
        let view = &self.state().view;
        let known = view.spending.day?;
        let is_past = !view.is_over() && !known.contains(self.time.clock.now_ms());
        is_past.then(|| self.time.clock.today()).filter(|day| *day != known)
    }

    /// Whether the end of the run still waits for background tasks that are being ended.
    fn waits_for_background(&mut self) -> bool {
        if self.state().view.background.alive().next().is_none() {
            self.time.ending_since = None;
            return false;
        }
        let running_time = self.time.clock.running_time();
        running_time.saturating_sub(*self.time.ending_since.get_or_insert(running_time)) < background::PATIENCE
    }

    fn resize(&mut self, size: Size) {
        self.agents.size = size.clamped();
        if let Some(session) = &self.agents.session {
            session.resize(self.agents.size);
        }
    }

    /// Waits for the next event. Rare ones come first, so that an agent that never stops talking cannot delay commands
    /// or limits; its signals only wait and are not lost.
    async fn next(&mut self) -> LoopEvent {
        let (session, heard) = (&mut self.agents.session, &mut self.heard);
        let said = async {
            match heard {
                Some(heard) => heard.recv().await,
                None => pending().await,
            }
        };
        let agent = async {
            match session {
                Some(session) => (session.iteration, session.next().await),
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(message) = self.inbox.messages.recv() => LoopEvent::Message(message),
            Some(asked) = self.inbox.asked.recv() => LoopEvent::Asked(asked),
            found = self.tools.calls.next() => LoopEvent::OffLoopResult(found),
            timer = self.time.timers.next(|| self.time.clock.now_ms()) => LoopEvent::Input(Input::TimerFired { timer }),
            Some(input) = self.results_in.recv() => LoopEvent::Input(input),
            Some(notice) = said => LoopEvent::Notice(notice),
            () = self.checks.edits.due() => LoopEvent::EditsDue,
            () = self.checks.plan_look.due() => LoopEvent::PlanWritten,
            (iteration, signal) = agent => LoopEvent::Input(Input::Agent { iteration, signal }),
            () = tokio::time::sleep(LOOK) => LoopEvent::Nothing,
        }
    }

    /// Steps the machine by one input, records the events and performs the effects. Returns the events.
    pub(super) fn advance(&mut self, input: &Input) -> Result<Vec<Event>, DriverError> {
        let now_ms = self.time.clock.now_ms();
        if let Input::Agent {
            iteration,
            signal: signal @ AgentSignal::PermissionRequested { request },
        } = input
        {
            self.note_signal(now_ms, *iteration, signal)?;
            return self.advance(&self.ruled(*iteration, request));
        }
        match input {
            Input::TimerFired { timer } if !self.time.timers.take(*timer, now_ms) => return Ok(Vec::new()),
            Input::Agent { iteration, signal } => self.note_signal(now_ms, *iteration, signal)?,
            _ => {}
        }
        let state = self.state.take().expect("the state is there between steps");
        let before = discriminant(&state.view.phase);
        let Step { state, events, effects } = step(state, now_ms, input);
        log_step(before, input, &state, &events);
        self.state = Some(state);
        for event in &events {
            self.record(now_ms, event.clone())?;
        }
        if let Input::Agent { iteration, signal } = input {
            self.show_unrecorded(now_ms, *iteration, signal, &events);
        }
        for effect in effects {
            self.perform(effect, input, now_ms);
        }
        self.prepare_after_hooks(input);
        self.check_early(input);
        self.pass_to_edit_watch(input);
        if events
            .iter()
            .any(|event| matches!(event, Event::Iteration(IterationEvent::Ended { .. })))
        {
            self.tools.calls.end_iteration();
        }
        let rules_anew = |event: &Event| {
            let Event::Ask(asked) = event else { return false };
            matches!(
                asked,
                AskEvent::RulesAdded { .. } | AskEvent::PermissionModeChanged { .. }
            )
        };
        if events.iter().any(rules_anew) {
            self.rule_anew();
        }
        Ok(events)
    }

    /// Writes an event before publishing it: a subscriber that lags must find the record in the journal.
    fn record(&mut self, now_ms: u64, event: Event) -> Result<(), DriverError> {
        let record = self.journal.append(now_ms, event)?;
        self.hub.publish(record);
        Ok(())
    }

    /// Returns the number of the next record.
    pub(super) fn next_seq(&self) -> u64 {
        self.journal.next_seq()
    }

    /// Records a notice or another event that changes nothing in the state, so that it needs no step.
    pub(super) fn note(&mut self, event: impl Into<Event>) -> Result<(), DriverError> {
        if self.state().view.is_over() {
            return Ok(());
        }
        self.record(self.time.clock.now_ms(), event.into())
    }

    /// Records that a command is refused, if its sender does not wait for an answer.
    pub(super) fn refuse_command(&mut self, refusal: CommandRefusal) -> Result<(), DriverError> {
        let notice = Notice::warning("command-refused", command_refusal_in_words(&refusal));
        self.note(Event::Run(RunEvent::CommandRefused { refusal, notice }))
    }

    fn note_all(&mut self) -> Result<(), DriverError> {
        for event in std::mem::take(&mut self.first_events) {
            self.note(event)?;
        }
        Ok(())
    }

    pub(super) fn state(&self) -> &LoopState {
        self.state.as_ref().expect("the state is there between steps")
    }
}
