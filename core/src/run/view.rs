//! The fold over the records of a run.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    Background, Block, Breaker, Calls, ChangedTests, Clock, Comments, Delivered, EditChecks, End, GoalState,
    GoalStatus, HookRuns, Incidents, Iterations, Message, Observation, OpenAsk, Permissions, Phase, Shared, Spending,
    StopAsked, Task, Tool, Work, head, stashes,
    task::{failed_tests, tasks},
    tool,
};
use crate::event::{
    AgentEvent, AgentSignal, Ask, Changes, ChannelKind, ClaimEvent, Event, GateEvent, Goal, GoalResult, HeadPlace,
    Hint, IterationEvent, KnownFailures, LimitKind, Outcome, PausedBy, PermissionMode, PlanEvent, PlanSnapshot,
    PlanTask, PreparedTree, Proof, Record, Role, RunEvent, RunId, SandboxState, Settings, StashEntry, SteeringEvent,
    SteeringId, StopReason, TaskEvent, TimeEvent, Totals, UnreadLines, Usage, Wait, WaitEnd, WorkerEvent,
};
use crate::json::{ReadJson, WriteJson};

/// The public state of a run.
#[derive(Debug, Clone, PartialEq, Default, WriteJson, ReadJson, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Number of records applied, which is the `seq` of the next one.
    pub records: u64,
    pub run: Option<RunId>,
    /// The number of the run among those of its project, from 1; 0 if it has none.
    pub number: u32,
    /// The project's root, absolute.
    #[schemars(with = "PathBuf")]
    pub project: Shared<PathBuf>,
    #[schemars(with = "Settings")]
    pub settings: Shared<Settings>,
    /// The current adapter: a fallback while the first one is rate-limited; empty before the first iteration.
    pub adapter: String,
    /// The model as reported by the agent.
    pub model: Option<String>,
    /// The purpose of the latest iteration, including one in preparation.
    #[serde(default, skip_serializing_if = "Role::is_work")]
    pub role: Role,
    /// The sandbox of the run's agents, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxState>,
    /// The preparation of the work tree of the run, if it has one that was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Box<PreparedTree>>,
    /// The place of HEAD, unless it is on the branch that the run began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Box<HeadPlace>>,
    /// Stashes that were made in the run and are still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stashes: Vec<StashEntry>,
    pub phase: Phase,
    /// Number of phase changes. A timer armed in an earlier phase is ignored.
    pub epoch: u32,
    pub clock: Clock,
    pub spending: Spending,
    #[schemars(with = "PlanSnapshot")]
    pub plan: Shared<PlanSnapshot>,
    /// The lines of the plan that look like tasks and could not be read.
    #[serde(default, skip_serializing_if = "UnreadLines::is_empty")]
    pub unread: UnreadLines,
    /// Tasks that agents removed from the plan of this run.
    pub missing: Vec<String>,
    /// Texts of the tasks that the user has set aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside_by_user: Vec<String>,
    /// Questions that block tasks, since the user's last message.
    pub blocks: Vec<Block>,
    /// The goals in the order of the settings, with their last results.
    pub goals: Vec<GoalStatus>,
    pub iterations: Iterations,
    pub tool: Option<Tool>,
    pub breaker: Breaker,
    /// When the limits of adapters end.
    pub limited: BTreeMap<String, u64>,
    pub messages: Vec<Message>,
    /// Comments on lines of files.
    #[serde(default, skip_serializing_if = "Comments::is_empty")]
    pub comments: Comments,
    pub paused_by_file: bool,
    pub paused_by_user: bool,
    pub stop: Option<StopAsked>,
    pub usage: Usage,
    pub changes: Option<Changes>,
    pub permissions: Permissions,
    /// The agents' calls of ralph's own tools.
    pub calls: Calls,
    /// Tests that agents changed on purpose.
    pub changed_tests: ChangedTests,
    /// The goals that were run after edits.
    pub edit_checks: EditChecks,
    pub background: Background,
    pub hooks: HookRuns,
    pub incidents: Incidents,
}

impl RunView {
    /// Tests that may fail, by the names of their goals. They are those that failed before the first iteration and have not
    /// passed since, if the settings forgive that.
    pub fn known_failures(&self) -> BTreeMap<String, Vec<String>> {
        match self.settings.gate.known_failures {
            KnownFailures::Block => BTreeMap::new(),
            KnownFailures::Forgive => {
                let mut known = failed_tests(&self.iterations.at_start.goals);
                for goal in &self.goals {
                    if let Some(names) = known.get_mut(&goal.name) {
                        names.retain(|name| !goal.mended.iter().any(|mended| mended == name.as_str()));
                    }
                }
                known.retain(|_, names| !names.is_empty());
                known
            }
        }
    }

    /// The mode that decides requests without a matching rule.
    pub fn permission_mode(&self) -> PermissionMode {
        self.permissions.mode.unwrap_or(self.settings.permission_mode)
    }

    /// Folds the records of a run from its beginning.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut view = Self::default();
        records.into_iter().for_each(|record| view.apply(record));
        view
    }

    /// Applies the next record. A view changes in no other way.
    pub fn apply(&mut self, record: &Record) {
        self.apply_event(record.at_ms, &record.event);
    }

    /// As [`RunView::apply`], for an event that is not in a journal yet.
    pub fn apply_event(&mut self, at_ms: u64, event: &Event) {
        self.follow_clock(at_ms, event);
        self.head = head::after(self.head.take(), event);
        stashes::apply(&mut self.stashes, event);
        self.records += 1;
        self.iterations.apply(at_ms, event);
        self.incidents.apply(at_ms, self.iterations.number, event);
        self.permissions.apply(at_ms, event);
        self.spending
            .apply(at_ms, &self.phase, &self.settings.limits.per_day, event);
        self.calls.apply(event);
        self.comments.apply(self.role.is_work(), event);
        self.changed_tests.apply(event);
        self.edit_checks.apply(event);
        self.background.apply(at_ms, event);
        self.hooks.apply(event);
        match event {
            Event::Run(RunEvent::JournalOpened { run, .. }) => {
                self.run = Some(run.clone());
                self.clock.begin(at_ms);
            }
            Event::Run(RunEvent::Started {
                project,
                settings,
                number,
                earlier_starts_ms,
                ..
            }) => {
                self.project = project.clone().into();
                self.number = *number;
                self.clock.begin(at_ms);
                self.clock.starts_ms.clone_from(earlier_starts_ms);
                self.go_by(settings);
            }
            Event::Run(RunEvent::Resumed { settings, .. }) => {
                self.go_by(settings);
                self.stop = None;
            }
            Event::Run(RunEvent::LimitsChanged { limits }) => {
                let limits = self.settings.limits.with(limits);
                let settings = (*self.settings).clone();
                self.settings = Settings { limits, ..settings }.into();
            }
            Event::Worker(WorkerEvent::Changed { worker }) => self.settings = self.settings.with_worker(worker).into(),
            Event::Run(RunEvent::Reopened { continued, .. }) => self.reopen(*continued),
            Event::Plan(PlanEvent::Read { plan }) => {
                let before = std::mem::replace(&mut self.plan, plan.clone().into());
                self.plan.take_back(&before, &mut self.missing);
                self.count_done();
            }
            Event::Plan(PlanEvent::Changed { change }) => {
                // Only a new task can be a missing one that reappeared. Cloning the plan is expensive.
                let can_be_back = !self.missing.is_empty() && !change.replaced.is_empty();
                let before = can_be_back.then(|| self.plan.clone());
                change.apply_to(&mut self.plan);
                if let Some(before) = before {
                    self.plan.take_back(&before, &mut self.missing);
                }
                self.count_done();
            }
            Event::Plan(PlanEvent::LinesUnread { unread }) => self.unread = unread.clone(),
            Event::Run(RunEvent::TreePrepared { tree }) => self.tree = Some(tree.clone()),
            Event::Iteration(IterationEvent::PreparationStarted {
                iteration,
                adapter,
                role,
            }) => {
                self.switch_to(adapter);
                self.role = *role;
                self.enter(Phase::Preparing { iteration: *iteration });
            }
            Event::Iteration(IterationEvent::Started {
                iteration,
                adapter,
                model,
                live_steering,
                role,
                ..
            }) => {
                self.role = *role;
                self.iterations.done_before = self.iterations.done;
                self.start_iteration(at_ms, *iteration, adapter, *live_steering);
                self.ask_for(model.as_deref());
            }
            Event::Iteration(IterationEvent::Ended { iteration, outcome, .. }) => {
                self.tool = None;
                self.enter(Phase::Settling {
                    iteration: *iteration,
                    outcome: outcome.clone(),
                });
            }
            Event::Iteration(IterationEvent::Settled { totals, progress, .. }) => {
                self.changes = totals.or(self.changes);
                // Boxes that were toggled before the end may be all that the iteration ticked.
                self.count_closed();
                if let Phase::Settling { outcome, .. } = &self.phase
                    && self.role.is_work()
                {
                    self.breaker.count(&Observation::from_outcome(outcome, *progress));
                }
            }
            Event::Claim(ClaimEvent::Refused { reasons, .. }) => {
                // A claim before the first iteration has no outcome, as no agent has worked yet.
                let outcome = self.iterations.latest_work().and_then(|work| work.outcome.as_ref());
                if outcome.is_some_and(Observation::is_telling) {
                    self.breaker.refuse(reasons, self.iterations.fails_as_before());
                }
            }
            // Added tasks are already in the plan that was recorded before.
            Event::Plan(PlanEvent::Edited { vanished, .. }) => self.missing.extend(vanished.iter().cloned()),
            Event::Task(TaskEvent::Blocked { task, question, .. }) => self.blocks.push(Block {
                number: self.permissions.next_number(),
                task: task.clone(),
                question: question.to_string(),
            }),
            Event::Gate(GateEvent::VerificationStarted {
                iteration,
                goals,
                ticks,
            }) => self.start_verification(*iteration, goals, *ticks),
            Event::Gate(GateEvent::GoalChecked { iteration, result }) => {
                self.set_result(Some(*iteration), result);
                self.set_baseline(result);
            }
            Event::Gate(GateEvent::TestsConfirmed { .. }) => self.confirm_tests(),
            Event::Task(TaskEvent::ScopeConfirmed { .. }) => {
                if let Phase::Stopped { end } = &mut self.phase {
                    end.hints.retain(|hint| *hint != Hint::ConfirmScope);
                }
            }
            Event::Gate(GateEvent::EditsChecked { results, .. }) => {
                results.iter().for_each(|result| self.set_result(None, result));
            }
            Event::Gate(GateEvent::IterationChecked { iteration, results, .. }) => {
                results
                    .iter()
                    .for_each(|result| self.set_result(Some(*iteration), result));
            }
            Event::Gate(GateEvent::BreakSought {
                iteration,
                goal,
                passed,
            }) => {
                if let Some(status) = self.goals.iter_mut().find(|status| *status.name == **goal) {
                    status.sought(*iteration, *passed);
                    self.iterations.widen(status);
                }
            }
            Event::Agent(AgentEvent::Reported { signal, .. }) => self.reported(at_ms, signal),
            // The end of the tool may be among the omitted details.
            Event::Agent(AgentEvent::DetailsOmitted { .. }) => self.tool = None,
            Event::Iteration(IterationEvent::CancelRequested { iteration, reason }) => self.enter(Phase::Cancelling {
                iteration: *iteration,
                started_ms: self.phase.running_since_ms().unwrap_or(self.clock.now_ms),
                reason: *reason,
            }),
            Event::BreakerMoved { to, why } => self.breaker.enter(*to, why),
            Event::Worker(WorkerEvent::AdapterLimited { adapter, until_ms }) => {
                self.limited.insert(adapter.clone(), *until_ms);
            }
            Event::Worker(WorkerEvent::LiveChannelGivenUp { adapter, .. }) => {
                self.settings.channels.insert(adapter.clone(), ChannelKind::OneWay);
            }
            Event::Time(TimeEvent::WaitStarted {
                wait,
                until_ms,
                attempt,
                why,
            }) => self.enter(Phase::Waiting {
                wait: *wait,
                until_ms: *until_ms,
                attempt: *attempt,
                why: why.clone(),
            }),
            Event::Time(TimeEvent::Paused { by }) => self.set_paused(*by, true),
            Event::Time(TimeEvent::Unpaused { by }) => self.set_paused(*by, false),
            Event::Time(TimeEvent::Held) => self.enter(Phase::Paused),
            Event::Steering(SteeringEvent::Queued {
                id,
                kind,
                text,
                answers,
            }) => {
                match answers {
                    Some(answered) => self.answered(answered.ask),
                    None if self.is_over() => {} // until the run resumes
                    None => self.reply_to_all(),
                }
                let message = Message::new(*id, *kind, text, answers.as_deref());
                self.messages.push(message.left_after(self.end()));
            }
            Event::Steering(SteeringEvent::Delivered { id, iteration, how }) => {
                if let Some(message) = self.message_mut(*id) {
                    message.delivered.push(Delivered {
                        iteration: *iteration,
                        how: *how,
                    });
                }
            }
            Event::Steering(SteeringEvent::Withdrawn { id }) => {
                if let Some(message) = self.message_mut(*id) {
                    message.withdrawn = true;
                }
            }
            Event::Run(RunEvent::StopRequested { stop, by }) => {
                let asked = StopAsked {
                    request: *stop,
                    by: *by,
                };
                self.stop = Some(self.stop.map_or(asked, |earlier| earlier.and(asked)));
            }
            Event::Task(TaskEvent::SetAsideByUser { task }) => self.set_aside_by_user.push(task.clone()),
            Event::Task(TaskEvent::TakenBack { task }) => self.set_aside_by_user.retain(|known| known != task),
            Event::Run(RunEvent::StopWithdrawn) => self.stop = None,
            Event::Run(RunEvent::Stopped { reason, hints, totals }) => self.enter(Phase::Stopped {
                end: Box::new(End {
                    at_ms,
                    reason: reason.clone(),
                    hints: hints.to_vec(),
                    totals: totals.clone(),
                }),
            }),
            // Events of iterations, incidents and background tasks were applied above. A statement counts when it is
            // judged.
            Event::Time(TimeEvent::ClockMoved { .. } | TimeEvent::DayBegan { .. })
            | Event::Run(RunEvent::LimitNeared { .. } | RunEvent::CommandRefused { .. })
            | Event::Plan(PlanEvent::NotRead { .. })
            | Event::Task(TaskEvent::SetAside { .. } | TaskEvent::ScopeChecked { .. })
            | Event::Iteration(IterationEvent::LeftoverFound { .. })
            | Event::Agent(
                AgentEvent::Stated { .. }
                | AgentEvent::Called { .. }
                | AgentEvent::FoundIdle { .. }
                | AgentEvent::FoundActive,
            )
            | Event::Claim(ClaimEvent::Made { .. } | ClaimEvent::Denied { .. } | ClaimEvent::Judged { .. })
            | Event::Gate(GateEvent::TrialMade { .. } | GateEvent::MutantsTried { .. })
            | Event::Ask(_)
            | Event::Review(_)
            | Event::Comment(_)
            | Event::Background(_)
            | Event::Hook(_)
            | Event::Noticed { .. }
            | Event::Unknown { .. } => {}
            // The phase stays until the next preparation, hold or stop, which follows in the same step.
            Event::Time(TimeEvent::WaitEnded { cause }) => {
                let is_of_calls = matches!(
                    self.phase,
                    Phase::Waiting {
                        wait: Wait::CallBudget,
                        ..
                    }
                );
                // A user who ends the wait allows as many calls again.
                if is_of_calls && *cause == WaitEnd::RetriedNow {
                    self.clock.starts_ms.clear();
                }
            }
        }
    }

    /// Applies the time of a record, and excludes time that did not pass for the loop.
    fn follow_clock(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::Time(TimeEvent::ClockMoved { gap_ms }) => {
                self.skip(*gap_ms);
                self.phase.delay_wait(*gap_ms);
                self.clock.now_ms = at_ms;
            }
            // No work was done while ralph was not running, or after the end. A wait continued meanwhile, unless the
            // clock was set back.
            Event::Run(RunEvent::Resumed { .. }) | Event::Run(RunEvent::Reopened { .. }) => {
                let gap_ms = at_ms.cast_signed().saturating_sub(self.clock.now_ms.cast_signed());
                self.skip(gap_ms);
                self.phase.delay_wait(gap_ms.min(0));
                self.clock.now_ms = at_ms;
                // The work of the phase starts again.
                self.clock.entered_ms = at_ms;
            }
            // Records that are written after the end of a run add nothing to its time.
            _ if self.is_over() => {}
            _ => self.clock.now_ms = self.clock.now_ms.max(at_ms),
        }
    }

    fn skip(&mut self, gap_ms: i64) {
        if self.is_busy() {
            self.iterations.skip(gap_ms);
        }
        self.clock.skip(gap_ms);
        if gap_ms < 0 {
            self.spending.set_back(gap_ms.unsigned_abs());
        }
        self.phase.skip(gap_ms);
        self.permissions.skip(gap_ms);
        self.background.skip(gap_ms);
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.clock.entered_ms = self.clock.now_ms;
        self.epoch += 1;
    }

    fn go_by(&mut self, settings: &Settings) {
        self.settings = settings.clone().into();
        self.sandbox = settings.sandbox;
        let goals = settings.goals.iter().map(|goal| {
            let before = self.goals.iter().find(|before| before.name == goal.name);
            // Goals that were running when ralph was killed are run again.
            let is_running = matches!(self.phase, Phase::Verifying { .. })
                && before.is_some_and(|before| before.state == GoalState::Running);
            GoalStatus {
                state: match is_running {
                    true => GoalState::Running,
                    false => GoalState::Unknown,
                },
                ..before.cloned().unwrap_or_else(|| GoalStatus::unknown(&goal.name))
            }
        });
        self.goals = goals.collect();
    }

    fn switch_to(&mut self, adapter: &str) {
        if self.adapter != adapter {
            // The model name belongs to the other adapter.
            self.model = None;
            adapter.clone_into(&mut self.adapter);
        }
    }

    /// Takes an ordinary message as a reply to every blocked task. It decides on nothing that the agent did.
    fn reply_to_all(&mut self) {
        self.blocks.clear();
        self.permissions.unanswered.retain(Ask::is_decision);
    }

    /// Returns to the idle phase after an end. A new message resets the counts of the breaker; a plain continuation
    /// only those that ended the run.
    fn reopen(&mut self, continued: bool) {
        if self.messages.iter().any(Message::is_left_reply) {
            self.reply_to_all();
        }
        let reason = self.stop_reason().cloned();
        self.stop = None;
        if !continued || matches!(reason, Some(StopReason::BreakerOpen { .. })) {
            self.breaker = Breaker::default();
        }
        if continued && matches!(reason, Some(StopReason::Blocked { .. })) {
            self.blocks.clear();
        }
        self.enter(Phase::Idle);
    }

    /// Counts the done tasks of a plan that was read.
    fn count_done(&mut self) {
        self.iterations.done = self.plan.done();
        self.count_closed();
    }

    /// Updates the number of tasks ticked by the iteration that is being settled.
    fn count_closed(&mut self) {
        if let Phase::Settling { iteration, .. }
        | Phase::Verifying {
            iteration, ticks: true, ..
        } = self.phase
            && self.role.is_work()
        {
            self.iterations.close(iteration);
        }
    }

    fn set_paused(&mut self, by: PausedBy, paused: bool) {
        match by {
            PausedBy::File => self.paused_by_file = paused,
            PausedBy::User => self.paused_by_user = paused,
        }
    }

    fn start_iteration(&mut self, at_ms: u64, iteration: u32, adapter: &str, live_steering: bool) {
        self.switch_to(adapter);
        self.clock.count_start(at_ms);
        self.tool = None;
        self.enter(Phase::Running {
            iteration,
            started_ms: at_ms,
            live_steering,
        });
    }

    /// Shows the requested model until the agent reports its own, if the request differs from the previous one.
    fn ask_for(&mut self, model: Option<&str>) {
        let before = self.iterations.rows.iter().rev().nth(1);
        if before.is_some_and(|before| before.model.as_deref() != model) {
            self.model = model.map(str::to_owned);
        }
    }

    fn start_verification(&mut self, iteration: u32, goals: &[String], ticks: bool) {
        // The outcome of the phase may be that of a later review. Before the first iteration, the existing work counts
        // as completed.
        let row = self.iterations.numbered(iteration);
        let outcome = row.and_then(|row| row.outcome.clone()).unwrap_or(Outcome::Completed);
        goals.iter().for_each(|name| self.set_goal(name, GoalState::Running));
        self.enter(Phase::Verifying {
            iteration,
            outcome,
            ticks,
        });
    }

    /// Accepts the changed tests: an unconfirmed end becomes a verified one, and the next test counts become the
    /// baseline.
    fn confirm_tests(&mut self) {
        for goal in &mut self.goals {
            goal.baseline = None;
        }
        let Phase::Stopped { end } = &mut self.phase else {
            return;
        };
        match &mut end.reason {
            StopReason::Done { proof, .. } if *proof == Proof::Unconfirmed => *proof = Proof::Tests,
            StopReason::BreakerOpen { .. } => {}
            _ => return,
        }
        end.hints.retain(|hint| *hint != Hint::ConfirmTests);
    }

    /// Sets the baseline to the first test counts of a goal. Later counts are compared with it.
    fn set_baseline(&mut self, result: &GoalResult) {
        if let Some(goal) = self.goals.iter_mut().find(|goal| goal.name == result.name)
            && goal.baseline.is_none()
            && result.doubt.is_none()
        {
            goal.baseline.clone_from(&result.tests);
        }
    }

    /// The goals that are being run.
    pub fn running_goals(&self) -> impl Iterator<Item = &Goal> {
        let states = self.settings.goals.iter().zip(&self.goals);
        states.filter_map(|(goal, status)| matches!(status.state, GoalState::Running).then_some(goal))
    }

    /// Sets the latest result of a goal; with the files of an `iteration` if they are known.
    fn set_result(&mut self, iteration: Option<u32>, result: &GoalResult) {
        let state = GoalState::Checked {
            result: Box::new(result.clone()),
        };
        self.set_goal(&result.name, state);
        let at_start = self.iterations.at_start.goal(&result.name);
        let status = self.goals.iter_mut().find(|goal| goal.name == result.name);
        if let Some((status, iteration)) = status.zip(iteration) {
            status.judged(iteration, result, at_start);
            self.iterations.widen(status);
        }
    }

    fn set_goal(&mut self, name: &str, state: GoalState) {
        if let Some(goal) = self.goals.iter_mut().find(|goal| goal.name == name) {
            goal.state = state;
        }
    }

    fn reported(&mut self, at_ms: u64, signal: &AgentSignal) {
        tool::follow(&mut self.tool, at_ms, signal);
        if let AgentSignal::Opened { model: Some(model), .. } = signal {
            self.model = Some(model.clone());
        }
        if let AgentSignal::Usage { usage } = signal {
            self.usage = self.usage.plus(*usage);
        }
    }

    fn message_mut(&mut self, id: SteeringId) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.id == id)
    }

    pub fn is_paused(&self) -> bool {
        self.paused_by_file || self.paused_by_user
    }

    /// The end of the run; `None` before.
    pub fn end(&self) -> Option<&End> {
        self.phase.end()
    }

    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.end().map(|end| &end.reason)
    }

    pub fn is_over(&self) -> bool {
        self.end().is_some()
    }

    /// Whether an agent is running or being ended.
    pub fn is_busy(&self) -> bool {
        self.phase.running_since_ms().is_some()
    }

    /// The adapter of the author, not of a reviewer: the one that is working on the plan or comes next.
    pub fn author(&self) -> &str {
        match self.iterations.latest_work() {
            Some(work) if !self.role.is_work() => &work.adapter,
            Some(_) | None => self.current_adapter(),
        }
    }

    /// The adapter that is working or comes next.
    pub fn current_adapter(&self) -> &str {
        match &self.adapter[..] {
            "" => &self.settings.adapter,
            adapter => adapter,
        }
    }

    /// The channel of the current adapter; `None` if it has only one.
    pub fn channel(&self) -> Option<ChannelKind> {
        self.settings.channels.get(self.current_adapter()).copied()
    }

    /// The open questions by number: requests that wait, unanswered ones of the last iteration, and questions that
    /// block tasks.
    pub fn open_asks(&self) -> Vec<OpenAsk<'_>> {
        let Permissions {
            pending, unanswered, ..
        } = &self.permissions;
        let waiting = pending.iter().map(OpenAsk::Waits);
        let missed = unanswered.iter().map(OpenAsk::Missed);
        let blocks = self.blocks.iter().map(OpenAsk::Blocks);
        let mut asks: Vec<OpenAsk<'_>> = waiting.chain(missed).chain(blocks).collect();
        asks.sort_by_key(|ask| ask.number());
        asks
    }

    /// The open question with this number; `None` if it is answered or cannot be answered any more.
    pub fn open_ask(&self, number: u32) -> Option<OpenAsk<'_>> {
        self.open_asks().into_iter().find(|open| open.number() == number)
    }

    /// Removes a question that was answered after the agent stopped waiting.
    fn answered(&mut self, number: u32) {
        // The answer was not yes, as that would have confirmed the tests.
        if self.permissions.about_tests().is_some_and(|ask| ask.number == number) {
            self.changed_tests.close();
        }
        self.permissions.close(number);
        let block = self.blocks.iter().find(|block| block.number == number);
        if let Some(task) = block.map(|block| block.task.clone()) {
            self.blocks.retain(|block| block.task != task);
        }
    }

    pub fn is_set_aside(&self, task: &str) -> bool {
        self.blocks.iter().any(|block| block.task.as_deref() == Some(task))
            || self.task_limit_reached(task).is_some()
            || self.left_out().iter().any(|left_out| left_out == task)
    }

    /// Texts of the tasks that are set aside: until the user replies or raises their limit, or by the user.
    pub fn set_aside(&self) -> Vec<String> {
        let blocked = self.blocks.iter().filter_map(|block| block.task.clone());
        let at_limit = self.tasks_at_limit().map(|(task, _)| task.to_owned());
        blocked.chain(at_limit).chain(self.left_out()).collect()
    }

    /// Texts of the open tasks that the user has set aside, of those in them, and of those that wait for them. The run is
    /// done without them.
    pub fn left_out(&self) -> Vec<String> {
        self.plan.with_dependents(&self.set_aside_by_user)
    }

    /// Whether every task is done that the run needs.
    pub fn is_plan_complete(&self) -> bool {
        self.plan.is_complete(&self.left_out())
    }

    /// The open tasks that reached a limit, with that limit, but for those that the user has set aside.
    pub fn tasks_at_limit(&self) -> impl Iterator<Item = (&str, LimitKind)> {
        let is_limited = !self.settings.limits.per_task.is_none();
        let left_out = if is_limited { self.left_out() } else { Vec::new() };
        let open = self.plan.tasks.iter();
        let open = open.filter(move |task| is_limited && !task.done && !left_out.contains(&task.text));
        open.filter_map(|task| Some((task.text.as_str(), self.task_limit_reached(&task.text)?)))
    }

    /// The limit that prevents another iteration on `task`.
    pub fn task_limit_reached(&self, task: &str) -> Option<LimitKind> {
        let limits = &self.settings.limits;
        if limits.per_task.is_none() || self.worked_on() == Some(task) {
            return None;
        }
        self.iterations.work.get(task)?.limit_reached(limits)
    }

    /// The work on the current or next task.
    pub fn current_work(&self) -> Option<Work> {
        let task = self
            .worked_on()
            .or_else(|| self.task().map(|task| task.text.as_str()))?;
        self.iterations.work.get(task).cloned()
    }

    /// The task of the agent that is running.
    fn worked_on(&self) -> Option<&str> {
        self.iterations.latest().filter(|_| self.is_busy())?.task.as_deref()
    }

    /// The current or next task.
    pub fn task(&self) -> Option<&PlanTask> {
        if self.is_over() {
            return None;
        }
        // An agent keeps its task, although the plan may by now name another one.
        let worked_on = self.worked_on().and_then(|text| {
            let mut named = self.plan.tasks.iter().filter(|task| task.text == text);
            named.clone().find(|task| !task.done).or_else(|| named.next())
        });
        worked_on.or_else(|| self.plan.current_except(&self.set_aside()))
    }

    /// The tasks of the plan in order, followed by those removed from it.
    pub fn tasks(&self) -> Vec<Task> {
        let (left_out, work) = (self.left_out(), &self.iterations.work);
        tasks(&self.plan, &self.missing, &left_out, &self.blocks, work, |task| {
            self.task_limit_reached(task)
        })
    }

    /// Duration of the run, without times without work.
    pub fn elapsed_ms(&self, now_ms: u64) -> u64 {
        if self.records == 0 {
            return 0;
        }
        let until_ms = self.end().map_or(now_ms, |end| end.at_ms);
        until_ms.saturating_sub(self.clock.started_ms)
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Totals {
            iterations: self.iterations.number,
            tasks_done: count(self.plan.done()),
            tasks_open: count(self.plan.open() + self.missing.len()),
            changes: self.changes,
            usage: self.usage,
            elapsed_ms: self.clock.now_ms.saturating_sub(self.clock.started_ms),
        }
    }
}
