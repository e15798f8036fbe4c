//! A small text editor for user input, with a cursor and a history.

use std::collections::VecDeque;

use ralph_text::{LINE_CAP_BYTES, sanitized};
use unicode_segmentation::UnicodeSegmentation;

use super::search_query::SearchQuery;

/// Maximum bytes of a text; the rest of a longer paste is dropped.
const CAP_BYTES: usize = 64 * 1024;
/// Maximum number of remembered texts.
pub(super) const RECALLED: usize = 100;

/// Text being typed. Its characters are grapheme clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Editor {
    text: String,
    /// A byte offset, always between two characters.
    cursor: usize,
}

impl Editor {
    pub fn with_text(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Whether `text` would be inserted uncut and no line exceeds the limit.
    pub fn has_room_for(&self, text: &str) -> bool {
        if text.split(['\r', '\n']).any(|line| line.len() > LINE_CAP_BYTES) {
            return false;
        }
        // A tab becomes four spaces.
        let tabs = text.bytes().filter(|byte| *byte == b'\t').count();
        self.text.len() + text.len() + 3 * tabs <= CAP_BYTES
    }

    /// Inserts text without control characters; tabs become spaces, line ends are kept.
    pub fn insert(&mut self, text: &str) {
        let unix = text.replace("\r\n", "\n").replace('\r', "\n");
        let clean = sanitized(&unix).replace('\t', "    ");
        let room = CAP_BYTES.saturating_sub(self.text.len());
        let mut end = clean.len().min(room);
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        self.text.insert_str(self.cursor, &clean[..end]);
        self.cursor += end;
        self.cursor = self.boundary(self.cursor);
    }

    pub fn backspace(&mut self) {
        let start = self.previous();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = self.boundary(start);
    }

    pub fn delete(&mut self) {
        let end = self.next();
        self.text.replace_range(self.cursor..end, "");
        self.cursor = self.boundary(self.cursor);
    }

    pub fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub fn right(&mut self) {
        self.cursor = self.next();
    }

    pub fn word_left(&mut self) {
        let last = self.before().unicode_word_indices().next_back();
        self.cursor = last.map_or(0, |(at, _)| at);
    }

    pub fn word_right(&mut self) {
        let next = self.text[self.cursor..].unicode_word_indices().next();
        self.cursor = next.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len());
    }

    /// Moves to the start of the line.
    pub fn home(&mut self) {
        self.cursor = self.line_start();
    }

    /// Moves to the end of the line.
    pub fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// Moves a line up; returns false on the first one.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].graphemes(true).count();
        self.cursor = start - 1;
        let start = self.line_start();
        self.move_to_column(start, column);
        true
    }

    /// Moves a line down; returns false on the last one.
    pub fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = self.text[self.line_start()..self.cursor].graphemes(true).count();
        self.move_to_column(end + 1, column);
        true
    }

    pub fn kill_to_start(&mut self) {
        let start = self.line_start();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub fn kill_to_end(&mut self) {
        let end = self.line_end();
        self.text.replace_range(self.cursor..end, "");
    }

    pub fn kill_word(&mut self) {
        let end = self.cursor;
        self.word_left();
        self.text.replace_range(self.cursor..end, "");
    }

    fn move_to_column(&mut self, start: usize, column: usize) {
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let within: usize = line.graphemes(true).take(column).map(str::len).sum();
        self.cursor = start + within;
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn previous(&self) -> usize {
        let last = self.before().graphemes(true).next_back();
        self.cursor - last.map_or(0, str::len)
    }

    fn next(&self) -> usize {
        let first = self.text[self.cursor..].graphemes(true).next();
        self.cursor + first.map_or(0, str::len)
    }

    /// The nearest character boundary at or after `at`: adjacent characters may have combined into one cluster.
    fn boundary(&self, at: usize) -> usize {
        let mut ends = self.text.grapheme_indices(true).map(|(start, _)| start);
        ends.find(|start| *start >= at).unwrap_or(self.text.len())
    }
}

/// The history of sent texts, newest last, and the user's position in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recall {
    texts: VecDeque<String>,
    /// Steps back from the newest; 0 is the text being written.
    back: usize,
    /// The text being written when the user went back.
    draft: String,
}

impl Recall {
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut recall = Self::default();
        texts.into_iter().for_each(|text| recall.push(text));
        recall
    }

    /// The remembered texts, oldest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Adds a text as the newest; an equal one is moved there.
    pub fn push(&mut self, text: String) {
        self.back = 0;
        self.texts.retain(|known| *known != text);
        self.texts.push_back(text);
        if self.texts.len() > RECALLED {
            self.texts.pop_front();
        }
    }

    /// Puts the next older text into `editor`.
    pub fn older(&mut self, editor: &mut Editor) {
        self.go_back(self.back + 1, editor);
    }

    /// Puts the next newer text into `editor`; after the newest, the draft.
    pub fn newer(&mut self, editor: &mut Editor) {
        if self.back == 0 {
            return;
        }
        self.back -= 1;
        *editor = match self.back {
            0 => Editor::with_text(&self.draft),
            back => Editor::with_text(&self.texts[self.texts.len() - back]),
        };
    }

    /// Texts that contain `needle` (all of them without one), newest first, each with its steps back.
    pub(super) fn found(&self, needle: Option<&SearchQuery>) -> impl Iterator<Item = (usize, &str)> {
        let texts = self.texts.iter().rev().map(String::as_str);
        let numbered = (1..).zip(texts);
        numbered.filter(move |(_, text)| needle.is_none_or(|needle| needle.is_in(text)))
    }

    /// Puts the text `steps` back into `editor`.
    pub(super) fn go_back(&mut self, steps: usize, editor: &mut Editor) {
        let Some(at) = self.texts.len().checked_sub(steps).filter(|_| steps > 0) else {
            return;
        };
        if self.back == 0 {
            self.draft = editor.text().to_owned();
        }
        self.back = steps;
        *editor = Editor::with_text(&self.texts[at]);
    }

    /// Returns to the draft, the position after the newest.
    pub fn rewind(&mut self) {
        self.back = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with a bar at the cursor.
    fn shown(editor: &Editor) -> String {
        format!("{}|{}", editor.before(), &editor.text()[editor.before().len()..])
    }

    #[test]
    fn a_character_is_what_a_person_takes_for_one() {
        let mut editor = Editor::with_text("a👩‍👩‍👧e\u{301}b");
        editor.left();
        editor.backspace();
        assert_eq!(shown(&editor), "a👩‍👩‍👧|b");
        editor.backspace();
        editor.delete();
        assert_eq!(shown(&editor), "a|");
    }

    #[test]
    fn what_is_pasted_is_made_safe() {
        let editor = Editor::with_text("one\r\ntwo\tthree\x1b[31m\x07\rfour");
        assert_eq!(editor.text(), "one\ntwo    three\nfour");
    }

    #[test]
    fn a_text_has_an_upper_size_and_is_cut_between_characters() {
        let editor = Editor::with_text(&"x\n".repeat(CAP_BYTES));
        assert_eq!(editor.text().len(), CAP_BYTES);
        let mut editor = Editor::with_text(&format!("{}x", "x\n".repeat(CAP_BYTES / 2 - 1)));
        editor.insert("ü");
        assert_eq!(editor.text().len(), CAP_BYTES - 1);
    }

    #[test]
    fn the_cursor_keeps_its_column_from_line_to_line() {
        let mut editor = Editor::with_text("first\nab\nthird");
        assert!(editor.up());
        assert_eq!(shown(&editor), "first\nab|\nthird");
        assert!(editor.up());
        assert_eq!(shown(&editor), "fi|rst\nab\nthird");
        assert!(!editor.up());
        assert!(editor.down() && editor.down() && !editor.down());
        assert_eq!(shown(&editor), "first\nab\nth|ird");
    }

    #[test]
    fn words_and_lines_are_killed() {
        let mut editor = Editor::with_text("one two\nthree four");
        editor.kill_word();
        assert_eq!(shown(&editor), "one two\nthree |");
        editor.kill_to_start();
        assert_eq!(shown(&editor), "one two\n|");
        editor.insert("x y");
        editor.home();
        editor.word_right();
        editor.kill_to_end();
        assert_eq!(shown(&editor), "one two\nx|");
        editor.word_left();
        editor.word_left();
        assert_eq!(shown(&editor), "one |two\nx");
    }

    #[test]
    fn recalling_leads_back_to_what_was_being_written() {
        let mut recall = Recall::new(["old", "new"].map(str::to_owned));
        let mut editor = Editor::with_text("draft");
        recall.older(&mut editor);
        assert_eq!(editor.text(), "new");
        recall.older(&mut editor);
        recall.older(&mut editor);
        assert_eq!(editor.text(), "old");
        recall.newer(&mut editor);
        recall.newer(&mut editor);
        recall.newer(&mut editor);
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn a_hundred_texts_are_remembered_each_once() {
        let mut recall = Recall::new((0..150).map(|n| n.to_string()));
        recall.push("120".to_owned());
        let texts: Vec<&str> = recall.texts().collect();
        assert_eq!((texts.len(), texts[0], texts[99]), (RECALLED, "50", "120"));
    }
}
