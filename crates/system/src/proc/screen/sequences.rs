//! Cuts output into text, control characters and whole sequences.
//!
//! vt100 reads sequences again. Of those that are cut it gets nothing until they are whole, so that other output may be
//! written for them, or between them. Strings are passed on as they come, since they may be long.

use std::{borrow::Cow, mem};

use super::requests;

const BELL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
/// A longer sequence is dropped. vt100 reads at most 32 parameters.
const CAP_BYTES: usize = 256;

/// Cuts a stream of output, which may end anywhere.
#[derive(Default)]
pub(super) struct SequenceReader {
    state: ReaderState,
    /// The beginning of the present sequence, if earlier output had it.
    begun: Vec<u8>,
    /// The string that was read last; it is over if a terminator comes next.
    string: Vec<u8>,
    answer: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReaderState {
    #[default]
    Text,
    Escape,
    Csi,
    /// The byte after ESC says which string it is.
    String(u8),
}

pub(super) enum Part<'a> {
    /// Characters outside of sequences, and line ends.
    Text(&'a [u8]),
    /// A control character. One within a sequence comes before it.
    Control(u8),
    Sequence(Cow<'a, [u8]>),
    /// A part of a string.
    String(&'a [u8]),
}

impl SequenceReader {
    /// Returns the next part of `bytes` and what follows it; `None` if the rest only begins a sequence.
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8]) -> Option<(Part<'a>, &'a [u8])> {
        match self.state {
            ReaderState::Text => {
                let (text, rest) = bytes.split_at(text_length(bytes));
                match rest.first() {
                    _ if !text.is_empty() => Some((Part::Text(text), rest)),
                    Some(&ESCAPE) => self.sequence(bytes),
                    Some(&control) => Some((self.control(control), &rest[1..])),
                    None => None,
                }
            }
            ReaderState::Escape | ReaderState::Csi => self.sequence(bytes),
            ReaderState::String(kind) => self.string(kind, bytes),
        }
    }

    /// Takes the answer to the request that the latest sequence has ended.
    pub(super) fn take_answer(&mut self) -> Option<Vec<u8>> {
        self.answer.take()
    }

    fn control<'a>(&mut self, byte: u8) -> Part<'a> {
        self.string.clear();
        Part::Control(byte)
    }

    fn sequence<'a>(&mut self, bytes: &'a [u8]) -> Option<(Part<'a>, &'a [u8])> {
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let after = &bytes[at + 1..];
            let is_second = self.begun.len() + at - start == 1;
            match (self.state, byte) {
                (_, ESCAPE) => {
                    self.begun.clear();
                    (start, self.state) = (at, ReaderState::Escape);
                }
                (_, CANCEL | SUBSTITUTE) => {
                    self.begun.clear();
                    self.state = ReaderState::Text;
                    return Some((self.control(byte), after));
                }
                (_, ..b' ') => {
                    self.begun.extend_from_slice(&bytes[start..at]);
                    return Some((self.control(byte), after));
                }
                (ReaderState::Escape, b'[') if is_second => self.state = ReaderState::Csi,
                (ReaderState::Escape, b']' | b'P' | b'X' | b'^' | b'_') if is_second => {
                    self.begun.clear();
                    self.string.clear();
                    self.state = ReaderState::String(byte);
                    let introducer = match byte {
                        b']' => b"\x1b]",
                        b'P' => b"\x1bP",
                        _ => b"\x1b_",
                    };
                    return Some((Part::String(introducer), after));
                }
                (ReaderState::Escape, b'0'..=b'~') | (ReaderState::Csi, b'@'..=b'~') => {
                    self.state = ReaderState::Text;
                    let sequence = self.joined(&bytes[start..=at]);
                    let string = mem::take(&mut self.string);
                    if *sequence == *b"\x1b\\" {
                        self.answer = requests::answer(&string);
                    }
                    if sequence.len() > CAP_BYTES {
                        return self.next(after);
                    }
                    return Some((Part::Sequence(sequence), after));
                }
                _ => {}
            }
        }
        if self.begun.len() <= CAP_BYTES {
            self.begun.extend_from_slice(&bytes[start..]);
        }
        None
    }

    /// Returns all of the sequence that ends with `end`.
    fn joined<'a>(&mut self, end: &'a [u8]) -> Cow<'a, [u8]> {
        match mem::take(&mut self.begun) {
            begun if begun.is_empty() => Cow::Borrowed(end),
            begun => Cow::Owned([&begun, end].concat()),
        }
    }

    fn string<'a>(&mut self, kind: u8, bytes: &'a [u8]) -> Option<(Part<'a>, &'a [u8])> {
        let is_end = |byte: &u8| matches!(*byte, ESCAPE | CANCEL | SUBSTITUTE) || (*byte == BELL && kind == b']');
        let (string, rest) = bytes.split_at(bytes.iter().position(is_end).unwrap_or(bytes.len()));
        if !string.is_empty() {
            if kind == b'P' && self.string.len() <= requests::CAP_BYTES {
                self.string.extend_from_slice(string);
            }
            return Some((Part::String(string), rest));
        }
        match *rest.first()? {
            // vt100 reads no further sequence before the string has ended.
            ESCAPE => {
                self.state = ReaderState::Escape;
                self.begun.push(ESCAPE);
                Some((Part::String(b"\x1b\\"), &rest[1..]))
            }
            end => {
                self.state = ReaderState::Text;
                self.string.clear();
                Some((Part::String(if end == BELL { b"\x07" } else { b"\x18" }), &rest[1..]))
            }
        }
    }
}

fn text_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += match bytes[length..] {
            [b' '..=0xff, ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return length,
        };
    }
}

/// A control sequence, in its parts.
pub(super) struct Csi<'a> {
    /// The bytes that are neither parameters nor the last one.
    pub(super) marks: (&'a [u8], &'a [u8]),
    /// The parameters as they were written.
    pub(super) text: &'a [u8],
    pub(super) last: u8,
}

impl<'a> Csi<'a> {
    /// Reads a sequence; `None` if it is another one, or one with an error, which has no effect.
    pub(super) fn read(sequence: &'a [u8]) -> Option<Self> {
        let (&last, body) = sequence.strip_prefix(b"\x1b[")?.split_last()?;
        let count = |bytes: &[u8], is_of: fn(&u8) -> bool| bytes.iter().take_while(|byte| is_of(byte)).count();
        let (before, body) = body.split_at(usize::from(matches!(body.first(), Some(b'<'..=b'?'))));
        let (parameters, after) = body.split_at(count(body, |byte| (b'0'..=b';').contains(byte)));
        (count(after, |byte| (b' '..=b'/').contains(byte)) == after.len()).then_some(Self {
            marks: (before, after),
            text: parameters,
            last,
        })
    }

    /// The parameters, each without what follows a colon; at least one.
    pub(super) fn parameters(&self) -> impl Iterator<Item = u16> + 'a {
        let number = |parameter: &[u8]| {
            let digits = parameter.iter().take_while(|byte| byte.is_ascii_digit());
            digits.fold(0u16, |number, digit| {
                number.saturating_mul(10).saturating_add(u16::from(digit - b'0'))
            })
        };
        self.text.split(|byte| *byte == b';').map(number)
    }

    /// Returns a parameter; those that are absent or 0 are 1.
    pub(super) fn count(&self, index: usize) -> u16 {
        self.parameters().nth(index).unwrap_or_default().max(1)
    }
}
