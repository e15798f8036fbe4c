//! Where inputs come from, besides agent, timers and jobs.

use std::{future::pending, io};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, oneshot},
};

use crate::{
    control::{Reply, Request},
    machine::Input,
    os::{signals, watch::PresenceWatch},
    store::paths::ProjectPaths,
};

use super::{
    handle::Wish,
    listener::{Asked, Listener},
};

const REQUESTS: usize = 64;

/// What the loop was waiting for.
pub(super) enum Arrived {
    /// It is time to look at the clocks.
    Nothing,
    Input(Input),
    Asked(Request, oneshot::Sender<Reply>),
    Wish(Wish),
    Resized,
}

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
    pub(super) fn open(paths: &ProjectPaths, paused: bool, inputs: mpsc::Sender<Input>) -> io::Result<Self> {
        let (asked_in, asked) = mpsc::channel(REQUESTS);
        let watch = PresenceWatch::start(&paths.pause_file(), paused, move |present| {
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
            listener: Some(
                paths
                    .make_socket_dir()
                    .and_then(|()| Listener::open(&paths.socket(), asked_in)),
            ),
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
