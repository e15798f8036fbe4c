//! The frame loop that the screens of a run and of a batch share: input, redraws, suspension and exit.
//!
//! A frame is drawn only after a change, at most every 33 ms, and sooner after a key. While the terminal is lent to
//! another program, nothing is drawn and keys are dropped.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crossterm::event::Event as Input;
use ralph_core::event::RequestedBy;

use super::{
    inputs::{RenderedTerminal, ScreenInput},
    order::ScreenEvent,
    screen_terminal::ScreenTerminal,
    terminal,
};

/// Why a screen closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenExit {
    /// The event source has ended.
    Over,
    /// The user has acknowledged the end.
    Seen,
    /// The user left a run or batch that goes on.
    Detached,
    /// The user wants to continue a finished run with a raised limit.
    Continued,
    Signalled(RequestedBy),
}

/// The next step of the loop after an input or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameStep {
    Next,
    /// Draws everything again: other programs may have drawn on the terminal.
    Redraw,
    /// Stops this process until it is continued, like Ctrl-Z in a shell.
    Suspend,
    Leave(ScreenExit),
}

/// The state of a screen's event source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceState {
    Open,
    /// It has ended; the screen waits for its user.
    Ended,
    /// It has ended, and the screen closes.
    Closed,
}

/// A screen that the frame loop runs.
pub(super) trait LoopScreen {
    fn terminal(&mut self) -> &mut ScreenTerminal;

    fn source(&self) -> SourceState;

    /// Handles the next event of the source. Waits for it until `deadline`, or indefinitely without one; an input in
    /// the mailbox ends the wait.
    fn poll(&mut self, deadline: Option<Instant>) -> io::Result<FrameStep>;

    /// The time of the next change of a shown clock.
    fn next_tick(&mut self) -> Option<Instant>;

    /// Advances the shown clocks.
    fn pass_time(&mut self);

    fn apply(&mut self, event: ScreenEvent) -> io::Result<FrameStep>;

    /// Takes a terminal that a job has rendered.
    fn take_rendered(&mut self, _rendered: RenderedTerminal) -> io::Result<FrameStep> {
        Ok(FrameStep::Next)
    }

    fn signalled(&mut self, by: RequestedBy) -> io::Result<FrameStep>;

    /// Called after a suspension of this process.
    fn resumed(&mut self, _away: Duration) {}

    /// Called when the program to which the terminal was lent has ended, with its error, if any.
    fn returned(&mut self, failure: Option<String>);

    /// Adapts to a terminal of this size, all of which is drawn again.
    fn resize(&mut self, cols: u16, rows: u16);

    fn draw(&mut self) -> io::Result<()>;
}

/// Runs a screen until it closes. The caller gives the terminal back.
///
/// # Errors
/// Errors of the terminal.
pub(super) fn run(screen: &mut impl LoopScreen) -> io::Result<ScreenExit> {
    loop {
        match turn(screen) {
            Ok(FrameStep::Leave(left)) => return Ok(left),
            Ok(FrameStep::Next | FrameStep::Redraw | FrameStep::Suspend) => {}
            // A terminal that is closed fails before its signal has arrived.
            Err(_) if terminal::is_gone() => return Ok(ScreenExit::Signalled(RequestedBy::Hangup)),
            Err(error) => return Err(error),
        }
    }
}

/// Receives a message. Waits for it until `deadline`, or indefinitely without one.
pub(super) fn receive<T>(receiver: &Receiver<T>, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
    match deadline {
        Some(deadline) => receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

fn turn(screen: &mut impl LoopScreen) -> io::Result<FrameStep> {
    while let Ok(arrived) = screen.terminal().arrivals.try_recv() {
        let step = take(screen, arrived)?;
        if step != FrameStep::Next {
            return Ok(step);
        }
    }
    if screen.terminal().is_due() {
        screen.draw()?;
    }
    let deadline = deadline(screen);
    let step = match screen.source() {
        SourceState::Open => screen.poll(deadline)?,
        SourceState::Ended | SourceState::Closed => match receive(&screen.terminal().arrivals, deadline) {
            Ok(arrived) => return take(screen, arrived),
            Err(RecvTimeoutError::Timeout) => {
                screen.pass_time();
                FrameStep::Next
            }
            Err(RecvTimeoutError::Disconnected) => FrameStep::Leave(ScreenExit::Over),
        },
    };
    if screen.source() == SourceState::Closed && !screen.terminal().is_lent() {
        return Ok(FrameStep::Leave(ScreenExit::Over));
    }
    follow(screen, step)
}

/// The time of the next redraw if nothing arrives.
fn deadline(screen: &mut impl LoopScreen) -> Option<Instant> {
    if screen.terminal().is_lent() {
        return None;
    }
    match screen.terminal().next_frame() {
        Some(due) => Some(due),
        None => screen.next_tick(),
    }
}

fn take(screen: &mut impl LoopScreen, arrived: ScreenInput) -> io::Result<FrameStep> {
    let is_lent = screen.terminal().is_lent();
    let step = match arrived {
        // Typed ahead, and meant for the program that has the terminal now.
        ScreenInput::Ui(ScreenEvent::Input(input)) if is_lent && !matches!(input, Input::Resize(..)) => FrameStep::Next,
        ScreenInput::Ui(event) => {
            screen.terminal().pressed |= matches!(event, ScreenEvent::Input(_));
            screen.apply(event)?
        }
        ScreenInput::Rendered(rendered) => screen.take_rendered(rendered)?,
        ScreenInput::Background(found) => {
            screen.terminal().found_background(found);
            FrameStep::Next
        }
        ScreenInput::Returned(failure) => {
            let is_closed = screen.source() == SourceState::Closed;
            screen.terminal().take_back(!is_closed)?;
            screen.returned(failure);
            match is_closed {
                true => FrameStep::Leave(ScreenExit::Over),
                false => FrameStep::Redraw,
            }
        }
        // The program that has the terminal was stopped and continued.
        ScreenInput::Stop | ScreenInput::Continued if is_lent => FrameStep::Next,
        ScreenInput::Stop => FrameStep::Suspend,
        ScreenInput::Continued => {
            // The terminal's settings may have changed while this process was stopped.
            terminal::take(screen.terminal().mouse)?;
            FrameStep::Redraw
        }
        ScreenInput::End(by) => screen.signalled(by)?,
    };
    follow(screen, step)
}

/// Carries out a step. Returns what is left of it.
fn follow(screen: &mut impl LoopScreen, step: FrameStep) -> io::Result<FrameStep> {
    match step {
        FrameStep::Next | FrameStep::Leave(_) => return Ok(step),
        FrameStep::Redraw => {}
        FrameStep::Suspend => {
            let away = screen.terminal().suspend()?;
            screen.resumed(away);
        }
    }
    let (cols, rows) = crossterm::terminal::size()?;
    screen.resize(cols, rows);
    screen.terminal().forget_frame(cols, rows)?;
    Ok(FrameStep::Next)
}
