//! What reaches the screen from outside of the loop: keys, signals, results of jobs. Each from a thread of its own.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use crossterm::event::Event;
use tokio::signal::unix::{SignalKind, signal};

use crate::{event::RequestedBy, proc::screen::Screen};

use super::{source::Wake, update::ScreenEvent};

/// What arrived.
pub(super) enum Arrived {
    Ui(ScreenEvent),
    /// A recording that was read.
    Recording {
        iteration: u32,
        screen: Result<Box<Screen>, String>,
    },
    /// SIGTSTP.
    Stop,
    /// SIGCONT.
    Continued,
    /// A signal that ends programs.
    End(RequestedBy),
}

/// Sends to the screen and wakes it.
#[derive(Clone)]
pub(super) struct Mailbox {
    sender: Sender<Arrived>,
    wake: Arc<Wake>,
}

impl Mailbox {
    pub(super) fn new(wake: Wake) -> (Self, Receiver<Arrived>) {
        let (sender, receiver) = mpsc::channel();
        let mailbox = Self {
            sender,
            wake: Arc::new(wake),
        };
        (mailbox, receiver)
    }

    /// Returns false when the screen is gone.
    pub(super) fn send(&self, arrived: Arrived) -> bool {
        let sent = self.sender.send(arrived).is_ok();
        (self.wake)();
        sent
    }
}

/// Reads keys until the terminal is gone. The thread outlives the screen: only a key would end its wait.
///
/// # Errors
/// If there can be no thread.
pub(super) fn read_keys(mailbox: Mailbox) -> io::Result<()> {
    let keys = move || {
        while let Ok(event) = crossterm::event::read() {
            // A terminal that tells of focus was asked by somebody else.
            let wanted = !matches!(event, Event::FocusGained | Event::FocusLost);
            if wanted && !mailbox.send(Arrived::Ui(ScreenEvent::Input(event))) {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".to_owned()).spawn(keys).map(drop)
}

/// Listens for signals until the screen is gone.
///
/// # Errors
/// If they cannot be received.
pub(super) fn watch_signals(mailbox: Mailbox) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut stop, mut go_on, mut end) = {
        let _entered = runtime.enter();
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let ends = kinds.map(signal).into_iter().collect::<io::Result<Vec<_>>>()?;
        let kind = |signal: nix::sys::signal::Signal| SignalKind::from_raw(signal as i32);
        (
            signal(kind(nix::sys::signal::Signal::SIGTSTP))?,
            signal(kind(nix::sys::signal::Signal::SIGCONT))?,
            ends,
        )
    };
    let watch = async move {
        let [terminate, interrupt, hangup] = &mut end[..] else {
            return;
        };
        loop {
            let arrived = tokio::select! {
                _ = stop.recv() => Arrived::Stop,
                _ = go_on.recv() => Arrived::Continued,
                _ = terminate.recv() => Arrived::End(RequestedBy::Terminate),
                _ = interrupt.recv() => Arrived::End(RequestedBy::Interrupt),
                _ = hangup.recv() => Arrived::End(RequestedBy::Hangup),
            };
            if !mailbox.send(arrived) {
                return;
            }
        }
    };
    let signals = move || runtime.block_on(watch);
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(signals)
        .map(drop)
}
