//! Where inputs come from, besides agent, timers and jobs.

use std::{future::pending, io, path::Path};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use crate::{
    host::{signals, watch::PresenceWatch},
    machine::Input,
};

use super::listener::{Asked, Listener};

const REQUESTS: usize = 64;

/// Signals, requests and the pause file, until it is dropped.
pub(super) struct Sources {
    pub(super) interrupt: Signal,
    pub(super) terminate: Signal,
    /// None under `nohup`.
    pub(super) hangup: Option<Signal>,
    pub(super) resized: Signal,
    pub(super) asked: mpsc::Receiver<Asked>,
    pub(super) listener: Option<io::Result<Listener>>,
    _watch: PresenceWatch,
}

impl Sources {
    /// Opens them all. Changes of the pause file go to `inputs`, first its presence now if that is not `paused`.
    pub(super) fn open(
        pause_file: &Path,
        paused: bool,
        socket: &Path,
        inputs: mpsc::Sender<Input>,
    ) -> io::Result<Self> {
        let (asked_in, asked) = mpsc::channel(REQUESTS);
        let watch = PresenceWatch::start(pause_file, paused, move |present| {
            _ = inputs.blocking_send(Input::PauseFile { present }); // the run is over
        });
        let unless_ignored =
            |wanted| (!signals::is_ignored(wanted)).then(|| signal(SignalKind::from_raw(wanted as i32)));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: unless_ignored(nix::sys::signal::Signal::SIGHUP).transpose()?,
            resized: signal(SignalKind::window_change())?,
            asked,
            listener: Some(Listener::open(socket, asked_in)),
            _watch: watch,
        })
    }
}

impl Sources {
    /// Takes no more requests: whoever asks now finds nobody, instead of somebody who does not answer. Waits until the
    /// replies to those that were taken are written.
    pub(super) async fn hang_up(&mut self) {
        self.asked.close();
        // Each of them is told that the run is over.
        while self.asked.try_recv().is_ok() {}
        if let Some(Ok(listener)) = self.listener.take() {
            listener.close().await;
        }
    }
}

/// Waits for a signal, for ever if it is none to wait for.
pub(super) async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => pending().await,
    }
}
