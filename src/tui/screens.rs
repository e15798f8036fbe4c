//! The terminals behind the panes, and what they need to be made anew at another size.

use std::collections::VecDeque;

use crate::proc::{Size, screen::Screen};

/// Rows above the visible ones that are remembered.
pub(super) const SCROLLBACK_ROWS: usize = 10_000;
/// Most bytes of a session's output that are kept to render it anew.
const KEPT_BYTES: usize = 1024 * 1024;

/// The running session's terminal.
///
/// vt100 does not wrap anew: rows that get narrower lose what does not fit. So the session's latest output is kept, and
/// a screen of another width is made from that, where it can be: for what is a transcript anyway, and for a program
/// whose whole output is still there.
pub(super) struct LiveScreen {
    pub(super) screen: Screen,
    kept: VecDeque<u8>,
    /// Something of the session is not in `kept` any more.
    cut: bool,
    transcript: bool,
}

impl LiveScreen {
    pub(super) fn new(size: Size, transcript: bool) -> Self {
        Self {
            screen: Screen::new(size, SCROLLBACK_ROWS),
            kept: VecDeque::new(),
            cut: false,
            transcript,
        }
    }

    /// Begins with an empty terminal, as the session does.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.screen.size(), self.transcript);
    }

    pub(super) fn process(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        // The session's own terminal has answered.
        self.screen.take_replies();
        self.kept.extend(bytes);
        if self.kept.len() > KEPT_BYTES {
            self.cut = true;
            let start = self.kept.len() - KEPT_BYTES;
            self.kept.drain(..start);
        }
    }

    pub(super) fn resize(&mut self, size: Size) {
        let old = self.screen.size();
        let anew = self.transcript || !(self.cut || self.screen.vt().alternate_screen());
        if size.cols == old.cols || !anew {
            return self.screen.resize(size);
        }
        let mut screen = Screen::new(size, SCROLLBACK_ROWS);
        let bytes = self.kept.make_contiguous();
        // A cut goes through the middle of a line, perhaps of a sequence.
        let start = if self.cut {
            bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        } else {
            0
        };
        screen.process(&bytes[start..]);
        screen.take_replies();
        self.screen = screen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Size = Size { cols: 40, rows: 4 };
    const NARROW: Size = Size { cols: 10, rows: 4 };

    #[test]
    fn what_was_said_is_wrapped_anew_and_nothing_is_lost() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process(b"one two three four five\r\n");
        live.resize(NARROW);
        assert_eq!(live.screen.contents(), "one two three four five");
        assert_eq!(live.screen.vt().rows(0, 10).next().as_deref(), Some("one two th"));
        live.resize(WIDE);
        assert_eq!(live.screen.contents(), "one two three four five");
    }

    #[test]
    fn a_program_that_owns_the_screen_is_left_to_draw_itself() {
        let mut live = LiveScreen::new(WIDE, false);
        live.process(b"\x1b[?1049h\x1b[2;1Hone two three");
        live.resize(NARROW);
        assert!(live.screen.vt().alternate_screen());
        assert_eq!(live.screen.size(), NARROW);
    }

    #[test]
    fn a_long_transcript_is_made_anew_from_its_latest_lines() {
        let mut live = LiveScreen::new(WIDE, true);
        for n in 0..200_000 {
            live.process(format!("line {n}\r\n").as_bytes());
        }
        live.resize(NARROW);
        assert!(live.kept.len() <= KEPT_BYTES);
        assert!(live.screen.contents().ends_with("line 199999"));
        assert!(live.screen.vt().scrollback_len() > 1000);
    }
}
