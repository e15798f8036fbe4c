//! The terminal of a screen: keys, size and signals arrive in a mailbox, and the bytes of a frame leave at once.

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
    background::BackgroundColour,
    inputs::{self, Mailbox, ScreenInput},
    source::WakeCallback,
    spawn::spawn_or_run,
    terminal,
    terminal_ownership::{StopsGroup, TerminalOwnership},
    theme::Theme,
};

/// Minimum time between two frames, and after a key press, to which the user expects a quick response.
const FRAME: Duration = Duration::from_millis(33);
const KEY_FRAME: Duration = Duration::from_millis(8);

/// A failure to open the screen.
#[derive(Debug, Error)]
pub enum ScreenError {
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    #[error("keys and signals cannot be received")]
    Inputs(#[source] io::Error),
}

/// Turns frames into bytes. A frame has the size of its layout: one that followed the user's terminal could be smaller
/// than what is drawn in it.
type FrameTerminal = Terminal<CrosstermBackend<FrameBytes>>;

/// A terminal taken for a screen, its input, and what has to be drawn on it.
pub(super) struct ScreenTerminal {
    pub(super) mailbox: Mailbox,
    pub(super) arrivals: Receiver<ScreenInput>,
    /// Size when it was taken, in columns and rows.
    pub(super) size: (u16, u16),
    pub(super) theme: Theme,
    pub(super) mouse: bool,
    /// Whether something has changed since the last frame.
    pub(super) dirty: bool,
    /// Whether a shown clock has moved since the last frame.
    pub(super) ticked: bool,
    /// Whether a key was pressed since the last frame.
    pub(super) pressed: bool,
    /// Bytes that leave with the next frame, so that there is a single writer.
    pub(super) frame: FrameBytes,
    cells: FrameTerminal,
    /// The time of the last frame.
    drawn: Instant,
    title: String,
    ownership: TerminalOwnership,
    /// Whether another program has the terminal.
    lent: bool,
}

impl ScreenTerminal {
    /// Takes the terminal. The caller has to give it back.
    ///
    /// # Errors
    /// [`ScreenError`] if the terminal cannot be used.
    pub(super) fn take(wake: WakeCallback, theme: Theme, mouse: bool) -> Result<ScreenTerminal, ScreenError> {
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
        let frame = FrameBytes::default();
        let (cols, rows) = size;
        let viewport = Viewport::Fixed(Rect::new(0, 0, cols, rows));
        let cells = Terminal::with_options(CrosstermBackend::new(frame.clone()), TerminalOptions { viewport })
            .map_err(ScreenError::Terminal)?;
        Ok(ScreenTerminal {
            mailbox,
            arrivals,
            size,
            theme,
            mouse,
            dirty: true,
            ticked: false,
            pressed: false,
            frame,
            cells,
            drawn: first_frame.checked_sub(FRAME).unwrap_or(first_frame),
            title: String::new(),
            ownership,
            lent: false,
        })
    }

    /// The earliest time of the next frame; `None` if nothing has changed since the last one.
    pub(super) fn next_frame(&self) -> Option<Instant> {
        let pause = if self.pressed { KEY_FRAME } else { FRAME };
        (self.dirty || self.ticked).then(|| self.drawn + pause)
    }

    /// Whether a frame has to be drawn now.
    pub(super) fn is_due(&self) -> bool {
        !self.lent && self.next_frame().is_some_and(|due| due <= Instant::now())
    }

    pub(super) fn drawn(&self) -> Instant {
        self.drawn
    }

    /// Follows the terminal's background, if it answered, and draws the first frame at once.
    pub(super) fn found_background(&mut self, found: Option<BackgroundColour>) {
        if let Some(background) = found {
            self.theme = self.theme.on(background);
        }
        let now = Instant::now();
        self.drawn = self.drawn.min(now.checked_sub(FRAME).unwrap_or(now));
        self.dirty = true;
    }

    /// Draws a frame of `size`, in columns and rows, below a window title, and writes it as synchronized output:
    /// terminals that support it show the frame at once.
    ///
    /// # Errors
    /// Errors of the terminal.
    pub(super) fn draw(
        &mut self,
        title: &str,
        (cols, rows): (u16, u16),
        render: impl FnOnce(&Theme, &mut Frame<'_>),
    ) -> io::Result<()> {
        let title = self.theme.spelled(title);
        if title != self.title {
            write!(self.frame, "\x1b]2;{title}\x07")?;
            self.title = title.into_owned();
        }
        self.cells.backend_mut().write_all(b"\x1b[?2026h")?;
        let area = Rect::new(0, 0, cols, rows);
        if self.cells.get_frame().area() != area {
            self.cells.resize(area)?;
        }
        self.cells.draw(|frame| render(&self.theme, frame))?;
        self.cells.backend_mut().write_all(b"\x1b[?2026l")?;
        let bytes = self.theme.encoded(self.frame.take());
        self.drawn = Instant::now();
        (self.dirty, self.ticked, self.pressed) = (false, false, false);
        terminal::write_all(&bytes)
    }

    /// Forgets what was drawn, so that the next frame, of this size, is complete.
    ///
    /// # Errors
    /// Errors of the terminal.
    pub(super) fn forget_frame(&mut self, cols: u16, rows: u16) -> io::Result<()> {
        // Not `clear`: it asks the terminal for the cursor position, and the answer would be read as keys.
        self.cells.resize(Rect::new(0, 0, cols, rows))?;
        self.title.clear();
        self.dirty = true;
        Ok(())
    }

    /// Whether another program has the terminal.
    pub(super) fn is_lent(&self) -> bool {
        self.lent
    }

    /// Lends the terminal to the program that `program` runs in the foreground, on a thread of its own. Its end or
    /// error arrives as [`ScreenInput::Returned`].
    pub(super) fn lend(&mut self, program: impl FnOnce(StopsGroup<'_>) -> Result<(), String> + Send + 'static) {
        terminal::give_back();
        self.lent = true;
        let (ownership, mailbox) = (self.ownership.clone(), self.mailbox.clone());
        spawn_or_run(move || {
            let result = ownership
                .stop_key_reader()
                .map_err(|error| format!("the terminal cannot be handed over: {error}"))
                .and_then(|()| program(&|| mailbox.stop_group()));
            // If the screen is gone, the terminal has been given back.
            _ = mailbox.send(ScreenInput::Returned(result.err()));
        });
    }

    /// Ends a loan. The terminal is taken for the screen again, unless the screen closes.
    ///
    /// # Errors
    /// Errors of the terminal.
    pub(super) fn take_back(&mut self, goes_on: bool) -> io::Result<()> {
        if goes_on {
            terminal::take(self.mouse)?;
        }
        self.ownership.take_back();
        self.lent = false;
        Ok(())
    }

    /// Gives the terminal back and stops this process until it is continued, like Ctrl-Z in a shell. Returns how long
    /// it was stopped.
    ///
    /// # Errors
    /// If signals cannot be sent, or errors of the terminal.
    pub(super) fn suspend(&mut self) -> io::Result<Duration> {
        terminal::give_back();
        // Stops the whole process group, as a terminal would. An agent has its own terminal and continues.
        let since = Instant::now();
        self.mailbox.stop_group()?;
        terminal::take(self.mouse)?;
        Ok(since.elapsed())
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

    fn take(&self) -> Vec<u8> {
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
