//! What a face in this process can do to the loop.

use tokio::sync::mpsc;

use crate::{command::UserCommand, event::RequestedBy, proc::Size};

/// Wishes under way to the loop; a user is far slower than it.
const WISHES: usize = 256;

/// Reaches the loop from another thread. The loop goes on without it.
#[derive(Debug, Clone)]
pub struct Handle(mpsc::Sender<Wish>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Command { command: UserCommand, by: RequestedBy },
    Type(Vec<u8>),
    Resize(Size),
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

    fn send(&self, wish: Wish) {
        // Full only if the loop has hung, closed when the run is over: nothing a face could do about either.
        _ = self.0.try_send(wish);
    }
}
