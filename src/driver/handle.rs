//! What a face in this process can do to the loop.

use std::{
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{self, error::TrySendError};

use crate::{command::UserCommand, event::RequestedBy, proc::Size};

/// Wishes under way to the loop; a user is far slower than it.
const WISHES: usize = 256;
/// How long a face waits for a loop that is behind: a disk may keep it for a while, and a command must not be lost to that.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Reaches the loop from another thread. The loop goes on without it.
#[derive(Debug, Clone)]
pub struct Handle(mpsc::Sender<Wish>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Command { command: UserCommand, by: RequestedBy },
    Type(Vec<u8>),
    Resize(Size),
    Leave,
    Unwatch,
}

impl Handle {
    pub(super) fn new() -> (Self, mpsc::Receiver<Wish>) {
        let (sender, wishes) = mpsc::channel(WISHES);
        (Self(sender), wishes)
    }

    /// Asks the loop for something; what comes of it is in the records. After the run it means nothing.
    pub fn command(&self, command: UserCommand, by: RequestedBy) {
        self.send(Wish::Command { command, by });
    }

    /// Types into the running agent's terminal; nowhere if none runs.
    pub fn type_bytes(&self, bytes: Vec<u8>) {
        self.send(Wish::Type(bytes));
    }

    /// Gives the agents' terminal the size of the pane that shows it, now and in later iterations.
    pub fn resize(&self, size: Size) {
        self.send(Wish::Resize(size));
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
        while let Err(TrySendError::Full(back)) = self.0.try_send(wish) {
            if Instant::now() >= deadline {
                return; // the loop has hung: a face that hung with it could not even be left
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
        let (handle, mut wishes) = Handle::new();
        for _ in 0..WISHES {
            handle.type_bytes(b"k".to_vec());
        }
        let commanding = thread::spawn(move || handle.command(UserCommand::Pause, RequestedBy::User));
        let taken = std::iter::from_fn(|| wishes.blocking_recv());
        let commanded = taken.skip(WISHES).any(|wish| matches!(wish, Wish::Command { .. }));
        assert!(commanded, "the command is behind the keys");
        commanding.join().unwrap();
    }
}
