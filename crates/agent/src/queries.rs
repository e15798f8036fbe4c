//! Answers a program's queries to its terminal (cursor position, colours), since programs wait for the answers.
//!
//! Viewers have screens of their own. A permanent second screen here would double that cost for every byte, and most
//! agents never ask. The screen is therefore built from the latest output when a query arrives, and dropped after a
//! while without one.

use std::mem;

use ralph_system::proc::{
    Size,
    screen::{Screen, Scrollback},
};
use ralph_text::escapes::{Escapes, Params, Perform};

/// The amount of output from which a screen is built: many pages, so that the cursor position is right.
const RECENT_BYTES: usize = 64 * 1024;
/// The screen is dropped after this much output without a query.
const KEEP_BYTES: usize = 1024 * 1024;

pub(super) struct Queries {
    size: Size,
    asking: QueryDetector,
    /// The latest output, at most twice [`RECENT_BYTES`]; empty while there is a screen.
    recent: Vec<u8>,
    screen: Option<Box<Screen>>,
    since_asked: usize,
}

impl Queries {
    pub(super) fn new(size: Size) -> Self {
        Self {
            size,
            asking: QueryDetector::default(),
            recent: Vec::new(),
            screen: None,
            since_asked: 0,
        }
    }

    pub(super) fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        self.size = size;
        if let Some(screen) = &mut self.screen {
            screen.resize(size);
        }
    }

    /// Takes output, cut at any position, and returns the replies that are to be typed.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.asking.asks(bytes) {
            self.since_asked = 0;
            self.screen.get_or_insert_with(|| {
                let mut screen = Box::new(Screen::new(self.size, Scrollback::NONE));
                screen.process(&mem::take(&mut self.recent));
                // Queries in earlier output have been answered already.
                screen.take_replies();
                screen
            });
        }
        match &mut self.screen {
            Some(screen) => {
                screen.process(bytes);
                let replies = screen.take_replies();
                self.since_asked += bytes.len();
                if self.since_asked > KEEP_BYTES {
                    self.screen = None;
                }
                replies
            }
            None => {
                self.remember(bytes);
                Vec::new()
            }
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.recent.extend_from_slice(bytes);
        if self.recent.len() > 2 * RECENT_BYTES {
            self.recent.drain(..self.recent.len() - RECENT_BYTES);
        }
    }
}

/// Detects sequences that may be queries. A false positive costs time; a miss leaves a program waiting.
#[derive(Debug, Default)]
struct QueryDetector {
    escapes: Escapes,
    questions: QueryFinder,
}

#[derive(Debug, Default)]
struct QueryFinder {
    asked: bool,
}

impl QueryDetector {
    fn asks(&mut self, bytes: &[u8]) -> bool {
        self.escapes.feed_sequences(bytes, &mut self.questions);
        mem::take(&mut self.questions.asked)
    }
}

impl Perform for QueryFinder {
    fn csi_dispatch(&mut self, _params: &Params, _intermediates: &[u8], _ignore: bool, action: char) {
        self.asked |= matches!(action, 'n' | 'c' | 'q' | 'u' | 'p' | 't');
    }

    /// A sequence about colours is a query if it contains a question mark.
    fn osc_dispatch(&mut self, params: &[&[u8]], _bell_terminated: bool) {
        if let [b"4" | b"10" | b"11" | b"12", about @ ..] = params {
            self.asked |= about.iter().any(|param| param.contains(&b'?'));
        }
    }

    fn hook(&mut self, _params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        self.asked |= matches!((intermediates, action), (b"+" | b"$", 'q'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { cols: 80, rows: 24 };

    fn replies(pieces: &[&[u8]]) -> String {
        let mut queries = Queries::new(SIZE);
        let typed: Vec<u8> = pieces.iter().flat_map(|piece| queries.take(piece)).collect();
        String::from_utf8(typed).expect("UTF-8").replace('\x1b', "^")
    }

    const QUESTIONS: [(&[u8], &str); 6] = [
        (b"abc\x1b[6n", "^[1;4R"),
        (b"\x1b[c", "^[?62;22c"),
        (b"\x1b]11;?\x1b\\", "^]11;rgb:1212/1212/1212^\\"),
        (b"\x1b[?u", "^[?0u"),
        (b"\x1b[?25$p", "^[?25;1$y"),
        (b"\x1b[18t", "^[8;24;80t"),
    ];

    #[test]
    fn questions_are_answered_wherever_they_are_cut() {
        for (question, answer) in QUESTIONS {
            for at in 0..=question.len() {
                let (head, tail) = question.split_at(at);
                assert_eq!(replies(&[head, tail]), answer, "cut at {at}");
            }
        }
    }

    #[test]
    fn every_question_is_answered_once() {
        let twice = b"x\x1b[6nyy\x1b[6n".as_slice();
        assert_eq!(
            replies(&[b"\x1b[6n", twice, b"z", b"\x1b[c"]),
            "^[1;1R^[1;2R^[1;4R^[?62;22c"
        );
    }

    #[test]
    fn the_cursor_is_known_after_much_output() {
        let mut output = "\x1b[32mline\x1b[0m\r\n".repeat(50_000).into_bytes();
        output.extend_from_slice(b"here\x1b[6n");
        let pieces: Vec<_> = output.chunks(4096).collect();
        assert_eq!(replies(&pieces), "^[24;5R");
    }

    #[test]
    fn output_without_questions_makes_no_screen_and_is_not_kept() {
        let mut queries = Queries::new(SIZE);
        let output = "\x1b[38;5;3mcolour\x1b[0m \x1b]8;;http://x/?a=b\x1b\\link\x1b]8;;\x1b\\ \x1b]0;what?\x07\x1b[2K\x1bP1$r\x1b\\\r\n";
        for _ in 0..20_000 {
            assert!(queries.take(output.as_bytes()).is_empty());
            assert!(queries.screen.is_none());
            assert!(queries.recent.len() <= 2 * RECENT_BYTES);
        }
    }

    #[test]
    fn the_screen_is_given_up_when_nobody_asks_any_more() {
        let mut queries = Queries::new(SIZE);
        queries.take(b"\x1b[6n");
        assert!(queries.screen.is_some());
        for _ in 0..=KEEP_BYTES / 1000 {
            queries.take(&[b'x'; 1000]);
        }
        assert!(queries.screen.is_none());
        assert!(!queries.take(b"\x1b[6n").is_empty());
    }

    #[test]
    fn a_new_size_is_answered_with() {
        let mut queries = Queries::new(SIZE);
        queries.resize(Size { cols: 100, rows: 30 });
        assert_eq!(queries.take(b"\x1b[18t"), b"\x1b[8;30;100t");
        queries.resize(Size { cols: 90, rows: 20 });
        assert_eq!(queries.take(b"\x1b[18t"), b"\x1b[8;20;90t");
    }
}
