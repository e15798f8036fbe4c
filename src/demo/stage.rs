//! The output of the demo agent: typed text, tools, differences, in the colours of the terminal.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use similar::{ChangeTag, TextDiff};
use unicode_width::UnicodeWidthStr;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;
const TYPED_PIECE: usize = 3;
const NOTE_INDENT: usize = 2;

const TYPING: Duration = Duration::from_millis(14);
const DIFF_LINE: Duration = Duration::from_millis(35);
const BEAT: Duration = Duration::from_millis(280);

pub(super) struct DemoStage<W> {
    out: W,
    speed: f64,
    columns: usize,
}

impl<W: Write> DemoStage<W> {
    /// `speed` multiplies every pause; text is wrapped at `columns`.
    pub(super) fn new(out: W, speed: f64, columns: usize) -> Self {
        Self { out, speed, columns }
    }

    pub(super) fn headline(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\x1b[1;35m● {text}\x1b[0m")?;
        self.pause(BEAT)
    }

    /// Prints a message at the speed of typing.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        let characters: Vec<char> = wrapped(text, self.columns).join("\n").chars().collect();
        for piece in characters.chunks(TYPED_PIECE) {
            write!(self.out, "{}", piece.iter().collect::<String>())?;
            self.pause(TYPING)?;
        }
        writeln!(self.out)?;
        self.pause(BEAT)
    }

    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        let indent = text.len() - text.trim_start().len() + NOTE_INDENT;
        for line in wrapped(text.trim_start(), self.columns.saturating_sub(indent)) {
            writeln!(self.out, "{:indent$}\x1b[2m{line}\x1b[0m", "")?;
        }
        self.out.flush()
    }

    pub(super) fn tool(&mut self, name: &str, input: &str) -> io::Result<()> {
        writeln!(self.out, "\x1b[36m▸ \x1b[1m{name}\x1b[0m {input}")?;
        self.pause(BEAT)
    }

    pub(super) fn success(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\x1b[32m✔ {text}\x1b[0m")?;
        self.pause(BEAT)
    }

    pub(super) fn failure(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\x1b[31m✘ {text}\x1b[0m")?;
        self.out.flush()
    }

    /// Shows the changes of a file. Long unchanged parts are left out.
    pub(super) fn diff(&mut self, before: &str, after: &str) -> io::Result<()> {
        let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
        let diff = TextDiff::from_slices(&old, &new);
        let mut shown = 0;
        for group in diff.grouped_ops(CONTEXT_LINES) {
            for op in group {
                if op.old_range().start > shown {
                    self.note("  ⋮")?;
                }
                shown = op.old_range().end;
                for change in diff.iter_changes(&op) {
                    let colour = match change.tag() {
                        ChangeTag::Equal => "2",
                        ChangeTag::Delete => "31",
                        ChangeTag::Insert => "32",
                    };
                    writeln!(self.out, "  \x1b[{colour}m{} {}\x1b[0m", change.tag(), change.value())?;
                    self.pause(DIFF_LINE)?;
                }
            }
        }
        if shown < old.len() {
            self.note("  ⋮")?;
        }
        Ok(())
    }

    fn pause(&mut self, pause: Duration) -> io::Result<()> {
        self.out.flush()?;
        if self.speed > 0.0 {
            thread::sleep(pause.mul_f64(self.speed));
        }
        Ok(())
    }
}

/// Wraps the words of a text at a width in columns. A longer word has its own line.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a  table  of", 20), ["a  table  of"]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrapped("", 3), [""]);
    }
}
