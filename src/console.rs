//! The one way out for text: stdout and stderr, but for what the screen draws.
//!
//! The name of a file, the id of a run, the words of an error, a reply over the socket: any text may hold sequences that
//! set a clipboard, move a cursor or turn a line around. So all of it is made harmless here, as [`shown`] says, and no
//! caller has to think of it. Colours pass only for callers that set some themselves.
//!
//! A reader that went away has read enough: what cannot be written is dropped without a word.

use std::io::{self, BufWriter, IsTerminal, Write};

use crate::text::{Form, Shown, shown};

/// Bytes that are collected before they are written, unless somebody flushes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Tells whether a person may be looking at stdout.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Tells whether a person may see a question on stderr and answer it.
pub(crate) fn is_answered() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Writes text to stdout.
pub(crate) fn print(text: &str) {
    put(text, Form::Plain);
}

/// Writes text to stdout that may have colours of its own.
pub(crate) fn print_coloured(text: &str) {
    put(text, Form::Coloured);
}

/// Writes serialised JSON to stdout.
pub(crate) fn print_json(text: &str) {
    put(text, Form::Json);
}

/// Writes text to a terminal in place of the `lines` that were written last.
pub(crate) fn print_over(text: &str, lines: usize) {
    let back = match lines {
        0 => String::new(),
        lines => format!("\x1b[{lines}A\x1b[J"),
    };
    let mut out = io::stdout().lock();
    let written = write!(out, "{back}{}", shown(text, Form::Plain));
    _ = written.and_then(|()| out.flush());
}

fn put(text: &str, form: Form) {
    let mut out = io::stdout().lock();
    _ = out.write_all(shown(text, form).as_bytes()).and_then(|()| out.flush());
}

/// Writes bytes to stdout as they are, for the program that reads them; to a terminal, what it may be given of them.
pub(crate) fn pass_on(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        _ = out.write_all(shown(&String::from_utf8_lossy(bytes), Form::Plain).as_bytes());
    } else {
        _ = out.write_all(bytes);
    }
}

/// Writes a line to stderr that warns of something.
pub(crate) fn warn(text: &str) {
    complain(&format!("warning: {text}"));
}

/// Writes lines to stderr.
pub(crate) fn complain(text: &str) {
    let text = format!("{}\n", text.trim_end_matches('\n'));
    _ = io::stderr().write_all(shown(&text, Form::Plain).as_bytes());
}

/// Stdout for a writer of many pieces.
pub(crate) fn stdout(form: Form) -> Stdout {
    Stdout {
        shown: Shown::new(form),
        text: String::new(),
        out: BufWriter::with_capacity(BUFFER_BYTES, io::stdout()),
    }
}

/// Stdout, of which the last is written when this value is dropped.
///
/// It is not held meanwhile: a writer that is stuck in a terminal that was stopped must not keep others from writing.
#[derive(Debug)]
pub(crate) struct Stdout {
    shown: Shown,
    /// Kept for its memory.
    text: String,
    out: BufWriter<io::Stdout>,
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.clear();
        self.shown.feed(bytes, &mut self.text);
        self.out.write_all(self.text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        self.text.clear();
        self.shown.finish(&mut self.text);
        _ = self.out.write_all(self.text.as_bytes()).and_then(|()| self.out.flush());
    }
}
