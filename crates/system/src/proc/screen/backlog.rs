//! Rows that have left a terminal's cells, as text: a cell of vt100 takes 32 bytes, and most characters take one.
//!
//! A row is kept as the output that reproduces it: its characters, and an SGR sequence at each change of style. Rows in
//! view are drawn on a terminal of their own, so that code that reads cells reads past rows in the same way.

use std::{
    collections::VecDeque,
    fmt::{self, Write},
    num::NonZeroU16,
};

use vt100::{Cell, Color, Parser};

use crate::proc::Size;

/// The newest rows that have left the cells.
pub(super) struct RowHistory {
    rows: VecDeque<HistoryRow>,
    capacity: usize,
}

struct HistoryRow {
    output: Box<str>,
    cols: u16,
    /// Whether the terminal broke the line at its edge: the next row continues it.
    wraps: bool,
}

impl RowHistory {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            capacity,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Takes the `count` topmost rows in view of `screen`.
    pub(super) fn take(&mut self, screen: &vt100::Screen, count: usize) {
        for row in (0..screen.size().0.get()).take(count) {
            if self.rows.len() == self.capacity {
                self.rows.pop_front();
            }
            self.rows.push_back(HistoryRow::from_screen(screen, row));
        }
    }
}

impl HistoryRow {
    fn from_screen(screen: &vt100::Screen, row: u16) -> Self {
        let mut output = String::new();
        // Writing to a string cannot fail.
        let cols = write_row(&mut output, screen, row).unwrap_or_default();
        Self {
            output: output.into_boxed_str(),
            cols,
            wraps: screen.row_wrapped(row),
        }
    }
}

/// A window on past rows.
pub(super) struct HistoryView {
    parser: Parser,
    wraps: Vec<bool>,
}

impl HistoryView {
    /// Shows `size.rows` rows from `first` on, counted from the oldest; below the last of `backlog` come the topmost
    /// rows in view of `newer`.
    pub(super) fn new(size: Size, backlog: &RowHistory, first: usize, newer: &vt100::Screen) -> Self {
        let height = usize::from(size.rows);
        let old = backlog.rows.range(first.min(backlog.rows.len())..).take(height);
        let fresh = (0..size.rows).take(height.saturating_sub(old.len()));
        let fresh: Vec<HistoryRow> = fresh.map(|row| HistoryRow::from_screen(newer, row)).collect();
        let rows: Vec<&HistoryRow> = old.chain(&fresh).collect();
        // A row from a time when the terminal was wider must not be broken.
        let widest = rows.iter().map(|row| row.cols).max().unwrap_or_default();
        let cols = NonZeroU16::new(widest.max(size.cols)).unwrap_or(NonZeroU16::MIN);
        let mut parser = Parser::new(NonZeroU16::new(size.rows).unwrap_or(NonZeroU16::MIN), cols, 0);
        for (at, row) in (1..).zip(&rows) {
            parser.process(format!("\x1b[{at}H\x1b[m{}", row.output).as_bytes());
        }
        Self {
            parser,
            wraps: rows.iter().map(|row| row.wraps).collect(),
        }
    }

    pub(super) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    pub(super) fn row_wraps(&self, row: u16) -> bool {
        self.wraps.get(usize::from(row)).is_some_and(|wraps| *wraps)
    }
}

/// The attributes that SGR sets.
#[derive(Clone, Copy, PartialEq, Default)]
struct CellStyle {
    foreground: Color,
    background: Color,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    inverse: bool,
}

impl CellStyle {
    fn from_cell(cell: &Cell) -> Self {
        Self {
            foreground: cell.fgcolor(),
            background: cell.bgcolor(),
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
            inverse: cell.inverse(),
        }
    }

    fn write(self, output: &mut String) -> fmt::Result {
        output.push_str("\x1b[0");
        let flags = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.inverse, 7),
        ];
        for (_, code) in flags.into_iter().filter(|(is_set, _)| *is_set) {
            write!(output, ";{code}")?;
        }
        for (colour, code) in [(self.foreground, 38), (self.background, 48)] {
            match colour {
                Color::Default => {}
                Color::Idx(index) => write!(output, ";{code};5;{index}")?,
                Color::Rgb(red, green, blue) => write!(output, ";{code};2;{red};{green};{blue}")?,
            }
        }
        output.push('m');
        Ok(())
    }
}

/// Writes the output that reproduces a row on an empty one, and returns how many columns it takes.
fn write_row(output: &mut String, screen: &vt100::Screen, row: u16) -> Result<u16, fmt::Error> {
    let (mut style, mut cols) = (CellStyle::default(), 0);
    // Cells that were never written to, and those that were erased in the present style.
    let (mut blank, mut erased) = (0, 0);
    for col in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, col) else { break };
        if cell.is_wide_continuation() {
            continue;
        }
        let own = CellStyle::from_cell(cell);
        if !cell.has_contents() && own == CellStyle::default() {
            write_erased(output, &mut erased)?;
            blank += 1;
            continue;
        }
        if blank > 0 {
            write!(output, "\x1b[{blank}C")?;
            blank = 0;
        }
        if own != style {
            write_erased(output, &mut erased)?;
            style = own;
            style.write(output)?;
        }
        if cell.has_contents() {
            write_erased(output, &mut erased)?;
            output.push_str(cell.contents());
        } else {
            erased += 1;
        }
        cols = col + if cell.is_wide() { 2 } else { 1 };
    }
    write_erased(output, &mut erased)?;
    Ok(cols)
}

fn write_erased(output: &mut String, cells: &mut u16) -> fmt::Result {
    if *cells > 0 {
        write!(output, "\x1b[{cells}X\x1b[{cells}C")?;
        *cells = 0;
    }
    Ok(())
}
