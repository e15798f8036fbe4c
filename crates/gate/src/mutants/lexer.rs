//! Cuts source into tokens, without its comments.
//!
//! It knows enough of each language to tell code from comments and texts, and nothing of its grammar. Whatever it is given,
//! it comes to an end: each step takes at least one character.

use super::language::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    /// A text with its quotes.
    Text,
    /// A text with code in it, and other literals that are left alone.
    Opaque,
    Character,
    Punct,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Most characters of a regular expression. What looks like one may be a division.
const LONGEST_REGEX: usize = 300;
/// Longest first.
const PUNCTS: [&str; 48] = [
    ">>>=", "===", "!==", "<=>", "**=", "//=", "...", "..=", "..<", "&&=", "||=", "<<=", ">>=", "??=", "==", "!=",
    "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "->", "=>", "::", "..", ":=",
    "**", "<<", ">>", "??", "?.", "?:", "|>", "<-", "=~", "!~", "<>", "&.", "//",
];

pub(crate) fn tokens(text: &str, language: Language) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        language,
        at: 0,
        tokens: Vec::new(),
    };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    language: Language,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn step(&mut self) {
        let Some(first) = self.rest().chars().next() else {
            self.at = self.text.len();
            return;
        };
        if first.is_whitespace() {
            self.at += first.len_utf8();
        } else if let Some(length) = self.comment() {
            self.at += length;
        } else if let Some((kind, length)) = self.text_literal(first) {
            self.push(kind, length);
        } else if first.is_ascii_digit() {
            self.push(Kind::Number, self.number());
        } else if is_word(first) {
            let length = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
            self.push(Kind::Word, length);
        } else {
            let punct = PUNCTS.iter().find(|punct| self.rest().starts_with(**punct));
            self.push(Kind::Punct, punct.map_or(first.len_utf8(), |punct| punct.len()));
        }
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let end = (self.at + length.max(1)).min(self.text.len());
        let kind = match kind {
            Kind::Text if self.language.interpolates(&self.text[self.at..end]) => Kind::Opaque,
            kind => kind,
        };
        self.tokens.push(Token {
            kind,
            start: self.at,
            end,
        });
        self.at = end;
    }

    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        if self.language.has_block_comments() && rest.starts_with("/*") {
            return Some(block_comment(rest, self.language.nests_block_comments()));
        }
        let is_comment = rest.starts_with(self.language.line_comment());
        is_comment.then(|| rest.find('\n').unwrap_or(rest.len()))
    }

    fn text_literal(&self, first: char) -> Option<(Kind, usize)> {
        let rest = self.rest();
        match first {
            '\'' if self.language.has_characters() => Some(character(rest)),
            '"' | '\'' => Some((Kind::Text, self.quoted(0, first))),
            '`' => match self.language {
                Language::JavaScript => Some((Kind::Text, template(rest))),
                Language::Go => Some((Kind::Text, until(rest, 1, "`"))),
                Language::Python | Language::Rust => Some((Kind::Opaque, until(rest, 1, "`"))),
            },
            '/' if self.language.has_regex_literals() && self.regex_may_stand_here() => {
                regex(rest).map(|length| (Kind::Opaque, length))
            }
            _ if first.is_ascii_alphabetic() => self.prefixed(rest),
            _ => None,
        }
    }

    /// A text with letters before its quote, such as `r#"…"#` and `b'…'`.
    fn prefixed(&self, rest: &str) -> Option<(Kind, usize)> {
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic())?;
        let quote = rest[letters..].chars().next()?;
        let prefix = &rest[..letters];
        match self.language {
            Language::Python if letters <= 2 && prefix.chars().all(|c| "rbufRBUF".contains(c)) => match quote {
                '"' | '\'' => Some((Kind::Text, self.quoted(letters, quote))),
                _ => None,
            },
            Language::Rust if matches!(prefix, "r" | "br" | "cr") && (quote == '"' || quote == '#') => {
                let hashes = rest[letters..].find(|c| c != '#')?;
                if !rest[letters + hashes..].starts_with('"') {
                    return None;
                }
                let end = format!("\"{}", "#".repeat(hashes));
                Some((Kind::Text, until(rest, letters + hashes + 1, &end)))
            }
            Language::Rust if matches!(prefix, "b" | "c") && quote == '"' => {
                Some((Kind::Text, self.quoted(letters, '"')))
            }
            Language::Rust if prefix == "b" && quote == '\'' => {
                let (kind, length) = character(&rest[1..]);
                Some((kind, length + 1))
            }
            _ => None,
        }
    }

    /// The length of a text whose quote is at `open`.
    fn quoted(&self, open: usize, quote: char) -> usize {
        let rest = self.rest();
        let triple: String = [quote; 3].iter().collect();
        if self.language.has_triple_quotes() && rest[open..].starts_with(&triple) {
            return escaped_until(rest, open + 3, &triple, true);
        }
        let many_lines = self.language.has_texts_of_many_lines();
        escaped_until(rest, open + 1, &triple[..1], many_lines)
    }

    fn number(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let is_hex = bytes.starts_with(b"0x") || bytes.starts_with(b"0X");
        let mut at = 1;
        while let Some(byte) = bytes.get(at) {
            let next_is_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            let continues = match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => true,
                b'.' => next_is_digit && !bytes[..at].contains(&b'.'),
                b'+' | b'-' => !is_hex && matches!(bytes[at - 1], b'e' | b'E') && next_is_digit,
                _ => false,
            };
            if !continues {
                break;
            }
            at += 1;
        }
        at
    }

    fn regex_may_stand_here(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        let text = &self.text[last.start..last.end];
        match last.kind {
            Kind::Punct => !matches!(text, ")" | "]" | "}"),
            Kind::Word => matches!(text, "return" | "typeof" | "case" | "in" | "of" | "if"),
            Kind::Number | Kind::Text | Kind::Opaque | Kind::Character => false,
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

pub(crate) fn block_comment(rest: &str, nests: bool) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let Some(here) = rest.get(at..) else {
            at += 1;
            continue;
        };
        if here.starts_with("/*") && (nests || depth == 0) {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// A character, or the lifetime of Rust that looks like the start of one.
fn character(rest: &str) -> (Kind, usize) {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((at, '\\')) => {
            // The escaped character may be the quote. The longest escape is `\u{10FFFF}`.
            let mut rest = rest.bytes().skip(at + 2).take(12);
            let close = rest.position(|byte| byte == b'\'');
            close.map_or((Kind::Punct, 1), |close| (Kind::Character, at + 2 + close + 1))
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => (Kind::Character, at + 1),
            _ => {
                let word = rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1);
                (Kind::Word, word + 1)
            }
        },
        None => (Kind::Punct, 1),
    }
}

fn until(rest: &str, from: usize, end: &str) -> usize {
    rest.get(from..)
        .and_then(|body| body.find(end))
        .map_or(rest.len(), |at| from + at + end.len())
}

/// As [`until`], past what a backslash stands before. Without `many_lines`, it ends with its line.
fn escaped_until(rest: &str, from: usize, end: &str, many_lines: bool) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().filter(|(at, _)| *at >= from) {
        match c {
            _ if escaped => escaped = false,
            '\n' if !many_lines => return at,
            '\\' => escaped = true,
            _ if rest[at..].starts_with(end) => return at + end.len(),
            _ => {}
        }
    }
    rest.len()
}

/// A template of JavaScript, with the code in it.
fn template(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut escaped = false;
    let mut before = ' ';
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' if before == '$' || depth > 0 => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '`' if depth == 0 => return at + 1,
            _ => {}
        }
        before = c;
    }
    rest.len()
}

fn regex(rest: &str) -> Option<usize> {
    let mut escaped = false;
    let mut in_class = false;
    for (at, c) in rest.char_indices().skip(1).take(LONGEST_REGEX) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => {
                let flags = rest[at + 1..].find(|c: char| !c.is_ascii_alphabetic());
                return Some(at + 1 + flags.unwrap_or(rest.len() - at - 1));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Kind, Language, tokens};

    #[test]
    fn comments_and_literals_of_rust_are_no_code() {
        for (text, expected) in [
            ("a // {\nb", "a b"),
            ("a /* { /* } */ { */ b", "a b"),
            ("a \"{ \\\" // \" b", "a b"),
            ("a r\"\\\" b", "a b"),
            ("a r#\"{\"}\"# b", "a b"),
            ("a br##\"\"# {\"## c", "a c"),
            ("a r#fn b", "a r # fn b"),
            ("bar\"{\" b", "bar b"),
            ("'{' b'\\'' '\\u{7b}' 'ä' x", "x"),
            ("fn f<'a, 'b>(x: &'a str) { }", "fn f < 'a , 'b > ( x : & 'a str ) { }"),
            ("'a: loop { break 'a; }", "'a : loop { break 'a ; }"),
            ("\"open {", ""),
            ("/* open {", ""),
            ("r#\"open {\"", ""),
            ("'\\", "' \\"),
            ("'", "'"),
        ] {
            let found = tokens(text, Language::Rust).into_iter();
            let code = found.filter(|token| !matches!(token.kind, Kind::Text | Kind::Character));
            let code: Vec<&str> = code.map(|token| &text[token.start..token.end]).collect();
            assert_eq!(code.join(" "), expected, "{text}");
        }
    }
}
