//! The tests that an output names, each with its worst result.

use std::collections::HashMap;

use super::tally::CountKind;

/// Most tests that are kept of one output.
const ID_CAP: usize = 20_000;
/// Most bytes of one id.
const ID_BYTES: usize = 512;

/// Ids of tests in the order of first appearance, bounded.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    order: Vec<(String, CountKind)>,
    places: HashMap<String, usize>,
    /// Number of lines that named a test, by kind. It exceeds the number of ids if a line is repeated, or if two
    /// programs have a test of the same name.
    lines: [u32; CountKind::COUNT],
}

impl Ids {
    pub(super) fn add(&mut self, id: &str, kind: CountKind) {
        let line_count = &mut self.lines[kind as usize];
        *line_count = line_count.saturating_add(1);
        let id = cut(id.trim());
        if id.is_empty() {
            return;
        }
        if let Some(known) = self.places.get(id).and_then(|place| self.order.get_mut(*place)) {
            if severity(kind) > severity(known.1) {
                known.1 = kind;
            }
        } else if self.order.len() < ID_CAP {
            self.places.insert(id.to_owned(), self.order.len());
            self.order.push((id.to_owned(), kind));
        }
    }

    /// Returns the number of lines that named a test of this kind.
    pub(super) fn line_count(&self, kind: CountKind) -> u32 {
        self.lines[kind as usize]
    }

    /// Returns the ids of tests of a kind, in the order in which they were first named.
    pub(super) fn with_kind(&self, kind: CountKind) -> Vec<String> {
        let matching = self.order.iter().filter(|(_, other)| *other == kind);
        matching.map(|(id, _)| id.clone()).collect()
    }
}

/// Ranks the results of a test that is named twice; the worse one counts.
fn severity(kind: CountKind) -> u8 {
    match kind {
        CountKind::Failed => 3,
        CountKind::Passed => 2,
        CountKind::Expected => 1,
        CountKind::Skipped | CountKind::Other | CountKind::Total => 0,
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(ID_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
