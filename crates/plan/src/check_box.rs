//! The box of a task in Markdown.

use std::ops::Range;

/// `[ ]` or `[x]` at the beginning of an item, as a range in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CheckBox {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) ticked: bool,
}

impl CheckBox {
    /// Looks for a box after the marker of the list item at `item`.
    ///
    /// A box contains `x`, `X` or nothing, with optional white space; `[P1]`, `[2026-01-02]` or `[-]` are text. The
    /// following characters distinguish a box from a link (`[x](url)`, `[x][ref]`, `[x]: url`) and from `[]string`.
    pub(super) fn find(text: &str, item: Range<usize>) -> Option<Self> {
        let source = text.get(item.clone())?;
        let after_marker = source.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let content = after_marker.strip_prefix(['-', '*', '+', '.', ')'])?.trim_start();
        let inside = content.strip_prefix('[')?;
        // Limited to the line, as a long item without a closing bracket would otherwise be searched to its end.
        let (inside, after) = inside.split_at(inside.find([']', '\n', '\r'])?);
        let after = after.strip_prefix(']')?;
        let ticked = match inside.trim() {
            "" => false,
            "x" | "X" => true,
            _ => return None,
        };
        let glued = after.chars().next().filter(|c| !c.is_whitespace());
        match glued {
            Some('(' | '[' | ':') => return None,
            Some(_) if inside.is_empty() => return None,
            Some(_) | None => {}
        }
        Some(CheckBox {
            start: item.start + source.len() - content.len(),
            end: item.start + source.len() - after.len(),
            ticked,
        })
    }
}
