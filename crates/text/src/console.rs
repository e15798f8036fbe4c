//! The only output of text to stdout and stderr, except for what the screen draws.
//!
//! The name of a file, the id of a run, the words of an error, a reply over the socket: any text may contain sequences
//! that set a clipboard, move a cursor or reverse a line. All of it is therefore made harmless here with
//! [`escape_controls`], and callers need not do so. Colours pass only for callers that set some themselves.
//!
//! Output that cannot be written is dropped silently: its reader has gone away.

use std::{
    env,
    io::{self, BufWriter, IsTerminal, Write},
};

use crate::{AllowedEscapes, OutputFilter, escape_controls};

/// Bytes that are collected before they are written, unless flushed.
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a person may be looking at stdout.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person may see a question on stderr and answer it.
pub fn is_answered() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Writes text to stdout.
pub fn print(text: &str) {
    put(text, AllowedEscapes::Plain);
}

/// Writes text to stdout that may have colours of its own.
pub fn print_coloured(text: &str) {
    put(text, AllowedEscapes::Coloured);
}

/// Writes serialised JSON to stdout.
pub fn print_json(text: &str) {
    put(text, AllowedEscapes::Json);
}

/// Writes text to a terminal over the last `lines` lines.
pub fn print_over(text: &str, lines: usize) {
    let back = match lines {
        0 => String::new(),
        lines => format!("\x1b[{lines}A\x1b[J"),
    };
    let mut out = io::stdout().lock();
    let written = write!(out, "{back}{}", escape_controls(text, AllowedEscapes::Plain));
    _ = written.and_then(|()| out.flush());
}

fn put(text: &str, format: AllowedEscapes) {
    let mut out = io::stdout().lock();
    _ = out
        .write_all(escape_controls(text, format).as_bytes())
        .and_then(|()| out.flush());
}

/// Writes bytes to stdout unchanged, for a program that reads them; on a terminal, makes them harmless first.
pub fn pass_on(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        _ = out.write_all(escape_controls(&String::from_utf8_lossy(bytes), AllowedEscapes::Plain).as_bytes());
    } else {
        _ = out.write_all(bytes);
    }
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    complain(&format!("warning: {text}"));
}

/// Writes lines to stderr. On a terminal, a leading word such as `error:` is coloured.
pub fn complain(text: &str) {
    write_to_stderr(&format!("{}\n", text.trim_end_matches('\n')));
}

/// Writes a question to stderr, without a line end: the answer is typed behind it.
pub fn prompt(question: &str) {
    write_to_stderr(question);
}

fn write_to_stderr(text: &str) {
    let text = escape_controls(text, AllowedEscapes::Plain);
    let text = match io::stderr().is_terminal() && is_colour_wanted() {
        true => with_coloured_marks(&text),
        false => text,
    };
    _ = io::stderr().write_all(text.as_bytes());
}

/// Whether the user has not asked for text without colours.
fn is_colour_wanted() -> bool {
    let text = |name| env::var_os(name).unwrap_or_default();
    text("NO_COLOR").is_empty() && text("TERM") != "dumb"
}

/// The coloured words at the beginning of lines, with their SGR codes.
const MARKS: [(&str, &str); 6] = [
    ("error:", "1;31"),
    ("warning:", "1;33"),
    ("hint:", "36"),
    ("note:", "1"),
    ("✔", "32"),
    ("✖", "31"),
];

fn with_coloured_marks(text: &str) -> String {
    let line = |line: &str| {
        let mark = MARKS.iter().find(|(mark, _)| line.starts_with(mark));
        match mark {
            Some((mark, code)) => format!("\x1b[{code}m{mark}\x1b[0m{}", &line[mark.len()..]),
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Returns stdout for a writer of many pieces.
pub fn stdout(format: AllowedEscapes) -> FilteredStdout {
    FilteredStdout {
        filter: OutputFilter::new(format),
        text: String::new(),
        out: BufWriter::with_capacity(BUFFER_BYTES, io::stdout()),
    }
}

/// Stdout whose last part is written when this value is dropped.
///
/// Stdout is not locked meanwhile: a writer that hangs on a stopped terminal must not keep others from writing.
#[derive(Debug)]
pub struct FilteredStdout {
    filter: OutputFilter,
    /// Kept to reuse its memory.
    text: String,
    out: BufWriter<io::Stdout>,
}

impl Write for FilteredStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.clear();
        self.filter.feed(bytes, &mut self.text);
        self.out.write_all(self.text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for FilteredStdout {
    fn drop(&mut self) {
        self.text.clear();
        self.filter.finish(&mut self.text);
        _ = self.out.write_all(self.text.as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_that_a_line_begins_with_is_coloured() {
        assert_eq!(
            with_coloured_marks("error: no error: here\nhint: type it\nthe rest\n"),
            "\x1b[1;31merror:\x1b[0m no error: here\n\x1b[36mhint:\x1b[0m type it\nthe rest\n"
        );
    }
}
