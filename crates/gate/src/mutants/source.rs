//! A file as tokens, brackets and lines, and the blocks that a line stands in.
//!
//! Blocks are found by indentation, which every formatted language has in common, and brackets tell where a header that is
//! spread over lines begins.

use super::language::Language;
use super::lexer::{Kind, Token, tokens};

/// Most tokens of a line that is looked at: longer ones were written by no one.
pub(super) const LONGEST_LINE: usize = 300;
/// Most brackets that may be left open within a pair.
const DEEPEST: usize = 64;

pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(super) language: Language,
    pub(crate) tokens: Vec<Token>,
    /// The other bracket of a bracket.
    partners: Vec<Option<usize>>,
    pub(super) lines: Vec<Line>,
    /// The line of each token, counted from 0.
    line_of: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) start: usize,
    /// Without the line break.
    pub(super) end: usize,
    /// Columns before the first token; none if no token begins on the line.
    pub(super) indent: Option<usize>,
    /// Its first token, or that of the next line with one.
    pub(super) first: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn new(language: Language, text: &'a str) -> Self {
        let tokens = tokens(text, language);
        let partners = partners(text, &tokens);
        let mut lines = lines(text);
        let mut line_of = Vec::with_capacity(tokens.len());
        let mut line = 0;
        for token in &tokens {
            while lines.get(line + 1).is_some_and(|next| next.start <= token.start) {
                line += 1;
            }
            line_of.push(line);
        }
        for (index, line) in lines.iter_mut().enumerate() {
            line.first = line_of.partition_point(|of| *of < index);
            if line_of.get(line.first) == Some(&index) {
                line.indent = Some(indent(&text[line.start..tokens[line.first].start]));
            }
        }
        Source {
            text,
            language,
            tokens,
            partners,
            lines,
            line_of,
        }
    }

    /// The text of a token; empty past the last one.
    pub(crate) fn at(&self, token: usize) -> &'a str {
        self.tokens
            .get(token)
            .map_or("", |token| &self.text[token.start..token.end])
    }

    /// The start of a token; the end of the text past the last one.
    pub(crate) fn start_of(&self, token: usize) -> usize {
        self.tokens.get(token).map_or(self.text.len(), |token| token.start)
    }

    /// Whether a byte is within a token, as line breaks of texts are.
    pub(crate) fn is_in_token(&self, at: usize) -> bool {
        let token = self.tokens.partition_point(|token| token.end <= at);
        self.tokens.get(token).is_some_and(|token| token.start <= at)
    }

    pub(crate) fn kind(&self, token: usize) -> Option<Kind> {
        self.tokens.get(token).map(|token| token.kind)
    }

    pub(crate) fn is_word(&self, token: usize) -> bool {
        self.kind(token) == Some(Kind::Word)
    }

    pub(crate) fn is_punct(&self, token: usize, text: &str) -> bool {
        self.kind(token) == Some(Kind::Punct) && self.at(token) == text
    }

    pub(crate) fn partner(&self, token: usize) -> Option<usize> {
        self.partners.get(token).copied().flatten()
    }

    /// The line of a token, counted from 0.
    pub(super) fn line_of(&self, token: usize) -> usize {
        self.line_of.get(token).copied().unwrap_or(self.lines.len())
    }

    pub(super) fn is_open(&self, token: usize) -> bool {
        self.partner(token).is_some_and(|close| close > token)
    }

    pub(super) fn is_close(&self, token: usize) -> bool {
        self.partner(token).is_some_and(|open| open < token)
    }

    /// The tokens of a line that begin on it.
    pub(super) fn tokens_of_line(&self, line: usize) -> std::ops::Range<usize> {
        let first = self.lines.get(line).map_or(self.tokens.len(), |line| line.first);
        let next = self.lines.get(line + 1).map_or(self.tokens.len(), |line| line.first);
        first..next
    }

    /// Cuts `range` at the commas that are in no brackets.
    pub(super) fn split(&self, range: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
        let mut parts = Vec::new();
        let mut start = range.start;
        let mut at = range.start;
        let mut angles = 0_usize;
        while at < range.end {
            if self.is_open(at) {
                at = self.partner(at).map_or(at, |close| close.min(range.end - 1));
            } else if self.is_punct(at, "::") && self.is_punct(at + 1, "<") {
                angles += 1;
                at += 1;
            } else if angles > 0 && self.is_punct(at, ">") {
                angles -= 1;
            } else if angles > 0 && self.is_punct(at, ">>") {
                angles = angles.saturating_sub(2);
            } else if angles == 0 && self.is_punct(at, ",") {
                parts.push(start..at);
                start = at + 1;
            }
            at += 1;
        }
        if start < range.end {
            parts.push(start..range.end);
        }
        parts
    }

    /// The tokens of `range` that are in none of its brackets.
    pub(super) fn outer(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let here = at;
            at = match self.partner(at) {
                Some(close) if close > at => close,
                _ => at + 1,
            };
            Some(here)
        })
    }

    /// The bytes from the first to the last token of `range`.
    pub(super) fn span(&self, range: &std::ops::Range<usize>) -> Option<(usize, usize)> {
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start)?;
        Some((self.tokens.get(range.start)?.start, self.tokens.get(last)?.end))
    }

    /// The lines that open the blocks in which `line` stands, the innermost first.
    pub(super) fn headers(&self, line: usize) -> Vec<usize> {
        let mut headers = Vec::new();
        let mut at = line;
        let mut limit = self.lines.get(line).and_then(|line| line.indent).unwrap_or(0);
        while limit > 0 {
            let outer = (0..at).rev().find(|above| {
                self.lines[*above]
                    .indent
                    .is_some_and(|indent| indent < limit && !self.is_inside_brackets_of_own(*above))
            });
            let Some(outer) = outer else {
                break;
            };
            let opened = self.opening_line(outer);
            limit = self.lines[opened].indent.unwrap_or(0).min(limit - 1);
            at = opened;
            headers.push(opened);
        }
        headers
    }

    /// Whether a line only ends what an earlier one began, as `]` alone does: it opens no block.
    fn is_inside_brackets_of_own(&self, line: usize) -> bool {
        let mut tokens = self.tokens_of_line(line);
        tokens.all(|token| self.is_close(token) || matches!(self.at(token), ";" | ","))
    }

    /// The line on which what `line` goes on with began: that of `fn f(` for `) {`.
    pub(super) fn opening_line(&self, line: usize) -> usize {
        let mut line = line;
        loop {
            let first = self.tokens_of_line(line).start;
            match self.partner(first) {
                Some(open) if open < first && self.line_of(open) < line => line = self.line_of(open),
                _ => return line,
            }
        }
    }

    /// The first line after the block that `header` opens.
    pub(super) fn end_of_block(&self, header: usize) -> usize {
        let indent = self.lines[header].indent.unwrap_or(0);
        (header + 1..self.lines.len())
            .find(|line| {
                self.lines[*line].indent.is_some_and(|of| of <= indent)
                    && !self.is_close(self.tokens_of_line(*line).start)
            })
            .unwrap_or(self.lines.len())
    }

    /// The token after the statement in which `token` stands.
    pub(super) fn end_of_statement(&self, token: usize) -> usize {
        let mut last = token;
        for next in self.outer(token..self.tokens.len()) {
            if next == token {
                continue;
            }
            let text = self.at(next);
            if self.is_punct(next, ";") || self.is_close(next) && self.partner(next) < Some(token) {
                return next;
            }
            let between = self.tokens.get(next).zip(self.tokens.get(last));
            let breaks = between
                .and_then(|(next, last)| self.text.get(last.end..next.start))
                .is_some_and(|blank| blank.contains('\n'));
            let goes_on = match self.language {
                Language::Python => self.is_punct(last, "\\"),
                Language::Rust => true,
                Language::Go => self.is_punct(last, ","),
                Language::JavaScript => {
                    matches!(text, "." | "?." | "+" | "&&" | "||" | "==" | "===")
                        || matches!(self.at(last), "," | "+" | "=" | "&&" | "||" | "==" | "===")
                }
            };
            if breaks && !goes_on {
                return next;
            }
            last = self.partner(next).filter(|close| *close > next).unwrap_or(next);
        }
        self.tokens.len()
    }

    /// The attributes and decorators right above `header`.
    pub(super) fn attached(&self, header: usize) -> Vec<usize> {
        let indent = self.lines[header].indent;
        let mut tokens = Vec::new();
        let mut line = header;
        while let Some(above) = line.checked_sub(1) {
            line = above;
            let is_blank = self.text[self.lines[line].start..self.lines[line].end]
                .trim()
                .is_empty();
            if is_blank {
                break;
            }
            if self.lines[line].indent.is_none() {
                continue;
            }
            let last = self.tokens_of_line(line).end;
            line = self.opening_line(line);
            let first = self.tokens_of_line(line).start;
            if self.lines[line].indent != indent || !matches!(self.at(first), "@" | "#") {
                break;
            }
            tokens.extend(first..last);
        }
        tokens
    }
}

/// Whether a list of words, with blanks between them, has a word.
pub(crate) fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

fn partners(text: &str, tokens: &[Token]) -> Vec<Option<usize>> {
    let mut partners = vec![None; tokens.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Punct {
            continue;
        }
        let wanted = match &text[token.start..token.end] {
            bracket @ ("(" | "[" | "{") => {
                let close = ["()", "[]", "{}"]
                    .into_iter()
                    .find_map(|pair| pair.strip_prefix(bracket));
                open.push((index, close.unwrap_or_default()));
                continue;
            }
            close @ (")" | "]" | "}") => close,
            _ => continue,
        };
        // An unclosed bracket does not take the brackets around it along.
        let looked_at = open.len().saturating_sub(DEEPEST);
        let depth = open[looked_at..].iter().rposition(|(_, close)| *close == wanted);
        if let Some(depth) = depth.map(|depth| looked_at + depth) {
            partners[index] = Some(open[depth].0);
            partners[open[depth].0] = Some(index);
            open.truncate(depth);
        }
    }
    partners
}

fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        lines.push(Line {
            start,
            end: start + body.len(),
            indent: None,
            first: 0,
        });
        start += line.len();
    }
    lines
}

fn indent(blank: &str) -> usize {
    blank.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}
