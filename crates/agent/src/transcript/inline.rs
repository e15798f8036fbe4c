//! Markdown within a line: emphasis, code, links, escapes. Pure.
//!
//! A marker takes effect only once its counterpart has arrived, on the same line and within a limited distance. Until
//! then the text between them is held back, and a marker without a counterpart is shown as written. Output is therefore
//! never revised, and does not depend on how the line was cut into pieces.

use super::style::{TextStyle, ThemeColour};

/// Most bytes of a span.
pub(super) const SPAN_CAP_BYTES: usize = 512;
/// Most markers and brackets that are open at the same time. Beyond that they count as text, which bounds the work.
const OPEN_CAP: usize = 8;
/// Most nested spans; deeper ones are text.
const DEPTH_CAP: usize = 6;

/// The text before a piece of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrecedingText {
    last: char,
    /// The length of the prefix of `://` seen in the current word. At 3 the word is an address, which contains no
    /// markers.
    address: u8,
}

impl Default for PrecedingText {
    fn default() -> Self {
        Self { last: ' ', address: 0 }
    }
}

impl PrecedingText {
    fn pass(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        self.last = last;
        let word = match text.rfind(char::is_whitespace) {
            Some(at) => {
                self.address = 0;
                &text[at..]
            }
            None => text,
        };
        for byte in word.bytes() {
            self.address = match (self.address, byte) {
                (3, _) => 3,
                (_, b':') => 1,
                (1, b'/') => 2,
                (2, b'/') => 3,
                (_, _) => 0,
            };
        }
    }

    fn is_in_address(self) -> bool {
        self.address == 3
    }
}

/// Whether more of the line may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestOfLine {
    MayCome,
    IsHere,
}

/// The bytes with which a span may begin.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let bytes = b"\\`*_~[!<";
    let mut at = 0;
    while at < bytes.len() {
        begins[bytes[at] as usize] = true;
        at += 1;
    }
    begins
};

type StyledSink<'a> = &'a mut dyn FnMut(TextStyle, &str);

/// Writes the decided part of `text` and returns its length in bytes.
pub(super) fn write(
    text: &str,
    rest: RestOfLine,
    before: &mut PrecedingText,
    style: TextStyle,
    out: StyledSink<'_>,
) -> usize {
    write_within(text, rest, before, style, 0, out)
}

/// Whether a byte may decide text that is held back.
pub(super) fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'\\' | b'`' | b'*' | b'_' | b'~' | b'[' | b'!' | b'<' | b']' | b'(' | b')' | b'>'
    )
}

fn write_within(
    text: &str,
    rest: RestOfLine,
    before: &mut PrecedingText,
    style: TextStyle,
    depth: usize,
    out: StyledSink<'_>,
) -> usize {
    let mut at = 0;
    while at < text.len() {
        let special = text.as_bytes()[at..].iter().position(|byte| BEGINS[usize::from(*byte)]);
        let plain = special.unwrap_or(text.len() - at);
        if plain > 0 {
            let plain = &text[at..at + plain];
            out(style, plain);
            before.pass(plain);
            at += plain.len();
            continue;
        }
        let (window, window_rest) = window(&text[at..], rest);
        let taken = match span(window, window_rest, *before) {
            InlineToken::Text(length) => {
                out(style, &window[..length]);
                before.pass(&window[..length]);
                length
            }
            InlineToken::Open if text.len() - at >= SPAN_CAP_BYTES => {
                let marker = run(window).max(1);
                out(style, &window[..marker]);
                before.pass(&window[..marker]);
                marker
            }
            InlineToken::Open => return at,
            InlineToken::Span(span) => {
                let marked = &window[..span.length];
                if depth < DEPTH_CAP {
                    span.write(style, depth, out);
                } else {
                    out(style, marked);
                }
                before.pass(marked);
                span.length
            }
        };
        at += taken;
    }
    at
}

/// The part of the text that a span may cover.
fn window(text: &str, rest: RestOfLine) -> (&str, RestOfLine) {
    if text.len() < SPAN_CAP_BYTES {
        return (text, rest);
    }
    let mut end = SPAN_CAP_BYTES - 1;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], RestOfLine::MayCome)
}

/// The meaning of a text that begins with a special character.
enum InlineToken<'a> {
    /// Plain text, with its length in bytes.
    Text(usize),
    /// Undecided until more of the line arrives.
    Open,
    Span(Span<'a>),
}

struct Span<'a> {
    length: usize,
    kind: SpanKind,
    inner: &'a str,
}

enum SpanKind {
    Escaped,
    Italic,
    Bold,
    BoldItalic,
    Struck,
    Code,
    Link { address: String },
}

impl Span<'_> {
    fn write(&self, style: TextStyle, depth: usize, out: StyledSink<'_>) {
        let mut nested = |style: TextStyle| {
            let mut before = PrecedingText::default();
            write_within(self.inner, RestOfLine::IsHere, &mut before, style, depth + 1, out);
        };
        match &self.kind {
            SpanKind::Escaped => out(style, self.inner),
            SpanKind::Italic => nested(style.italic()),
            SpanKind::Bold => nested(style.bold()),
            SpanKind::BoldItalic => nested(style.bold().italic()),
            SpanKind::Struck => nested(style.struck()),
            SpanKind::Code => out(style.coloured(ThemeColour::Cyan), code_of(self.inner)),
            SpanKind::Link { address } if self.inner.is_empty() || self.inner == address => {
                out(style.underlined(), address);
            }
            SpanKind::Link { address } => {
                nested(style.underlined());
                if !address.is_empty() {
                    out(style.dim(), &format!(" ({address})"));
                }
            }
        }
    }
}

/// The content of a code span without the padding spaces that separate inner backticks from the outer ones.
fn code_of(inner: &str) -> &str {
    let padded = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
    padded.filter(|_| inner.contains(|other| other != ' ')).unwrap_or(inner)
}

fn span(text: &str, rest: RestOfLine, before: PrecedingText) -> InlineToken<'_> {
    match text.as_bytes()[0] {
        b'\\' => escaped(text, rest),
        b'`' => code(text, rest),
        b'*' | b'_' | b'~' if before.is_in_address() => InlineToken::Text(run(text)),
        b'*' | b'_' => emphasis(text, rest, before.last),
        b'~' => struck(text, rest),
        b'[' => link(text, 0, rest),
        b'!' => match text.as_bytes().get(1) {
            None if rest == RestOfLine::MayCome => InlineToken::Open,
            Some(b'[') => link(text, 1, rest),
            None | Some(_) => InlineToken::Text(1),
        },
        b'<' => tag(text, rest),
        _ => InlineToken::Text(text.chars().next().map_or(1, char::len_utf8)),
    }
}

/// The number of repetitions of the first byte.
fn run(text: &str) -> usize {
    let first = text.as_bytes().first();
    text.bytes().take_while(|byte| Some(byte) == first).count()
}

fn open_or(rest: RestOfLine, length: usize) -> InlineToken<'static> {
    match rest {
        RestOfLine::MayCome => InlineToken::Open,
        RestOfLine::IsHere => InlineToken::Text(length),
    }
}

fn escaped(text: &str, rest: RestOfLine) -> InlineToken<'_> {
    match text.as_bytes().get(1) {
        None => open_or(rest, 1),
        Some(next) if next.is_ascii_punctuation() => InlineToken::Span(Span {
            length: 2,
            kind: SpanKind::Escaped,
            inner: &text[1..2],
        }),
        Some(_) => InlineToken::Text(1),
    }
}

fn code(text: &str, rest: RestOfLine) -> InlineToken<'_> {
    let ticks = run(text);
    match end_of_code(text, rest) {
        Some(Some(end)) => InlineToken::Span(Span {
            length: end + ticks,
            kind: SpanKind::Code,
            inner: &text[ticks..end],
        }),
        Some(None) => InlineToken::Text(ticks),
        None => InlineToken::Open,
    }
}

/// The position of the closing backticks: `Some(None)` if they are missing, `None` if undecided.
fn end_of_code(text: &str, rest: RestOfLine) -> Option<Option<usize>> {
    let ticks = run(text);
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        let length = run(&text[at + next..]);
        let is_last = at + next + length == text.len();
        if is_last && rest == RestOfLine::MayCome {
            return None;
        }
        if length == ticks {
            return Some(Some(at + next));
        }
        at += next + length;
    }
    (rest == RestOfLine::IsHere).then_some(None)
}

fn emphasis(text: &str, rest: RestOfLine, last: char) -> InlineToken<'_> {
    let marker = text.as_bytes()[0];
    let length = run(text);
    let Some(next) = next_char(text, length, rest) else {
        return InlineToken::Open;
    };
    if length > 3 || !can_open(marker, length, last, next) {
        return InlineToken::Text(length);
    }
    match end_of_emphasis(text, rest) {
        // Names such as `__init__` are not emphasis.
        Some(Some(end)) if marker == b'_' && length == 2 && is_name(&text[length..end]) => {
            InlineToken::Text(end + length)
        }
        Some(Some(end)) => InlineToken::Span(Span {
            length: end + length,
            kind: match length {
                1 => SpanKind::Italic,
                2 => SpanKind::Bold,
                _ => SpanKind::BoldItalic,
            },
            inner: &text[length..end],
        }),
        Some(None) => InlineToken::Text(length),
        None => InlineToken::Open,
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The character at an index, or a space at the end of the line; `None` if it has not arrived.
fn next_char(text: &str, at: usize, rest: RestOfLine) -> Option<char> {
    match text[at..].chars().next() {
        Some(next) => Some(next),
        None if rest == RestOfLine::IsHere => Some(' '),
        None => None,
    }
}

fn is_punctuation(character: char) -> bool {
    !character.is_alphanumeric() && !character.is_whitespace()
}

fn is_left_flanking(last: char, next: char) -> bool {
    !next.is_whitespace() && (!is_punctuation(next) || last.is_whitespace() || is_punctuation(last))
}

fn can_open(marker: u8, length: usize, last: char, next: char) -> bool {
    is_left_flanking(last, next)
        && match marker {
            b'_' => !last.is_alphanumeric(),
            // `2*3*4` is more often a product than an emphasised 3.
            _ => length > 1 || !(last.is_ascii_alphanumeric() && next.is_ascii_alphanumeric()),
        }
}

fn can_close(marker: u8, length: usize, last: char, next: char) -> bool {
    is_left_flanking(next, last)
        && match marker {
            b'_' => !next.is_alphanumeric(),
            _ => length > 1 || !(last.is_ascii_alphanumeric() && next.is_ascii_alphanumeric()),
        }
}

/// The position of the closing markers: `Some(None)` if they are missing, `None` if undecided.
fn end_of_emphasis(text: &str, rest: RestOfLine) -> Option<Option<usize>> {
    let marker = text.as_bytes()[0];
    let first = run(text);
    // The lengths of the open markers, the outermost first.
    let mut open = Vec::with_capacity(OPEN_CAP);
    open.push(first);
    let mut at = first;
    loop {
        let skipped = text.as_bytes()[at..]
            .iter()
            .position(|byte| *byte == marker || matches!(byte, b'\\' | b'`'));
        let Some(skipped) = skipped else { break };
        at += skipped;
        match text.as_bytes()[at] {
            b'\\' => match text[at + 1..].chars().next() {
                Some(escaped) => at += 1 + escaped.len_utf8(),
                None if rest == RestOfLine::MayCome => return None,
                None => at += 1,
            },
            b'`' => {
                let end = end_of_code(&text[at..], rest)?.unwrap_or(0);
                at += end + run(&text[at + end..]);
            }
            _ => {
                let last = text[..at].chars().next_back().unwrap_or(' ');
                let length = run(&text[at..]);
                let next = next_char(text, at + length, rest)?;
                let closes = can_close(marker, length, last, next);
                match open.iter().rposition(|open| *open == length).filter(|_| closes) {
                    Some(0) => return Some(Some(at)),
                    Some(matching) => open.truncate(matching),
                    None if closes && open.len() > 1 && length == open[open.len() - 1] + open[open.len() - 2] => {
                        open.truncate(open.len() - 2);
                        if open.is_empty() {
                            return Some(Some(at + length - first));
                        }
                    }
                    None if closes && open.len() == 1 && length > first => return Some(Some(at)),
                    None if length <= 3 && can_open(marker, length, last, next) => open.push(length),
                    None => {}
                }
                if open.len() > OPEN_CAP {
                    return Some(None);
                }
                at += length;
            }
        }
    }
    (rest == RestOfLine::IsHere).then_some(None)
}

fn struck(text: &str, rest: RestOfLine) -> InlineToken<'_> {
    let length = run(text);
    let Some(next) = next_char(text, length, rest) else {
        return InlineToken::Open;
    };
    if length != 2 || next.is_whitespace() {
        return InlineToken::Text(length);
    }
    let mut at = length;
    while let Some(next) = text[at..].find('~') {
        let length = run(&text[at + next..]);
        if at + next + length == text.len() && rest == RestOfLine::MayCome {
            return InlineToken::Open;
        }
        if length == 2 && !text[..at + next].ends_with(char::is_whitespace) {
            return InlineToken::Span(Span {
                length: at + next + 2,
                kind: SpanKind::Struck,
                inner: &text[2..at + next],
            });
        }
        at += next + length;
    }
    open_or(rest, length)
}

/// A tag or an address in angle brackets, which is shown unchanged and contains no markers.
fn tag(text: &str, rest: RestOfLine) -> InlineToken<'_> {
    match text.as_bytes().get(1) {
        None => return open_or(rest, 1),
        Some(next) if next.is_ascii_alphabetic() || matches!(next, b'/' | b'!') => {}
        Some(_) => return InlineToken::Text(1),
    }
    match text[1..].find(['<', '>']) {
        Some(end) if text.as_bytes()[end + 1] == b'>' => InlineToken::Text(end + 2),
        Some(_) => InlineToken::Text(1),
        None => open_or(rest, 1),
    }
}

/// Parses `[text](address "title")` at `start`; an image has an exclamation mark before it.
fn link(text: &str, start: usize, rest: RestOfLine) -> InlineToken<'_> {
    match linked(text, start, rest) {
        Some(Some((inner, address, length))) => InlineToken::Span(Span {
            length,
            kind: SpanKind::Link { address },
            inner: &text[start + 1..inner],
        }),
        Some(None) => InlineToken::Text(start + 1),
        None => open_or(rest, start + 1),
    }
}

/// The end of the link's text, its address, and the end of the link: `Some(None)` if it is not a link, `None` if
/// undecided.
fn linked(text: &str, start: usize, rest: RestOfLine) -> Option<Option<(usize, String, usize)>> {
    let bytes = text.as_bytes();
    let mut depth = 0;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'`' => {
                let end = end_of_code(&text[at..], rest)?.unwrap_or(0);
                at += end + run(&text[at + end..]) - 1;
            }
            b'[' if depth == OPEN_CAP => return Some(None),
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at += 1;
    }
    let inner = at;
    if *bytes.get(inner + 1)? != b'(' {
        return Some(None);
    }
    let mut at = inner + 2;
    let begin = at;
    let in_brackets = *bytes.get(at)? == b'<';
    let mut depth = 0;
    loop {
        match bytes.get(at)? {
            b'>' if in_brackets => break,
            _ if in_brackets => {}
            b'(' => depth += 1,
            b')' if depth == 0 => break,
            b')' => depth -= 1,
            b' ' | b'\t' => break,
            _ => {}
        }
        at += 1;
    }
    let address = match in_brackets {
        true => text[begin + 1..at].to_owned(),
        false => text[begin..at].to_owned(),
    };
    at += usize::from(in_brackets);
    let blanks = bytes[at..].iter().take_while(|byte| **byte == b' ').count();
    at += blanks;
    match bytes.get(at)? {
        b')' => return Some(Some((inner, address, at + 1))),
        quote @ (b'"' | b'\'') if blanks > 0 => loop {
            at += 1;
            if bytes.get(at)? == quote {
                at += 1;
                break;
            }
        },
        _ => return Some(None),
    }
    Some((*bytes.get(at)? == b')').then_some((inner, address, at + 1)))
}
