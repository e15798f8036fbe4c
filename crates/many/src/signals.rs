//! Receives the signals of a batch's process on a thread of their own.

use std::{io, thread};

use nix::sys::signal::Signal;
use ralph_plan::batch::StoppedBy;
use ralph_system::os::signals::is_ignored;
use tokio::signal::unix::{SignalKind, signal};

/// Calls `stop` for every signal that asks this process to end.
///
/// # Errors
/// [`io::Error`] if signals cannot be received.
pub(super) fn on_each(stop: impl Fn(StoppedBy) + Send + Sync + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _entered = runtime.enter();
        let hangup = SignalKind::hangup();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            // `nohup` ignores the signal, and it stays ignored.
            (!is_ignored(Signal::SIGHUP)).then(|| signal(hangup)).transpose()?,
        )
    };
    let listen = async move {
        loop {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            stop(tokio::select! {
                _ = interrupt.recv() => StoppedBy::Interrupt,
                _ = terminate.recv() => StoppedBy::Terminate,
                _ = hung_up => StoppedBy::HangUp,
            });
        }
    };
    let named = thread::Builder::new().name("signals".to_owned());
    // The thread ends with the process.
    named.spawn(move || runtime.block_on(listen)).map(drop)
}
