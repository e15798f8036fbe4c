//! Streaming Markdown: takes pieces of any size and writes each part as ANSI text as soon as it is decided. Pure.
//!
//! A line is shown while it is being written. Only undecided parts are held back: the marker at the beginning, a span
//! until its counterpart arrives, the rows of a table until its end. Text without Markdown is shown unchanged,
//! including its line ends, and so is HTML. The output does not depend on how a text was cut into pieces.

use super::{
    block::{LINE_CAP_BYTES, LineContext, MarkdownBlock, block},
    inline::{self, PrecedingText, RestOfLine, SPAN_CAP_BYTES},
    style::{StyledWriter, TextStyle, ThemeColour},
    table::MarkdownTable,
};

/// Most markers of quotes and items at the beginning of one line.
const LEADS_CAP: usize = 8;
const RULE_COLUMNS: usize = 24;
/// Most columns of indent that the lines of a code block inherit from its fence.
const MOST_INDENT: usize = 32;

#[derive(Debug)]
pub(super) struct Markdown {
    base: TextStyle,
    /// The terminal's width, which a table should fit.
    columns: usize,
    writer: StyledWriter,
    line: LineState,
    /// The part of the line that is held back.
    held: String,
    before: PrecedingText,
    /// Blank lines before the next output. At the end of the text they are dropped.
    blanks: usize,
    above: PreviousLine,
    in_list: bool,
    code: Option<CodeFence>,
    table: Option<MarkdownTable>,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// Only its markers have been shown: the number of quotes, and of all markers.
    Start {
        quotes: usize,
        leads: usize,
    },
    Text(TextStyle),
    /// Text without markup.
    Code(TextStyle),
}

const START: LineState = LineState::Start { quotes: 0, leads: 0 };

/// The line above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousLine {
    /// There is no line above.
    Nothing,
    Blank,
    Text,
    Code,
    Other,
}

/// An open code block.
#[derive(Debug, Clone, Copy)]
struct CodeFence {
    indent: usize,
    marker: u8,
    count: usize,
    /// The number of quotes that contain it.
    quotes: usize,
    is_difference: bool,
}

impl Markdown {
    pub(super) fn new(base: TextStyle, columns: usize) -> Self {
        Self {
            base,
            columns,
            writer: StyledWriter::default(),
            line: START,
            held: String::new(),
            before: PrecedingText::default(),
            blanks: 0,
            above: PreviousLine::Nothing,
            in_list: false,
            code: None,
            table: None,
        }
    }

    /// Takes a piece without control characters other than line ends and tabs.
    pub(super) fn feed(&mut self, piece: &str, out: &mut Vec<u8>) {
        for (at, part) in piece.split('\n').enumerate() {
            if at > 0 {
                self.end_line(out);
            }
            if !part.is_empty() {
                self.take(part, out);
            }
        }
        self.writer.lift(out);
    }

    /// Ends the text and its current line.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.line != START || !self.held.is_empty() {
            self.end_line(out);
        }
        self.end_table(out);
        if let Some(code) = self.code.take() {
            self.end_code(code, out);
        }
        self.writer.lift(out);
        self.blanks = 0;
    }

    fn take(&mut self, part: &str, out: &mut Vec<u8>) {
        match self.line {
            LineState::Start { .. } => {
                self.held.push_str(part);
                self.begin_line(RestOfLine::MayCome, out);
            }
            LineState::Text(style) if self.held.is_empty() => self.text(part, RestOfLine::MayCome, style, out),
            LineState::Text(style) => {
                let waits_for_next = self.held.bytes().next_back().is_some_and(inline::is_special);
                self.held.push_str(part);
                // Only a special character or too great a length decides the held text.
                if waits_for_next || part.bytes().any(inline::is_special) || self.held.len() >= SPAN_CAP_BYTES {
                    let held = std::mem::take(&mut self.held);
                    self.text(&held, RestOfLine::MayCome, style, out);
                }
            }
            LineState::Code(style) => self.writer.write(style, part, out),
        }
    }

    /// Writes the decided text of a line, and holds back the rest.
    fn text(&mut self, text: &str, rest: RestOfLine, style: TextStyle, out: &mut Vec<u8>) {
        let writer = &mut self.writer;
        let taken = inline::write(text, rest, &mut self.before, style, &mut |style, text| {
            writer.write(style, text, out);
        });
        self.held.push_str(&text[taken..]);
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        match self.line {
            LineState::Start { quotes: 0, leads: 0 } if self.code.is_none() && self.held.trim().is_empty() => {
                self.held.clear();
                self.end_table(out);
                if self.above != PreviousLine::Nothing {
                    self.blanks += 1;
                    self.above = PreviousLine::Blank;
                }
                return;
            }
            LineState::Start { .. } => self.begin_line(RestOfLine::IsHere, out),
            LineState::Text(_) | LineState::Code(_) => {}
        }
        if let LineState::Text(style) = self.line {
            let held = std::mem::take(&mut self.held);
            self.text(&held, RestOfLine::IsHere, style, out);
        }
        // A row was stored in the table, and the line of a closing fence has ended itself.
        if self.line != START {
            self.close_line(out);
        }
    }

    fn close_line(&mut self, out: &mut Vec<u8>) {
        self.writer.lift(out);
        out.extend_from_slice(b"\r\n");
        self.line = START;
        self.held.clear();
        self.before = PrecedingText::default();
    }

    /// Writes pending blank lines. Called before any other output.
    fn show_blanks(&mut self, out: &mut Vec<u8>) {
        for _ in 0..std::mem::take(&mut self.blanks) {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Decides the blocks of the line, as far as they are known.
    fn begin_line(&mut self, rest: RestOfLine, out: &mut Vec<u8>) {
        while let LineState::Start { quotes, leads } = self.line {
            if let Some(code) = self.code {
                if self.code_line(code, rest, out) {
                    return;
                }
                continue;
            }
            let context = LineContext {
                below_text: self.above == PreviousLine::Text,
                may_be_code: matches!(
                    self.above,
                    PreviousLine::Nothing | PreviousLine::Blank | PreviousLine::Code
                ) && !self.in_list,
                within: leads > 0,
            };
            let block = match leads {
                LEADS_CAP.. => MarkdownBlock::Text,
                _ => block(&self.held, rest, context),
            };
            match block {
                MarkdownBlock::Open => return,
                MarkdownBlock::Row => {
                    let row = std::mem::take(&mut self.held);
                    self.row(row, out);
                    return;
                }
                _ => self.end_table(out),
            }
            self.show_blanks(out);
            self.begin_block(block, quotes, leads, out);
            if rest == RestOfLine::MayCome && self.held.is_empty() {
                return;
            }
        }
        if let LineState::Text(style) = self.line {
            let held = std::mem::take(&mut self.held);
            self.text(&held, rest, style, out);
        }
    }

    fn begin_block(&mut self, block: MarkdownBlock, quotes: usize, leads: usize, out: &mut Vec<u8>) {
        let base = self.base;
        let within = leads > 0;
        match block {
            MarkdownBlock::Quote(length) => {
                self.held.drain(..length);
                self.writer.write(base.dim(), "▎ ", out);
                self.line = LineState::Start {
                    quotes: quotes + 1,
                    leads: leads + 1,
                };
                self.above = PreviousLine::Other;
            }
            MarkdownBlock::Bullet { indent, length } => {
                let marker: String = self.held.drain(..indent + length).collect();
                self.writer.write(base, &marker[..indent], out);
                self.writer.write(base, "•", out);
                self.writer.write(base, &marker[indent + 1..], out);
                self.line = LineState::Start {
                    quotes,
                    leads: leads + 1,
                };
                self.in_list = true;
                self.above = PreviousLine::Other;
            }
            MarkdownBlock::Number { length } => {
                let marker: String = self.held.drain(..length).collect();
                self.writer.write(base, &marker, out);
                self.line = LineState::Start {
                    quotes,
                    leads: leads + 1,
                };
                self.in_list = true;
                self.above = PreviousLine::Other;
            }
            MarkdownBlock::Heading { length, level } => {
                self.held.drain(..length);
                let style = if level == 1 {
                    base.bold().underlined()
                } else {
                    base.bold()
                };
                self.line = LineState::Text(style);
                self.leave_list(within);
                self.above = PreviousLine::Other;
            }
            MarkdownBlock::Rule => {
                self.held.clear();
                self.writer.write(base.dim(), &"─".repeat(RULE_COLUMNS), out);
                self.line = LineState::Code(base);
                self.leave_list(within);
                self.above = PreviousLine::Other;
            }
            MarkdownBlock::Fence { indent, marker, count } => self.begin_code(indent, marker, count, quotes, out),
            MarkdownBlock::Code => {
                let held = std::mem::take(&mut self.held);
                self.writer.write(base, &held, out);
                self.line = LineState::Code(base);
                self.above = PreviousLine::Code;
            }
            MarkdownBlock::Text | MarkdownBlock::Open | MarkdownBlock::Row => {
                if self.above == PreviousLine::Blank && !self.held.starts_with([' ', '\t']) {
                    self.leave_list(within);
                }
                self.line = LineState::Text(base);
                self.above = PreviousLine::Text;
            }
        }
    }

    fn leave_list(&mut self, within: bool) {
        self.in_list &= within;
    }

    fn begin_code(&mut self, indent: usize, marker: u8, count: usize, quotes: usize, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let language = held.trim_start().trim_start_matches(char::from(marker)).trim();
        let style = self.base.dim();
        // The indent is repeated on every line, so it is bounded.
        let indent = indent.min(MOST_INDENT);
        self.writer.write(style, &" ".repeat(indent), out);
        self.writer.write(style, "╭─", out);
        if !language.is_empty() {
            self.writer.write(style, &format!(" {language}"), out);
        }
        self.code = Some(CodeFence {
            indent,
            marker,
            count,
            quotes,
            is_difference: matches!(language, "diff" | "patch"),
        });
        self.line = LineState::Code(style);
        self.above = PreviousLine::Other;
    }

    fn end_code(&mut self, code: CodeFence, out: &mut Vec<u8>) {
        let style = self.base.dim();
        self.quotes_of(code, out);
        self.writer.write(style, &" ".repeat(code.indent), out);
        self.writer.write(style, "╰─", out);
        self.close_line(out);
        self.above = PreviousLine::Other;
    }

    fn quotes_of(&mut self, code: CodeFence, out: &mut Vec<u8>) {
        self.writer.write(self.base.dim(), &"▎ ".repeat(code.quotes), out);
    }

    /// Begins a line of code. Returns false if the line is not code, because the quote around the code has ended.
    fn code_line(&mut self, code: CodeFence, rest: RestOfLine, out: &mut Vec<u8>) -> bool {
        let is_open = rest == RestOfLine::MayCome && self.held.len() <= LINE_CAP_BYTES;
        let Some(start) = behind_quotes(&self.held, code.quotes) else {
            if is_open && self.held.trim_start_matches(['>', ' ']).is_empty() {
                return true;
            }
            self.code = None;
            let held = std::mem::take(&mut self.held);
            self.end_code(code, out);
            self.held = held;
            return false;
        };
        let content = &self.held[start..];
        let blanks = content.bytes().take_while(|byte| *byte == b' ').count();
        let marked = &content[blanks..];
        let count = marked.bytes().take_while(|byte| *byte == code.marker).count();
        let may_end = marked[count..].bytes().all(|byte| byte == b' ');
        if may_end && is_open {
            return true;
        }
        if may_end && count >= code.count && content.len() <= LINE_CAP_BYTES {
            self.code = None;
            self.held.clear();
            self.end_code(code, out);
            return true;
        }
        let text = content[blanks.min(code.indent)..].to_owned();
        self.held.clear();
        let style = match text.bytes().next() {
            Some(b'+') if code.is_difference => self.base.coloured(ThemeColour::Green),
            Some(b'-') if code.is_difference => self.base.coloured(ThemeColour::Red),
            Some(b'@') if code.is_difference => self.base.coloured(ThemeColour::Cyan),
            _ => self.base,
        };
        self.quotes_of(code, out);
        self.writer.write(self.base.dim(), &" ".repeat(code.indent), out);
        self.writer.write(self.base.dim(), "│ ", out);
        self.writer.write(style, &text, out);
        self.line = LineState::Code(style);
        true
    }

    fn row(&mut self, row: String, out: &mut Vec<u8>) {
        self.above = PreviousLine::Other;
        let Some(table) = &mut self.table else {
            self.table = Some(MarkdownTable::new(row));
            return;
        };
        match table.take(row) {
            Ok(()) if table.is_full() => self.write_table(out),
            Ok(()) => {}
            Err((text, row)) => {
                self.table = Some(MarkdownTable::new(row));
                self.row_as_text(&text, out);
            }
        }
    }

    fn row_as_text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.show_blanks(out);
        let held = std::mem::take(&mut self.held);
        self.before = PrecedingText::default();
        self.text(text, RestOfLine::IsHere, self.base, out);
        self.close_line(out);
        self.held = held;
    }

    fn write_table(&mut self, out: &mut Vec<u8>) {
        self.show_blanks(out);
        if let Some(table) = &mut self.table {
            table.write(self.columns, self.base, &mut self.writer, out);
        }
    }

    /// Shows a pending table. A row without a rule below it is text.
    fn end_table(&mut self, out: &mut Vec<u8>) {
        let Some(table) = self.table.take() else { return };
        match table.into_text() {
            Ok(table) => {
                self.table = Some(table);
                self.write_table(out);
                self.table = None;
            }
            Err(text) => {
                self.row_as_text(&text, out);
                self.above = PreviousLine::Text;
            }
        }
    }
}

/// The position behind `quotes` quote markers; `None` if the line has fewer.
fn behind_quotes(line: &str, quotes: usize) -> Option<usize> {
    let mut at = 0;
    for _ in 0..quotes {
        let rest = line[at..].trim_start_matches(' ');
        let behind = rest.strip_prefix('>')?;
        at = line.len() - behind.strip_prefix(' ').unwrap_or(behind).len();
    }
    Some(at)
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
