//! ASCII replacements for ralph's own signs where there is no Unicode. Other characters pass through unchanged.

use std::io::{self, Write};

/// The ASCII replacement for `sign`; other characters are returned unchanged.
pub fn ascii(sign: char) -> char {
    match sign {
        '▸' | '▶' | '▎' | '→' | '»' => '>',
        '◂' => '<',
        '✗' | '✖' => '!',
        '✔' => '+',
        '•' | '●' => '*',
        '│' => '|',
        '─' | '━' | '·' | '−' | '○' => '-',
        '┼' | '╭' | '╰' | '╮' | '╯' | '┬' | '┴' | '├' | '┤' => '+',
        '⋮' => ':',
        '↻' | '…' | '≈' => '~',
        '×' => 'x',
        '↑' => '^',
        '↓' => 'v',
        other => other,
    }
}

/// Writes text with ASCII signs. Each write must be complete UTF-8.
pub struct AsciiSigns<'a>(pub &'a mut dyn Write);

impl Write for AsciiSigns<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.is_ascii() => {
                let plain: String = text.chars().map(ascii).collect();
                self.0.write_all(plain.as_bytes())?;
            }
            Ok(_) | Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
