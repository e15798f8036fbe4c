//! Tests inside Rust source files.
//!
//! The unit is a block: an item with `#[cfg(test)]`, a function with `#[test]`, an example in the documentation. New
//! blocks do not count as changes, so a module of tests is compared without its test functions, which are blocks of
//! their own. A new helper in the module is a change, because it can alter the meaning of the tests.

mod doctests;
mod items;

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use ralph_core::event::GuardedChangeKind;

use self::items::{BlockShape, Container, DocStyle, TestBlock};
use super::parts::ChangedParts;
use crate::mutants::{Language, Source};

/// The properties that identify a block: its text and its conditions.
pub(super) type Likeness = (String, String);

/// The guarded blocks of a file.
struct RustSource<'a> {
    text: &'a str,
    blocks: Vec<TestBlock>,
    containers: Vec<Container>,
    conditions: Vec<(String, Range<usize>)>,
}

/// The state of an original block in the present file.
#[derive(Clone, Copy)]
enum BlockState {
    Same,
    Changed(usize),
    Missing,
}

/// A range of the present file, and its replacement.
struct RangeEdit {
    range: Range<usize>,
    text: String,
}

impl<'a> RustSource<'a> {
    fn scan(text: &'a str) -> RustSource<'a> {
        let source = Source::new(Language::Rust, text);
        let found = items::find(&source);
        let outer = found.blocks.iter().filter(|block| block.module.is_none());
        let ranges: Vec<_> = outer.map(|block| block.range.clone()).collect();
        let mut blocks = found.blocks;
        blocks.extend(doctests::find(&source, &ranges));
        RustSource {
            text,
            blocks,
            containers: found.containers,
            conditions: found.conditions,
        }
    }
}

impl TestBlock {
    fn likeness(&self) -> Likeness {
        (self.text.clone(), self.conditions.clone())
    }
}

/// Returns the likeness of each block of a file.
pub(super) fn likenesses(text: &str) -> Vec<Likeness> {
    RustSource::scan(text).blocks.iter().map(TestBlock::likeness).collect()
}

/// Returns the changed blocks of a file, except those that `has_moved` finds in another file.
pub(super) fn compare(original: &str, now: &str, has_moved: impl Fn(&Likeness) -> bool) -> ChangedParts {
    let (original, now) = (RustSource::scan(original), RustSource::scan(now));
    let mut states = block_states(&original, &now);
    ignore_moved(&original, &mut states, has_moved);
    let mut changes = Vec::new();
    // A new condition on the whole file could exclude the restored blocks from compilation.
    let is_new =
        |(condition, _): &&(String, Range<usize>)| !original.conditions.iter().any(|(own, _)| own == condition);
    let conditions = now.conditions.iter().filter(is_new);
    let mut edits: Vec<_> = conditions
        .map(|(_, range)| RangeEdit {
            range: range.clone(),
            text: String::new(),
        })
        .collect();
    for (block, state) in original.blocks.iter().zip(&states) {
        let module_state = block.module.and_then(|module| states.get(module));
        match state {
            BlockState::Same => continue,
            // The whole module is missing, and is restored as one.
            BlockState::Missing if matches!(module_state, Some(BlockState::Missing)) => continue,
            BlockState::Missing => changes.push((GuardedChangeKind::Deleted, block.name.clone())),
            BlockState::Changed(_) => changes.push((GuardedChangeKind::Changed, block.name.clone())),
        }
        edits.push(match state {
            BlockState::Changed(at) => replacement(&original, block, &now, &now.blocks[*at]),
            BlockState::Same | BlockState::Missing => insertion(&original, block, &now, edits.len()),
        });
    }
    let put = (!changes.is_empty()).then(|| apply_edits(now.text, edits).into_bytes());
    ChangedParts {
        changes,
        put,
        shown: None,
    }
}

/// Returns the blocks of a deleted file that are in no other file.
pub(super) fn compare_deleted(original: &str, has_moved: impl Fn(&Likeness) -> bool) -> ChangedParts {
    let parts = compare(original, "", has_moved);
    ChangedParts {
        put: parts.put.map(|_| original.as_bytes().to_vec()),
        ..parts
    }
}

/// Finds the counterpart of each original block: an identical block, or else one of the same name in the same place,
/// or else one of the same name anywhere.
fn block_states(original: &RustSource<'_>, now: &RustSource<'_>) -> Vec<BlockState> {
    let mut states = vec![BlockState::Missing; original.blocks.len()];
    let mut taken = HashSet::new();
    pair(original, now, &mut states, &mut taken, TestBlock::likeness, |_| {
        BlockState::Same
    });
    // With another condition a block may never be compiled, so it counts as missing.
    let name = |block: &TestBlock| format!("{}\n{}", block.name, block.conditions);
    let place = |block: &TestBlock| (name(block), block.container.join("\n"));
    pair(original, now, &mut states, &mut taken, place, BlockState::Changed);
    pair(
        original,
        now,
        &mut states,
        &mut taken,
        |block| (name(block), String::new()),
        BlockState::Changed,
    );
    states
}

fn pair(
    original: &RustSource<'_>,
    now: &RustSource<'_>,
    states: &mut [BlockState],
    taken: &mut HashSet<usize>,
    key: impl Fn(&TestBlock) -> (String, String),
    paired: impl Fn(usize) -> BlockState,
) {
    let mut free: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, block) in now.blocks.iter().enumerate().rev() {
        if !taken.contains(&at) {
            free.entry(key(block)).or_default().push(at);
        }
    }
    for (block, own) in original.blocks.iter().zip(states) {
        if let BlockState::Missing = own
            && let Some(at) = free.get_mut(&key(block)).and_then(Vec::pop)
        {
            taken.insert(at);
            *own = paired(at);
        }
    }
}

/// Treats blocks that are in another file now as unchanged, and modules whose tests all exist somewhere.
fn ignore_moved(source: &RustSource<'_>, states: &mut [BlockState], has_moved: impl Fn(&Likeness) -> bool) {
    for (block, state) in source.blocks.iter().zip(states.iter_mut()) {
        if matches!(state, BlockState::Missing) && has_moved(&block.likeness()) {
            *state = BlockState::Same;
        }
    }
    for module in 0..source.blocks.len() {
        let tests = source.blocks[module + 1..]
            .iter()
            .take_while(|block| block.module == Some(module))
            .count();
        let are_all_there = states[module + 1..][..tests]
            .iter()
            .all(|state| matches!(state, BlockState::Same));
        if tests > 0 && are_all_there && matches!(states[module], BlockState::Missing) {
            states[module] = BlockState::Same;
        }
    }
}

fn replacement(original: &RustSource<'_>, block: &TestBlock, now: &RustSource<'_>, by: &TestBlock) -> RangeEdit {
    let text = match by.shape {
        BlockShape::Doctest(style) => {
            let indent = indent(now.text, by.range.start);
            let is_inner = now
                .text
                .get(by.range.clone())
                .is_some_and(|text| text.starts_with("//!"));
            doctests::as_comment(&block.text, style, is_inner, indent)
        }
        BlockShape::Item | BlockShape::Module => original.text.get(block.range.clone()).unwrap_or_default().to_owned(),
    };
    RangeEdit {
        range: by.range.clone(),
        text,
    }
}

/// Returns the indentation of the line at a position.
fn indent(text: &str, at: usize) -> &str {
    let line = text
        .get(..at)
        .and_then(|before| before.rsplit('\n').next())
        .unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

/// Inserts a missing block at the end of its container or, without that, of the file.
fn insertion(original: &RustSource<'_>, block: &TestBlock, now: &RustSource<'_>, number: usize) -> RangeEdit {
    if let BlockShape::Doctest(_) = block.shape {
        let doctest = doctests::as_comment(&block.text, DocStyle::Line, false, "");
        let text = format!("\n{doctest}\n#[allow(dead_code)]\nfn ralph_doctest_{number}() {{}}\n");
        return RangeEdit {
            range: now.text.len()..now.text.len(),
            text,
        };
    }
    let text = original.text.get(block.range.clone()).unwrap_or_default();
    let mut text = format!("\n{}{text}\n", indent(original.text, block.range.start));
    let mut path = block.container.as_slice();
    loop {
        // Not in a container whose condition could exclude the block from compilation.
        let fits = |at: &&Container| at.path == path && block.conditions.starts_with(&at.conditions);
        let end = now.containers.iter().find(fits).map(|container| container.end);
        let Some((last, above)) = path.split_last().filter(|_| end.is_none()) else {
            // Before the indentation of the closing line.
            let before = now.text.get(..end.unwrap_or(now.text.len())).unwrap_or(now.text);
            let at = before.trim_end_matches([' ', '\t']).len();
            return RangeEdit { range: at..at, text };
        };
        // A method needs its `impl` block; a test works outside its module.
        if !last.starts_with("mod ") {
            text = format!("\n{last} {{{text}}}\n");
        }
        path = above;
    }
}

/// Applies the edits, except those inside a range that another one replaces.
fn apply_edits(text: &str, mut edits: Vec<RangeEdit>) -> String {
    // The longer of two edits at the same position takes precedence.
    edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    let mut edited = String::new();
    let mut at = 0;
    for edit in edits {
        if edit.range.start >= at {
            edited.push_str(text.get(at..edit.range.start).unwrap_or_default());
            edited.push_str(&edit.text);
            at = edit.range.end;
        }
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    edited
}
