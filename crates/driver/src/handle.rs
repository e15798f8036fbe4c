//! The interface to a running loop for other parts of this process.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ralph_core::event::{RequestedBy, UserCommand};
use ralph_state::control::{self, ClientRole, ControlReply, ControlRequest, PendingRequest};
use ralph_system::proc::Size;
use thiserror::Error;
use tokio::sync::{
    Notify,
    mpsc::{self, error::TrySendError},
};

/// Most messages queued for the loop; a user is far slower than it.
const MESSAGES: usize = 256;
/// Most requests that wait for their replies.
const REQUESTS: usize = 64;
/// How long a user interface waits for a busy loop: a slow disk may hold it up, and the command must not be lost then.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// The loop did not take a message in time: a disk, or one of its own tools, keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the loop did not accept it within {} s; try again", PATIENCE.as_secs())]
pub struct LoopBusy;

/// Reaches the loop from another thread or task. The loop does not depend on it.
#[derive(Debug, Clone)]
pub struct LoopHandle {
    messages: mpsc::Sender<InboxMessage>,
    asked: mpsc::Sender<PendingRequest>,
    plan_written: Arc<Notify>,
}

/// The loop's end of its [`LoopHandle`]s.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) messages: mpsc::Receiver<InboxMessage>,
    pub(super) asked: mpsc::Receiver<PendingRequest>,
}

/// A message to the loop through a [`LoopHandle`], without a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InboxMessage {
    Command { command: UserCommand, by: RequestedBy },
    CancelTask { number: u32 },
    PauseFile { present: bool },
    Type(Vec<u8>),
    Resize(Size),
    Leave,
    Watch,
    Unwatch,
}

impl LoopHandle {
    pub(super) fn new(plan_written: Arc<Notify>) -> (Self, Inbox) {
        let (messages_in, messages) = mpsc::channel(MESSAGES);
        let (asked_in, asked) = mpsc::channel(REQUESTS);
        let handle = Self {
            messages: messages_in,
            asked: asked_in,
            plan_written,
        };
        (handle, Inbox { messages, asked })
    }

    /// Makes a handle without a loop: all requests are refused, since the run is over.
    #[cfg(any(test, feature = "testing"))]
    pub fn disconnected() -> Self {
        Self::new(Arc::default()).0
    }

    /// Gives the loop a command; its results are in the records. After the run it has no effect.
    ///
    /// # Errors
    /// [`LoopBusy`] if the loop has not taken it in five seconds.
    pub fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), LoopBusy> {
        self.send(InboxMessage::Command { command, by }, PATIENCE)
    }

    /// As [`LoopHandle::command`], from a task.
    pub async fn command_soon(&self, command: UserCommand, by: RequestedBy) {
        _ = self.messages.send(InboxMessage::Command { command, by }).await; // the run is over
    }

    /// Sends the loop a request on behalf of `role`, and waits for the reply.
    pub async fn ask(&self, request: ControlRequest, role: ClientRole) -> ControlReply {
        control::answer(request, role, &self.asked).await
    }

    /// Whether no request is answered any more, since the loop has ended.
    pub fn is_over(&self) -> bool {
        self.asked.is_closed()
    }

    /// Tells the loop whether the pause file exists. Waits for a busy loop, because the message is not repeated.
    pub fn pause_file(&self, present: bool) {
        _ = self.messages.blocking_send(InboxMessage::PauseFile { present }); // the run is over
    }

    /// Tells the loop that the plan was written: it soon looks at the boxes if an agent works on the plan. Never waits.
    pub fn plan_written(&self) {
        self.plan_written.notify_one();
    }

    /// Ends a background task for the user; has no effect if it is over.
    ///
    /// # Errors
    /// [`LoopBusy`] if the loop has not taken it in five seconds.
    pub fn cancel_task(&self, number: u32) -> Result<(), LoopBusy> {
        self.send(InboxMessage::CancelTask { number }, PATIENCE)
    }

    /// Types into the running agent's terminal; has no effect if no agent runs.
    pub fn type_bytes(&self, bytes: Vec<u8>) {
        _ = self.send(InboxMessage::Type(bytes), PATIENCE); // the screen of a hanging loop must stay usable
    }

    /// Gives the agents' terminal the size of the pane that shows it, now and in later iterations.
    pub fn resize(&self, size: Size) {
        _ = self.send(InboxMessage::Resize(size), PATIENCE); // the screen of a hanging loop must stay usable
    }

    /// As [`LoopHandle::resize`], from a task.
    pub async fn resize_soon(&self, size: Size) {
        _ = self.messages.send(InboxMessage::Resize(size)).await; // the run is over
    }

    /// Tells the loop that the user has left the screen of this process, and with it the run.
    pub fn leave(&self) {
        _ = self.send(InboxMessage::Leave, PATIENCE); // the screen of a hanging loop must stay usable
    }

    /// As [`LoopHandle::type_bytes`], from a task.
    pub async fn type_soon(&self, bytes: Vec<u8>) {
        _ = self.messages.send(InboxMessage::Type(bytes)).await; // the run is over
    }

    /// Tells the loop, from a task, that one more screen shows the run. The loop stays after the end while there is
    /// one.
    pub async fn watch_soon(&self) {
        _ = self.messages.send(InboxMessage::Watch).await; // the run is over
    }

    /// As [`LoopHandle::unwatch`], from a task.
    pub async fn unwatch_soon(&self) {
        _ = self.messages.send(InboxMessage::Unwatch).await; // the run is over
    }

    /// Tells the loop that a screen is gone.
    pub fn unwatch(&self) {
        _ = self.send(InboxMessage::Unwatch, PATIENCE); // the screen of a hanging loop must stay usable
    }

    fn send(&self, message: InboxMessage, patience: Duration) -> Result<(), LoopBusy> {
        let deadline = Instant::now() + patience;
        let mut message = message;
        // A closed channel means that the run is over, so the message has no effect.
        while let Err(TrySendError::Full(back)) = self.messages.try_send(message) {
            if Instant::now() >= deadline {
                return Err(LoopBusy);
            }
            message = back;
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_for_a_loop_that_is_behind_and_is_not_lost() {
        let (handle, mut inbox) = LoopHandle::new(Arc::default());
        for _ in 0..MESSAGES {
            handle.type_bytes(b"k".to_vec());
        }
        let commanding = thread::spawn(move || handle.command(UserCommand::Pause, RequestedBy::User).unwrap());
        let taken = std::iter::from_fn(|| inbox.messages.blocking_recv());
        let commanded = taken
            .skip(MESSAGES)
            .any(|message| matches!(message, InboxMessage::Command { .. }));
        assert!(commanded, "the command is behind the keys");
        commanding.join().unwrap();
    }

    #[test]
    fn a_command_that_a_busy_loop_does_not_take_is_refused_to_who_asked() {
        let (handle, _inbox) = LoopHandle::new(Arc::default());
        for _ in 0..MESSAGES {
            handle.type_bytes(b"k".to_vec());
        }
        let refused = handle.send(InboxMessage::CancelTask { number: 1 }, Duration::from_millis(20));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the loop did not accept it within 5 s; try again"
        );
    }
}
