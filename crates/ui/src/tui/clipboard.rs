//! The clipboard of the user's terminal (OSC 52). Pure.

use base64::{Engine, engine::general_purpose::STANDARD};
use ralph_text::sanitized;
use ralph_words::counted;

/// Maximum bytes that are copied: terminals drop longer sequences entirely.
const CAP_BYTES: usize = 100 * 1000;

/// The end of an overlong text that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptEnd {
    Beginning,
    End,
}

/// A text prepared for copying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clip {
    text: String,
    /// Lines of the uncut text.
    lines: usize,
    is_cut: bool,
}

impl Clip {
    /// Prepares `text`; `None` if there is nothing to copy. Control sequences are removed: they could act as commands
    /// where the text is pasted.
    pub(super) fn new(text: &str, keep: KeptEnd) -> Option<Self> {
        let text = sanitized(text.trim_end());
        if text.trim().is_empty() {
            return None;
        }
        let is_between = |at: &usize| text.is_char_boundary(*at);
        let kept = match keep {
            KeptEnd::Beginning => {
                let end = (0..=CAP_BYTES.min(text.len())).rfind(is_between);
                &text[..end.unwrap_or(0)]
            }
            KeptEnd::End => {
                let start = (text.len().saturating_sub(CAP_BYTES)..text.len()).find(is_between);
                &text[start.unwrap_or(0)..]
            }
        };
        Some(Self {
            text: kept.to_owned(),
            lines: text.lines().count(),
            is_cut: kept.len() < text.len(),
        })
    }

    /// The OSC 52 sequence for the terminal.
    pub(super) fn sequence(&self) -> Vec<u8> {
        format!("\x1b]52;c;{}\x07", STANDARD.encode(&self.text)).into_bytes()
    }

    pub(super) fn in_words(&self) -> String {
        let lines = counted(self.lines as u64, "line");
        match self.is_cut {
            true => format!("copied {} KB of {lines}", self.text.len() / 1000),
            false => format!("copied {lines}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_leaves_in_letters_only_and_is_told() {
        let clip = Clip::new("one\x1b]52;c;evil\x07\x1b[31m two\nthree\n\n", KeptEnd::Beginning).unwrap();
        let sent = String::from_utf8(clip.sequence()).unwrap();
        let inside = sent
            .strip_prefix("\x1b]52;c;")
            .and_then(|rest| rest.strip_suffix('\x07'));
        let text = STANDARD.decode(inside.unwrap()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "one two\nthree");
        assert_eq!(clip.in_words(), "copied 2 lines");
        assert_eq!(Clip::new(" \n", KeptEnd::End), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_at_the_end_that_matters_less() {
        let text = format!("first\n{}last", "ü\n".repeat(CAP_BYTES));
        let beginning = Clip::new(&text, KeptEnd::Beginning).unwrap();
        let end = Clip::new(&text, KeptEnd::End).unwrap();
        assert!(beginning.text.starts_with("first") && beginning.text.len() <= CAP_BYTES);
        assert!(end.text.ends_with("last") && end.text.len() <= CAP_BYTES);
        assert_eq!(
            end.in_words(),
            format!("copied {} KB of 100002 lines", end.text.len() / 1000)
        );
    }
}
