//! A task's text as one line, whatever kind of plan it stands in.

use ralph_text::is_invisible;

/// Makes one clean line of a task's text: runs of white space and control characters become one space, and characters
/// that reorder text go.
///
/// The text goes to terminals and is compared between iterations, so neither an escape sequence nor a re-wrapped line
/// may survive in it.
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
