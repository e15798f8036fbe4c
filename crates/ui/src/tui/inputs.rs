//! Input sources of the screen besides the loop: keys, signals and job results. Each has its own thread.

use std::{
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{Event, poll, read};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use ralph_core::event::RequestedBy;
use ralph_system::proc::screen::Screen;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    background::{BackgroundColour, FilterResult, LateReplyFilter, QUESTION, TerminalInput, TerminalInputParser},
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
    // From here on crossterm also reports resizes. It reads no keys yet.
    poll(Duration::ZERO)?;
    terminal::ask(QUESTION)?;
    let found = read_answers(mailbox)?;
    mailbox.send(ScreenInput::Background(found));
    let mut late = LateReplyFilter::default();
    loop {
        let filtered = match late.is_midway() && !poll(REST_OF_ANSWER)? {
            true => late.give_up(None),
            false => late.take(read_own(ownership)?),
        };
        match filtered {
            FilterResult::Held => {}
            FilterResult::Background(background) => {
                terminal::answered();
                mailbox.send(ScreenInput::Background(Some(background)));
            }
            FilterResult::Keys(events) => {
                if !events.into_iter().all(|event| send_input(mailbox, event)) {
                    return Ok(());
                }
            }
        }
    }
}

/// Reads the terminal's answers to [`QUESTION`] until the last one or the time limit. Keys typed meanwhile are sent on.
fn read_answers(mailbox: &Mailbox) -> io::Result<Option<BackgroundColour>> {
    let stdin = io::stdin();
    let (mut parser, mut found) = (TerminalInputParser::default(), None);
    let mut until = Instant::now() + ANSWER;
    let mut bytes = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut ready = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match nix::poll::poll(&mut ready, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let count = match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let mut is_last = false;
        for input in parser.take(&bytes[..count]) {
            match input {
                TerminalInput::Background(background) => found = Some(background),
                TerminalInput::Last => is_last = true,
                TerminalInput::Key(key) => _ = send_input(mailbox, Event::Key(key)),
                TerminalInput::Paste(text) => _ = send_input(mailbox, Event::Paste(text)),
            }
        }
        if is_last {
            terminal::answered();
            break;
        }
        // The rest of a sequence would be read as keys.
        if parser.is_midway() {
            until = until.max(Instant::now() + REST_OF_ANSWER);
        }
    }
    if let Some(TerminalInput::Key(key)) = parser.finish() {
        send_input(mailbox, Event::Key(key));
    }
    Ok(found)
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
