//! Input sources of the screen besides the loop: keys, signals and job results. Each has its own thread.

use std::{
    io::{self, IsTerminal},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{Event, poll, read};
use ralph_core::event::RequestedBy;
use ralph_system::proc::screen::Screen;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    background::{BackgroundColour, FilterResult, QUESTION, ReplyFilter},
    model::Overlay,
    order::ScreenEvent,
    source::WakeCallback,
    terminal,
    terminal_ownership::{TerminalOwnership, stop_group},
};

/// Time limit for the terminal's answer about its background, before the first frame is drawn.
const ANSWER: Duration = Duration::from_millis(80);
/// Time limit for the thread that reads that answer, which a busy machine may start late.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// Time limit for the rest of an answer that has begun.
const REST_OF_ANSWER: Duration = Duration::from_millis(50);

/// An input of the screen.
pub(super) enum ScreenInput {
    Ui(ScreenEvent),
    Rendered(RenderedTerminal),
    /// The terminal's background; `None` if the terminal did not answer in time.
    Background(Option<BackgroundColour>),
    /// The program to which the terminal was lent has ended, with its error, if any.
    Returned(Option<String>),
    /// SIGTSTP.
    Stop,
    /// SIGCONT.
    Continued,
    /// A terminating signal.
    End(RequestedBy),
}

/// A terminal that a job has rendered, or why not.
pub(super) enum RenderedTerminal {
    Recording {
        iteration: u32,
        screen: Result<Box<Screen>, String>,
    },
    Overlay {
        overlay: Overlay,
        screen: Result<Box<Screen>, String>,
    },
}

/// Sends input to the screen and wakes it.
#[derive(Clone)]
pub(super) struct Mailbox {
    sender: Sender<ScreenInput>,
    wake: Arc<WakeCallback>,
    /// Set while this process stops itself: its own SIGTSTP is no order to stop, however late it is read.
    stops_itself: Arc<AtomicBool>,
}

impl Mailbox {
    pub(super) fn new(wake: WakeCallback) -> (Self, Receiver<ScreenInput>) {
        let (sender, receiver) = mpsc::channel();
        let mailbox = Self {
            sender,
            wake: Arc::new(wake),
            stops_itself: Arc::default(),
        };
        (mailbox, receiver)
    }

    /// Returns false if the screen is gone.
    pub(super) fn send(&self, arrived: ScreenInput) -> bool {
        let sent = self.sender.send(arrived).is_ok();
        (self.wake)();
        sent
    }

    /// Stops this process and its group, and returns after it was continued. This stop does not arrive as
    /// [`ScreenInput::Stop`].
    ///
    /// # Errors
    /// As [`stop_group`].
    pub(super) fn stop_group(&self) -> io::Result<()> {
        self.stops_itself.store(true, Ordering::Release);
        stop_group()
    }
}

/// Whether the terminal can be queried: its answers arrive on stdin, which must be a terminal.
pub(super) fn can_be_asked() -> bool {
    io::stdin().is_terminal()
}

/// Starts a thread that reads keys until the terminal is gone; with `asks` it first asks the terminal for its
/// background. The thread outlives the screen: only a key would end its wait.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn read_keys(mailbox: Mailbox, asks: bool, ownership: TerminalOwnership) -> io::Result<()> {
    let keys = move || match asks {
        true => _ = ask_and_read(&mailbox, &ownership),
        false => while read_own(&ownership).is_ok_and(|event| send_input(&mailbox, event)) {},
    };
    thread::Builder::new().name("keys".to_owned()).spawn(keys).map(drop)
}

/// Reads the next event, but not while the terminal is lent.
fn read_own(ownership: &TerminalOwnership) -> io::Result<Event> {
    ownership.wait_until_owned();
    read()
}

/// Returns false if the screen is gone.
fn send_input(mailbox: &Mailbox, event: Event) -> bool {
    // Focus events are dropped: ralph did not request them.
    matches!(event, Event::FocusGained | Event::FocusLost) || mailbox.send(ScreenInput::Ui(ScreenEvent::Input(event)))
}

/// Asks for the background, then reads keys until the terminal or the screen is gone.
fn ask_and_read(mailbox: &Mailbox, ownership: &TerminalOwnership) -> io::Result<()> {
    // From here on crossterm also reports resizes.
    poll(Duration::ZERO)?;
    terminal::ask(QUESTION)?;
    // The first frame waits for this.
    let mut until = Some(Instant::now() + ANSWER);
    let mut replies = ReplyFilter::default();
    loop {
        let patience = match replies.is_midway() {
            true => Some(REST_OF_ANSWER),
            false => until.map(|until| until.saturating_duration_since(Instant::now())),
        };
        let filtered = match patience {
            Some(patience) if !poll(patience)? => replies.give_up(None),
            Some(_) | None => replies.take(read_own(ownership)?),
        };
        match filtered {
            FilterResult::Held => {}
            FilterResult::Background(background) => {
                terminal::answered();
                until = None;
                mailbox.send(ScreenInput::Background(Some(background)));
            }
            FilterResult::Keys(events) => {
                if !events.into_iter().all(|event| send_input(mailbox, event)) {
                    return Ok(());
                }
                if until.is_some_and(|until| until <= Instant::now()) {
                    until = None;
                    mailbox.send(ScreenInput::Background(None));
                }
            }
        }
    }
}

/// Listens for signals until the screen is gone.
///
/// # Errors
/// If signals cannot be received.
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
                // A stop comes before the continuation after it, and so does the end of a terminal, which continues its
                // processes.
                biased;
                _ = hangup.recv() => ScreenInput::End(RequestedBy::Hangup),
                _ = stop.recv() => match mailbox.stops_itself.load(Ordering::Acquire) {
                    true => continue,
                    false => ScreenInput::Stop,
                },
                _ = go_on.recv() => {
                    // The system drops a SIGTSTP that was not handled before SIGCONT.
                    mailbox.stops_itself.store(false, Ordering::Release);
                    ScreenInput::Continued
                }
                _ = terminate.recv() => ScreenInput::End(RequestedBy::Terminate),
                _ = interrupt.recv() => ScreenInput::End(RequestedBy::Interrupt),
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
