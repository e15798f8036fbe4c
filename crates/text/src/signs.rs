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
        '│' | '┃' | '║' => '|',
        '═' => '=',
        '─' | '━' | '·' | '−' | '○' => '-',
        // The corners and crossings of all frames, also of programs in the agent's terminal.
        '\u{2500}'..='\u{257f}' => '+',
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_any_program_are_plain() {
        for (frame, plain) in [("┌─┬┐│├┼┤└┴┘", "+-++|++++++"), ("╭━╮┃╔═╗║╰╯", "+-+|+=+|++")]
        {
            assert_eq!(frame.chars().map(ascii).collect::<String>(), plain);
        }
    }
}
