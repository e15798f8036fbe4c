//! Recognises the Markdown block that a line begins. Pure.

use super::inline::RestOfLine;

/// Most bytes of a line whose block only its end decides; a longer line is text.
pub(super) const LINE_CAP_BYTES: usize = 2048;

/// The block that a line, or the rest of it, begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkdownBlock {
    /// Undecided until more of the line arrives.
    Open,
    Text,
    /// The marker of a quote, with its length in bytes.
    Quote(usize),
    /// An item of a list, with the lengths of indent and marker in bytes. Numbers are shown unchanged.
    Bullet {
        indent: usize,
        length: usize,
    },
    Number {
        length: usize,
    },
    Heading {
        length: usize,
        level: usize,
    },
    Rule,
    Fence {
        indent: usize,
        marker: u8,
        count: usize,
    },
    Row,
    Code,
}

/// The effect of earlier lines on this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineContext {
    /// The line above is text: a line of equals signs underlines it.
    pub(super) below_text: bool,
    /// Whether indented text is code.
    pub(super) may_be_code: bool,
    /// Whether a quote or item marker of this line has been removed already.
    pub(super) within: bool,
}

pub(super) fn block(line: &str, rest: RestOfLine, context: LineContext) -> MarkdownBlock {
    let bytes = line.as_bytes();
    let blanks = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let columns: usize = bytes[..blanks]
        .iter()
        .map(|byte| if *byte == b'\t' { 4 } else { 1 })
        .sum();
    let Some(first) = bytes.get(blanks) else {
        return if_open(line, rest, MarkdownBlock::Text);
    };
    if columns >= 4 && context.may_be_code && !context.within {
        return MarkdownBlock::Code;
    }
    let marked = &line[blanks..];
    let count = marked.bytes().take_while(|byte| byte == first).count();
    let next = marked.as_bytes().get(count);
    match first {
        b'>' if marked.len() == 1 && rest == RestOfLine::MayCome => MarkdownBlock::Open,
        b'>' => MarkdownBlock::Quote(blanks + 1 + usize::from(marked.as_bytes().get(1) == Some(&b' '))),
        b'#' => match next {
            _ if count > 6 => MarkdownBlock::Text,
            None if rest == RestOfLine::MayCome => MarkdownBlock::Open,
            None | Some(b' ' | b'\t') => MarkdownBlock::Heading {
                length: blanks + count + usize::from(next.is_some()),
                level: count,
            },
            Some(_) => MarkdownBlock::Text,
        },
        b'-' | b'*' | b'_' | b'+' | b'=' => dashes(line, blanks, rest, context),
        b'`' | b'~' => match next {
            None if rest == RestOfLine::MayCome => if_open(line, rest, MarkdownBlock::Text),
            _ if count < 3 => MarkdownBlock::Text,
            _ if *first == b'`' && marked[count..].contains('`') => MarkdownBlock::Text,
            _ => if_open(
                line,
                rest,
                MarkdownBlock::Fence {
                    indent: columns,
                    marker: *first,
                    count,
                },
            ),
        },
        b'|' if !context.within => if_open(line, rest, MarkdownBlock::Row),
        b'0'..=b'9' => number(marked, blanks, rest),
        _ => MarkdownBlock::Text,
    }
}

/// `block` if the line is complete, otherwise undecided.
fn if_open(line: &str, rest: RestOfLine, block: MarkdownBlock) -> MarkdownBlock {
    match rest {
        _ if line.len() > LINE_CAP_BYTES => MarkdownBlock::Text,
        RestOfLine::MayCome => MarkdownBlock::Open,
        RestOfLine::IsHere => block,
    }
}

fn dashes(line: &str, blanks: usize, rest: RestOfLine, context: LineContext) -> MarkdownBlock {
    let marked = &line[blanks..];
    let first = marked.as_bytes()[0];
    let is_marker = matches!(first, b'-' | b'*' | b'+');
    if marked.bytes().all(|byte| byte == first || matches!(byte, b' ' | b'\t')) {
        let count = marked.bytes().filter(|byte| *byte == first).count();
        let at_end = match first {
            b'-' | b'*' | b'_' if count >= 3 => MarkdownBlock::Rule,
            b'=' if count >= 3 && context.below_text && !marked.contains([' ', '\t']) => MarkdownBlock::Rule,
            _ if is_marker && count == 1 => MarkdownBlock::Bullet {
                indent: blanks,
                length: 1,
            },
            _ => MarkdownBlock::Text,
        };
        return if_open(line, rest, at_end);
    }
    match marked.as_bytes()[1] {
        b' ' | b'\t' if is_marker => MarkdownBlock::Bullet {
            indent: blanks,
            length: 2,
        },
        _ => MarkdownBlock::Text,
    }
}

fn number(marked: &str, blanks: usize, rest: RestOfLine) -> MarkdownBlock {
    let digits = marked.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 9 {
        return MarkdownBlock::Text;
    }
    let mut after = marked[digits..].bytes();
    match (after.next(), after.next()) {
        (Some(b'.' | b')'), Some(b' ' | b'\t')) => MarkdownBlock::Number {
            length: blanks + digits + 2,
        },
        (None, _) | (Some(b'.' | b')'), None) if rest == RestOfLine::MayCome => MarkdownBlock::Open,
        _ => MarkdownBlock::Text,
    }
}
