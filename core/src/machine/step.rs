//! One step of the loop: the meaning of an input in the current phase.
//!
//! Stop 6 of the tour in ARCHITECTURE.md. A decision pushes events; state and effects follow from these, never from the
//! decision itself.

use crate::{
    event::{
        Breakdown, CancelReason, Day, Event, IterationEvent, LimitKind, Outcome, OwnWork, PausedBy, PlanChange,
        PlanEvent, Proof, Role, RunEvent, SteeringKind, StopReason, TaskEvent, TimeEvent, Wait, WaitCause, WaitEnd,
        Worker,
    },
    limits::run_limit_reached,
    notices,
    run::{Message, Phase},
};

use super::{
    Effect, Input, Preparation, Refusal, Start, Timer, TimerKind, background, call, deadline,
    decision::{StepDecision, is_running},
    disk, edits,
    effect::{StateBefore, answer, effects, is_put_off, lingers},
    escalation::escalation_due,
    gate,
    headroom::{self, Room},
    hooks::{self, HookContext},
    permission, policy, review, reviewed, session, settle,
    state::LoopState,
    user::{self, SteeringAcceptance},
    warning,
};

/// The result of [`step`].
#[derive(Debug)]
pub struct Step {
    /// The previous state with `events` folded in.
    pub state: LoopState,
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
}

/// Advances the loop by one input that was received at `now_ms`.
///
/// The returned state equals the given one folded over the returned events. An input that has no meaning in the current
/// phase (a timer of an earlier phase, a result of an abandoned job) yields neither events nor effects.
pub fn step(state: LoopState, now_ms: u64, input: &Input) -> Step {
    let before = StateBefore::from_state(&state);
    let hooks_before = HookContext::from_state(&state);
    let mut decision = StepDecision::at(state, now_ms);
    if decision.state.view.is_over() {
        match input {
            Input::Command { command, by } => user::reopen(&mut decision, now_ms, command, *by),
            // Background tasks are ended because the run is over.
            Input::BackgroundEnded { number, result } => background::ended(&mut decision, *number, result),
            Input::HookEnded { number, result } => hooks::ended(&mut decision, *number, result),
            _ => {}
        }
    } else {
        decide(&mut decision, now_ms, input);
        warning::announce(&mut decision, now_ms);
    }
    hooks::start_due(&mut decision, &hooks_before, input);
    let (state, events) = decision.finish();
    let mut effects = effects(&before, &state, input, now_ms);
    effects.extend(events.iter().filter_map(answer));
    Step { state, events, effects }
}

fn decide(decision: &mut StepDecision, now_ms: u64, input: &Input) {
    match input {
        Input::Start(start) => begin(decision, now_ms, start),
        Input::Recover {
            pid,
            settings,
            pause_file,
            day,
        } => {
            let goals_differ = decision.state.view.settings.goals != settings.goals;
            decision.push(Event::Run(RunEvent::Resumed {
                pid: *pid,
                ralph: env!("CARGO_PKG_VERSION").to_owned(),
                settings: settings.clone(),
            }));
            if goals_differ {
                decision.notice(notices::goals_changed());
            }
            record_day(decision, *day);
            background::lost(decision, now_ms);
            hooks::lost(decision);
            recover(decision, now_ms, *pause_file);
        }
        Input::Command { command, by } => user::apply_command(decision, now_ms, command, *by),
        Input::Background { command, by } => background::asked(decision, command, *by),
        Input::BackgroundProgressed { number, progress } => background::progressed(decision, *number, progress),
        Input::BackgroundEnded { number, result } => background::ended(decision, *number, result),
        Input::HookEnded { number, result } => hooks::ended(decision, *number, result),
        Input::PauseFile { present } => user::pause_file(decision, now_ms, *present),
        Input::Prepared { iteration, result } => {
            if decision.state.view.phase == (Phase::Preparing { iteration: *iteration }) {
                prepared(decision, now_ms, *iteration, result);
            }
        }
        Input::Agent { iteration, signal } => session::reported(decision, now_ms, *iteration, signal),
        Input::AgentStated { iteration, statement } => session::stated(decision, *iteration, statement),
        Input::AgentCalled { iteration, call } => call::called(decision, *iteration, call),
        Input::AgentAsked { iteration, question } => call::asked(decision, *iteration, question),
        Input::EditsChecked { iteration, results } => edits::checked(decision, *iteration, results),
        Input::IterationChecked { iteration, results } => edits::iteration_checked(decision, *iteration, results),
        Input::BoxesToggled { iteration, toggled } => boxes_toggled(decision, *iteration, toggled),
        Input::AnswerFetched { iteration, ask } => call::answer_fetched(decision, *iteration, *ask),
        Input::PermissionRequested {
            iteration,
            request,
            ruling,
        } => permission::requested(decision, now_ms, *iteration, request, ruling),
        Input::PermissionRuled { ask, ruling } => permission::ruled(decision, now_ms, *ask, ruling),
        Input::OutputSeen { iteration } => {
            if is_running(&decision.state, *iteration) {
                session::deliver_prompted(decision, *iteration);
            }
        }
        Input::DoneFileFound { iteration } => session::done_file_found(decision, *iteration),
        Input::NotSteered { iteration, id } => user::steered(decision, *iteration, *id, SteeringAcceptance::No),
        Input::Settled { iteration, settlement } => {
            if let Phase::Settling {
                iteration: current,
                outcome,
            } = decision.state.view.phase.clone()
                && current == *iteration
            {
                match decision.state.view.role {
                    Role::Work => settle::settled(decision, now_ms, *iteration, &outcome, settlement),
                    Role::Review { .. } => reviewed::settled(decision, now_ms, *iteration, &outcome, settlement),
                }
            }
        }
        Input::Verified {
            iteration,
            verification,
        } => {
            if let Phase::Verifying {
                iteration: current,
                outcome,
                ticks,
            } = decision.state.view.phase.clone()
                && current == *iteration
            {
                match ticks {
                    true => settle::ticks_checked(decision, now_ms, *iteration, &outcome, verification),
                    false => settle::verified(decision, now_ms, *iteration, &outcome, verification),
                }
            }
        }
        Input::ActivityProbed { iteration, quiet_ms } => {
            if is_running(&decision.state, *iteration)
                && let Some((longest_ms, reason)) = policy::quiet_limit(&decision.state, now_ms)
                && *quiet_ms >= longest_ms
                // The agent waits for an answer, so it is not idle.
                && decision.state.view.permissions.pending.is_empty()
            {
                decision.push(Event::Iteration(IterationEvent::CancelRequested {
                    iteration: *iteration,
                    reason,
                }));
            }
        }
        Input::DisksProbed { low } => disk::probed(decision, now_ms, low.as_ref()),
        Input::ClockMoved { gap_ms } => {
            if decision.state.view.phase != Phase::Idle {
                decision.push(Event::Time(TimeEvent::ClockMoved { gap_ms: *gap_ms }));
            }
        }
        Input::DayBegan { day } => {
            if decision.state.view.phase != Phase::Idle {
                record_day(decision, Some(*day));
                day_began(decision, now_ms);
            }
        }
        Input::TimerFired { timer } => timer_fired(decision, now_ms, *timer),
    }
}

/// Records the current day, if it changed.
fn record_day(decision: &mut StepDecision, day: Option<Day>) {
    if let Some(day) = day
        && decision.state.view.spending.day != Some(day)
    {
        decision.push(Event::Time(TimeEvent::DayBegan { day }));
    }
}

/// Ends a wait for the next day, which may have come, or may now be on another date because the clock moved.
fn day_began(decision: &mut StepDecision, now_ms: u64) {
    if let Phase::Waiting {
        wait: Wait::DayBudget, ..
    } = decision.state.view.phase
    {
        decision.push(Event::Time(TimeEvent::WaitEnded {
            cause: WaitEnd::Elapsed,
        }));
        settle::next(decision, now_ms);
    }
}

/// Records toggled boxes for display only. Progress is decided by the plan at the end of the iteration. Boxes ticked by
/// a reviewer are ignored and reverted.
fn boxes_toggled(decision: &mut StepDecision, iteration: u32, toggled: &[u32]) {
    if !is_running(&decision.state, iteration) || !decision.state.view.role.is_work() || toggled.is_empty() {
        return;
    }
    let change = PlanChange {
        toggled: toggled.to_vec(),
        ..PlanChange::default()
    };
    decision.push(Event::Plan(PlanEvent::Changed { change }));
}

fn begin(decision: &mut StepDecision, now_ms: u64, start: &Start) {
    if decision.state.view.phase != Phase::Idle {
        return;
    }
    decision.push(Event::Run(RunEvent::Started {
        project: start.project.clone(),
        pid: start.pid,
        settings: Box::new(start.settings.clone()),
        promise: start.promise.clone(),
        number: start.number,
        earlier_starts_ms: start.earlier_starts_ms.clone(),
        earlier_spending: start.earlier_spending.clone(),
    }));
    record_day(decision, start.day);
    for changes in &start.out_of_scope {
        decision.push(Event::Task(TaskEvent::ScopeChecked {
            iteration: 0,
            task: changes.task.clone(),
            outside: changes.outside.clone().into(),
            more: changes.more,
            ticked: false,
            since: changes.since.clone(),
        }));
    }
    if start.pause_file {
        decision.notice(notices::starts_paused());
        decision.push(Event::Time(TimeEvent::Paused { by: PausedBy::File }));
    }
    settle::next(decision, now_ms);
}

fn recover(decision: &mut StepDecision, now_ms: u64, pause_file: bool) {
    match (decision.state.view.paused_by_file, pause_file) {
        (false, true) => decision.push(Event::Time(TimeEvent::Paused { by: PausedBy::File })),
        (true, false) => decision.push(Event::Time(TimeEvent::Unpaused { by: PausedBy::File })),
        (true, true) | (false, false) => {}
    }
    match decision.state.view.phase.clone() {
        Phase::Idle | Phase::Preparing { .. } => settle::next(decision, now_ms),
        phase @ (Phase::Running {
            iteration, started_ms, ..
        }
        | Phase::Cancelling {
            iteration, started_ms, ..
        }) => {
            // The turn had ended well and only the agent's process was still running.
            let turn_ended = matches!(phase, Phase::Running { .. }) && decision.state.internal.verdict == Some(true);
            decision.push(Event::Iteration(IterationEvent::Ended {
                iteration,
                outcome: if turn_ended {
                    Outcome::Completed
                } else {
                    Outcome::Interrupted
                },
                exit: None,
                duration_ms: now_ms.saturating_sub(started_ms),
                output_bytes: 0,
            }));
        }
        // Announced again; otherwise the loop would stand still without telling the user why.
        Phase::Paused => settle::next(decision, now_ms),
        // The limit may have been raised.
        Phase::Waiting {
            wait: Wait::DayBudget, ..
        } => day_began(decision, now_ms),
        // The preparation looks at the disks again.
        Phase::Waiting { wait: Wait::Disk, .. } => disk::probed(decision, now_ms, None),
        Phase::Waiting { wait, until_ms, .. } => decision.push(Event::Time(TimeEvent::WaitStarted {
            wait,
            until_ms,
            attempt: decision.state.view.iterations.failures,
            why: WaitCause::BegunBefore,
        })),
        // All goals are run again.
        Phase::Verifying { iteration, .. } => settle::verify_again(decision, iteration),
        // The effect is derived again from the phase, which repeats the settlement.
        Phase::Settling { .. } | Phase::Stopped { .. } => {}
    }
}

fn prepared(decision: &mut StepDecision, now_ms: u64, iteration: u32, result: &Result<Preparation, Refusal>) {
    let found = match result {
        Ok(found) => found,
        Err(Refusal::Plan { why }) => {
            return decision.stop(StopReason::PlanInvalid {
                why: why.clone().into(),
            });
        }
        Err(Refusal::State { why }) => {
            let why = Breakdown::StateUnwritable {
                why: why.clone().into(),
            };
            return decision.stop(StopReason::Broken { why });
        }
        Err(Refusal::Originals { why }) => return decision.stop(settle::no_originals(why)),
        Err(Refusal::Room { why }) => {
            let why = Breakdown::NoRoom {
                why: why.clone().into(),
            };
            return decision.stop(StopReason::Broken { why });
        }
        Err(Refusal::Disk { low }) => return disk::wait(decision, now_ms, low),
        Err(Refusal::Repository { lost }) => return settle::repository_lost(decision, lost),
        Err(Refusal::Internal) => {
            let role = decision.state.view.role;
            let work = OwnWork::Preparing { iteration, role };
            let why = Breakdown::Internal { work };
            return decision.stop(StopReason::Broken { why });
        }
    };
    decision.told(&found.leftovers, &found.notices);
    decision.plan_read(&found.plan);
    decision.lines_unread(found.unread.as_ref());
    let role = decision.state.view.role;
    let asked_for = policy::undelivered(&decision.state).is_some();
    if decision.state.view.iterations.number == 0
        && gate::is_worked_off(&decision.state)
        && !decision.state.internal.looked
        && !asked_for
    {
        decision.notice(notices::nothing_to_do());
        if gate::goals_due(&decision.state).next().is_none() {
            return decision.stop(gate::done(&decision.state, Proof::Nothing));
        }
        return settle::start_verification(decision, 0);
    }
    let is_first = decision.state.view.iterations.number == 0 && role.is_work();
    let has_goals = gate::goals_due(&decision.state).next().is_some();
    if is_first && decision.state.view.settings.gate.baseline && has_goals && !decision.state.internal.looked {
        return settle::start_verification(decision, 0);
    }
    if let Role::Review { .. } = role {
        return prepared_review(decision, now_ms, iteration, found);
    }
    // Preparation may have taken minutes in a large repository.
    if let Some(limit) = run_limit_reached(&decision.state.view, now_ms) {
        return decision.stop(StopReason::LimitReached { limit });
    }
    if let Some(reason) = settle::out_of_tasks(&decision.state) {
        return decision.stop(reason);
    }
    if decision.state.view.is_paused() {
        return decision.push(Event::Time(TimeEvent::Held));
    }
    let is_worked_off = gate::is_worked_off(&decision.state);
    let is_late = |steering: &Message| {
        // Without an open task, the iteration is for the message only.
        let cannot_wait = steering.kind == SteeringKind::Now || is_worked_off;
        cannot_wait && steering.is_due() && !found.delivered.contains(&steering.id)
    };
    let worker = policy::worker_now(&decision.state, now_ms);
    let task = decision.state.text_next().cloned();
    // The session has not started yet, so the prompt is written again if an urgent message is missing from it, if the
    // plan, which has only been read now, asks for another agent, or if another task is next.
    if decision.state.view.messages.iter().any(is_late)
        || worker.adapter != decision.state.view.adapter
        || decision.state.internal.prompt_outdated
    {
        return settle::prepare(decision, now_ms);
    }
    if headroom::check(decision, now_ms, &found.windows) == Room::Held {
        return;
    }
    announce_worker(decision, &worker);
    decision.push(Event::Iteration(IterationEvent::Started {
        iteration,
        adapter: worker.adapter,
        model: worker.model,
        task,
        resume: decision.state.internal.session.clone(),
        live_steering: found.live_steering,
        checkpoint: found.checkpoint.clone(),
        prompt_bytes: found.prompt_bytes,
        overhead_bytes: found.overhead_bytes,
        messages: found.delivered.clone(),
        role,
    }));
}

/// Begins a review, without the author's session and the user's messages.
fn prepared_review(decision: &mut StepDecision, now_ms: u64, iteration: u32, found: &Preparation) {
    let role = review::next_role(&decision.state);
    if role != decision.state.view.role || review::obstacle(&decision.state, now_ms).is_some() {
        return settle::next(decision, now_ms);
    }
    if decision.state.view.is_paused() {
        return decision.push(Event::Time(TimeEvent::Held));
    }
    if headroom::check(decision, now_ms, &found.windows) == Room::Held {
        return;
    }
    let worker = review::worker(&decision.state, role, now_ms);
    let subject = decision.state.internal.reviews.subject.as_ref();
    decision.push(Event::Iteration(IterationEvent::Started {
        iteration,
        adapter: worker.adapter,
        model: worker.model,
        task: subject.and_then(|subject| subject.task.clone()),
        resume: None,
        // Messages are for the author.
        live_steering: false,
        checkpoint: found.checkpoint.clone(),
        prompt_bytes: found.prompt_bytes,
        overhead_bytes: found.overhead_bytes,
        messages: Vec::new(),
        role,
    }));
}

/// Announces, once per task, that the task asks for another agent or model, and, once per step, that it is handed to
/// another worker.
fn announce_worker(decision: &mut StepDecision, worker: &Worker) {
    let view = &decision.state.view;
    let task = decision.state.task_next();
    let is_new = view
        .iterations
        .latest_work()
        .is_none_or(|latest| latest.task.as_ref() != task.map(|task| &task.text));
    let asks = task.is_some_and(|task| task.settings.names_worker());
    if *worker != policy::requested_worker(&decision.state) {
        return;
    }
    if is_new && asks {
        return decision.notice(notices::task_asks_for(worker));
    }
    if let Some(attempts) = escalation_due(&decision.state, task.map(|task| task.text.as_str()))
        && policy::takes_over(&decision.state)
    {
        decision.notice(notices::task_handed_on(worker, attempts));
    }
}

fn timer_fired(decision: &mut StepDecision, now_ms: u64, timer: Timer) {
    if timer.epoch.is_some_and(|epoch| epoch != decision.state.view.epoch) || now_ms < timer.at_ms {
        return;
    }
    match timer.kind {
        TimerKind::MaxTime => max_time(decision),
        TimerKind::Permission => permission::overdue(decision, now_ms),
        TimerKind::IterationTimeout => {
            if let Phase::Running { iteration, .. } = decision.state.view.phase
                && !is_put_off(&decision.state, now_ms)
            {
                decision.push(Event::Iteration(IterationEvent::CancelRequested {
                    iteration,
                    reason: CancelReason::IterationTimeout,
                }));
            }
        }
        TimerKind::Deadline => deadline::passed(decision, now_ms),
        // Firing only triggers a probe of the agent, see `effects`, and the announcement that follows every decision.
        TimerKind::Idle | TimerKind::TimeWarning => {}
        TimerKind::Lingering => {
            if lingers(&decision.state, &timer) {
                decision.notice(notices::agent_lingers());
            }
        }
        TimerKind::WaitOver => {
            // A wait for space only ends once there is space.
            if matches!(decision.state.view.phase, Phase::Waiting { .. }) && !disk::is_awaited(&decision.state) {
                decision.push(Event::Time(TimeEvent::WaitEnded {
                    cause: WaitEnd::Elapsed,
                }));
                settle::next(decision, now_ms);
            }
        }
    }
}

fn max_time(decision: &mut StepDecision) {
    match decision.state.view.phase {
        Phase::Running { iteration, .. } => {
            decision.push(Event::Iteration(IterationEvent::CancelRequested {
                iteration,
                reason: CancelReason::Limit(LimitKind::MaxTime),
            }));
        }
        Phase::Idle | Phase::Preparing { .. } | Phase::Verifying { .. } | Phase::Waiting { .. } | Phase::Paused => {
            decision.stop(StopReason::LimitReached {
                limit: LimitKind::MaxTime,
            });
        }
        // These phases lead to a decision that checks the limit, and their own deadlines are short.
        Phase::Cancelling { .. } | Phase::Settling { .. } | Phase::Stopped { .. } => {}
    }
}
