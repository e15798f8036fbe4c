//! Converts output of programs into text that is safe to show: no escape sequence of an agent reaches a terminal raw.
//!
//! The input comes in arbitrary pieces: an escape sequence, a character or a line may be cut anywhere. Memory is
//! bounded for any input, and a sequence that never ends cannot swallow the rest of the output.

#![deny(unreachable_pub)]

pub mod console;

pub mod escapes;
mod json;
pub mod json_rpc;
pub mod output_filter;
pub mod path_glob;
mod position;
mod shell;
pub mod signs;
pub mod wrap;

use std::{borrow::Cow, str};

use escapes::{Escapes, Params, Perform, PerformRuns};
use memchr::{memchr, memchr_iter, memrchr};

pub use json::{JSON_WITH_COMMENTS, STRICT_JSON, pretty_json};
pub use output_filter::{AllowedEscapes, OutputFilter, escape_controls, escape_name};
pub use position::{LineIndex, Position};
pub use shell::shell_quoted;

/// Maximum bytes of a line; the rest of a longer line is dropped and the cut is marked.
pub const LINE_CAP_BYTES: usize = 16 * 1024;

/// Maximum bytes of a device string (such as a picture) that is skipped across line ends.
const DEVICE_CAP_BYTES: usize = 1024 * 1024;
/// Maximum bytes of colour sequences carried from one line to the next.
const OPEN_COLOUR_CAP_BYTES: usize = 256;

/// Maximum characters that backspaces go back: each is counted from the end of the line.
const BACK_CAP: usize = 256;

const CUT_MARK: &str = " […]";
pub const RESET: &str = "\x1b[0m";

/// The sequences that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptEscapes {
    Nothing,
    /// Colours and weights (SGR). Each line ends with a reset, so that its colours do not affect later text.
    Colour,
}

/// Reduces a stream of terminal output to lines of text.
///
/// A carriage return restarts the line and the last version remains, as on a terminal after a progress bar. Tabs are
/// kept; all other control characters are dropped, as are characters that reorder text. Invalid UTF-8 becomes `U+FFFD`.
/// A line end ends any sequence except a device string.
#[derive(Debug)]
pub struct PlainText {
    escapes: Escapes,
    line: CurrentLine,
}

/// Lines of a [`PlainText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainLines<'a> {
    /// A line without its end.
    One(&'a str),
    /// Whole lines that show as they are, with their ends: LF or CR LF.
    AsIs(&'a str),
}

/// The current line.
#[derive(Debug)]
struct CurrentLine {
    keep: KeptEscapes,
    text: String,
    /// The colours in force, as the sequences that set them.
    open: String,
    cut: bool,
    /// Whether a carriage return was read; the next character decides whether it ends or restarts the line.
    returned: bool,
    /// Characters between the cursor and the end of the line, after backspaces; `None` if backspaces are dropped.
    back: Option<usize>,
    /// Whether any text of the current line was read.
    begun: bool,
    /// Bytes read of the current device string, if any.
    device_bytes: Option<usize>,
}

impl PlainText {
    pub fn new(keep: KeptEscapes) -> Self {
        Self {
            escapes: Escapes::default(),
            line: CurrentLine {
                keep,
                text: String::new(),
                open: String::new(),
                cut: false,
                returned: false,
                back: None,
                begun: false,
                device_bytes: None,
            },
        }
    }

    /// Creates a reader without colours in which text after a backspace replaces earlier text, as on a screen: that is
    /// how spinners remove themselves. Not for texts that need approval, since a backspace would hide a part of them.
    pub fn for_screen() -> Self {
        let mut plain = Self::new(KeptEscapes::Nothing);
        plain.line.back = Some(0);
        plain
    }

    /// Parses the next bytes and calls `line` for every complete line, without its end.
    pub fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            self.escapes.feed_runs(&rest[..end], &mut self.line);
            rest = &rest[end + 1..];
            if self.line.is_within_device() {
                self.line.put(b'\n');
            } else {
                self.escapes.cancel(&mut self.line);
                self.line.end(&mut line);
            }
        }
        self.escapes.feed_runs(rest, &mut self.line);
    }

    /// As [`PlainText::feed`], but passes on lines that show as they are together: there may be millions of them.
    pub fn feed_blocks(&mut self, bytes: &[u8], mut each: impl FnMut(PlainLines<'_>)) {
        let is_at_start = !self.line.begun && !self.line.returned && self.escapes.is_at_rest();
        let (before, rest) = match memchr(b'\n', bytes) {
            Some(end) if !is_at_start => bytes.split_at(end + 1),
            _ => bytes.split_at(0),
        };
        self.feed(before, |line| each(PlainLines::One(line)));
        let (whole, rest) = rest.split_at(memrchr(b'\n', rest).map_or(0, |end| end + 1));
        let is_at_rest = self.line.open.is_empty() && self.escapes.is_at_rest() && !self.line.is_within_device();
        match shown_as_is(whole).filter(|text| is_at_rest && !text.is_empty()) {
            Some(text) => each(PlainLines::AsIs(text)),
            None => self.feed(whole, |line| each(PlainLines::One(line))),
        }
        self.feed(rest, |line| each(PlainLines::One(line)));
    }

    /// The current line as far as it has arrived; the complete line will begin with this text. `None` if it shows
    /// nothing yet, or if a carriage return has taken it back.
    pub fn partial(&self) -> Option<&str> {
        (self.line.begun && !self.line.returned).then_some(&self.line.text)
    }

    /// The colours in force at the end of the current line.
    pub fn open_colours(&self) -> &str {
        &self.line.open
    }

    /// Calls `line` for a last line without an end. To be called at the end of the stream.
    pub fn finish(&mut self, mut line: impl FnMut(&str)) {
        self.escapes.cancel(&mut self.line);
        if self.line.begun {
            self.line.end(&mut line);
        }
    }
}

impl CurrentLine {
    fn is_within_device(&self) -> bool {
        self.device_bytes.is_some_and(|bytes| bytes < DEVICE_CAP_BYTES)
    }

    fn push(&mut self, text: &str) {
        self.restart_if_returned();
        self.begun = true;
        if self.cut {
            return;
        }
        let text = self.overwrite(text);
        let room = LINE_CAP_BYTES.saturating_sub(self.text.len());
        match text.len() <= room {
            true => self.text.push_str(text),
            false => {
                self.text.push_str(text.get(..room).unwrap_or_default());
                self.text.push_str(CUT_MARK);
                self.cut = true;
            }
        }
    }

    /// Overwrites text after the cursor. Returns the part of `text` beyond the end of the line.
    fn overwrite<'a>(&mut self, text: &'a str) -> &'a str {
        let Some(back @ 1..) = self.back else { return text };
        let characters = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let (count, split) = characters.enumerate().take(back + 1).last().unwrap_or_default();
        let (over, beyond) = text.split_at(split);
        let range = self.before_end(back)..self.before_end(back - count);
        self.text.replace_range(range, over);
        self.back = Some(back - count);
        beyond
    }

    /// Returns the byte offset of the last `characters` characters.
    fn before_end(&self, characters: usize) -> usize {
        let mut starts = self.text.char_indices().rev().map(|(at, _)| at);
        characters
            .checked_sub(1)
            .map_or(self.text.len(), |nth| starts.nth(nth).unwrap_or(0))
    }

    fn backspace(&mut self) {
        let is_within = !self.returned && !self.cut;
        if let Some(back) = self.back.as_mut().filter(|_| is_within)
            && *back < BACK_CAP
            && self.text.chars().nth_back(*back).is_some()
        {
            *back += 1;
        }
    }

    fn colour(&mut self, parameters: &Params) {
        self.restart_if_returned();
        let text = escapes::written(parameters);
        if !self.cut {
            self.text.push_str(&text);
        }
        if parameters.iter().flatten().all(|number| *number == 0) {
            self.open.clear();
        } else if self.open.len() + text.len() <= OPEN_COLOUR_CAP_BYTES {
            self.open.push_str(&text);
        } else {
            self.open = text;
        }
    }

    fn restart_if_returned(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.start();
        }
    }

    fn start(&mut self) {
        self.text.clear();
        self.text.push_str(&self.open);
        self.cut = false;
        self.back = self.back.map(|_| 0);
    }

    fn end(&mut self, line: &mut impl FnMut(&str)) {
        if !self.open.is_empty() {
            self.text.push_str(RESET);
        }
        line(&self.text);
        self.returned = false;
        self.begun = false;
        self.start();
    }
}

impl Perform for CurrentLine {
    fn print(&mut self, character: char) {
        match character {
            // Line and paragraph separators act as spaces.
            '\u{2028}' | '\u{2029}' => self.push(" "),
            _ if is_dropped(character) => {}
            _ => self.push(character.encode_utf8(&mut [0; 4])),
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' => self.push("\t"),
            b'\r' => self.returned = true,
            0x08 => self.backspace(),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if action == 'm' && self.keep == KeptEscapes::Colour && intermediates.is_empty() && !ignore {
            self.colour(params);
        }
    }

    fn hook(&mut self, _params: &Params, _intermediates: &[u8], _ignore: bool, _action: char) {
        self.device_bytes = Some(1);
    }

    fn put(&mut self, _byte: u8) {
        self.device_bytes = self.device_bytes.map(|bytes| bytes + 1);
    }

    fn unhook(&mut self) {
        self.device_bytes = None;
    }
}

impl PerformRuns for CurrentLine {
    fn print_run(&mut self, run: &str) {
        self.push(run);
    }
}

/// Whole lines as text, if they show as they are.
fn shown_as_is(lines: &[u8]) -> Option<&str> {
    let is_shown = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..);
    let returns_end = |at: usize| lines.get(at + 1) == Some(&b'\n');
    let is_shown = lines.iter().all(is_shown) && memchr_iter(b'\r', lines).all(returns_end);
    let text = is_shown.then(|| str::from_utf8(lines).ok()).flatten()?;
    let is_kept = |character: char| matches!(character, '\t' | '\n' | '\r') || !is_dropped(character);
    let is_short = |line: &str| line.len() <= LINE_CAP_BYTES;
    let is_kept = text.is_ascii() || text.chars().all(is_kept);
    (is_kept && (lines.len() <= LINE_CAP_BYTES || text.lines().all(is_short))).then_some(text)
}

/// Whether a character is dropped from text: control characters, and those that reorder the text around them and can
/// make a command look like another.
fn is_dropped(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Whether a character that is not a control character changes how others are displayed: it reorders text or ends the
/// line.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}'
    )
}

/// Makes a text safe to show: drops escape sequences and control characters, keeps line ends and tabs.
pub fn sanitized(text: &str) -> Cow<'_, str> {
    let clean = |character: char| matches!(character, '\n' | '\t') || !is_dropped(character);
    if text.len() <= LINE_CAP_BYTES && text.chars().all(clean) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut plain = PlainText::new(KeptEscapes::Nothing);
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

/// Makes a text in pieces safe to show, like [`sanitized`], but with lines of any length.
#[derive(Debug, Default)]
pub struct Sanitizer {
    /// Created for the first piece that needs cleaning.
    escapes: Option<Escapes>,
}

impl Sanitizer {
    pub fn take<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let clean = |character: char| matches!(character, '\n' | '\t') || !is_dropped(character);
        if self.escapes.is_none() && piece.chars().all(clean) {
            return Cow::Borrowed(piece);
        }
        let escapes = self.escapes.get_or_insert_default();
        let mut out = CleanText(String::with_capacity(piece.len()));
        for (at, line) in piece.split('\n').enumerate() {
            if at > 0 {
                escapes.cancel(&mut out);
                out.0.push('\n');
            }
            escapes.feed(line.as_bytes(), &mut out);
        }
        Cow::Owned(out.0)
    }
}

/// The remaining text.
struct CleanText(String);

impl Perform for CleanText {
    fn print(&mut self, character: char) {
        if !is_dropped(character) {
            self.0.push(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        if byte == b'\t' {
            self.0.push('\t');
        }
    }
}

/// The last non-blank line of `bytes`, without escape sequences.
pub fn last_line(bytes: &[u8]) -> String {
    let mut last = String::new();
    let mut plain = PlainText::new(KeptEscapes::Nothing);
    let mut take = |line: &str| {
        if !line.trim().is_empty() {
            line.trim_end().clone_into(&mut last);
        }
    };
    plain.feed(bytes, &mut take);
    plain.finish(&mut take);
    last
}

/// Makes a text safe to show on one line: like [`sanitized`], with each run of white space replaced by a space.
pub fn one_line(text: &str) -> String {
    sanitized(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quotes a text for a shell, if that is needed.
pub fn shell_word(text: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+".contains(sign);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Whether a character belongs to a word, as in identifiers.
pub fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The byte offsets at which `text` contains `word` as a whole word. An empty word is never found.
pub fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let found = text.match_indices(word).map(|(at, _)| at);
    found.filter(move |at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !word.is_empty() && ![before, after].into_iter().flatten().any(is_part_of_word)
    })
}

/// Renders an error with its causes on one line.
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

    fn lines(keep: KeptEscapes, input: &[u8]) -> Vec<String> {
        let mut plain = PlainText::new(keep);
        let mut out = Vec::new();
        plain.feed(input, |line| out.push(line.to_owned()));
        plain.finish(|line| out.push(line.to_owned()));
        out
    }

    fn plain(input: &str) -> Vec<String> {
        lines(KeptEscapes::Nothing, input.as_bytes())
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
        for keep in [KeptEscapes::Nothing, KeptEscapes::Colour] {
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
    fn lines_that_show_as_they_are_come_together_and_are_the_same() {
        let long = "x".repeat(LINE_CAP_BYTES + 1);
        let zoo = format!(
            "plain\r\n\nand é\n{ZOO}a\rb\nc\r\r\nd\u{202e}\u{85}\n\x1b[31mred\nstill\x1b[0m\n{long}\nend\nof it"
        );
        for keep in [KeptEscapes::Nothing, KeptEscapes::Colour] {
            let whole = lines(keep, zoo.as_bytes());
            for size in [1, 2, 3, 5, 8, 13, 40, 100, usize::MAX] {
                let (mut plain, mut out, mut together) = (PlainText::new(keep), Vec::new(), 0);
                for piece in zoo.as_bytes().chunks(size) {
                    plain.feed_blocks(piece, |lines| match lines {
                        PlainLines::One(line) => out.push(line.to_owned()),
                        PlainLines::AsIs(lines) => {
                            out.extend(lines.lines().map(str::to_owned));
                            together += 1;
                        }
                    });
                }
                plain.finish(|line| out.push(line.to_owned()));
                assert_eq!(out, whole, "pieces of {size}");
                assert!(!(8..=100).contains(&size) || together > 0, "pieces of {size}");
            }
        }
        let (mut plain, mut pieces) = (PlainText::new(KeptEscapes::Nothing), Vec::new());
        let note = |lines: PlainLines<'_>| pieces.push(format!("{lines:?}"));
        plain.feed_blocks("half".as_bytes(), |_| ());
        plain.feed_blocks(" a line\nsome\r\nmore\nand".as_bytes(), note);
        assert_eq!(pieces, [r#"One("half a line")"#, r#"AsIs("some\r\nmore\n")"#]);
    }

    #[test]
    fn broken_utf8_is_replaced_and_nothing_after_it_is_lost() {
        assert_eq!(
            lines(KeptEscapes::Nothing, b"a\xffb\xe2\x82\nc\xe2\x82"),
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
    fn on_a_screen_what_follows_a_backspace_replaces_what_stood_there() {
        let on_screen = |input: &str| {
            let mut whole = Vec::new();
            for at in 0..=input.len() {
                let (mut plain, mut out) = (PlainText::for_screen(), Vec::new());
                for piece in [&input.as_bytes()[..at], &input.as_bytes()[at..]] {
                    plain.feed(piece, |line| out.push(line.to_owned()));
                }
                plain.finish(|line| out.push(line.to_owned()));
                assert!(at == 0 || out == whole, "{input:?} cut at {at}");
                whole = out;
            }
            whole
        };
        for (input, shown) in [
            ("░█\x08\x08  \x08\x08litellm.Error: x", "litellm.Error: x"),
            ("░█\x08\x08█░\x08\x08  \x08\x08\r\n", "  "),
            ("abc\x08\x08X", "aXc"),
            ("abc\x08\x08XYZ", "aXYZ"),
            ("ab\x08\x08\x08\x08Xü", "Xü"),
            ("old\rn\x08\x08new", "new"),
            ("kept\x08\r\n", "kept"),
        ] {
            assert_eq!(on_screen(input), [shown], "{input:?}");
        }
        assert_eq!(plain("rm -rf x\x08\x08\x08ls\n"), ["rm -rf xls"]);
        let far = format!("{}{}X\n", "x".repeat(1_000), "\x08".repeat(1_000));
        assert_eq!(on_screen(&far)[0].find('X'), Some(1_000 - BACK_CAP));
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
        let device = format!("a\x1bP{}\nb", "x".repeat(DEVICE_CAP_BYTES));
        assert_eq!(plain(&device).last().map(String::as_str), Some("b"));
    }

    #[test]
    fn colours_are_kept_on_request_and_closed_at_each_line_end() {
        let out = lines(
            KeptEscapes::Colour,
            b"\x1b[31mred\nstill\x1b[0m plain\n\x1b[2J\x1b[?25hx\n",
        );
        assert_eq!(out, ["\x1b[31mred\x1b[0m", "\x1b[31mstill\x1b[0m plain", "x"]);
    }

    #[test]
    fn characters_that_reorder_text_are_dropped() {
        assert_eq!(sanitized("rm \u{202E}fdp.txt"), "rm fdp.txt");
    }

    #[test]
    fn a_text_in_pieces_is_as_safe_as_a_whole_one_wherever_it_is_cut() {
        let text = "a\x1b[31mb\n\tc\x1b]0;never\nd\u{202E}e\u{9b}1mf\x07\r\n日本";
        let whole = Sanitizer::default().take(text).into_owned();
        assert_eq!(whole, "ab\n\tc\nde1mf\n日本");
        for (at, _) in text.char_indices() {
            let mut sanitizer = Sanitizer::default();
            let pieces = [&text[..at], &text[at..]].map(|piece| sanitizer.take(piece).into_owned());
            assert_eq!(pieces.concat(), whole, "cut at {at}");
        }
    }

    #[test]
    fn sanitizing_keeps_line_structure() {
        assert_eq!(sanitized("a\n\tb\n\nc"), "a\n\tb\n\nc");
        assert_eq!(sanitized("a\x1b[31m\nb\n"), "a\nb\n");
        assert_eq!(one_line("  a\n\tb\x1b[0m  c "), "a b c");
    }

    #[test]
    fn the_last_line_is_one_that_says_something() {
        assert_eq!(last_line(b"first\r\nlisten\x1b[1ming\r\n\r\n  \r\n"), "listening");
        assert_eq!(last_line(b"a\nunfinished"), "unfinished");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[0xff, 0, b'\n']), "\u{fffd}");
    }
}
