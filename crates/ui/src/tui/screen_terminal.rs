//! Takes the terminal for a screen: keys, size and signals arrive in a mailbox, and the bytes of a frame leave at once.

use std::{
    cell::RefCell,
    io::{self, Write},
    rc::Rc,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use ratatui::{Frame, Terminal, TerminalOptions, Viewport, backend::CrosstermBackend, layout::Rect};
use thiserror::Error;

use super::{
    inputs::{self, Mailbox, ScreenInput},
    source::WakeCallback,
    terminal,
    terminal_ownership::TerminalOwnership,
    theme::Theme,
};

/// A failure to open the screen.
#[derive(Debug, Error)]
pub enum ScreenError {
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    #[error("keys and signals cannot be received")]
    Inputs(#[source] io::Error),
}

/// A terminal taken for a screen, and its input.
pub(super) struct ScreenTerminal {
    pub(super) mailbox: Mailbox,
    pub(super) arrivals: Receiver<ScreenInput>,
    /// In columns and rows.
    pub(super) size: (u16, u16),
    /// The latest time of the first frame.
    pub(super) first_frame: Instant,
    pub(super) ownership: TerminalOwnership,
}

impl ScreenTerminal {
    /// Takes the terminal. The caller has to give it back.
    ///
    /// # Errors
    /// [`ScreenError`] if the terminal cannot be used.
    pub(super) fn take(wake: WakeCallback, theme: &Theme, mouse: bool) -> Result<ScreenTerminal, ScreenError> {
        let (mailbox, arrivals) = Mailbox::new(wake);
        let size = crossterm::terminal::size().map_err(ScreenError::Terminal)?;
        inputs::watch_signals(mailbox.clone()).map_err(ScreenError::Inputs)?;
        terminal::take(mouse).map_err(ScreenError::Terminal)?;
        let ownership = TerminalOwnership::default();
        let asks = theme.goes_by_background() && inputs::can_be_asked();
        inputs::read_keys(mailbox.clone(), asks, ownership.clone()).map_err(ScreenError::Inputs)?;
        // A user who sees a frame may press any key, and until the terminal has answered only some keys are recognised.
        // The key thread reports the end of that time.
        let first_frame = Instant::now() + if asks { inputs::ANSWER_PATIENCE } else { Duration::ZERO };
        Ok(ScreenTerminal {
            mailbox,
            arrivals,
            size,
            first_frame,
            ownership,
        })
    }
}

/// Collects the bytes of a frame, so that they are written at once.
#[derive(Debug, Clone, Default)]
pub(super) struct FrameBytes(Rc<RefCell<Vec<u8>>>);

impl FrameBytes {
    /// Appends bytes to the frame.
    pub(super) fn push(&self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }

    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

impl Write for FrameBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Turns frames into bytes. A frame has the size of its layout: one that followed the user's terminal could be smaller
/// than what is drawn in it.
pub(super) type FrameTerminal = Terminal<CrosstermBackend<FrameBytes>>;

/// Creates a terminal for frames of `size`, in columns and rows, whose bytes are collected in `frame`.
///
/// # Errors
/// Errors of the terminal.
pub(super) fn frame_terminal(frame: &FrameBytes, (cols, rows): (u16, u16)) -> io::Result<FrameTerminal> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, cols, rows));
    Terminal::with_options(CrosstermBackend::new(frame.clone()), TerminalOptions { viewport })
}

/// Draws a frame of `size`, in columns and rows, as synchronized output: terminals that support it show the frame at
/// once.
///
/// # Errors
/// Errors of the terminal.
pub(super) fn draw_frame(
    terminal: &mut FrameTerminal,
    (cols, rows): (u16, u16),
    render: impl FnOnce(&mut Frame<'_>),
) -> io::Result<()> {
    terminal.backend_mut().write_all(b"\x1b[?2026h")?;
    let area = Rect::new(0, 0, cols, rows);
    if terminal.get_frame().area() != area {
        terminal.resize(area)?;
    }
    terminal.draw(render)?;
    terminal.backend_mut().write_all(b"\x1b[?2026l")
}
