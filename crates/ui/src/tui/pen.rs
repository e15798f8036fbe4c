//! Writes text into cells so that no text of an agent or a plan can break the layout.

use std::borrow::Cow;

use ralph_text::one_line;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{
    search_query::SearchQuery,
    theme::{TextRole, Theme},
};

pub(super) struct Pen<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) theme: &'a Theme,
}

/// A piece of a line.
pub(super) type StyledText = (String, Style);

impl<'a> Pen<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme }
    }

    /// Writes `text` on one line from `x` up to `end`, cut with a mark if it does not fit. Returns its end.
    pub(super) fn text(&mut self, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
        let end = end.min(self.buffer.area.right());
        if x >= end || y >= self.buffer.area.bottom() {
            return x;
        }
        let room = usize::from(end - x);
        let text = self.theme.spelled(text);
        let text = shortened(&shown(&text), room, self.theme.glyphs.more);
        // Reset first, so that no modifier of earlier content remains.
        let style = Style::reset().patch(style);
        self.buffer.set_stringn(x, y, text, room, style).0
    }

    pub(super) fn role(&mut self, x: u16, y: u16, end: u16, text: &str, role: TextRole) -> u16 {
        self.text(x, y, end, text, self.theme.style(role))
    }

    /// Writes pieces one after the other.
    pub(super) fn pieces(&mut self, x: u16, y: u16, end: u16, pieces: &[StyledText]) -> u16 {
        pieces
            .iter()
            .fold(x, |x, (text, style)| self.text(x, y, end, text, *style))
    }

    /// Writes text that ends at `end`, unless it would begin before `from`. Returns its start.
    pub(super) fn right(&mut self, from: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
        let width = columns(text);
        let Some(start) = end.checked_sub(width).filter(|start| *start >= from) else {
            return end;
        };
        self.text(start, y, end, text, style);
        start
    }

    /// Draws a horizontal line.
    pub(super) fn rule(&mut self, x: u16, y: u16, end: u16, style: Style) {
        let sign = self.theme.spelled(self.theme.glyphs.rule);
        let style = Style::reset().patch(style);
        let row = Rect::new(x, y, end.saturating_sub(x), 1);
        for position in row.intersection(self.buffer.area).positions() {
            self.buffer[position].set_symbol(&sign).set_style(style);
        }
    }

    /// Writes a sentence into the middle of an empty area.
    pub(super) fn note(&mut self, area: Rect, text: &str) {
        let text = one_line(text);
        let width = columns(&text).min(area.width);
        let x = area.x + (area.width - width) / 2;
        if area.height > 0 {
            self.role(x, area.y + area.height / 2, area.right(), &text, TextRole::Dim);
        }
    }

    pub(super) fn clear(&mut self, area: Rect) {
        for position in area.positions() {
            self.buffer[position].reset();
        }
    }

    /// Fills `area` with blanks of one style.
    pub(super) fn fill(&mut self, area: Rect, style: Style) {
        for position in area.intersection(self.buffer.area).positions() {
            let cell = &mut self.buffer[position];
            cell.reset();
            cell.set_style(style);
        }
    }

    /// Clears `area` and draws a frame with a title. Returns the inside.
    pub(super) fn framed(&mut self, area: Rect, title: &str, role: TextRole) -> Rect {
        self.clear(area);
        let style = self.theme.style(role);
        let (bar, corners) = (self.theme.glyphs.bar, self.theme.glyphs.corners);
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        for y in [area.y, bottom] {
            self.rule(area.x, y, area.right(), style);
        }
        for y in area.y + 1..bottom {
            self.text(area.x, y, area.x + 1, bar, style);
            self.text(right, y, right + 1, bar, style);
        }
        for ((x, y), corner) in [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)]
            .into_iter()
            .zip(corners)
        {
            self.text(x, y, x + 1, corner, style);
        }
        let title = format!(" {title} ");
        self.text(area.x + 2, area.y, right, &title, style.add_modifier(Modifier::BOLD));
        Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2)
    }

    /// Draws a frame in the middle. Returns its inside, or `None` if there is no room.
    pub(super) fn centred(&mut self, whole: Rect, width: u16, height: u16, title: &str) -> Option<Rect> {
        if width < 4 || height < 3 {
            return None;
        }
        let x = whole.x + (whole.width - width) / 2;
        let y = whole.y + (whole.height - height) / 2;
        Some(self.framed(Rect::new(x, y, width, height), title, TextRole::Accent))
    }

    /// Highlights `area` as the selected row of a list.
    pub(super) fn choose(&mut self, area: Rect) {
        for position in area.intersection(self.buffer.area).positions() {
            let cell = &mut self.buffer[position];
            let style = self.theme.chosen(cell.style());
            cell.set_style(Style::reset().patch(style));
        }
    }

    /// Highlights every match of the search in `area`, and the current one, given by its row and its place among the
    /// matches of the row, more than the others.
    pub(super) fn mark(&mut self, area: Rect, needle: &SearchQuery, current: Option<(u16, usize)>) {
        let query: Vec<&str> = needle.text().graphemes(true).collect();
        let style = |role| Style::reset().patch(self.theme.style(role));
        let (usual, chosen) = (style(TextRole::Match), style(TextRole::CurrentMatch));
        for y in area.top()..area.bottom() {
            let mut cells: Vec<(u16, String)> = Vec::new();
            let mut x = area.left();
            while x < area.right() {
                let symbol = self.buffer[(x, y)].symbol();
                cells.push((x, needle.folded(symbol)));
                x += u16::try_from(symbol.width().max(1)).unwrap_or(1);
            }
            let mut nth = 0;
            for start in 0..cells.len() {
                let Some(window) = cells.get(start..start + query.len()) else {
                    break;
                };
                if window
                    .iter()
                    .map(|(_, symbol)| symbol.as_str())
                    .eq(query.iter().copied())
                {
                    let style = if current == Some((y, nth)) { chosen } else { usual };
                    nth += 1;
                    for (x, _) in window {
                        self.buffer[(*x, y)].set_style(style);
                    }
                }
            }
        }
    }
}

/// Width of a text in columns.
pub(super) fn columns(text: &str) -> u16 {
    u16::try_from(width(text)).unwrap_or(u16::MAX)
}

fn width(text: &str) -> usize {
    shown(text).width()
}

/// Removes joiners and presentation selectors from a text, so that all terminals agree on its width. Of a joined
/// sequence, only the first character remains.
///
/// Terminals disagree on the width of such sequences, and a wrong width would shift the rest of the row.
fn shown(text: &str) -> Cow<'_, str> {
    let disputed = |character: char| matches!(character, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    let agreed = |grapheme: &str| !grapheme.contains(disputed) && grapheme.width() <= 2;
    if text.is_ascii() || text.graphemes(true).all(agreed) {
        return Cow::Borrowed(text);
    }
    let parts = text.graphemes(true).map(|grapheme| match grapheme.chars().next() {
        Some(first) if !agreed(grapheme) && !disputed(first) => &grapheme[..first.len_utf8()],
        Some(first) if disputed(first) => "",
        Some(_) | None => grapheme,
    });
    Cow::Owned(parts.collect())
}

/// Cuts a text to `room` columns, with a mark at the cut.
pub(super) fn shortened(text: &str, room: usize, mark: &str) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(mark.width());
    let mut taken = 0;
    let mut out = String::new();
    for grapheme in text.graphemes(true) {
        taken += width(grapheme);
        if taken > room {
            break;
        }
        out.push_str(grapheme);
    }
    out + mark
}

/// Wraps a line at `room` columns, between words where possible.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut taken = 0;
    for word in text.split_inclusive(' ') {
        // The trailing space may exceed the width.
        let word_width = width(word.trim_end());
        if taken > 0 && taken + word_width > room && word_width <= room {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            taken = 0;
        }
        if taken + word_width <= room {
            line.push_str(word);
            taken += width(word);
            continue;
        }
        for grapheme in word.graphemes(true) {
            if taken + width(grapheme) > room && taken > 0 {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            line.push_str(grapheme);
            taken += width(grapheme);
        }
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// Breaks pieces at line ends and at `room` columns, at any character.
pub(super) fn flowed<Tag: Copy + PartialEq>(pieces: &[(impl AsRef<str>, Tag)], room: usize) -> Vec<Vec<(String, Tag)>> {
    let mut rows: Vec<Vec<(String, Tag)>> = vec![Vec::new()];
    let mut taken = 0;
    for (text, tag) in pieces {
        for grapheme in text.as_ref().graphemes(true) {
            let width = usize::from(columns(grapheme));
            let is_end = matches!(grapheme, "\n" | "\r\n");
            if is_end || taken + width > room {
                rows.push(Vec::new());
                taken = 0;
            }
            if is_end {
                continue;
            }
            taken += width;
            let row = rows.last_mut().expect("there is always a row");
            match row.last_mut() {
                Some((last, known)) if known == tag => last.push_str(grapheme),
                Some(_) | None => row.push((grapheme.to_owned(), *tag)),
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("the option --shout", 12), ["the option", "--shout"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn what_does_not_fit_is_cut_with_a_mark() {
        assert_eq!(shortened("abcdef", 6, "…"), "abcdef");
        assert_eq!(shortened("abcdef", 4, "…"), "abc…");
        assert_eq!(shortened("漢字漢字", 4, "…"), "漢…");
    }

    #[test]
    fn of_pictures_whose_width_is_disputed_the_first_part_is_shown() {
        assert_eq!(shown("a 👩\u{200d}💻 b ❤\u{fe0f} e\u{301} 漢"), "a 👩 b ❤ e\u{301} 漢");
        assert_eq!(columns("👩\u{200d}💻❤\u{fe0f}"), 3);
        assert_eq!(shown("\u{fe0f}x"), "x");
    }
}
