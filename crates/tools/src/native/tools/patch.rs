//! Patches of several files at once, in the format that codex taught models: files are added, updated, moved and deleted,
//! and lines are found by what is around them.
//!
//! A patch is computed whole before anything is written, so that one that does not apply changes nothing.

use std::path::{Path, PathBuf};

use super::files::{FileEdit, text_of};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// Most bytes of a line in an error.
const SHOWN_BYTES: usize = 120;

/// The changes that a patch makes in `project`.
///
/// # Errors
/// The reason why it does not apply, as a message for the model.
pub(super) fn changes(patch: &str, project: &Path) -> Result<Vec<FileEdit>, String> {
    let mut lines = lines_of(patch)?.into_iter().peekable();
    let mut edits: Vec<FileEdit> = Vec::new();
    while let Some(line) = lines.next() {
        let mut body = Vec::new();
        let mut take_body = || {
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                body.push(line);
            }
        };
        if let Some(name) = line.strip_prefix(ADD) {
            take_body();
            add(place(name, project), &body, &mut edits)?;
        } else if let Some(name) = line.strip_prefix(DELETE) {
            let path = place(name, project);
            let before = text_of(&path)?;
            push(FileEdit::delete(path, before), &mut edits)?;
        } else if let Some(name) = line.strip_prefix(UPDATE) {
            take_body();
            update(place(name, project), &body, project, &mut edits)?;
        } else if !line.trim().is_empty() {
            return Err(format!(
                "`apply_patch`: `{}` is no beginning of a file; expected `{ADD}…`, `{UPDATE}…` or `{DELETE}…`",
                shown(line)
            ));
        }
    }
    match edits.is_empty() {
        true => Err("`apply_patch`: the patch has no file in it".to_owned()),
        false => Ok(edits),
    }
}

/// The lines between the first and the last line of a patch.
fn lines_of(patch: &str) -> Result<Vec<&str>, String> {
    let lines: Vec<&str> = patch.trim().lines().map(|line| line.trim_end_matches('\r')).collect();
    match &lines[..] {
        [begin, inner @ .., end] if begin.trim() == BEGIN && end.trim() == END => Ok(inner.to_vec()),
        _ => Err(format!(
            "`apply_patch`: a patch begins with `{BEGIN}` and ends with `{END}`"
        )),
    }
}

fn is_header(line: &str) -> bool {
    line.starts_with("*** ") && !line.starts_with(MOVE) && line != END_OF_FILE
}

fn place(name: &str, project: &Path) -> PathBuf {
    project.join(name.trim())
}

/// Adds a change, unless the patch has one of the same file already: it would be computed from the old content.
fn push(edit: FileEdit, edits: &mut Vec<FileEdit>) -> Result<(), String> {
    if edits.iter().any(|known| known.path == edit.path) {
        let path = edit.path.display();
        return Err(format!(
            "`apply_patch`: {path} is in the patch twice; put its changes together"
        ));
    }
    edits.push(edit);
    Ok(())
}

fn add(path: PathBuf, body: &[&str], edits: &mut Vec<FileEdit>) -> Result<(), String> {
    if path.exists() {
        return Err(format!("{}: it exists; `{UPDATE}…` changes it", path.display()));
    }
    let mut content = String::new();
    for line in body {
        let Some(text) = line.strip_prefix('+') else {
            return Err(format!(
                "{}: each line of a new file begins with `+`, and `{}` does not",
                path.display(),
                shown(line)
            ));
        };
        content.push_str(text);
        content.push('\n');
    }
    push(FileEdit::create(path, content), edits)
}

fn update(path: PathBuf, body: &[&str], project: &Path, edits: &mut Vec<FileEdit>) -> Result<(), String> {
    let (target, body) = match body.split_first() {
        Some((first, rest)) if first.starts_with(MOVE) => (Some(place(&first[MOVE.len()..], project)), rest),
        _ => (None, body),
    };
    let before = text_of(&path)?;
    let after = match (body.is_empty(), &target) {
        (true, Some(_)) => before.clone(),
        (true, None) => return Err(format!("{}: the patch changes nothing in it", path.display())),
        (false, _) => updated(&path, &before, body)?,
    };
    let Some(target) = target.filter(|target| *target != path) else {
        return push(FileEdit::change(path, before, after), edits);
    };
    if target.exists() {
        return Err(format!(
            "{}: it exists, so nothing can be moved there",
            target.display()
        ));
    }
    FileEdit::moves(path, before, target, after)
        .into_iter()
        .try_for_each(|edit| push(edit, edits))
}

/// A part of an update: lines to find, and lines in their place.
#[derive(Debug, Default)]
struct PatchHunk<'p> {
    /// Lines before the part, one after the other, from which on it is looked for.
    anchors: Vec<&'p str>,
    old: Vec<&'p str>,
    new: Vec<&'p str>,
    /// Whether it is at the end of the file.
    is_at_end: bool,
}

impl PatchHunk<'_> {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

fn updated(path: &Path, before: &str, body: &[&str]) -> Result<String, String> {
    let returns = before.contains("\r\n");
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    let mut from = 0;
    for hunk in hunks(path, body)? {
        for anchor in &hunk.anchors {
            let at = find(&lines, &[anchor], from, false);
            let at = at.ok_or_else(|| {
                format!(
                    "{}: `{}` is not in it from line {} on",
                    path.display(),
                    shown(anchor),
                    from + 1
                )
            })?;
            from = at + 1;
        }
        let at = match hunk.old.is_empty() {
            // Lines are added after the anchor, or at the end.
            true if hunk.anchors.is_empty() || hunk.is_at_end => lines.len(),
            true => from,
            false => {
                find(&lines, &hunk.old, from, hunk.is_at_end).ok_or_else(|| missing(path, &lines, &hunk.old, from))?
            }
        };
        let new = hunk.new.iter().map(|line| (*line).to_owned());
        lines.splice(at..at + hunk.old.len(), new);
        from = at + hunk.new.len();
    }
    let end = if returns { "\r\n" } else { "\n" };
    let mut after = lines.join(end);
    // A file without an end of its last line stays so, unless lines were added to it.
    if !after.is_empty() && (before.ends_with('\n') || before.is_empty()) {
        after.push_str(end);
    }
    Ok(after)
}

/// The parts of an update.
fn hunks<'p>(path: &Path, body: &[&'p str]) -> Result<Vec<PatchHunk<'p>>, String> {
    let mut hunks: Vec<PatchHunk<'p>> = vec![PatchHunk::default()];
    for line in body {
        let starts = line.starts_with("@@");
        if starts && hunks.last().is_some_and(|hunk| !hunk.is_empty()) {
            hunks.push(PatchHunk::default());
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        if starts {
            // A unified diff has line numbers here, which are no anchor.
            let anchor = Some(line.trim_start_matches('@').trim()).filter(|anchor| !anchor.is_empty());
            hunk.anchors.extend(anchor.filter(|anchor| !anchor.starts_with('-')));
        } else if *line == END_OF_FILE {
            hunk.is_at_end = true;
        } else if let Some(text) = line.strip_prefix('+') {
            hunk.new.push(text);
        } else if let Some(text) = line.strip_prefix('-') {
            hunk.old.push(text);
        } else if let Some(text) = line.strip_prefix(' ').or(line.is_empty().then_some("")) {
            hunk.old.push(text);
            hunk.new.push(text);
        } else {
            return Err(format!(
                "{}: a line of a change begins with a space, `-` or `+`, and `{}` does not",
                path.display(),
                shown(line)
            ));
        }
    }
    hunks.retain(|hunk| !hunk.is_empty());
    match hunks.is_empty() {
        true => Err(format!("{}: the patch changes nothing in it", path.display())),
        false => Ok(hunks),
    }
}

/// Finds `wanted` from line `from` on: as it is, else but for white space at the ends of lines, else at both.
fn find(lines: &[String], wanted: &[&str], from: usize, is_at_end: bool) -> Option<usize> {
    let forms: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];
    let last = lines.len().checked_sub(wanted.len())?;
    let first = if is_at_end { last.max(from) } else { from };
    let mut places = forms.iter().map(|form| {
        (first..=last).find(|at| {
            let found = &lines[*at..*at + wanted.len()];
            found
                .iter()
                .zip(wanted)
                .all(|(line, wanted)| form(line) == form(wanted))
        })
    });
    places.find_map(|place| place)
}

/// The error for lines that are not found, with the first of them that is not where the others begin.
fn missing(path: &Path, lines: &[String], wanted: &[&str], from: usize) -> String {
    let path = path.display();
    let first = wanted
        .iter()
        .find(|line| !line.trim().is_empty())
        .copied()
        .unwrap_or_default();
    let Some(at) = find(lines, &[first], from, false) else {
        let first = shown(first);
        return format!(
            "{path}: `{first}` is not in it from line {} on; read it again",
            from + 1
        );
    };
    let differing = wanted.iter().skip_while(|line| **line != first).zip(&lines[at..]);
    let differing = differing
        .enumerate()
        .find(|(_, (wanted, line))| wanted.trim() != line.trim());
    match differing {
        Some((offset, (wanted, line))) => format!(
            "{path}: line {} is `{}`, and not `{}`; read it again",
            at + offset + 1,
            shown(line),
            shown(wanted)
        ),
        None => format!(
            "{path}: the lines from `{}` on are not in it; read it again",
            shown(first)
        ),
    }
}

fn shown(line: &str) -> String {
    ralph_core::event::clip(line, SHOWN_BYTES)
}
