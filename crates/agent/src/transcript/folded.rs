//! Tool output folded to its first lines; the recorded signals contain more of it. Pure.

use super::lines::{CYAN, DIM, GREEN, RED, RESET, line};

/// Most lines that are shown of a tool's input, and of its result.
pub(super) const SHOWN_LINES: usize = 8;

/// A result whose lines are shown as they arrive.
#[derive(Debug)]
pub(super) struct FoldedOutput {
    shown: usize,
    most: usize,
    is_difference: bool,
}

impl FoldedOutput {
    /// A fold with at most `most` lines. The result of a tool that changes files is coloured as a diff, even without a
    /// diff header.
    pub(super) fn for_tool(tool: &str, most: usize) -> Self {
        let tool = tool.to_ascii_lowercase();
        Self {
            shown: 0,
            most,
            is_difference: ["edit", "write", "patch", "replace"]
                .iter()
                .any(|word| tool.contains(word)),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.shown >= self.most
    }

    /// Shows the lines of `text` that fit.
    pub(super) fn show(&mut self, text: &str, out: &mut Vec<u8>) {
        for text in text.lines().take(self.most - self.shown) {
            self.shown += 1;
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
        lines.saturating_sub(self.shown)
    }
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
