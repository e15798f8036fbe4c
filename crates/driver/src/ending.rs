//! The end of a run: waiting for its user interface, and messages that resume it.
//!
//! While a screen shows the end, the loop stays and takes messages as before, from that screen and from other
//! terminals. If no loop runs, a message is left in the journal of the last run, whose end stays as it is until the next
//! `ralph` continues that run.

use std::{path::PathBuf, time::Duration};

use ralph_core::{
    event::{
        Answer, AnswerPlace, AnsweredAsk, Ask, AskEvent, CommandRefusal, Event, Notice, RequestedBy, RuleScope,
        SteeringEvent, SteeringId, SteeringKind, StopReason, StopRequest, TestsChange, UserCommand,
    },
    machine::{Input, LateAnswer, confirmed, late_answer},
    run::RunView,
};
use ralph_state::{
    control::{ClientRole, ControlRequest, PendingRequest},
    store::{lock::Lock, rules},
};
use ralph_system::{os::now_ms, paths::ProjectPaths};
use ralph_words::{
    closed_in_words, command_refusal_in_words, confirmed_in_words, late_answer_in_words, no_answer_in_words,
};

use super::{
    config::PermissionDecider,
    handle::InboxMessage,
    open::{EarlierRun, OpenError, latest},
    ruling::{objection, project_rules},
    run::{Driver, DriverError, LoopEvent},
    status::late_rules_in_words,
};

/// How long a user interface may take to show the end of a run that was asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for a slow reader of a finished run: it may be a person with a pager, but not for ever.
const READER_PATIENCE: Duration = Duration::from_secs(60 * 60);

impl Driver {
    /// Waits until the whole run that ended is shown, or until `interrupted`: output piped to a slow reader has to
    /// arrive. The wait is short if the run `failed` or the user asked to stop.
    pub async fn wait_until_shown(&self, failed: bool, interrupted: impl Future<Output = ()>) {
        let hub = self.hub.clone();
        let in_a_hurry = failed || self.is_stop_urgent();
        let patience = if in_a_hurry { STOP_PATIENCE } else { READER_PATIENCE };
        let shown = tokio::task::spawn_blocking(move || hub.close(patience));
        tokio::select! {
            _ = shown => {}
            () = interrupted => {}
        }
    }

    /// Whether the loop stays after such an end, because a screen shows it and its user may want the run to go on.
    pub(super) fn stays(&self, reason: &StopReason) -> bool {
        self.screens > 0 && !self.dismissed && !reason.was_asked_for()
    }

    /// Records that the end need not be shown any longer, if `event` is a stop in a run that is over.
    pub(super) fn note_leaving(&mut self, event: &LoopEvent) {
        let stops = |command: &UserCommand| matches!(command, UserCommand::Stop { .. });
        let leaves = match event {
            LoopEvent::Input(Input::Command { command, .. })
            | LoopEvent::Asked(PendingRequest {
                request: ControlRequest::Command { command },
                role: ClientRole::User,
                ..
            })
            | LoopEvent::Message(InboxMessage::Command { command, .. }) => stops(command),
            LoopEvent::Input(_)
            | LoopEvent::Notice(_)
            | LoopEvent::OffLoopResult(_)
            | LoopEvent::EditsDue
            | LoopEvent::PlanWritten
            | LoopEvent::Asked(_)
            | LoopEvent::Message(
                InboxMessage::CancelTask { .. }
                | InboxMessage::PauseFile { .. }
                | InboxMessage::Type(_)
                | InboxMessage::Resize(_)
                | InboxMessage::Leave
                | InboxMessage::Watch
                | InboxMessage::Unwatch,
            )
            | LoopEvent::Nothing => false,
        };
        self.dismissed |= leaves;
    }

    /// Handles that the user has left the screen of this process, which is only offered after the end.
    pub(super) fn screen_left(&mut self) -> Result<(), DriverError> {
        self.dismissed = true;
        if self.state().view.is_over() {
            return Ok(());
        }
        // A message made the run go on while its screen was being left.
        self.advance(&Input::Command {
            command: UserCommand::Stop {
                stop: StopRequest::Graceful,
            },
            by: RequestedBy::User,
        })?;
        Ok(())
    }

    /// Removes the pause file that the agent has made: agents do not command their run.
    pub(super) fn refuse_agents_pause(&mut self) -> Result<(), DriverError> {
        if std::fs::remove_file(self.jobs.paths.pause_file()).is_err() {
            self.advance(&Input::PauseFile { present: true })?;
            return Ok(());
        }
        let text = "the agent made `.ralph-pause`: removed, since only you pause a run";
        self.note(Notice::warning("pause-refused", text))
    }

    /// Checks the pause file, which may have come or gone while nothing ran.
    pub(super) fn look_for_pause(&mut self) {
        let present = self.jobs.paths.pause_file().symlink_metadata().is_ok();
        self.own.push_back(Input::PauseFile { present });
    }
}

/// A message for the next `ralph`, left when no loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeferredMessage {
    Steering {
        kind: SteeringKind,
        text: String,
    },
    /// An answer to a question of the agent of the last run.
    Answer {
        ask: u32,
        answer: Answer,
        at: AnswerPlace,
    },
}

/// The result of leaving a message when no loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaveOutcome {
    /// The next `ralph` for this plan continues with it.
    Queued {
        id: SteeringId,
        plan: PathBuf,
        /// A sentence about the rules that the answer adds, or does not add; empty if the answer was to add none.
        rules: String,
    },
    /// The work of the agent is accepted, as the sentence says.
    Confirmed(&'static str),
    /// No run has been started here yet.
    NoRun,
    Refused {
        why: String,
    },
}

/// Leaves a message, or an answer, in the journal of the last run, so that the next `ralph` continues that run.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open), and if the rules of the project cannot be written.
pub fn leave(
    paths: &ProjectPaths,
    message: &DeferredMessage,
    policy: Option<&dyn PermissionDecider>,
) -> Result<LeaveOutcome, OpenError> {
    if !paths.runs().is_dir() {
        return Ok(LeaveOutcome::NoRun);
    }
    let _lock = Lock::take(paths)?;
    let Some(run) = latest(paths)? else {
        return Ok(LeaveOutcome::NoRun);
    };
    let mut run = run.into_resumable()?;
    if let DeferredMessage::Answer { ask, answer, at } = message
        && let Some(confirmed) = confirmed(&run.state, *ask, answer, *at)
    {
        let words = confirmed_in_words(&confirmed).unwrap_or_default();
        run.journal.append(now_ms(), confirmed)?;
        return Ok(LeaveOutcome::Confirmed(words));
    }
    if let Some(closed) = run.state.closed_for_good() {
        let why = closed_in_words(closed, &run.state.view);
        return Ok(LeaveOutcome::Refused { why });
    }
    let left = match message {
        DeferredMessage::Steering { kind, text } => MessageRecord {
            kind: *kind,
            text: text.clone(),
            answers: None,
            added: None,
            rules: String::new(),
        },
        DeferredMessage::Answer { ask, answer, at } => {
            match answered_late(&run.state.view, *ask, answer, *at, policy) {
                Ok(late) => MessageRecord {
                    rules: late_rules_in_words(answer, late.added.as_ref()),
                    kind: SteeringKind::Next,
                    text: late.text,
                    answers: Some(late.answers),
                    added: late.added,
                },
                Err(why) => return Ok(LeaveOutcome::Refused { why }),
            }
        }
    };
    if let Some(added) = left.added {
        add_rules(paths, &mut run, added)?;
    }
    let id = run.state.next_message();
    let queued = Event::Steering(SteeringEvent::Queued {
        id,
        kind: left.kind,
        text: left.text,
        answers: left.answers,
    });
    run.journal.append(now_ms(), queued)?;
    Ok(LeaveOutcome::Queued {
        id,
        plan: run.state.view.settings.plan.clone(),
        rules: left.rules,
    })
}

/// Withdraws a message that waits for the last run; false if no such message waits.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open).
pub fn withdraw(paths: &ProjectPaths, id: SteeringId) -> Result<bool, OpenError> {
    if !paths.runs().is_dir() {
        return Ok(false);
    }
    let _lock = Lock::take(paths)?;
    let Some(run) = latest(paths)? else { return Ok(false) };
    let mut run = run.into_resumable()?;
    let waits = |message: &ralph_core::run::Message| message.id == id && message.is_due();
    if !run.state.view.messages.iter().any(waits) {
        return Ok(false);
    }
    run.journal
        .append(now_ms(), Event::Steering(SteeringEvent::Withdrawn { id }))?;
    Ok(true)
}

/// The question of the last run whether changed tests count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestsQuestion {
    /// Its number.
    pub ask: u32,
    pub change: TestsChange,
}

/// Finds the open question whether the tests count as the last run changed them.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open).
pub fn tests_question(paths: &ProjectPaths) -> Result<Option<TestsQuestion>, OpenError> {
    let Some(run) = latest(paths)? else { return Ok(None) };
    let view = &run.state.view;
    let question = view.permissions.about_tests().map(|asked| TestsQuestion {
        ask: asked.number,
        change: TestsChange {
            why: asked.request.reason.clone().unwrap_or_default().into(),
            changes: asked.changes.clone(),
            diff: asked.request.diff.clone().unwrap_or_default().into(),
            cut: asked.cut,
        },
    });
    Ok(question)
}

/// Finds the open question whether changes of the last run outside of a scope are accepted.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open).
pub fn scope_question(paths: &ProjectPaths) -> Result<Option<Ask>, OpenError> {
    let run = latest(paths)?;
    Ok(run.and_then(|run| run.state.view.permissions.about_scope().cloned()))
}

/// The parts of a message that are written to the journal.
struct MessageRecord {
    kind: SteeringKind,
    text: String,
    answers: Option<Box<AnsweredAsk>>,
    /// The rules that an answer adds, and a sentence about them.
    added: Option<Event>,
    rules: String,
}

/// Converts an answer into a message, or returns why that is not possible.
fn answered_late(
    view: &RunView,
    ask: u32,
    answer: &Answer,
    at: AnswerPlace,
    policy: Option<&dyn PermissionDecider>,
) -> Result<LateAnswer, String> {
    if let Some(why) = objection(&view.permissions, policy, ask, answer) {
        return Err(command_refusal_in_words(&CommandRefusal::Rule { ask, why: why.into() }));
    }
    late_answer(view, ask, answer, at).map_err(|why| match why {
        Some(why) => no_answer_in_words(ask, &why),
        None => late_answer_in_words(view, ask),
    })
}

/// Adds the rules of an answer as the loop would: to the run, and to the project if they are for it.
fn add_rules(paths: &ProjectPaths, run: &mut EarlierRun, added: Event) -> Result<(), OpenError> {
    let at_ms = now_ms();
    if let Event::Ask(AskEvent::RulesAdded {
        ask,
        scope: RuleScope::Project,
        rules,
        over,
        ..
    }) = &added
    {
        rules::remember(paths, &project_rules(rules, over, &run.id, *ask, at_ms))?;
    }
    run.journal.append(at_ms, added)?;
    Ok(())
}
