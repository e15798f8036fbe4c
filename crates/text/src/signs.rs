//! ralph's own signs where there is no Unicode. Words of others stay as they are: what their terminal makes of them is
//! nobody's guess.

use std::io::{self, Write};

/// What stands for `sign` where only ASCII can be shown; other characters are left alone.
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
        '↻' | '…' => '~',
        '×' => 'x',
        '↑' => '^',
        '↓' => 'v',
        other => other,
    }
}

/// Writes text with the signs that ASCII has. Each piece is text by itself.
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
