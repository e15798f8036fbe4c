//! Turns what programs write into text that is safe to show: no escape sequence of an agent reaches a terminal raw.
//!
//! The input comes in arbitrary pieces: an escape sequence, a character or a line may be cut anywhere. Memory is
//! bounded whatever arrives, and a sequence that never ends cannot swallow the rest of the output.

mod position;
mod shown;

use std::borrow::Cow;

pub use position::{Lines, Position};
pub use shown::{Form, Shown, shown, shown_name};

/// Most bytes of one line; the rest of a longer line is dropped and the cut is marked.
pub const LINE_CAP_BYTES: usize = 16 * 1024;

/// Most bytes of a device or application string (a picture, say) that is skipped as one.
const STRING_CAP_BYTES: usize = 1024 * 1024;
/// Most bytes of a control sequence; a longer one is not a sequence.
const CSI_CAP_BYTES: usize = 256;
/// Most bytes of colour sequences carried from one line to the next.
const OPEN_COLOUR_CAP_BYTES: usize = 256;

const CUT_MARK: &str = " […]";
const RESET: &str = "\x1b[0m";

/// Which sequences survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Nothing,
    /// Colours and weights (SGR), each line closed with a reset, so that none bleeds into what follows.
    Colour,
}

/// Strips a stream of terminal bytes down to lines of text.
///
/// A carriage return starts the line anew and the last version wins, as it does for who looks at a terminal after
/// the progress bar is done. Tabs stay; every other control character goes, and so do the characters that reorder
/// text. Broken UTF-8 becomes `U+FFFD`.
#[derive(Debug)]
pub struct PlainText {
    keep: Keep,
    state: State,
    /// An incomplete UTF-8 character, at most three bytes.
    partial: Vec<u8>,
    sequence: String,
    line: String,
    /// The colours in force, as the sequences that set them.
    open: String,
    cut: bool,
    /// A carriage return was seen; what follows decides whether it ends the line or starts it anew.
    returned: bool,
    /// Something of the current line was seen, an empty one not included.
    begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// After `ESC (` and its like: one more character belongs to it.
    Charset,
    Csi,
    /// An OSC: ended by BEL, ST or the end of the line.
    Osc,
    /// DCS, APC, PM, SOS: ended by ST only.
    Device {
        left: usize,
    },
}

impl PlainText {
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            state: State::Ground,
            partial: Vec::new(),
            sequence: String::new(),
            line: String::new(),
            open: String::new(),
            cut: false,
            returned: false,
            begun: false,
        }
    }

    /// Takes the next bytes and hands over every line that is complete, without its end.
    pub fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&str)) {
        let joined;
        let mut rest = if self.partial.is_empty() {
            bytes
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(bytes);
            joined = whole;
            &joined[..]
        };
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.take(text, &mut line),
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    self.take(std::str::from_utf8(valid).unwrap_or_default(), &mut line);
                    let Some(length) = error.error_len() else {
                        self.partial = broken.to_vec();
                        return;
                    };
                    self.character('\u{FFFD}', &mut line);
                    rest = &broken[length..];
                }
            }
        }
    }

    /// Hands over the last line if it has no end. To be called once nothing more comes.
    pub fn finish(&mut self, mut line: impl FnMut(&str)) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.character('\u{FFFD}', &mut line);
        }
        self.state = State::Ground;
        if self.begun {
            self.end_line(&mut line);
        }
    }

    fn take(&mut self, text: &str, line: &mut impl FnMut(&str)) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            // Most output is runs of plain characters, which need no look at each.
            let run = match self.state {
                State::Ground => rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~')).count(),
                State::Escape | State::Charset | State::Csi | State::Osc | State::Device { .. } => 0,
            };
            if run > 0 {
                self.print_run(&rest[..run]);
                rest = &rest[run..];
            } else {
                self.character(character, line);
                rest = &rest[character.len_utf8()..];
            }
        }
    }

    /// Prints plain ASCII characters.
    fn print_run(&mut self, run: &str) {
        self.restart_if_returned();
        self.begun = true;
        if self.cut {
            return;
        }
        let room = LINE_CAP_BYTES.saturating_sub(self.line.len());
        self.line.push_str(&run[..run.len().min(room)]);
        if run.len() > room {
            self.cut = true;
            self.line.push_str(CUT_MARK);
        }
    }

    fn character(&mut self, character: char, line: &mut impl FnMut(&str)) {
        // CAN and SUB abort any sequence, ESC begins a new one: a terminal does the same.
        match (self.state, character) {
            (State::Ground, _) => self.ground(character, line),
            (_, '\x18' | '\x1a') => self.state = State::Ground,
            (_, '\x1b') => self.state = State::Escape,
            (State::Escape, _) => self.escape(character, line),
            (State::Charset, _) => self.state = State::Ground,
            (State::Csi, _) => self.csi(character, line),
            (State::Osc, '\x07') => self.state = State::Ground,
            (State::Osc, '\n') => {
                self.state = State::Ground;
                self.ground(character, line);
            }
            (State::Osc, _) => {}
            (State::Device { left: 0 }, _) => {
                self.state = State::Ground;
                self.ground(character, line);
            }
            (State::Device { left }, _) => self.state = State::Device { left: left - 1 },
        }
    }

    fn ground(&mut self, character: char, line: &mut impl FnMut(&str)) {
        match character {
            '\x1b' => self.state = State::Escape,
            '\n' => self.end_line(line),
            '\r' => self.returned = true,
            '\t' => self.print(character),
            // They end lines and paragraphs for some, and words for all.
            '\u{2028}' | '\u{2029}' => self.print(' '),
            _ if is_dropped(character) => {}
            _ => self.print(character),
        }
    }

    fn escape(&mut self, character: char, line: &mut impl FnMut(&str)) {
        self.state = match character {
            '[' => {
                self.sequence.clear();
                State::Csi
            }
            ']' => State::Osc,
            'P' | 'X' | '^' | '_' => State::Device { left: STRING_CAP_BYTES },
            ' '..='/' => State::Charset,
            '\n' => {
                self.state = State::Ground;
                return self.end_line(line);
            }
            // `ESC \` ends a string; the rest are single controls.
            _ => State::Ground,
        };
    }

    fn csi(&mut self, character: char, line: &mut impl FnMut(&str)) {
        match character {
            '@'..='~' => {
                self.state = State::Ground;
                if character == 'm' && self.keep == Keep::Colour {
                    self.colour();
                }
            }
            '\n' => {
                self.state = State::Ground;
                self.end_line(line);
            }
            ' '..='?' if self.sequence.len() < CSI_CAP_BYTES => self.sequence.push(character),
            // Not a sequence after all: what follows is text.
            ' '..='?' => self.state = State::Ground,
            _ if is_dropped(character) || character == '\r' || character == '\t' => {}
            _ => {
                self.state = State::Ground;
                self.print(character);
            }
        }
    }

    fn colour(&mut self) {
        let sequence = std::mem::take(&mut self.sequence);
        if !sequence.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')) {
            return;
        }
        self.restart_if_returned();
        let resets = sequence.is_empty() || sequence.split(';').all(|part| part.bytes().all(|byte| byte == b'0'));
        let text = format!("\x1b[{sequence}m");
        if !self.cut {
            self.line.push_str(&text);
        }
        if resets {
            self.open.clear();
        } else if self.open.len() + text.len() <= OPEN_COLOUR_CAP_BYTES {
            self.open.push_str(&text);
        } else {
            self.open = text;
        }
    }

    fn print(&mut self, character: char) {
        self.restart_if_returned();
        self.begun = true;
        if self.cut {
            return;
        }
        if self.line.len() + character.len_utf8() > LINE_CAP_BYTES {
            self.cut = true;
            self.line.push_str(CUT_MARK);
            return;
        }
        self.line.push(character);
    }

    fn restart_if_returned(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.start_line();
        }
    }

    fn start_line(&mut self) {
        self.line.clear();
        self.line.push_str(&self.open);
        self.cut = false;
    }

    fn end_line(&mut self, line: &mut impl FnMut(&str)) {
        if !self.open.is_empty() {
            self.line.push_str(RESET);
        }
        line(&self.line);
        self.returned = false;
        self.begun = false;
        self.start_line();
    }
}

/// Whether a character has no place in text: controls, and those that reorder the text around them, with which a
/// command can be made to look like another.
fn is_dropped(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Whether a character is no control, and still changes what is seen of others: it turns text around or ends its line.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}'
    )
}

/// Makes one text safe to show: escape sequences and control characters go, line ends and tabs stay.
pub fn sanitized(text: &str) -> Cow<'_, str> {
    let clean = |character: char| matches!(character, '\n' | '\t') || !is_dropped(character);
    if text.len() <= LINE_CAP_BYTES && text.chars().all(clean) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut plain = PlainText::new(Keep::Nothing);
    let mut add = |line: &str| {
        out.push_str(line);
        out.push('\n');
    };
    plain.feed(text.as_bytes(), &mut add);
    plain.finish(&mut add);
    if !text.ends_with('\n') {
        out.pop();
    }
    Cow::Owned(out)
}

/// Makes one text safe to show on one line: as [`sanitized`], with every run of white space as a single space.
pub fn one_line(text: &str) -> String {
    sanitized(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Renders an error with its causes, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(keep: Keep, input: &[u8]) -> Vec<String> {
        let mut plain = PlainText::new(keep);
        let mut out = Vec::new();
        plain.feed(input, |line| out.push(line.to_owned()));
        plain.finish(|line| out.push(line.to_owned()));
        out
    }

    fn plain(input: &str) -> Vec<String> {
        lines(Keep::Nothing, input.as_bytes())
    }

    const ZOO: &str = "\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n\
        \x1bPq#0;2\n;0\x1b\\b\x1b_Gpicture\x1b\\c\x1b(Bd\x1b7e\x1b[?25l\x1b[2Kf\n10%\r50%\r100%\ntab\there\x07\x08\0\n日本語 ü 🎉\n";

    #[test]
    fn sequences_of_every_kind_are_dropped_and_the_text_stays() {
        assert_eq!(
            plain(ZOO),
            ["red", "alink", "bcdef", "100%", "tab\there", "日本語 ü 🎉"]
        );
    }

    #[test]
    fn where_the_input_is_cut_makes_no_difference() {
        for keep in [Keep::Nothing, Keep::Colour] {
            let whole = lines(keep, ZOO.as_bytes());
            for at in 0..=ZOO.len() {
                let (head, tail) = ZOO.as_bytes().split_at(at);
                let mut plain = PlainText::new(keep);
                let mut out = Vec::new();
                plain.feed(head, |line| out.push(line.to_owned()));
                plain.feed(tail, |line| out.push(line.to_owned()));
                plain.finish(|line| out.push(line.to_owned()));
                assert_eq!(out, whole, "cut at {at}");
            }
        }
    }

    #[test]
    fn broken_utf8_is_replaced_and_nothing_after_it_is_lost() {
        assert_eq!(
            lines(Keep::Nothing, b"a\xffb\xe2\x82\nc\xe2\x82"),
            ["a\u{FFFD}b\u{FFFD}", "c\u{FFFD}"]
        );
    }

    #[test]
    fn a_line_without_an_end_comes_with_finish_and_an_empty_rest_does_not() {
        assert_eq!(plain("one\ntwo"), ["one", "two"]);
        assert_eq!(plain("one\n\n"), ["one", ""]);
        assert_eq!(plain("one\n\x1b[0m"), ["one"]);
    }

    #[test]
    fn carriage_returns_before_a_line_end_do_not_erase_the_line() {
        assert_eq!(plain("kept\r\nkept too\r\r\nlast\r"), ["kept", "kept too", "last"]);
    }

    #[test]
    fn a_long_line_is_cut_once_and_the_next_one_is_whole() {
        let input = format!("{}\nnext", "x".repeat(3 * LINE_CAP_BYTES));
        let out = plain(&input);
        assert_eq!(out[0].len(), LINE_CAP_BYTES + CUT_MARK.len());
        assert!(out[0].ends_with(CUT_MARK));
        assert_eq!(out[1], "next");
    }

    #[test]
    fn a_sequence_that_never_ends_does_not_swallow_the_rest() {
        assert_eq!(plain("a\x1b]0;never ended\nb"), ["a", "b"]);
        assert_eq!(plain("a\x1b[12\nb"), ["a", "b"]);
        let device = format!("a\x1bP{}\nb", "x".repeat(STRING_CAP_BYTES));
        assert_eq!(plain(&device).last().map(String::as_str), Some("b"));
    }

    #[test]
    fn colours_are_kept_on_request_and_closed_at_each_line_end() {
        let out = lines(Keep::Colour, b"\x1b[31mred\nstill\x1b[0m plain\n\x1b[2J\x1b[?25hx\n");
        assert_eq!(out, ["\x1b[31mred\x1b[0m", "\x1b[31mstill\x1b[0m plain", "x"]);
    }

    #[test]
    fn characters_that_reorder_text_are_dropped() {
        assert_eq!(sanitized("rm \u{202E}fdp.txt"), "rm fdp.txt");
    }

    #[test]
    fn sanitizing_keeps_line_structure() {
        assert_eq!(sanitized("a\n\tb\n\nc"), "a\n\tb\n\nc");
        assert_eq!(sanitized("a\x1b[31m\nb\n"), "a\nb\n");
        assert_eq!(one_line("  a\n\tb\x1b[0m  c "), "a b c");
    }
}
