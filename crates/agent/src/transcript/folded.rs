//! Tool output folded to its first lines; the recorded signals contain more of it. Pure.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::lines::{CYAN, DIM, GREEN, RED, RESET, line};

/// Most lines that are shown of a tool's input, and most rows of its result.
pub(super) const SHOWN_LINES: usize = 8;
/// Columns before a line.
const INDENT: usize = 2;

/// A result whose lines are shown as they arrive.
#[derive(Debug)]
pub(super) struct FoldedOutput {
    lines: usize,
    /// The rows that they take: a long line takes several.
    rows: usize,
    most: usize,
    /// Columns of a row.
    room: usize,
    is_difference: bool,
}

impl FoldedOutput {
    /// A fold with at most `most` rows on a terminal of width `columns`. The result of a tool that changes files is
    /// coloured as a diff, even without a diff header.
    pub(super) fn for_tool(tool: &str, most: usize, columns: usize) -> Self {
        let tool = tool.to_ascii_lowercase();
        Self {
            lines: 0,
            rows: 0,
            most,
            room: room(columns),
            is_difference: ["edit", "write", "patch", "replace"]
                .iter()
                .any(|word| tool.contains(word)),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= self.most
    }

    /// Shows the lines of `text` that fit. A line that takes more rows than are left is cut.
    pub(super) fn show(&mut self, text: &str, out: &mut Vec<u8>) {
        for text in text.lines() {
            if self.is_full() {
                return;
            }
            let (rows, left) = (rows_of(text, self.room), self.most - self.rows);
            let text = match rows > left {
                true => Cow::Owned(beginning(text, left * self.room)),
                false => Cow::Borrowed(text),
            };
            let text = text.as_ref();
            self.lines += 1;
            self.rows += rows.min(left);
            self.is_difference |= ["@@ -", "diff --git "].iter().any(|head| text.starts_with(head));
            let colour = match text.bytes().next() {
                Some(b'+') if self.is_difference => GREEN,
                Some(b'-') if self.is_difference => RED,
                Some(b'@') if self.is_difference => CYAN,
                _ => DIM,
            };
            line(out, &["  ", colour, text, RESET]);
        }
    }

    /// The number of hidden lines, of `lines` in all.
    pub(super) fn hidden(&self, lines: usize) -> usize {
        lines.saturating_sub(self.lines)
    }
}

/// Whether an output is folded on a terminal of width `columns`.
pub(super) fn is_folded(output: &str, columns: usize) -> bool {
    let (kept, lines) = counted(output.trim_end());
    let rows = kept.lines().map(|line| rows_of(line, room(columns)));
    lines > SHOWN_LINES || rows.sum::<usize>() > SHOWN_LINES
}

fn room(columns: usize) -> usize {
    columns.saturating_sub(INDENT).max(1)
}

fn rows_of(line: &str, room: usize) -> usize {
    line.width().div_ceil(room).max(1)
}

/// The beginning of a line, with a mark at its end, in as many columns.
fn beginning(line: &str, columns: usize) -> String {
    let mut taken = 1;
    let kept = line.chars().take_while(|character| {
        taken += character.width().unwrap_or(0);
        taken <= columns
    });
    kept.chain(['…']).collect()
}

/// Removes the line that counts earlier omissions from an output. Returns the rest and the total number of lines.
pub(super) fn counted(output: &str) -> (&str, usize) {
    let (kept, last) = output.rsplit_once('\n').unwrap_or(("", output));
    let more = last
        .strip_prefix("… ")
        .and_then(|more| more.strip_suffix(" more lines").or(more.strip_suffix(" more line")))
        .and_then(|more| more.parse::<usize>().ok());
    match more {
        Some(more) => (kept, kept.lines().count().saturating_add(more)),
        None => (output, output.lines().count()),
    }
}

pub(super) fn more_lines(count: usize) -> String {
    match count {
        1 => "… 1 more line".to_owned(),
        more => format!("… {more} more lines"),
    }
}
