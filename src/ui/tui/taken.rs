//! A terminal for a screen: its keys, its size and its signals reach a mailbox from here on.

use std::{
    io,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use thiserror::Error;

use super::{
    inputs::{self, Arrived, Mailbox},
    lending::Lent,
    source::Wake,
    terminal,
    theme::Theme,
};

/// Why there is no screen.
#[derive(Debug, Error)]
pub enum ScreenError {
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    #[error("keys and signals cannot be received")]
    Inputs(#[source] io::Error),
}

/// A terminal that was taken for a screen, and what reaches the screen from there.
pub(super) struct Taken {
    pub(super) mailbox: Mailbox,
    pub(super) arrivals: Receiver<Arrived>,
    /// In columns and rows.
    pub(super) size: (u16, u16),
    /// When to draw the first frame.
    pub(super) first_frame: Instant,
    pub(super) lent: Lent,
}

impl Taken {
    /// Takes the terminal, which is the caller's to give back.
    ///
    /// # Errors
    /// [`ScreenError`] if there is none.
    pub(super) fn of(wake: Wake, theme: &Theme, mouse: bool) -> Result<Taken, ScreenError> {
        let (mailbox, arrivals) = Mailbox::new(wake);
        let size = crossterm::terminal::size().map_err(ScreenError::Terminal)?;
        inputs::watch_signals(mailbox.clone()).map_err(ScreenError::Inputs)?;
        terminal::take(mouse).map_err(ScreenError::Terminal)?;
        let lent = Lent::default();
        let asks = theme.goes_by_background() && inputs::can_be_asked();
        inputs::read_keys(mailbox.clone(), asks, lent.clone()).map_err(ScreenError::Inputs)?;
        // Whoever sees a frame may press any key, and until the terminal has answered not all of them are known: the thread
        // that reads them says when it is over.
        let first_frame = Instant::now() + if asks { inputs::ANSWER_PATIENCE } else { Duration::ZERO };
        Ok(Taken {
            mailbox,
            arrivals,
            size,
            first_frame,
            lent,
        })
    }
}
