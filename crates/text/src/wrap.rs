//! Wraps a transcript by word while it is written. Pure.
//!
//! The lead of a line (gutter, indent, list sign) is repeated or left blank on continuation lines. Code is broken at
//! the width and not by word. Lines that contain more than coloured text, such as progress bars, are left unchanged.

use unicode_width::UnicodeWidthChar;

use super::{RESET, escapes::Characters};

/// The signs in the left gutter of quotes and code.
const QUOTE: char = '▎';
const CODE: char = '│';
const SIGNS: &str = "•▸◂✗↻+~-*";

/// Maximum bytes of a word with its colours, and of the colours in force.
const WORD_CAP_BYTES: usize = 4096;
const COLOURS_CAP_BYTES: usize = 256;
const TAB_COLUMNS: usize = 8;
/// Maximum columns of a lead that is repeated on continuation lines.
const MOST_LEAD: usize = 1024;

/// The treatment of a word that is still being written and may not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfinishedWord {
    /// Shown at once, and moved if it does not fit: for a screen.
    Moves,
    /// Held back until its place is known.
    Waits,
}

#[derive(Debug)]
pub struct Wrapper {
    columns: usize,
    word: UnfinishedWord,
    /// The text that ends a line before its continuation.
    line_end: String,
    characters: Characters,
    sequence: PartialSequence,
    /// The colours in force, as the sequences that set them.
    colours: String,
    line: WrappedLine,
}

/// The current line.
#[derive(Debug, Default)]
struct WrappedLine {
    column: usize,
    lead: LineLead,
    /// The text since the last place where the line can be wrapped.
    run: WordRun,
    returned: bool,
    /// Whether the line contains more than text and is left unchanged.
    is_left_alone: bool,
}

#[derive(Debug, Default)]
struct WordRun {
    text: String,
    begin: usize,
    /// The colours in force at its beginning.
    colours: String,
    /// Blanks before it, if it is held back.
    blanks: usize,
}

/// The lead of a line: gutter, indent and list sign.
#[derive(Debug, Default)]
struct LineLead {
    text: String,
    width: usize,
    is_code: bool,
    /// Width of a sign or number that still lacks its blank.
    sign: usize,
    state: LeadState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LeadState {
    #[default]
    Blank,
    Digits,
    Sign,
    Gutter,
    Over,
}

/// An unfinished escape sequence.
#[derive(Debug, Default)]
struct PartialSequence {
    text: String,
    kind: SequenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SequenceKind {
    #[default]
    None,
    Escape,
    Csi,
    Osc,
}

impl Wrapper {
    /// Creates a wrapper for `columns` columns. A continuation line begins after `line_end`.
    pub fn new(columns: usize, word: UnfinishedWord, line_end: &str) -> Self {
        Self {
            columns: columns.max(2),
            word,
            line_end: line_end.to_owned(),
            characters: Characters::default(),
            sequence: PartialSequence::default(),
            colours: String::new(),
            line: WrappedLine::default(),
        }
    }

    /// Wraps the next bytes, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut characters = std::mem::take(&mut self.characters);
        characters.feed(bytes, |whole| {
            for character in String::from_utf8_lossy(whole).chars() {
                self.take(character, out);
            }
        });
        self.characters = characters;
    }

    /// Shows the word that is held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.show_run(out);
    }

    fn take(&mut self, character: char, out: &mut Vec<u8>) {
        if self.sequence.kind != SequenceKind::None || character == '\x1b' {
            self.in_sequence(character, out);
            return;
        }
        let returned = std::mem::take(&mut self.line.returned);
        if character == '\n' {
            self.show_run(out);
            out.push(b'\n');
            self.line = WrappedLine {
                // Without a carriage return, the next line begins at an unknown column.
                is_left_alone: !returned,
                ..WrappedLine::default()
            };
            return;
        }
        self.line.is_left_alone |= returned;
        if self.line.is_left_alone {
            self.line.returned = character == '\r';
            push(out, character);
            return;
        }
        match character {
            '\r' => {
                self.show_run(out);
                self.line.returned = true;
                out.push(b'\r');
            }
            '\t' => self.tab(out),
            ' ' if !self.line.lead.is_code => {
                self.line.lead.take(' ');
                self.blank(out);
            }
            _ if character.is_control() => self.leave_alone(character, out),
            _ => self.visible(character, out),
        }
    }

    fn blank(&mut self, out: &mut Vec<u8>) {
        self.show_run(out);
        // A blank that does not fit is a place to wrap and is dropped.
        if self.line.column < self.columns {
            self.line.column += 1;
            match self.word {
                UnfinishedWord::Moves => out.push(b' '),
                UnfinishedWord::Waits => self.line.run.blanks += 1,
            }
        }
        self.begin_run();
    }

    fn tab(&mut self, out: &mut Vec<u8>) {
        self.line.lead.state = LeadState::Over;
        self.show_run(out);
        let next = (self.line.column / TAB_COLUMNS + 1) * TAB_COLUMNS;
        if next < self.columns {
            out.push(b'\t');
            self.line.column = next;
        }
        self.begin_run();
    }

    fn visible(&mut self, character: char, out: &mut Vec<u8>) {
        let width = character.width().unwrap_or(0);
        self.line.lead.take(character);
        // Text can be wrapped between any two wide characters.
        if width > 1 {
            self.show_run(out);
            self.begin_run();
        }
        if self.line.column + width > self.columns {
            self.wrap(out);
        }
        self.line.column += width;
        match self.word {
            UnfinishedWord::Moves => push(out, character),
            UnfinishedWord::Waits => {}
        }
        self.line.run.text.push(character);
        if width > 1 || self.line.run.text.len() > WORD_CAP_BYTES {
            self.show_run(out);
            self.begin_run();
        }
    }

    /// Continues on the next line: moves the current word there, or breaks it if it fills a line of its own.
    fn wrap(&mut self, out: &mut Vec<u8>) {
        let lead = self.lead().to_owned();
        let lead_width = if lead.is_empty() { 0 } else { self.line.lead.width };
        let moves = !self.line.lead.is_code && self.line.run.begin > lead_width;
        if !moves {
            self.show_run(out);
            self.begin_run();
        }
        let run = &mut self.line.run;
        run.blanks = 0;
        let back = moves && self.word == UnfinishedWord::Moves && !run.text.is_empty();
        if back {
            out.extend_from_slice(RESET.as_bytes());
            out.push(b'\r');
            out.extend_from_slice(format!("\x1b[{}C\x1b[K", run.begin).as_bytes());
        }
        let is_gutter = lead.contains([QUOTE, CODE]);
        let colours = if back || (self.word == UnfinishedWord::Waits && moves) {
            run.colours.clone()
        } else {
            self.colours.clone()
        };
        let lead_text = match is_gutter {
            true => format!("\x1b[2m{lead}{RESET}"),
            false => lead,
        };
        let reset = if colours.is_empty() && !is_gutter && !back {
            ""
        } else {
            RESET
        };
        for text in [reset, &self.line_end, &lead_text, &colours] {
            out.extend_from_slice(text.as_bytes());
        }
        let width = self.line.column - run.begin;
        run.begin = lead_width;
        self.line.column = lead_width + width;
        if back {
            out.extend_from_slice(run.text.as_bytes());
        }
    }

    /// The lead of a continuation line; empty if it leaves too little room.
    fn lead(&self) -> &str {
        let lead = &self.line.lead;
        if lead.width * 2 > self.columns { "" } else { &lead.text }
    }

    /// Shows the word if it is held back. It cannot be moved any more.
    fn show_run(&mut self, out: &mut Vec<u8>) {
        let run = &mut self.line.run;
        if self.word == UnfinishedWord::Waits {
            out.extend(std::iter::repeat_n(b' ', std::mem::take(&mut run.blanks)));
            out.extend_from_slice(run.text.as_bytes());
        }
        run.text.clear();
    }

    fn begin_run(&mut self) {
        self.line.run.begin = self.line.column;
        self.line.run.text.clear();
        self.line.run.colours.clone_from(&self.colours);
    }

    fn leave_alone(&mut self, character: char, out: &mut Vec<u8>) {
        self.show_run(out);
        self.line.is_left_alone = true;
        push(out, character);
    }

    fn in_sequence(&mut self, character: char, out: &mut Vec<u8>) {
        let sequence = &mut self.sequence;
        sequence.text.push(character);
        sequence.kind = match (sequence.kind, character) {
            (SequenceKind::None, _) => SequenceKind::Escape,
            (SequenceKind::Escape, '[') => SequenceKind::Csi,
            (SequenceKind::Escape, ']') => SequenceKind::Osc,
            (SequenceKind::Csi, ' '..='?') if sequence.text.len() < COLOURS_CAP_BYTES => SequenceKind::Csi,
            (SequenceKind::Osc, ' '..) if sequence.text.len() < WORD_CAP_BYTES => SequenceKind::Osc,
            // An escape begins another sequence, which ends the title or link.
            (SequenceKind::Osc, '\x1b') => SequenceKind::Osc,
            (SequenceKind::Escape | SequenceKind::Csi | SequenceKind::Osc, _) => SequenceKind::None,
        };
        if sequence.kind != SequenceKind::None && !sequence.text.ends_with("\x1b\\") {
            return;
        }
        sequence.kind = SequenceKind::None;
        let text = std::mem::take(&mut sequence.text);
        let is_colour = text.starts_with("\x1b[") && character == 'm';
        if is_colour && !self.line.is_left_alone {
            self.colour(&text, out);
            return;
        }
        if is_colour {
            self.remember(&text);
        }
        let is_harmless = is_colour || text.starts_with("\x1b]");
        self.show_run(out);
        out.extend_from_slice(text.as_bytes());
        self.line.is_left_alone |= !is_harmless;
        if !self.line.is_left_alone {
            self.begin_run();
        } else if character == '\n' {
            self.line.is_left_alone = true;
        }
    }

    fn colour(&mut self, text: &str, out: &mut Vec<u8>) {
        self.remember(text);
        if self.line.run.text.is_empty() && self.line.run.blanks == 0 {
            out.extend_from_slice(text.as_bytes());
            self.begin_run();
            return;
        }
        if self.word == UnfinishedWord::Moves {
            out.extend_from_slice(text.as_bytes());
        }
        self.line.run.text.push_str(text);
        if self.line.run.text.len() > WORD_CAP_BYTES {
            self.show_run(out);
            self.begin_run();
        }
    }

    fn remember(&mut self, colour: &str) {
        let parameters = &colour["\x1b[".len()..colour.len() - 1];
        if parameters.is_empty() || parameters == "0" {
            self.colours.clear();
        } else if parameters.starts_with("0;") || self.colours.len() + colour.len() > COLOURS_CAP_BYTES {
            colour.clone_into(&mut self.colours);
        } else {
            self.colours.push_str(colour);
        }
    }
}

impl LineLead {
    /// Takes the next character of the line.
    fn take(&mut self, character: char) {
        self.state = match (self.state, character) {
            (LeadState::Over, _) => return,
            // Too wide for any terminal: the lead would not be repeated.
            (LeadState::Blank, ' ') if self.width >= MOST_LEAD => LeadState::Over,
            (LeadState::Blank, ' ') => {
                self.add(' ', 1);
                LeadState::Blank
            }
            (LeadState::Blank, QUOTE | CODE) => {
                self.is_code |= character == CODE;
                self.add(character, 1);
                LeadState::Gutter
            }
            (LeadState::Gutter, ' ') => {
                self.add(' ', 1);
                // Further blanks belong to the code.
                if self.is_code {
                    LeadState::Over
                } else {
                    LeadState::Blank
                }
            }
            (LeadState::Blank, sign) if SIGNS.contains(sign) => {
                self.sign = 1;
                LeadState::Sign
            }
            (LeadState::Blank | LeadState::Digits, '0'..='9') => {
                self.sign = if self.state == LeadState::Digits {
                    self.sign + 1
                } else {
                    1
                };
                LeadState::Digits
            }
            (LeadState::Digits, '.' | ')') => {
                self.sign += 1;
                LeadState::Sign
            }
            (LeadState::Sign, ' ') => {
                (0..=self.sign).for_each(|_| self.add(' ', 1));
                LeadState::Blank
            }
            (LeadState::Gutter, _) => {
                self.is_code = false;
                LeadState::Over
            }
            (LeadState::Blank | LeadState::Digits | LeadState::Sign, _) => LeadState::Over,
        };
    }

    fn add(&mut self, character: char, width: usize) {
        self.text.push(character);
        self.width += width;
    }
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use ralph_core::testing::Dice;

    use super::*;

    fn wrapped(columns: usize, text: &str) -> String {
        wrapped_in(columns, &[text])
    }

    fn wrapped_in(columns: usize, pieces: &[&str]) -> String {
        let mut wrapper = Wrapper::new(columns, UnfinishedWord::Waits, "\n");
        let mut out = Vec::new();
        for piece in pieces {
            wrapper.feed(piece.as_bytes(), &mut out);
        }
        wrapper.finish(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    fn screen(columns: usize) -> vt100::Parser {
        let size = |size: usize| NonZeroU16::new(u16::try_from(size).unwrap()).unwrap();
        vt100::Parser::new(size(60), size(columns), 0)
    }

    /// The rows of a screen on which words move.
    fn rows(columns: usize, pieces: &[&str]) -> Vec<String> {
        let mut wrapper = Wrapper::new(columns, UnfinishedWord::Moves, "\r\n");
        let mut screen = screen(columns);
        for piece in pieces {
            let mut out = Vec::new();
            wrapper.feed(piece.as_bytes(), &mut out);
            screen.process(&out);
        }
        let rows = screen.screen().rows(0, u16::try_from(columns).unwrap());
        let mut rows: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
        rows
    }

    #[test]
    fn words_go_to_the_next_line_whole_and_below_what_the_line_begins_with() {
        for (text, expected) in [
            ("one two three four", "one two\nthree four"),
            ("exactly 10 x", "exactly 10\nx"),
            ("  ab cd ef gh", "  ab cd ef\n  gh"),
            ("• one two three", "• one two\n  three"),
            ("  • one two", "  • one\n    two"),
            ("12. one two", "12. one\n    two"),
            ("▎ one two three", "▎ one two\x1b[0m\n\x1b[2m▎ \x1b[0mthree"),
            ("│ let x = 1234;", "│ let x = \x1b[0m\n\x1b[2m│ \x1b[0m1234;"),
            ("▸ shell make test", "▸ shell\n  make\n  test"),
            ("abcdefghijklmno pq", "abcdefghij\nklmno pq"),
            ("漢字漢字漢字漢", "漢字漢字漢\n字漢"),
            (
                "a e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} xyz",
                "a e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\nxyz",
            ),
            ("2026 was a year", "2026 was a\nyear"),
            ("-x --flag and", "-x --flag\nand"),
        ] {
            assert_eq!(wrapped(10, text), expected, "{text}");
        }
    }

    #[test]
    fn colours_go_on_in_the_next_line_and_not_in_what_it_begins_with() {
        assert_eq!(
            wrapped(10, "• \x1b[1mone two three\x1b[0m"),
            "• \x1b[1mone two\x1b[0m\n  \x1b[1mthree\x1b[0m"
        );
        assert_eq!(
            wrapped(10, "one \x1b[1mtwo threefour\x1b[0m"),
            "one \x1b[1mtwo\x1b[0m\n\x1b[1mthreefour\x1b[0m"
        );
    }

    #[test]
    fn what_does_more_than_show_text_is_left_alone() {
        for text in [
            "10% of it\r20% of it\r\n",
            "\x1b[2K\x1b[1Gone two three four\r\n",
            "\x1b[5;1Hone two three\r\n",
            "one\x08 two three four\r\n",
            "\x1b7one two three four\x1b8\r\n",
        ] {
            assert_eq!(wrapped(10, text), text);
        }
        assert_eq!(
            wrapped(10, "\x1b[2Kone two three\r\none two three\r\n"),
            "\x1b[2Kone two three\r\none two\nthree\r\n"
        );
    }

    #[test]
    fn a_word_is_seen_while_it_is_written_and_moves_when_it_does_not_fit() {
        assert_eq!(rows(10, &["• one tw"]), ["• one tw"]);
        assert_eq!(rows(10, &["• one tw", "oth"]), ["• one", "  twoth"]);
        assert_eq!(rows(10, &["one seven", "teen\r\nx"]), ["one", "seventeen", "x"]);
    }

    #[test]
    fn a_screen_and_text_are_wrapped_alike_wherever_they_are_cut_and_nothing_is_lost() {
        const PIECES: [&str; 16] = [
            "word",
            "a",
            " ",
            " ",
            " ",
            "漢",
            "e\u{301}",
            "\x1b[1m",
            "\x1b[0m",
            "\x1b]0;t\x07",
            "\r\n",
            "• ",
            "│ ",
            "▎ ",
            "7. ",
            "longer-word",
        ];
        let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
        for _ in 0..400 {
            let text: String = (0..dice.index(50)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
            let columns = 4 + dice.index(30);
            let whole = wrapped(columns, &text);
            let on_screen = rows(columns, &[&text]);
            let mut plain = screen(200);
            plain.process(whole.replace("\r\n", "\n").replace('\n', "\r\n").as_bytes());
            let mut as_text: Vec<_> = plain
                .screen()
                .rows(0, 200)
                .map(|row| row.trim_end().to_owned())
                .collect();
            as_text.truncate(
                as_text
                    .iter()
                    .rposition(|row| !row.is_empty())
                    .map_or(0, |last| last + 1),
            );
            assert_eq!(on_screen, as_text, "{columns}: {text:?}");
            let letters = |text: &str| {
                text.chars()
                    .filter(|character| character.is_alphanumeric())
                    .collect::<String>()
            };
            let mut unwrapped = screen(2000);
            unwrapped.process(text.as_bytes());
            assert_eq!(
                letters(&on_screen.concat()),
                letters(&unwrapped.screen().contents()),
                "{text:?}"
            );
            let at = (0..=dice.index(text.len() + 1))
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
            assert_eq!(
                wrapped_in(columns, &[&text[..at], &text[at..]]),
                whole,
                "cut at {at}: {text:?}"
            );
            assert_eq!(
                rows(columns, &[&text[..at], &text[at..]]),
                on_screen,
                "cut at {at}: {text:?}"
            );
        }
    }
}
