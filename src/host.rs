//! The session host: connects a run to the system around it.
//!
//! Signals, the size of the terminal, the pause file and the control socket become commands to the driver, which knows
//! none of them: a loop can also run without signals, or in a process whose signals belong to other code.

use std::{convert::Infallible, fs::File, future::pending, io, path::PathBuf};

use futures_util::future::LocalBoxFuture;
use ralph_core::event::{Notice, RequestedBy, StopReason, StopRequest, UserCommand};
use ralph_driver::{Driver, DriverError, LoopHandle};
use ralph_state::control::frames::ScreenFacts;
use ralph_system::{
    os::{signals, watch::PresenceWatch},
    paths::ProjectPaths,
    proc::{Size, Starter},
};
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug, Error)]
pub(crate) enum HostError {
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error("signals cannot be received")]
    Signals(#[source] io::Error),
    #[error("{path}: no screen can reach the loop", path = path.display())]
    Unreachable { path: PathBuf, source: io::Error },
    #[error("the process that started the loop has ended")]
    Abandoned(#[source] io::Error),
}

/// Makes a run reachable for other processes, at its socket and wherever else it listens.
pub(crate) type Serve = Box<dyn FnOnce(&Driver, ScreenFacts) -> io::Result<Box<dyn ServedRun>>>;

/// A run that other processes reach.
pub(crate) trait ServedRun {
    /// Stops accepting connections, so that later clients find no socket instead of a silent one.
    fn stop_listening(&self, exit: Option<u8>);

    /// Waits until clients have read their last answers.
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()>;
}

/// The process that has started this one as a loop, and the file for this one's output once it has no terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DetachedFrom<'a> {
    pub(crate) starter: &'a Starter,
    pub(crate) output: &'a File,
}

/// The signals of this process.
#[derive(Debug)]
pub(crate) struct ProcessSignals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`.
    hangup: Option<Signal>,
    resized: Signal,
}

impl ProcessSignals {
    /// Drives a run until it is over and completely shown, and returns why it is over. `measure` returns the size of
    /// the agents' terminal after this process's own has changed. `shown` is the information for screens of other
    /// processes, which reach the run by `serve`; `behind` is set if one of them has started this process.
    ///
    /// # Errors
    /// [`HostError::Driver`] as [`Driver::run`]; the others before anything is started.
    pub(crate) async fn drive(
        mut driver: Driver,
        paths: &ProjectPaths,
        measure: Option<fn() -> Size>,
        shown: ScreenFacts,
        serve: Option<Serve>,
        behind: Option<DetachedFrom<'_>>,
    ) -> Result<StopReason, HostError> {
        let run = shown.run.clone();
        let mut host = Self::open().map_err(HostError::Signals)?;
        let handle = driver.handle();
        let watch = PresenceWatch::start(&paths.pause_file(), driver.saw_pause_file(), {
            let handle = handle.clone();
            move |present| handle.pause_file(present)
        });
        let plan_watch = PresenceWatch::start(&driver.plan_file(), true, {
            let handle = handle.clone();
            move |_| handle.plan_written()
        });
        let served = match serve.map(|serve| serve(&driver, shown)).transpose() {
            Ok(served) => served,
            // Without a socket no screen could show the loop, and only a signal could end it.
            Err(source) if behind.is_some() => {
                return Err(HostError::Unreachable {
                    path: paths.socket(),
                    source,
                });
            }
            Err(error) => {
                let text = format!(
                    "no steering from other terminals: {}: {error}",
                    paths.socket().display()
                );
                driver.notice(Notice::warning("socket-unavailable", text));
                None
            }
        };
        if let Some(DetachedFrom { starter, output }) = behind {
            let unwatched = handle.clone();
            let ready = starter.ready(&run.0, output, move || unwatched.unwatch());
            ready.map_err(HostError::Abandoned)?;
        }
        let result = tokio::select! {
            result = driver.run() => result,
            never = host.forward(&handle, measure) => match never {},
        };
        drop((watch, plan_watch));
        if let Some(served) = &served {
            served.stop_listening(result.as_ref().ok().map(StopReason::exit_code));
        }
        if let Some(DetachedFrom { starter, .. }) = behind {
            starter.over();
        }
        let interrupted = async { _ = host.stop().await };
        driver.wait_until_shown(result.is_err(), interrupted).await;
        if let Some(served) = served {
            served.close().await;
        }
        Ok(result?)
    }

    fn open() -> io::Result<Self> {
        let unless_ignored =
            |wanted| (!signals::is_ignored(wanted)).then(|| signal(SignalKind::from_raw(wanted as i32)));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: unless_ignored(nix::sys::signal::Signal::SIGHUP).transpose()?,
            resized: signal(SignalKind::window_change())?,
        })
    }

    /// Turns signals into commands.
    async fn forward(&mut self, handle: &LoopHandle, measure: Option<fn() -> Size>) -> Infallible {
        let command = UserCommand::Stop {
            stop: StopRequest::Graceful,
        };
        loop {
            match (self.next().await, measure) {
                (RunSignal::Stop(by), _) => handle.command_soon(command.clone(), by).await,
                (RunSignal::Resized, Some(measure)) => handle.resize_soon(measure()).await,
                (RunSignal::Resized, None) => {}
            }
        }
    }

    /// Waits for the next signal that stops the run.
    async fn stop(&mut self) -> RequestedBy {
        loop {
            if let RunSignal::Stop(by) = self.next().await {
                return by;
            }
        }
    }

    /// Waits for the next signal. Cancel safe.
    async fn next(&mut self) -> RunSignal {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => RunSignal::Stop(RequestedBy::Interrupt),
            _ = self.terminate.recv() => RunSignal::Stop(RequestedBy::Terminate),
            () = received(&mut self.hangup) => RunSignal::Stop(RequestedBy::Hangup),
            _ = self.resized.recv() => RunSignal::Resized,
        }
    }
}

/// The meaning of a signal for the run.
enum RunSignal {
    Stop(RequestedBy),
    Resized,
}

/// Waits for a signal; for ever if it is `None`.
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => pending().await,
    }
}
