//! The terminals behind the panes, with the data to redraw them at another size.

use std::mem::take;

use ralph_system::proc::{
    Size,
    screen::{Screen, Scrollback},
};
use ralph_text::wrap::{UnfinishedWord, Wrapper};

use super::append_only::{self, AppendOnlyScanner};

/// Maximum rows of history.
pub(super) const SCROLLBACK_ROWS: usize = 10_000;
/// Memory limit for the history of an agent that moves its cursor about. Those cells cannot be rebuilt from the kept
/// output; the recording has all of them.
const MOVING_HISTORY_BYTES: usize = 7 << 20;
/// Bytes of a session's output that are kept for redrawing.
const KEPT_BYTES: usize = 3 * 512 * 1024;
/// Additional bytes kept before the oldest are dropped, since dropping moves all the rest.
const SPARE_BYTES: usize = KEPT_BYTES / 4;

/// The terminal of the running session.
///
/// Its latest output is kept for two reasons. vt100 does not rewrap, so a screen of another width is redrawn from the
/// output where possible. And output that only adds lines need not be drawn at once: the end of it is drawn when
/// it is shown, the history when the user scrolls. That makes floods cheap.
pub(super) struct LiveScreen {
    page: TerminalPage,
    kept: Vec<u8>,
    /// Bytes of `kept` that are already drawn.
    drawn: usize,
    /// Whether the beginning of the session's output was dropped from `kept`.
    cut: bool,
    transcript: bool,
    scanner: AppendOnlyScanner,
    history: HistoryRows,
    /// The last rows that a session before this one has shown, without empty ones at both ends.
    before: Vec<String>,
}

/// A terminal. Transcripts are wrapped by word; output of other agents is unchanged.
pub(super) struct TerminalPage {
    screen: Screen,
    wrapper: Option<Wrapper>,
}

impl TerminalPage {
    pub(super) fn new(size: Size, scrollback: Scrollback, transcript: bool) -> Self {
        let screen = Screen::new(size, scrollback);
        let columns = usize::from(screen.size().cols);
        Self {
            screen,
            wrapper: transcript.then(|| Wrapper::new(columns, UnfinishedWord::Moves, "\r\n")),
        }
    }

    pub(super) fn process(&mut self, bytes: &[u8]) {
        let Some(wrapper) = &mut self.wrapper else {
            return self.screen.process(bytes);
        };
        let mut wrapped = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        wrapper.feed(bytes, &mut wrapped);
        self.screen.process(&wrapped);
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.screen.resize(size);
    }

    /// Drops pending replies to terminal queries: the program that sent them is gone.
    pub(super) fn forget_questions(&mut self) {
        self.screen.take_replies();
    }

    pub(super) fn into_screen(self) -> Screen {
        self.screen
    }
}

/// A terminal with a finished transcript.
pub(super) fn finished_transcript(text: &[u8], size: Size) -> Screen {
    let mut page = TerminalPage::new(size, Scrollback::Text(SCROLLBACK_ROWS), true);
    page.process(text);
    page.screen
}

/// Whether the screen has the rows of history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HistoryRows {
    /// The history is only in the kept output.
    Folded,
    Drawn,
}

impl LiveScreen {
    pub(super) fn new(size: Size, transcript: bool) -> Self {
        Self {
            page: TerminalPage::new(size, Scrollback::NONE, transcript),
            kept: Vec::new(),
            drawn: 0,
            cut: false,
            transcript,
            scanner: AppendOnlyScanner::default(),
            history: HistoryRows::Folded,
            before: Vec::new(),
        }
    }

    /// Starts with an empty terminal for a new session.
    pub(super) fn restart(&mut self, transcript: bool) {
        self.catch_up();
        let size = self.page.screen.size();
        let mut rows: Vec<String> = self.page.screen.vt().rows(0, size.cols).collect();
        let is_empty = |row: &String| row.trim().is_empty();
        rows.truncate(rows.iter().rposition(|row| !is_empty(row)).map_or(0, |last| last + 1));
        rows.drain(..rows.iter().take_while(|row| is_empty(row)).count());
        let before = if rows.is_empty() { take(&mut self.before) } else { rows };
        *self = Self {
            before,
            ..Self::new(size, transcript)
        };
    }

    pub(super) fn before(&self) -> &[String] {
        &self.before
    }

    /// The terminal as of the last update.
    pub(super) fn screen(&self) -> &Screen {
        &self.page.screen
    }

    /// Processes output; most of it is drawn later by [`Self::catch_up`].
    pub(super) fn process(&mut self, bytes: &[u8]) {
        let only_adds = self.scanner.take(bytes);
        self.kept.extend_from_slice(bytes);
        if !only_adds || self.history == HistoryRows::Drawn {
            self.unfold();
            self.catch_up();
        }
        if self.kept.len() > KEPT_BYTES + SPARE_BYTES {
            self.catch_up();
            self.cut = true;
            self.kept.drain(..self.kept.len() - KEPT_BYTES);
            self.drawn = self.kept.len();
        }
        // Output that moves the cursor can only be redrawn from its beginning.
        if !only_adds && self.cut && !self.transcript {
            self.kept = Vec::new();
            self.drawn = 0;
        }
    }

    /// Draws the output that is not drawn yet.
    pub(super) fn catch_up(&mut self) {
        let new = &self.kept[self.drawn..];
        let rows = self.page.screen.size().rows;
        match self.history {
            HistoryRows::Folded => match append_only::skippable(new, rows) {
                Some(unseen) => {
                    self.page.process(&new[..unseen.start]);
                    self.page.process(&append_only::lasting(&new[unseen.clone()]));
                    self.page.process(&new[unseen.end..]);
                }
                None => self.page.process(new),
            },
            HistoryRows::Drawn => self.page.process(new),
        }
        // The agent's own terminal has already replied.
        self.page.screen.take_replies();
        self.drawn = self.kept.len();
    }

    /// The terminal with its history, for scrolling back.
    pub(super) fn unfolded(&mut self) -> &mut Screen {
        self.unfold();
        self.catch_up();
        &mut self.page.screen
    }

    /// Drops the drawn history once the view is at the end again.
    pub(super) fn fold(&mut self) {
        let only_adds = self.scanner.take(&[]);
        if only_adds && self.history == HistoryRows::Drawn && self.page.screen.scrollback() == 0 {
            self.draw_anew(self.page.screen.size(), HistoryRows::Folded);
        }
    }

    pub(super) fn resize(&mut self, size: Size) {
        let old = self.page.screen.size();
        let anew = self.transcript || !(self.cut || self.page.screen.vt().alternate_screen());
        if size == old {
            return;
        }
        match self.history {
            // The skipped part of the output was never wrapped.
            HistoryRows::Folded => self.draw_anew(size, HistoryRows::Folded),
            HistoryRows::Drawn if size.cols != old.cols && anew => self.draw_anew(size, HistoryRows::Drawn),
            HistoryRows::Drawn => {
                self.catch_up();
                self.page.screen.resize(size);
            }
        }
    }

    fn unfold(&mut self) {
        if self.history == HistoryRows::Folded {
            self.draw_anew(self.page.screen.size(), HistoryRows::Drawn);
        }
    }

    /// Redraws the screen from the kept output.
    fn draw_anew(&mut self, size: Size, history: HistoryRows) {
        self.history = history;
        // The cut may be within a line or a sequence, so start at the next line.
        let mut start = if self.cut {
            self.kept.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        } else {
            0
        };
        self.page = match history {
            HistoryRows::Folded => TerminalPage::new(size, Scrollback::NONE, self.transcript),
            HistoryRows::Drawn => {
                let rows = SCROLLBACK_ROWS + usize::from(size.rows);
                let only_adds = self.scanner.take(&[]);
                let mut page = TerminalPage::new(size, scrollback(size, only_adds), self.transcript);
                if let Some(seen) = append_only::last_lines(&self.kept, rows).filter(|seen| *seen > start)
                    && only_adds
                {
                    page.process(&append_only::lasting(&self.kept[start..seen]));
                    // After the line end.
                    start = seen + 2;
                }
                page
            }
        };
        self.drawn = start;
        self.catch_up();
    }
}

/// The history to keep. Output that moves the cursor keeps cells, since converting each row to text would halve its
/// speed; the wider the rows, the fewer are kept.
fn scrollback(size: Size, only_adds: bool) -> Scrollback {
    let row_bytes = usize::from(size.cols).max(1) * size_of::<vt100::Cell>();
    match only_adds {
        true => Scrollback::Text(SCROLLBACK_ROWS),
        false => Scrollback::Cells((MOVING_HISTORY_BYTES / row_bytes).min(SCROLLBACK_ROWS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    const WIDE: Size = Size { cols: 40, rows: 4 };
    const NARROW: Size = Size { cols: 10, rows: 4 };

    fn seen(live: &mut LiveScreen) -> String {
        live.catch_up();
        live.page.screen.contents()
    }

    #[test]
    fn the_history_of_what_moves_about_takes_little_memory_however_wide_it_is() {
        let rows = |cols| match scrollback(Size { cols, rows: 30 }, false) {
            Scrollback::Cells(rows) => rows,
            Scrollback::Text(_) => panic!("text takes time"),
        };
        for cols in [40, 80, 120, 400] {
            let bytes = rows(cols) * usize::from(cols) * size_of::<vt100::Cell>();
            assert!(bytes <= MOVING_HISTORY_BYTES && rows(cols) >= 500);
        }
        let mut live = LiveScreen::new(Size { cols: 400, rows: 4 }, false);
        live.process(b"\x1b[2;2Hmoves\r\n");
        live.process("a line\r\n".repeat(2000).as_bytes());
        live.unfolded().scroll_to(usize::MAX);
        assert_eq!(live.screen().scrollback(), rows(400));
    }

    /// Random output that only adds lines.
    fn lines(dice: &mut Dice) -> String {
        const PIECES: [&str; 14] = [
            "word ",
            "漢字",
            "e\u{301}",
            "\t",
            "\x1b[31m",
            "\x1b[1;48;5;7m",
            "\x1b[0m",
            "\x1b[K",
            "\r\x1b[2Kagain",
            "\x1b[5G",
            "\x08",
            "\x1b]8;;http://x\x07",
            "\x1b[?25l",
            "\x1b[?25h",
        ];
        let mut text = String::new();
        for _ in 0..dice.index(400) {
            match dice.index(4) {
                0 => text.push_str("\r\n"),
                1 => text.push_str(&"long ".repeat(dice.index(8))),
                _ => text.push_str(PIECES[dice.index(PIECES.len())]),
            }
        }
        text
    }

    #[test]
    fn the_last_rows_of_a_session_stay_until_another_has_shown_some() {
        let mut live = LiveScreen::new(Size { cols: 20, rows: 4 }, false);
        live.process("one\r\ntwo\r\nthree\r\n日本語 four\r\n".as_bytes());
        live.restart(false);
        assert_eq!(live.before(), ["two", "three", "日本語 four"]);
        live.restart(true);
        assert_eq!(live.before(), ["two", "three", "日本語 four"], "nothing was shown");
        live.process(b"five\r\n");
        live.restart(false);
        assert_eq!(live.before(), ["five"]);
    }

    #[test]
    fn what_is_left_undrawn_is_never_missed() {
        let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
        for round in 0..300 {
            let size = Size {
                cols: 2 + dice.index(30) as u16,
                rows: 2 + dice.index(6) as u16,
            };
            let (mut live, mut whole) = (
                LiveScreen::new(size, false),
                Screen::new(size, Scrollback::Cells(SCROLLBACK_ROWS)),
            );
            for _ in 0..6 {
                let text = lines(&mut dice);
                let (head, tail) = text.as_bytes().split_at(dice.index(text.len() + 1));
                for piece in [head, tail] {
                    live.process(piece);
                    whole.process(piece);
                }
                match dice.index(6) {
                    0 => drop(live.unfolded().vt()),
                    1 => live.fold(),
                    2 => live.process(b""),
                    _ => live.catch_up(),
                }
            }
            live.catch_up();
            let state = |screen: &Screen| screen.vt().state_formatted();
            assert_eq!(state(&live.page.screen), state(&whole), "round {round}");
            live.unfolded().scroll_to(usize::MAX);
            whole.scroll_to(usize::MAX);
            assert_eq!(
                live.page.screen.contents(),
                whole.contents(),
                "round {round}, scrolled up"
            );
        }
    }

    #[test]
    fn only_who_looks_back_pays_for_the_history() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process("line\r\n".repeat(1000).as_bytes());
        live.catch_up();
        assert_eq!(live.screen().scrollback_len(), 0);
        live.unfolded().scroll_to(5);
        live.fold();
        assert_eq!(live.screen().scrollback(), 5, "somebody still looks");
        live.process(b"more\r\n");
        assert_eq!(live.screen().scrollback(), 6, "what is looked at stays where it is");
        live.unfolded().scroll_to(0);
        live.fold();
        assert_eq!(live.screen().scrollback_len(), 0);
        assert!(seen(&mut live).ends_with("line\nmore"));
    }

    #[test]
    fn a_program_that_moves_about_keeps_its_history() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process("line\r\n".repeat(1000).as_bytes());
        live.process(b"\x1b[2Aup\r\n");
        assert_eq!(live.screen().scrollback_len(), 997);
        assert_eq!(live.screen().contents(), "line\nupne\nline");
    }

    #[test]
    fn of_what_moves_about_nothing_is_kept_once_its_beginning_is_gone() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process(b"\x1b[H");
        for n in 0..200_000 {
            live.process(format!("line {n}\r\n").as_bytes());
        }
        assert!(live.kept.is_empty());
        assert!(seen(&mut live).ends_with("line 199999"));
        live.resize(NARROW);
        assert!(seen(&mut live).ends_with("line 19999"), "cut, as terminals do");
        assert_eq!(live.unfolded().scrollback_len(), 7 * 1024 * 1024 / 32 / 40);
    }

    #[test]
    fn what_was_said_is_wrapped_anew_and_nothing_is_lost() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process(b"one two three four five\r\n");
        live.resize(NARROW);
        assert_eq!(seen(&mut live), "one two three four five");
        assert_eq!(live.screen().vt().rows(0, 10).next().as_deref(), Some("one two th"));
        live.resize(WIDE);
        assert_eq!(seen(&mut live), "one two three four five");
    }

    #[test]
    fn a_conversation_is_wrapped_by_word_at_every_width_and_looks_the_same_however_it_is_drawn() {
        let said = "• \x1b[1mone two\x1b[0m three four five six\r\n";
        let rows = |live: &mut LiveScreen, cols| {
            live.catch_up();
            let rows = live.screen().vt().rows(0, cols);
            rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>()
        };
        let mut live = LiveScreen::new(WIDE, true);
        live.process(said.as_bytes());
        live.resize(NARROW);
        assert_eq!(rows(&mut live, 10), ["  three", "  four", "  five six", ""]);
        live.resize(WIDE);
        assert_eq!(rows(&mut live, 40)[0], "• one two three four five six");

        let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
        for round in 0..100 {
            let size = Size {
                cols: 8 + dice.index(30) as u16,
                rows: 2 + dice.index(6) as u16,
            };
            let (mut live, mut whole) = (
                LiveScreen::new(size, true),
                TerminalPage::new(size, Scrollback::Text(SCROLLBACK_ROWS), true),
            );
            for _ in 0..6 {
                let text = lines(&mut dice);
                live.process(text.as_bytes());
                whole.process(text.as_bytes());
                match dice.index(4) {
                    0 => drop(live.unfolded().vt()),
                    1 => live.fold(),
                    _ => live.catch_up(),
                }
            }
            live.catch_up();
            assert_eq!(live.screen().contents(), whole.screen.contents(), "round {round}");
            live.unfolded().scroll_to(usize::MAX);
            whole.screen.scroll_to(usize::MAX);
            assert_eq!(
                live.screen().contents(),
                whole.screen.contents(),
                "round {round}, scrolled up"
            );
        }
    }

    #[test]
    fn a_program_that_owns_the_screen_is_left_to_draw_itself() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process(b"\x1b[?1049h\x1b[2;1Hone two three");
        live.resize(NARROW);
        assert!(live.screen().vt().alternate_screen());
        assert_eq!(live.screen().size(), NARROW);
    }

    #[test]
    fn a_long_transcript_is_made_anew_from_its_latest_lines() {
        let mut live = LiveScreen::new(WIDE, true);
        for n in 0..200_000 {
            live.process(format!("line {n}\r\n").as_bytes());
        }
        live.resize(NARROW);
        assert!(live.kept.len() <= KEPT_BYTES + SPARE_BYTES);
        let seen = seen(&mut live);
        let last: Vec<_> = seen.lines().map(str::trim_end).collect();
        assert!(last.ends_with(&["line", "199999"]), "{last:?}");
        assert!(live.unfolded().scrollback_len() > 1000);
    }
}
