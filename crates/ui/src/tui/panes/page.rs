//! Pages of text: wrapped lines, some of them with a mark or with figures.

use ratatui::layout::Rect;

use crate::{
    report::{LineMark, PageLine, PageTone},
    tui::{
        model::PageRow,
        pen::{Pen, columns, wrapped},
        theme::TextRole,
    },
};

/// Columns of a table figure, including the gap before it.
const CELL_COLS: u16 = 12;
/// Minimum width for figures.
const CELLS_FROM_COLS: u16 = 60;
/// Maximum width: wider lines are hard to read, and their figures too far away.
const WIDEST: u16 = 110;

/// Wraps lines.
pub(super) fn broken(lines: Vec<PageLine>, width: u16) -> Vec<PageRow> {
    let width = width.min(WIDEST);
    lines.into_iter().flat_map(|line| rows(line, width)).collect()
}

fn rows(line: PageLine, width: u16) -> Vec<PageRow> {
    let marked = if line.mark.is_some() { 2 } else { 0 };
    let cells = if width >= CELLS_FROM_COLS {
        line.cells
    } else {
        Vec::new()
    };
    let taken = u16::try_from(cells.len()).unwrap_or(0) * CELL_COLS;
    let room = width.saturating_sub(2 + line.indent + marked + taken).max(8);
    let role = match line.tone {
        PageTone::Plain => TextRole::Plain,
        PageTone::Dim => TextRole::Dim,
        PageTone::Heading => TextRole::Strong,
        PageTone::GoodVerdict => TextRole::GoodVerdict,
        PageTone::BadVerdict => TextRole::Bad,
        PageTone::UnfinishedVerdict => TextRole::WaitVerdict,
        PageTone::Unfinished => TextRole::Wait,
    };
    let mut in_command = false;
    let broken = wrapped(&line.text, usize::from(room));
    let rows = broken.into_iter().enumerate().map(|(at, text)| PageRow {
        mark: line.mark.filter(|_| at == 0),
        indent: line.indent + if at == 0 { 0 } else { marked },
        pieces: pieces(&text, role, &mut in_command),
        cells: if at == 0 { cells.clone() } else { Vec::new() },
    });
    rows.collect()
}

/// Splits off commands, which stand between backticks.
fn pieces(text: &str, role: TextRole, in_command: &mut bool) -> Vec<(String, TextRole)> {
    if role != TextRole::Plain {
        return vec![(text.to_owned(), role)];
    }
    let mut pieces = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            *in_command = !*in_command;
        }
        if !part.is_empty() {
            let role = if *in_command { TextRole::Accent } else { role };
            pieces.push((part.to_owned(), role));
        }
    }
    pieces
}

/// Draws rows, starting with the one at `top`, or earlier to fill the area.
pub(super) fn draw(rows: &[PageRow], top: usize, area: Rect, pen: &mut Pen<'_>) {
    let top = top.min(rows.len().saturating_sub(usize::from(area.height)));
    let right = (area.x + area.width.min(WIDEST)).saturating_sub(1);
    for (y, row) in (area.top()..area.bottom()).zip(rows.iter().skip(top)) {
        let mut x = area.x + 1 + row.indent;
        if let Some(mark) = row.mark {
            let (sign, role) = sign(mark, pen);
            pen.role(x, y, area.right(), sign, role);
            x += 2;
        }
        for (text, role) in &row.pieces {
            x = pen.role(x, y, area.right(), text, *role);
        }
        for (at, cell) in (1..).zip(row.cells.iter().rev()) {
            let end = right.saturating_sub((at - 1) * CELL_COLS);
            pen.right(
                end.saturating_sub(columns(cell)),
                y,
                end,
                cell,
                pen.theme.style(TextRole::Dim),
            );
        }
    }
}

fn sign(mark: LineMark, pen: &Pen<'_>) -> (&'static str, TextRole) {
    let glyphs = pen.theme.glyphs;
    match mark {
        LineMark::Done => (glyphs.done, TextRole::Good),
        LineMark::Open => (glyphs.open, TextRole::Dim),
        LineMark::Blocked => ("?", TextRole::Wait),
        LineMark::Item => (glyphs.dot, TextRole::Dim),
        LineMark::Good => (glyphs.good, TextRole::Good),
        LineMark::Bad => (glyphs.bad, TextRole::Bad),
        LineMark::Unfinished => (glyphs.wait, TextRole::Wait),
        LineMark::Nothing => (glyphs.minus, TextRole::Wait),
    }
}
