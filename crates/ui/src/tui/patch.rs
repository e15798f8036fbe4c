//! A parsed patch: its lines, their kinds and their files. Pure.
//!
//! The kind of a line depends on its position: `--- x` is a removed line in a hunk and a file name before it. Therefore
//! lines are counted against the hunk header.

use ralph_text::sanitized;
use unicode_width::UnicodeWidthStr;

/// Limits of a patch on the screen; longer ones are cut with a notice.
const MOST_LINES: usize = 200_000;
const LONGEST_LINE: usize = 4_000;
/// Maximum lines of a change searched for the counterpart of a line.
const PAIRED: usize = 60;

/// The lines of a patch, sanitized for a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    pub lines: Vec<String>,
    pub kinds: Vec<LineKind>,
    pub files: Vec<PatchFile>,
    /// Width of the longest line in columns.
    pub widest: usize,
    /// The rows in which the lines are shown side by side.
    pub sides: Vec<SideRow>,
    /// The row of each line.
    row_of: Vec<usize>,
}

/// A line of one side, with its number in that side's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideLine {
    pub at: usize,
    pub number: u32,
}

/// A row of a patch whose sides are shown beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideRow {
    /// A line that belongs to both sides as one: a name, a hunk's header.
    Whole(usize),
    Pair {
        left: Option<SideLine>,
        right: Option<SideLine>,
    },
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Statistics, or a line between files.
    Text,
    /// The name of a file.
    File,
    /// Modes, names and hashes.
    Meta,
    Hunk,
    /// Numbers refer to the new file; those of removed lines to the old one.
    Same(u32),
    Added(u32),
    Removed(u32),
    /// `\ No newline at end of file`.
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchFile {
    pub name: String,
    /// Index of the file's first line.
    pub at: usize,
    pub added: u32,
    pub removed: u32,
    /// An additional fact: `new`, `binary`.
    pub note: &'static str,
}

/// The parser's position in a hunk.
#[derive(Debug, Clone, Copy, Default)]
struct Hunk {
    old: u32,
    new: u32,
    /// Remaining lines of both sides.
    old_left: u32,
    new_left: u32,
}

impl Hunk {
    /// Parses `@@ -1,2 +3,4 @@`; `None` for any other line.
    fn parse(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        };
        let ((old, old_left), (new, new_left)) = (range(old)?, range(new)?);
        Some(Self {
            old,
            new,
            old_left,
            new_left,
        })
    }

    /// The kind of the next line of the hunk; `None` after its end.
    fn take(&mut self, line: &str) -> Option<LineKind> {
        if self.old_left == 0 && self.new_left == 0 {
            return None;
        }
        let kind = match line.as_bytes().first() {
            Some(b'+') => LineKind::Added(self.new),
            Some(b'-') => LineKind::Removed(self.old),
            Some(b' ') | None => LineKind::Same(self.new),
            Some(b'\\') => return Some(LineKind::Note),
            Some(_) => return None,
        };
        if !matches!(kind, LineKind::Added(_)) {
            self.old = self.old.saturating_add(1);
            self.old_left = self.old_left.saturating_sub(1);
        }
        if !matches!(kind, LineKind::Removed(_)) {
            self.new = self.new.saturating_add(1);
            self.new_left = self.new_left.saturating_sub(1);
        }
        Some(kind)
    }
}

impl SideRow {
    fn lines(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            SideRow::Whole(at) => (Some(at), None),
            SideRow::Pair { left, right } => (left.map(|line| line.at), right.map(|line| line.at)),
        };
        first.into_iter().chain(second)
    }
}

impl Patch {
    /// Parses git's output for two trees: statistics, then a patch. Unknown lines count as text.
    pub fn parse(text: &str) -> Self {
        let mut patch = Self::default();
        let mut hunk = Hunk::default();
        for line in text.split_terminator('\n') {
            if patch.lines.len() == MOST_LINES {
                patch.push(
                    format!("[the patch is longer than {MOST_LINES} lines: the rest is left out]"),
                    LineKind::Text,
                );
                break;
            }
            let kind = hunk.take(line).unwrap_or_else(|| patch.outside(line, &mut hunk));
            if let Some(file) = patch.files.last_mut() {
                match kind {
                    LineKind::Added(_) => file.added += 1,
                    LineKind::Removed(_) => file.removed += 1,
                    _ => {}
                }
            }
            patch.push(shown(line, kind), kind);
        }
        patch.pair_sides();
        patch
    }

    /// Makes the rows of both sides: within a change, the removed lines are beside the added ones in their order.
    fn pair_sides(&mut self) {
        self.row_of = vec![0; self.lines.len()];
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        // The number of the next line in the old file: an unchanged line only has that of the new one.
        let mut old = 0;
        for at in 0..=self.lines.len() {
            match self.kinds.get(at) {
                Some(LineKind::Removed(number)) => {
                    removed.push(SideLine { at, number: *number });
                    old = number.saturating_add(1);
                    continue;
                }
                Some(LineKind::Added(number)) => {
                    added.push(SideLine { at, number: *number });
                    continue;
                }
                Some(_) | None => {}
            }
            for nth in 0..removed.len().max(added.len()) {
                let (left, right) = (removed.get(nth).copied(), added.get(nth).copied());
                self.push_row(SideRow::Pair { left, right });
            }
            (removed, added) = (Vec::new(), Vec::new());
            let row = match self.kinds.get(at) {
                None => return,
                Some(LineKind::Same(number)) => {
                    let (left, right) = (SideLine { at, number: old }, SideLine { at, number: *number });
                    old = old.saturating_add(1);
                    SideRow::Pair {
                        left: Some(left),
                        right: Some(right),
                    }
                }
                Some(_) => {
                    if let Some(hunk) = Hunk::parse(&self.lines[at]) {
                        old = hunk.old;
                    }
                    SideRow::Whole(at)
                }
            };
            self.push_row(row);
        }
    }

    fn push_row(&mut self, row: SideRow) {
        for at in row.lines() {
            self.row_of[at] = self.sides.len();
        }
        self.sides.push(row);
    }

    /// The row that shows the line at `at` beside its counterpart.
    pub fn row_of(&self, at: usize) -> usize {
        self.row_of.get(at).copied().unwrap_or(self.sides.len())
    }

    /// The first line of a row, or the number of lines behind the last row.
    pub fn first_line(&self, row: usize) -> usize {
        let row = self.sides.get(row);
        row.and_then(|row| row.lines().next()).unwrap_or(self.lines.len())
    }

    fn push(&mut self, line: String, kind: LineKind) {
        self.widest = self.widest.max(line.width());
        self.lines.push(line);
        self.kinds.push(kind);
    }

    /// Handles a line outside of any hunk.
    fn outside(&mut self, line: &str, hunk: &mut Hunk) -> LineKind {
        let at = self.lines.len();
        if let Some(names) = line.strip_prefix("diff --git ") {
            *hunk = Hunk::default();
            self.files.push(PatchFile {
                name: name_of_both(names),
                at,
                ..PatchFile::default()
            });
            return LineKind::File;
        }
        let Some(file) = self.files.last_mut() else {
            return LineKind::Text;
        };
        if let Some(found) = Hunk::parse(line) {
            *hunk = found;
            return LineKind::Hunk;
        }
        let name = |prefix: &str| line.strip_prefix(prefix).map(|name| sanitized(name).into_owned());
        if let Some(name) = name("+++ b/")
            .or_else(|| name("rename to "))
            .or_else(|| name("copy to "))
        {
            file.name = name.trim_end_matches('\t').to_owned();
        }
        let notes = [
            ("new file", "new"),
            ("deleted file", "deleted"),
            ("rename to", "renamed"),
            ("copy to", "copied"),
            ("new mode", "mode"),
            ("Binary files", "binary"),
            ("GIT binary patch", "binary"),
        ];
        if let Some((_, note)) = notes.iter().find(|(start, _)| line.starts_with(start)) {
            file.note = note;
        }
        match line.as_bytes().first() {
            None => LineKind::Text,
            Some(b'\\') => LineKind::Note,
            Some(_) if line.starts_with("--- ") || line.starts_with("+++ ") => LineKind::File,
            Some(b'[') => LineKind::Text,
            Some(_) => LineKind::Meta,
        }
    }

    /// The number of the line at `at` in the new version of its file, if it is there.
    pub fn new_line(&self, at: usize) -> Option<u32> {
        match self.kinds.get(at)? {
            LineKind::Same(number) | LineKind::Added(number) => Some(*number),
            _ => None,
        }
    }

    /// Index of the file that the line at `at` belongs to.
    pub fn file_at(&self, at: usize) -> Option<usize> {
        self.files.partition_point(|file| file.at <= at).checked_sub(1)
    }

    /// The byte range of the line at `at` that differs from its counterpart. `None` without a counterpart, or if the
    /// two have too little in common.
    pub fn changed_words(&self, at: usize) -> Option<(usize, usize)> {
        let removed = match self.kinds.get(at)? {
            LineKind::Removed(_) => true,
            LineKind::Added(_) => false,
            _ => return None,
        };
        let is_removed = |at: &usize| matches!(self.kinds.get(*at), Some(LineKind::Removed(_)));
        let is_added = |at: &usize| matches!(self.kinds.get(*at), Some(LineKind::Added(_)));
        let before =
            |at: usize, is: &dyn Fn(&usize) -> bool| (at.saturating_sub(PAIRED)..at).rev().take_while(is).count();
        let after = |at: usize, is: &dyn Fn(&usize) -> bool| (at..at + PAIRED).take_while(is).count();
        // Within a change, all removed lines precede the added ones.
        let other = if removed {
            let index = before(at, &is_removed);
            let added_at = at + after(at, &is_removed);
            added_at + index
        } else {
            let index = before(at, &is_added);
            let first = at - index;
            let removed = before(first, &is_removed);
            first.checked_sub(removed).filter(|_| index < removed)? + index
        };
        let is_paired = if removed { is_added(&other) } else { is_removed(&other) };
        is_paired
            .then(|| differing(&self.lines[at], &self.lines[other]))
            .flatten()
    }
}

/// The part of `line` that differs from `other`, compared by words without the leading sign.
fn differing(line: &str, other: &str) -> Option<(usize, usize)> {
    let (line_text, other_text) = (line.get(1..)?, other.get(1..)?);
    let (words, others) = (words(line_text), words(other_text));
    let prefix = words
        .iter()
        .zip(&others)
        .take_while(|(one, other)| one == other)
        .count();
    let most = words.len().min(others.len()) - prefix;
    let suffix = words.iter().rev().zip(others.iter().rev()).take(most);
    let suffix = suffix.take_while(|(one, other)| one == other).count();
    let bytes = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let (start, tail) = (bytes(&words[..prefix]), bytes(&words[words.len() - suffix..]));
    let same = line_text[..start].trim().len() + line_text[line_text.len() - tail..].trim().len();
    let (from, to) = (1 + start, line.len() - tail);
    (from < to && same * 3 >= line_text.trim().len()).then_some((from, to))
}

/// Splits a text into runs of word characters and single other characters.
fn words(text: &str) -> Vec<&str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// Sanitizes a line for the terminal. A trailing carriage return stays visible in changed lines: it is often the change
/// itself.
fn shown(line: &str, kind: LineKind) -> String {
    let (line, mark) = match (line.strip_suffix('\r'), kind) {
        (Some(line), LineKind::Added(_) | LineKind::Removed(_)) => (line, "^M"),
        (Some(line), _) => (line, ""),
        (None, _) => (line, ""),
    };
    let mut text = sanitized(line).replace('\t', "    ").replace('\n', " ");
    if let Some((end, _)) = text.char_indices().nth(LONGEST_LINE) {
        text.truncate(end);
        text.push_str(" [the line is longer]");
    }
    text + mark
}

/// The name in `a/NAME b/NAME`; the whole text if the two names differ.
fn name_of_both(names: &str) -> String {
    let half = names.len() / 2;
    let (old, new) = (names.get(..half), names.get(half + 1..));
    let same = match (
        old.and_then(|old| old.strip_prefix("a/")),
        new.and_then(|new| new.strip_prefix("b/")),
    ) {
        (Some(old), Some(new)) if old == new => Some(new),
        _ => None,
    };
    sanitized(same.unwrap_or(names)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    const TEXT: &str = " a.rs | 4 ++--\n b => c | 0\n\ndiff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n\
@@ -3,4 +3,4 @@ fn main()\n one\n-let old = 1;\n--- x\n+let new = 1;\n+++ y\r\n two\n\\ No newline at end of file\n\
diff --git a/b b/c d\nsimilarity index 100%\nrename from b\nrename to c d\n\
diff --git a/x.png b/x.png\nnew file mode 100644\nBinary files /dev/null and b/x.png differ\n\
diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\n[the patch is longer: `git diff` shows it all]\n";

    #[test]
    fn a_patch_is_taken_apart_into_files_and_lines_with_their_numbers() {
        let patch = Patch::parse(TEXT);
        let files: Vec<_> = patch
            .files
            .iter()
            .map(|file| (file.name.as_str(), file.added, file.removed, file.note))
            .collect();
        assert_eq!(
            files,
            [
                ("a.rs", 2, 2, ""),
                ("c d", 0, 0, "renamed"),
                ("x.png", 0, 0, "binary"),
                ("run.sh", 0, 0, "mode"),
            ]
        );
        let at = |text: &str| patch.lines.iter().position(|line| line == text).unwrap();
        assert_eq!(patch.kinds[at("--- a/a.rs")], LineKind::File);
        assert_eq!(patch.kinds[at("--- x")], LineKind::Removed(5), "a line of the hunk");
        assert_eq!(patch.kinds[at("+++ y^M")], LineKind::Added(5));
        assert_eq!(patch.kinds[at(" two")], LineKind::Same(6));
        assert_eq!(patch.kinds[at("\\ No newline at end of file")], LineKind::Note);
        assert_eq!(patch.file_at(0), None);
        assert_eq!(patch.file_at(at(" two")), Some(0));
        assert_eq!(patch.file_at(usize::MAX), Some(3));
    }

    #[test]
    fn of_a_changed_line_the_words_that_changed_are_known() {
        let patch = Patch::parse(TEXT);
        let at = |text: &str| patch.lines.iter().position(|line| line == text).unwrap();
        let changed = |text: &str| {
            let found = patch.changed_words(at(text));
            found.map_or_else(String::new, |(from, to)| text[from..to].to_owned())
        };
        assert_eq!(changed("-let old = 1;"), "old");
        assert_eq!(changed("+let new = 1;"), "new");
        assert_eq!(changed(" two") + &changed("--- x"), "", "nothing of it is the same");
    }

    #[test]
    fn of_a_change_the_removed_lines_are_beside_the_added_ones() {
        let text = "diff --git a/a b/a\n@@ -7,4 +9,5 @@\n one\n-two\n-three\n+2\n+3\n+4\n four\n";
        let patch = Patch::parse(text);
        let side = |line: Option<SideLine>| {
            line.map_or_else(String::new, |line| format!("{} {}", line.number, patch.lines[line.at]))
        };
        let rows: Vec<String> = patch
            .sides
            .iter()
            .map(|row| match *row {
                SideRow::Whole(at) => patch.lines[at].clone(),
                SideRow::Pair { left, right } => format!("{} | {}", side(left), side(right)),
            })
            .collect();
        assert_eq!(
            rows[2..],
            [
                "7  one | 9  one",
                "8 -two | 10 +2",
                "9 -three | 11 +3",
                " | 12 +4",
                "10  four | 13  four"
            ]
        );
        assert_eq!((patch.row_of(4), patch.row_of(6), patch.first_line(5)), (4, 4, 7));
    }

    #[test]
    fn whatever_comes_as_a_patch_every_line_is_shown_once_and_no_control_character() {
        let pieces = [
            "diff --git a/x b/x\n",
            "@@ -1,2 +1,2 @@\n",
            "@@ -4294967295,2 +1 @@\n",
            "+é\n",
            "-漢\x1b[2J\n",
            " \n",
            "\n",
            "\\ x\n",
            "--- a/x\n",
            "+++ b/y\t\n",
            "Binary files\r\n",
            "+\r\n",
            "@@ -x +y @@\n",
        ];
        let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
        for _ in 0..500 {
            let text: String = (0..dice.index(30)).map(|_| pieces[dice.index(pieces.len())]).collect();
            let patch = Patch::parse(&text);
            assert_eq!(patch.lines.len(), text.lines().count(), "{text:?}");
            assert_eq!(patch.lines.len(), patch.kinds.len());
            assert!(
                !patch.lines.iter().any(|line| line.contains(char::is_control)),
                "{text:?}"
            );
            for at in 0..patch.lines.len() {
                let row = patch.sides[patch.row_of(at)];
                assert!(row.lines().any(|line| line == at), "{text:?}");
                let changed = patch.changed_words(at);
                assert!(changed.is_none_or(|(from, to)| patch.lines[at].get(from..to).is_some()));
            }
        }
        let long = format!("{}{}", "x\n".repeat(MOST_LINES + 5), "y");
        let patch = Patch::parse(&long);
        assert!(patch.lines.len() == MOST_LINES + 1 && patch.lines[MOST_LINES].contains("is left out"));
    }
}
