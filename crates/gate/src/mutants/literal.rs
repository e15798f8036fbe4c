//! Recognises values that are written out, and alters literals so that they surely differ.

use std::ops::Range;

use super::lexer::Kind;
use super::source::{Source, has_word};

/// The kind of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Only literals; the listed tokens may be altered.
    Literal(Vec<usize>),
    /// A call of a constructor with literals: what they do to the value is up to it.
    Constructed(Vec<usize>),
    /// A name.
    Named(usize),
    /// Anything else: it is computed.
    Computed,
}

/// Words in an expression that is a literal all the same: types, collections and conversions.
const PLAIN: &str = "Some Ok Err Box Rc Arc vec String str string from to_string to_owned into to_vec as_slice as_str \
    iter into_iter collect cloned join new int char float i8 i16 i32 i64 u8 u16 u32 u64 usize isize f64 f32 bool of tuple \
    set frozenset list map array";
/// Signs in such an expression.
const PLAIN_SIGNS: &str = "[ ] ( ) { } , : - + & . :: ! ; => ...";
/// Methods whose arguments are the value, unlike those of `.join(", ")`.
const PLAIN_CALLS: [&str; 3] = ["from", "of", "new"];
const CONSTANTS: [&str; 7] = ["true", "false", "True", "False", "None", "null", "undefined"];
/// Most tokens of an expression that is looked at.
const LARGEST: usize = 1000;

pub(super) fn value(source: &Source<'_>, range: &Range<usize>) -> Value {
    if range.is_empty() || range.len() > LARGEST {
        return Value::Computed;
    }
    let mut alterable = Vec::new();
    let mut is_constructed = false;
    for token in range.clone() {
        match source.kind(token) {
            Some(Kind::Number | Kind::Text | Kind::Character) => {
                if is_alterable(source, range, token) {
                    alterable.push(token);
                }
            }
            Some(Kind::Word) => {
                let word = source.at(token);
                if CONSTANTS.contains(&word) {
                    if matches!(word, "true" | "false" | "True" | "False") && is_alterable(source, range, token) {
                        alterable.push(token);
                    }
                } else if is_key(source, token) || is_plain(source, range, token) {
                } else if is_constructor(source, range, token) {
                    is_constructed = true;
                } else if range.len() == 1 || range.len() == 2 && matches!(source.at(range.start), "&" | "*") {
                    return Value::Named(token);
                } else {
                    return Value::Computed;
                }
            }
            Some(Kind::Punct) => {
                let is_plain = has_word(PLAIN_SIGNS, source.at(token));
                let takes_all_in = source.is_punct(token, "...") && !source.is_punct(token + 1, "}");
                if !is_plain || takes_all_in {
                    return Value::Computed;
                }
            }
            Some(Kind::Opaque) | None => return Value::Computed,
        }
    }
    if is_constructed {
        Value::Constructed(alterable)
    } else {
        Value::Literal(alterable)
    }
}

fn is_key(source: &Source<'_>, token: usize) -> bool {
    source.is_punct(token + 1, ":") || source.is_punct(token + 1, "=>")
}

fn is_plain(source: &Source<'_>, range: &Range<usize>, token: usize) -> bool {
    // A variable may have one of these names: something has to follow a conversion.
    has_word(PLAIN, source.at(token)) && (range.len() > 1) && {
        let before = token > range.start && matches!(source.at(token - 1), "." | "]" | "new" | "::" | "<");
        let after = token + 1 < range.end && matches!(source.at(token + 1), "(" | "!" | "{" | "::" | "." | "[");
        before || after
    }
}

/// Whether a word is the name of a type or of one of its variants, or a part of the path to one.
fn is_constructor(source: &Source<'_>, range: &Range<usize>, token: usize) -> bool {
    let is_type = source.at(token).starts_with(|c: char| c.is_uppercase());
    let in_path = token > range.start && source.is_punct(token - 1, "::");
    let leads_on = token + 1 < range.end && matches!(source.at(token + 1), "(" | "{" | "::" | ".");
    is_type && (leads_on || in_path || range.len() > 1) || in_path && leads_on
}

fn is_alterable(source: &Source<'_>, range: &Range<usize>, token: usize) -> bool {
    let before = if token > range.start { source.at(token - 1) } else { "" };
    // A key, a length of an array, an index, a field of a tuple.
    let is_key = is_key(source, token);
    let is_length = source.kind(token) == Some(Kind::Number)
        && (before == ";" || before == "." || before == "[" && token > range.start + 1 && source.is_word(token - 2));
    let is_length = is_length || before == "[" && source.is_punct(token + 1, "]") && source.is_word(token + 2);
    !is_key && !is_length && !is_argument_of_method(source, range, token) && altered(source, token).is_some()
}

/// Whether a literal is what a method is called with: that of `["a"].join(", ")` may not matter.
fn is_argument_of_method(source: &Source<'_>, range: &Range<usize>, token: usize) -> bool {
    (range.start + 2..token).any(|open| {
        source.is_punct(open, "(")
            && source.partner(open).is_some_and(|close| close > token)
            && source.is_word(open - 1)
            && source.is_punct(open - 2, ".")
            && !PLAIN_CALLS.contains(&source.at(open - 1))
            && source.at(open - 1).starts_with(|c: char| c.is_lowercase())
    })
}

/// Another literal of the same type; none if there is no sure one.
pub(super) fn altered(source: &Source<'_>, token: usize) -> Option<String> {
    other(source.kind(token)?, source.at(token))
}

/// A third literal of the same type, neither the one at `token` nor [`altered`]; none if there is no sure one.
pub(super) fn altered_again(source: &Source<'_>, token: usize) -> Option<String> {
    let (kind, text) = (source.kind(token)?, source.at(token));
    let third = other(kind, &altered(source, token)?).filter(|third| third != text);
    third.or_else(|| match kind {
        // The number 1 is altered to 0, and 0 back to 1.
        Kind::Number => text
            .parse()
            .ok()
            .and_then(|number: u8| Some(number.checked_add(2)?.to_string())),
        Kind::Text => {
            let (_, close) = content(text)?;
            Some(format!("{}x{}", &text[..close], &text[close..]))
        }
        Kind::Character | Kind::Word | Kind::Opaque | Kind::Punct => None,
    })
}

fn other(kind: Kind, text: &str) -> Option<String> {
    match kind {
        Kind::Number => number(text),
        Kind::Text => altered_text(text),
        Kind::Character => character(text),
        Kind::Word => match text {
            "true" => Some("false".to_owned()),
            "false" => Some("true".to_owned()),
            "True" => Some("False".to_owned()),
            "False" => Some("True".to_owned()),
            _ => None,
        },
        Kind::Opaque | Kind::Punct => None,
    }
}

/// The number below, as that never leaves the range of its type; 1 for 0.
///
/// A number of many digits gets another first digit: one less may be the same floating-point number.
pub(super) fn number(text: &str) -> Option<String> {
    let has_radix = text.len() > 2
        && ["0x", "0X", "0o", "0O", "0b", "0B"]
            .iter()
            .any(|start| text.starts_with(start));
    if has_radix {
        let end = text[2..]
            .find(|c: char| !c.is_ascii_hexdigit() && c != '_')
            .map_or(text.len(), |at| at + 2);
        // A suffix such as `u8` may look like digits: the first digit is surely one.
        let digit = text[2..end].chars().next()?;
        let other = match digit {
            '0' => '1',
            '1' if text.len() == 3 => '0',
            '1' => return Some(format!("{}0{}", &text[..2], &text[3..])),
            'a' | 'A' => '9',
            c => char::from_u32(u32::from(c) - 1)?,
        };
        return Some(format!("{}{other}{}", &text[..2], &text[3..]));
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '_')
        .unwrap_or(text.len());
    let (whole, rest) = text.split_at(end);
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    if digits.len() > 15 || digits.len() < whole.len() {
        let first = if digits.starts_with('1') { '2' } else { '1' };
        return Some(format!("{first}{}{rest}", &whole[1..]));
    }
    let value: u64 = digits.parse().ok()?;
    let other = value.checked_sub(1).unwrap_or(1);
    // `-0` is 0.
    Some(format!(
        "{other:0width$}{rest}",
        width = if whole.starts_with('0') { whole.len() } else { 1 }
    ))
}

/// The text with another letter in it; with one more if it has none.
fn altered_text(text: &str) -> Option<String> {
    let (open, close) = content(text)?;
    let body = &text[open..close];
    // Escapes and placeholders are left alone, with all that follows them.
    let plain = body.find(['\\', '{', '%', '$']).unwrap_or(body.len());
    let (keep, rest) = body.split_at(plain);
    let changed = match keep.rfind(|c: char| c.is_ascii_alphanumeric()) {
        Some(at) => {
            let c = keep[at..].chars().next()?;
            format!("{}{}{}{rest}", &keep[..at], next(c), &keep[at + 1..])
        }
        None => format!("{body}x"),
    };
    Some(format!("{}{changed}{}", &text[..open], &text[close..]))
}

fn character(text: &str) -> Option<String> {
    let open = text.find('\'')? + 1;
    let body = text.get(open..text.len().checked_sub(1)?)?;
    let mut chars = body.chars();
    let other = match (chars.next()?, chars.next()) {
        (c, None) if c.is_ascii_alphanumeric() => next(c),
        _ => 'x',
    };
    Some(format!("{}{other}'", &text[..open]))
}

/// The first and the last byte of a text within its quotes.
fn content(text: &str) -> Option<(usize, usize)> {
    let quote = text.find(['"', '\'', '`'])?;
    let mark = text[quote..].chars().next()?;
    let hashes = text[..quote].matches('#').count();
    let triple: String = [mark; 3].iter().collect();
    let marks = if text[quote..].starts_with(&triple) && text.len() >= quote + 6 {
        3
    } else {
        1
    };
    let close = text.len().checked_sub(marks + hashes)?;
    let open = quote + marks;
    (open <= close && text.get(close..)?.starts_with(mark)).then_some((open, close))
}

/// Another letter of the same kind; not another case of the same letter.
fn next(c: char) -> char {
    match c {
        'z' => 'a',
        'Z' => 'A',
        '9' => '8',
        'a'..='y' | 'A'..='Y' | '0'..='8' => char::from(u8::try_from(c).map_or(b'x', |byte| byte + 1)),
        _ => 'x',
    }
}
