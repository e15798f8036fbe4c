//! The ways into a loop that runs: what others in this process can ask of it.

use std::{
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{self, error::TrySendError};

use crate::{
    control::{self, Asked, Reply, Request},
    event::{RequestedBy, UserCommand},
    proc::Size,
};

/// Wishes under way to the loop; a user is far slower than it.
const WISHES: usize = 256;
/// Requests that wait for their replies.
const REQUESTS: usize = 64;
/// How long a user interface waits for a loop that is behind: a disk may keep it for a while, and a command must not be lost to that.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Reaches the loop from another thread or task. The loop does not depend on it.
#[derive(Debug, Clone)]
pub struct Handle {
    wishes: mpsc::Sender<Wish>,
    asked: mpsc::Sender<Asked>,
}

/// The loop's end of its [`Handle`]s.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) wishes: mpsc::Receiver<Wish>,
    pub(super) asked: mpsc::Receiver<Asked>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Command { command: UserCommand, by: RequestedBy },
    PauseFile { present: bool },
    Type(Vec<u8>),
    Resize(Size),
    Leave,
    Unwatch,
}

impl Handle {
    pub(super) fn new() -> (Self, Inbox) {
        let (wishes_in, wishes) = mpsc::channel(WISHES);
        let (asked_in, asked) = mpsc::channel(REQUESTS);
        let handle = Self {
            wishes: wishes_in,
            asked: asked_in,
        };
        (handle, Inbox { wishes, asked })
    }

    /// Asks the loop for something; what comes of it is in the records. After the run it means nothing.
    pub fn command(&self, command: UserCommand, by: RequestedBy) {
        self.send(Wish::Command { command, by });
    }

    /// Does the same from a task.
    pub async fn command_soon(&self, command: UserCommand, by: RequestedBy) {
        _ = self.wishes.send(Wish::Command { command, by }).await; // the run is over
    }

    /// Asks the loop for something, and waits for the answer.
    pub async fn ask(&self, request: Request) -> Reply {
        control::answer(request, &self.asked).await
    }

    /// Where requests go that others ask for their replies.
    pub fn requests(&self) -> mpsc::Sender<Asked> {
        self.asked.clone()
    }

    /// Tells whether the pause file is there. Waits for a loop that is behind: nothing would tell again.
    pub fn pause_file(&self, present: bool) {
        _ = self.wishes.blocking_send(Wish::PauseFile { present }); // the run is over
    }

    /// Types into the running agent's terminal; nowhere if none runs.
    pub fn type_bytes(&self, bytes: Vec<u8>) {
        self.send(Wish::Type(bytes));
    }

    /// Gives the agents' terminal the size of the pane that shows it, now and in later iterations.
    pub fn resize(&self, size: Size) {
        self.send(Wish::Resize(size));
    }

    /// Does the same from a task.
    pub async fn resize_soon(&self, size: Size) {
        _ = self.wishes.send(Wish::Resize(size)).await; // the run is over
    }

    /// Tells that the user has left the screen.
    pub fn leave(&self) {
        self.send(Wish::Leave);
    }

    /// Tells that there is no screen any more on which the run could stay after its end.
    pub fn unwatch(&self) {
        self.send(Wish::Unwatch);
    }

    fn send(&self, wish: Wish) {
        let deadline = Instant::now() + PATIENCE;
        let mut wish = wish;
        while let Err(TrySendError::Full(back)) = self.wishes.try_send(wish) {
            if Instant::now() >= deadline {
                return; // the loop has hung: a screen that hung with it could not even be left
            }
            wish = back;
            thread::sleep(PAUSE);
        }
        // Closed when the run is over: then it means nothing.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_for_a_loop_that_is_behind_and_is_not_lost() {
        let (handle, mut inbox) = Handle::new();
        for _ in 0..WISHES {
            handle.type_bytes(b"k".to_vec());
        }
        let commanding = thread::spawn(move || handle.command(UserCommand::Pause, RequestedBy::User));
        let taken = std::iter::from_fn(|| inbox.wishes.blocking_recv());
        let commanded = taken.skip(WISHES).any(|wish| matches!(wish, Wish::Command { .. }));
        assert!(commanded, "the command is behind the keys");
        commanding.join().unwrap();
    }
}
