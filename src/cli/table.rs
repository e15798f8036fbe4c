//! A table with a header. Columns are as wide as their cells; the last one is cut at the width of the terminal.

use ralph_text::one_line;
use ralph_ui::report::OutputStyle;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const DIM: &str = "2";
const BETWEEN: usize = 2;
/// Minimum width of the last column, even on a narrow terminal: less would be unreadable.
const LAST_COLUMNS_MIN: usize = 32;

/// A cell, with its colour as an SGR code.
#[derive(Debug, Clone, Default)]
pub(super) struct TableCell {
    text: String,
    code: Option<&'static str>,
}

impl TableCell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self {
            text: one_line(text.as_ref()),
            code: None,
        }
    }

    pub(super) fn coloured(text: impl AsRef<str>, code: &'static str) -> Self {
        Self {
            code: Some(code),
            ..Self::new(text)
        }
    }
}

/// Formats a table. Columns whose title begins with a blank hold numbers and are aligned to the right.
pub(super) fn table<const N: usize>(titles: [&str; N], rows: &[[TableCell; N]], style: OutputStyle) -> String {
    let widths: [usize; N] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].text.width());
        cells.chain([titles[at].trim().width()]).max().unwrap_or_default()
    });
    let before_last = widths[..N - 1].iter().map(|width| width + BETWEEN).sum::<usize>();
    let last = style.columns.map_or(usize::MAX, |columns| {
        usize::from(columns).saturating_sub(before_last).max(LAST_COLUMNS_MIN)
    });
    let line = |cells: [TableCell; N]| {
        let mut text = String::new();
        for (at, cell) in cells.into_iter().enumerate() {
            let is_last = at + 1 == N;
            let shown = if is_last { cut(&cell.text, last) } else { cell.text };
            let pad = " ".repeat(widths[at].saturating_sub(shown.width()));
            let shown = cell
                .code
                .map_or_else(|| shown.clone(), |code| style.paint(code, &shown));
            text += &match (titles[at].starts_with(' '), is_last) {
                (true, _) => pad + &shown,
                (false, true) => shown,
                (false, false) => shown + &pad,
            };
            if !is_last {
                text += &" ".repeat(BETWEEN);
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let head = line(titles.map(|title| TableCell::coloured(title.trim(), DIM)));
    head + &rows.iter().map(|row| line(row.clone())).collect::<String>()
}

fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |character: &char| {
        let width = character.width().unwrap_or_default();
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    text.chars().take_while(fits).collect::<String>().trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them_and_the_last_one_ends_with_the_terminal() {
        let rows = [
            [
                TableCell::new("a"),
                TableCell::new("7"),
                TableCell::coloured("short", "32"),
            ],
            [
                TableCell::new("größe"),
                TableCell::new("12"),
                TableCell::new("a reason that is rather long, and longer\x1b[31m"),
            ],
        ];
        let style = OutputStyle {
            columns: Some(44),
            ..OutputStyle::PLAIN
        };
        assert_eq!(
            table(["name", " n", "state"], &rows, style),
            "name    n  state\na       7  short\ngröße  12  a reason that is rather long, an…\n"
        );
        let coloured = OutputStyle {
            colour: true,
            ..OutputStyle::PLAIN
        };
        assert!(table(["name", " n", "state"], &rows, coloured).contains("\x1b[32mshort\x1b[0m\n"));
    }
}
