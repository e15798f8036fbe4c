//! Recognises output that only adds lines, as opposed to output that moves the cursor about, and finds the part of it
//! that remains visible. Pure.
//!
//! New lines push older ones off the screen. So of a flood of lines only the last two screenfuls have to be drawn, and of the
//! text before it only lasting state: colours and modes.
//!
//! The scanner is separate from the parser in `text::escapes`. That parser reports neither whether a line end is within
//! a sequence nor where a sequence begins, and takes two to three times as long, for every byte of a flood. The scanner
//! knows fewer sequences and treats unknown ones as moving the cursor. A test compares the two.

use std::ops::Range;

use memchr::memchr;

/// Modes that affect neither cells nor the cursor position.
const HARMLESS_MODES: [&[u8]; 11] = [
    b"?1", b"?12", b"?25", b"?1000", b"?1002", b"?1003", b"?1004", b"?1005", b"?1006", b"?2004", b"?2026",
];
/// Maximum bytes of parameters; longer sequences count as unknown.
const PARAMETERS_CAP_BYTES: usize = 64;

/// Scans a stream of output, cut anywhere.
#[derive(Debug, Default)]
pub(super) struct AppendOnlyScanner {
    state: ScanState,
    parameters: Vec<u8>,
    moves: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ScanState {
    #[default]
    Ground,
    Escape,
    Charset,
    Csi,
    Osc,
    OscEscape,
}

impl AppendOnlyScanner {
    /// Scans output. Returns whether all of it so far only adds lines.
    ///
    /// In that case every line feed is a line end, and none is within a sequence.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while !self.moves {
            if self.state == ScanState::Ground {
                let Some(at) = memchr(0x1b, rest) else {
                    break;
                };
                self.state = ScanState::Escape;
                rest = &rest[at + 1..];
            }
            let Some((&byte, after)) = rest.split_first() else {
                break;
            };
            match self.after(byte) {
                Some(state) => self.state = state,
                None => self.moves = true,
            }
            rest = after;
        }
        !self.moves
    }

    /// The state after one more byte of a sequence; `None` if the sequence moves the cursor off its line or is unknown.
    fn after(&mut self, byte: u8) -> Option<ScanState> {
        match (self.state, byte) {
            (ScanState::Escape, b'[') => {
                self.parameters.clear();
                Some(ScanState::Csi)
            }
            (ScanState::Escape, b']') => Some(ScanState::Osc),
            (ScanState::Escape, b'(' | b')' | b'*' | b'+') => Some(ScanState::Charset),
            (ScanState::Escape, b'\\') => Some(ScanState::Ground),
            // A set for line drawing lasts.
            (ScanState::Charset, b'1'..=b'~') => Some(ScanState::Ground),
            (ScanState::Csi, b' '..=b'?') if self.parameters.len() < PARAMETERS_CAP_BYTES => {
                self.parameters.push(byte);
                Some(ScanState::Csi)
            }
            // Colours, and sequences that stay on their line.
            (ScanState::Csi, b'm' | b'K' | b'G' | b'C' | b'D') => Some(ScanState::Ground),
            (ScanState::Csi, b'h' | b'l') if HARMLESS_MODES.contains(&&self.parameters[..]) => Some(ScanState::Ground),
            (ScanState::Osc, 0x07) | (ScanState::OscEscape, b'\\') => Some(ScanState::Ground),
            (ScanState::Osc, 0x1b) => Some(ScanState::OscEscape),
            (ScanState::Osc, b' '..) => Some(ScanState::Osc),
            (
                ScanState::Ground
                | ScanState::Escape
                | ScanState::Charset
                | ScanState::Csi
                | ScanState::Osc
                | ScanState::OscEscape,
                _,
            ) => None,
        }
    }
}

/// The range of `new` that need not be drawn on a screen of `rows` rows, as it will have scrolled off.
///
/// The range begins after a line end, outside of any sequence, and ends before another line end.
pub(super) fn skippable(new: &[u8], rows: u16) -> Option<Range<usize>> {
    let start = memchr(b'\n', new)? + 1;
    // One screenful scrolls in the other, whose rows get the background of their text by that.
    let end = last_lines(new, 2 * usize::from(rows) + 2)?;
    (start < end).then_some(start..end)
}

/// The position of the `count`-th last CR LF; `None` if there are fewer.
pub(super) fn last_lines(bytes: &[u8], count: usize) -> Option<usize> {
    let mut left = count;
    for at in (1..bytes.len()).rev() {
        if bytes[at] == b'\n' && bytes[at - 1] == b'\r' {
            left -= 1;
            if left == 0 {
                return Some(at - 1);
            }
        }
    }
    None
}

/// Extracts the lasting state from output that only adds lines: modes, and colours since the last reset.
pub(super) fn lasting(bytes: &[u8]) -> Vec<u8> {
    let mut modes: Vec<&[u8]> = Vec::new();
    let mut colours: Vec<u8> = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr(0x1b, rest) {
        rest = &rest[at..];
        let parameters = rest.strip_prefix(b"\x1b[").unwrap_or_default();
        let Some(last) = parameters.iter().position(|byte| !(b' '..=b'?').contains(byte)) else {
            rest = &rest[1..];
            continue;
        };
        let sequence = &rest[..last + 3];
        match parameters[last] {
            b'm' if last == 0 || &parameters[..last] == b"0" => {
                colours.clear();
                colours.extend_from_slice(sequence);
            }
            b'm' => colours.extend_from_slice(sequence),
            b'h' | b'l' => {
                let same_mode = |other: &&[u8]| other[..other.len() - 1] == sequence[..sequence.len() - 1];
                modes.retain(|other| !same_mode(other));
                modes.push(sequence);
            }
            _ => {}
        }
        rest = &rest[last + 3..];
    }
    [modes.concat(), colours].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;
    use ralph_text::escapes::{Escapes, Params, Perform};

    fn only_adds(output: &[u8]) -> bool {
        let whole = AppendOnlyScanner::default().take(output);
        for at in 0..=output.len() {
            let mut scanner = AppendOnlyScanner::default();
            scanner.take(&output[..at]);
            assert_eq!(scanner.take(&output[at..]), whole, "cut at {at}");
        }
        whole
    }

    #[test]
    fn colours_links_and_progress_on_a_line_only_add_lines() {
        for output in [
            "plain\r\n\tand 漢字\x08\x07\r".as_bytes(),
            b"\x1b[1;38;2;1;2;3mred\x1b[0m\x1b[K\r\x1b[2K\x1b[12G\x1b[3C\x1b[2D",
            b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07\x1b]0;title\x07\x1b(B\x1b[m",
            b"\x1b[?25l\x1b[?2004h\x1b[?25h",
        ] {
            assert!(only_adds(output), "{}", output.escape_ascii());
        }
    }

    #[test]
    fn whatever_else_is_in_it_may_move_about() {
        for output in [
            b"\x1b[A".as_slice(),
            b"\x1b[2J",
            b"\x1b[3;1H",
            b"\x1b[1;5r",
            b"\x1b[?1049h",
            b"\x1b[?7l",
            b"\x1bM",
            b"\x1bc",
            b"\x1b7",
            b"\x1bP1$r\x1b\\",
            b"\x1b[3\n1m",
            b"\x1b]0;a\nb\x07",
            b"\x1b[6n",
            b"\x1b(0",
            b"\x1b)0",
            b"\x1bH",
            b"\x1bD",
            b"\x1b[4h",
            b"\x1b[2I",
        ] {
            assert!(!only_adds(output), "{}", output.escape_ascii());
        }
    }

    /// The result of the full parser.
    #[derive(Default)]
    struct Parsed {
        moves: bool,
        line_ends: usize,
        last: Option<char>,
    }

    impl Perform for Parsed {
        fn print(&mut self, character: char) {
            self.last = Some(character);
        }

        fn execute(&mut self, byte: u8) {
            self.line_ends += usize::from(byte == b'\n');
        }

        fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
            let number = params.iter().next().map_or(0, |param| param[0]);
            let mode = [intermediates, number.to_string().as_bytes()].concat();
            self.moves |= match action {
                'm' | 'K' | 'G' | 'C' | 'D' => false,
                'h' | 'l' => !HARMLESS_MODES.contains(&&mode[..]),
                _ => true,
            };
        }

        fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
            self.moves |= !matches!((intermediates, byte), ([], b'\\') | ([b'('..=b'+'], b'1'..));
        }

        fn hook(&mut self, _params: &Params, _intermediates: &[u8], _ignore: bool, _action: char) {
            self.moves = true;
        }
    }

    fn parsed(output: &[u8]) -> Parsed {
        let mut parsed = Parsed::default();
        Escapes::default().feed(output, &mut parsed);
        parsed
    }

    #[test]
    fn what_only_adds_lines_does_so_for_the_parser_as_well_and_no_line_end_is_within_a_sequence() {
        const PARTS: [&[u8]; 32] = [
            b"\x1b",
            b"\x1b[",
            b"\x1b]",
            b"\x1b(",
            b"\x1b\\",
            b"\x1bP",
            b"\x1b_",
            b"[",
            b"]",
            b"\\",
            b"0",
            b"25",
            b";",
            b":",
            b"?",
            b" ",
            b"$",
            b"m",
            b"K",
            b"G",
            b"A",
            b"h",
            b"l",
            b"\n",
            b"\r\n",
            b"\x07",
            b"\x18",
            b"\x7f",
            b"\x9c",
            b"x",
            "é".as_bytes(),
            "\u{9b}".as_bytes(),
        ];
        let (mut dice, mut adding) = (Dice::new(1), 0);
        for _ in 0..50_000 {
            let count = 1 + dice.index(10);
            let output: Vec<u8> = (0..count)
                .flat_map(|_| PARTS[dice.index(PARTS.len())])
                .copied()
                .collect();
            if !AppendOnlyScanner::default().take(&output) || !output.contains(&0x1b) {
                continue;
            }
            adding += 1;
            let shown = output.escape_ascii();
            assert!(!parsed(&output).moves, "{shown}");
            let ends = output.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            for (number, (end, _)) in (1..).zip(ends) {
                let until = parsed(&[&output[..=end], b"Z"].concat());
                assert_eq!((until.line_ends, until.last), (number, Some('Z')), "{shown}");
            }
        }
        assert!(adding > 1000, "{adding}");
    }

    #[test]
    fn of_many_lines_all_but_the_last_two_screenfuls_are_skipped() {
        let output = "a\r\n".repeat(20);
        assert_eq!(skippable(output.as_bytes(), 4), Some(3..31));
        assert_eq!(skippable(output.as_bytes(), 18), None);
        assert_eq!(
            skippable(&b"a\n".repeat(20), 4),
            None,
            "such lines begin where the last one ended"
        );
    }

    #[test]
    fn what_lasts_are_modes_and_the_colours_since_the_last_reset() {
        let text = |bytes: &[u8]| lasting(bytes).escape_ascii().to_string();
        assert_eq!(text(b"\x1b[31mx\x1b[0my\x1b[1mz\x1b[K\x1b[32"), "\\x1b[0m\\x1b[1m");
        assert_eq!(
            text(b"\x1b[?25l\x1b[31mx\x1b[mz\x1b[?25h"),
            "\\x1b[?25h\\x1b[m",
            "the latest of a mode"
        );
    }
}
