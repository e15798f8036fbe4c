//! A loop's state at a glance, for `ralph status` and the replies of the control socket.

use std::time::Duration;

use ralph_core::{
    event::{
        Answer, AnswerPlace, AskEvent, BackgroundCommand, BackgroundEvent, BackgroundRefusal, Event, IterationEvent,
        Notice, RequestedBy, Requester, RunEvent, RunId, SteeringEvent, SteeringKind, StopRequest, TimeEvent,
        UserCommand,
    },
    limits::{LIMITS, LimitUnit, consumption, limits_now},
    machine::{Input, LoopState, late_answer, read_answer},
    run::{Phase, RunView},
};
use ralph_state::control::{ClientRole, ControlReply, ControlRequest, LimitUse, ProposedLimit, Quiet, RunStatus};
use ralph_text::one_line;
use ralph_words::{
    ToolRefusal, agent_command_in_words, background_refusal_in_words, closed_in_words, command_refusal_in_words,
    confirmed_in_words, late_answer_in_words, limit_raise, mode_in_words, mode_word, new_limits_in_words,
    no_answer_in_words, phase_in_words, scope_in_words, task_set_aside_in_words, task_taken_back_in_words,
    tool_refusal_in_words, worker_in_words,
};

use super::{
    comments,
    perform::millis,
    run::{Driver, DriverError},
};

/// The reply to a client with a read-only token that asks for more.
const READER: &str = "this token is read-only and cannot send commands";

/// Returns the status of the run of `view`, without the view. `quiet` describes the running session.
pub fn status_of(view: &RunView, pid: u32, quiet: Option<Quiet>) -> RunStatus {
    RunStatus {
        run: view.run.clone().unwrap_or_else(|| RunId(String::new())),
        pid,
        adapter: view.author().to_owned(),
        over: view.is_over(),
        phase: phase_in_words(view),
        // A run that is over is not paused.
        paused: view.is_paused() && !view.is_over(),
        task: view.task().map(|task| task.text.clone()),
        totals: view.totals(),
        quiet,
        listen: None,
        limits: Vec::new(),
        view: None,
    }
}

/// The limits of the run with what is used of them at its last record: those of the run and of the hour, and the others
/// that are set.
fn limits_used(view: &RunView) -> Vec<LimitUse> {
    let (limits, used) = (limits_now(view), consumption(view, view.clock.now_ms));
    let shown = LIMITS.iter().filter(|row| row.is_shown(&limits, &used));
    let each = shown.map(|row| LimitUse {
        limit: row.kind,
        name: row.name.to_owned(),
        unit: row.unit,
        used: row.used(&used),
        estimated: row.unit == LimitUnit::Dollars && row.usage(&used).estimated,
        max: row.max(&limits),
        raise: limit_raise(row, &limits, &used).map(|raise| ProposedLimit {
            words: raise.words,
            limits: raise.limits,
            settings: [(row.name_of_setting().to_owned(), raise.value)].into(),
        }),
    });
    each.collect()
}

/// As [`status_of`], with the limits and the view.
pub fn whole_status(view: RunView, pid: u32, quiet: Option<Quiet>) -> RunStatus {
    let mut status = status_of(&view, pid, quiet);
    status.limits = limits_used(&view);
    status.view = Some(Box::new(view));
    status
}

impl Driver {
    /// Carries out a request from the control socket, and returns the reply.
    pub(super) fn answer(&mut self, request: ControlRequest, role: ClientRole) -> Result<ControlReply, DriverError> {
        match request {
            ControlRequest::Command { .. }
            | ControlRequest::Background(_)
            | ControlRequest::UserOnly(_)
            | ControlRequest::Tool { .. }
                if role == ClientRole::Reader =>
            {
                Ok(ControlReply::Forbidden { why: READER.to_owned() })
            }
            ControlRequest::Command { command } if role == ClientRole::Agent => self.refuse_agent(command.name()),
            ControlRequest::UserOnly(personal) if role == ClientRole::Agent => self.refuse_agent(personal.name()),
            // The client does it itself; this run goes on unchanged.
            ControlRequest::UserOnly(_) => Ok(done("")),
            // The loop replies when it knows the answer: see `calls`.
            ControlRequest::Tool { .. } => Ok(ControlReply::Refused {
                why: tool_refusal_in_words(ToolRefusal::NoSession),
            }),
            ControlRequest::Status => Ok(ControlReply::Status {
                status: {
                    let (quiet, now_ms) = (self.quiet(), self.time.clock.now_ms());
                    let view = &self.state().view;
                    let mut status = status_of(view, self.pid, quiet);
                    // Counted up to now, not up to the last record.
                    status.totals.elapsed_ms = view.elapsed_ms(now_ms);
                    Box::new(status)
                },
            }),
            ControlRequest::Background(command) => self.answer_background(&command, role),
            ControlRequest::Command { command } => {
                if let Some(refusal) = self.refusal(&command) {
                    let why = command_refusal_in_words(&refusal);
                    return Ok(ControlReply::Refused { why });
                }
                let next_seq = self.next_seq();
                let events = self.advance(&Input::Command {
                    command: command.clone(),
                    by: RequestedBy::User,
                })?;
                Ok(match reply_to(&command, &events, self.state()) {
                    ControlReply::Done { text, .. } => ControlReply::Done {
                        text,
                        seq: (!events.is_empty()).then_some(next_seq),
                    },
                    reply => reply,
                })
            }
        }
    }

    /// Starts or ends a background task for a client.
    pub(super) fn answer_background(
        &mut self,
        command: &BackgroundCommand,
        role: ClientRole,
    ) -> Result<ControlReply, DriverError> {
        let by = match role {
            ClientRole::User => Requester::User,
            ClientRole::Agent | ClientRole::Reader => Requester::Agent,
        };
        if let Some(refusal) = self.background_refusal(command, by) {
            let why = background_refusal_in_words(&refusal);
            return Ok(match refusal {
                BackgroundRefusal::NotForAgents
                | BackgroundRefusal::Rules { .. }
                | BackgroundRefusal::StartedByUser { .. } => ControlReply::Forbidden { why },
                BackgroundRefusal::RunOver
                | BackgroundRefusal::NoCommand
                | BackgroundRefusal::CommandTooLong { .. }
                | BackgroundRefusal::TooMany { .. }
                | BackgroundRefusal::UsedUp { .. }
                | BackgroundRefusal::Unknown { .. }
                | BackgroundRefusal::Ending { .. }
                | BackgroundRefusal::Ended { .. } => ControlReply::Refused { why },
            });
        }
        let next_seq = self.next_seq();
        let command = command.clone();
        let events = self.advance(&Input::Background { command, by })?;
        Ok(match events.first() {
            Some(Event::Background(BackgroundEvent::Started { number, command, .. })) => ControlReply::Started {
                number: *number,
                text: format!("background task {number} started: {}", one_line(command)),
            },
            Some(Event::Background(BackgroundEvent::Cancelled { number, .. })) => ControlReply::Done {
                text: format!("background task {number} is being ended"),
                seq: Some(next_seq),
            },
            _ => ControlReply::Refused {
                why: background_refusal_in_words(&BackgroundRefusal::RunOver),
            },
        })
    }

    /// Refuses a command of the agent. The user is told once for each kind and iteration.
    fn refuse_agent(&mut self, command: &'static str) -> Result<ControlReply, DriverError> {
        let iteration = self
            .state()
            .view
            .iterations
            .latest()
            .map_or(0, |iteration| iteration.number);
        if self.agents.commands.is_new(iteration, command) {
            let text = format!("the agent ran `ralph {command}`: refused, since only you command a run");
            self.note(Notice::warning("agent-command", text).with("command", command))?;
        }
        Ok(ControlReply::Forbidden {
            why: agent_command_in_words(command),
        })
    }

    /// Checks whether the agent has done nothing for half of the idle limit.
    fn quiet(&mut self) -> Option<Quiet> {
        let idle_ms = self.state().view.settings.limits.idle_timeout_ms?;
        let (now_ms, running_time) = (self.time.clock.now_ms(), self.time.clock.running_time());
        let quiet = self
            .agents
            .session
            .as_mut()?
            .long_quiet(running_time, Duration::from_millis(idle_ms))?;
        let since_ms = now_ms.saturating_sub(millis(quiet));
        Some(Quiet {
            since_ms,
            until_ms: since_ms.saturating_add(idle_ms),
        })
    }
}

/// Returns the reply for a command without a record.
fn done(text: impl Into<String>) -> ControlReply {
    ControlReply::Done {
        text: text.into(),
        seq: None,
    }
}

/// Returns the reply to `command` that resulted in `events`; `state` is the one after it.
pub(super) fn reply_to(command: &UserCommand, events: &[Event], state: &LoopState) -> ControlReply {
    if events.is_empty() {
        return reply_to_nothing(command, state);
    }
    match command {
        UserCommand::Steer { kind, .. } => done(message_in_words(*kind, events, state)),
        UserCommand::Withdraw { id } => done(format!("message {} withdrawn", id.0)),
        UserCommand::Pause => done("the running iteration finishes, the next does not start"),
        UserCommand::Resume
            if events
                .iter()
                .any(|event| matches!(event, Event::Time(TimeEvent::Unpaused { .. }))) =>
        {
            done("the run resumes")
        }
        UserCommand::Resume | UserCommand::WithdrawStop => done("the run does not stop after this iteration"),
        UserCommand::Skip => done(match stopped_iteration(events) {
            Some(iteration) => format!("iteration {iteration} stopped; starting the next"),
            None => "starting the next iteration".to_owned(),
        }),
        UserCommand::RetryNow => done("trying again now"),
        UserCommand::ResetCircuit => done("the stuck detector is reset"),
        UserCommand::Answer { answer, .. } if events.iter().any(is_late) => {
            let message = message_in_words(SteeringKind::Next, events, state);
            let rules = late_rules_in_words(answer, events.iter().find(|event| is_addition(event)));
            done(message + &rules)
        }
        UserCommand::Answer { ask, answer, .. } => done(answer_in_words(*ask, answer, events)),
        UserCommand::WaitForAnswer { ask } => done(format!("question {ask} waits for you")),
        UserCommand::WriteComment { .. }
        | UserCommand::EditComment { .. }
        | UserCommand::WithdrawComment { .. }
        | UserCommand::SendComments { .. }
        | UserCommand::ResolveComment { .. } => done(comments::reply(events, &state.view)),
        UserCommand::Forget { rule } => done(format!("forgotten: {rule}")),
        UserCommand::SetLimits { limits } => done(new_limits_in_words(limits)),
        UserCommand::SetWorker { .. } => done(worker_in_words(&state.view.settings.worker())),
        UserCommand::SetPermissionMode { mode } => {
            let runs = state.view.phase.running_since_ms().is_some();
            let before = match runs && state.view.settings.permission_mode.is_auto() && !mode.is_auto() {
                true => "; a session that began in mode `auto` goes on without asking, and `ralph skip` ends it",
                false => "",
            };
            done(mode_in_words(*mode) + before)
        }
        UserCommand::SetTaskAside { task } => done(task_set_aside_in_words(&one_line(task))),
        UserCommand::TakeTaskBack { task } => done(task_taken_back_in_words(&one_line(task))),
        UserCommand::Stop { stop } => done(match stop {
            StopRequest::AfterIteration => "will stop after this iteration",
            StopRequest::Graceful => "stopping",
            StopRequest::Immediate => "stopping at once",
        }),
    }
}

fn reply_to_nothing(command: &UserCommand, state: &LoopState) -> ControlReply {
    let why = match command {
        UserCommand::Stop { .. } if state.view.is_over() => {
            return done("the run is over; its screen closes");
        }
        UserCommand::Steer { .. } => match state.closed_for_good() {
            Some(closed) => format!("the message was not accepted: {}", closed_in_words(closed, &state.view)),
            None => "the message was not accepted: the run is over".to_owned(),
        },
        UserCommand::Answer { ask, answer, at } => no_answer_taken(*ask, answer, *at, &state.view),
        UserCommand::WriteComment { .. }
        | UserCommand::EditComment { .. }
        | UserCommand::WithdrawComment { .. }
        | UserCommand::SendComments { .. }
        | UserCommand::ResolveComment { .. } => comments::refusal(command, state),
        _ if state.view.is_over() => "the run is over; a message resumes it".to_owned(),
        UserCommand::Withdraw { id } => format!("no queued message {}", id.0),
        UserCommand::WaitForAnswer { ask } => format!("no deadline passes for question {ask}"),
        UserCommand::Forget { rule } => {
            format!("no answer has added `{rule}`; `ralph permissions` shows the rules")
        }
        UserCommand::SetLimits { .. } => "the run has these limits already".to_owned(),
        UserCommand::SetWorker { .. } => "the run has this agent and model already".to_owned(),
        UserCommand::SetPermissionMode { mode } => format!("the mode is `{}` already", mode_word(*mode)),
        UserCommand::SetTaskAside { task } if state.view.set_aside_by_user.contains(task) => {
            "the task is set aside already".to_owned()
        }
        UserCommand::SetTaskAside { .. } => {
            "the plan has no open task that begins so; write its text up to the end of a word".to_owned()
        }
        UserCommand::TakeTaskBack { .. } => "you have not set this task aside".to_owned(),
        UserCommand::Pause => "paused already".to_owned(),
        UserCommand::Resume => "the run is neither paused nor about to stop".to_owned(),
        UserCommand::WithdrawStop => "no stop is planned".to_owned(),
        UserCommand::Skip => "no iteration is running".to_owned(),
        UserCommand::RetryNow => "not waiting".to_owned(),
        UserCommand::ResetCircuit => "nothing to reset: the stuck detector is at zero".to_owned(),
        UserCommand::Stop { .. } => "stopping already".to_owned(),
    };
    ControlReply::Refused { why }
}

/// Why an answer was not accepted, or what became of the question.
fn no_answer_taken(ask: u32, answer: &Answer, at: AnswerPlace, view: &RunView) -> String {
    let waiting = view.permissions.pending.iter().find(|known| known.number == ask);
    let read = match waiting {
        Some(waiting) => read_answer(&waiting.request.questions, answer).map_err(Some).map(drop),
        None => late_answer(view, ask, answer, at).map(drop),
    };
    match read {
        Err(Some(why)) => no_answer_in_words(ask, &why),
        Err(None) => late_answer_in_words(view, ask),
        // The limits of the run are used up.
        Ok(()) => format!("question {ask} was not answered: the run cannot resume"),
    }
}

fn answer_in_words(ask: u32, answer: &Answer, events: &[Event]) -> String {
    if let Some(confirmed) = events.iter().find_map(confirmed_in_words) {
        return format!("question {ask}: {confirmed}");
    }
    let added = events.iter().find_map(rules_in_words);
    match (answer, added) {
        (Answer::Allow { .. }, None) => format!("question {ask}: allowed"),
        (Answer::Allow { .. }, Some(rules)) => format!("question {ask}: allowed, and from now on {rules}"),
        (Answer::Words { .. }, _) => format!("question {ask}: answered"),
        (Answer::Deny { .. }, _) if events.iter().any(is_queued) => {
            format!("question {ask}: denied; the agent accepts no messages now: yours goes into the next prompt")
        }
        (Answer::Deny { .. }, _) => format!("question {ask}: denied"),
    }
}

/// Describes the rules of an answer that became a message. The message itself does not mention them to the agent.
pub(super) fn late_rules_in_words(answer: &Answer, added: Option<&Event>) -> String {
    let wants_rules = matches!(answer, Answer::Allow { remember: Some(_) });
    match (added.and_then(rules_in_words), wants_rules) {
        (Some(rules), _) => format!("; allowed from now on {rules}"),
        (None, true) => "; no rule was added: the question was not about a tool".to_owned(),
        (None, false) => String::new(),
    }
}

/// Describes the rules that an event adds: `in this run: Bash(git push *)`.
fn rules_in_words(event: &Event) -> Option<String> {
    match event {
        Event::Ask(AskEvent::RulesAdded { scope, rules, .. }) => {
            Some(format!("{}: {}", scope_in_words(*scope), rules.join(", ")))
        }
        _ => None,
    }
}

fn is_addition(event: &Event) -> bool {
    matches!(event, Event::Ask(AskEvent::RulesAdded { .. }))
}

fn is_queued(event: &Event) -> bool {
    matches!(event, Event::Steering(SteeringEvent::Queued { .. }))
}

/// Whether an answer became a message, because the agent no longer waits for it.
fn is_late(event: &Event) -> bool {
    matches!(event, Event::Steering(SteeringEvent::Queued { answers: Some(_), .. }))
}

/// Describes what happens to a message that was queued.
fn message_in_words(kind: SteeringKind, events: &[Event], state: &LoopState) -> String {
    let id = events.iter().find_map(|event| match event {
        Event::Steering(SteeringEvent::Queued { id, .. }) => Some(id.0),
        _ => None,
    });
    let id = id.unwrap_or_default();
    let reopened = events
        .iter()
        .any(|event| matches!(event, Event::Run(RunEvent::Reopened { .. })));
    match (kind, &state.view.phase, stopped_iteration(events)) {
        (_, Phase::Preparing { iteration }, _) if reopened => {
            format!("message {id}: the run resumes, and iteration {iteration} starts with it")
        }
        (_, _, Some(iteration)) => {
            format!(
                "message {id}: iteration {iteration} is stopped; iteration {} starts with it",
                iteration + 1
            )
        }
        (SteeringKind::Now, Phase::Running { .. }, None) => format!("message {id} is sent to the running agent"),
        (SteeringKind::Standing, ..) => format!("message {id} goes into every prompt, beginning with the next one"),
        (SteeringKind::Now | SteeringKind::Next, ..) => format!("message {id} goes into the next prompt"),
    }
}

/// Returns the iteration that a command ended.
fn stopped_iteration(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|event| match event {
        Event::Iteration(IterationEvent::CancelRequested { iteration, .. }) => Some(*iteration),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::PlanEvent;
    use ralph_core::{
        event::{PlanSnapshot, PlanTask, StopReason, Totals},
        testing::{iteration_ended, iteration_started},
    };

    fn planned() -> RunView {
        let task = PlanTask {
            text: "the open one".to_owned(),
            done: false,
            line: 1,
            depth: 0,
            heading: None,
            settings: Default::default(),
            ..PlanTask::default()
        };
        let mut view = RunView::default();
        let plan = PlanSnapshot { tasks: vec![task] };
        view.apply_event(1, &Event::Plan(PlanEvent::Read { plan }));
        view
    }

    #[test]
    fn the_answer_to_a_status_does_not_grow_with_the_iterations() {
        let mut view = planned();
        let bytes = |view: &RunView| serde_json::to_vec(&status_of(view, 1, None)).unwrap().len();
        let before = bytes(&view);
        for iteration in 1..=1_000 {
            view.apply_event(2, &iteration_started(iteration, Some("the open one"), None));
            view.apply_event(3, &iteration_ended(iteration));
        }
        assert!(bytes(&view) < before + 200, "{} after {before} bytes", bytes(&view));
    }

    #[test]
    fn the_task_of_a_status_is_that_of_the_view_and_none_once_the_run_is_over() {
        let mut view = planned();
        let task = |view: &RunView| status_of(view, 1, None).task;
        assert_eq!(task(&view).as_deref(), Some("the open one"));
        let stopped = Event::Run(RunEvent::Stopped {
            reason: StopReason::Requested,
            hints: Vec::new().into(),
            totals: Totals::default(),
        });
        view.apply_event(4, &stopped);
        assert_eq!(task(&view), None);
        assert_eq!(task(&view), view.task().map(|task| task.text.clone()));
    }
}
