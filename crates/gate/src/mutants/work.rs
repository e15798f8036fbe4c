//! Finds what of work can be changed in a small way.

use std::ops::{Range, RangeInclusive};

use super::MutationKind;
use super::candidate::{Candidate, Edit};
use super::language::Language;
use super::lexer::Kind;
use super::literal::altered;
use super::scope::is_in_tests;
use super::source::{LONGEST_LINE, Source, has_word};

/// First words of lines that say where names come from, or what kind of thing follows.
const DECLARING: &str =
    "import package from use require include using extern namespace module export @ # pub interface";
/// Calls that only tell something.
const TELLING: &str = "print println eprintln eprint console log logger logging debug warn super echo";
/// Words after which a `+` or `-` has no left side.
const NOT_OPERANDS: &str = "return in and or not if else elif case when yield then do await";

/// Most mutants among which the best are chosen.
const MOST_FOUND: usize = 10_000;

/// Mutants of `lines` of `source`, counted from 1.
pub(super) fn candidates(source: &Source<'_>, lines: &[RangeInclusive<u32>]) -> Vec<Candidate> {
    let mut finder = Finder {
        source,
        line: 0,
        found: Vec::new(),
    };
    for line in 0..source.lines.len() {
        if finder.found.len() > MOST_FOUND {
            break;
        }
        let number = u32::try_from(line + 1).unwrap_or(u32::MAX);
        let is_wanted = lines.iter().any(|range| range.contains(&number));
        let is_code = source.lines[line].indent.is_some() && source.tokens_of_line(line).len() <= LONGEST_LINE;
        if is_wanted && is_code && !is_declaration(source, line) && !is_in_tests(source, line) {
            finder.line = line;
            finder.line_mutants();
        }
    }
    finder.found
}

fn is_declaration(source: &Source<'_>, line: usize) -> bool {
    let first = source.tokens_of_line(line).start;
    match source.at(first) {
        // `pub fn`, `export function` and others have code after them on one line at most; `export const` is a value.
        "pub" | "export" => matches!(source.at(first + 1), "use" | "mod" | "*" | "{"),
        "from" => source.language == Language::Python,
        "require" => !source.is_punct(first + 1, "!"),
        "module" => !source.is_punct(first + 1, "."),
        "#" => source.is_punct(first + 1, "[") || source.is_punct(first + 1, "!"),
        // The path of a package.
        text if text.starts_with('"') => source.language == Language::Go,
        word => has_word(DECLARING, word),
    }
}

struct Finder<'a> {
    source: &'a Source<'a>,
    line: usize,
    found: Vec<Candidate>,
}

impl Finder<'_> {
    fn push(&mut self, tier: u8, edits: Option<Vec<Edit>>) {
        if let Some(edits) = edits {
            self.found.push(Candidate {
                kind: MutationKind::Work,
                tier,
                group: self.line,
                part: self.line,
                edits,
            });
        }
    }

    fn replace(&mut self, tier: u8, token: usize, text: &str) {
        let edit = Edit::of_token(self.source, token, text);
        self.push(tier, edit.map(|edit| vec![edit]));
    }

    fn line_mutants(&mut self) {
        let tokens = self.source.tokens_of_line(self.line);
        let first = self.source.at(tokens.start);
        // A loop whose condition is changed may never end.
        let slow = if matches!(first, "while" | "until" | "loop") {
            4
        } else {
            0
        };
        for token in tokens.clone() {
            match self.source.kind(token) {
                Some(Kind::Punct) => self.operator(token, slow),
                Some(Kind::Word) => self.word(token, slow),
                Some(Kind::Number) => self.number(token),
                Some(Kind::Text) => self.text(token),
                Some(Kind::Character) => self.literal(2, token),
                Some(Kind::Opaque) | None => {}
            }
        }
        self.condition(tokens.clone(), slow);
        self.returned(tokens.clone());
        self.statement(tokens);
    }

    /// Whether there are blanks on both sides of a token.
    fn is_spaced(&self, token: usize) -> bool {
        let Some(token) = self.source.tokens.get(token) else {
            return false;
        };
        let blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
        blank(self.source.text[..token.start].chars().next_back())
            && blank(self.source.text[token.end..].chars().next())
    }

    fn operator(&mut self, token: usize, slow: u8) {
        let source = self.source;
        let is_comparison = self.is_spaced(token) || !source.language.has_angle_brackets();
        let text = source.at(token);
        let (tier, other) = match text {
            "==" => (slow, "!="),
            "!=" => (slow, "=="),
            "===" => (slow, "!=="),
            "!==" => (slow, "==="),
            "<=" => (slow, ">"),
            ">=" => (slow, "<"),
            "<" if is_comparison => (slow, ">="),
            ">" if is_comparison => (slow, "<="),
            "&&" => (2 + slow, "||"),
            "||" if !self.is_closure(token) => (2 + slow, "&&"),
            "+" if self.is_arithmetic(token) => (1 + slow, "-"),
            "-" if self.is_arithmetic(token) => (1 + slow, "+"),
            "+=" if !self.is_beside_text(token) => (3, "-="),
            "-=" => (3, "+="),
            "*" | "%" if self.is_arithmetic(token) && self.is_spaced(token) => (1 + slow, "+"),
            "!" if !source.is_word(token.wrapping_sub(1))
                && (source.is_word(token + 1) || source.is_open(token + 1)) =>
            {
                (1 + slow, "")
            }
            _ => return,
        };
        self.replace(tier, token, other);
    }

    /// Whether `||` has no left side: the arguments of a closure.
    fn is_closure(&self, token: usize) -> bool {
        let before = token.checked_sub(1).map_or("", |before| self.source.at(before));
        matches!(before, "" | "(" | "," | "=" | "move" | "return" | "{" | "=>")
    }

    fn is_arithmetic(&self, token: usize) -> bool {
        let source = self.source;
        let Some(before) = token.checked_sub(1) else {
            return false;
        };
        let is_left = match source.kind(before) {
            Some(Kind::Number) => true,
            Some(Kind::Word) => !has_word(NOT_OPERANDS, source.at(before)) && !self.is_type(before),
            Some(Kind::Punct) => matches!(source.at(before), ")" | "]"),
            _ => false,
        };
        let is_right = match source.kind(token + 1) {
            Some(Kind::Number) => true,
            Some(Kind::Word) => !self.is_type(token + 1),
            Some(Kind::Punct) => matches!(source.at(token + 1), "(" | "-" | "*" | "&" | "["),
            _ => false,
        };
        is_left && is_right && !self.is_beside_text(token)
    }

    /// Whether a word looks like a bound of a type, as in `T: Copy + 'static`.
    fn is_type(&self, token: usize) -> bool {
        let text = self.source.at(token);
        let is_bound =
            text.starts_with('\'') || text.starts_with(char::is_uppercase) && text.contains(char::is_lowercase);
        is_bound && self.source.language == Language::Rust
    }

    fn is_beside_text(&self, token: usize) -> bool {
        let is_text = |token: usize| matches!(self.source.kind(token), Some(Kind::Text | Kind::Opaque));
        is_text(token.wrapping_sub(1)) || is_text(token + 1)
    }

    fn word(&mut self, token: usize, slow: u8) {
        let source = self.source;
        let is_loop = source.tokens_of_line(self.line).any(|token| source.at(token) == "for");
        let is_python = source.language == Language::Python;
        match source.at(token) {
            "true" | "false" | "True" | "False" => self.literal(slow, token),
            "and" if is_python => self.replace(2 + slow, token, "or"),
            "or" if is_python => self.replace(2 + slow, token, "and"),
            "not" if source.at(token + 1) == "in" => self.remove_with_blank(slow, token),
            "not" if is_python && source.at(token.wrapping_sub(1)) != "is" => self.remove_with_blank(1 + slow, token),
            "in" if is_python && !is_loop && source.at(token.wrapping_sub(1)) != "not" => {
                self.replace(slow, token, "not in");
            }
            "is" if is_python && source.at(token + 1) != "not" => {
                self.replace(slow, token, "is not");
            }
            _ => {}
        }
    }

    fn remove_with_blank(&mut self, tier: u8, token: usize) {
        let ends = self.source.tokens.get(token).zip(self.source.tokens.get(token + 1));
        let edit = ends.map(|(word, next)| Edit {
            start: word.start,
            end: next.start,
            text: String::new(),
        });
        self.push(tier, edit.map(|edit| vec![edit]));
    }

    fn number(&mut self, token: usize) {
        let source = self.source;
        let before = token.checked_sub(1).map_or("", |before| source.at(before));
        // A field of a tuple.
        if before == "." {
            return;
        }
        let text = source.at(token);
        let larger = text.parse::<u64>().ok().filter(|number| {
            let ends_a_type = number.checked_add(1).is_none_or(u64::is_power_of_two) && *number > 1;
            *number < 1_000_000 && !ends_a_type
        });
        // A step of 1 that becomes 0 makes loops endless.
        match larger {
            Some(number) if !text.starts_with('0') || text.len() == 1 => {
                self.replace(2, token, &(number + 1).to_string());
            }
            _ => self.literal(2, token),
        }
    }

    fn literal(&mut self, tier: u8, token: usize) {
        if let Some(other) = altered(self.source, token) {
            self.replace(tier, token, &other);
        }
    }

    fn text(&mut self, token: usize) {
        let source = self.source;
        let tokens = source.tokens_of_line(self.line);
        // A docstring, or a text that is a statement of its own.
        let is_statement = tokens.len() == 1 && source.headers(self.line).len() <= 3 && tokens.start == token;
        let is_docstring = is_statement
            && token
                .checked_sub(1)
                .is_none_or(|before| !matches!(source.at(before), "(" | "," | "[" | "{" | "=" | "+"));
        if is_docstring {
            return;
        }
        let raises = tokens.clone().any(|token| {
            matches!(source.at(token), "raise" | "throw" | "panic" | "Error" | "expect")
                || has_word(TELLING, source.at(token))
        });
        self.literal(if raises { 8 } else { 6 }, token);
    }

    /// `if x` becomes `if not x`.
    fn condition(&mut self, tokens: Range<usize>, slow: u8) {
        let source = self.source;
        let language = source.language;
        let keyword = tokens
            .clone()
            .find(|token| matches!(source.at(*token), "if" | "elif" | "while") && source.is_word(*token));
        let Some(keyword) = keyword else {
            return;
        };
        let range = if language.has_bracketed_conditions() {
            match source.partner(keyword + 1) {
                Some(close) if close > keyword && source.is_punct(keyword + 1, "(") => keyword + 2..close,
                _ => return,
            }
        } else {
            let begins = keyword == tokens.start || matches!(source.at(keyword - 1), "}" | "else");
            let end = if language == Language::Python { ":" } else { "{" };
            if !begins {
                return;
            }
            let Some(found) = source
                .outer(keyword + 1..source.tokens.len().min(keyword + 200))
                // A condition within brackets, such as that of a comprehension, ends with them.
                .take_while(|token| !source.is_close(*token) || source.partner(*token) >= Some(keyword))
                .find(|token| source.at(*token) == end)
            else {
                return;
            };
            keyword + 1..found
        };
        let declares = source
            .outer(range.clone())
            .any(|token| matches!(source.at(token), ":=" | ";" | "=" | "let" | "case" | ","));
        if !declares && !range.is_empty() {
            let open = if language == Language::Python { "not (" } else { "!(" };
            self.push(1 + slow, Edit::around(source, &range, open, ")"));
        }
    }

    /// `return x` becomes `return None` and the like.
    fn returned(&mut self, tokens: Range<usize>) {
        let source = self.source;
        let Some(keyword) = tokens.clone().find(|token| source.at(*token) == "return") else {
            return;
        };
        let other = match source.language {
            Language::Python => "None",
            Language::JavaScript => "null",
            // A `Result` has no default, and Go has no default value of any type.
            Language::Go => return,
            Language::Rust if matches!(source.at(keyword + 1), "Ok" | "Err") => return,
            Language::Rust => "Default::default()",
        };
        let range = keyword + 1..source.end_of_statement(keyword);
        let same = range.len() == 1
            && matches!(
                source.at(keyword + 1),
                "None" | "null" | "0" | "undefined" | "False" | "false"
            );
        if let Some((start, end)) = source.span(&range).filter(|_| !same) {
            let text = other.to_owned();
            self.push(1, Some(vec![Edit { start, end, text }]));
        }
    }

    /// A call or an assignment is left out.
    fn statement(&mut self, tokens: Range<usize>) {
        let source = self.source;
        let nothing = match source.language {
            Language::Python => "pass",
            Language::Rust | Language::JavaScript => "",
            Language::Go => return,
        };
        let begins = source.is_word(tokens.start) && {
            let before = tokens.start.checked_sub(1).map_or("", |before| source.at(before));
            match source.language {
                language if language.has_semicolons() => matches!(before, "" | ";" | "{" | "}"),
                _ => !matches!(before, "," | "(" | "[" | "=" | "\\" | "+" | "." | "and" | "or"),
            }
        };
        let outer: Vec<usize> = source.outer(tokens.clone()).collect();
        let is_balanced = tokens.clone().all(|token| {
            let partner = source.partner(token);
            partner.is_none_or(|partner| tokens.contains(&partner))
        });
        let Some(last) = tokens.end.checked_sub(1).filter(|_| begins && is_balanced) else {
            return;
        };
        if source.language.has_semicolons() && !source.is_punct(last, ";")
            || tokens.clone().any(|t| has_word(TELLING, source.at(t)))
        {
            return;
        }
        let assigns = outer
            .iter()
            .any(|token| matches!(source.at(*token), "=" | "+=" | "-=" | "*=" | "|="));
        let calls = source.is_close(last) || source.is_punct(last, ";") && source.is_punct(last.wrapping_sub(1), ")");
        let keeps_names = matches!(source.at(tokens.start + 1), "." | "[" | "+=" | "-=" | "*=" | "|=" | "(");
        let is_keyword = has_word(NOT_OPERANDS, source.at(tokens.start))
            || matches!(
                source.at(tokens.start),
                "for" | "while" | "def" | "class" | "raise" | "throw" | "fn" | "let" | "switch"
            );
        if (assigns || calls) && keeps_names && !is_keyword {
            let steps = outer.iter().any(|token| matches!(source.at(*token), "+=" | "-="));
            if let Some((start, end)) = source.span(&tokens) {
                let text = nothing.to_owned();
                self.push(if steps { 4 } else { 2 }, Some(vec![Edit { start, end, text }]));
            }
        }
    }
}
