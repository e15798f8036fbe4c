//! The state of a terminal: a [`vt100`] screen that survives panics of its parser and answers the queries of programs.
//!
//! vt100 panics on some sequences of wide characters at the right margin, and an agent may print anything. So its
//! panics are caught; the screen is then rebuilt from what can still be read of the old one. That loses at most a
//! kilobyte of output, which the recording still has.
//!
//! vt100 knows half of what terminals do. `sequences` cuts the output, and `translation` writes what vt100 has no word for
//! in those that it has.
//!
//! Programs query their terminal (cursor position, colours) and wait for the answers, which are collected for
//! [`Screen::take_replies`], to be typed back.

mod answers;
mod backlog;
mod requests;
mod sequences;
mod translation;

use std::{
    cell::Cell,
    mem,
    num::NonZeroU16,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use ralph_text::escapes::Characters;
use vt100::Parser;

use self::{
    answers::TerminalReplies,
    backlog::{HistoryView, RowHistory},
    sequences::SequenceReader,
    translation::{Modes, PIECE_BYTES, Terminal, Translator},
};
use super::Size;

/// Output needed between two rebuilds from the old screen; before that, a rebuilt screen starts empty. Rebuilding from
/// a long history is expensive.
const SALVAGE_EVERY_BYTES: usize = 1 << 20;

/// The number of rows above the visible ones that become text at once.
const ROWS_AT_ONCE: usize = 512;

/// How the rows above the visible ones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrollback {
    /// This many rows as cells: quick to show, 32 bytes for each column.
    Cells(usize),
    /// At least this many rows, all but the newest few as text: a little slower, in a tenth of the memory.
    Text(usize),
}

impl Scrollback {
    pub const NONE: Scrollback = Scrollback::Cells(0);

    fn cell_rows(self) -> usize {
        match self {
            Scrollback::Cells(rows) => rows,
            // One piece may consist of line ends only, and each adds a row.
            Scrollback::Text(_) => ROWS_AT_ONCE + PIECE_BYTES,
        }
    }

    fn text_rows(self) -> usize {
        match self {
            Scrollback::Cells(_) => 0,
            Scrollback::Text(rows) => rows,
        }
    }
}

/// A terminal's cells, history and modes.
pub struct Screen {
    parser: Parser<TerminalReplies>,
    characters: Characters,
    reader: SequenceReader,
    modes: Modes,
    size: Size,
    scrollback: Scrollback,
    /// The rows above those that vt100 has.
    backlog: RowHistory,
    /// The view while it shows rows of the backlog, and how many rows it is above the newest output.
    view: Option<(HistoryView, usize)>,
    rebuilds: u32,
    /// Whether it was rebuilt, and the translation does not know it yet.
    is_new: bool,
    /// Bytes since the last rebuild, or since the beginning.
    bytes_since: usize,
}

impl Screen {
    /// Makes an empty screen. Sizes below 2×2 become 2×2.
    #[must_use]
    pub fn new(size: Size, scrollback: Scrollback) -> Screen {
        let size = size.clamped();
        Screen {
            parser: parser(size, scrollback.cell_rows(), TerminalReplies::default()),
            characters: Characters::default(),
            reader: SequenceReader::default(),
            modes: Modes::default(),
            size,
            scrollback,
            backlog: RowHistory::new(scrollback.text_rows()),
            view: None,
            rebuilds: 0,
            is_new: false,
            bytes_since: SALVAGE_EVERY_BYTES,
        }
    }

    /// Takes output that may be cut anywhere, even within a character or an escape sequence.
    pub fn process(&mut self, bytes: &[u8]) {
        let mut characters = mem::take(&mut self.characters);
        for piece in bytes.chunks(PIECE_BYTES) {
            characters.feed(piece, |whole| self.process_whole(whole));
        }
        self.characters = characters;
    }

    fn process_whole(&mut self, bytes: &[u8]) {
        let (mut reader, mut modes) = (mem::take(&mut self.reader), mem::take(&mut self.modes));
        let mut translator = Translator::new(&mut modes, self);
        let mut rest = bytes;
        while let Some((part, after)) = reader.next(rest) {
            translator.translate(part);
            if let Some(answer) = reader.take_answer() {
                // Answers come in the order of the queries.
                translator.flush();
                translator.terminal.parser.callbacks_mut().reply(&answer);
            }
            rest = after;
        }
        translator.flush();
        (self.reader, self.modes) = (reader, modes);
    }

    /// Changes the size. Rows that get narrower lose what does not fit: vt100 does not wrap them again.
    pub fn resize(&mut self, size: Size) {
        let size = size.clamped();
        if size == self.size {
            return;
        }
        self.size = size;
        self.view = None;
        self.modes.forget_margins();
        let parser = &mut self.parser;
        if quietly(|| parser.set_size(rows(size), cols(size))).is_none() {
            self.rebuild();
        }
    }

    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Takes the answers to the queries so far, to be typed into the terminal.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.parser.callbacks_mut().take_replies()
    }

    /// Returns how many rows there are above the visible ones.
    #[must_use]
    pub fn scrollback_len(&self) -> usize {
        let vt = self.parser.screen();
        // A program that owns the whole screen has no history.
        let text = if vt.alternate_screen() { 0 } else { self.backlog.len() };
        text + vt.scrollback_len()
    }

    /// Returns how many rows the view is above the newest output.
    #[must_use]
    pub fn scrollback(&self) -> usize {
        match &self.view {
            Some((_, rows)) => *rows,
            None => self.parser.screen().scrollback(),
        }
    }

    /// Scrolls the view `rows` up from the newest output, at most to the oldest row that is kept.
    pub fn scroll_to(&mut self, rows: usize) {
        let rows = rows.min(self.scrollback_len());
        let (parser, backlog, size) = (&mut self.parser, &self.backlog, self.size);
        let view = quietly(|| {
            let vt = parser.screen_mut();
            vt.set_scrollback(rows);
            let text_rows = rows.saturating_sub(vt.scrollback_len());
            let first = backlog.len().saturating_sub(text_rows);
            (text_rows > 0).then(|| (HistoryView::new(size, backlog, first, vt), rows))
        });
        match view {
            Some(view) => self.view = view,
            None => self.rebuild(),
        }
    }

    /// Returns the visible text, rows without their trailing blanks.
    #[must_use]
    pub fn contents(&self) -> String {
        let mut text = String::new();
        for (at, row) in (0..).zip(self.shown().rows(0, self.size.cols)) {
            text.push_str(&row);
            if !self.row_wraps(at) {
                text.push('\n');
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Returns the current cells, cursor and modes; scrolling does not affect them.
    #[must_use]
    pub fn vt(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Returns the cells in view. They may have more columns than the screen.
    #[must_use]
    pub fn shown(&self) -> &vt100::Screen {
        match &self.view {
            Some((view, _)) => view.screen(),
            None => self.parser.screen(),
        }
    }

    /// Whether the terminal broke a line behind this row of those in view.
    #[must_use]
    pub fn row_wraps(&self, row: u16) -> bool {
        match &self.view {
            Some((view, _)) => view.row_wraps(row),
            None => self.parser.screen().row_wrapped(row),
        }
    }

    /// Returns how often the parser had to be rebuilt.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn rebuilds(&self) -> u32 {
        self.rebuilds
    }

    /// Turns rows that vt100 would forget into text, and keeps the view in place. `before` rows were above the visible
    /// ones.
    fn follow(&mut self, before: usize) {
        let vt = self.parser.screen();
        let (after, mut above) = (vt.scrollback_len(), self.scrollback());
        match after.checked_sub(before) {
            // vt100 moves a view of its own rows itself.
            Some(added) => above += self.view.as_ref().map_or(0, |_| added),
            // vt100's history was erased, and so is the backlog above it.
            None => self.backlog.clear(),
        }
        let is_full = after >= ROWS_AT_ONCE;
        if is_full {
            let (parser, backlog, height) = (&mut self.parser, &mut self.backlog, usize::from(self.size.rows));
            let taken = quietly(|| {
                let vt = parser.screen_mut();
                let mut left = vt.scrollback_len();
                while left > 0 {
                    vt.set_scrollback(left);
                    backlog.take(vt, left);
                    left = left.saturating_sub(height);
                }
                vt.clear_scrollback();
            });
            if taken.is_none() {
                return self.rebuild();
            }
        }
        // Past rows do not change; only their distance from the newest row does.
        let is_past = (usize::from(self.size.rows)..=self.scrollback_len()).contains(&above);
        match &mut self.view {
            Some((_, rows)) if is_past => *rows = above,
            None if above == 0 || !is_full => {}
            Some(_) | None => self.scroll_to(above),
        }
    }

    fn rebuild(&mut self) {
        self.rebuilds += 1;
        self.is_new = true;
        self.view = None;
        let replies = self.parser.callbacks_mut().take_replies();
        let old = self.parser.screen();
        let salvaged = if self.bytes_since >= SALVAGE_EVERY_BYTES {
            quietly(|| salvage(old)).unwrap_or_default()
        } else {
            String::new()
        };
        self.bytes_since = 0;
        self.parser = self.filled(salvaged.as_bytes()).unwrap_or_else(|| self.empty());
        // Queries in the salvaged output, if any, were answered before.
        self.parser.callbacks_mut().take_replies();
        self.parser.callbacks_mut().reply(&replies);
    }

    fn empty(&self) -> Parser<TerminalReplies> {
        parser(self.size, self.scrollback.cell_rows(), TerminalReplies::default())
    }

    fn filled(&self, bytes: &[u8]) -> Option<Parser<TerminalReplies>> {
        let mut parser = self.empty();
        quietly(|| {
            parser.process(bytes);
            parser
        })
    }
}

impl Terminal for Screen {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes_since = self.bytes_since.saturating_add(bytes.len());
        let parser = &mut self.parser;
        let (before, was_alternate) = (parser.screen().scrollback_len(), parser.screen().alternate_screen());
        if quietly(|| parser.process(bytes)).is_none() {
            return self.rebuild();
        }
        let vt = self.parser.screen();
        match self.scrollback {
            Scrollback::Cells(_) => {}
            Scrollback::Text(_) if vt.alternate_screen() => self.view = None,
            Scrollback::Text(_) => self.follow(if was_alternate { vt.scrollback_len() } else { before }),
        }
    }

    fn vt(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    fn is_new(&mut self) -> bool {
        mem::take(&mut self.is_new)
    }
}

/// Writes history, text, cursor and modes of a screen as output that reproduces them.
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

fn parser(size: Size, scrollback_rows: usize, answers: TerminalReplies) -> Parser<TerminalReplies> {
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

/// Runs `action` and returns `None` if it panics, without printing the panic message into the user's terminal.
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
mod fixtures_tests;
#[cfg(test)]
mod tests;
