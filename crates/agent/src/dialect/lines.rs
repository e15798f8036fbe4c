//! Splits a stream of bytes into lines and parses JSON objects from them, with bounded memory.

use std::collections::BTreeSet;

use memchr::memchr;
use ralph_core::event::{AgentSignal, clip};
use serde_json::{Map, Value};

/// Most bytes of one line. A longer line is dropped as a whole, since half an object cannot be parsed.
pub(super) const LINE_CAP_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes shown of an unknown event.
const UNKNOWN_CAP_BYTES: usize = 400;
/// Most kinds of unknown input that are distinguished.
const UNKNOWN_CAP: usize = 32;

/// Splits bytes into lines, independent of how they arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    partial: Vec<u8>,
    /// The number of bytes so far of a line that is too long.
    oversized: usize,
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitLine<'a> {
    Whole(&'a [u8]),
    Oversized { bytes: usize },
}

impl LineSplitter {
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(SplitLine<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if self.partial.is_empty() && self.oversized == 0 && line.len() <= LINE_CAP_BYTES {
                each(SplitLine::Whole(line));
            } else {
                self.keep(line);
                self.end(&mut each);
            }
            rest = after;
        }
        self.keep(rest);
    }

    /// Passes on the last line if it has no newline.
    pub(super) fn finish(&mut self, mut each: impl FnMut(SplitLine<'_>)) {
        if !self.partial.is_empty() || self.oversized > 0 {
            self.end(&mut each);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.oversized > 0 {
            self.oversized += piece.len();
        } else if self.partial.len() + piece.len() > LINE_CAP_BYTES {
            self.oversized = self.partial.len() + piece.len();
            // Frees the buffer, since such lines are rare.
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(piece);
        }
    }

    fn end(&mut self, each: &mut impl FnMut(SplitLine<'_>)) {
        let partial = std::mem::take(&mut self.partial);
        match std::mem::take(&mut self.oversized) {
            0 => each(SplitLine::Whole(&partial)),
            bytes => each(SplitLine::Oversized { bytes }),
        }
    }
}

/// Parses JSON objects, one per line, from a stream that may contain other text, which is reported.
#[derive(Debug, Default)]
pub(crate) struct JsonLineParser {
    lines: LineSplitter,
    unknown: UnknownReports,
}

impl JsonLineParser {
    pub(crate) fn feed<S: AsMut<Vec<AgentSignal>>>(
        &mut self,
        bytes: &[u8],
        out: &mut S,
        mut each: impl FnMut(Map<String, Value>, &mut S),
    ) {
        let Self { lines, unknown } = self;
        lines.feed(bytes, |line| take(line, unknown, out, &mut each));
    }

    pub(crate) fn finish<S: AsMut<Vec<AgentSignal>>>(
        &mut self,
        out: &mut S,
        mut each: impl FnMut(Map<String, Value>, &mut S),
    ) {
        let Self { lines, unknown } = self;
        lines.finish(|line| take(line, unknown, out, &mut each));
    }
}

fn take<S: AsMut<Vec<AgentSignal>>>(
    line: SplitLine<'_>,
    unknown: &mut UnknownReports,
    out: &mut S,
    each: &mut impl FnMut(Map<String, Value>, &mut S),
) {
    let bytes = match line {
        SplitLine::Whole(bytes) => bytes,
        SplitLine::Oversized { bytes } => {
            let text = format!("a line of {bytes} bytes was dropped: longer than {LINE_CAP_BYTES}");
            return unknown.note("oversized line", || text, out.as_mut());
        }
    };
    let text = String::from_utf8_lossy(bytes);
    // NULs come from files that were truncated while being written to; they are not part of the object.
    let text = text.trim_matches(|character: char| character.is_whitespace() || character == '\0');
    if text.is_empty() {
        return;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => each(object, out),
        Ok(_) => unknown.report("not an object", || format!("not an event: {text}"), out.as_mut()),
        // Half an object is no more for people than a whole one; other text may be what a launcher prints.
        Err(_) if text.starts_with('{') => unknown.report("torn", || format!("not an event: {text}"), out.as_mut()),
        Err(_) => unknown.note("text", || format!("not an event: {text}"), out.as_mut()),
    }
}

/// Reports each kind of unknown input once: events that are not known, which are not shown, and notes, which are.
#[derive(Debug, Default)]
pub(crate) struct UnknownReports(BTreeSet<String>);

impl UnknownReports {
    /// Reports an event that is not known.
    pub(crate) fn report(&mut self, event: &str, text: impl FnOnce() -> String, out: &mut Vec<AgentSignal>) {
        if self.is_new(event) {
            out.push(AgentSignal::Unknown {
                event: clip(event, UNKNOWN_CAP_BYTES),
                text: clip(&text(), UNKNOWN_CAP_BYTES),
            });
        }
    }

    /// Notes something that the user is to know.
    pub(crate) fn note(&mut self, kind: &str, text: impl FnOnce() -> String, out: &mut Vec<AgentSignal>) {
        if self.is_new(kind) {
            out.push(AgentSignal::Noted {
                text: clip(&text(), UNKNOWN_CAP_BYTES),
            });
        }
    }

    fn is_new(&mut self, kind: &str) -> bool {
        self.0.len() < UNKNOWN_CAP && !self.0.contains(kind) && self.0.insert(clip(kind, UNKNOWN_CAP_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = LineSplitter::default();
        let mut out = Vec::new();
        let mut add = |line: SplitLine<'_>| {
            out.push(match line {
                SplitLine::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                SplitLine::Oversized { bytes } => format!("oversized {bytes}"),
            });
        };
        for piece in pieces {
            lines.feed(piece, &mut add);
        }
        lines.finish(&mut add);
        out
    }

    #[test]
    fn lines_are_the_same_wherever_the_pieces_are_cut() {
        let text = b"one\n\nthree\r\nlast";
        for at in 0..=text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(lines(&[head, tail]), ["one", "", "three\r", "last"], "cut at {at}");
        }
    }

    #[test]
    fn a_line_of_fifty_megabytes_is_dropped_without_being_held() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut lines = LineSplitter::default();
        let mut out = Vec::new();
        for _ in 0..50 {
            lines.feed(&piece, |line| out.push(format!("{line:?}")));
            assert!(lines.partial.capacity() <= 2 * LINE_CAP_BYTES);
        }
        lines.feed(b"\nnext\n", |line| {
            out.push(match line {
                SplitLine::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                SplitLine::Oversized { bytes } => bytes.to_string(),
            });
        });
        assert_eq!(out, ["52428800", "next"]);
        assert_eq!(lines.partial.capacity(), 0);
    }

    #[test]
    fn objects_are_found_among_noise_and_the_noise_is_said_once() {
        let mut objects = JsonLineParser::default();
        let mut out = Vec::new();
        let mut found = Vec::new();
        objects.feed(
            b"npm warn x\n\0\0{\"a\":1}\r\n[1]\n\n\xff\xfe\n{\"a\":\"\xff\"}\n{\"a\":2}",
            &mut out,
            |object, _| {
                found.push(object["a"].to_string());
            },
        );
        objects.finish(&mut out, |object, _| found.push(object["a"].to_string()));
        assert_eq!(found, ["1", "\"\u{FFFD}\"", "2"]);
        assert_eq!(
            out,
            [
                AgentSignal::Noted {
                    text: "not an event: npm warn x".to_owned()
                },
                AgentSignal::Unknown {
                    event: "not an object".to_owned(),
                    text: "not an event: [1]".to_owned()
                }
            ]
        );
    }
}
