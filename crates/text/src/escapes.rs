//! The grammar of escape sequences for all of ralph: [`vte`]'s, which the screen itself uses.
//!
//! The parser needs one or two kilobytes for any input; of a longer string it keeps the beginning. It does not give up
//! a sequence that never ends; see `CANCEL`.

use std::{fmt, str};

use memchr::memchr;
pub use vte::{Params, Perform};

/// A performer that can handle runs of plain characters faster than single ones.
pub(crate) trait PerformRuns: Perform {
    /// Prints the characters of `run`, all between space and tilde.
    fn print_run(&mut self, run: &str);
}

/// CAN: makes a terminal abandon any unfinished sequence.
pub(crate) const CANCEL: u8 = 0x18;

const ESCAPE: u8 = 0x1b;

/// Maximum bytes of a colour's parameters; terminals accept no longer ones.
pub(super) const COLOUR_CAP_BYTES: usize = 64;

/// Parses a stream of output, cut anywhere, and reports its parts.
#[derive(Default)]
pub struct Escapes {
    characters: Characters,
    // Boxed: the parser is large, and its owners are moved.
    parser: Box<vte::Parser>,
    /// Whether a sequence may be unfinished, whose end only the parser can find.
    is_within: bool,
}

impl fmt::Debug for Escapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Escapes").finish_non_exhaustive()
    }
}

impl Escapes {
    pub fn feed(&mut self, bytes: &[u8], performer: &mut impl Perform) {
        self.is_within = true;
        let parser = &mut self.parser;
        self.characters.feed(bytes, |whole| parser.advance(performer, whole));
    }

    /// Parses like [`Escapes::feed`], but plain characters outside of sequences bypass the parser, which reports them
    /// one by one. Most output consists of such characters.
    pub(crate) fn feed_runs(&mut self, bytes: &[u8], performer: &mut impl PerformRuns) {
        self.feed_between(bytes, performer, feed_text);
    }

    /// Parses and reports sequences only. The text between them is skipped, including its control characters.
    pub fn feed_sequences(&mut self, bytes: &[u8], performer: &mut impl Perform) {
        self.feed_between(bytes, performer, |_, rest, _| {
            memchr(ESCAPE, rest).unwrap_or(rest.len())
        });
    }

    /// Passes the text outside of sequences to `text`, which returns the number of bytes it has handled. The parser
    /// handles the rest.
    fn feed_between<P: Perform>(
        &mut self,
        bytes: &[u8],
        performer: &mut P,
        text: impl Fn(&mut vte::Parser, &[u8], &mut P) -> usize,
    ) {
        let Self {
            characters,
            parser,
            is_within,
        } = self;
        characters.feed(bytes, |whole| {
            let mut rest = whole;
            loop {
                if !*is_within {
                    rest = &rest[text(parser, rest, performer)..];
                }
                if rest.is_empty() {
                    break;
                }
                let mut sequence = SequenceForwarder {
                    performer,
                    has_ended: false,
                };
                let read = parser.advance_until_terminated(&mut sequence, rest);
                *is_within = !sequence.has_ended;
                rest = &rest[read..];
            }
        });
    }

    /// Whether no sequence and no character is unfinished.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.is_within && self.characters.begun.is_empty()
    }

    /// Abandons an unfinished sequence or character.
    pub(crate) fn cancel(&mut self, performer: &mut impl Perform) {
        if self.is_within || !self.characters.begun.is_empty() {
            self.feed(&[CANCEL], performer);
            self.is_within = false;
        }
    }
}

/// Reports text: runs of plain characters at once, everything else by the parser.
fn feed_text(parser: &mut vte::Parser, bytes: &[u8], performer: &mut impl PerformRuns) -> usize {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    let mut read = 0;
    loop {
        let rest = &bytes[read..];
        let (run, rest) = rest.split_at(rest.iter().take_while(|byte| is_plain(byte)).count());
        read += run.len();
        if !run.is_empty() {
            performer.print_run(str::from_utf8(run).unwrap_or_default());
        }
        let is_other = |byte: &u8| !is_plain(byte) && *byte != ESCAPE;
        let other = &rest[..rest.iter().take_while(|byte| is_other(byte)).count()];
        if other.is_empty() || str::from_utf8(other).is_err() {
            return read;
        }
        parser.advance(performer, other);
        read += other.len();
    }
}

/// Forwards events up to the end of a sequence, after which text follows.
struct SequenceForwarder<'a, P> {
    performer: &'a mut P,
    has_ended: bool,
}

impl<P: Perform> Perform for SequenceForwarder<'_, P> {
    fn print(&mut self, character: char) {
        self.performer.print(character);
    }

    fn execute(&mut self, byte: u8) {
        self.performer.execute(byte);
    }

    fn hook(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.performer.hook(params, intermediates, ignore, action);
    }

    fn put(&mut self, byte: u8) {
        self.performer.put(byte);
    }

    fn unhook(&mut self) {
        self.performer.unhook();
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], is_bell_terminated: bool) {
        self.performer.osc_dispatch(params, is_bell_terminated);
        // Without a BEL, the beginning of another sequence may have ended it.
        self.has_ended |= is_bell_terminated;
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.performer.csi_dispatch(params, intermediates, ignore, action);
        self.has_ended = true;
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        self.performer.esc_dispatch(intermediates, ignore, byte);
        self.has_ended = true;
    }

    fn terminated(&self) -> bool {
        self.has_ended
    }
}

/// Reassembles characters of a stream that is cut anywhere: the parser loses input after a character that is cut.
#[derive(Debug, Default)]
pub struct Characters {
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl Characters {
    /// Passes `bytes` on in pieces that end between characters.
    pub fn feed(&mut self, bytes: &[u8], mut next: impl FnMut(&[u8])) {
        let mut rest = bytes;
        if let Some(first) = self.begun.first() {
            let missing = length(*first) - self.begun.len();
            let found = rest
                .iter()
                .take(missing)
                .take_while(|byte| is_continuation(**byte))
                .count();
            self.begun.extend_from_slice(&rest[..found]);
            rest = &rest[found..];
            if found < missing && rest.is_empty() {
                return;
            }
            next(&self.begun);
            self.begun.clear();
        }
        let (whole, begun) = rest.split_at(rest.len() - begun_at_end(rest));
        self.begun.extend_from_slice(begun);
        if !whole.is_empty() {
            next(whole);
        }
    }
}

/// The number of bytes at the end that begin an incomplete character.
fn begun_at_end(bytes: &[u8]) -> usize {
    let after = bytes
        .iter()
        .rev()
        .take(3)
        .take_while(|byte| is_continuation(**byte))
        .count();
    let first = bytes.iter().rev().nth(after);
    first.map_or(0, |first| if length(*first) > after + 1 { after + 1 } else { 0 })
}

fn is_continuation(byte: u8) -> bool {
    (0x80..0xc0).contains(&byte)
}

/// The length of a character that begins with `first`.
fn length(first: u8) -> usize {
    match first {
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => 1,
    }
}

/// The SGR sequence at the beginning of `text`. Only simple ones: numbers and separators.
pub(super) fn colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\x1b[")?;
    let length = parameters.bytes().take_while(is_parameter).count();
    let is_colour = length <= COLOUR_CAP_BYTES && parameters[length..].starts_with('m');
    is_colour.then(|| &text[.."\x1b[".len() + length + "m".len()])
}

/// Whether `text`, which begins with an escape, may become an SGR sequence with further input.
pub(super) fn may_become_colour(text: &str) -> bool {
    match text.strip_prefix("\x1b[") {
        Some(parameters) => parameters.len() <= COLOUR_CAP_BYTES && parameters.bytes().all(|byte| is_parameter(&byte)),
        None => text == "\x1b",
    }
}

/// An SGR sequence with these parameters.
pub(super) fn written(parameters: &Params) -> String {
    let part = |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(":");
    let parts: Vec<String> = parameters.iter().map(part).collect();
    format!("\x1b[{}m", parts.join(";"))
}

fn is_parameter(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b';' | b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::{Dice, rounds};

    /// Records everything that is reported, a word each.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Perform for Told {
        fn print(&mut self, character: char) {
            self.0.push(character.to_string());
        }

        fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
            assert!(intermediates.is_empty());
            self.0.push(format!("{action} {}", written(params).escape_debug()));
        }

        fn esc_dispatch(&mut self, _intermediates: &[u8], _ignore: bool, byte: u8) {
            self.0.push(format!("escape {byte}"));
        }
    }

    /// Records everything except what abandons a sequence.
    #[derive(Default)]
    struct Everything(Vec<String>);

    impl Perform for Everything {
        fn print(&mut self, character: char) {
            self.0.push(character.to_string());
        }

        fn execute(&mut self, byte: u8) {
            self.0.extend((byte != CANCEL).then(|| format!("byte {byte}")));
        }

        fn hook(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
            self.0
                .push(format!("device {params:?} {intermediates:?} {ignore} {action}"));
        }

        fn put(&mut self, byte: u8) {
            self.0.push(format!("put {byte}"));
        }

        fn unhook(&mut self) {
            self.0.push("end of device".to_owned());
        }

        fn osc_dispatch(&mut self, params: &[&[u8]], is_bell_terminated: bool) {
            self.0.push(format!("system {params:?} {is_bell_terminated}"));
        }

        fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
            self.0
                .push(format!("control {params:?} {intermediates:?} {ignore} {action}"));
        }

        fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
            self.0.push(format!("escape {intermediates:?} {ignore} {byte}"));
        }
    }

    impl PerformRuns for Everything {
        fn print_run(&mut self, run: &str) {
            let is_plain = |byte| (b' '..=b'~').contains(&byte);
            assert!(!run.is_empty() && run.bytes().all(is_plain), "{run:?}");
            run.chars().for_each(|character| self.print(character));
        }
    }

    fn told(text: &str) -> Vec<String> {
        let mut told = Told::default();
        Escapes::default().feed(text.as_bytes(), &mut told);
        told.0
    }

    #[test]
    fn what_follows_a_character_that_was_cut_in_two_is_there() {
        for text in ["ü 日x", "日ü \x1b[1m🎉", "ü\x1b[1m🎉", "🎉a🎉\x1b[0mü"] {
            let whole = told(text);
            for first in 0..=text.len() {
                for second in first..=text.len() {
                    let (mut told, mut escapes) = (Told::default(), Escapes::default());
                    let bytes = text.as_bytes();
                    for piece in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                        escapes.feed(piece, &mut told);
                    }
                    assert_eq!(told.0, whole, "{text:?} cut at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn runs_and_sequences_alone_are_told_as_the_parser_tells_them_whatever_comes() {
        const PARTS: [&[u8]; 26] = [
            b"text ",
            b"~",
            b"m",
            b"\x7f",
            b"\r",
            b"\t",
            b"\0",
            b"\x1b",
            b"\x1b[",
            b"1;2",
            b"\x1b[31m",
            b"\x1b[?25l",
            b"\x1b[1$x",
            b"\x1b]0;title",
            b"\x07",
            b"\x1b\\",
            b"\x1bPq#0",
            b"\x1b_picture",
            b"\x18",
            b"\x9c",
            b"\xc2\x9b1m",
            "ü日🎉".as_bytes(),
            b"\xe2\x82",
            b"\xf0\x9f",
            b"\xa4",
            b"\xff",
        ];
        let mut dice = Dice::new(0x70);
        for _ in 0..rounds(3000) {
            let (mut one, mut all) = (Escapes::default(), Escapes::default());
            let (mut told, mut expected) = (Everything::default(), Everything::default());
            let (mut sequences, mut alone) = (Escapes::default(), Everything::default());
            let mut pieces = Vec::new();
            for _ in 0..1 + dice.index(6) {
                let mut piece: Vec<u8> = Vec::new();
                for _ in 0..dice.index(5) {
                    piece.extend(PARTS[dice.index(PARTS.len())]);
                }
                let ends_here = dice.index(4) == 0;
                one.feed_runs(&piece, &mut told);
                all.feed(&piece, &mut expected);
                sequences.feed_sequences(&piece, &mut alone);
                if ends_here {
                    one.cancel(&mut told);
                    sequences.cancel(&mut alone);
                    all.feed(&[CANCEL], &mut expected);
                }
                pieces.push((piece.escape_ascii().to_string(), ends_here));
            }
            assert_eq!(told.0, expected.0, "{pieces:?}");
            // Neither a character of the text nor a control character in it.
            let is_sequence = |told: &&String| told.chars().nth(1).is_some() && !told.starts_with("byte ");
            let both = [&expected.0, &alone.0].map(|told| told.iter().filter(is_sequence).collect::<Vec<_>>());
            assert_eq!(both[0], both[1], "{pieces:?}");
        }
    }

    #[test]
    fn characters_without_an_end_are_handed_on_with_what_follows() {
        let mut characters = Characters::default();
        let mut all = Vec::new();
        for piece in [
            b"\xe2".as_slice(),
            b"\x82",
            b"a\xf0\x9f",
            b"\xf0",
            b"\xff\xc3",
            b"",
            b"\x80\x80",
        ] {
            characters.feed(piece, |whole| all.extend_from_slice(whole));
        }
        assert_eq!(all, b"\xe2\x82a\xf0\x9f\xf0\xff\xc3\x80\x80");
    }

    #[test]
    fn what_is_taken_for_a_colour_is_one_for_a_terminal_and_nothing_else() {
        for text in [
            "\x1b[m",
            "\x1b[0m",
            "\x1b[1;31m",
            "\x1b[38:5:1;4m",
            "\x1b[;;m",
            "\x1b[38;2;1;2;3m",
        ] {
            assert_eq!(colour(&format!("{text}x")), Some(text));
            let told = told(text);
            assert!(
                matches!(&told[..], [only] if only.starts_with("m ")),
                "{text:?}: {told:?}"
            );
        }
        for text in [
            "\x1b[1K",
            "\x1b[?1m",
            "\x1b[1 m",
            "\x1b]m",
            "\x1b[1",
            "x\x1b[m",
            "\x1b[1\nm",
        ] {
            assert_eq!(colour(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_colour_is_written_as_it_was_read() {
        for text in ["\x1b[0m", "\x1b[1;31m", "\x1b[38:5:1;4m"] {
            assert_eq!(told(text), [format!("m {}", text.escape_debug())]);
        }
    }

    #[test]
    fn a_cancelled_sequence_is_given_up() {
        for begun in [
            "\x1b",
            "\x1b[1;2",
            "\x1b]0;title",
            "\x1bPq",
            "\x1b_picture",
            "\x1b(",
            "\x1b[?$",
        ] {
            let text = format!("{begun}{}x", char::from(CANCEL));
            assert_eq!(told(&text), ["x"], "{begun:?}");
        }
    }
}
