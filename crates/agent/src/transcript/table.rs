//! Markdown tables: held until their rows have arrived, then laid out in columns. Pure.
//!
//! If a table is wider than the terminal, each row becomes a paragraph with a line for each cell.

use unicode_width::UnicodeWidthStr;

use super::{
    inline::{self, PrecedingText, RestOfLine},
    style::{StyledWriter, TextStyle},
};

/// Bounds for the held part of a table; later rows are written as they arrive.
const ROWS_CAP: usize = 256;
const BYTES_CAP: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    /// The rows as written: the head, then the rows below the rule.
    rows: Vec<String>,
    bytes: usize,
    alignment: Vec<Alignment>,
    /// Whether the rule below the head has arrived, which makes it a table.
    has_rule: bool,
    /// The layout, once rows have been written.
    layout: Option<TableLayout>,
}

#[derive(Debug)]
struct TableLayout {
    widths: Vec<usize>,
    head: Vec<String>,
    is_wide: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Left,
    Centre,
    Right,
}

/// A rendered cell.
struct StyledCell {
    runs: Vec<(TextStyle, String)>,
    width: usize,
}

impl MarkdownTable {
    /// Starts with a row that may be the head of a table.
    pub(super) fn new(head: String) -> Self {
        Self {
            bytes: head.len(),
            rows: vec![head],
            ..Self::default()
        }
    }

    /// Takes the next row. Returns the first row and this one if they do not form a table.
    pub(super) fn take(&mut self, row: String) -> Result<(), (String, String)> {
        if self.has_rule {
            self.bytes += row.len();
            self.rows.push(row);
            return Ok(());
        }
        let alignment = rule(&row).filter(|columns| columns.len() == cells(&self.rows[0]).len());
        match alignment {
            Some(alignment) => {
                self.alignment = alignment;
                self.has_rule = true;
                Ok(())
            }
            None => Err((self.rows.remove(0), row)),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.layout.is_some() || self.rows.len() >= ROWS_CAP || self.bytes >= BYTES_CAP
    }

    /// Returns the table, or its only row as text if no rule followed.
    pub(super) fn into_text(mut self) -> Result<Self, String> {
        match self.has_rule {
            true => Ok(self),
            false => Err(self.rows.remove(0)),
        }
    }

    /// Writes the held rows.
    pub(super) fn write(&mut self, columns: usize, style: TextStyle, writer: &mut StyledWriter, out: &mut Vec<u8>) {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let is_first = self.layout.is_none();
        let mut rows: Vec<Vec<StyledCell>> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let style = if is_first && at == 0 { style.bold() } else { style };
                let mut row = cells(row);
                // Surplus cells are shown in the last column.
                let last = row.split_off(row.len().min(self.alignment.len() - 1)).join(" | ");
                row.push(last);
                row.iter().map(|cell| StyledCell::new(cell, style)).collect()
            })
            .collect();
        let layout = self.layout.get_or_insert_with(|| {
            let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.width)).max();
            let widths: Vec<_> = (0..self.alignment.len())
                .map(|at| width(at).unwrap_or(0).max(1))
                .collect();
            let is_wide = widths.iter().sum::<usize>() + 3 * (widths.len() - 1) > columns;
            let head = rows[0].iter().map(StyledCell::text).collect();
            TableLayout { widths, head, is_wide }
        });
        if is_first && layout.is_wide {
            rows.remove(0);
        }
        for (at, row) in rows.iter().enumerate() {
            if layout.is_wide {
                layout.paragraph(row, style, writer, out);
            } else {
                layout.row(row, &self.alignment, style, writer, out);
                if is_first && at == 0 {
                    layout.rule(style, writer, out);
                }
            }
        }
    }
}

impl TableLayout {
    fn row(
        &self,
        row: &[StyledCell],
        alignment: &[Alignment],
        style: TextStyle,
        writer: &mut StyledWriter,
        out: &mut Vec<u8>,
    ) {
        let last = self.widths.len() - 1;
        for (at, width) in self.widths.iter().enumerate() {
            if at > 0 {
                writer.write(style.dim(), " │ ", out);
            }
            let cell = row.get(at);
            let spare = width.saturating_sub(cell.map_or(0, |cell| cell.width));
            let before = match alignment[at] {
                Alignment::Left => 0,
                Alignment::Centre => spare / 2,
                Alignment::Right => spare,
            };
            writer.write(style, &" ".repeat(before), out);
            for (style, text) in cell.map_or(&[][..], |cell| &cell.runs) {
                writer.write(*style, text, out);
            }
            if at < last {
                writer.write(style, &" ".repeat(spare - before), out);
            }
        }
        end_line(writer, out);
    }

    fn rule(&self, style: TextStyle, writer: &mut StyledWriter, out: &mut Vec<u8>) {
        let rules: Vec<_> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
        writer.write(style.dim(), &rules.join("─┼─"), out);
        end_line(writer, out);
    }

    fn paragraph(&self, row: &[StyledCell], style: TextStyle, writer: &mut StyledWriter, out: &mut Vec<u8>) {
        for (at, cell) in row.iter().enumerate().filter(|(_, cell)| cell.width > 0) {
            let name = self.head.get(at).map_or("", String::as_str);
            let sign = if at == 0 { "• " } else { "  " };
            writer.write(style, sign, out);
            if !name.is_empty() {
                writer.write(style.dim(), &format!("{name}: "), out);
            }
            for (style, text) in &cell.runs {
                writer.write(*style, text, out);
            }
            end_line(writer, out);
        }
    }
}

impl StyledCell {
    fn new(text: &str, style: TextStyle) -> Self {
        let mut runs = Vec::new();
        let mut take = |style, text: &str| runs.push((style, text.to_owned()));
        inline::write(
            text,
            RestOfLine::IsHere,
            &mut PrecedingText::default(),
            style,
            &mut take,
        );
        let width = runs.iter().map(|(_, text)| text.width()).sum();
        Self { runs, width }
    }

    fn text(&self) -> String {
        self.runs.iter().map(|(_, text)| text.as_str()).collect()
    }
}

fn end_line(writer: &mut StyledWriter, out: &mut Vec<u8>) {
    writer.lift(out);
    out.extend_from_slice(b"\r\n");
}

/// The cells of a row, split at unescaped bars.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for character in row.chars() {
        match character {
            '|' if escaped => {
                let cell = cells.last_mut().expect("there is a first one");
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(String::new()),
            other => cells.last_mut().expect("there is a first one").push(other),
        }
        escaped = character == '\\' && !escaped;
    }
    if cells.len() > 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().replace('\t', " ")).collect()
}

/// Parses the rule between the head of a table and its rows.
fn rule(row: &str) -> Option<Vec<Alignment>> {
    let of = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        let is_rule = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-') && cell.len() <= dashes.len() + 2;
        is_rule.then_some(match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Alignment::Centre,
            (false, true) => Alignment::Right,
            (_, false) => Alignment::Left,
        })
    };
    cells(row).iter().map(of).collect()
}
