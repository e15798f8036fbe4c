//! What a run that is over waits for: its user interface, and a message that resumes it.
//!
//! While a screen shows the end, the loop stays and takes messages as ever, from the screen and from other terminals.
//! Where nothing runs, a message is left in the journal of the last run, and the next `ralph` goes on with that one.

use std::{path::PathBuf, time::Duration};

use crate::{
    control::{Asked, Request, Role},
    event::{Answer, Event, RequestedBy, SteeringId, SteeringKind, StopReason, StopRequest, UserCommand},
    machine::{Input, late_answer},
    store::{lock::Lock, paths::ProjectPaths},
    words::{closed_in_words, no_answer_in_words},
};

use super::{
    clock::now_ms,
    handle::InboxMessage,
    open::{OpenError, latest},
    run::{Arrived, Driver, DriverError},
};

/// How long a user interface may take to show the end of a run that was asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long a slow reader of a finished run is waited for: it may be a person with a pager, but not for ever.
const READER_PATIENCE: Duration = Duration::from_secs(60 * 60);

impl Driver {
    /// Waits until all of the run that ended is shown, or until `interrupted`: what is piped to a slow reader has to arrive.
    /// Who wanted to stop, or has to see a run that `failed`, does not wait for long.
    pub async fn wait_until_shown(&self, failed: bool, interrupted: impl Future<Output = ()>) {
        let hub = self.hub.clone();
        let in_a_hurry = failed || self.was_hurried();
        let patience = if in_a_hurry { STOP_PATIENCE } else { READER_PATIENCE };
        let shown = tokio::task::spawn_blocking(move || hub.close(patience));
        tokio::select! {
            _ = shown => {}
            () = interrupted => {}
        }
    }

    /// Whether the loop stays after such an end: somebody looks at it who may want it to go on.
    pub(super) fn stays(&self, reason: &StopReason) -> bool {
        self.watched && !reason.was_asked_for()
    }

    /// Notes that nobody wants to see the end any longer, if `arrived` says so in a run that is over.
    pub(super) fn note_leaving(&mut self, arrived: &Arrived) {
        let stops = |command: &UserCommand| matches!(command, UserCommand::Stop { .. });
        let leaves = match arrived {
            Arrived::Input(Input::Command { command, .. })
            | Arrived::Asked(Asked {
                request: Request::Command { command },
                role: Role::User,
                ..
            })
            | Arrived::Message(InboxMessage::Command { command, .. }) => stops(command),
            Arrived::Input(_)
            | Arrived::Asked(_)
            | Arrived::Message(
                InboxMessage::PauseFile { .. }
                | InboxMessage::Type(_)
                | InboxMessage::Resize(_)
                | InboxMessage::Leave
                | InboxMessage::Unwatch,
            )
            | Arrived::Nothing => false,
        };
        self.watched &= !leaves;
    }

    /// The screen is gone because the user left it, which is only offered after the end.
    pub(super) fn screen_left(&mut self) -> Result<(), DriverError> {
        self.watched = false;
        if self.state().view.is_over() {
            return Ok(());
        }
        // A message made the run go on as its screen was left.
        self.advance(&Input::Command {
            command: UserCommand::Stop {
                stop: StopRequest::Graceful,
            },
            by: RequestedBy::User,
        })?;
        Ok(())
    }

    /// The pause file may have come or gone while nothing ran.
    pub(super) fn look_for_pause(&mut self) {
        let present = self.jobs.paths.pause_file().symlink_metadata().is_ok();
        self.own.push_back(Input::PauseFile { present });
    }
}

/// What is left to the next `ralph` where no loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Steering {
        kind: SteeringKind,
        text: String,
    },
    /// An answer to what the agent of the last run asked.
    Answer {
        ask: u32,
        answer: Answer,
    },
}

/// What became of a message where no loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// The next `ralph` for this plan goes on with it.
    Queued {
        id: SteeringId,
        plan: PathBuf,
    },
    /// Nothing ran here yet.
    NoRun,
    Refused {
        why: String,
    },
}

/// Leaves a message, or an answer, in the journal of the last run, so that the next `ralph` goes on with that run.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open).
pub fn leave(paths: &ProjectPaths, message: &Message) -> Result<Left, OpenError> {
    if !paths.runs().is_dir() {
        return Ok(Left::NoRun);
    }
    let _lock = Lock::take(paths)?;
    let Some(run) = latest(paths)? else {
        return Ok(Left::NoRun);
    };
    let mut run = run.understood()?;
    if let Some(closed) = run.state.closed_for_good() {
        let why = closed_in_words(closed);
        return Ok(Left::Refused { why });
    }
    let (kind, text, answers) = match message {
        Message::Steering { kind, text } => (*kind, text.clone(), None),
        Message::Answer { ask, answer } => match late_answer(&run.state.view, *ask, answer) {
            Ok(late) => (SteeringKind::Next, late.text, Some(late.answers)),
            Err(why) => {
                let why = match why {
                    Some(why) => no_answer_in_words(*ask, &why),
                    None => format!("the last run has no open question {ask}"),
                };
                return Ok(Left::Refused { why });
            }
        },
    };
    if run.state.view.is_over() {
        let by = RequestedBy::User;
        run.journal.append(now_ms(), Event::RunReopened { by })?;
    }
    let id = run.state.next_message();
    let queued = Event::SteeringQueued {
        id,
        kind,
        text,
        answers,
    };
    run.journal.append(now_ms(), queued)?;
    Ok(Left::Queued {
        id,
        plan: run.state.view.settings.plan,
    })
}
