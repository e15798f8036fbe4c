//! Converts a task's text to a single line.

use ralph_text::is_invisible;

/// Converts a task's text to a clean single line: runs of white space and control characters become one space, and
/// characters that reorder text are removed.
///
/// The text is printed on terminals and compared between iterations, so neither an escape sequence nor a different line
/// wrap may remain in it.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = !line.is_empty();
            continue;
        }
        if is_invisible(character) {
            continue;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(character);
    }
    line
}
