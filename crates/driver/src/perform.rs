//! Performs the effects of the machine.

use std::{sync::Arc, time::Duration};

use ralph_agent::{SessionCommand, SessionRequest};
use ralph_core::{
    event::{
        AgentEvent, AgentSignal, AskId, ChannelKind, Checkpoint, Claim, Event, Goal, GoalResult, Notice,
        PermissionAnswer, SteeringId,
    },
    machine::{Effect, Input, Refusal, Settlement, Verification},
    run::Phase,
};
use ralph_state::{
    control::BUDGET_VARIABLE,
    store::{recording::TerminalRecording, rules, signal_log::SignalLog, state_file::StateFileError},
};
use ralph_system::diagnostics::{inherited, kind};
use ralph_text::with_causes;
use ralph_words::{DenialAdvice, denial, no_answer, tools::edits_checked};
use tracing::debug;

use super::{
    background,
    clock::random_share,
    config::AvailableAgent,
    goals::{self, GoalRun},
    handover::LastSession,
    hooks::QueuedHook,
    job_facts::{PrepareJob, SettleJob},
    jobs::JobContext,
    packages::PackagesRecord,
    pricing::{SessionPricing, iteration_budget},
    reruns::lacks_something,
    room::FilledRoom,
    ruling::project_rules,
    run::Driver,
    session::{CurrentSession, OutputTee, SharedRecording},
    test_gate::{self, Closer, RunSoFar},
};

/// How long a session may take to report its end when the loop itself cannot go on.
const LAST_WORD: Duration = Duration::from_secs(10);

impl Driver {
    /// Starts one effect, caused by `input`. Its result arrives as an input later.
    pub(super) fn perform(&mut self, effect: Effect, input: &Input, now_ms: u64) {
        debug!(effect = %kind(&effect), "effect");
        match effect {
            Effect::Prepare { iteration } => match self.state().view.hooks.running.is_empty() {
                true => self.prepare(iteration, input),
                false => self.hooks.waiting = Some(iteration),
            },
            Effect::RunHook {
                number,
                hook,
                iteration,
                task,
                question,
            } => {
                let view = &self.state().view;
                let queued = QueuedHook::new(view, number, (hook, iteration), task.as_ref(), question.as_ref());
                if let Some(queued) = queued {
                    self.hooks.push(queued, &self.results);
                }
            }
            Effect::StartSession { iteration } => self.start_session(iteration, now_ms),
            Effect::StopSession { at_once } => {
                // From here on the session's end must arrive, even if slow subscribers miss output.
                self.hub.set_lossy(true);
                if let Some(session) = &self.agents.session {
                    session.stop(self.state().view.phase.cancel_reason(), at_once);
                }
            }
            Effect::SteerLive { iteration, id, text } => {
                let text = match self.state().view.comments.are_in(id) {
                    true => ralph_words::comments_in_prompt(&text),
                    false => text,
                };
                let command = SessionCommand::Steer { id, text };
                let sent = self
                    .agents
                    .session
                    .as_ref()
                    .is_some_and(|session| session.send(command));
                if !sent {
                    self.own.push_back(Input::NotSteered { iteration, id });
                }
            }
            Effect::TellGoals { results } => {
                let text = edits_checked(&results);
                let id = SteeringId::RALPH;
                if let Some(session) = &self.agents.session {
                    // Not delivered is harmless: goals that still fail after the turn are in the next prompt.
                    _ = session.send(SessionCommand::Steer { id, text });
                }
            }
            Effect::AnswerPermission {
                id,
                allowed,
                by,
                message,
                denials,
                ..
            } => {
                let answer = match allowed {
                    true => PermissionAnswer::Allow,
                    false => PermissionAnswer::Deny {
                        message: denial(&by, message.as_deref(), DenialAdvice::after(denials)),
                    },
                };
                self.answer_agent(id, answer);
            }
            Effect::AnswerQuestions {
                id,
                answers,
                by,
                message,
                ..
            } => {
                let answer = match answers.is_empty() {
                    true => PermissionAnswer::Deny {
                        message: no_answer(&by, message.as_deref()),
                    },
                    false => PermissionAnswer::Words { answers },
                };
                self.answer_agent(id, answer);
            }
            Effect::RememberRules { ask, rules, over } => {
                let rules = project_rules(&rules, &over, &self.jobs.run, ask, now_ms);
                let kept = rules::remember(&self.jobs.paths, &rules);
                self.note_unsaved_rules(kept);
            }
            Effect::ForgetRule { rule } => {
                let forgotten = rules::forget(&self.jobs.paths, &rule);
                self.note_unsaved_rules(forgotten.map(drop));
            }
            Effect::Settle { iteration } => self.settle(iteration),
            Effect::Verify { iteration, is_claim } => self.verify(iteration, is_claim),
            Effect::EndGoals => self.checks.goals = None,
            Effect::Arm { timer } => self.time.timers.arm(timer),
            Effect::ProbeActivity { iteration } => {
                let running_time = self.time.clock.running_time();
                if let Some(session) = &mut self.agents.session {
                    let quiet_ms = millis(session.quiet_for(running_time));
                    self.own.push_back(Input::ActivityProbed { iteration, quiet_ms });
                    self.count_down(running_time);
                }
            }
            Effect::ProbeDisks => {
                let jobs = Arc::clone(&self.jobs);
                self.offload(
                    move || jobs.low_disk(),
                    move |low| Input::DisksProbed { low: low.flatten() },
                );
            }
            Effect::StartBackground { number, command } => self.start_background(number, command),
            Effect::CancelBackground { number } => self.tools.background.cancel(number),
            Effect::EndBackground { at_once } => self.tools.background.end(at_once),
            Effect::RemovePauseFile => {
                // If it cannot be removed, the loop goes on all the same, as the user wanted; the next run will pause.
                _ = std::fs::remove_file(self.jobs.paths.pause_file());
            }
            // The loop leaves when it sees the phase.
            Effect::Finish => {}
        }
    }

    fn answer_agent(&mut self, id: AskId, answer: PermissionAnswer) {
        let running_time = self.time.clock.running_time();
        if let Some(session) = &mut self.agents.session {
            // A session that is gone needs no answer.
            _ = session.send(SessionCommand::Answer { id, answer });
            session.begin_to_work(running_time);
        }
    }

    fn note_unsaved_rules(&mut self, kept: Result<(), StateFileError>) {
        if let Err(error) = kept {
            let why = with_causes(&error);
            let text = format!("the rules for this project apply to this run only: {why}");
            self.pending_events.push(Notice::warning("rules-not-kept", text).into());
        }
    }

    /// Announces the time that an idle agent has left, from half of the idle limit on.
    fn count_down(&mut self, running_time: Duration) {
        let Some(idle_ms) = self.state().view.settings.limits.idle_timeout_ms else {
            return;
        };
        let idle = Duration::from_millis(idle_ms);
        let Some(session) = &mut self.agents.session else {
            return;
        };
        if session.is_active_again(running_time) {
            self.pending_events.push(Event::Agent(AgentEvent::FoundActive));
        }
        let Some(quiet) = session.quiet_to_announce(running_time, idle) else {
            return;
        };
        self.pending_events.push(Event::Agent(AgentEvent::FoundIdle {
            quiet_ms: millis(quiet),
            left_ms: millis(idle.saturating_sub(quiet)),
        }));
    }

    fn prepare(&mut self, iteration: u32, input: &Input) {
        let untouched = match input {
            Input::Settled { settlement, .. } if !settlement.undone => settlement.checkpoint.clone(),
            _ => None,
        };
        let live_steering = self.agent().adapter.capabilities().live_steering && !self.is_one_way();
        let has_headroom = !self.state().view.settings.headroom.is_none();
        let job = PrepareJob {
            before: self.last_session(),
            account: has_headroom.then(|| self.agent().account.clone()).flatten(),
            has_tools: self.agents.get_tools
                && self.state().view.role.is_work()
                && self.agent().adapter.passes_mcp_servers(self.is_one_way()),
            ..PrepareJob::for_iteration(self.state(), iteration, untouched, live_steering)
        };
        let jobs = Arc::clone(&self.jobs);
        self.offload(
            move || jobs.prepare(&job),
            move |result| Input::Prepared {
                iteration,
                result: result.unwrap_or(Err(Refusal::Internal)),
            },
        );
    }

    /// Prepares the iteration that has waited for hooks, once they have ended.
    pub(super) fn prepare_after_hooks(&mut self, input: &Input) {
        if !matches!(input, Input::HookEnded { .. }) || !self.state().view.hooks.running.is_empty() {
            return;
        }
        if let Some(iteration) = self.hooks.waiting.take()
            && self.state().view.phase == (Phase::Preparing { iteration })
        {
            self.prepare(iteration, input);
        }
    }

    fn last_session(&self) -> Option<LastSession> {
        LastSession::find(self.state(), |adapter| {
            let mut agents = self.agents.available.iter();
            agents.any(|agent| agent.adapter.id() == adapter && !agent.last_line_claims)
        })
    }

    fn settle(&mut self, iteration: u32) {
        // Still there only if it outlived its deadline: its guard ends it now.
        self.agents.session = None;
        // Recorded before it is removed: the claim must survive if ralph is killed in between. A reviewer makes no
        // claims.
        let claims = self.state().view.role.is_work();
        let recorded = self.state().internal.stated.claims.contains(&Claim::DoneFile);
        if claims && !recorded && self.jobs.has_done_file() {
            return self.own.push_back(Input::DoneFileFound { iteration });
        }
        let job = SettleJob::for_iteration(self.state(), iteration);
        let jobs = Arc::clone(&self.jobs);
        self.offload(
            move || jobs.settle(&job),
            move |settlement| Input::Settled {
                iteration,
                settlement: Box::new(settlement.unwrap_or_else(nothing_found)),
            },
        );
    }

    fn verify(&mut self, iteration: u32, is_claim: bool) {
        self.checks.early.end();
        let mut context = self.execution_context();
        // Before the first iteration, no agent of this run has written code that could put something else into the cache.
        context.keeps_compiled = iteration == 0;
        let state = self.state();
        let goals: Vec<Goal> = state.view.running_goals().cloned().collect();
        let closer = is_claim.then(|| Closer {
            gate: Arc::clone(&self.jobs.gate),
            bite: state.view.settings.gate.bite,
            from: state.view.changed_tests.count_from(),
            before: test_gate::baselines(&state.view),
            accepted: test_gate::accepted(&state.view),
            at_start: state.view.iterations.at_start.goals.clone(),
        });
        let before = state.view.plan.clone();
        let held = state.internal.scopes.held();
        let so_far = RunSoFar::new(state);
        let (from, to) = (state.internal.baseline.clone(), state.internal.latest.clone());
        let (parallel, results, jobs) = (self.checks.parallel, self.results.clone(), Arc::clone(&self.jobs));
        let scanner = self.agents.denial_scanner.clone();
        self.checks.goals = Some(GoalRun::spawn(async move {
            let keep = {
                let (jobs, to) = (Arc::clone(&jobs), to.clone());
                // A run may be resumed with other goals while it looks at goals. What fails here fails in the look.
                move || jobs.keep_originals(&so_far, to.as_ref()).map(drop)
            };
            _ = tokio::task::spawn_blocking(inherited(keep)).await;
            let is_first = iteration == 0;
            let (room, mut notice) = match fill_room(&jobs, &context, to.clone(), is_first).await {
                Ok(room) => (room, None),
                Err(notice) => (None, Some(notice)),
            };
            let (outside, has_room) = (context.clone(), room.is_some());
            let built = room.clone().filter(|_| is_first);
            let context = match room {
                Some(room) => context.with_room(room),
                None => context,
            };
            let again = goals.clone();
            // A goal may fail by the sandbox alone.
            let denials = move |results: &[GoalResult]| -> Vec<Notice> {
                let failed = results.iter().filter(|result| !result.passed);
                let scanned = failed.flat_map(|result| Some(scanner.as_ref()?.denied_goal(&result.tail)));
                scanned.flatten().collect()
            };
            let mut look = test_gate::look(goals, parallel, context, closer, &jobs, [from, to]).await;
            if is_first && has_room && look.results.iter().any(lacks_something) {
                let results = goals::run_all(again, parallel, Arc::new(outside)).await;
                notice = jobs.room.compare(&look.results, &results);
                if notice.is_some() {
                    look.results = results;
                }
            }
            if let Some(room) = built {
                let keep = move || room.keep_built();
                _ = tokio::task::spawn_blocking(inherited(keep)).await; // otherwise goals build it again
            }
            if let Some(notice) = notice.as_ref().filter(|_| !is_first) {
                // The agent may have brought that about, and works in the place where they ran.
                look.doubt(&notice.text);
            }
            look.notices.extend(notice);
            look.notices.extend(denials(&look.results));
            // Reads files: not on the loop's thread.
            let found = tokio::task::spawn_blocking(inherited(move || jobs.look_again(&before, &held, look)));
            let verification = Box::new(found.await.unwrap_or_else(|_| nothing_verified()));
            let found = Input::Verified {
                iteration,
                verification,
            };
            _ = results.send(found).await; // the run is over
        }));
    }

    fn start_background(&mut self, number: u32, command: String) {
        let task = background::TaskLaunch {
            number,
            command,
            context: self.execution_context(),
            output: self.jobs.files.background(number),
            timeout_ms: self.state().view.settings.background.timeout_ms,
        };
        self.tools.background.start(task, self.results.clone());
    }

    /// Returns the execution context of goals and background tasks.
    pub(super) fn execution_context(&self) -> goals::ExecutionContext {
        goals::ExecutionContext {
            project: self.jobs.paths.project().to_owned(),
            run_id: self.jobs.run.0.clone(),
            scratch: self.jobs.files.scratch(),
            supervisor: self.jobs.supervisor.clone(),
            withheld: self.checks.withheld.clone(),
            turn: Arc::clone(&self.checks.turn),
            runners: self.jobs.gate.runners,
            sealed: self.checks.sealed.clone(),
            known_failures: Arc::new(self.state().view.known_failures()),
            kept_bytes: goals::TAIL_BYTES,
            sealed_copy: None,
            keeps_compiled: false,
            variables: Vec::new(),
            writable: Vec::new(),
            setup: Arc::clone(&self.checks.setup),
            room: None,
            slot: 0,
        }
    }

    /// Returns the agent of the iteration that is prepared or runs.
    pub(super) fn agent(&self) -> &AvailableAgent {
        let id = &self.state().view.adapter;
        self.agents
            .available
            .iter()
            .find(|agent| agent.adapter.id() == id)
            .unwrap_or(&self.agents.available[0])
    }

    fn is_one_way(&self) -> bool {
        self.state().view.channel() == Some(ChannelKind::OneWay)
    }

    /// Returns the iteration whose output alone shows that the agent has its prompt, while messages in that prompt
    /// await delivery: an agent without messages shows nothing else.
    pub(super) fn first_output(&self) -> Option<u32> {
        if self.state().internal.prompted.is_empty() || !self.agent().last_line_claims {
            return None;
        }
        let session = self.agents.session.as_ref().filter(|session| session.has_written())?;
        Some(session.iteration)
    }

    /// Runs `job` off the loop and turns its result into an input; the result of a job that panics is `None`.
    fn offload<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
        input: impl FnOnce(Option<T>) -> Input + Send + 'static,
    ) {
        let results = self.results.clone();
        let job = inherited(job);
        tokio::spawn(async move {
            let result = tokio::task::spawn_blocking(job).await.ok();
            _ = results.send(input(result)).await; // the run is over
        });
    }

    fn start_session(&mut self, iteration: u32, now_ms: u64) {
        let jobs = &self.jobs;
        PackagesRecord::change(&jobs.paths, |record| record.begin(now_ms));
        let settings = &self.state().view.settings;
        let is_work = self.state().view.role.is_work();
        let is_first = is_work && self.state().view.adapter == settings.adapter;
        let recording = TerminalRecording::create(
            &jobs.files.recording(iteration),
            (self.agents.size.cols, self.agents.size.rows),
            now_ms / 1000,
            !self.agent().last_line_claims,
            self.agents.recording_cap_bytes,
        );
        // A disk without room for a recording shows in the journal; the session itself can go on.
        let recording = SharedRecording::new(recording.ok());
        let capabilities = self.agent().adapter.capabilities();
        let prices = (!capabilities.cost).then(|| Arc::clone(&self.agents.prices));
        let model = self.state().view.iterations.latest().and_then(|row| row.model.clone());
        let pricing = SessionPricing::new(prices, self.agent().adapter.id(), model.clone());
        let budget = iteration_budget(&self.state().view, pricing.of_request(), now_ms);
        let budget = budget.and_then(|budget| serde_json::to_string(&budget).ok());
        let request = SessionRequest {
            run: jobs.run.clone(),
            iteration,
            prompt: jobs.files.prompt(iteration),
            cwd: jobs.paths.project().to_owned(),
            model,
            // The setting is for the first adapter and for work; another adapter would not know the name.
            agent: settings.agent.clone().filter(|_| is_first),
            resume: self.state().internal.session.clone().filter(|_| is_work),
            size: self.agents.size,
            asks: self.concerns(),
            subagents: settings.limits.subagents,
            one_way: self.is_one_way(),
            env: vec![
                ("RALPH_ITERATION".to_owned(), iteration.to_string()),
                (
                    "RALPH_PLAN".to_owned(),
                    jobs.settings.plan.to_string_lossy().into_owned(),
                ),
                (
                    "RALPH_PROJECT".to_owned(),
                    jobs.paths.project().to_string_lossy().into_owned(),
                ),
                // Empty without a limit: the one of a run around this one would be inherited.
                (BUDGET_VARIABLE.to_owned(), budget.unwrap_or_default()),
            ],
            scratch: jobs.files.scratch(),
            display: Box::new(OutputTee {
                recording: recording.clone(),
                hub: self.hub.clone(),
            }),
        };
        let log = SignalLog::new(&jobs.files.signals(iteration), self.agents.recording_cap_bytes);
        self.hub.set_lossy(false);
        self.agents.names_pause_file = false;
        self.agents.session = Some(CurrentSession::start(
            &self.agent().adapter,
            request,
            pricing,
            log,
            recording,
            self.time.clock.running_time(),
        ));
        self.watch_edits();
        self.checks.plan_look.begin_iteration();
    }

    /// Ends the session when the loop cannot go on: without a journal, nothing more may happen.
    pub(super) async fn end_session_at_once(&mut self) {
        self.hub.set_lossy(true);
        let Some(mut session) = self.agents.session.take() else {
            return;
        };
        session.stop(None, true);
        let last_word = async { while !matches!(session.next().await, AgentSignal::Ended { .. }) {} };
        _ = tokio::time::timeout(LAST_WORD, last_word).await; // its guard outlives ralph and goes on ending it
    }
}

/// Gives the room the files of a checkpoint, once no process of an earlier look is in it.
///
/// # Errors
/// A notice if the room does not have them.
pub(super) async fn fill_room(
    jobs: &Arc<JobContext>,
    context: &goals::ExecutionContext,
    to: Option<Checkpoint>,
    is_first: bool,
) -> Result<Option<FilledRoom>, Notice> {
    let turn = Arc::clone(&context.turn).lock_owned().await;
    let jobs = Arc::clone(jobs);
    let fill = move || {
        let _turn = turn;
        jobs.room.filled(to, is_first)
    };
    let filled = tokio::task::spawn_blocking(inherited(fill)).await;
    filled.unwrap_or(Ok(None))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const GAVE_UP_LOOKING: &str = "an internal error while the result of the iteration was examined";

/// Returns the verification for a look that panicked.
fn nothing_verified() -> Verification {
    Verification {
        notices: Vec::new(),
        results: Vec::new(),
        trial: None,
        broken: None,
        mutants: Vec::new(),
        plan: Err(GAVE_UP_LOOKING.to_owned()),
        vanished: Vec::new(),
        added: Vec::new(),
        random: random_share(),
    }
}

/// Returns the settlement for a job that panicked: without claims and without findings.
fn nothing_found() -> Settlement {
    Settlement::from_plan(Err(GAVE_UP_LOOKING.to_owned()), random_share())
}
