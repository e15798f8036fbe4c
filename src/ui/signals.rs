//! Handles signals to a process that shows another process's run, while no screen handles them.

use std::{io, process, sync::Arc, thread};

use nix::sys::signal::Signal;
use parking_lot::Mutex;
use ralph_core::event::RequestedBy;
use ralph_system::proc::signal_loop;
use ralph_ui::tui;
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// The effect of a terminating signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalEffect {
    /// Ends this process alone.
    Leave,
    /// SIGINT and SIGTERM stop the loop with this process id, which this process has started; SIGHUP leaves it running.
    Stop(u32),
    /// Left to the screen.
    OfScreen,
}

/// Listens for signals until the process ends.
#[derive(Debug, Clone)]
pub(crate) struct TerminalSignals(Arc<Mutex<SignalEffect>>);

impl TerminalSignals {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the thread or the signal handlers cannot be set up.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = Self(Arc::new(Mutex::new(SignalEffect::Leave)));
        let heard = signals.clone();
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate, mut hangup) = {
            let _entered = runtime.enter();
            (
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            )
        };
        let listen = async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => heard.receive(RequestedBy::Interrupt, Signal::SIGINT),
                    _ = terminate.recv() => heard.receive(RequestedBy::Terminate, Signal::SIGTERM),
                    _ = hangup.recv() => heard.receive(RequestedBy::Hangup, Signal::SIGHUP),
                }
            }
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(listen))?;
        Ok(signals)
    }

    /// Sets the effect of signals from here on.
    pub(crate) fn mean(&self, meaning: SignalEffect) {
        *self.0.lock() = meaning;
    }

    fn receive(&self, by: RequestedBy, signal: Signal) {
        let meaning = *self.0.lock();
        match meaning {
            SignalEffect::OfScreen => {}
            SignalEffect::Stop(pid) if by != RequestedBy::Hangup => signal_loop(pid, signal),
            SignalEffect::Leave | SignalEffect::Stop(_) => {
                tui::terminal::give_back();
                process::exit(i32::from(code_of(by)));
            }
        }
    }
}

/// The exit code of a program ended by a signal.
pub(crate) fn code_of(by: RequestedBy) -> u8 {
    let signal = match by {
        RequestedBy::Hangup => 1,
        RequestedBy::Interrupt | RequestedBy::User => 2,
        RequestedBy::Terminate => 15,
    };
    128 + signal
}
