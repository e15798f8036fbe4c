//! The state of a terminal: a [`vt100`] screen that survives its own parser and answers what programs ask.
//!
//! vt100 panics on some sequences of wide characters at the right margin, and an agent may print anything.
//! So it runs behind a catch; after a panic the screen is rebuilt from what can still be read of the old one. At most
//! a kilobyte of output is lost with that, which the recording still has.
//!
//! A terminal is asked questions (where is the cursor, what are the colours), and programs wait for the answers: they
//! are collected for [`Screen::take_replies`], to be typed back.

mod answers;
mod requests;

use std::{
    cell::Cell,
    mem,
    num::NonZeroU16,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use vt100::Parser;

use self::{answers::Answers, requests::Requests};
use super::Size;
use crate::text::escapes::Characters;

/// What one panic may cost.
const PIECE_BYTES: usize = 1024;
/// A screen that was rebuilt so little output ago starts empty: rebuilding from a long history is not free.
const SALVAGE_EVERY_BYTES: usize = 1 << 20;

/// A terminal's cells, history and modes.
pub(crate) struct Screen {
    parser: Parser<Answers>,
    characters: Characters,
    requests: Requests,
    size: Size,
    scrollback_rows: usize,
    rebuilds: u32,
    /// Bytes since the last rebuild, or since the beginning.
    bytes_since: usize,
}

impl Screen {
    /// Makes an empty screen that remembers at most `scrollback_rows` rows above it. Sizes below 2×2 become 2×2.
    #[must_use]
    pub(crate) fn new(size: Size, scrollback_rows: usize) -> Screen {
        let size = size.clamped();
        Screen {
            parser: parser(size, scrollback_rows, Answers::default()),
            characters: Characters::default(),
            requests: Requests::default(),
            size,
            scrollback_rows,
            rebuilds: 0,
            bytes_since: SALVAGE_EVERY_BYTES,
        }
    }

    /// Takes output, cut anywhere: within a character or an escape sequence as well.
    pub(crate) fn process(&mut self, bytes: &[u8]) {
        let mut characters = mem::take(&mut self.characters);
        for piece in bytes.chunks(PIECE_BYTES) {
            characters.feed(piece, |whole| self.process_whole(whole));
        }
        self.characters = characters;
    }

    fn process_whole(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        // Fed up to the end of a request, so that answers come in the order of the questions.
        while let Some((length, answer)) = self.requests.next(rest) {
            let (before, after) = rest.split_at(length);
            self.feed(before);
            self.parser.callbacks_mut().reply(&answer);
            rest = after;
        }
        self.feed(rest);
    }

    /// Changes the size. Rows that get narrower lose what does not fit: vt100 does not wrap anew.
    pub(crate) fn resize(&mut self, size: Size) {
        let size = size.clamped();
        if size == self.size {
            return;
        }
        self.size = size;
        let parser = &mut self.parser;
        if quietly(|| parser.set_size(rows(size), cols(size))).is_none() {
            self.rebuild();
        }
    }

    #[must_use]
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Takes the answers to what was asked so far, to be typed into the terminal.
    pub(crate) fn take_replies(&mut self) -> Vec<u8> {
        self.parser.callbacks_mut().take_replies()
    }

    /// Scrolls the view `rows` up from the newest output, at most to the oldest row that is remembered.
    pub(crate) fn scroll_to(&mut self, rows: usize) {
        let parser = &mut self.parser;
        if quietly(|| parser.screen_mut().set_scrollback(rows)).is_none() {
            self.rebuild();
        }
    }

    /// Returns the visible text, rows without their trailing blanks.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn contents(&self) -> String {
        quietly(|| self.parser.screen().contents()).unwrap_or_default()
    }

    /// Gives access to cells, cursor and modes.
    #[must_use]
    pub(crate) fn vt(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Returns how often the parser had to be rebuilt.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn rebuilds(&self) -> u32 {
        self.rebuilds
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.bytes_since = self.bytes_since.saturating_add(bytes.len());
        let parser = &mut self.parser;
        if quietly(|| parser.process(bytes)).is_none() {
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        self.rebuilds += 1;
        let replies = self.parser.callbacks_mut().take_replies();
        let old = self.parser.screen();
        let salvaged = if self.bytes_since >= SALVAGE_EVERY_BYTES {
            quietly(|| salvage(old)).unwrap_or_default()
        } else {
            String::new()
        };
        self.bytes_since = 0;
        self.parser = self.filled(salvaged.as_bytes()).unwrap_or_else(|| self.empty());
        // Questions in what was salvaged, if it had any, were answered before.
        self.parser.callbacks_mut().take_replies();
        self.parser.callbacks_mut().reply(&replies);
    }

    fn empty(&self) -> Parser<Answers> {
        parser(self.size, self.scrollback_rows, Answers::default())
    }

    fn filled(&self, bytes: &[u8]) -> Option<Parser<Answers>> {
        let mut parser = self.empty();
        quietly(|| {
            parser.process(bytes);
            parser
        })
    }
}

/// Writes history, text, cursor and modes of a screen as the output that would make them.
fn salvage(old: &vt100::Screen) -> String {
    let mut text = String::new();
    if old.alternate_screen() {
        text.push_str("\x1b[?1049h");
    }
    let range = vt100::capture::BasicFormattedCaptureRange::Full(&mut Default::default());
    let mut rows = String::new();
    // Writing to a string cannot fail.
    _ = old.write_contents_formatted_basic(&mut rows, range);
    text.push_str(&rows.replace('\n', "\r\n"));
    let (row, col) = old.cursor_position();
    text.push_str(&format!("\x1b[m\x1b[{};{}H", u32::from(row) + 1, u32::from(col) + 1));
    text.push_str(&old.attributes_formatted());
    text.push_str(&old.input_mode_formatted());
    if old.hide_cursor() {
        text.push_str("\x1b[?25l");
    }
    text
}

fn parser(size: Size, scrollback_rows: usize, answers: Answers) -> Parser<Answers> {
    Parser::new_with_callbacks(rows(size), cols(size), scrollback_rows, answers)
}

fn rows(size: Size) -> NonZeroU16 {
    NonZeroU16::new(size.rows).unwrap_or(NonZeroU16::MIN)
}

fn cols(size: Size) -> NonZeroU16 {
    NonZeroU16::new(size.cols).unwrap_or(NonZeroU16::MIN)
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `action` and returns none if it panics, without the message that a panic prints into the user's terminal.
fn quietly<T>(action: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                others(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(action));
    QUIET.set(before);
    outcome.ok()
}

#[cfg(test)]
mod tests;
