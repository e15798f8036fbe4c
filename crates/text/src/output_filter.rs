//! The final filter for text that leaves ralph: characters that could control a terminal are shown as escapes.
//!
//! Unlike [`sanitized`](super::sanitized), which parses sequences like a terminal and drops them, this filter drops
//! nothing, and no character affects later ones: a sequence that never ends cannot hide the rest of a message.

use super::{
    RESET,
    escapes::{colour, may_become_colour},
    is_dropped,
};

/// The control characters and sequences that a text may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedEscapes {
    /// Line ends and tabs.
    Plain,
    /// Also colours and weights (SGR), which are reset at the end of their line.
    Coloured,
    /// Serialised JSON: the same values, written with escapes.
    Json,
}

/// Makes `text` safe for a terminal.
pub fn escape_controls(text: &str, format: AllowedEscapes) -> String {
    let mut out = String::with_capacity(text.len());
    let mut filter = OutputFilter::new(format);
    filter.feed(text.as_bytes(), &mut out);
    filter.finish(&mut out);
    out
}

/// Makes `text` safe for a terminal and keeps it on one line, for names.
pub fn escape_name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.extend(character.escape_default()),
            _ => put(character, AllowedEscapes::Plain, &mut out),
        }
    }
    out
}

/// Makes a stream of bytes, cut anywhere, safe for a terminal.
#[derive(Debug)]
pub struct OutputFilter {
    format: AllowedEscapes,
    /// The beginning of an incomplete character or colour.
    partial: Vec<u8>,
    /// Whether a colour is in force.
    open: bool,
}

impl OutputFilter {
    pub(crate) fn new(format: AllowedEscapes) -> Self {
        Self {
            format,
            partial: Vec::new(),
            open: false,
        }
    }

    /// Filters the next bytes and appends the result to `out`.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            joined = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
            rest = &joined;
        }
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    let whole = self.whole(text);
                    self.take(&text[..whole], out);
                    self.partial = text.as_bytes()[whole..].to_vec();
                    return;
                }
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    self.take(std::str::from_utf8(valid).unwrap_or_default(), out);
                    let Some(length) = error.error_len() else {
                        self.partial = broken.to_vec();
                        return;
                    };
                    out.push('\u{FFFD}');
                    rest = &broken[length..];
                }
            }
        }
    }

    /// Appends the incomplete rest at the end of the stream.
    pub(crate) fn finish(&mut self, out: &mut String) {
        let rest = std::mem::take(&mut self.partial);
        self.take(&String::from_utf8_lossy(&rest), out);
        self.close(out);
    }

    /// The length of the part of `text` that can be shown now: all except the beginning of a colour.
    fn whole(&self, text: &str) -> usize {
        if self.format != AllowedEscapes::Coloured {
            return text.len();
        }
        match text.rfind('\x1b') {
            Some(at) if may_become_colour(&text[at..]) => at,
            Some(_) | None => text.len(),
        }
    }

    fn take(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let run = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~')).count();
            if run > 0 {
                out.push_str(&rest[..run]);
                rest = &rest[run..];
                continue;
            }
            let colour = match self.format {
                AllowedEscapes::Coloured => colour(rest),
                AllowedEscapes::Plain | AllowedEscapes::Json => None,
            };
            if let Some(colour) = colour {
                out.push_str(colour);
                self.open = !colour
                    .bytes()
                    .all(|byte| matches!(byte, b'\x1b' | b'[' | b'0' | b';' | b'm'));
                rest = &rest[colour.len()..];
                continue;
            }
            match character {
                '\n' => {
                    self.close(out);
                    out.push('\n');
                }
                '\t' => out.push('\t'),
                _ => put(character, self.format, out),
            }
            rest = &rest[character.len_utf8()..];
        }
    }

    fn close(&mut self, out: &mut String) {
        if std::mem::take(&mut self.open) {
            out.push_str(RESET);
        }
    }
}

fn put(character: char, format: AllowedEscapes, out: &mut String) {
    match format {
        _ if !is_dropped(character) => out.push(character),
        // All of them are in the Basic Multilingual Plane, so four digits suffice.
        AllowedEscapes::Json => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        AllowedEscapes::Plain | AllowedEscapes::Coloured => out.extend(character.escape_unicode()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::escapes::COLOUR_CAP_BYTES, *};

    /// One character of each kind that must not reach a terminal, apart from line ends and tabs.
    const HARMFUL: &str = "\0\x07\x08\r\x1b\x7f\u{80}\u{9b}\u{9f}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\
        \u{2066}\u{2069}\u{feff}";

    #[test]
    fn what_could_command_a_terminal_is_shown_as_an_escape_and_nothing_is_dropped() {
        for character in HARMFUL.chars() {
            let text = format!("a{character}b\n\tc");
            for format in [AllowedEscapes::Plain, AllowedEscapes::Coloured] {
                let expected = format!("a\\u{{{:x}}}b\n\tc", u32::from(character));
                assert_eq!(escape_controls(&text, format), expected);
            }
        }
        assert_eq!(
            escape_controls("a\x1b]0;never ended", AllowedEscapes::Plain),
            "a\\u{1b}]0;never ended"
        );
        assert_eq!(
            escape_controls("ü 日本語 🎉 \u{200d}", AllowedEscapes::Plain),
            "ü 日本語 🎉 \u{200d}"
        );
    }

    #[test]
    fn colours_pass_only_where_they_are_ones_own_and_end_with_the_line() {
        let text = "\x1b[31mred\nnext\x1b[0m \x1b[2J\x1b[1;4mx\x1b[m\x1b[38:5:1my\x1b";
        assert_eq!(
            escape_controls(text, AllowedEscapes::Coloured),
            "\x1b[31mred\x1b[0m\nnext\x1b[0m \\u{1b}[2J\x1b[1;4mx\x1b[m\x1b[38:5:1my\\u{1b}\x1b[0m"
        );
        assert!(!escape_controls(text, AllowedEscapes::Plain).contains('\x1b'));
        let long = format!("\x1b[{}m", "1;".repeat(COLOUR_CAP_BYTES));
        assert!(!escape_controls(&long, AllowedEscapes::Coloured).contains('\x1b'));
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "text": HARMFUL, "key\u{9b}\u{202e}": "ü\u{1b}" });
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = escape_controls(&text, AllowedEscapes::Json);
            assert!(!shown.contains(|c| c != '\n' && is_dropped(c)), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        assert_eq!(
            escape_controls("\"\u{9b}\u{202e}\"", AllowedEscapes::Json),
            "\"\\u009b\\u202e\""
        );
    }

    #[test]
    fn where_the_bytes_are_cut_makes_no_difference() {
        let text = "ä\x1b[31mö\x1b[0m\x1b[2J\u{9b}\n\x1b[1mz\nü\x1b".as_bytes();
        let text = [text, b"\xff\xc3"].concat();
        for format in [AllowedEscapes::Plain, AllowedEscapes::Coloured, AllowedEscapes::Json] {
            let whole = in_pieces(format, &[&text]);
            for at in 0..=text.len() {
                let (head, tail) = text.split_at(at);
                assert_eq!(in_pieces(format, &[head, tail]), whole, "cut at {at}");
            }
        }
    }

    fn in_pieces(format: AllowedEscapes, pieces: &[&[u8]]) -> String {
        let (mut filter, mut out) = (OutputFilter::new(format), String::new());
        pieces.iter().for_each(|piece| filter.feed(piece, &mut out));
        filter.finish(&mut out);
        out
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(escape_name("a\nb\t\x1b[31mc"), "a\\nb\\t\\u{1b}[31mc");
    }
}
