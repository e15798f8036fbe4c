//! The shape of a line of Markdown by itself, without the lines around it.
//!
//! A line looks like a task by its shape: a box is the first thing on it that is neither space nor a marker of a list, heading,
//! quote or table. Which of these lines are tasks is decided in `markdown`; the others are named.

use ralph_core::event::UnreadWhy;

use super::check_box::{BoxForm, CheckBox};

/// Width of a tab, in columns.
const TAB: u32 = 4;

/// A place in a line: its offset and its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) column: u32,
}

impl Place {
    /// Moves behind blanks.
    pub(super) fn skip_blanks(&mut self, line: &str) {
        for byte in line.as_bytes()[self.offset.min(line.len())..].iter() {
            match byte {
                b' ' => self.column = self.column.saturating_add(1),
                b'\t' => self.column = (self.column / TAB + 1).saturating_mul(TAB),
                _ => break,
            }
            self.offset += 1;
        }
    }

    /// Moves behind white space of other kinds, such as blanks without a line break, which Markdown takes for text. Returns
    /// whether there is any.
    fn skip_wide_blanks(&mut self, line: &str) -> bool {
        let rest = &line[self.offset..];
        let width = rest.len() - rest.trim_start().len();
        self.skip(&rest[..width]);
        width > 0
    }

    pub(super) fn skip(&mut self, text: &str) {
        self.offset += text.len();
        let width = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        self.column = self.column.saturating_add(width);
    }
}

/// Returns where the content of a line begins.
pub(super) fn indentation(line: &str) -> Place {
    let mut place = Place { offset: 0, column: 0 };
    place.skip_blanks(line);
    place
}

/// The marker of a list item at `place`, which moves behind it and the blanks that follow. Returns the sign of the list.
pub(super) fn take_marker(line: &str, place: &mut Place) -> Option<char> {
    let content = &line[place.offset..];
    let digits = content.bytes().take(9).take_while(u8::is_ascii_digit).count();
    let sign = content[digits..].chars().next()?;
    let is_marker = match (digits, sign) {
        (0, '-' | '*' | '+') => true,
        (0, _) => is_bullet(sign),
        (_, '.' | ')') => true,
        (_, _) => false,
    };
    let after = &content[digits + sign.len_utf8()..];
    // A bullet that Markdown does not know begins an item only in front of a box, and so does other white space.
    let is_apart = (sign.is_ascii() && (after.is_empty() || after.starts_with([' ', '\t'])))
        || (after.starts_with(char::is_whitespace) && CheckBox::at(after.trim_start(), 0).is_some());
    if !is_marker || !is_apart {
        return None;
    }
    place.skip(&content[..digits + sign.len_utf8()]);
    place.skip_blanks(line);
    if CheckBox::at(line[place.offset..].trim_start(), 0).is_some() {
        place.skip_wide_blanks(line);
    }
    Some(sign)
}

/// Whether a character is a sign that people set in front of the entries of a list: any that is neither a letter, a
/// digit, part of ASCII, nor a box.
fn is_bullet(sign: char) -> bool {
    !sign.is_ascii() && !sign.is_alphanumeric() && !sign.is_whitespace()
}

/// Whether a line is a rule: three or more of the same sign and nothing else.
pub(super) fn is_rule(content: &str) -> bool {
    let Some(sign) = content.chars().next().filter(|sign| matches!(sign, '-' | '*' | '_')) else {
        return false;
    };
    let mut count = 0;
    content.chars().all(|character| {
        count += usize::from(character == sign);
        character == sign || character.is_whitespace()
    }) && count >= 3
}

/// The level of the heading that begins a line's content, and where its text begins in it.
pub(super) fn heading_level(content: &str) -> Option<(usize, usize)> {
    let level = content.bytes().take_while(|byte| *byte == b'#').count();
    let text = &content[level..];
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_heading.then(|| (level, content.len() - text.trim_start().len()))
}

/// A line of a code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) sign: u8,
    pub(super) length: usize,
    /// Whether a text follows: such a fence can only open.
    pub(super) has_text: bool,
}

/// Reads the fence that begins a line's content.
pub(super) fn fence(content: &str) -> Option<Fence> {
    let sign = *content.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = content.bytes().take_while(|byte| *byte == sign).count();
    let text = content[length..].trim();
    // Backticks on the same line make it a code span.
    let is_fence = length >= 3 && !(sign == b'`' && text.contains('`'));
    is_fence.then_some(Fence {
        sign,
        length,
        has_text: !text.is_empty(),
    })
}

/// The reason why a line that looks like a task cannot be read, by its own shape; `None` if it does not look like one.
pub(super) fn suspicion(line: &str) -> Option<UnreadWhy> {
    let mut place = indentation(line);
    let mut why = match place.skip_wide_blanks(line) {
        true => UnreadWhy::Markup,
        false => UnreadWhy::NoMarker,
    };
    loop {
        let content = &line[place.offset..];
        if let Some(found) = CheckBox::at(content, 0) {
            return match found.form {
                _ if why == UnreadWhy::Quote => Some(why),
                BoxForm::Brackets if found.is_number(content) => Some(UnreadWhy::Number),
                BoxForm::Emoji if why == UnreadWhy::NoMarker => None,
                BoxForm::Brackets | BoxForm::Sign | BoxForm::Emoji => Some(why),
            };
        }
        if content.starts_with("( )") {
            return Some(unless_quoted(why, UnreadWhy::Markup));
        }
        let first = content.chars().next()?;
        if first == '|' {
            let cells = content.split('|').map(str::trim_start);
            let boxes = cells.filter_map(|cell| {
                let found = CheckBox::at(cell, 0).filter(|found| found.form != BoxForm::Emoji)?;
                Some(if found.is_number(cell) {
                    UnreadWhy::Number
                } else {
                    UnreadWhy::Table
                })
            });
            // A box is before a number in this order.
            return boxes.min();
        }
        if first == '>' {
            why = UnreadWhy::Quote;
            place.skip(">");
        } else if take_marker(line, &mut place).is_some() || take_hashes(line, &mut place) {
            why = match why {
                UnreadWhy::NoMarker => UnreadWhy::Empty,
                why => why,
            };
        } else {
            let glued = content.trim_start_matches(|c: char| c.is_ascii_digit());
            let marker = glued.strip_prefix(['-', '*', '+', '.', ')']);
            let is_glued = why == UnreadWhy::NoMarker && marker.is_some_and(|after| after.starts_with('['));
            if let Some(after) = marker.filter(|_| is_glued) {
                place.skip(&content[..content.len() - after.len()]);
                why = unless_quoted(why, UnreadWhy::NoSpace);
            } else if let Some(length) = foreign_marker(content) {
                place.skip(&content[..length]);
                why = unless_quoted(why, UnreadWhy::Markup);
            } else {
                return None;
            }
        }
        place.skip_blanks(line);
        place.skip_wide_blanks(line);
    }
}

/// The reason found, unless the line is in a quote, which is the reason then.
fn unless_quoted(why: UnreadWhy, found: UnreadWhy) -> UnreadWhy {
    if why == UnreadWhy::Quote { why } else { found }
}

/// The length of what people write in front of an entry and Markdown takes for text: markup, a sign, or a number in letters.
fn foreign_marker(content: &str) -> Option<usize> {
    const NUMBER_CAP: usize = 4;
    let first = content.chars().next()?;
    if matches!(first, '*' | '_' | '~' | '(' | '#') || is_bullet(first) {
        return Some(first.len_utf8());
    }
    let length = content.find(|c: char| !c.is_alphanumeric())?;
    let after = content[length..].strip_prefix(['.', ')'])?;
    let is_number = content[..length].chars().count() <= NUMBER_CAP && after.starts_with(char::is_whitespace);
    is_number.then_some(length + 1)
}

fn take_hashes(line: &str, place: &mut Place) -> bool {
    let content = &line[place.offset..];
    let Some((_, text)) = heading_level(content) else {
        return false;
    };
    place.skip(&content[..text]);
    true
}

/// Counts the list items and quotes that begin after another one on the same line.
///
/// Each takes more memory than the two bytes of the file in which it is written. Items that begin on a line of their own
/// are bounded by the file, as deeper ones need more indentation.
pub(super) fn nested_on_a_line(text: &str) -> usize {
    let nested = |line: &str| Markers(line).count().saturating_sub(1);
    text.lines().map(nested).sum()
}

/// Iterates over the markers of list items and quotes at the beginning of a line; holds the rest of the line.
struct Markers<'a>(&'a str);

impl Iterator for Markers<'_> {
    type Item = ();

    fn next(&mut self) -> Option<()> {
        let line = self.0.trim_start_matches([' ', '\t']);
        if let Some(quoted) = line.strip_prefix('>') {
            self.0 = quoted;
            return Some(());
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let delimiters: &[char] = if digits == 0 { &['-', '*', '+'] } else { &['.', ')'] };
        let item = line[digits..].strip_prefix(delimiters)?;
        self.0 = item.strip_prefix([' ', '\t'])?;
        Some(())
    }
}
